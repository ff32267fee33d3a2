"""The step of every search, of one tree or many: back up an evaluated batch and collect the next one.

Arrays of trees, root positions and parameters have one more axis in front, that of the trees: one call serves hundreds
of trees, because passing the arrays of each tree would take longer (90 us) than a leaf (36 us on 9x9). A worker is a
thread with a batch. If
kernels can call the evaluator, `run_worker` searches without Python; only there closures and the CPU's clock are used,
which not every machine supports.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.board.layout import HEADER, WIDTH
from engine.native.closures import FAILED, invoke
from engine.native.jit import kernel
from engine.native.locks import acquire, pause, release, ticks, yield_core
from engine.native.records import each_at
from engine.search.backup import Answers, back_up, back_up_expanded, expand_leaves, reopen
from engine.search.kernel_params import Params
from engine.search.position import Batch, Scratch
from engine.search.tree import IS_FULL, playouts_without_evaluation, visits_made
from engine.search.walk import collect

GOING, REACHED, STUCK, FULL = range(4)
"""State of a tree after leaves were collected: continues; has its visits, those in flight included; has nothing to
evaluate now; has no room for more nodes."""
WALKING, EVALUATING, GIVEN_UP, HAS_FAILED, IS_BROKEN = range(5)
"""States of a worker. In the last two, its evaluation failed, or a search kernel raised an error."""
WAIT, OVER, GO_ON = 0, -2, -3
"""Results for a worker instead of a number of rows: wait for other workers, end, or continue with the next step."""
FINISH, START, EVALUATE = range(3)
"""Indices of a worker's steps; all from EVALUATE on need no lock."""
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
"""Values that the workers of a search share. stop: not 0 to end. workers: number of workers that may run. batch: leaves
of a batch. is_in_turn, turn: whether they take turns, and the number of the next one. answers, rows_answered: batches
that were backed up, and their rows."""
WORKER = np.dtype(
    [
        ("number", np.int64),
        ("state", np.int64),
        ("rows", np.int64),
        ("is_expanded", np.int64),
        ("unused", np.int64, 4),
    ],
    align=True,
)
"""One worker. Padded to a cache line of 64 bytes, so that no two workers write to the same line. rows: of its batch.
is_expanded: whether `expand_batch` has expanded the batch's leaves."""
_MOST_ENDED = 256
"""Consecutive playouts without evaluation after which a worker releases the lock for others."""
_PAUSES = 64
"""CPU pauses of a waiting worker before it tries again."""


class WorkerArrays(NamedTuple):
    """The arrays of a worker.

    state: [1] WORKER. owners: [rows], the tree of each row. chosen, status: [trees], the trees to collect from and the
    state of each afterwards; only the first `count` of `collect_rows` are used.
    """

    batch: Batch
    answers: Answers
    state: NDArray[np.void]
    owners: NDArray[np.int64]
    chosen: NDArray[np.int64]
    status: NDArray[np.int8]


@kernel
def _rows_of_one_tree(owners: NDArray[np.int64], row: int, rows: int) -> int:
    """Return the end of the consecutive rows from `row` on that belong to the same tree."""
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
    """Append up to `leaves` leaves of each of `count` chosen trees to a worker's batch; return the number added.

    The batch must have room for them. Playouts that need no evaluation are made until a leaf is found.
    """
    own = worker.state[0]
    first = own.rows
    for place in range(count):
        number = worker.chosen[place]
        tree, root, numbers = each_at(trees, number), each_at(roots, number), params[number]
        worker.status[place] = REACHED
        ended = 0
        while visits_made(tree) + numbers.in_flight < numbers.visits:
            # Near the end of a game nearly all playouts end with it, and a batch might never get a leaf.
            if ended > _MOST_ENDED:
                worker.status[place] = GOING
                break
            if tree.counters[IS_FULL]:
                worker.status[place] = FULL
                break
            wanted = min(leaves, numbers.visits - visits_made(tree) - numbers.in_flight)
            before = playouts_without_evaluation(tree.counters)
            batch = each_at(worker.batch, slice(own.rows, None))
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
    """Back up the evaluations of a worker's batch into the trees of its rows, and empty the batch."""
    row, own = 0, worker.state[0]
    while row < own.rows:
        number = worker.owners[row]
        end = _rows_of_one_tree(worker.owners, row, own.rows)
        params[number].in_flight -= end - row
        tree, numbers = each_at(trees, number), Params(params[number], score_table)
        batch, answers = each_at(worker.batch, slice(row, None)), each_at(worker.answers, slice(row, None))
        if own.is_expanded != 0:
            back_up_expanded(tree, batch, answers, numbers, scratch, end - row)
        else:
            back_up(tree, batch, answers, numbers, scratch, end - row)
        row = end
    own.rows = 0
    own.state = WALKING


@kernel
def reopen_rows(trees: Any, params: NDArray[np.void], worker: WorkerArrays) -> None:
    """Take back a worker's batch that will not be evaluated: its leaves become NEW again."""
    row, own = 0, worker.state[0]
    while row < own.rows:
        number = worker.owners[row]
        end = _rows_of_one_tree(worker.owners, row, own.rows)
        params[number].in_flight -= end - row
        reopen(each_at(trees, number), each_at(worker.batch, slice(row, None)), end - row)
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

    answered: FAILED if the evaluation of the batch failed. Call this and then `start_batch` while holding the lock of
    the trees. Workers that take turns build the same tree in every run, however long their evaluations take.
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
    """Collect a worker's next batch; return its number of rows, WAIT, OVER, or GO_ON to try again."""
    shared, own = control[0], worker.state[0]
    rows = collect_rows(trees, roots, scratch, params, score_table, shared.batch, worker, 1)
    shared.turn = (own.number + 1) % shared.workers
    if rows > 0:
        own.state, own.is_expanded = EVALUATING, 0
        return rows
    if worker.status[0] == GOING:
        return GO_ON
    if worker.status[0] != STUCK:
        return OVER
    if params[worker.chosen[0]].in_flight > 0:
        return WAIT
    # Nothing is in flight, so the other workers would find nothing either; and no worker may wait for the turn of one
    # that has ended.
    shared.stop = 1
    return OVER


@kernel
def expand_batch(trees: Any, scratch: Scratch, params: NDArray[np.void], worker: WorkerArrays, rows: int) -> int:
    """Expand the leaves of a worker's evaluated batch, of one tree, before it waits for the lock; return `rows`.

    scratch: the worker's own.
    """
    number, width = worker.owners[0], scratch.board[HEADER, WIDTH]
    expand_leaves(each_at(trees, number), worker.batch, worker.answers, params[number], width, scratch.sorting, rows)
    worker.state[0].is_expanded = 1
    return rows


@kernel
def run_worker(
    lock: NDArray[np.int64],
    control: NDArray[np.void],
    state: NDArray[np.void],
    addresses: NDArray[np.int64],
    spent: NDArray[np.int64],
) -> None:
    """Run a worker until it is over, without Python.

    addresses: [steps, 2], of closures: `finish_batch`, `start_batch`, those that evaluate the batch, `expand_batch`.
    spent: [steps], the ticks of each step are added to it.
    """
    answered = 0
    while True:
        # The lock covers both steps, so that no other worker chooses leaves between them; evaluation runs without it.
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
            # Without the lock, which the other workers need in order to get on.
            for _ in range(_PAUSES):
                pause()
            # On a busy machine the worker that is waited for may have no core.
            yield_core()
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
    """Return the CPU's cycle counter."""
    return int(ticks())
