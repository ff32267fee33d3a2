"""Captures in one to four moves, and life and death in one, drawn: corners of a 13x13 board, and whole 7x7 boards.

    python -m tests.apps.solve.captures captures.jsonl
    keima solve captures.jsonl --visits 1,100,400 --net FILE

Moves are for Black. "No way out" is an atari that White cannot escape; under the stones, five are lost before three are
won.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from tests.apps.solve.problems import entry, write

SIZE, SMALL = 13, 7
_EXCHANGED = str.maketrans("XO", "OX")
CAPTURES = {moves: f"capture in {moves}" for moves in (1, 2, 3, 4)}
LIVE, KILL = "live in 1", "kill in 1"

PROBLEMS = [
    (1, "stone", [".XO.O", "XXXXO", "OOOOO"], ["D13"]),
    (1, "two stones", [".XOO.O", "XXXXXO", "OOOOOO"], ["E13"]),
    (1, "three stones", [".XOOO.O", "XXXXXXO", "OOOOOOO"], ["F13"]),
    (1, "side", ["OX.XO.O", "OXXXXXO", "OOOOOOO"], ["F13"]),
    (1, "column", [".XO", "XXO", "OXO", "OXO", ".XO", "OOO"], ["A9"]),
    (1, "second line", [".XXXO", "XXO.O", "OXXXO", "OOOOO"], ["D12"]),
    (1, "both lines", [".XOXO", "XXO.O", "OXXXO", "OOOOO"], ["D12"]),
    (1, "square", [".XOOXO", "XXOO.O", "OXXXXO", "OOOOOO"], ["E12"]),
    (2, "first line", ["..OO...", ".XXOX..", "..XXX..", "......."], ["B13", "E13"]),
    (2, "long first line", ["..OOOO..", ".XXXXOX.", "...XXXX."], ["B13", "G13"]),
]
"""Moves up to the capture, name, rows from the top left corner, and the moves that solve it, all for Black (X)."""

BOARDS = [
    (2, "no way out 1", [".X..O..", ".X.XX.X", "..X.XOO", ".OOXOX.", "..OOOOX", "....X..", "..O...."], ["F6"]),
    (2, "no way out 2", ["O.O.OOX", ".OXOO.X", ".OXXXXX", ".XXOOOO", ".XOO.X.", "OOXO...", "..X...X"], ["F6"]),
    (2, "no way out 3", ["OOXX...", "....XO.", ".OXXO..", ".OXOOX.", ".OOO.O.", "XXXXX..", "..O.O.X"], ["B6"]),
    (2, "no way out 4", ["OO.O.X.", "..O.O..", "OOXOOXX", "O.XXX..", "OXXO...", "XOX...X", ".OO...."], ["D1"]),
    (2, "no way out 5", ["..X....", "XXXXOO.", "OOOOXOO", "..OXXXX", ".XXO.O.", "..X.O..", "..XO.O."], ["A4", "B4"]),
    (2, "no way out 6", [".X..O.X", "XXXXX..", "XOX..X.", "XOOXXO.", "O.O.XO.", "..OOOXX", "..O.OO."], ["G4", "G3"]),
    (2, "no way out 7", ["....X.O", "XXOO...", "XOO.OO.", "OXXOOX.", "OOXXXX.", ".......", "......."], ["B2"]),
    (2, "snapback", [".XO.OO.", ".XO.XO.", ".XOXXOO", ".XXXOO.", "XXXOO.O", ".XXXOO.", "X.XXO.O"], ["D7"]),
    (3, "net", [".X.OOO.", "XX...OO", "XX...O.", "OOO..OO", "XXXXXO.", ".X.XXOO", "X.XXXO."], ["D5"]),
    (3, "under the stones", ["O.XXOO.", "OO.XXOO", "XXOOOO.", "XXXXOOO", "X.XXXO.", "XXX.XXO", ".XXXXX."], ["C6"]),
    (4, "ladder", [".XXOO..", "XXO....", "XX.....", "OOO....", "XXXXXXO", "OOOOXX.", ".O.OX.X"], ["C5"]),
]
"""Moves up to the capture, name, rows of a whole board, and all moves that capture the same stones, two or more, in so
many moves whatever White does: `test_captures.py` tries every line. Others lose the game, says a stronger network. "No
way out" is from games of Keima against itself.
"""

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
    """Return rows of a whole board, or of a corner of one of 13x13, as a diagram."""
    is_whole = len(rows) == len(rows[0]) == SMALL
    full = rows if is_whole else [row.ljust(SIZE, ".") for row in rows] + ["." * SIZE] * (SIZE - len(rows))
    return "\n".join(" ".join(row) for row in full)


def problems() -> Iterator[tuple[str, str, list[str], list[str]]]:
    """Yield all problems as PROBLEMS has them: each shape for Black to kill, and with colors exchanged to live in."""
    yield from ((CAPTURES[moves], *drawn) for moves, *drawn in (*PROBLEMS, *BOARDS))
    for name, rows, vital in SHAPES:
        yield KILL, name, rows, [vital]
        yield LIVE, name, [row.translate(_EXCHANGED) for row in rows], [vital]


def capture_problems(path: Path) -> Path:
    """Write the problems to a file."""
    lines = [entry(diagram(rows), *moves, id=f"{kind}, {name}", type=kind) for kind, name, rows, moves in problems()]
    return write(path, *lines)


if __name__ == "__main__":
    capture_problems(Path(sys.argv[1]))
