"""Root selection by sequential halving with Gumbel noise, and its policy target from completed values.

Danihelka, Guez, Schrittwieser, Silver, "Policy improvement by planning with Gumbel" (2022): the root considers a few
moves, drawn without replacement by the policy, and halves them by their values; below the root nothing changes. The
target is the policy improved by the values, so that it is right with few visits too.
"""

import math
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from engine.color import for_color
from engine.search.kernel_params import params_of
from engine.search.params import SearchParams
from engine.search.position import Root
from engine.search.root import root_priors
from engine.search.tree import ROOT, Tree, links_of

Floats = NDArray[np.float64]
VISIT_SCALE, VALUE_SCALE = 50.0, 1.0
"""c_visit and c_scale of the paper, for values in 0..1."""
# Lower bound of a prior, which is stored with 16 bits and may be 0.
_LEAST_PRIOR = 1e-8


def visit_schedule(considered: int, playouts: int) -> list[int]:
    """Return, for each playout, the visits that the move it is given to has before: [playouts].

    Sequential halving (Karnin, Koren, Somekh 2013): all considered moves get the same number of playouts, then the
    better half of them, and so on down to two.
    """
    if considered <= 1:
        return list(range(playouts))
    rounds = math.ceil(math.log2(considered))
    schedule: list[int] = []
    visits, left = 0, considered
    while len(schedule) < playouts:
        for _ in range(max(1, playouts // (rounds * left))):
            schedule += [visits] * left
            visits += 1
        left = max(2, left // 2)
    return schedule[:playouts]


def completed_values(priors: Floats, visits: NDArray[np.int64], values: Floats, raw_value: float) -> Floats:
    """Return the values with those of unvisited moves replaced by the mixed value of the root (the paper's v_mix).

    priors, visits, values: [moves]; values in 0..1, arbitrary where visits are 0. raw_value: the network's, in 0..1.
    """
    visited = visits > 0
    if not visited.any():
        return np.full(len(priors), raw_value)
    total, weight = float(visits.sum()), priors[visited]
    mean = float((weight * values[visited]).sum() / weight.sum())
    return np.where(visited, values, (raw_value + total * mean) / (1.0 + total))


def improved_logits(priors: Floats, visits: NDArray[np.int64], values: Floats, raw_value: float) -> Floats:
    """Return logits + sigma(completed values): [moves]."""
    scale = (VISIT_SCALE + float(visits.max(initial=0))) * VALUE_SCALE
    logits: Floats = np.log(priors) + scale * completed_values(priors, visits, values, raw_value)
    return logits


class GumbelRoot:
    """The selection at the root of one search of a new tree, whose root has been evaluated.

    Each playout adds one visit to the root and to one of its moves, and none is lost before the search ends.
    considered: most moves that get playouts. playouts: of the whole search. generator: of the noise. vertices: the
    allowed moves.
    """

    def __init__(
        self,
        tree: Tree,
        root: Root,
        params: SearchParams,
        considered: int,
        playouts: int,
        generator: np.random.Generator,
    ) -> None:
        self._tree, self._color, self.playouts = tree, root.color, playouts
        self._radius = float(params_of(params).numbers["utility_radius"])
        vertices, priors = tree.edge_vertex[ROOT, : int(tree.nodes[ROOT]["edges"])].astype(np.int64), root_priors(tree)
        allowed = root.avoid[root.color, vertices] <= 0
        if not allowed.any():
            allowed[:] = True
        # In the order of the vertices: that of the edges changes as moves are visited.
        order = np.argsort(vertices[allowed], kind="stable")
        self.vertices = vertices[allowed][order]
        self._priors = np.maximum(priors[allowed][order], _LEAST_PRIOR)
        self._noise = generator.gumbel(size=len(self.vertices))
        ranked = np.argsort(-(self._noise + np.log(self._priors)), kind="stable")
        self._considered = ranked[: max(1, considered)]
        self._schedule = visit_schedule(len(self._considered), playouts)
        self._planned: dict[int, int] = {}

    def _found(self) -> tuple[NDArray[np.int64], Floats]:
        """Return the visits and the values in 0..1, for the side to move, of all moves."""
        links = links_of(self._tree, ROOT)
        each = self._tree.links[links]
        nodes = self._tree.nodes[each["child"]]
        places = {vertex: place for place, vertex in enumerate(self.vertices.tolist())}
        visits, values = np.zeros(len(places), np.int64), np.zeros(len(places))
        played = self._tree.edge_vertex[ROOT, : len(links)].tolist()
        utilities = for_color(nodes["utility"], self._color)
        for vertex, count, utility in zip(played, each["visits"].tolist(), utilities.tolist(), strict=True):
            if vertex in places:
                visits[places[vertex]], values[places[vertex]] = count, self._unit(utility)
        return visits, values

    def _unit(self, utility: float) -> float:
        return (1.0 + utility / self._radius) / 2.0

    def _improved(self, visits: NDArray[np.int64], values: Floats) -> Floats:
        raw = self._unit(for_color(float(self._tree.nodes[ROOT]["raw_utility"]), self._color))
        return improved_logits(self._priors, visits, values, raw)

    def _ranked(self, visits: NDArray[np.int64], values: Floats, wanted: int) -> list[int]:
        """Return the vertices of the considered moves with `wanted` visits, the best first."""
        among = self._considered[visits[self._considered] == wanted]
        scores = self._noise[among] + self._improved(visits, values)[among]
        return [int(vertex) for vertex in self.vertices[among[np.argsort(-scores, kind="stable")]]]

    def next_move(self) -> int:
        """Return the move that gets the next playout."""
        if not self._schedule:
            return self.chosen_move()
        done = min(int(self._tree.nodes[ROOT]["visits"]) - 1, self.playouts - 1)
        if done not in self._planned:
            # Together, because each of these moves gets a playout, whatever those of the others find.
            wanted = self._schedule[done]
            together = takewhile(lambda place: self._schedule[place] == wanted, range(done, self.playouts))
            self._planned = dict(zip(together, self._ranked(*self._found(), wanted), strict=False))
        return self._planned[done]

    def chosen_move(self) -> int:
        """Return the move to play: the best of the most visited ones, noise included."""
        visits, values = self._found()
        return self._ranked(visits, values, int(visits[self._considered].max()))[0]

    def target(self) -> tuple[NDArray[np.int64], Floats]:
        """Return the vertices and the improved policy over all allowed moves, which sums to 1."""
        logits = self._improved(*self._found())
        chances = np.exp(logits - logits.max())
        return self.vertices, chances / chances.sum()
