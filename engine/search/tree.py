"""The search tree as a struct of arrays: no object a node, a fixed number of bytes each.

A node's moves ("edges") lie in rows of `edge_vertex` and `edge_prior`, best prior first. The first
`children[node]` of them have child nodes, linked from `first_child` by `next_sibling` in the same
order: choosing an unvisited edge swaps it to the end of that prefix. Values are Black-positive.
Nodes are born in increasing order, so a parent's index is always smaller than its child's.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.jit import kernel

NO_NODE = -1
ROOT = 0
NEW, PENDING, EXPANDED, TERMINAL = range(4)
"""Stages of a node: never evaluated, in a batch under evaluation, with edges, end of the game."""
PRIOR_SCALE = 65535.0

SIZE, TERMINAL_PLAYOUTS, COLLISIONS = range(3)
"""Slots of `Tree.counters`: nodes in use, playouts ended by the rules, batches cut short."""


class Tree(NamedTuple):
    """The arrays of one tree. N nodes at most, E = area + 1 edges a node at most.

    visits counts finished playouts through a node, its own evaluation included; pending counts those
    under way. value_sum is the sum of results in [-1, 1], score_sum of points. prior is coded as
    sqrt(p) * 65535. rave_* hold all-moves-as-first statistics of edges, or have no rows.
    """

    counters: NDArray[np.int64]  # [3]
    parent: NDArray[np.int32]  # [N]
    first_child: NDArray[np.int32]  # [N]
    last_child: NDArray[np.int32]  # [N]
    next_sibling: NDArray[np.int32]  # [N]
    visits: NDArray[np.int32]  # [N]
    pending: NDArray[np.int32]  # [N]
    value_sum: NDArray[np.float64]  # [N]
    score_sum: NDArray[np.float32]  # [N]
    vertex: NDArray[np.int16]  # [N]
    to_play: NDArray[np.int8]  # [N]
    stage: NDArray[np.int8]  # [N]
    children: NDArray[np.int16]  # [N]
    edges: NDArray[np.int16]  # [N]
    edge_vertex: NDArray[np.int16]  # [N, E]
    edge_prior: NDArray[np.uint16]  # [N, E]
    rave_visits: NDArray[np.float32]  # [N or 0, E]
    rave_value: NDArray[np.float32]  # [N or 0, E]


def bytes_per_node(area: int, *, rave: bool) -> int:
    """Return the memory of one node in bytes."""
    fixed = 7 * 4 + 8 + 2 * 3 + 2
    return fixed + (area + 1) * (4 + (8 if rave else 0))


def new_tree(capacity: int, area: int, *, rave: bool) -> Tree:
    """Return an empty tree. Memory is touched, and so taken, only as nodes are born."""
    edges, rave_rows = area + 1, capacity if rave else 0
    return Tree(
        counters=np.zeros(3, dtype=np.int64),
        parent=np.empty(capacity, dtype=np.int32),
        first_child=np.empty(capacity, dtype=np.int32),
        last_child=np.empty(capacity, dtype=np.int32),
        next_sibling=np.empty(capacity, dtype=np.int32),
        visits=np.empty(capacity, dtype=np.int32),
        pending=np.empty(capacity, dtype=np.int32),
        value_sum=np.empty(capacity, dtype=np.float64),
        score_sum=np.empty(capacity, dtype=np.float32),
        vertex=np.empty(capacity, dtype=np.int16),
        to_play=np.empty(capacity, dtype=np.int8),
        stage=np.empty(capacity, dtype=np.int8),
        children=np.empty(capacity, dtype=np.int16),
        edges=np.empty(capacity, dtype=np.int16),
        edge_vertex=np.empty((capacity, edges), dtype=np.int16),
        edge_prior=np.empty((capacity, edges), dtype=np.uint16),
        rave_visits=np.empty((rave_rows, edges), dtype=np.float32),
        rave_value=np.empty((rave_rows, edges), dtype=np.float32),
    )


@kernel
def add_node(tree: Tree, parent: int, vertex: int, to_play: int) -> int:
    """Append a node without edges and link it as its parent's last child. Does not check capacity."""
    node = tree.counters[SIZE]
    tree.counters[SIZE] = node + 1
    tree.parent[node] = parent
    tree.first_child[node] = NO_NODE
    tree.last_child[node] = NO_NODE
    tree.next_sibling[node] = NO_NODE
    tree.visits[node] = 0
    tree.pending[node] = 0
    tree.value_sum[node] = 0.0
    tree.score_sum[node] = 0.0
    tree.vertex[node] = vertex
    tree.to_play[node] = to_play
    tree.stage[node] = NEW
    tree.children[node] = 0
    tree.edges[node] = 0
    if parent != NO_NODE:
        if tree.first_child[parent] == NO_NODE:
            tree.first_child[parent] = node
        else:
            tree.next_sibling[tree.last_child[parent]] = node
        tree.last_child[parent] = node
        tree.children[parent] += 1
    return node


@kernel
def swap_edges(tree: Tree, node: int, i: int, j: int) -> None:
    """Exchange two edges of a node with all their statistics."""
    tree.edge_vertex[node, i], tree.edge_vertex[node, j] = tree.edge_vertex[node, j], tree.edge_vertex[node, i]
    tree.edge_prior[node, i], tree.edge_prior[node, j] = tree.edge_prior[node, j], tree.edge_prior[node, i]
    if tree.rave_visits.shape[0] > 0:
        tree.rave_visits[node, i], tree.rave_visits[node, j] = tree.rave_visits[node, j], tree.rave_visits[node, i]
        tree.rave_value[node, i], tree.rave_value[node, j] = tree.rave_value[node, j], tree.rave_value[node, i]


@kernel
def _copy_node(tree: Tree, source: int, target: int) -> None:
    tree.visits[target] = tree.visits[source]
    tree.pending[target] = 0
    tree.value_sum[target] = tree.value_sum[source]
    tree.score_sum[target] = tree.score_sum[source]
    tree.vertex[target] = tree.vertex[source]
    tree.to_play[target] = tree.to_play[source]
    tree.stage[target] = tree.stage[source]
    tree.children[target] = tree.children[source]
    tree.edges[target] = tree.edges[source]
    for edge in range(tree.edges[source]):
        tree.edge_vertex[target, edge] = tree.edge_vertex[source, edge]
        tree.edge_prior[target, edge] = tree.edge_prior[source, edge]
        if tree.rave_visits.shape[0] > 0:
            tree.rave_visits[target, edge] = tree.rave_visits[source, edge]
            tree.rave_value[target, edge] = tree.rave_value[source, edge]


@kernel
def keep_subtree(tree: Tree, root: int, renamed: NDArray[np.int32]) -> None:
    """Make a node the root and move its subtree to the front, in place; all other nodes are gone.

    renamed: [N] int32 working memory. Works in one pass forward because parents precede children.
    """
    size, count = tree.counters[SIZE], 0
    for node in range(size):
        parent = tree.parent[node]
        is_kept = node == root or (node > root and parent != NO_NODE and renamed[parent] != NO_NODE)
        renamed[node] = count if is_kept else NO_NODE
        count += is_kept
    for node in range(root, size):
        target = renamed[node]
        if target == NO_NODE:
            continue
        parent, first = tree.parent[node], tree.first_child[node]
        last, sibling = tree.last_child[node], tree.next_sibling[node]
        if target != node:
            _copy_node(tree, node, target)
        is_root = node == root
        tree.parent[target] = NO_NODE if is_root else renamed[parent]
        tree.first_child[target] = NO_NODE if first == NO_NODE else renamed[first]
        tree.last_child[target] = NO_NODE if last == NO_NODE else renamed[last]
        tree.next_sibling[target] = NO_NODE if is_root or sibling == NO_NODE else renamed[sibling]
    tree.counters[SIZE] = count


def child_nodes(tree: Tree, node: int) -> list[int]:
    """Return a node's children in the order of its edges."""
    found: list[int] = []
    child = int(tree.first_child[node])
    while child != NO_NODE:
        found.append(child)
        child = int(tree.next_sibling[child])
    return found
