"""Reads the statistics of a running search for stoppers and watchers."""

import numpy as np
from numpy.typing import NDArray

from engine.evaluation.evaluation import black_value
from engine.native.jit import kernel
from engine.search.stoppers import SearchStats
from engine.search.tree import NO_LINK, ROOT, Tree, decoded_prior, visits_made
from engine.vertex import NO_POINT

_COUNTS = _BEST_VISITS, _SECOND_VISITS, _VERTEX, _VISITS, _MOVES = range(5)
_VALUES = _BEST_VALUE, _SECOND_VALUE, _ROOT_VALUE, _PRIOR = range(4)


@kernel
def read_statistics(tree: Tree, counts: NDArray[np.int64], values: NDArray[np.float64]) -> None:
    """Write the statistics of the root and its two most visited moves (ties: the earlier move)."""
    # A kernel, because this runs every few milliseconds while the tree is locked.
    root = tree.nodes[ROOT]
    sign = black_value(1.0, root.to_play)
    counts[:] = 0
    values[:] = 0.0
    counts[_VERTEX] = NO_POINT
    edge, link = 0, root.first_link
    while link != NO_LINK:
        each = tree.links[link]
        utility = sign * tree.nodes[each.child].utility
        if each.visits > counts[_BEST_VISITS]:
            counts[_SECOND_VISITS], values[_SECOND_VALUE] = counts[_BEST_VISITS], values[_BEST_VALUE]
            counts[_BEST_VISITS], values[_BEST_VALUE] = each.visits, utility
            counts[_VERTEX] = tree.edge_vertex[ROOT, edge]
            values[_PRIOR] = decoded_prior(tree.edge_prior[ROOT, edge])
        elif each.visits > counts[_SECOND_VISITS]:
            counts[_SECOND_VISITS], values[_SECOND_VALUE] = each.visits, utility
        edge += 1
        link = each.next
    counts[_VISITS] = visits_made(tree)
    counts[_MOVES] = root.edges
    values[_ROOT_VALUE] = sign * root.utility


class Statistics:
    """Reads the statistics of a tree; remembers when its most visited move became that."""

    def __init__(self) -> None:
        self._leader, self._since = NO_POINT, 0
        self._counts = np.zeros(len(_COUNTS), dtype=np.int64)
        self._values = np.zeros(len(_VALUES), dtype=np.float64)

    def of(self, tree: Tree, visits_before: int, elapsed: float) -> SearchStats:
        """Return the present statistics. visits_before: at the start of this search. elapsed: seconds since then."""
        read_statistics(tree, self._counts, self._values)
        best_visits, second_visits, leader, visits, moves = self._counts.tolist()
        best_value, second_value, root_value, prior = self._values.tolist()
        playouts = visits - visits_before
        if leader != self._leader:
            self._leader, self._since = leader, playouts
        return SearchStats(
            visits=visits,
            playouts=playouts,
            elapsed=elapsed,
            best_visits=best_visits,
            second_visits=second_visits,
            best_vertex=leader,
            best_value=best_value,
            second_value=second_value,
            root_value=root_value,
            best_since=self._since,
            best_prior=prior,
            move_count=moves,
        )
