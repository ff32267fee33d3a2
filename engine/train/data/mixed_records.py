"""Reads game records of several sources in random order, with only a few thousand in memory."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from engine.records.sgf_source import iterate_records
from engine.train.data.records import Source, Tally

GAMES_AHEAD = 8_192
"""Size of the buffer from which the next record is drawn, about 12 MiB."""


def mixed_records(
    sources: Sequence[Path],
    generator: np.random.Generator,
    tally: Tally,
    ahead: int = GAMES_AHEAD,
    shares: Sequence[float] = (),
) -> Iterator[Source]:
    """Yield every record of the sources once, in random order, or a part of each source, drawn by the generator.

    shares: the part of each source, 0 to 1; none for all of all.
    Sources are interleaved in proportion to their size in bytes, so that all end at about the same time; records
    within `ahead` of each other are shuffled. Files that cannot be read are counted and skipped.
    """
    waiting: list[Source] = []
    for source in _interleaved(sources, generator, tally, shares or [1.0] * len(sources)):
        if len(waiting) < ahead:
            waiting.append(source)
            continue
        place = int(generator.integers(ahead))
        yield waiting[place]
        waiting[place] = source
    for place in generator.permutation(len(waiting)).tolist():
        yield waiting[place]


def _interleaved(
    sources: Sequence[Path], generator: np.random.Generator, tally: Tally, shares: Sequence[float]
) -> Iterator[Source]:
    files = [
        _part(iterate_records([source], lambda error: tally.skip("not readable", str(error))), share, generator)
        for source, share in zip(sources, shares, strict=True)
    ]
    weights = [max(1.0, share * _bytes(source)) for source, share in zip(sources, shares, strict=True)]
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
