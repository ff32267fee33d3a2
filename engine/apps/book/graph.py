"""The positions of a book under construction: their values by minimax, and the cost of expanding each move.

A position is searched once. Its moves are candidates with the values of that search; a candidate that was expanded
leads to another position, whose value replaces them. Costs are KataGo's (`cpp/book`): a line of play costs a fixed
amount for each move, and more for moves that lose value or that the search hardly looked at, so that the book grows
where good play goes, and around it where a mistake is plausible. A position's key includes the number of moves, so the
graph has no cycles, and both passes go over it ply by ply.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.book.file import VALUE_SCALE, Entries

UNEXPANDED = -1
_UTILITY_PER_POINT = 0.02
"""Of values from -1 to 1: decides between moves that win, or lose, equally often."""
_KNOWN_SHARE = 0.1
"""Share of a search's visits from which a candidate's value counts without an expansion."""
_DOUBT = 0.05
"""Subtracted from the value of a move with one search after it, and less by the square root of their number."""
# KataGo's costs for 7x7 (cpp/configs/book), without those that need the network's own estimates of its errors.
_COST_PER_MOVE = 0.45
_COST_PER_VALUE = 4.5
_COST_PER_POINT, _MOST_POINTS = 0.75, 3.0
_COST_PER_LOG_SHARE = 0.75
_COST_PER_EXPANDED = 0.25
_LEAST_SHARE = 1e-4

NODE = np.dtype([("key", "u8"), ("ply", "u2"), ("is_black", "?"), ("is_settled", "?")], align=True)
CANDIDATE = np.dtype(
    [
        *(("node", "i4"), ("move", "i4"), ("visits", "i4"), ("child", "i4")),
        *(("value", "f8"), ("lead", "f8"), ("share", "f8"), ("is_known", "?")),
    ],
    align=True,
)


class Candidate(NamedTuple):
    """A move of a search. move: policy index on the book's board. value, lead: Black-positive. prior: in [0, 1]."""

    move: int
    visits: int
    value: float
    lead: float
    prior: float


class Searched(NamedTuple):
    """The result of a search. chosen: its move, which may be a pass (the area of the board); moves include it."""

    chosen: int
    moves: tuple[Candidate, ...]


class Edge(NamedTuple):
    """A move that was expanded, and the position after it."""

    parent: int
    move: int
    child: int


class Graph:
    """All positions so far, numbered in the order in which they were added. area: points of the board."""

    def __init__(self, area: int) -> None:
        self._area = area
        self.nodes = np.zeros(0, NODE)
        self.candidates = np.zeros(0, CANDIDATE)
        self.index: dict[tuple[int, int], int] = {}
        """Positions by key and ply."""
        self._value, self._lead = np.zeros(0), np.zeros(0)

    def __len__(self) -> int:
        return len(self.nodes)

    def add(self, positions: Iterable[tuple[int, int, bool, Searched]], edges: Sequence[Edge]) -> None:
        """Add positions (key, ply, whether Black is to move, search), and the edges that lead to them or to old ones.

        Values and costs are those before, until `settle`.
        """
        nodes, candidates = [self.nodes], [self.candidates]
        for number, (key, ply, is_black, searched) in enumerate(positions, start=len(self.nodes)):
            self.index[key, ply] = number
            rows = self._rows(number, searched)
            nodes.append(np.array([(key, ply, is_black, searched.chosen == self._area)], NODE))
            candidates.append(rows)
        self.nodes, self.candidates = np.concatenate(nodes), np.concatenate(candidates)
        # Candidates are in the order of their positions, and each position's in the order of its moves.
        places = self.candidates["node"].astype(np.int64) * (self._area + 1) + self.candidates["move"]
        for edge in edges:
            place = int(np.searchsorted(places, edge.parent * (self._area + 1) + edge.move))
            self.candidates[place]["child"] = edge.child

    def _rows(self, number: int, searched: Searched) -> NDArray[np.void]:
        visits = sum(each.visits for each in searched.moves)
        rows = [
            (
                *(number, each.move, each.visits, UNEXPANDED, each.value, each.lead),
                max(each.prior, each.visits / visits, _LEAST_SHARE),
                each.move == searched.chosen or each.visits >= _KNOWN_SHARE * visits,
            )
            for each in sorted(searched.moves)
        ]
        return np.array(rows, CANDIDATE)

    def settle(self) -> None:
        """Compute the values of all positions from those after them."""
        nodes, candidates = self.nodes, self.candidates
        self._value, self._lead = np.zeros(len(nodes)), np.zeros(len(nodes))
        for edges in reversed(self._by_ply()):
            utility, value, lead = self._figures(edges)
            utility[~(candidates["is_known"][edges] | (candidates["child"][edges] >= 0))] = -np.inf
            best = _best_rows(candidates["node"][edges], utility)
            node = candidates["node"][edges][best]
            self._value[node], self._lead[node] = value[best], lead[best]

    def _by_ply(self) -> list[NDArray[np.int64]]:
        """Return the candidates of all positions of each ply, from the first one."""
        ply = self.nodes["ply"][self.candidates["node"]]
        order = np.argsort(ply, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(ply[order])) + 1)

    def _figures(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return (utility for the side to move, value, lead) of candidates."""
        each = self.candidates[rows]
        child, is_expanded = each["child"], each["child"] >= 0
        value = np.where(is_expanded, self._value[child], each["value"])
        lead = np.where(is_expanded, self._lead[child], each["lead"])
        return self._signs(each["node"]) * (value + _UTILITY_PER_POINT * lead), value, lead

    def _signs(self, nodes: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return what turns Black-positive values at nodes into values for the side to move."""
        return np.where(self.nodes["is_black"][nodes], 1.0, -1.0)

    def cheapest(self, count: int) -> list[tuple[int, int]]:
        """Return the (position, move) of the cheapest expansions, at most `count`, after `settle`.

        Passes are not expanded, nor positions where the search chose one: play is over there.
        """
        nodes, candidates = self.nodes, self.candidates
        cost = np.full(len(nodes), np.inf)
        cost[0] = 0.0
        total = np.full(len(candidates), np.inf)
        expanded = np.bincount(candidates["node"][candidates["child"] >= 0], minlength=len(nodes))
        for edges in self._by_ply():
            each = candidates[edges]
            node, is_expanded = each["node"], each["child"] >= 0
            total[edges] = cost[node] + self._edge_costs(edges)
            np.minimum.at(cost, each["child"][is_expanded], total[edges][is_expanded])
            total[edges] += np.where(is_expanded, 0.0, _COST_PER_EXPANDED * expanded[node])
        is_open = (
            (candidates["child"] < 0) & (candidates["move"] < self._area) & ~nodes["is_settled"][candidates["node"]]
        )
        rows = np.flatnonzero(is_open & np.isfinite(total))
        # Stable, so that equal costs are taken in the order of the positions.
        chosen = rows[np.argsort(total[rows], kind="stable")[:count]]
        return [(int(row["node"]), int(row["move"])) for row in candidates[chosen]]

    def _edge_costs(self, edges: NDArray[np.int64]) -> NDArray[np.float64]:
        each = self.candidates[edges]
        node = each["node"]
        _, value, lead = self._figures(edges)
        sign = self._signs(node)
        lost_value = np.maximum(sign * (self._value[node] - value), 0.0)
        lost_points = np.clip(sign * (self._lead[node] - lead), 0.0, _MOST_POINTS)
        log_share = -np.log(each["share"])
        costs: NDArray[np.float64] = (
            _COST_PER_MOVE
            + _COST_PER_VALUE * lost_value
            + _COST_PER_POINT * lost_points
            + _COST_PER_LOG_SHARE * log_share
        )
        return costs

    def entries(self, visits: int) -> Entries:
        """Return the arrays of the book, after `settle`. visits: of each search.

        The moves of a position are those that were expanded, unless the best one was not: then it has none, and a
        player searches it by itself.
        """
        nodes, candidates = self.nodes, self.candidates
        searches = self._searches()
        order = np.lexsort((nodes["ply"], nodes["key"]))
        number = np.empty(len(order), np.int64)
        number[order] = np.arange(len(order))
        every = np.arange(len(candidates))
        utility = self._figures(every)[0]
        is_expanded = candidates["child"] >= 0
        best, best_open = np.full((2, len(nodes)), -np.inf)
        is_rival = ~is_expanded & candidates["is_known"]
        np.maximum.at(best, candidates["node"][is_expanded], utility[is_expanded])
        np.maximum.at(best_open, candidates["node"][is_rival], utility[is_rival])
        utility[is_expanded] -= _DOUBT / np.sqrt(searches[candidates["child"][is_expanded]])
        kept = np.flatnonzero(is_expanded & (best >= best_open)[candidates["node"]])
        node = number[candidates["node"][kept]]
        kept = kept[np.lexsort((candidates["move"][kept], -utility[kept], node))]
        counts = np.bincount(node, minlength=len(nodes))
        return Entries(
            key=nodes["key"][order],
            ply=nodes["ply"][order],
            value=np.round(self._value[order] * VALUE_SCALE).astype(np.int16),
            lead=self._lead[order].round(2).astype(np.float32),
            visits=np.round(searches[order] * visits).astype(np.uint32),
            first=np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32),
            move=candidates["move"][kept].astype(np.uint16),
            child=number[candidates["child"][kept]].astype(np.int32),
        )

    def _searches(self) -> NDArray[np.float64]:
        """Return the number of searches of each position and of those after it.

        Those after a position that several moves lead to are shared among them, so that the sum at the root is the
        number of all searches.
        """
        searches = np.ones(len(self.nodes))
        is_expanded = self.candidates["child"] >= 0
        parents = np.bincount(self.candidates["child"][is_expanded], minlength=len(self.nodes))
        for edges in reversed(self._by_ply()):
            each = self.candidates[edges]
            each = each[each["child"] >= 0]
            np.add.at(searches, each["node"], searches[each["child"]] / parents[each["child"]])
        return searches


def _best_rows(node: NDArray[np.int32], utility: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the row of the largest utility of each node, of equal ones the first."""
    order = np.lexsort((np.arange(len(node)), -utility, node))
    _, first = np.unique(node[order], return_index=True)
    return order[first]
