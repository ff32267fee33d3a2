"""Brings the statistics of a kept tree up to date: its values depend on parameters that change from search to search.

The utility of points is centered at the expected score of the root, and a root whose moves were dropped must no longer
count them. KataGo recomputes every node at the start of a search, too (cpp/search/search.cpp). The many searches of
self-play (`engine.search.batched_search`) leave that out: a kernel's call for each tree would take longer than a leaf.
"""

import numpy as np
from numpy.typing import NDArray

from engine.native.jit import kernel
from engine.search.kernel_params import Params
from engine.search.tree import ROOT, SIZE, Tree
from engine.search.tree_ownership import order_nodes
from engine.search.values import recompute, set_own_value

_TOLERANCE, _NODES = 0.1, 50_000
"""Points by which the center may move before a tree of up to this number of nodes is recomputed; on 9x9 they change a
utility by 0.003. On 19x19 500,000 nodes take half a second, in which nothing can stop the search, so they wait for a
point."""


def tolerance_of(size: int) -> float:
    """Return the points by which the center may move before a tree of `size` nodes is recomputed."""
    return _TOLERANCE * max(1.0, size / _NODES)


@kernel
def recompute_nodes(
    tree: Tree, params: Params, order: NDArray[np.int32], count: int, work: NDArray[np.float64]
) -> None:
    """Recompute nodes, the last ones first. order: [N], the first `count` are nodes, parents first."""
    for place in range(count - 1, -1, -1):
        number = order[place]
        node = tree.nodes[number]
        if node.children > 0 or (number == ROOT and node.edges > 0):
            codes = tree.edge_prior[number]
            recompute(params, tree.nodes, tree.links, codes, tree.bias_sums, number, work, tree.memory)
        elif node.visits > 0 and node.raw_spread == 0.0:
            # Not where a subtree was folded: the utility is the mean of what was below, which nobody knows any more.
            # If all of that was equal there is no spread, but the weight of the evaluation is that of the subtree.
            weight, weight_sq = node.weight, node.weight_sq
            set_own_value(params, tree.nodes, tree.bias_sums, number, node.visits, tree.memory)
            node.weight, node.weight_sq = weight, weight_sq


def recompute_root(tree: Tree, params: Params, work: NDArray[np.float64]) -> None:
    """Recompute the root alone. work: [3, E] float64 working memory."""
    recompute_nodes(tree, params, np.full(1, ROOT, dtype=np.int32), 1, work)


def recompute_tree(tree: Tree, params: Params, work: NDArray[np.float64]) -> None:
    """Recompute every node under the root. work: [3, E] float64 working memory. No evaluation may be in flight."""
    order, edges_in, stack = (np.empty(int(tree.counters[SIZE]), dtype=np.int32) for _ in range(3))
    count = order_nodes(tree, ROOT, order, edges_in, stack)
    recompute_nodes(tree, params, order, count, work)
