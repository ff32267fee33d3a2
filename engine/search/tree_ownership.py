"""The ownership of each point, averaged over a tree with the weights of its values."""

import numpy as np
from numpy.typing import NDArray

from engine.native.jit import kernel
from engine.search.tree import NO_LINK, OWNERSHIP_SCALE, SIZE, Tree

Floats = NDArray[np.float64]


@kernel
def order_nodes(
    tree: Tree, root: int, order: NDArray[np.int32], edges_in: NDArray[np.int32], stack: NDArray[np.int32]
) -> int:
    """Write the nodes under a root in topological order, parents first (Kahn 1962); return their number."""
    size = tree.counters[SIZE]
    edges_in[:size] = -1
    edges_in[root] = 0
    stack[0] = root
    height = 1
    while height > 0:
        height -= 1
        link = tree.nodes[stack[height]].first_link
        while link != NO_LINK:
            child = tree.links[link].child
            if edges_in[child] < 0:
                edges_in[child] = 0
                stack[height] = child
                height += 1
            edges_in[child] += 1
            link = tree.links[link].next
    order[0] = root
    count, done = 1, 0
    while done < count:
        link = tree.nodes[order[done]].first_link
        while link != NO_LINK:
            child = tree.links[link].child
            edges_in[child] -= 1
            if edges_in[child] == 0:
                order[count] = child
                count += 1
            link = tree.links[link].next
        done += 1
    return count


@kernel
def spread(
    tree: Tree,
    order: NDArray[np.int32],
    place: NDArray[np.int32],
    count: int,
    least: float,
    share: Floats,
    total: Floats,
    squares: Floats,
) -> float:
    """Add the ownership of each node, times its share of the root's weight, to the totals; return the sum of shares.

    Shares below `least` are not divided further: the node stands for its subtree. place: [N] working memory.
    """
    share[:count] = 0.0
    for i in range(count):
        place[order[i]] = i
    share[0] = 1.0
    counted = 0.0
    for i in range(count):
        node = tree.nodes[order[i]]
        mine = share[i]
        if mine <= 0.0 or node.visits == 0:
            continue
        rest = mine
        if mine >= least:
            weight = node.raw_weight
            link = node.first_link
            while link != NO_LINK:
                each = tree.links[link]
                child = tree.nodes[each.child]
                if child.visits > 0:
                    weight += child.weight * each.visits / child.visits
                link = each.next
            rest = mine * node.raw_weight / weight
            link = node.first_link
            while link != NO_LINK:
                each = tree.links[link]
                child = tree.nodes[each.child]
                if child.visits > 0:
                    share[place[each.child]] += mine * child.weight * each.visits / child.visits / weight
                link = each.next
        if node.edges > 0:
            counted += rest
            for point in range(total.shape[0]):
                owned = tree.ownership[order[i], point] / OWNERSHIP_SCALE
                total[point] += rest * owned
                squares[point] += rest * owned * owned
    return counted


def tree_ownership(tree: Tree, node: int, least_share: float = 1e-3) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of the ownership under a node, each [area], 1 Black, -1 White.

    Nodes that end the game have no ownership and are left out. least_share: subtrees with a smaller share of the node's
    weight are represented by their root alone. Zeros for an evaluator without ownership.
    """
    area, size = tree.edge_vertex.shape[1] - 1, int(tree.counters[SIZE])
    total, squares = np.zeros(area), np.zeros(area)
    if tree.ownership.shape[1] == 0 or tree.nodes[node]["visits"] == 0:
        return total, squares
    order, work, stack = (np.empty(size, dtype=np.int32) for _ in range(3))
    count = order_nodes(tree, node, order, work, stack)
    share = np.empty(count)
    counted = spread(tree, order, work, count, least_share, share, total, squares)
    if counted <= 0.0:
        return total, squares
    mean = total / counted
    return mean, np.sqrt(np.maximum(squares / counted - mean**2, 0.0))
