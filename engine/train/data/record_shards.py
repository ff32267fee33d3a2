"""Implements `keima train samples`: writes game records as a folder of shards and prints statistics."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from time import monotonic

import click

from engine.errors import GoError
from engine.support.cores import usable_cores
from engine.support.progress import ProgressBar
from engine.train.data.held_out import HELD_OUT
from engine.train.data.records import RecordOptions, Tally, iterate_sources, read_samples
from engine.train.data.samples import SUFFIX, Samples, concatenate, write_shard


class Shards:
    """Writes samples to a folder, `size` to a file, with a subfolder such as 9x9 for each board size."""

    def __init__(self, folder: Path | None, size: int, provenance: dict[str, str]) -> None:
        """Raise GoError if the folder already contains shards. folder: None discards the samples."""
        # Shards of two runs in one folder would count some games twice.
        if folder is not None and any(folder.rglob(f"*{SUFFIX}")):
            raise GoError(f"{folder} already contains samples: remove them, or use another folder")
        self._folder, self._size, self._provenance = folder, size, provenance
        self._waiting: dict[tuple[int, int], list[Samples]] = {}
        self._written: dict[tuple[int, int], int] = {}
        self._files: list[Path] = []

    def add(self, samples: Samples) -> None:
        """Add samples, and write a file when there are enough of their board size."""
        if self._folder is None:
            return
        board = samples.width, samples.height
        waiting = self._waiting.setdefault(board, [])
        waiting.append(samples)
        if sum(map(len, waiting)) >= self._size:
            together = concatenate(waiting)
            while len(together) >= self._size:
                self._write(together[: self._size])
                together = together[self._size :]
            self._waiting[board] = [together] if len(together) else []

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Finish at the end of the block; remove what was written if the block is left before its end.

        A part of the samples could not be told from all of them.
        """
        try:
            yield
        except BaseException:
            for path in self._files:
                path.unlink(missing_ok=True)
            raise
        self.finish()

    def finish(self) -> None:
        """Write the remaining samples as smaller files."""
        for waiting in self._waiting.values():
            if waiting:
                self._write(concatenate(waiting))
        self._waiting.clear()

    def _write(self, samples: Samples) -> None:
        assert self._folder is not None
        board = samples.width, samples.height
        number = self._written.get(board, 0)
        place = self._folder / f"{board[0]}x{board[1]}"
        place.mkdir(parents=True, exist_ok=True)
        self._files.append(place / f"records-{number:06d}{SUFFIX}")
        write_shard(self._files[-1], samples, self._provenance)
        self._written[board] = number + 1


# Its parameters are the options of `keima train samples`; click passes them by name.
def make_shards(
    records: tuple[Path, ...],
    out: Path | None,
    encoder: str,
    games: int | None,
    per_game: int | None,
    seed: int,
    held_out: bool,
    processes: int | None,
    shard: int,
) -> None:
    """Read records, write shards, show progress on stderr and statistics on stdout. Raises GoError."""
    options = RecordOptions(encoder, per_game, seed, held_out)
    workers = usable_cores() if processes is None else processes
    provenance = {"records": " ".join(path.name for path in records), "seed": str(seed)}
    shards = Shards(out, shard, provenance | ({HELD_OUT: "yes"} if held_out else {}))
    tally = Tally()
    sources = islice(iterate_sources(records, tally), games)
    begun = monotonic()
    with ProgressBar(sys.stderr, games) as bar, shards.whole():
        for samples in read_samples(sources, options, processes=workers, tally=tally):
            shards.add(samples)
            bar.update(f"{tally.positions / (monotonic() - begun):.0f} positions/s", tally.games)
    if tally.positions == 0:
        why = "; ".join(tally.skipped) or ("none is held out" if held_out else "there are none, or all are held out")
        raise GoError(f"no position in {' '.join(map(str, records))}: {why}")
    seconds = monotonic() - begun
    known = f"{tally.settled} of {tally.counted} counted games have known owners and score"
    click.echo(
        f"{tally.positions} positions of {tally.games} games in {seconds:.1f} s: {tally.positions / seconds:.0f} "
        f"positions/s with {workers or 1} processes; {known}"
    )
    for reason, count in tally.skipped.items():
        click.echo(f"{count} records left out: {reason}, such as {tally.examples[reason]}")
