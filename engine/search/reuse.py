"""Finds the present position in the tree of an earlier one, to reuse its subtree."""

from collections.abc import Sequence

import numpy as np

from engine.game import Game, Move
from engine.search.position import Root
from engine.search.tree import EXPANDED, NO_NODE, ROOT, Tree, child_nodes


def continues(old: Game, new: Game) -> bool:
    """Return whether `new` is `old` with zero or more moves added, and nothing else changed."""
    return (
        (old.width, old.height, old.komi, old.rules) == (new.width, new.height, new.komi, new.rules)
        and (old.setup_black, old.setup_white) == (new.setup_black, new.setup_white)
        and new.moves[: len(old.moves)] == old.moves
    )


def same_bounds(old: Root, new: Root) -> bool:
    """Return whether two roots allow the same moves below the root."""
    avoided = [np.where(root.avoid > 1, root.avoid, 0) for root in (old, new)]
    return np.array_equal(old.region, new.region) and np.array_equal(avoided[0], avoided[1])


def same_dead(old: Root, new: Root) -> bool:
    """Return whether two roots count the same stones as dead at the end of the game."""
    return np.array_equal(old.dead, new.dead)


def may_keep(old: Root, new: Root, game: Game, color: int) -> bool:
    """Return whether the values of a tree under one root hold under another. color: to play in the game."""
    # Under territory rules all ends of the game in the tree depend on the dead stones; under area rules they are
    # captured in the tree, except where the next pass ends the game.
    ends_matter = not game.rules.is_area or game.pass_ends_phase(color)
    return (same_dead(old, new) or not ends_matter) and same_bounds(old, new)


def node_after(tree: Tree, moves: Sequence[Move], color: int) -> int:
    """Return the expanded node after these moves from the root with `color` to play, or NO_NODE."""
    node = ROOT
    for move in moves:
        node = _child(tree, node, move)
        if node == NO_NODE:
            return NO_NODE
    found = tree.nodes[node]
    return node if found["stage"] == EXPANDED and found["to_play"] == color else NO_NODE


def _child(tree: Tree, node: int, move: Move) -> int:
    if tree.nodes[node]["to_play"] != move.color or tree.nodes[node]["stage"] != EXPANDED:
        return NO_NODE
    children = child_nodes(tree, node)
    vertices = tree.edge_vertex[node, : len(children)].tolist()
    return children[vertices.index(move.vertex)] if move.vertex in vertices else NO_NODE
