"""Reads game records of several sources in random order, with only some ten thousand in memory."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from engine.records.sgf_source import iterate_records
from engine.train.data.records import Source, Tally

GAMES_AHEAD = 32_768
"""Records in the buffers from which the next ones are drawn, about 48 MiB."""


def mixed_records(
    sources: Sequence[Path],
    generator: np.random.Generator,
    tally: Tally,
    ahead: int = GAMES_AHEAD,
    shares: Sequence[float] = (),
) -> Iterator[Source]:
    """Yield every record of the sources once, in random order, or a part of each source, drawn by the generator.

    shares: the part of each source, 0 to 1; none for all of all.
    Sources are interleaved in proportion to their size in bytes, so that all end at about the same time. Each has the
    same part of `ahead`, within which its records are shuffled: in one buffer for all, a small file beside large ones
    would keep its order, and the first steps of training would see its first games alone. Files that cannot be read are
    counted and skipped.
    """
    parts = shares or [1.0] * len(sources)
    files = [
        _shuffled(_part(_records(source, tally), share, generator), -(-ahead // len(sources)), generator)
        for source, share in zip(sources, parts, strict=True)
    ]
    weights = [max(1.0, share * _bytes(source)) for source, share in zip(sources, parts, strict=True)]
    return _interleaved(files, weights, generator)


def _shuffled(records: Iterator[Source], ahead: int, generator: np.random.Generator) -> Iterator[Source]:
    """Yield records in random order; those within `ahead` of each other are shuffled."""
    waiting = list(islice(records, ahead))
    for record in records:
        place = int(generator.integers(ahead))
        yield waiting[place]
        waiting[place] = record
    for place in generator.permutation(len(waiting)).tolist():
        yield waiting[place]


def _records(source: Path, tally: Tally) -> Iterator[Source]:
    return iterate_records([source], lambda error: tally.skip("not readable", str(error)))


def _interleaved(
    files: list[Iterator[Source]], weights: list[float], generator: np.random.Generator
) -> Iterator[Source]:
    """Yield the records of all files, in proportion to their weights."""
    while files:
        chances = np.array(weights) / sum(weights)
        # Draw 256 choices at once: a single draw costs as much as reading a record.
        for place in generator.choice(len(files), 256, p=chances).tolist():
            source = next(files[place], None)
            if source is None:
                # The remaining choices refer to the old list of files, so they are dropped.
                del files[place], weights[place]
                break
            yield source


def _part(records: Iterator[Source], share: float, generator: np.random.Generator) -> Iterator[Source]:
    """Return the records, or that part of them which the generator draws."""
    return records if share >= 1.0 else (each for each in records if generator.random() < share)


def _bytes(source: Path) -> int:
    if source.is_dir():
        return sum(path.stat().st_size for path in source.rglob("*") if path.is_file())
    return source.stat().st_size if source.exists() else 0
