"""The figures of a running search, as stoppers and watchers see them."""

from engine.color import BLACK
from engine.search.stoppers import SearchStats
from engine.search.tree import ROOT, Tree, decoded_prior, links_of
from engine.vertex import NO_POINT


class Figures:
    """Reads a tree's figures; remembers since when its most visited move has been that."""

    def __init__(self) -> None:
        self._leader, self._since = NO_POINT, 0

    def of(self, tree: Tree, playouts: int, elapsed: float) -> SearchStats:
        """Return the present figures. playouts: of this search. elapsed: seconds."""
        root, links = tree.nodes[ROOT], links_of(tree, ROOT)
        visits = [int(tree.links[link]["visits"]) for link in links]
        ranked = sorted(range(len(links)), key=visits.__getitem__, reverse=True)[:2]
        sign = 1.0 if root["to_play"] == BLACK else -1.0
        values = [sign * float(tree.nodes[tree.links[links[edge]]["child"]]["utility"]) for edge in ranked]
        best_two = [visits[edge] for edge in ranked]
        leader = int(tree.edge_vertex[ROOT, ranked[0]]) if ranked else NO_POINT
        if leader != self._leader:
            self._leader, self._since = leader, playouts
        return SearchStats(
            visits=int(root["visits"]),
            playouts=playouts,
            elapsed=elapsed,
            best_visits=best_two[0] if ranked else 0,
            second_visits=best_two[1] if len(ranked) > 1 else 0,
            best_vertex=leader,
            best_value=values[0] if ranked else 0.0,
            second_value=values[1] if len(ranked) > 1 else 0.0,
            root_value=sign * float(root["utility"]),
            best_since=self._since,
            best_prior=float(decoded_prior(int(tree.edge_prior[ROOT, ranked[0]]))) if ranked else 0.0,
            move_count=int(root["edges"]),
        )
