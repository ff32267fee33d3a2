"""Removes parts of a tree: everything except the subtree of a played move, or the least visited nodes.

The remaining nodes are moved to the front in place, in the order of their numbers. A node whose children are dropped
keeps their statistics: they become its own evaluation ("folding"), with the weight of all its playouts, so that the
nodes above it do not change.
"""

import math

import numpy as np
from numpy.typing import NDArray

from engine.native.jit import kernel
from engine.search.bias import bias_slot
from engine.search.tree import BIAS_ENTRIES, IS_FULL, LINKS, NO_LINK, NO_NODE, NO_SLOT, ROOT, SIZE, Tree, put_in_index

_KEPT_SHARE = 0.6
"""Largest share of a full tree's nodes that is kept."""


@kernel
def mark_subtree(tree: Tree, root: int, least_visits: int, marks: NDArray[np.int32], stack: NDArray[np.int32]) -> int:
    """Mark the nodes under a root with ROOT, all others with NO_NODE; return the number of marked nodes.

    Does not descend below nodes with fewer than `least_visits` visits.
    """
    marks[: tree.counters[SIZE]] = NO_NODE
    marks[root] = ROOT
    stack[0] = root
    height, count = 1, 1
    while height > 0:
        height -= 1
        node = tree.nodes[stack[height]]
        if node.visits < least_visits:
            continue
        link = node.first_link
        while link != NO_LINK:
            child = tree.links[link].child
            if marks[child] == NO_NODE:
                marks[child] = ROOT
                stack[height] = child
                height += 1
                count += 1
            link = tree.links[link].next
    return count


@kernel
def _fold(tree: Tree, number: int) -> None:
    """Make the statistics of a node its own evaluation and drop its links."""
    node = tree.nodes[number]
    node.raw_value = node.value
    node.raw_no_result = node.no_result
    node.raw_score = node.score
    node.raw_score_sq = node.score_sq
    node.raw_lead = node.lead
    node.raw_weight = node.weight
    node.raw_weight_sq = node.weight_sq
    node.raw_spread = max(node.utility_sq - node.utility * node.utility, 0.0)
    node.bias_slot = NO_SLOT
    node.first_link = NO_LINK
    node.last_link = NO_LINK
    node.children = 0


@kernel
def _free_bias(tree: Tree, number: int, share: float) -> None:
    """Remove this share of a node's errors from the bias table."""
    node = tree.nodes[number]
    if node.bias_slot != NO_SLOT:
        tree.bias_sums[node.bias_slot, 0] -= share * node.bias_delta
        tree.bias_sums[node.bias_slot, 1] -= share * node.bias_weight


@kernel
def _move_node(tree: Tree, source: int, target: int) -> None:
    tree.nodes[target] = tree.nodes[source]
    edges = tree.nodes[source].edges
    for edge in range(edges):
        tree.edge_vertex[target, edge] = tree.edge_vertex[source, edge]
        tree.edge_prior[target, edge] = tree.edge_prior[source, edge]
    if tree.human_prior.shape[0] > 0:
        for edge in range(edges):
            tree.human_prior[target, edge] = tree.human_prior[source, edge]
    if tree.rave_visits.shape[0] > 0:
        for edge in range(edges):
            tree.rave_visits[target, edge] = tree.rave_visits[source, edge]
            tree.rave_value[target, edge] = tree.rave_value[source, edge]
    for index in range(tree.ownership.shape[1]):
        tree.ownership[target, index] = tree.ownership[source, index]


@kernel
def _compact_links(tree: Tree, nodes: int, renamed: NDArray[np.int32], names: NDArray[np.int32]) -> None:
    """Move the links of the first `nodes` nodes to the front.

    renamed: new numbers by old node. names: [L] working memory.
    """
    links = tree.counters[LINKS]
    names[:links] = NO_LINK
    for number in range(nodes):
        link = tree.nodes[number].first_link
        while link != NO_LINK:
            names[link] = 0
            link = tree.links[link].next
    count = 0
    for link in range(links):
        if names[link] != NO_LINK:
            names[link] = count
            count += 1
    for number in range(nodes):
        node = tree.nodes[number]
        if node.first_link != NO_LINK:
            node.first_link = names[node.first_link]
            node.last_link = names[node.last_link]
    for source in range(links):
        if names[source] != NO_LINK:
            old, new = tree.links[source], tree.links[names[source]]
            following = old.next
            new.child = renamed[old.child]
            new.visits = old.visits
            new.next = NO_LINK if following == NO_LINK else names[following]
    tree.counters[LINKS] = count


@kernel
def keep_subtree(
    tree: Tree,
    root: int,
    least_visits: int,
    freed_share: float,
    renamed: NDArray[np.int32],
    stack: NDArray[np.int32],
    names: NDArray[np.int32],
) -> None:
    """Make a node the root, fold nodes with fewer visits, and drop all nodes that are no longer under the root.

    freed_share: of the errors of dropped nodes, is removed from the bias table. renamed, stack: [N] int32, names: [L]
    int32, working memory. No evaluation may be in flight.
    """
    size = tree.counters[SIZE]
    mark_subtree(tree, root, least_visits, renamed, stack)
    count = 1
    for number in range(size):
        if renamed[number] == NO_NODE:
            _free_bias(tree, number, freed_share)
        elif number != root:
            renamed[number] = count
            count += 1
    for number in range(size):
        if renamed[number] != NO_NODE and tree.nodes[number].children > 0 and tree.nodes[number].visits < least_visits:
            _fold(tree, number)
    # The old root cannot be under the new one, so its place is free. All other nodes move to smaller numbers, in
    # ascending order, so none is overwritten before it has moved.
    if root != ROOT:
        _move_node(tree, root, ROOT)
    for number in range(size):
        if number != root and renamed[number] != NO_NODE and renamed[number] != number:
            _move_node(tree, number, renamed[number])
    tree.counters[SIZE] = count
    _compact_links(tree, count, renamed, names)
    tree.key_index[:] = 0
    for number in range(count):
        put_in_index(tree.nodes, tree.key_index, number)


@kernel
def rebuild_bias(tree: Tree, keys: NDArray[np.uint64], sums: NDArray[np.float64]) -> None:
    """Rebuild the bias table with only the entries that nodes use. keys, sums: copies of the table."""
    tree.bias_keys[:] = 0
    tree.bias_sums[:, :] = 0.0
    tree.counters[BIAS_ENTRIES] = 0
    for number in range(tree.counters[SIZE]):
        node = tree.nodes[number]
        if node.bias_slot != NO_SLOT:
            old = node.bias_slot
            node.bias_slot = bias_slot(tree, keys[old])
            tree.bias_sums[node.bias_slot, 0] = sums[old, 0]
            tree.bias_sums[node.bias_slot, 1] = sums[old, 1]


def prune(tree: Tree, root: int, least_visits: int = 0, *, freed_share: float = 0.8) -> None:
    """Make a node the root, fold nodes with fewer visits, and drop all nodes that are no longer under the root.

    freed_share: see `SearchParams.subtree_value_bias_free_share`. No evaluation may be in flight.
    """
    size, links = int(tree.counters[SIZE]), int(tree.counters[LINKS])
    renamed, stack, names = (np.empty(count, dtype=np.int32) for count in (size, size, links))
    keep_subtree(tree, root, least_visits, freed_share, renamed, stack, names)
    if 2 * tree.counters[BIAS_ENTRIES] > len(tree.bias_keys):
        rebuild_bias(tree, tree.bias_keys.copy(), tree.bias_sums.copy())


def make_room(tree: Tree, freed_share: float) -> None:
    """Drop the least visited nodes of a full tree. freed_share: see `prune`. No evaluation may be in flight."""
    size = int(tree.counters[SIZE])
    marks, stack = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
    visits, children, least = tree.nodes["visits"][:size], tree.nodes["children"][:size], 1
    nodes = links = math.inf
    # Paths to the same position share its node, so that on small boards the links are full before the nodes are.
    while nodes > _KEPT_SHARE * len(tree.nodes) or links > _KEPT_SHARE * len(tree.links):
        least *= 2
        nodes = mark_subtree(tree, ROOT, least, marks, stack)
        links = int(children[(marks == ROOT) & (visits >= least)].sum())
    prune(tree, ROOT, least, freed_share=freed_share)
    tree.counters[IS_FULL] = 0
