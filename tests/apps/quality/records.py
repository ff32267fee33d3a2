"""Game records for the tests of `keima bench --quality`: random games."""

from pathlib import Path

import numpy as np

from engine.records.sgf_writer import write_game
from engine.search.bench_positions import middle_game
from engine.train.data.held_out import is_held_out

SIZE = 5


def random_records(count: int, moves: int = 16, size: int = SIZE) -> list[bytes]:
    """Return the records of random games on one line each."""
    generator = np.random.default_rng(1)
    games = (middle_game(size, size, moves, generator) for _ in range(count))
    return [" ".join(write_game(game).split()).encode() for game in games]


def file_of(folder: Path, count: int) -> Path:
    """Write a file of random games, none of them held out, and return its path."""
    usable = [record for record in random_records(count) if not is_held_out(record)]
    path = folder / "games.sgfl"
    path.write_bytes(b"\n".join(usable) + b"\n")
    return path
