"""Command lines of scripted programs, and settings for fast matches between them."""

import shlex
import sys
from pathlib import Path

from engine.match import MatchSettings

FAKE = Path(__file__).with_name("fake.py")


def fake(moves: str = "", **options: object) -> str:
    """Return the command of a scripted program: its moves, and the options of fake.py."""
    words = [sys.executable, "-E", "-S", str(FAKE), "--moves", moves]
    for name, value in options.items():
        words += [f"--{name}", str(value)]
    return shlex.join(words)


def fast(black: str, white: str, **changes: object) -> MatchSettings:
    """Return settings of one 5x5 game, with the given changes."""
    values: dict[str, object] = {"width": 5, "height": 5, "komi": 0.5, "hang": 10.0}
    return MatchSettings(black=black, white=white, **values | changes)  # type: ignore[arg-type]
