"""Proves that the stones of a problem live or die, where a search can.

The problem is cut out: the rectangle of its stones, with a ring of the surrounding color around it on the sides where
the board goes on. What is proved holds if the surrounding stones don't die and the others don't get out, as problems
assume; `Proof.ring` has the stones that stand for it. That a group dies is proved only where it is closed in: no empty
point that its stones reach touches the ring.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.apps.solve.frame import Box, Stones, attacker, local_box, stones_of
from engine.board.layout import HEAD, SIZE
from engine.board.life import MOST_MOVES, life_line, new_life_memory, prove_life
from engine.color import BLACK, EMPTY, WHITE, color_letter, color_name, opponent
from engine.errors import IllegalMove
from engine.game import Game
from engine.vertex import MAX_SIZE, PASS, format_vertex, point_at, row_column

POSITIONS = 50_000
"""Positions after which each of the two searches gives up."""
_EDGE = 2
"""Lines that are added on an open side: the ring, and its liberties."""


@dataclass(frozen=True)
class Proof:
    """What was proved.

    color: of the stones that live or die. line: the moves of the longest line of the proof, the side to move first;
    the winning side has an answer to every other one as well. ring: the stones of the other color that were assumed.
    """

    color: int
    lives: bool
    line: tuple[int, ...]
    ring: tuple[int, ...]

    @property
    def text(self) -> str:
        """The proof in words, such as "Black lives, 7 moves, no ko"."""
        moves = f"{len(self.line)} move{'' if len(self.line) == 1 else 's'}"
        return f"{color_name(self.color).capitalize()} {'lives' if self.lives else 'dies'}, {moves}, no ko"


@dataclass(frozen=True)
class _Cut:
    """A problem that was cut out. offset: row and column of its point (0, 0) on the whole board."""

    game: Game
    region: tuple[int, ...]
    ring: tuple[int, ...]
    defender: int
    is_closed: bool
    offset: tuple[int, int]

    def on_board(self, vertices: Iterable[int], width: int) -> tuple[int, ...]:
        """Return vertices of the cut as vertices of the whole board."""
        found = []
        for vertex in vertices:
            row, column = row_column(vertex, self.game.width) if vertex != PASS else (0, 0)
            moved = point_at(row + self.offset[0], column + self.offset[1], width)
            found.append(PASS if vertex == PASS else moved)
        return tuple(found)


NO_PROOF = "no proof"
"""In place of a proof's text."""


def proof_json(proof: Proof | None, game: Game) -> dict[str, Any]:
    """Return a proof as the JSON answers have it; its text is NO_PROOF without one."""
    if proof is None:
        return {"text": NO_PROOF}
    size = game.width, game.height
    return {
        "text": proof.text,
        "color": color_letter(proof.color),
        "lives": proof.lives,
        "line": [format_vertex(vertex, *size) for vertex in proof.line],
        "ring": [format_vertex(vertex, *size) for vertex in proof.ring],
    }


def prove(game: Game, color: int, limit: int = POSITIONS) -> Proof | None:
    """Prove that the surrounded stones on a board live or die with `color` to move; None if no proof is found.

    "Lives": their largest chain becomes pass-alive. "Dies": no stone of their color can live in the problem.
    Past moves and a ko ban are not regarded, so no proof rests on them. limit: positions that each search may visit.
    """
    stones = stones_of(game)
    cut = _cut(stones)
    if cut is None:
        return None
    # The goal of the side to move first: problems ask for it.
    for lives in (color == cut.defender, color != cut.defender):
        if not lives and not cut.is_closed:
            continue
        line = _line(cut, color, lives, limit)
        if line is not None:
            return Proof(cut.defender, lives, cut.on_board(line, game.width), cut.on_board(cut.ring, game.width))
    return None


def _line(cut: _Cut, color: int, lives: bool, limit: int) -> tuple[int, ...] | None:
    """Return the longest line of a proof, None without one."""
    board = cut.game.board
    inside = [vertex for vertex in cut.region if cut.game.color_at(vertex) == cut.defender]
    target = max(inside, key=lambda vertex: int(board[SIZE, board[HEAD, vertex]]))
    memory = new_life_memory(board, np.array(cut.region, np.int16), np.array(cut.ring, np.int16), limit)
    prover = cut.defender if lives else opponent(cut.defender)
    if prove_life(memory, color, prover, cut.defender, target, limit) < 0:
        return None
    moves = np.empty(MOST_MOVES, dtype=np.int16)
    return tuple(int(move) for move in moves[: life_line(memory, color, moves)])


def _cut(stones: Stones) -> _Cut | None:
    """Cut a problem out of a board; None if it is not surrounded, or its defender has no stones."""
    height, width = stones.shape
    box = local_box(stones, margin=0)
    if not stones.any() or box == Box(0, height, 0, width):
        return None
    surrounding = attacker(stones, box)
    defender = opponent(surrounding)
    top, left = box.top and _EDGE, box.left and _EDGE
    rows = box.bottom - box.top + top + (_EDGE if box.bottom < height else 0)
    columns = box.right - box.left + left + (_EDGE if box.right < width else 0)
    inner = Box(top, top + box.bottom - box.top, left, left + box.right - box.left)
    if max(rows, columns) > MAX_SIZE or min(rows, columns) < 2 or not (stones == defender).any():
        return None
    ring = Box(max(inner.top - 1, 0), inner.bottom + 1, max(inner.left - 1, 0), inner.right + 1).mask(rows, columns)
    ring &= ~inner.mask(rows, columns)
    cut: Stones = np.zeros((rows, columns), dtype=np.int8)
    cut[inner.top : inner.bottom, inner.left : inner.right] = stones[box.top : box.bottom, box.left : box.right]
    is_closed = not (_reached(cut, defender) & _beside(ring)).any()
    cut[ring] = surrounding
    by_color = [[point_at(int(row), int(column), columns) for row, column in np.argwhere(cut == c)] for c in (1, 2)]
    game = Game(columns, rows)
    try:
        game.setup(by_color[BLACK - 1], by_color[WHITE - 1])
    except IllegalMove:
        return None
    return _Cut(
        game,
        _vertices(inner.mask(rows, columns)),
        _vertices(ring),
        defender,
        is_closed,
        (box.top - top, box.left - left),
    )


def _vertices(chosen: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(point_at(int(row), int(column), chosen.shape[1]) for row, column in np.argwhere(chosen))


def _beside(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return a mask of the points next to those of a mask."""
    padded = np.pad(mask, 1)
    found: NDArray[np.bool_] = padded[:-2, 1:-1] | padded[2:, 1:-1] | padded[1:-1, :-2] | padded[1:-1, 2:]
    return found


def _reached(stones: Stones, color: int) -> NDArray[np.bool_]:
    """Return a mask of the stones of a color and the empty points that they reach."""
    open_points = (stones == EMPTY) | (stones == color)
    found: np.ndarray = stones == color
    while True:
        grown: np.ndarray = found | (_beside(found) & open_points)
        if (grown == found).all():
            return found
        found = grown
