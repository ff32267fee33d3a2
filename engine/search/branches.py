"""Reads the visited moves below any node of a tree, for reports."""

from collections.abc import Sequence
from typing import NamedTuple

from engine.search.tree import NO_NODE, PRIOR_SCALE, Tree, links_of


class VisitedMove(NamedTuple):
    """A visited move at a node. child: the node after it. visits: by this move. prior: in [0, 1]."""

    vertex: int
    child: int
    visits: int
    prior: float


def visited_moves(tree: Tree, node: int) -> list[VisitedMove]:
    """Return the visited moves at a node, most visits first."""
    links = links_of(tree, node)
    found = []
    for edge, link in enumerate(links):
        child, visits = int(tree.links[link]["child"]), int(tree.links[link]["visits"])
        if child != NO_NODE and visits > 0:
            prior = (float(tree.edge_prior[node, edge]) / PRIOR_SCALE) ** 2
            found.append(VisitedMove(int(tree.edge_vertex[node, edge]), child, visits, prior))
    return sorted(found, key=lambda move: -move.visits)


def node_below(tree: Tree, node: int, moves: Sequence[int]) -> int | None:
    """Return the node after some moves below a node, None if they were not visited."""
    for vertex in moves:
        after = {move.vertex: move.child for move in visited_moves(tree, node)}
        if vertex not in after:
            return None
        node = after[vertex]
    return node


def line_of_most_visits(tree: Tree, node: int, length: int) -> list[int]:
    """Return at most `length` moves below a node, the most visited one each time."""
    line: list[int] = []
    while len(line) < length and (moves := visited_moves(tree, node)):
        line.append(moves[0].vertex)
        node = moves[0].child
    return line
