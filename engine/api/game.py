"""A game of Go with colors and vertices as text, on top of `engine.game`."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engine.color import BLACK, WHITE
from engine.errors import GoError
from engine.game import HANDICAP_KOMI
from engine.game import Game as EngineGame
from engine.records.diagram import showboard
from engine.records.sgf import load_sgf
from engine.records.sgf_writer import write_game
from engine.rules import Rules, is_komi, parse_rules_and_komi
from engine.scoring import final_score
from engine.vertex import MAX_SIZE, PASS, format_vertex, parse_vertex, points

Color = Literal["black", "white"]
COLORS: dict[Color, int] = {"black": BLACK, "white": WHITE}
NAMES: dict[int, Color] = {BLACK: "black", WHITE: "white"}


class Game:
    """A game in progress. Colors are "black" and "white"; a move is a point such as "Q16", or "pass", in any case.

    inner: the same game with colors and vertices as numbers.
    """

    def __init__(
        self, size: int | tuple[int, int] = 19, *, rules: str = "chinese-kgs", komi: float | None = None
    ) -> None:
        """Set up an empty board.

        size: 19 for a square board, (13, 9) for 13 columns and 9 rows; sides from 2 to 25.
        rules: a name such as "chinese", "japanese" or "tromp-taylor", or a JSON object with KataGo's fields.
        komi: points for White; by default the usual komi of the rules.
        Raises GoError.
        """
        sides = size if isinstance(size, tuple) else (size, size)
        if len(sides) != 2 or not all(isinstance(side, int) and 2 <= side <= MAX_SIZE for side in sides):
            raise GoError(f"expected a side, or (columns, rows), from 2 to {MAX_SIZE}, got {size!r}")
        parsed_rules, used_komi = _rules_and_komi(rules, komi)
        self.inner = EngineGame(*sides, rules=parsed_rules, komi=used_komi)

    @classmethod
    def from_sgf(
        cls,
        source: str | os.PathLike[str] | bytes,
        *,
        before_move: int | None = None,
        rules: str = "chinese-kgs",
        komi: float | None = None,
    ) -> "Game":
        """Load the main line of the first game of an SGF file, a .sgfl file or an archive, or of SGF content as bytes.

        before_move: stop before this move, 1 for the first; by default all moves are played. rules, komi: where the
        record does not say; without komi half a point in a handicap game, else the usual one of the rules.
        Raises BadSgf, other GoErrors, or OSError.
        """
        record = load_sgf(source if isinstance(source, bytes) else Path(source))
        assumed_rules, assumed_komi = _rules_and_komi(rules, komi)
        if komi is None and record.is_handicap_game:
            assumed_komi = HANDICAP_KOMI
        used_komi = assumed_komi if record.komi is None else record.komi
        return cls._of(record.game(before_move, rules=record.rules or assumed_rules, komi=used_komi))

    @classmethod
    def _of(cls, inner: EngineGame) -> "Game":
        game = cls.__new__(cls)
        game.inner = inner
        return game

    @property
    def width(self) -> int:
        """Columns of the board."""
        return self.inner.width

    @property
    def height(self) -> int:
        """Rows of the board."""
        return self.inner.height

    @property
    def komi(self) -> float:
        """Points that White gets for moving second."""
        return self.inner.komi

    @property
    def to_play(self) -> Color:
        """The side to move."""
        return NAMES[self.inner.to_play]

    @property
    def moves(self) -> list[tuple[Color, str]]:
        """All moves as (color, move) pairs, first move first."""
        return [(NAMES[color], self.vertex_name(vertex)) for color, vertex in self.inner.moves]

    @property
    def is_over(self) -> bool:
        """True after the passes that end the game, or a third repetition under simple ko, which voids it."""
        return self.inner.is_over or self.inner.no_result

    @property
    def board(self) -> NDArray[np.int8]:
        """The stones as a new array [height, width] int8, row 0 at the top; 0 empty, 1 black, 2 white."""
        colors = [self.inner.color_at(vertex) for vertex in points(self.width, self.height)]
        return np.array(colors, dtype=np.int8).reshape(self.height, self.width)

    def play(self, move: str, color: Color | None = None) -> None:
        """Play a move for `color`, by default for the side to move. Raises GoError, such as IllegalMove."""
        if color is not None and color not in COLORS:
            raise GoError(f"expected 'black' or 'white' as color, got {color!r}")
        self.inner.play(self.inner.to_play if color is None else COLORS[color], self.vertex_of(move))

    def undo(self) -> None:
        """Take back the last move. Raises IllegalMove if there is none."""
        self.inner.undo()

    def legal_moves(self) -> list[str]:
        """Return the legal moves of the side to move: points row by row from the top left, then "pass"."""
        return [self.vertex_name(vertex) for vertex in (*self.inner.legal_vertices(), PASS)]

    def score(self, dead: Iterable[str] = ()) -> float:
        """Return Black's points minus White's, komi included, for the position as it stands.

        dead: stones to remove first; one stone of each chain is enough. `Player.score` finds them itself.
        """
        return final_score(self.inner, [self.vertex_of(stone) for stone in dead])

    def copy(self) -> "Game":
        """Return an independent game in the same position."""
        return self._of(self.inner.copy())

    def sgf(self, *, black: str = "", white: str = "", result: str = "") -> str:
        """Return the game as SGF text. black, white: names of the players. result: such as "B+3.5"."""
        return write_game(self.inner, black=black, white=white, result=result)

    def vertex_of(self, move: str) -> int:
        """Parse a move into a vertex of `inner`. Raises BadVertex."""
        return parse_vertex(move, self.width, self.height)

    def vertex_name(self, vertex: int) -> str:
        """Format a vertex of `inner`, such as "Q16" or "pass"."""
        return format_vertex(vertex, self.width, self.height)

    def __str__(self) -> str:
        """Return the diagram of the position that `showboard` prints."""
        return showboard(self.inner)

    def __repr__(self) -> str:
        return f"<Game {self.width}x{self.height}, {len(self.inner.moves)} moves, {self.to_play} to play>"


def _rules_and_komi(rules: str, komi: float | None) -> tuple[Rules, float]:
    """Return the rules of a text, and a komi, by default their usual one. Raises GoError."""
    parsed, usual_komi = parse_rules_and_komi(rules)
    if komi is not None and not (isinstance(komi, int | float) and is_komi(komi)):
        raise GoError(f"expected a whole or half number of points as komi, got {komi!r}")
    return parsed, usual_komi if komi is None else komi
