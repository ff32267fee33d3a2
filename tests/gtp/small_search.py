"""A search of two moves and a reply, put together by hand: what an analysis reads, without a search."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.game import Game

VISITS, REPLIES = (6, 3), 4
"""Visits of the two moves, and of the reply to the first."""
VALUE, LEAD, SCORE, STDEV = 0.5, 4.25, 5.0, 12.0
"""Of the first move's position, Black-positive; the second one's is as good for White."""
PRIORS = (0.5, 0.25)


def small_search(game: "Game", color: int) -> Any:
    """Return a tree, a root and parameters for `color` to play: its first two legal moves were visited."""
    import numpy as np

    from engine.color import opponent
    from engine.search.params import SearchParams
    from engine.search.tree import EXPANDED, PRIOR_SCALE, add_link, add_node, new_tree
    from engine.vertex import PASS, array_length

    moves = [*game.legal_vertices(color), PASS]
    tree = new_tree(8, game.width * game.height, rave=False)
    tree.ownership[:] = 0
    for number, (to_play, visits, sign) in enumerate(
        [(color, 10, 0), (opponent(color), VISITS[0], 1), (opponent(color), VISITS[1], -1), (color, REPLIES, 1)]
    ):
        add_node(tree, np.uint64(number + 1), np.uint64(0), to_play)
        node = tree.nodes[number]
        node["stage"], node["visits"], node["edges"] = EXPANDED, visits, len(moves) if number == 0 else 2
        node["weight"], node["weight_sq"], node["raw_weight"] = visits, visits, 1.0
        node["value"] = node["utility"] = node["raw_value"] = sign * VALUE
        node["utility_sq"] = VALUE**2 + 0.01
        node["lead"], node["score"], node["score_sq"] = sign * LEAD, sign * SCORE, SCORE**2 + STDEV**2
        node["no_result"] = 0.0
        tree.ownership[number, : node["edges"]] = sign * 127
    for parent, child, visits in ((0, 1, VISITS[0]), (0, 2, VISITS[1]), (1, 3, REPLIES)):
        link = add_link(tree, parent, child)
        tree.links[link]["visits"] = visits
    rest = (1.0 - sum(PRIORS)) / max(1, len(moves) - 2)
    priors = np.array([*PRIORS, *[rest] * len(moves)])[: len(moves)]
    tree.edge_vertex[0, : len(moves)] = moves
    tree.edge_prior[0, : len(moves)] = np.round(np.sqrt(priors) * PRIOR_SCALE)
    tree.edge_vertex[1, :2] = tree.edge_vertex[2, :2] = moves[-2:]
    avoid = np.zeros((3, array_length(game.width, game.height)), dtype=np.int16)
    root = SimpleNamespace(avoid=avoid, color=color, board=game.board)
    return SimpleNamespace(
        tree=tree,
        root=root,
        params=SearchParams(),
        mirrored={},
        human_evaluation=None,
        generator=np.random.default_rng(),
    )
