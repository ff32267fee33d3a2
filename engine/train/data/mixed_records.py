"""Reads game records of several sources in random order, with only a few thousand in memory."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from engine.records.sgf_source import iterate_records
from engine.train.data.records import Source, Tally

GAMES_AHEAD = 8_192
"""Size of the buffer from which the next record is drawn, about 12 MiB."""


def mixed_records(
    sources: Sequence[Path], generator: np.random.Generator, tally: Tally, ahead: int = GAMES_AHEAD
) -> Iterator[Source]:
    """Yield every record of the sources once, in random order.

    Sources are interleaved in proportion to their size in bytes, so that all end at about the same time; records
    within `ahead` of each other are shuffled. Files that cannot be read are counted and skipped.
    """
    waiting: list[Source] = []
    for source in _interleaved(sources, generator, tally):
        if len(waiting) < ahead:
            waiting.append(source)
            continue
        place = int(generator.integers(ahead))
        yield waiting[place]
        waiting[place] = source
    for place in generator.permutation(len(waiting)).tolist():
        yield waiting[place]


def _interleaved(sources: Sequence[Path], generator: np.random.Generator, tally: Tally) -> Iterator[Source]:
    files = [iterate_records([source], lambda error: tally.skip("not readable", str(error))) for source in sources]
    weights = [float(max(1, _bytes(source))) for source in sources]
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


def _bytes(source: Path) -> int:
    if source.is_dir():
        return sum(path.stat().st_size for path in source.rglob("*") if path.is_file())
    return source.stat().st_size if source.exists() else 0
