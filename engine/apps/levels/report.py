"""Prints the ranks of a board size, and what was measured of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.apps.levels.games import Result
from engine.apps.levels.measure import ANCHOR, ratings, steps
from engine.settings.levels import LEVELS

if TYPE_CHECKING:
    from rich.table import Table

    from engine.support.elo import Rating


def levels_table(size: int, results: Sequence[Result]) -> "Table":
    """Return a row for each rank, and for each other player that was met; without results, what the ranks are."""
    from rich.table import Table

    rated, above = ratings(results), steps(size, results)
    origin = "GNU Go 3.8 at level 10" if ANCHOR in rated else "the mean of all"
    table = Table(title=f"{size}x{size}, Elo above {origin}" if rated else f"{size}x{size}")
    if results and not rated:
        table.caption = "No Elo: the games do not link all of these players. Steps are of those that they link."
    of_games = ("Elo", "95 %", "step", "95 %", "games") if results else ()
    for heading in ("rank", "visits", "temperature", "most loss", *of_games):
        table.add_column(heading, justify="left" if heading == "rank" else "right")
    ranks = list(LEVELS[size])
    for name in [*ranks, *sorted(rated.keys() - set(ranks), key=lambda each: rated[each].elo)]:
        level = LEVELS[size].get(name)
        words = ["", "", ""] if level is None else _level_words(level.visits, level.temperature, level.most_loss)
        count = sum(name in (each.first, each.second) for each in results)
        found = (*_rating_words(rated.get(name)), *_rating_words(above.get(name)), str(count or "")) if results else ()
        table.add_row(name, *words, *found)
    return table


def _level_words(visits: int, temperature: float, most_loss: float) -> list[str]:
    if temperature == 0.0:
        return [str(visits), "best move", ""]
    return [str(visits), f"{temperature:g}", f"{most_loss:g}"]


def _rating_words(rating: "Rating | None") -> list[str]:
    return ["", ""] if rating is None else [f"{rating.elo:+.0f}", f"{rating.low:+.0f} to {rating.high:+.0f}"]
