"""The policy target of self-play, and its choice of a move, from the root of a finished search.

Forced playouts explore moves that the search itself would not visit; they are removed from the target (Wu,
"Accelerating self-play learning in Go", 2019, section 3.2), so that it contains only moves that the search found good.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.color import for_color
from engine.search.kernel_params import params_of
from engine.search.params import SearchParams
from engine.search.position import Root
from engine.search.root import root_priors
from engine.search.selection import scaling
from engine.search.tree import ROOT, Tree, links_of
from engine.vertex import PASS, policy_index

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RootMoves:
    """The visited moves of a root, in the order of its links; if no move was visited, all moves with their priors.

    vertex: int64. weight: weight for choosing a move, 0 or more; the largest is above 0 unless there is no move.
    """

    vertex: NDArray[np.int64]
    weight: Floats

    def spread(self, temperature: float, width: int, height: int) -> NDArray[np.float32]:
        """Return the probabilities [area + 1] of choosing each move with a temperature, see `tempered`."""
        policy = np.zeros(width * height + 1, dtype=np.float32)
        indices = [policy_index(vertex, width, height) for vertex in self.vertex.tolist()]
        policy[indices] = tempered(self.weight, temperature)
        return policy

    def without_passes(self) -> "RootMoves":
        """Return the moves without the pass, unless the pass is the only one."""
        weights = np.where(self.vertex == PASS, 0.0, self.weight)
        return RootMoves(self.vertex, weights) if weights.any() else self

    def choose(self, temperature: float, generator: np.random.Generator) -> int:
        """Draw a move with a temperature."""
        bounds = np.cumsum(tempered(self.weight, temperature))
        return int(self.vertex[np.searchsorted(bounds, generator.random() * bounds[-1], side="right")])

    def favorite_of(self, count: int, generator: np.random.Generator) -> int:
        """Return the move with the largest weight among `count` random ones, all alike likely to be drawn."""
        drawn = generator.choice(len(self.vertex), min(count, len(self.vertex)), replace=False)
        return int(self.vertex[drawn[int(np.argmax(self.weight[drawn]))]])


def tempered(weights: Floats, temperature: float) -> Floats:
    """Return weights ** (1 / temperature), scaled to sum 1; at temperature 0 the largest ones have equal shares."""
    # By logarithms relative to the largest, so that low temperatures do not overflow.
    largest = weights.max()
    if temperature <= 0.0:
        chances = np.where(weights == largest, 1.0, 0.0)
    else:
        logs = np.log(np.where(weights > 0, weights, 1.0)) - np.log(largest)
        chances = np.where(weights > 0, np.exp(logs / temperature), 0.0)
    shares: Floats = chances / chances.sum()
    return shares


def root_moves(tree: Tree, root: Root, params: SearchParams) -> RootMoves:
    """Return the moves of a search without forced playouts; the priors if it visited no move that may be played."""
    links = links_of(tree, ROOT)
    count = len(links)
    each, priors = tree.links[links], root_priors(tree)
    nodes = tree.nodes[each["child"]]
    visits = np.minimum(each["visits"], nodes["visits"])
    vertices = tree.edge_vertex[ROOT, : len(priors)].astype(np.int64)
    allowed = root.avoid[root.color, vertices] <= 0
    weights = nodes["weight"] * visits / np.maximum(nodes["visits"], 1)
    weights = np.where(allowed[:count], weights, 0.0)
    if not weights.any():
        weights = np.where(allowed, priors, 0.0)
        return RootMoves(vertices, weights if weights.any() else allowed.astype(np.float64))
    if params.forced_playouts > 0:
        scale = scaling(params_of(params).numbers, tree.nodes[ROOT], float(weights.sum()))
        utilities = for_color(nodes["utility"], tree.nodes[ROOT]["to_play"])
        weights = without_forced(weights, visits, priors[:count], utilities, scale, params.forced_playouts)
    return RootMoves(vertices[:count], weights)


def without_forced(
    weights: Floats, visits: NDArray[np.int32], priors: Floats, utilities: Floats, scale: float, forced: float
) -> Floats:
    """Return the weights without the forced playouts that the search would not have made by itself.

    From each move except the best, up to sqrt(forced * prior * total weight) is subtracted, as long as its value in
    PUCT, prior * scale / (1 + weight) + utility, stays below that of the best; a move that is left with one playout or
    less is dropped. utilities: those of the side to move.
    """
    best = int(np.argmax(weights))
    bar = utilities[best] + scale * priors[best] / (1.0 + weights[best])
    gap = bar - utilities
    deserved = np.where(gap > 0, scale * priors / np.where(gap > 0, gap, 1.0) - 1.0, np.inf)
    least = weights - np.sqrt(forced * priors * weights.sum())
    kept = np.minimum(weights, np.maximum(least, deserved))
    playout = weights / np.maximum(visits, 1)
    kept = np.where(kept <= playout, 0.0, kept)
    kept[best] = weights[best]
    return kept
