"""Selection: walks from the root to leaves, and writes the leaves into a batch for the evaluator.

Virtual loss (pending visits) makes the walks of one batch end at different leaves.
"""

from typing import Any

import numpy as np

from engine.board.facts import ALTERNATING
from engine.board.kernels import copy_board, copy_row, place, play, position_hash
from engine.board.layout import COLOR, EMPTY_COUNT, HEADER, KO_POINT, Board
from engine.color import BLACK, EMPTY, WHITE
from engine.evaluation.evaluation import black_value
from engine.evaluation.positions import HISTORY, row_hash
from engine.native.jit import kernel
from engine.rules import BUTTON_POINTS
from engine.search.backup import end_game, finish_game, finish_walk, repeat_evaluation, withdraw
from engine.search.bias import bias_slot, mixed, pattern_key
from engine.search.kernel_params import Params
from engine.search.memory import memory_key, recall
from engine.search.mirror import NEVER_BROKEN, center_decides, mirror_of
from engine.search.position import (
    CLOSED,
    MAX_DEPTH,
    WHITE_KEY,
    Batch,
    Root,
    Scratch,
    count_score,
    in_set,
    is_settled,
    occurs_thrice,
    pass_repeats,
    stone_bonus,
    write_facts,
    write_legal,
)
from engine.search.selection import choose_edge, random_unit
from engine.search.shapes import shape_key
from engine.search.tree import (
    EXPANDED,
    IS_FULL,
    LINKS,
    NEW,
    NO_NODE,
    PENDING,
    ROOT,
    SHARED_PLAYOUTS,
    SIZE,
    TERMINAL,
    TERMINAL_PLAYOUTS,
    Tree,
    add_link,
    add_node,
    find_node,
    swap_edges,
)
from engine.vertex import NO_POINT, PASS

_SYMMETRY_BITS = 48
_HASH_MIX = np.uint64(0x9E3779B97F4A7C15)


@kernel
def node_key(board: Board, to_play: int, chain: np.uint64, number: int) -> np.uint64:
    """Return the key of the position after `number` moves of the game."""
    # Part by part: the chain consists of hashes, too, and two that were mixed alike could cancel out. With a sum and an
    # exclusive or, up to 47 of 411 boards after a capture had the key of another one.
    key = mixed(mixed(chain, np.uint64(4 * number + to_play)), position_hash(board))
    return mixed(key, np.uint64(board[HEADER, KO_POINT] + 1))


@kernel
def chain_after(chain: np.uint64, board: Board, color: int, passes: int) -> np.uint64:
    """Return the chain after a capture or a pass of `color` that led to a board. passes: consecutive ones so far."""
    return mixed(mixed(chain, position_hash(board)), np.uint64(4 * passes + color))


@kernel
def plant(tree: Tree, root: Root) -> None:
    """Add the root to an empty tree."""
    chain = np.uint64(0)
    add_node(tree, node_key(root.board, root.color, chain, root.number), chain, root.color)


@kernel
def _write_past(root: Root, scratch: Scratch, batch: Batch, row: int, depth: int, ignored: bool) -> None:
    """Write the boards before the end of a walk of `depth` moves. ignored: write the last board in place of them."""
    for age in range(HISTORY):
        before = 0 if ignored else age
        if before < depth:
            batch.board_hashes[row, age] = scratch.path_hash[depth - before]
            copy_row(scratch.path_colors[(depth - before) % HISTORY], batch.colors[row, age])
        else:
            batch.board_hashes[row, age] = root.hashes[before - depth]
            copy_row(root.colors[before - depth], batch.colors[row, age])
    copy_row(root.second_start, batch.second_start[row])


# More than 8 parameters: the walk's state is in local variables of `collect`; a record of it would be written per step.
@kernel
def _write_leaf(
    root: Root,
    scratch: Scratch,
    batch: Batch,
    row: int,
    color: int,
    depth: int,
    remembered: int,
    bonus: float,
    numbers: Any,
) -> None:
    """Write a walk and the position at its end into one row of the batch, except its facts and hash."""
    board, moves = scratch.board, batch.moves[row]
    copy_board(board, batch.boards[row])
    for age in range(HISTORY):
        if numbers.ignores_all_past != 0.0:
            moves[age] = NO_POINT
        else:
            moves[age] = scratch.path_vertex[depth - 1 - age] if age < depth else root.moves[age - depth]
    if numbers.skips_past == 0:
        _write_past(root, scratch, batch, row, depth, numbers.ignores_all_past != 0.0)
    batch.to_play[row] = color
    batch.white_bonus[row] = bonus
    batch.seeds[row] = np.uint64(numbers.seed + numbers.evaluated + row)
    batch.optimism[row] = numbers.root_policy_optimism if depth == 0 else numbers.policy_optimism
    if depth == 0:
        copy_row(root.legal, batch.legal[row])
        copy_row(root.marks, batch.marks[row])
    else:
        write_legal(root, scratch, depth, remembered, color, batch.legal[row], batch.marks[row])
    for i in range(depth + 1):
        batch.nodes[row, i] = scratch.path_node[i]
        batch.links[row, i] = scratch.path_link[i]
        batch.vertices[row, i] = scratch.path_vertex[i]
    batch.length[row] = depth
    batch.counted[row] = 0


@kernel
def _finish_leaf(batch: Batch, row: int, numbers: Any) -> None:
    """Write the hash of a row, and the symmetry that it determines. All other arrays must be written before."""
    if numbers.skips_past != 0:
        return
    if numbers.ignores_all_past != 0.0:
        batch.facts[row, ALTERNATING] = 0
    # The symmetry is a function of the position, not a random number, so that a cached evaluation can be found again.
    batch.hashes[row] = row_hash(
        batch.board_hashes[row],
        batch.moves[row],
        batch.legal[row],
        batch.facts[row],
        batch.marks[row],
        batch.second_start[row],
        batch.to_play[row],
    )
    key = (batch.hashes[row] ^ numbers.symmetry_seed) * _HASH_MIX
    batch.symmetry[row] = (key >> np.uint64(_SYMMETRY_BITS)) % np.uint64(numbers.symmetries)


# More than 8 parameters: the walk's state is in local variables of `collect`; a record of it would be written per step.
@kernel
def _add_step(
    tree: Tree,
    board: Board,
    parent: int,
    edge: int,
    chain: np.uint64,
    to_play: int,
    number: int,
    pattern: np.uint64,
    shares_nodes: bool,
) -> int:
    """Create the link of an unvisited edge to the position on the board, and its node if the tree has none."""
    swap_edges(tree, parent, edge, tree.nodes[parent].children)
    key = node_key(board, to_play, chain, number)
    child = find_node(tree.nodes, tree.key_index, key) if shares_nodes else NO_NODE
    if child == NO_NODE:
        child = add_node(tree, key, chain, to_play)
        if pattern != np.uint64(0):
            tree.nodes[child].bias_slot = bias_slot(tree, pattern)
    return add_link(tree, parent, child)


@kernel
def write_root(root: Root, scratch: Scratch, batch: Batch, numbers: Any) -> None:
    """Write the position at the root into row 0 of a batch, whatever the tree has of it."""
    copy_board(root.board, scratch.board)
    if root.superko.shape[0] > 1:
        copy_row(root.occupied, scratch.occupied)
    scratch.path_node[0] = ROOT
    _write_leaf(root, scratch, batch, 0, root.color, 0, 0, root.white_bonus, numbers)
    repeats = root.remembers_passes and pass_repeats(root, scratch, 0, 0, root.color)
    write_facts(root, scratch, 0, root.passes, root.button, repeats, batch.facts[0])
    _finish_leaf(batch, 0, numbers)


@kernel
def _repeats_shape(root: Root, board: Board, vertex: int) -> bool:
    """Return whether a move of `shape_color`, before it is played, has a shape that must not be repeated."""
    if root.shapes.shape[0] == 1 or vertex == PASS:
        return False
    return in_set(root.shapes, shape_key(board, vertex, vertex, root.shape_color, 0))


@kernel
def _leaks(numbers: Any) -> bool:
    """Return whether a walk goes on where the visits of other paths could be counted."""
    return bool(numbers.catch_up_leak > 0.0 and random_unit(numbers) < numbers.catch_up_leak)


# More than 60 lines: the parts share a dozen local variables, which helpers would have to take and return.
@kernel
def collect(
    tree: Tree,
    root: Root,
    scratch: Scratch,
    batch: Batch,
    params: Params,
    wanted: int,
) -> int:
    """Walk from the root until the batch has `wanted` leaves; return their number.

    Walks that end the game, or end at a node with enough visits by other paths, are backed up at once, up to `wanted`
    of them, and no more than the visits of `params` allow, if there are any. The batch is cut short when a walk meets a
    leaf that is already pending, or when the tree is full.
    """
    rows, ended, numbers = 0, 0, params.numbers
    most = numbers.visits - tree.nodes[ROOT].visits - numbers.in_flight if numbers.visits > 0 else 2 * wanted
    board, nodes, path, links = scratch.board, tree.nodes, scratch.path_node, scratch.path_link
    while rows < wanted and ended < wanted and rows + ended < most:
        copy_board(root.board, board)
        counted = 0
        number, depth, passes, button, edge = ROOT, 0, root.passes, root.button, 0
        bonus, handicap, remembered, cycle_start, is_void = root.white_bonus, root.handicap, 0, 0, False
        is_shared, last = False, root.moves[0]
        if root.superko.shape[0] > 1:
            copy_row(root.occupied, scratch.occupied)
        path[0] = ROOT
        numbers.mirror_broken = NEVER_BROKEN
        nodes[ROOT].pending += 1
        while nodes[number].stage == EXPANDED and depth < MAX_DEPTH - 1:
            edge = choose_edge(tree, params, number, depth, root.avoid, root.avoid_depth, board, last, scratch.work)
            if edge < 0:
                break
            is_weightless = numbers.is_weightless != 0
            is_new = edge >= nodes[number].children
            if is_new and (tree.counters[SIZE] >= nodes.shape[0] or tree.counters[LINKS] >= tree.links.shape[0]):
                tree.counters[IS_FULL] = 1
                break
            color, vertex = nodes[number].to_play, tree.edge_vertex[number, edge]
            chain, pattern, ended_here, is_void = nodes[number].chain, np.uint64(0), False, False
            repeats_shape = is_new and color == root.shape_color and _repeats_shape(root, board, vertex)
            # As in KataGo: unrelated positions would share the entry of a pass, which has no surroundings.
            if is_new and numbers.subtree_value_bias_factor != 0.0 and vertex != PASS and last != NO_POINT:
                pattern = pattern_key(board, vertex, color, last)
            empties = board[HEADER, EMPTY_COUNT]
            if vertex == PASS:
                ended_here = root.remembers_passes and pass_repeats(root, scratch, depth, remembered, color)
                cycle_start = depth + 1
                play(board, PASS, color, True)
                if button:
                    bonus -= black_value(BUTTON_POINTS, color)
                    remembered = depth + 1
                button, passes = False, min(passes, 0) if button else passes + 1
            else:
                place(board, vertex, color)
                # Not 0: a negative number of passes means that passes never end this game (`Search.play_on`).
                passes = min(passes, 0)
                scratch.occupied[vertex] = True
                bonus += stone_bonus(color, root.counts_moves, handicap, root.handicap_less)
                handicap = CLOSED if handicap == CLOSED or color == WHITE else handicap + 1
            scratch.path_vertex[depth] = vertex
            key = position_hash(board)
            # A capture or a pass: only after these can a position come again.
            if board[HEADER, EMPTY_COUNT] != empties - 1:
                chain = chain_after(chain, board, color, passes)
            depth += 1
            # Here `last` is still the move before.
            if numbers.mirror_color != EMPTY and depth % 2 == 0 and vertex != mirror_of(board, last):
                numbers.mirror_broken = min(numbers.mirror_broken, depth - 1)
            link = numbers.chosen_link
            if is_new:
                link = _add_step(
                    tree,
                    board,
                    number,
                    edge,
                    chain,
                    3 - color,
                    root.number + depth,
                    pattern,
                    numbers.shares_nodes != 0.0,
                )
            links[depth - 1], number, last = link, tree.links[link].child, vertex
            if is_weightless:
                counted = depth
            if repeats_shape and nodes[number].stage == NEW and board[HEADER, KO_POINT] == NO_POINT:
                nodes[number].shape_bonus = root.shape_bonus
            path[depth] = number
            nodes[number].pending += 1
            scratch.path_hash[depth] = key
            scratch.path_ko[depth] = board[HEADER, KO_POINT]
            if root.situational and color == BLACK:
                key ^= WHITE_KEY
            scratch.path_key[depth - 1] = key
            if root.can_be_void and vertex != PASS:
                is_void = occurs_thrice(root, scratch, depth, cycle_start, 3 - color)
            if numbers.skips_past == 0:
                copy_row(board[COLOR], scratch.path_colors[depth % HISTORY])
            is_end = passes >= 2 or ended_here
            if depth == 1 and numbers.conservative_pass != 0.0:
                is_end = False
            if nodes[number].stage == NEW and (is_end or is_void):
                end_game(nodes, number)
            elif not is_weightless and tree.links[link].visits < nodes[number].visits and not _leaks(numbers):
                # Other paths have visited this node more often than this link: their playouts are counted for the link
                # one by one, instead of making new ones (KataGo, docs/GraphSearch.md).
                is_shared = True
                break
        node = nodes[number]
        looks = root.may_settle and numbers.ends_settled != 0.0 and depth > 0
        if looks and node.stage == NEW and is_settled(root, scratch, board):
            end_game(nodes, number)
        if is_shared:
            tree.counters[SHARED_PLAYOUTS] += 1
        elif node.stage == NEW:
            node.stage = PENDING
            if tree.memory.shape[0] > 0 and numbers.mirror_color == EMPTY:
                key = memory_key(board, node.to_play, root.number + depth, passes, bonus, numbers.memory_seed)
                recall(tree, number, key)
            _write_leaf(root, scratch, batch, rows, node.to_play, depth, remembered, bonus, numbers)
            batch.counted[rows] = counted
            batch.by_center[rows] = center_decides(numbers, board, depth)
            repeats = root.remembers_passes and pass_repeats(root, scratch, depth, remembered, node.to_play)
            write_facts(root, scratch, depth, passes, button, repeats, batch.facts[rows])
            _finish_leaf(batch, rows, numbers)
            rows += 1
            continue
        elif node.stage == PENDING:
            # Further walks would end here, too: better a smaller batch than more virtual losses.
            withdraw(tree, path, depth)
            break
        elif node.stage == TERMINAL:
            score = 0.0
            if node.visits == 0 and not is_void:
                score = count_score(root, scratch, board, bonus)
                expected = nodes[path[depth - 1]].raw_lead
                if numbers.doubt > 0.0 and abs(score - expected) > numbers.doubt:
                    score = expected
            finish_game(tree, params, number, score, is_void, numbers.terminal_weight)
            tree.counters[TERMINAL_PLAYOUTS] += 1
        elif depth >= MAX_DEPTH - 1:
            # Only endless fights get this deep: the evaluation of the position counts once more.
            repeat_evaluation(nodes, number)
            tree.counters[TERMINAL_PLAYOUTS] += 1
        elif edge < 0 and 0 < depth < root.avoid_depth and node.pending == 1:
            # Every move here is forbidden, and no other walk is below: with its visits, others are searched on.
            repeat_evaluation(nodes, number)
            tree.counters[TERMINAL_PLAYOUTS] += 1
        else:
            withdraw(tree, path, depth)
            break
        finish_walk(tree, params, path, links, depth, counted, scratch.work)
        ended += 1
    numbers.evaluated += rows
    return rows
