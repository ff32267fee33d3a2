"""Fits the limits of a move to the game: less after passes, and the clock's time by the phase of the game (KataGo)."""

import math
from dataclasses import replace

from engine.game import Game
from engine.players.base import Limits
from engine.search.params import SearchParams
from engine.vertex import PASS

_FULL_AREA = 361


def fitted(limits: Limits, game: Game, params: SearchParams) -> Limits:
    """Return the limits of the next move."""
    if limits.most_seconds is not None and limits.seconds is not None:
        planned = limits.seconds * params.time_factor * midgame_factor(game, params)
        limits = replace(limits, seconds=min(planned, limits.most_seconds))
    factor = pass_factor(game, params)
    if factor == 1.0:
        return limits
    visits = None if limits.visits is None else max(1, math.ceil(limits.visits * factor))
    seconds, most = (None if each is None else each * factor for each in (limits.seconds, limits.most_seconds))
    return replace(limits, visits=visits, seconds=seconds, most_seconds=most)


def fewer_playouts(params: SearchParams, game: Game) -> SearchParams:
    """Return parameters for a search of the next move, whose limit of playouts is lower after passes."""
    if params.max_playouts == 0:
        return params
    return replace(params, max_playouts=max(1, math.ceil(params.max_playouts * pass_factor(game, params))))


def midgame_factor(game: Game, params: SearchParams) -> float:
    """Return the factor of the clock's time: it rises to `midgame_time_factor` and falls back to 1."""
    scale = game.width * game.height / _FULL_AREA
    peak, decay = params.midgame_peak * scale, params.endgame_decay * scale
    if game.move_number < peak:
        weight = game.move_number / peak
    else:
        weight = math.exp(-(game.move_number - peak) / decay) if decay > 0.0 else 0.0
    return 1.0 + weight * (params.midgame_time_factor - 1.0)


def pass_factor(game: Game, params: SearchParams) -> float:
    """Return the factor of all limits after one or two consecutive passes of the opponent."""
    vertices = [move.vertex for move in game.moves]
    if not vertices or vertices[-1] != PASS:
        return 1.0
    return params.factor_after_two_passes if vertices[-3:-2] == [PASS] else params.factor_after_pass
