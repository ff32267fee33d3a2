"""Statistics of the root's moves, and the choice of the move to play."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from engine.color import for_color
from engine.evaluation.evaluation import Evaluation
from engine.search.human import policy_of, with_human_share
from engine.search.kernel_params import params_of, utility_radius
from engine.search.params import SearchParams
from engine.search.position import Root
from engine.search.root import root_priors, size_of
from engine.search.selection import scaling
from engine.search.tree import ROOT, Tree, links_of
from engine.vertex import PASS

Floats = NDArray[np.float64]
_PRIOR_VISITS = 2.0
"""Weight in visits of the whole policy in the search for the most stable move."""
_MOST_FACTOR = 0.2
"""A better bound multiplies the weight of a move by at most (1 / this)^2."""
_LEAST_VARIANCE = 1e-8
_MOST_THINNED = 1 / 64
"""Share of the largest weight that may at most be subtracted from weights or pruned."""
_LEAST_TEMPERATURE = 1e-4
_LEAST_SHARE = 1e-50
_BELOW_ALL = 100.0
"""Subtracted from the priors of moves without a value, so that they are below all values."""


@dataclass(frozen=True)
class MoveTable:
    """Statistics of the root's visited moves, in the order of its links; utilities are those of the side to move.

    is_known: whether the position after the move was evaluated, be it by weightless playouts. visits: along the root's
    link. weight: of these playouts. utility: mean. lcb: lower confidence bound of the utility. radius: distance of the
    bound from the mean. play_weight: the largest is chosen; 0 for moves that must not be played.
    """

    vertex: NDArray[np.int64]
    child: NDArray[np.int64]
    visits: NDArray[np.int64]
    is_known: NDArray[np.bool_]
    weight: Floats
    utility: Floats
    prior: Floats
    lcb: Floats
    radius: Floats
    play_weight: Floats


def draws(params: SearchParams, has_human: bool) -> bool:
    """Return whether another move than the best one may be played, so that every playout can change the choice."""
    return max(params.temperature, params.early_temperature) > 0.0 or (has_human and params.human_move_share > 0.0)


def move_table(tree: Tree, root: Root, params: SearchParams, human: Evaluation | None = None) -> MoveTable:
    """Return the statistics of all visited root moves. human: the root's evaluation by the human network."""
    links = links_of(tree, ROOT)
    count = len(links)
    each = tree.links[links]
    child = each["child"].astype(np.int64)
    nodes = tree.nodes[child]
    visits = np.minimum(each["visits"], nodes["visits"]).astype(np.int64)
    share = visits / np.maximum(nodes["visits"], 1)
    weight, weight_sq = nodes["weight"] * share, nodes["weight_sq"] * share
    utility = for_color(nodes["utility"], tree.nodes[ROOT]["to_play"])
    vertex = tree.edge_vertex[ROOT, :count].astype(np.int64)
    prior = root_priors(tree)[:count]
    lcb, radius = _confidence_bounds(weight, weight_sq, utility, nodes["utility_sq"], params)
    allowed = root.avoid[root.color, vertex] <= 0
    play = np.where(allowed & (visits > 0), weight, 0.0)
    is_known = nodes["visits"] > 0
    if play.any():
        play = _weights_to_play(tree, params, play, visits, utility, prior, lcb, radius)
        if human is not None and params.human_move_share > 0.0:
            policy = np.where(allowed, policy_of(human, vertex, *size_of(root)), 0.0)
            play = with_human_share(vertex, play, np.where(is_known, utility, np.nan), policy, params)
    return MoveTable(vertex, child, visits, is_known, weight, utility, prior, lcb, radius, play)


def _confidence_bounds(
    weight: Floats, weight_sq: Floats, utility: Floats, utility_sq: Floats, params: SearchParams
) -> tuple[Floats, Floats]:
    """Return lower confidence bounds of the mean utilities, and their radii; few playouts add variance (KataGo)."""
    largest = utility_radius(params)
    stdevs = params.lcb_stdevs or SearchParams.lcb_stdevs
    radius = np.full(len(weight), 2.0 * largest * stdevs)
    known = (weight > 0) & (weight_sq > 0)
    w, w2, u = weight[known], weight_sq[known], utility[known]
    samples = w * w / w2
    extra = w / samples**3
    square = np.maximum(utility_sq[known], u * u + _LEAST_VARIANCE)
    square = (square * w + (square + largest**2) * extra) / (w + extra)
    samples = (w + extra) ** 2 / (w2 + extra**2)
    radius[known] = stdevs * np.sqrt((square - u * u) / samples)
    return np.where(known, utility - radius, -radius), radius


def _weights_to_play(
    tree: Tree,
    params: SearchParams,
    play: Floats,
    visits: NDArray[np.int64],
    utility: Floats,
    prior: Floats,
    lcb: Floats,
    radius: Floats,
) -> Floats:
    """Return the weights that choose the move (KataGo).

    Removes visits that a move would not get again with its final value, and raises the move with the best bound.
    """
    steady = play * np.maximum(visits - 1.0, 0.0) / np.maximum(visits, 1) + _PRIOR_VISITS * prior * (play > 0)
    best = int(np.argmax(steady))
    best_weight = play[best]
    scale = scaling(_numbers_of(params), tree.nodes[ROOT], float(play.sum()))
    bar = utility[best] + scale * prior[best] / (1.0 + best_weight)
    gap = bar - utility
    deserved = np.where(gap > 0, scale * prior / np.where(gap > 0, gap, 1.0) - 1.0, math.inf)
    reduced = np.ceil(np.minimum(play, np.maximum(deserved, 0.0)))
    reduced[best] = best_weight
    if params.lcb_stdevs <= 0 or not params.uses_lcb:
        return reduced
    candidates = np.flatnonzero((reduced > 0) & (reduced >= params.lcb_least_share * best_weight))
    if len(candidates) == 0:
        return reduced
    chosen = int(candidates[np.argmax(lcb[candidates])])
    if chosen == 0 and not params.bounds_first_move:
        return reduced
    excess = lcb[chosen] - lcb
    factor = np.where(excess > 0, (radius + excess) / (radius + _MOST_FACTOR * excess), 0.0)
    bounds = factor**2 * reduced
    bounds[chosen] = reduced[chosen]
    reduced[chosen] = bounds.max()
    return reduced


@lru_cache(maxsize=16)
def _numbers_of(params: SearchParams) -> np.void:
    """Return the record of parameters for kernels, which takes longer to write than all else of a table."""
    numbers: np.void = params_of(params).numbers
    return numbers


def choose_vertex(
    tree: Tree,
    root: Root,
    params: SearchParams,
    temperature: float,
    generator: np.random.Generator,
    human: Evaluation | None = None,
) -> int:
    """Return the move to play; PASS if none may be played. Before the first visit, priors choose.

    Temperature 0 chooses the largest `play_weight` (ties by value); a higher one draws a move with probability
    proportional to weight ** (1 / temperature), see `_chances`. human: the root's evaluation by the human network,
    which has the share `human_move_share` in the weights.
    """
    table = move_table(tree, root, params)
    count, vertices = len(table.vertex), tree.edge_vertex[ROOT, : tree.nodes[ROOT]["edges"]].astype(np.int64)
    allowed, utilities = root.avoid[root.color, vertices] <= 0, np.full(len(vertices), np.nan)
    utilities[:count] = np.where(table.is_known, table.utility, np.nan)
    weights = np.zeros(len(vertices))
    if table.play_weight.any():
        weights[:count] = _thinned(table.play_weight, params)
    else:
        # After weightless playouts alone, as after none, priors choose; but only among the moves that were searched.
        weights = np.where(allowed & ~np.isnan(utilities), root_priors(tree), 0.0)
        weights = weights if weights.any() else np.where(allowed, root_priors(tree), 0.0)
    if human is not None and params.human_move_share > 0.0 and weights.any():
        policy = np.where(allowed, policy_of(human, vertices, *size_of(root)), 0.0)
        weights = with_human_share(vertices, weights, utilities, policy, params)
    if not weights.any():
        return PASS
    if temperature <= _LEAST_TEMPERATURE and params.temperature_only_below >= 1.0:
        ties = np.where(np.isnan(utilities), root_priors(tree) - _BELOW_ALL, utilities)
        return int(vertices[np.lexsort((ties, weights))[-1]])
    return int(generator.choice(vertices, p=_chances(weights, temperature, params.temperature_only_below)))


def _thinned(weights: Floats, params: SearchParams) -> Floats:
    """Return the weights less `choice_subtract`, 0 below `choice_prune`; the largest stays above 0 (KataGo)."""
    most = weights.max() * _MOST_THINNED
    thinned = np.maximum(weights - min(params.choice_subtract, most), 0.0)
    return np.where(weights < min(params.choice_prune, most), 0.0, thinned)


def _chances(weights: Floats, temperature: float, only_below: float) -> Floats:
    """Return the chances of moves by their weights.

    The temperature applies to the part of a weight below the share `only_below` of all weights (KataGo).
    """
    # Relative to the largest logit, so that low temperatures do not overflow.
    logits = np.log(np.where(weights > 0, weights, 1.0)) - math.log(weights.max())
    bound = min(0.0, math.log(max(only_below, _LEAST_SHARE) * weights.sum() / weights.max()))
    tempered = np.where(logits > bound, logits, (logits - bound) / max(temperature, _LEAST_TEMPERATURE) + bound)
    chances = np.where(weights > 0, np.exp(tempered), 0.0)
    total: Floats = chances / chances.sum()
    return total


def temperature_at(params: SearchParams, move_number: int, area: int) -> float:
    """Return the temperature of the choice of a move: it falls from the early one to the late one (KataGo).

    move_number: moves of the game so far. area: number of points of the board.
    """
    return params.at_move(params.early_temperature, params.temperature, move_number, area)
