"""A book in memory: finds the current position of a game up to symmetry, and its moves."""

import logging
import os
from typing import NamedTuple

import numpy as np

from engine.book.file import VALUE_SCALE, About, Entries, read
from engine.book.finding import find_book
from engine.book.positions import inverse, place_of, same_values
from engine.color import for_color, winrate_for_color
from engine.game import Game
from engine.rules import rules_text
from engine.symmetry import compose, map_vertex
from engine.vertex import from_policy_index

_LOG = logging.getLogger(__name__)


class BookMove(NamedTuple):
    """A move of a book, for the side to move.

    vertices: the point on the game's board, then those that symmetry makes equal to it. winrate: in [0, 1]. lead:
    points. visits: of the searches after it; 0 where the value is exact.
    """

    vertices: tuple[int, ...]
    winrate: float
    lead: float
    visits: int


class Found(NamedTuple):
    """The current position in a book, for the side to move; `moves` are ordered, best first.

    lacks_best: whether the rules forbid the best of them in this game, so that it is left out.
    """

    winrate: float
    lead: float
    visits: int
    moves: tuple[BookMove, ...]
    lacks_best: bool = False


class Book:
    """A book. name: for messages. about: the board, rules and komi that it is for, and how it was made."""

    def __init__(self, about: About, entries: Entries, name: str = "book") -> None:
        self.about, self.name = about, name
        self._entries = entries
        self._refused: set[str] = set()

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "Book":
        """Read the book of a file, or one that ships with Keima by name, such as 3x3. Raises BookError, OSError."""
        found = find_book(path)
        return cls(*read(found), os.fspath(path))

    def __len__(self) -> int:
        return len(self._entries.key)

    def misfit(self, game: Game) -> str | None:
        """Return why the book is not for a game, None if it is for it."""
        about = self.about
        for what, mine, its in (
            ("size", f"{about.width}x{about.height}", f"{game.width}x{game.height}"),
            ("komi", f"{about.komi:g}", f"{game.komi:g}"),
        ):
            if mine != its and (what == "size" or about.visits):
                return f"expected {what} {mine}, got {its}"
        if not same_values(about.rules, game.rules):
            return f"expected rules {rules_text(about.rules)}, got {rules_text(game.rules)}"
        return None

    def find(self, game: Game) -> Found | None:
        """Return the current position, None if the book does not have it or is not for this game.

        Moves that the rules forbid in this game, by its past, are left out.
        """
        place = place_of(game) if self.misfit(game) is None else None
        if place is None:
            return None
        index = self._index(place.key)
        if index is None:
            return None
        entries, to_play, size = self._entries, game.to_play, (game.width, game.height)
        back = inverse(place.symmetry)
        turns = [compose(each, back) for each in place.stabilizer]
        moves, lacks_best = [], False
        for edge in range(int(entries.first[index]), int(entries.first[index + 1])):
            vertex = from_policy_index(int(entries.move[edge]), *size)
            images = tuple(dict.fromkeys(map_vertex(vertex, turn, *size) for turn in turns))
            legal = tuple(each for each in images if game.is_legal(to_play, each))
            if legal:
                moves.append(BookMove(legal, *self._values(int(entries.child[edge]), game)))
            lacks_best |= not legal and not moves
        return Found(*self._values(index, game), tuple(moves), lacks_best)

    def best(self, game: Game) -> BookMove | None:
        """Return the best move of the current position, None if the book has none or the rules forbid it.

        Says once where the book is not for a game.
        """
        reason = self.misfit(game)
        if reason is not None and reason not in self._refused:
            self._refused.add(reason)
            _LOG.warning("book %s is not used: %s", self.name, reason)
        found = self.find(game)
        return found.moves[0] if found is not None and found.moves and not found.lacks_best else None

    def _index(self, key: int) -> int | None:
        """Return the position of a key; of several, which have other numbers of moves, the one searched most."""
        keys, wanted = self._entries.key, np.uint64(key)
        low, high = (int(np.searchsorted(keys, wanted, side)) for side in ("left", "right"))
        return low + int(np.argmax(self._entries.visits[low:high])) if low < high else None

    def _values(self, index: int, game: Game) -> tuple[float, float, int]:
        entries, to_play, lead = self._entries, game.to_play, float(self._entries.lead[index])
        value = float(entries.value[index]) / VALUE_SCALE
        if not self.about.visits:
            lead -= game.komi
            value = float(np.sign(lead))
        winrate = winrate_for_color((1.0 + value) / 2.0, to_play)
        return winrate, for_color(lead, to_play), int(entries.visits[index])
