"""Captures in one and in two moves, drawn: corners of a 13x13 board, whose other points are empty.

    python -m tests.solve.captures captures.jsonl
    keima solve captures.jsonl --visits 1,100 --net FILE

More visits find that other moves win, too: not every capture is urgent.
"""

import sys
from pathlib import Path

from tests.solve.problems import entry, write

SIZE = 13
ONE, TWO = "capture in 1", "capture in 2"

PROBLEMS = [
    (ONE, "edge", ["XOOO.X.", "XXXXX.."], ["E13"]),
    (ONE, "middle", [".......", "..XXX..", ".XOOOX.", ".XOO.X.", "..XX..."], ["E10"]),
    (ONE, "corner", ["OOX....", "OXX....", ".X.....", "XX....."], ["A11"]),
    (ONE, "cut", [".......", ".XXOO..", ".XOXXO.", ".XO.XO.", "..XOO..", "......."], ["D10"]),
    (ONE, "eye", ["OO.OX..", "XOOOX..", "XXXXX.."], ["C13"]),
    (ONE, "row", [".XX....", "XOOX...", "XOOX...", "XO.X...", ".XX...."], ["C10"]),
    (ONE, "two chains", [".X.X...", "XO.OX..", ".X.X...", "......."], ["C12"]),
    (ONE, "around the corner", ["OO.XX..", "OXXX...", "OX.....", "XX....."], ["C13"]),
    (TWO, "snapback", ["XXXX...", "XOOOX..", "XO.OX..", "XO.XX..", "XXX...."], ["C11", "C10"]),
    (TWO, "double atari", [".......", "XXXXXXX", "OOO.OOX", "XX...XX", "......."], ["D11"]),
    (TWO, "first line", ["..OO...", ".XXOX..", "..XXX..", "......."], ["B13", "E13"]),
    (TWO, "long first line", ["..OOOO..", ".XXXXOX.", "...XXXX."], ["B13", "G13"]),
    (TWO, "shortage", ["XXXXX..", "OOOOX..", ".X.OX..", "XXXOX..", "..XX..."], ["A11", "C11"]),
]
"""Kind, name, rows from the top left corner, and the moves that solve it, all for Black (X)."""


def diagram(rows: list[str]) -> str:
    """Return rows of a corner as a whole board."""
    full = [row.ljust(SIZE, ".") for row in rows] + ["." * SIZE] * (SIZE - len(rows))
    return "\n".join(" ".join(row) for row in full)


def capture_problems(path: Path) -> Path:
    """Write the problems to a file."""
    lines = [entry(diagram(rows), *moves, id=f"{kind}, {name}", type=kind) for kind, name, rows, moves in PROBLEMS]
    return write(path, *lines)


if __name__ == "__main__":
    capture_problems(Path(sys.argv[1]))
