"""Game records of several sources in a random order, without holding more than some thousands of them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from engine.records.sgf_source import iterate_records
from engine.train.data.records import Source, Tally

GAMES_AHEAD = 8_192
"""Records among which the next one is drawn: about 12 MiB."""


def mixed_records(
    sources: Sequence[Path], generator: np.random.Generator, tally: Tally, ahead: int = GAMES_AHEAD
) -> Iterator[Source]:
    """Yield every record of the sources once, in a random order.

    Sources are read side by side, each in proportion to its bytes on the disk, so that all last about equally long;
    records that lie within `ahead` of each other are shuffled. Files that cannot be read are counted and left out.
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
        # Drawn many at a time: one draw costs as much as reading a record.
        for place in generator.choice(len(files), 256, p=chances).tolist():
            source = next(files[place], None)
            if source is None:
                del files[place], weights[place]
                break
            yield source


def _bytes(source: Path) -> int:
    if source.is_dir():
        return sum(path.stat().st_size for path in source.rglob("*") if path.is_file())
    return source.stat().st_size if source.exists() else 0
