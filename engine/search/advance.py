"""The step that every search consists of: back up a finished batch, collect the next one. For one tree or many.

Arrays of trees, of root positions and of parameters have one more axis in front, that of the trees: one call serves
hundreds of trees; handed over one by one, the arrays of a tree would cost more than a walk. A worker is a thread with a
batch. Where the evaluator can be called by kernels, `run_worker` searches without Python; only
there closures and the CPU's clock are used, which not every machine has.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.native.closures import FAILED, invoke
from engine.native.jit import kernel
from engine.native.locks import acquire, pause, release, ticks
from engine.search.backup import Answers, back_up, reopen
from engine.search.kernel_params import Params
from engine.search.position import Batch, Root, Scratch
from engine.search.tree import IS_FULL, ROOT, Tree, playouts_without_evaluation
from engine.search.walk import collect

GOING, REACHED, STUCK, FULL = range(4)
"""What a tree is after leaves were collected: searched on; at its visits, those under evaluation included; without
anything to evaluate; in want of room."""
WALKING, EVALUATING, GIVEN_UP, HAS_FAILED, IS_BROKEN = range(5)
"""What a worker does. The last two: its evaluation failed, or a kernel of the search reached beyond an array."""
WAIT, OVER, GO_ON = 0, -2, -3
"""What a worker is to do where a kernel has no rows for it: wait for others, end, or go on with the next step."""
FINISH, START, EVALUATE = range(3)
"""Steps of a worker; those that evaluate come last."""
CONTROL = np.dtype(
    [
        ("stop", np.int64),
        ("workers", np.int64),
        ("batch", np.int64),
        ("is_in_turn", np.int64),
        ("turn", np.int64),
        ("answers", np.int64),
        ("rows_answered", np.int64),
    ],
    align=True,
)
"""What the workers of a search share. stop: whether to end. workers: those that may work. batch: leaves of a batch.
is_in_turn, turn: whether they advance one after another, and the number of the next one. answers, rows_answered:
batches that were backed up so far, and their rows."""
WORKER = np.dtype(
    [
        ("number", np.int64),
        ("state", np.int64),
        ("rows", np.int64),
        ("unused", np.int64, 5),
    ],
    align=True,
)
"""One worker, a cache line of its own, so that no two write to one. rows: of its batch."""
_MOST_ENDED = 256
"""Playouts in a row that the rules end, after which others have their turn."""
_PAUSES = 64
"""Pauses of a worker that has to wait, before it looks again."""


class WorkerArrays(NamedTuple):
    """What a worker works with.

    state: [1] WORKER. owners: [rows] the tree of each row. chosen, status: [G], the trees to collect from, and what
    each is afterwards; `count` of them count.
    """

    batch: Batch
    answers: Answers
    state: NDArray[np.void]
    owners: NDArray[np.int64]
    chosen: NDArray[np.int64]
    status: NDArray[np.int8]


@kernel
def tree_at(trees: Any, tree: int) -> Tree:
    """Return the view of one tree. trees: a `Tree` of arrays with one more axis."""
    return Tree(
        counters=trees.counters[tree],
        nodes=trees.nodes[tree],
        links=trees.links[tree],
        edge_vertex=trees.edge_vertex[tree],
        edge_prior=trees.edge_prior[tree],
        ownership=trees.ownership[tree],
        rave_visits=trees.rave_visits[tree],
        rave_value=trees.rave_value[tree],
        key_index=trees.key_index[tree],
        bias_keys=trees.bias_keys[tree],
        bias_sums=trees.bias_sums[tree],
    )


@kernel
def root_at(roots: Any, tree: int) -> Root:
    """Return the root position of one tree. roots: a `Root` of arrays, every field with one more axis."""
    return Root(
        board=roots.board[tree],
        colors=roots.colors[tree],
        hashes=roots.hashes[tree],
        moves=roots.moves[tree],
        facts=roots.facts[tree],
        marks=roots.marks[tree],
        second_start=roots.second_start[tree],
        passes_before=roots.passes_before[tree],
        seen=roots.seen[tree],
        seen_twice=roots.seen_twice[tree],
        superko=roots.superko[tree],
        occupied=roots.occupied[tree],
        legal=roots.legal[tree],
        region=roots.region[tree],
        avoid=roots.avoid[tree],
        avoid_depth=roots.avoid_depth[tree],
        number=roots.number[tree],
        dead=roots.dead[tree],
        white_bonus=roots.white_bonus[tree],
        passes=roots.passes[tree],
        button=roots.button[tree],
        handicap=roots.handicap[tree],
        handicap_less=roots.handicap_less[tree],
        counts_moves=roots.counts_moves[tree],
        can_be_void=roots.can_be_void[tree],
        remembers_passes=roots.remembers_passes[tree],
        pass_ends_game=roots.pass_ends_game[tree],
        situational=roots.situational[tree],
        suicide=roots.suicide[tree],
        is_area=roots.is_area[tree],
        tax=roots.tax[tree],
        color=roots.color[tree],
        cautious=roots.cautious[tree],
    )


@kernel
def _batch_from(batch: Batch, row: int) -> Batch:
    """Return the rows of a batch from one on."""
    return Batch(
        boards=batch.boards[row:],
        colors=batch.colors[row:],
        board_hashes=batch.board_hashes[row:],
        moves=batch.moves[row:],
        to_play=batch.to_play[row:],
        legal=batch.legal[row:],
        facts=batch.facts[row:],
        marks=batch.marks[row:],
        second_start=batch.second_start[row:],
        hashes=batch.hashes[row:],
        seeds=batch.seeds[row:],
        optimism=batch.optimism[row:],
        symmetry=batch.symmetry[row:],
        white_bonus=batch.white_bonus[row:],
        nodes=batch.nodes[row:],
        links=batch.links[row:],
        length=batch.length[row:],
    )


@kernel
def _answers_from(answers: Answers, row: int) -> Answers:
    """Return the rows of answers from one on."""
    return Answers(
        policy=answers.policy[row:],
        value=answers.value[row:],
        score=answers.score[row:],
        ownership=answers.ownership[row:],
        first_play=answers.first_play[row:],
        details=answers.details[row:],
        has_details=answers.has_details,
    )


@kernel
def _rows_of_one_tree(owners: NDArray[np.int64], row: int, rows: int) -> int:
    """Return the end of the rows from `row` on that belong to one tree."""
    end = row + 1
    while end < rows and owners[end] == owners[row]:
        end += 1
    return end


@kernel
def collect_rows(
    trees: Any,
    roots: Any,
    scratch: Scratch,
    params: NDArray[np.void],
    score_table: NDArray[np.float32],
    leaves: int,
    worker: WorkerArrays,
    count: int,
) -> int:
    """Append up to `leaves` leaves of each of `count` chosen trees to a worker's batch; return how many were added.

    The batch must have room for them. Playouts that the rules end are made until a leaf is found.
    """
    own = worker.state[0]
    first = own.rows
    for place in range(count):
        number = worker.chosen[place]
        tree, root, numbers = tree_at(trees, number), root_at(roots, number), params[number]
        worker.status[place] = REACHED
        ended = 0
        while tree.nodes[ROOT].visits + numbers.in_flight < numbers.visits:
            if ended > _MOST_ENDED:
                worker.status[place] = GOING
                break
            if tree.counters[IS_FULL]:
                worker.status[place] = FULL
                break
            wanted = min(leaves, numbers.visits - tree.nodes[ROOT].visits - numbers.in_flight)
            before = playouts_without_evaluation(tree.counters)
            batch = _batch_from(worker.batch, own.rows)
            rows = collect(tree, root, scratch, batch, Params(numbers, score_table), wanted)
            if rows > 0:
                worker.owners[own.rows : own.rows + rows] = number
                own.rows += rows
                numbers.in_flight += rows
                worker.status[place] = GOING
                break
            progress = playouts_without_evaluation(tree.counters) - before
            if progress == 0 and not tree.counters[IS_FULL]:
                worker.status[place] = STUCK
                break
            ended += progress
    return int(own.rows - first)


@kernel
def back_up_rows(
    trees: Any,
    scratch: Scratch,
    params: NDArray[np.void],
    score_table: NDArray[np.float32],
    worker: WorkerArrays,
) -> None:
    """Bring the evaluations of a worker's batch into the trees that its rows are of, and empty it."""
    row, own = 0, worker.state[0]
    while row < own.rows:
        number = worker.owners[row]
        end = _rows_of_one_tree(worker.owners, row, own.rows)
        params[number].in_flight -= end - row
        back_up(
            tree_at(trees, number),
            _batch_from(worker.batch, row),
            _answers_from(worker.answers, row),
            Params(params[number], score_table),
            scratch,
            end - row,
        )
        row = end
    own.rows = 0
    own.state = WALKING


@kernel
def reopen_rows(trees: Any, params: NDArray[np.void], worker: WorkerArrays) -> None:
    """Take back a worker's batch that will not be evaluated: its leaves are new again."""
    row, own = 0, worker.state[0]
    while row < own.rows:
        number = worker.owners[row]
        end = _rows_of_one_tree(worker.owners, row, own.rows)
        params[number].in_flight -= end - row
        reopen(tree_at(trees, number), _batch_from(worker.batch, row), end - row)
        row = end
    own.rows = 0


@kernel
def finish_batch(
    trees: Any,
    scratch: Scratch,
    params: NDArray[np.void],
    score_table: NDArray[np.float32],
    control: NDArray[np.void],
    worker: WorkerArrays,
    answered: int,
) -> int:
    """Back up a worker's batch; return GO_ON, WAIT if it is not the worker's turn, or OVER.

    answered: FAILED if the evaluation of the batch failed. This and `start_batch` are to be called one after the other
    while a lock is held that guards the trees. Workers in turn make the same tree in every run, however long their
    evaluations take.
    """
    shared, own = control[0], worker.state[0]
    if own.state == GIVEN_UP:
        return OVER
    if own.state == EVALUATING and answered == FAILED:
        own.state = HAS_FAILED
        shared.stop = 1
        return OVER
    if shared.is_in_turn != 0 and shared.turn != own.number:
        return WAIT if shared.stop == 0 else OVER
    if own.state == EVALUATING:
        shared.answers += 1
        shared.rows_answered += own.rows
        back_up_rows(trees, scratch, params, score_table, worker)
    return OVER if shared.stop != 0 or own.number >= shared.workers else GO_ON


@kernel
def start_batch(
    trees: Any,
    roots: Any,
    scratch: Scratch,
    params: NDArray[np.void],
    score_table: NDArray[np.float32],
    control: NDArray[np.void],
    worker: WorkerArrays,
    _: int,
) -> int:
    """Collect a worker's next batch; return its rows, WAIT, OVER, or GO_ON to try again."""
    shared, own = control[0], worker.state[0]
    rows = collect_rows(trees, roots, scratch, params, score_table, shared.batch, worker, 1)
    shared.turn = (own.number + 1) % shared.workers
    if rows > 0:
        own.state = EVALUATING
        return rows
    if worker.status[0] == GOING:
        return GO_ON
    if worker.status[0] != STUCK:
        return OVER
    if params[worker.chosen[0]].in_flight > 0:
        return WAIT
    # Others would find nothing either, and a worker in turn must not wait for one that has ended.
    shared.stop = 1
    return OVER


@kernel
def run_worker(
    lock: NDArray[np.int64],
    control: NDArray[np.void],
    state: NDArray[np.void],
    addresses: NDArray[np.int64],
    spent: NDArray[np.int64],
) -> None:
    """Search until there is nothing more to do, without Python.

    addresses: [steps, 2] of closures: of `finish_batch`, of `start_batch`, and of those that evaluate the batch.
    spent: [steps], the time spent in each of them is added.
    """
    answered = 0
    while True:
        acquire(lock)
        start = ticks()
        rows = invoke(addresses[FINISH], answered)
        between = ticks()
        spent[FINISH] += between - start
        if rows == GO_ON:
            rows = invoke(addresses[START], 0)
            spent[START] += ticks() - between
        if rows == FAILED:
            state[0].state = IS_BROKEN
            control[0].stop = 1
        release(lock)
        if rows in (FAILED, OVER):
            break
        if rows == WAIT:
            for _ in range(_PAUSES):
                pause()
        if rows > 0:
            answered = rows
            for step in range(EVALUATE, len(addresses)):
                start = ticks()
                answered = invoke(addresses[step], answered)
                spent[step] += ticks() - start
                if answered == FAILED:
                    break


@kernel
def ticks_now() -> int:
    """Return the CPU's clock in its own units."""
    return int(ticks())
