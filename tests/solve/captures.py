"""Captures in one and in two moves, and life and death in one, drawn: corners of a 13x13 board, otherwise empty.

    python -m tests.solve.captures captures.jsonl
    keima solve captures.jsonl --visits 1,100,400 --net FILE

More visits find that other moves win, too: not every capture is urgent.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from tests.solve.problems import entry, write

SIZE = 13
_EXCHANGED = str.maketrans("XO", "OX")
ONE, TWO, LIVE, KILL = "capture in 1", "capture in 2", "live in 1", "kill in 1"

PROBLEMS = [
    (ONE, "stone", [".XO.O", "XXXXO", "OOOOO"], ["D13"]),
    (ONE, "two stones", [".XOO.O", "XXXXXO", "OOOOOO"], ["E13"]),
    (ONE, "three stones", [".XOOO.O", "XXXXXXO", "OOOOOOO"], ["F13"]),
    (ONE, "side", ["OX.XO.O", "OXXXXXO", "OOOOOOO"], ["F13"]),
    (ONE, "column", [".XO", "XXO", "OXO", "OXO", ".XO", "OOO"], ["A9"]),
    (ONE, "second line", [".XXXO", "XXO.O", "OXXXO", "OOOOO"], ["D12"]),
    (ONE, "both lines", [".XOXO", "XXO.O", "OXXXO", "OOOOO"], ["D12"]),
    (ONE, "square", [".XOOXO", "XXOO.O", "OXXXXO", "OOOOOO"], ["E12"]),
    (TWO, "snapback", ["XXXX...", "XOOOX..", "XO.OX..", "XO.XX..", "XXX...."], ["C11", "C10"]),
    (TWO, "double atari", [".......", "XXXXXXX", "OOO.OOX", "XX...XX", "......."], ["D11"]),
    (TWO, "first line", ["..OO...", ".XXOX..", "..XXX..", "......."], ["B13", "E13"]),
    (TWO, "long first line", ["..OOOO..", ".XXXXOX.", "...XXXX."], ["B13", "G13"]),
    (TWO, "shortage", ["XXXXX..", "OOOOX..", ".X.OX..", "XXXOX..", "..XX..."], ["A11", "C11"]),
]
"""Kind, name, rows from the top left corner, and the moves that solve it, all for Black (X)."""

SHAPES = [
    ("straight three", ["XO...OX", "XOOOOOX", "XXXXXXX"], "D13"),
    ("bent three in the corner", ["..OX", ".OOX", "OOXX", "XXX."], "A13"),
    ("pyramid four", ["XO...OX", "XOO.OOX", "XXOOOXX", ".XXXXX."], "D13"),
    ("bulky five", ["XO...OX", "XO..OOX", "XOOOOXX", "XXXXXX."], "D13"),
    ("crossed five", ["XOO.OOX", "XO...OX", "XOO.OOX", "XXOOOXX", ".XXXXX."], "D12"),
    ("rabbity six", ["XO..OOX", "XO...OX", "XOO.OOX", "XXOOOXX", ".XXXXX."], "D12"),
]
"""Name, rows with an eye space of White (O) that has one vital point, and that point."""


def diagram(rows: list[str]) -> str:
    """Return rows of a corner as a whole board."""
    full = [row.ljust(SIZE, ".") for row in rows] + ["." * SIZE] * (SIZE - len(rows))
    return "\n".join(" ".join(row) for row in full)


def problems() -> Iterator[tuple[str, str, list[str], list[str]]]:
    """Yield all problems as PROBLEMS has them: each shape for Black to kill, and with colors exchanged to live in."""
    yield from PROBLEMS
    for name, rows, vital in SHAPES:
        yield KILL, name, rows, [vital]
        yield LIVE, name, [row.translate(_EXCHANGED) for row in rows], [vital]


def capture_problems(path: Path) -> Path:
    """Write the problems to a file."""
    lines = [entry(diagram(rows), *moves, id=f"{kind}, {name}", type=kind) for kind, name, rows, moves in problems()]
    return write(path, *lines)


if __name__ == "__main__":
    capture_problems(Path(sys.argv[1]))
