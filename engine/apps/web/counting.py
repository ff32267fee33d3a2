"""Counts a position with given dead stones: score, owners of points, and the sums that a person can check."""

from typing import Any

import numpy as np

from engine.apps.web.snapshot import Count
from engine.board.layout import COLOR, HEAD
from engine.color import BLACK, EMPTY, WHITE, color_name
from engine.errors import GoError
from engine.game import Game
from engine.scoring import (
    area_points,
    counts_area,
    final_score,
    format_score,
    ownership_map,
    territory_map,
    territory_points,
    without_chains,
)
from engine.vertex import format_vertex, points


def counted(game: Game, dead: tuple[int, ...] = (), seki: tuple[int, ...] | None = None) -> Count:
    """Return the count by the rules of the game. dead, seki: vertices of stones; None estimates what lives in seki.

    Stones that are dead and in seki count as dead: the players may mark a chain and take that back.
    """
    living = _living(seki, dead)
    return Count(format_score(final_score(game, dead, living)), dead, owners(game, dead, living), seki)


def _living(seki: tuple[int, ...] | None, dead: tuple[int, ...]) -> tuple[int, ...] | None:
    return None if seki is None else tuple(each for each in seki if each not in dead)


def toggled(game: Game, count: Count, vertex: int) -> Count:
    """Return the count with the chain at a point dead instead of alive, or alive instead of dead.

    Raises GoError if there is no chain, or if every stone counts by the rules.
    """
    if not game.rules.may_agree:
        raise GoError("every stone on the board counts by these rules")
    if game.color_at(vertex) not in (BLACK, WHITE):
        raise GoError(f"there is no stone at {format_vertex(vertex, game.width, game.height)}")
    heads = game.board[HEAD]
    chain = [each for each in points(game.width, game.height) if game.color_at(each) in (BLACK, WHITE)]
    chain = [each for each in chain if heads[each] == heads[vertex]]
    dead = set(count.dead) - set(chain) if vertex in count.dead else set(count.dead) | set(chain)
    return counted(game, tuple(sorted(dead)), count.seki)


def sums(game: Game, count: Count) -> dict[str, Any] | None:
    """Return what the score consists of, by color; None if the score is not the sum, because a program counted it."""
    seki = _living(count.seki, count.dead)
    if game.no_result or format_score(final_score(game, count.dead, seki)) != count.score:
        return None
    is_area = counts_area(game)
    found = area_points(game, count.dead) if is_area else territory_points(game, count.dead, seki)
    bonus = game.white_bonus if is_area else game.fixed_bonus
    by_color = {
        color_name(color): {"area": each.area, "prisoners": each.prisoners, "tax": each.tax, "total": float(each.total)}
        for color, each in found.items()
    }
    by_color["white"]["total"] += bonus
    return {"is_area": is_area, "komi": game.komi, "bonus": bonus - game.komi, **by_color}


def owners(game: Game, dead: tuple[int, ...], seki: tuple[int, ...] | None = None) -> tuple[float, ...]:
    """Return whose each point is that counts for a color and has none of its stones: 1 Black, -1 White, else 0.

    That is territory, that below the opponent's dead and enclosed stones included. seki: see `territory_score`.
    """
    board = without_chains(game.board, dead)
    owner = ownership_map(game, board)[0] if counts_area(game) else territory_map(game, dead, seki)
    shown = {BLACK: 1.0, WHITE: -1.0}
    beyond = np.where(owner == board[COLOR], EMPTY, owner)
    return tuple(shown.get(int(beyond[each]), 0.0) for each in points(game.width, game.height))
