"""Many trees in one array each: the kernels that walk all of them, one after another, into one batch.

The arrays of a `Tree`, the fields of a `Root` and the numbers of a search have one more axis in front, that of
the trees; a view of one of them is what `engine.search.walk` and `engine.search.backup` take. So one call from
Python serves hundreds of trees: handed over one by one, the arrays of a tree would cost more than a walk.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.native.jit import kernel
from engine.search.backup import Answers, back_up
from engine.search.expansion import Sorting
from engine.search.position import Batch, Root, Scratch, put_in_set
from engine.search.selection import Exploration
from engine.search.tree import IS_FULL, ROOT, Tree, playouts_without_evaluation
from engine.search.values import Values
from engine.search.walk import Conduct, collect

GOING, DONE, FULL = range(3)
"""What a tree is after a visit of `collect_forest`: searched on; at its visits, or nothing left to search; in want
of room."""
_ENDED_AT_A_TIME = 256
"""Playouts in a row that the rules end, after which the other trees have their turn."""


class Searches(NamedTuple):
    """What the searches of G trees go by: the fields of `Exploration`, `Values` and `Conduct`, each [G].

    score_table: of all. visits: [G] int64 at which a search ends; the root's, those of earlier searches included.
    evaluated: [G] int64, leaves that this search had evaluated, the counter behind the seeds.
    """

    exploration: Any
    values: Any
    conduct: Any
    score_table: NDArray[np.float32]
    visits: NDArray[np.int64]
    evaluated: NDArray[np.int64]


@kernel
def tree_at(trees: Any, tree: int) -> Tree:
    """Return the view of one tree. trees: a `Tree` of arrays with one more axis."""
    return Tree(
        trees.counters[tree],
        trees.nodes[tree],
        trees.links[tree],
        trees.edge_vertex[tree],
        trees.edge_prior[tree],
        trees.ownership[tree],
        trees.rave_visits[tree],
        trees.rave_value[tree],
        trees.key_index[tree],
        trees.bias_keys[tree],
        trees.bias_sums[tree],
    )


@kernel
def root_at(roots: Any, tree: int) -> Root:
    """Return the root position of one tree. roots: a `Root` of arrays, every field with one more axis."""
    return Root(
        roots.board[tree],
        roots.colors[tree],
        roots.hashes[tree],
        roots.moves[tree],
        roots.facts[tree],
        roots.marks[tree],
        roots.second_start[tree],
        roots.passes_before[tree],
        roots.seen[tree],
        roots.seen_twice[tree],
        roots.superko[tree],
        roots.occupied[tree],
        roots.legal[tree],
        roots.region[tree],
        roots.avoid[tree],
        roots.avoid_depth[tree],
        roots.number[tree],
        roots.dead[tree],
        roots.white_bonus[tree],
        roots.passes[tree],
        roots.button[tree],
        roots.handicap[tree],
        roots.handicap_less[tree],
        roots.counts_moves[tree],
        roots.can_be_void[tree],
        roots.remembers_passes[tree],
        roots.pass_ends_game[tree],
        roots.situational[tree],
        roots.suicide[tree],
        roots.is_area[tree],
        roots.tax[tree],
        roots.color[tree],
        roots.cautious[tree],
    )


@kernel
def _exploration_at(numbers: Any, tree: int) -> Exploration:
    return Exploration(
        numbers.c_puct[tree],
        numbers.c_puct_log[tree],
        numbers.c_puct_base[tree],
        numbers.stdev_prior[tree],
        numbers.stdev_prior_weight[tree],
        numbers.stdev_scale[tree],
        numbers.fpu_reduction[tree],
        numbers.root_fpu_reduction[tree],
        numbers.fpu_policy_power[tree],
        numbers.virtual_loss[tree],
        numbers.wide_root_noise[tree],
        numbers.rave_bias[tree],
        numbers.rave_prior[tree],
        numbers.utility_radius[tree],
        numbers.forced_playouts[tree],
    )


@kernel
def _values_at(numbers: Any, score_table: NDArray[np.float32], tree: int) -> Values:
    return Values(
        score_table,
        numbers.root_of_area[tree],
        numbers.score_center[tree],
        numbers.static_score_factor[tree],
        numbers.dynamic_score_factor[tree],
        numbers.dynamic_score_scale[tree],
        numbers.value_weight_exponent[tree],
        numbers.noise_prune_scale[tree],
        numbers.bias_factor[tree],
        numbers.bias_exponent[tree],
        numbers.uncertainty_coefficient[tree],
        numbers.uncertainty_max_weight[tree],
    )


@kernel
def _batch_from(batch: Batch, row: int) -> Batch:
    """Return the rows of a batch from one on."""
    return Batch(
        batch.boards[row:],
        batch.colors[row:],
        batch.board_hashes[row:],
        batch.moves[row:],
        batch.to_play[row:],
        batch.legal[row:],
        batch.facts[row:],
        batch.marks[row:],
        batch.second_start[row:],
        batch.hashes[row:],
        batch.seeds[row:],
        batch.white_bonus[row:],
        batch.nodes[row:],
        batch.links[row:],
        batch.length[row:],
    )


@kernel
def _answers_from(answers: Answers, row: int) -> Answers:
    """Return the rows of answers from one on."""
    return Answers(
        answers.policy[row:],
        answers.value[row:],
        answers.score[row:],
        answers.ownership[row:],
        answers.first_play[row:],
        answers.details[row:],
        answers.has_details,
    )


@kernel
def refill(table: NDArray[np.uint64], keys: NDArray[np.uint64]) -> None:
    """Make an open-addressed set that of another size. A table of one place stays without keys."""
    table[:] = 0
    for key in keys:
        if key != np.uint64(0):
            put_in_set(table, key)


@kernel
def collect_forest(
    trees: Any,
    roots: Any,
    searches: Searches,
    scratch: Scratch,
    generators: NDArray[np.uint64],
    batch: Batch,
    first: int,
    chosen: NDArray[np.int64],
    count: int,
    leaves: int,
    status: NDArray[np.int8],
    owners: NDArray[np.int64],
) -> int:
    """Walk down the chosen trees for up to `leaves` leaves each, into the rows from `first` on; return the next row.

    The batch must have room for them. Playouts that the rules end are made until a leaf is found. generators: [G, 1]
    random numbers of the walks. status: [count], receives GOING, DONE or FULL. owners: [rows], the tree of each row.
    """
    row = first
    for place in range(count):
        tree_number = chosen[place]
        tree, root = tree_at(trees, tree_number), root_at(roots, tree_number)
        exploration = _exploration_at(searches.exploration, tree_number)
        values = _values_at(searches.values, searches.score_table, tree_number)
        conduct = Conduct(
            searches.conduct.shares_nodes[tree_number],
            searches.conduct.terminal_weight[tree_number],
            searches.conduct.seed[tree_number],
            searches.conduct.doubt[tree_number],
        )
        scratch.generator[0] = generators[tree_number, 0]
        status[place] = DONE
        ended = 0
        while tree.nodes[ROOT].visits < searches.visits[tree_number]:
            if ended > _ENDED_AT_A_TIME:
                status[place] = GOING
                break
            if tree.counters[IS_FULL]:
                status[place] = FULL
                break
            wanted = min(leaves, searches.visits[tree_number] - tree.nodes[ROOT].visits)
            before = playouts_without_evaluation(tree.counters)
            rows = collect(
                tree,
                root,
                scratch,
                _batch_from(batch, row),
                exploration,
                values,
                conduct,
                searches.evaluated[tree_number],
                wanted,
            )
            if rows > 0:
                searches.evaluated[tree_number] += rows
                owners[row : row + rows] = tree_number
                row += rows
                status[place] = GOING
                break
            progress = playouts_without_evaluation(tree.counters) - before
            if progress == 0 and not tree.counters[IS_FULL]:
                break
            ended += progress
        generators[tree_number, 0] = scratch.generator[0]
    return row


@kernel
def back_up_forest(
    trees: Any,
    searches: Searches,
    batch: Batch,
    rows: int,
    owners: NDArray[np.int64],
    answers: Answers,
    width: int,
    sorting: Sorting,
    work: NDArray[np.float64],
    amaf: NDArray[np.int8],
    moves: NDArray[np.int16],
    evaluations: NDArray[np.float64],
) -> None:
    """Bring the evaluations of a batch into the trees that its rows are of.

    evaluations: [1], their number is added to it. Working memory: see `back_up`.
    """
    row = 0
    while row < rows:
        end = row + 1
        while end < rows and owners[end] == owners[row]:
            end += 1
        back_up(
            tree_at(trees, owners[row]),
            _batch_from(batch, row),
            _answers_from(answers, row),
            _values_at(searches.values, searches.score_table, owners[row]),
            width,
            sorting,
            work,
            amaf,
            moves,
            evaluations,
            end - row,
        )
        row = end
