"""A searching player that plays a book's moves where the book has the position."""

from engine.book.book import Book
from engine.game import Game
from engine.players.base import Avoided, Decision, Limits, Watch
from engine.players.moves import safe_vertices
from engine.players.search_player import SearchPlayer
from engine.vertex import PASS


class BookPlayer(SearchPlayer):
    """Plays from a book; everything else is the search's. `playing_from` makes the class of a book."""

    book: Book
    _is_warming_up = False

    def warm_up(self, width: int, height: int) -> None:
        """Compile or load every kernel that a game needs, without the book, which is for other games than this one."""
        self._is_warming_up = True
        try:
            super().warm_up(width, height)
        finally:
            self._is_warming_up = False

    def genmove(
        self, game: Game, color: int, limits: Limits, watch: Watch | None = None, avoided: Avoided | None = None
    ) -> Decision:
        """Return the book's best move, else the result of a search.

        Searches where moves are to be avoided, and for weaker play, whose moves the level chooses.
        """
        if not (avoided or limits.level or self._is_warming_up) and color == game.to_play:
            best = self.book.best(game)
            if best is not None and self._is_playable(game, color, best.vertices[0]):
                return Decision(best.vertices[0], False, best.winrate, best.lead, best.visits)
        return super().genmove(game, color, limits, watch, avoided)

    def _is_playable(self, game: Game, color: int, vertex: int) -> bool:
        return self._may_pass(game) if vertex == PASS else vertex in safe_vertices(game, color)

    def _may_pass(self, game: Game) -> bool:
        """Return whether the book knows exactly that a pass is better than any move, or that it ends a won game."""
        found = None if self.book.about.visits else self.book.find(game)
        if found is None or not found.moves:
            return False
        first, *others = found.moves
        return all(each.lead < first.lead for each in others) or (game.consecutive_passes > 0 and first.lead > 0)


def playing_from(book: Book) -> type[BookPlayer]:
    """Return a class of players that play from a book."""
    # A class, not an argument: the sessions of --listen make further players by the class of the first one.
    return type(BookPlayer.__name__, (BookPlayer,), {"book": book})
