"""Shows a position of a book in the terminal: the board, its values, and the book's moves, best first."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.book.book import Book, Found
from engine.color import color_name
from engine.errors import GoError
from engine.game import Game
from engine.records.diagram import showboard
from engine.rules import rules_text
from engine.vertex import format_vertex, parse_vertex

if TYPE_CHECKING:
    from rich.table import Table


def position(book: Book, moves: Sequence[str]) -> Game:
    """Return the game after moves such as c3, Black first. Raises GoError."""
    about = book.about
    game = Game(about.width, about.height, rules=about.rules, komi=about.komi)
    for move in moves:
        if game.is_over:
            raise GoError(f"{move}: the game is over after {game.move_number} moves")
        game.play(game.to_play, parse_vertex(move, game.width, game.height))
    return game


def heading(book: Book) -> str:
    """Return what a book is for and how it was made, in one line."""
    about = book.about
    parts = [f"{about.width}x{about.height}", rules_text(about.rules)]
    parts += [f"komi {about.komi:g}" if about.visits else "any komi", f"{len(book):,} positions"]
    parts.append(f"{about.visits:,} visits each by {about.network}" if about.visits else "exact values")
    hours = about.made.get("hours")
    if isinstance(hours, int | float):
        parts.append(f"{hours:g} hours")
    return ", ".join(parts)


def text(game: Game, found: Found | None) -> str:
    """Return the diagram of a position and the values that the book has for it."""
    if found is None:
        return f"{showboard(game)}\nnot in the book"
    searched = f"{found.visits:,} visits" if found.visits else "exact"
    best = "" if found.moves else "; no move of it is better than what the search of this position found"
    if not (found.moves or found.visits):
        best = "; the book ends here"
    return (
        f"{showboard(game)}\n{color_name(game.to_play)} wins {100 * found.winrate:.1f} %, leads by {found.lead:+.1f}, "
        f"{searched}{best}"
    )


def moves_table(game: Game, found: Found) -> "Table":
    """Return a table of the moves; points that symmetry makes equal stand in one row."""
    from rich.table import Table

    table = Table()
    for column in ("move", "wins", "leads by", "visits"):
        table.add_column(column, justify="left" if column == "move" else "right")
    for move in found.moves:
        names = " ".join(format_vertex(vertex, game.width, game.height) for vertex in move.vertices)
        visits = f"{move.visits:,}" if move.visits else "exact"
        table.add_row(names, f"{100 * move.winrate:.1f} %", f"{move.lead:+.1f}", visits)
    return table
