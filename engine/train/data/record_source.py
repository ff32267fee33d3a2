"""Draws batches directly from game records, and continues a stopped run with the batches that it would have drawn.

The records of an epoch come in random order, in blocks of some thousand samples. The batches of a block are drawn from
all its samples at random, so that a batch holds positions of many games. Order, positions and batches depend only on
the seed and the numbers of epoch and block: the state is four numbers, and continuing costs reading past the records
of the epoch so far, without playing them, and one block.
"""

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.support.cores import usable_cores
from engine.train.data.batches import Batch, Priorities, State
from engine.train.data.mixed_records import mixed_records
from engine.train.data.records import (
    GAMES_A_TASK,
    TASKS_AHEAD,
    RecordOptions,
    Tally,
    Task,
    filter_split,
    read_tasks,
    tasks_of,
)
from engine.train.data.samples import BadSamples, Samples, apply_symmetries, concatenate, random_symmetries

BLOCK_SAMPLES = 16_384
"""About this many samples are mixed: with 16 positions of a game, those of 1,024 games."""
POSITIONS_A_GAME = 16
# Batches of the first block, which training waits for; each block after it has twice as many, up to BLOCK_SAMPLES.
_FIRST_BATCHES = 16
_LAST_DOUBLING = 30
# Positions of a game if all are taken.
_USUAL_LENGTH = 200


class _Place(NamedTuple):
    """Where the next batch comes from: the first task of a block, and how many of its batches were drawn."""

    epoch: int = 0
    task: int = 0
    block: int = 0
    drawn: int = 0


class RecordSource:
    """Batches from the training games of files, folders and archives, endlessly, with random symmetries.

    sources: as in `engine.records.sgf_source.iterate_records`, mixed in proportion to their sizes. options: its
    `per_game` positions are others in each epoch. processes: worker processes, by default one for each core; 0 reads
    in this process. block: samples that are mixed. tally: counts what was read in this session. shares: the part of
    each source's games that an epoch has, drawn anew for each; none for all.
    Raises BadSamples if the records have no position to train on.
    """

    def __init__(
        self,
        sources: Sequence[Path],
        batch_size: int,
        seed: Sequence[int],
        options: RecordOptions = RecordOptions(per_game=POSITIONS_A_GAME),  # noqa: B008 - immutable
        *,
        processes: int | None = None,
        block: int = BLOCK_SAMPLES,
        tally: Tally | None = None,
        shares: Sequence[float] = (),
    ) -> None:
        self._sources, self._batch_size, self._seed = sources, batch_size, list(seed)
        self._options, self._block, self._shares = options, block, shares
        self._processes = usable_cores() if processes is None else processes
        self._tally = Tally() if tally is None else tally
        self._place = _Place()
        self._batches: Generator[tuple[Samples, _Place], None, None] | None = None

    def draw(self) -> Batch:
        """Return the next batch."""
        if self._batches is None:
            self._batches = self._drawn(self._place)
        samples, self._place = next(self._batches)
        return Batch(samples)

    def state(self) -> State:
        """Return the place of the next batch."""
        return self._place._asdict()

    def restore(self, state: State) -> None:
        """Continue at a place, among the same records. A state of another kind of source begins anew."""
        if state.keys() == set(_Place._fields):
            self._place, self._batches = _Place(**state), None

    def update(self, indices: NDArray[np.int64], losses: NDArray[np.float32]) -> None:
        """Ignore the losses: games are drawn alike."""

    def anneal(self, progress: float) -> None:
        """Do nothing: there are no importance weights."""

    def priorities(self) -> Priorities:
        """Return nothing: games are drawn alike."""
        return {}

    def restore_priorities(self, stored: Priorities) -> None:
        """Do nothing: games are drawn alike."""

    def close(self) -> None:
        """End the processes that read ahead."""
        if self._batches is not None:
            self._batches.close()
            self._batches = None

    def _drawn(self, place: _Place) -> Generator[tuple[Samples, _Place], None, None]:
        """Yield the batches from a place on, each with the place of the one after it."""
        begun: deque[tuple[int, int]] = deque()
        tasks = self._tasks(place, begun)
        # The workers read the next block, at its full size, while the present one is drawn.
        ahead = max(TASKS_AHEAD * self._processes, self._tasks_of_block(_LAST_DOUBLING))
        results = read_tasks(tasks, self._options, self._processes, ahead)
        with closing(results):
            yield from self._blocks(place, results, begun)

    def _blocks(
        self, place: _Place, results: Iterator[tuple[list[Samples], Tally]], begun: deque[tuple[int, int]]
    ) -> Iterator[tuple[Samples, _Place]]:
        """Yield the batches of all blocks from a place on. results: of the tasks, whose places are in `begun`."""
        for block in count(place.block):
            parts: list[Samples] = []
            first = place.epoch, place.task
            for number, (samples, tally) in enumerate(islice(results, self._tasks_of_block(block))):
                task = begun.popleft()
                first = task if number == 0 else first
                parts += samples
                self._tally.add(tally)
            place = _Place(*first, block, place.drawn if block == place.block else 0)
            generator = np.random.default_rng([*self._seed, block, 1])
            # All are drawn, also those that a resumed run has had: each needs its share of the generator.
            batches = list(self._rows_of(parts, generator))
            for number, (whole, rows, symmetries) in enumerate(batches):
                if number >= place.drawn:
                    batch = apply_symmetries(whole[rows], symmetries)
                    yield batch, _Place(*first, block, number + 1)

    def _rows_of(
        self, parts: Sequence[Samples], generator: np.random.Generator
    ) -> Iterator[tuple[Samples, NDArray[np.int64], NDArray[np.int8]]]:
        """Yield the samples of a size, the rows and the symmetries of each batch of a block.

        Every sample of a size is drawn once, but for the last batch of the size: it is drawn with the chance of its
        part of a whole batch, and filled with further samples of its size, so that rare sizes have their share, too.
        """
        by_size: dict[tuple[int, int], list[Samples]] = {}
        for part in parts:
            by_size.setdefault((part.width, part.height), []).append(part)
        wholes = [concatenate(each) for _, each in sorted(by_size.items())]
        order: list[tuple[Samples, NDArray[np.int64]]] = []
        for whole in wholes:
            whole_batches, rest = divmod(len(whole), self._batch_size)
            wanted = (whole_batches + (generator.random() < rest / self._batch_size)) * self._batch_size
            rounds = -(-wanted // len(whole))
            rows = np.concatenate([generator.permutation(len(whole)) for _ in range(max(1, rounds))])[:wanted]
            order += [(whole, each) for each in rows.reshape(-1, self._batch_size)]
        for number in generator.permutation(len(order)).tolist():
            whole, rows = order[number]
            yield whole, rows, random_symmetries(whole[rows], generator)

    def _tasks_of_block(self, block: int) -> int:
        """Return how many tasks a block has."""
        samples = GAMES_A_TASK * (self._options.per_game or _USUAL_LENGTH)
        most, first = (max(1, round(each / samples)) for each in (self._block, _FIRST_BATCHES * self._batch_size))
        return min(most, first << min(block, _LAST_DOUBLING))

    def _tasks(self, place: _Place, begun: "deque[tuple[int, int]]") -> Iterator[Task]:
        """Yield the tasks from a place on, epoch after epoch, and append the number of each to `begun`."""
        skipped = place.task
        for epoch in count(place.epoch):
            # Up to a block of tasks is not counted yet; only after that do the counts include a whole epoch.
            if epoch > place.epoch + len(begun) + 1 and self._tally.positions == 0:
                named = ", ".join(map(str, self._sources))
                why = "; ".join(self._tally.skipped) or "there are none, or all are held out"
                raise BadSamples(f"no position to train on in {named}: {why}")
            mixing = np.random.default_rng([*self._seed, epoch, 0])
            seed = int(mixing.integers(1 << 62))
            records = mixed_records(self._sources, mixing, self._tally, shares=self._shares)
            for task, each in enumerate(tasks_of(filter_split(records, self._options), seed)):
                if task >= skipped:
                    begun.append((epoch, task))
                    yield each
            skipped = 0
