"""The three steps of a playout on the tree: select a leaf, expand it, back its value up.

`collect` walks down from the root until a batch of leaves is full, writing each leaf's position
where the evaluator reads it; `back_up` takes the evaluations. Virtual loss keeps the walks of one
batch apart. No Python object, no allocation, no GIL.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import place, play, position_hash
from engine.board.layout import COLOR, HEADER, KO_POINT
from engine.color import BLACK, EMPTY, WHITE
from engine.evaluators.base import HISTORY, black_value, outcome_value, row_hash
from engine.jit import kernel
from engine.search.position import (
    CLOSED,
    MAX_DEPTH,
    WHITE_KEY,
    Root,
    Scratch,
    count_score,
    occurs_thrice,
    pass_repeats,
    stone_bonus,
    write_facts,
    write_legal,
)
from engine.search.tree import (
    COLLISIONS,
    EXPANDED,
    NEW,
    NO_NODE,
    PENDING,
    PRIOR_SCALE,
    ROOT,
    SIZE,
    TERMINAL,
    TERMINAL_PLAYOUTS,
    Tree,
    add_node,
    swap_edges,
)
from engine.vertex import PASS

_INDEX_BITS = 10
_INDEX_RANGE = 1 << _INDEX_BITS
"""More than the moves of the largest board; with 16 bits of prior it fills less than an int32."""
_PRIOR_HALF = 1 << 15


class Batch(NamedTuple):
    """The arrays of a `PositionBatch`, and the leaf node of each row."""

    boards: NDArray[np.int16]
    colors: NDArray[np.int8]
    board_hashes: NDArray[np.uint64]
    moves: NDArray[np.int16]
    to_play: NDArray[np.int8]
    legal: NDArray[np.bool_]
    facts: NDArray[np.int16]
    marks: NDArray[np.int8]
    second_start: NDArray[np.int8]
    hashes: NDArray[np.uint64]
    seeds: NDArray[np.uint64]
    white_bonus: NDArray[np.float32]
    leaf: NDArray[np.int32]


class Weights(NamedTuple):
    """The numbers of `SearchParams` that kernels read."""

    c_puct: float
    fpu_reduction: float
    virtual_loss: float
    rave_bias: float
    rave_prior: float
    seed: int


@kernel
def _choose_edge(tree: Tree, node: int, weights: Weights) -> int:
    """Return the edge with the largest value plus exploration, visited or not."""
    sign = 1.0 if tree.to_play[node] == BLACK else -1.0
    children, edges = tree.children[node], tree.edges[node]
    exploration = weights.c_puct * np.sqrt(tree.visits[node] + tree.pending[node])
    has_rave = tree.rave_visits.shape[0] > 0
    best, best_value, seen_prior = 0, -1e30, 0.0
    parent_value = sign * tree.value_sum[node] / max(tree.visits[node], 1)
    child = tree.first_child[node]
    for edge in range(children):
        prior = (tree.edge_prior[node, edge] / PRIOR_SCALE) ** 2
        seen_prior += prior
        pending = tree.pending[child]
        visits = tree.visits[child] + pending
        value = parent_value
        if visits > 0:
            value = (sign * tree.value_sum[child] - weights.virtual_loss * pending) / visits
        if has_rave:
            rave = tree.rave_visits[node, edge]
            if rave > 0:
                share = rave / (rave + visits + weights.rave_bias * rave * visits)
                value += share * (sign * tree.rave_value[node, edge] / rave - value)
        value += exploration * prior / (1 + visits)
        if value > best_value:
            best, best_value = edge, value
        child = tree.next_sibling[child]
    first_play_urgency = max(parent_value - weights.fpu_reduction * np.sqrt(seen_prior), -1.0)
    # Edges come best prior first, so without all-moves-as-first values only one can win.
    end = edges if has_rave else min(edges, children + 1)
    for edge in range(children, end):
        value = first_play_urgency
        if has_rave and tree.rave_visits[node, edge] > 0:
            rave = tree.rave_visits[node, edge]
            value = (value * weights.rave_prior + sign * tree.rave_value[node, edge]) / (weights.rave_prior + rave)
        value += exploration * (tree.edge_prior[node, edge] / PRIOR_SCALE) ** 2
        if value > best_value:
            best, best_value = edge, value
    return best


@kernel
def _child_at(tree: Tree, node: int, edge: int) -> int:
    child = tree.first_child[node]
    for _ in range(edge):
        child = tree.next_sibling[child]
    return child


@kernel
def _propagate(tree: Tree, leaf: int, value: float, score: float) -> None:
    """Add one finished playout to a leaf and all its ancestors."""
    node = leaf
    while node != NO_NODE:
        tree.visits[node] += 1
        tree.value_sum[node] += value
        tree.score_sum[node] += score
        tree.pending[node] -= 1
        node = tree.parent[node]


@kernel
def _withdraw(tree: Tree, leaf: int) -> None:
    """Take back the pending visit of a walk that led nowhere."""
    node = leaf
    while node != NO_NODE:
        tree.pending[node] -= 1
        node = tree.parent[node]


@kernel
def _write_leaf(
    tree: Tree,
    root: Root,
    scratch: Scratch,
    batch: Batch,
    row: int,
    leaf: int,
    depth: int,
    remembered: int,
    bonus: float,
    seed: int,
) -> None:
    """Write the position at the end of a walk into one row of the batch, all but its facts and hash."""
    board, moves, hashes = scratch.board, batch.moves[row], batch.board_hashes[row]
    color = tree.to_play[leaf]
    batch.boards[row, :, :] = board
    for age in range(HISTORY):
        if age < depth:
            moves[age] = scratch.path_vertex[depth - 1 - age]
            hashes[age] = scratch.path_hash[depth - age]
            batch.colors[row, age] = scratch.path_colors[(depth - age) % HISTORY]
        else:
            moves[age] = root.moves[age - depth]
            hashes[age] = root.hashes[age - depth]
            batch.colors[row, age] = root.colors[age - depth]
    batch.to_play[row] = color
    batch.white_bonus[row] = bonus
    batch.seeds[row] = np.uint64(seed)
    batch.second_start[row] = root.second_start
    if depth == 0:
        batch.legal[row] = root.legal
        batch.marks[row] = root.marks
    else:
        write_legal(root, scratch, depth, remembered, color, batch.legal[row], batch.marks[row])
    batch.leaf[row] = leaf


@kernel
def _hash_leaf(batch: Batch, row: int) -> None:
    """Write the hash of a row whose every other array is written."""
    batch.hashes[row] = row_hash(
        batch.board_hashes[row],
        batch.moves[row],
        batch.legal[row],
        batch.facts[row],
        batch.marks[row],
        batch.second_start[row],
        batch.to_play[row],
    )


@kernel
def collect(tree: Tree, root: Root, scratch: Scratch, batch: Batch, weights: Weights, wanted: int, started: int) -> int:
    """Walk down until `wanted` leaves wait for evaluation; return how many do.

    Walks that end the game are backed up at once, up to `wanted` of them. The batch is cut short
    when a walk meets a leaf that is already waiting, or when the tree is full.
    started: leaves evaluated before in this search, the counter behind each row's seed.
    """
    rows, ended = 0, 0
    board = scratch.board
    capacity = tree.parent.shape[0]
    while rows < wanted and ended < wanted:
        board[:, :] = root.board
        node, depth, passes, button = ROOT, 0, root.passes, root.button
        bonus, handicap, remembered, cycle_start, is_void = root.white_bonus, root.handicap, 0, 0, False
        if root.superko.shape[0] > 1:
            scratch.occupied[:] = root.occupied
        tree.pending[ROOT] += 1
        while tree.stage[node] == EXPANDED and depth < MAX_DEPTH - 1:
            edge = _choose_edge(tree, node, weights)
            children = tree.children[node]
            if edge >= children and tree.counters[SIZE] >= capacity:
                break
            color, vertex = tree.to_play[node], tree.edge_vertex[node, edge]
            if edge >= children:
                swap_edges(tree, node, edge, children)
                node = add_node(tree, node, vertex, 3 - color)
            else:
                node = _child_at(tree, node, edge)
            tree.pending[node] += 1
            ended_here, is_void = False, False
            if vertex == PASS:
                ended_here = root.remembers_passes and pass_repeats(root, scratch, depth, remembered, color)
                cycle_start = depth + 1
                play(board, PASS, color, True)
                if button:
                    bonus += 0.5 if color == WHITE else -0.5
                    remembered = depth + 1
                button, passes = False, 0 if button else passes + 1
            else:
                place(board, vertex, color)
                passes = 0
                scratch.occupied[vertex] = True
                bonus += stone_bonus(color, root.counts_moves, handicap, root.handicap_less)
                handicap = CLOSED if handicap == CLOSED or color == WHITE else handicap + 1
            scratch.path_vertex[depth] = vertex
            key = position_hash(board)
            scratch.path_hash[depth + 1] = key
            scratch.path_ko[depth + 1] = board[HEADER, KO_POINT]
            if root.situational and color == BLACK:
                key ^= WHITE_KEY
            scratch.path_key[depth] = key
            depth += 1
            if root.can_be_void and vertex != PASS:
                is_void = occurs_thrice(root, scratch, depth, cycle_start, 3 - color)
            scratch.path_colors[depth % HISTORY, :] = board[COLOR]
            if tree.stage[node] == NEW and (passes >= 2 or ended_here or is_void):
                tree.stage[node] = TERMINAL
        if tree.stage[node] == NEW:
            tree.stage[node] = PENDING
            seed = weights.seed + started + rows
            _write_leaf(tree, root, scratch, batch, rows, node, depth, remembered, bonus, seed)
            repeats = root.remembers_passes and pass_repeats(root, scratch, depth, remembered, tree.to_play[node])
            write_facts(root, scratch, depth, passes, button, repeats, batch.facts[rows])
            _hash_leaf(batch, rows)
            rows += 1
        elif tree.stage[node] == PENDING:
            _withdraw(tree, node)
            tree.counters[COLLISIONS] += 1
            break
        elif tree.stage[node] == TERMINAL:
            score = 0.0 if is_void else count_score(root, scratch, board, bonus)
            _propagate(tree, node, outcome_value(score), score)
            tree.counters[TERMINAL_PLAYOUTS] += 1
            ended += 1
        elif depth >= MAX_DEPTH - 1:
            # Only endless fights get here; like a position repeated under simple ko they have no result.
            _propagate(tree, node, 0.0, 0.0)
            ended += 1
        else:
            _withdraw(tree, node)
            break
    return rows


@kernel
def _sort_descending(keys: NDArray[np.int32], count: int) -> None:
    """Sort the first `count` keys in place (Shell 1959, gaps of Ciura 2001)."""
    for gap in (301, 132, 57, 23, 10, 4, 1):
        for i in range(gap, count):
            key, place = keys[i], i
            while place >= gap and keys[place - gap] < key:
                keys[place] = keys[place - gap]
                place -= gap
            keys[place] = key


@kernel
def _expand(
    tree: Tree,
    node: int,
    legal: NDArray[np.bool_],
    policy: NDArray[np.float32],
    width: int,
    order: NDArray[np.int32],
) -> None:
    """Give a node its legal moves, best prior first, equal ones in policy order.

    order: [area + 1] int32 working memory. Its keys hold the coded prior above the index counted from the end.
    """
    edge_prior, edge_vertex = tree.edge_prior[node], tree.edge_vertex[node]
    count, last = 0, legal.shape[0] - 1
    for index in range(last + 1):
        if legal[index]:
            prior = np.int32(np.sqrt(min(max(policy[index], 0.0), 1.0)) * PRIOR_SCALE)
            order[count] = (prior - _PRIOR_HALF) * _INDEX_RANGE + (last - index)
            count += 1
    _sort_descending(order, count)
    for edge in range(count):
        index = last - (order[edge] & (_INDEX_RANGE - 1))
        edge_prior[edge] = (order[edge] >> _INDEX_BITS) + _PRIOR_HALF
        edge_vertex[edge] = PASS if index == last else (index // width + 1) * (width + 1) + index % width + 1
    tree.edges[node] = count
    if tree.rave_visits.shape[0] > 0:
        tree.rave_visits[node, :count] = 0.0
        tree.rave_value[node, :count] = 0.0
    tree.stage[node] = EXPANDED


@kernel
def _update_rave(tree: Tree, leaf: int, value: float, amaf: NDArray[np.int8]) -> None:
    """Credit every edge of the path's nodes whose move its side played first below (Gelly and Silver 2007)."""
    node = leaf
    while node != NO_NODE:
        color = tree.to_play[node]
        for edge in range(tree.edges[node]):
            if amaf[tree.edge_vertex[node, edge]] == color:
                tree.rave_visits[node, edge] += 1.0
                tree.rave_value[node, edge] += value
        amaf[tree.vertex[node]] = 3 - color
        amaf[PASS] = EMPTY
        node = tree.parent[node]


@kernel
def back_up(
    tree: Tree,
    batch: Batch,
    rows: int,
    policy: NDArray[np.float32],
    value: NDArray[np.float32],
    score: NDArray[np.float32],
    ownership: NDArray[np.float32],
    first_play: NDArray[np.int8],
    width: int,
    order: NDArray[np.int32],
    amaf: NDArray[np.int8],
    ownership_sum: NDArray[np.float64],
) -> None:
    """Expand the leaves of a batch with their evaluations and add these to all ancestors.

    ownership_sum: [area + 1] float64, Black-positive sums over all evaluations; the last is their number.
    """
    has_rave = tree.rave_visits.shape[0] > 0
    for row in range(rows):
        leaf = batch.leaf[row]
        color = tree.to_play[leaf]
        _expand(tree, leaf, batch.legal[row], policy[row], width, order)
        for_black = black_value(value[row], color)
        _propagate(tree, leaf, for_black, black_value(score[row], color))
        for index in range(ownership_sum.shape[0] - 1):
            ownership_sum[index] += black_value(ownership[row, index], color)
        ownership_sum[ownership_sum.shape[0] - 1] += 1.0
        if has_rave:
            amaf[:] = first_play[row]
            _update_rave(tree, leaf, for_black, amaf)


@kernel
def reopen(tree: Tree, batch: Batch, rows: int) -> None:
    """Take back a collected batch that will not be evaluated: its leaves are new again."""
    for row in range(rows):
        leaf = batch.leaf[row]
        tree.stage[leaf] = NEW
        _withdraw(tree, leaf)


@kernel
def two_most_visited(tree: Tree, out: NDArray[np.int64]) -> None:
    """Write the visits of the root's most and second most visited children to out[0] and out[1]."""
    out[:] = 0
    child = tree.first_child[ROOT]
    while child != NO_NODE:
        visits = tree.visits[child]
        if visits > out[0]:
            out[1] = out[0]
            out[0] = visits
        elif visits > out[1]:
            out[1] = visits
        child = tree.next_sibling[child]
