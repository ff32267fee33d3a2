"""Backup: expands leaves with their evaluations and recomputes the statistics of all nodes above them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import copy_row
from engine.board.layout import HEADER, WIDTH
from engine.color import EMPTY
from engine.evaluation.evaluation import (
    NO_RESULT,
    SCORE_ERROR,
    SCORE_MEAN,
    SCORE_STDEV,
    VALUE_ERROR,
    black_value,
    outcome_value,
)
from engine.native.jit import kernel
from engine.search.expansion import Sorting, expand, temper, write_human_priors
from engine.search.kernel_params import Params
from engine.search.mirror import value_by_center
from engine.search.position import Batch, Scratch
from engine.search.tree import EXPANDED, NEW, NO_SLOT, OWNERSHIP_SCALE, TERMINAL, WEIGHTLESS_PLAYOUTS, Tree
from engine.search.values import playout_weight, recompute, set_own_value
from engine.vertex import PASS


@kernel
def _count_visit(tree: Tree, path: NDArray[np.int32], links: NDArray[np.int32], length: int, counted: int) -> None:
    """Turn the pending visits of a walk into finished ones, except at its last node, whose visit is already counted.

    counted: the depth from which on the walk counts; the nodes above get no visit.
    """
    tree.nodes[path[length]].pending -= 1
    for i in range(length):
        node = tree.nodes[path[i]]
        node.pending -= 1
        if i >= counted:
            tree.links[links[i]].visits += 1
            node.visits += 1
    if counted > 0:
        tree.counters[WEIGHTLESS_PLAYOUTS] += 1


@kernel
def finish_walk(
    tree: Tree,
    params: Params,
    path: NDArray[np.int32],
    links: NDArray[np.int32],
    length: int,
    counted: int,
    work: NDArray[np.float64],
) -> None:
    """Count a visit for every node above the end of a walk and recompute them; the last node is already up to date.

    counted: see `_count_visit`.
    """
    _count_visit(tree, path, links, length, counted)
    for i in range(length - 1, counted - 1, -1):
        recompute(params, tree.nodes, tree.links, tree.edge_prior[path[i]], tree.bias_sums, path[i], work, tree.memory)


@kernel
def _recompute_above(tree: Tree, params: Params, batch: Batch, rows: int, work: NDArray[np.float64]) -> None:
    """Recompute every node above the ends of a batch's walks once, from the deepest upwards."""
    # Once for a batch and not once for each walk, because the upper nodes are on all walks: at batch 8 on 9x9 a backup
    # takes 6.2 us a visit instead of 9.3. A node has one depth on every path,
    # because its key includes the number of moves, so going by depth updates children before their parents.
    nodes, length, counted, deepest = batch.nodes, batch.length, batch.counted, 0
    for row in range(rows):
        deepest = max(deepest, length[row])
    for depth in range(deepest - 1, -1, -1):
        for row in range(rows):
            is_met = depth >= length[row] or depth < counted[row]
            for earlier in range(row):
                is_above = counted[earlier] <= depth < length[earlier]
                is_met = is_met or (is_above and nodes[earlier, depth] == nodes[row, depth])
            if not is_met:
                number = nodes[row, depth]
                codes = tree.edge_prior[number]
                recompute(params, tree.nodes, tree.links, codes, tree.bias_sums, number, work, tree.memory)


@kernel
def withdraw(tree: Tree, path: NDArray[np.int32], length: int) -> None:
    """Take back the pending visits of a walk that found no leaf."""
    for i in range(length + 1):
        tree.nodes[path[i]].pending -= 1


@kernel
def finish_game(tree: Tree, params: Params, number: int, margin: float, is_void: bool, weight: float) -> None:
    """Add a visit to a node that ends the game. margin: Black's, in points. weight: of a visit."""
    node = tree.nodes[number]
    if node.visits == 0:
        counts_points = params.numbers.static_score_factor != 0.0 or params.numbers.dynamic_score_factor != 0.0
        node.raw_value = np.sign(margin) if counts_points else outcome_value(margin)
        node.raw_no_result = 1.0 if is_void else 0.0
        node.raw_score = margin
        node.raw_score_sq = margin * margin
        node.raw_lead = margin
        node.raw_weight = weight
        node.raw_weight_sq = weight * weight
        node.raw_spread = 0.0
    set_own_value(params, tree.nodes, tree.bias_sums, number, node.visits + 1, tree.memory)


@kernel
def end_game(nodes: NDArray[np.void], number: int) -> None:
    """Mark a new node as one that ends the game: its value is exact, so the errors of others do not correct it."""
    nodes[number].stage = TERMINAL
    nodes[number].bias_slot = NO_SLOT


@kernel
def repeat_evaluation(nodes: NDArray[np.void], number: int) -> None:
    """Add a visit to a node from which no walk goes on; it finds what those before it found."""
    node = nodes[number]
    more = (node.visits + 1) / node.visits
    node.weight *= more
    node.weight_sq *= more
    node.visits += 1


@kernel
def _look_up(vertices: NDArray[np.int16], amaf: NDArray[np.int8], first: NDArray[np.int8]) -> None:
    """Write into `first`, for each of some vertices, the color that first played there."""
    for edge in range(vertices.shape[0]):
        first[edge] = amaf[vertices[edge]]


@kernel
def _add_where(
    first: NDArray[np.int8], color: int, value: float, visits: NDArray[np.float32], sums: NDArray[np.float32]
) -> None:
    """Add 1 to `visits` and `value` to `sums` where `first` is `color`."""
    # Vectors of float32 and int32 throughout; a float64 would halve them.
    one, zero, own = np.float32(1.0), np.float32(0.0), np.int32(color)
    for edge in range(first.shape[0]):
        is_first = np.int32(first[edge]) == own
        visits[edge] += one if is_first else zero
        sums[edge] += value if is_first else zero


@kernel
def _update_rave(
    tree: Tree,
    path: NDArray[np.int32],
    moves: NDArray[np.int32],
    length: int,
    value: float,
    amaf: NDArray[np.int8],
    first: NDArray[np.int8],
) -> None:
    """Update the all-moves-as-first statistics of the nodes of a path (Gelly and Silver 2007).

    For each node, the edges are updated whose move the node's side was the first to play, in the walk below the node or
    in the playout. moves: [length], of the walk. amaf: the first plays of the playout; changed. first: [E] working
    memory.
    """
    for i in range(length, -1, -1):
        number = path[i]
        color, edges = tree.nodes[number].to_play, tree.nodes[number].edges
        # Two loops, because LLVM makes vectors only of the one that reads no array by the values of another: on 9x9 a
        # node takes 50 ns instead of 400, most of which were branches that the CPU cannot predict.
        _look_up(tree.edge_vertex[number][:edges], amaf, first[:edges])
        visits, sums = tree.rave_visits[number], tree.rave_value[number]
        _add_where(first[:edges], color, value, visits[:edges], sums[:edges])
        if i > 0:
            amaf[moves[i - 1]] = 3 - color
            amaf[PASS] = EMPTY


class Answers(NamedTuple):
    """The arrays of an `Evaluation`. has_details: whether the evaluator writes the details."""

    policy: NDArray[np.float32]
    value: NDArray[np.float32]
    score: NDArray[np.float32]
    ownership: NDArray[np.float32]
    first_play: NDArray[np.int8]
    details: NDArray[np.float32]
    human_policy: NDArray[np.float32]
    has_details: bool


@kernel
def _take_answer(tree: Tree, params: Params, answers: Answers, row: int, number: int, by_center: bool) -> None:
    """Store the evaluation in `row` as the node's own evaluation. by_center: see `Batch`."""
    node = tree.nodes[number]
    color = node.to_play
    lead = black_value(answers.score[row], color)
    score, deviation, no_result, value_error, score_error = lead, 0.0, 0.0, -1.0, -1.0
    if answers.has_details:
        details = answers.details[row]
        score = black_value(details[SCORE_MEAN], color)
        deviation, no_result = details[SCORE_STDEV], details[NO_RESULT]
        value_error, score_error = details[VALUE_ERROR], details[SCORE_ERROR]
    weight = playout_weight(params, score, value_error, score_error)
    node.raw_value = black_value(answers.value[row], color)
    node.raw_no_result = no_result
    if by_center and tree.ownership.shape[1] > 0:
        sign = black_value(1.0, color)
        node.raw_value = value_by_center(params.numbers, node.raw_value, no_result, answers.ownership[row], sign)
    node.raw_score = score
    node.raw_score_sq = score * score + deviation * deviation
    node.raw_lead = lead
    node.raw_weight = weight
    node.raw_weight_sq = weight * weight
    node.raw_spread = 0.0
    set_own_value(params, tree.nodes, tree.bias_sums, number, 1, tree.memory)


@kernel
def _store_ownership(ownership: NDArray[np.float32], sign: float, stored: NDArray[np.int8]) -> None:
    """Store the ownership of a node's own evaluation. sign: turns it to Black."""
    # One byte a point: on 19x19 that is 361 of the 1,988 bytes of a node, and 1/127 is exact enough to be averaged.
    for index in range(stored.shape[0]):
        stored[index] = np.int8(round(min(max(sign * ownership[index], -1.0), 1.0) * OWNERSHIP_SCALE))


@kernel
def _add_ownership(ownership: NDArray[np.float32], sign: float, total: NDArray[np.float64]) -> None:
    """Add the ownership of an evaluation, and 1 to the last entry. sign: turns it to Black."""
    last = total.shape[0] - 1
    for index in range(last):
        total[index] += sign * ownership[index]
    total[last] += 1.0


@kernel
def expand_leaves(
    tree: Tree, batch: Batch, answers: Answers, numbers: Any, width: int, sorting: Sorting, rows: int
) -> None:
    """Write the edges and the ownership of a batch's leaves. numbers: of `Params`.

    Needs no lock: no other worker reads these of a leaf before its stage is EXPANDED.
    """
    has_human = tree.human_prior.shape[0] > 0 and answers.human_policy.shape[0] > 0
    temperature = numbers.policy_temperature
    for row in range(rows):
        leaf = batch.nodes[row, batch.length[row]]
        if temperature != 1.0:
            temper(answers.policy[row], temperature)
        expand(tree, leaf, batch.legal[row], answers.policy[row], width, sorting)
        if has_human:
            if temperature != 1.0:
                temper(answers.human_policy[row], temperature)
            write_human_priors(tree, leaf, answers.human_policy[row], width)
        _store_ownership(answers.ownership[row], black_value(1.0, batch.to_play[row]), tree.ownership[leaf])


@kernel
def back_up(
    tree: Tree,
    batch: Batch,
    answers: Answers,
    params: Params,
    scratch: Scratch,
    rows: int,
) -> None:
    """Expand the leaves of a batch with their evaluations and update all nodes above them.

    Adds to `scratch.ownership_sum`: Black-positive sums over all evaluations; the last entry is their number.
    """
    expand_leaves(tree, batch, answers, params.numbers, scratch.board[HEADER, WIDTH], scratch.sorting, rows)
    back_up_expanded(tree, batch, answers, params, scratch, rows)


@kernel
def back_up_expanded(
    tree: Tree,
    batch: Batch,
    answers: Answers,
    params: Params,
    scratch: Scratch,
    rows: int,
) -> None:
    """Do the part of `back_up` that follows `expand_leaves`."""
    has_rave, amaf = tree.rave_visits.shape[0] > 0, scratch.amaf
    for row in range(rows):
        path, links, length = batch.nodes[row], batch.links[row], batch.length[row]
        leaf = path[length]
        color = tree.nodes[leaf].to_play
        tree.nodes[leaf].stage = EXPANDED
        _take_answer(tree, params, answers, row, leaf, batch.by_center[row] != 0)
        _count_visit(tree, path, links, length, batch.counted[row])
        _add_ownership(answers.ownership[row], black_value(1.0, color), scratch.ownership_sum)
        if has_rave:
            copy_row(answers.first_play[row], amaf)
            value = black_value(answers.value[row], color)
            _update_rave(tree, path, batch.vertices[row], length, value, amaf, scratch.first)
    _recompute_above(tree, params, batch, rows, scratch.work)


@kernel
def reopen(tree: Tree, batch: Batch, rows: int) -> None:
    """Take back a batch that will not be evaluated: its leaves become NEW again."""
    for row in range(rows):
        path, length = batch.nodes[row], batch.length[row]
        tree.nodes[path[length]].stage = NEW
        withdraw(tree, path, length)
