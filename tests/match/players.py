"""Command lines of scripted programs, and settings for fast matches between them."""

import sys
from pathlib import Path

from engine.match.settings import Entrant, MatchSettings
from engine.support.command_line import joined

FAKE = Path(__file__).with_name("fake.py")


def fake(moves: str = "", **options: object) -> str:
    """Return the command of a scripted program: its moves, and the options of fake.py."""
    words = [sys.executable, "-E", "-S", str(FAKE), "--moves", moves]
    for name, value in options.items():
        words += [f"--{name}", str(value)]
    return joined(words)


def entrants(*commands: str) -> tuple[Entrant, ...]:
    """Return entrants with the labels A, B, C and so on."""
    return tuple(Entrant(chr(ord("A") + place), command) for place, command in enumerate(commands))


def fast(*commands: str, **changes: object) -> MatchSettings:
    """Return settings of one 5x5 game of every two programs, the first as Black, with the given changes."""
    values: dict[str, object] = {"alternate": False, "width": 5, "height": 5, "komi": 0.5, "hang": 10.0}
    return MatchSettings(entrants(*commands), **values | changes)  # type: ignore[arg-type]
