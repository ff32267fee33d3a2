"""The search tree as flat arrays: a node is an index, not an object, and has a fixed size.

The moves of a node ("edges") are rows of `edge_vertex` and `edge_prior`, sorted by prior. The first `children` of them
have been visited. Each of these has a link, in the same order, in a list that begins at `first_link`; visiting another
edge swaps it to the end of this prefix. A link leads to a child node and counts the visits along it. Positions that are
reached by several orders of moves may share a node: several links lead to it, it may have more visits than each of
them, and the tree is a graph. The graph has no cycles, because the key of a node includes the number of moves.

All values are Black-positive. The statistics of a node are functions of its own evaluation and of its children's
statistics, see `engine.search.values`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.native.jit import kernel

NO_NODE = -1
NO_LINK = -1
NO_SLOT = -1
FORGOTTEN = -2
"""The `memory_slot` of a node that no longer reads its entry."""
ROOT = 0
NEW, PENDING, EXPANDED, TERMINAL = range(4)
"""Stages of a node: not evaluated, in a batch under evaluation, expanded (has edges), end of the game."""
PRIOR_SCALE = 65535.0
OWNERSHIP_SCALE = 127.0

SIZE, LINKS, TERMINAL_PLAYOUTS, SHARED_PLAYOUTS, IS_FULL, BIAS_ENTRIES, WEIGHTLESS_PLAYOUTS = range(7)
"""Indices of `Tree.counters`: nodes and links in use; playouts of this search that ended with the game, and those that
ended at a node with enough visits by other paths; 1 once a walk found no room for a node or link; entries of the bias
table in use; playouts of this search that did not count for the root."""
COUNTERS = 7

NODE = np.dtype(
    [
        ("weight", np.float64),
        ("utility", np.float64),
        ("visits", np.int32),
        ("pending", np.int32),
        ("weight_sq", np.float64),
        ("utility_sq", np.float64),
        ("value", np.float32),
        ("no_result", np.float32),
        ("score", np.float32),
        ("score_sq", np.float32),
        ("lead", np.float32),
        ("first_link", np.int32),
        ("key", np.uint64),
        ("memory_key", np.uint64),
        ("chain", np.uint64),
        ("raw_utility", np.float32),
        ("raw_value", np.float32),
        ("raw_no_result", np.float32),
        ("raw_score", np.float32),
        ("raw_score_sq", np.float32),
        ("raw_lead", np.float32),
        ("raw_weight", np.float32),
        ("raw_weight_sq", np.float32),
        ("raw_spread", np.float32),
        ("bias_delta", np.float32),
        ("bias_weight", np.float32),
        ("shape_bonus", np.float32),
        ("last_link", np.int32),
        ("bias_slot", np.int32),
        ("memory_slot", np.int32),
        ("edges", np.int16),
        ("children", np.int16),
        ("to_play", np.int8),
        ("stage", np.int8),
        ("has_human", np.int8),
    ],
    align=True,
)
"""A node. The first 64 bytes are what its parent reads of it, the first 24 in each walk: children lie far apart."""
LINK = np.dtype([("child", np.int32), ("next", np.int32), ("visits", np.int32)])
MEMORY_MOVES = 8
"""Moves of a remembered position."""
MEMORY = np.dtype(
    [
        ("key", np.uint64),
        *((name, np.float32) for name in ("weight", "value", "no_result", "score", "lead")),
        ("moves", np.int32),
    ],
    align=True,
)
"""What is remembered of a position, see `engine.search.memory`: visits (weight), mean values, number of moves."""
REMEMBERED_MOVE = np.dtype([(name, np.float32) for name in ("weight", "value", "score")] + [("vertex", np.int32)])
_CACHE_LINE = 64
LINKS_PER_NODE = 1.25
"""Every node except the root has a link; the rest is for positions that are reached by several paths."""
_MAX_BIAS_ENTRIES = 1 << 18
_INDEX_LOAD = 2
"""Minimum number of slots of the key index for each node; at most half of them are full, so probes are short."""


class Tree(NamedTuple):
    """The arrays of one tree, for at most N nodes, L links, and E = area + 1 edges per node.

    nodes: see NODE. key: hash of the position and of the relevant part of its past. chain: hash of the positions after
        past captures and passes; without these hardly a position can repeat. (On boards of a few points it can, and
        then orders of moves that share a node may differ in what a ko rule forbids.) visits: finished playouts through
        the node, its own evaluation included. pending: playouts in flight. weight, weight_sq: sums of the playouts'
        weights and of their squares. utility, value (win minus loss), no_result, score, lead: weighted means over the
        playouts. utility_sq, score_sq (with the score's deviation): means of squares.
    raw_*: the node's own evaluation, or the mean of a subtree that was folded into it; raw_spread is the variance of
        utility there. bias_*: its entry in the bias table and its own contribution to it. shape_bonus: added to its
        utility, for the shape of the move that led to it. has_human: whether its row of human_prior was written.
    links: see LINK.
    edge_prior: stored as sqrt(p) * 65535. ownership: of the node's own evaluation, stored as value * 127.
    human_prior: priors of a human network, stored like edge_prior, or no rows.
    rave_*: all-moves-as-first statistics of edges, or no rows.
    key_index: open-addressed table of node + 1 by key; 0 marks a free slot.
    memory_key, memory_slot of a node: its key in the memory, and its entry there or NO_SLOT or FORGOTTEN.
    memory, memory_moves: see `engine.search.memory`.
    bias_keys, bias_sums: open-addressed table of sums of weighted errors, and of weights, by local pattern.
    """

    counters: NDArray[np.int64]  # [COUNTERS]
    nodes: NDArray[np.void]  # [N] NODE
    links: NDArray[np.void]  # [L] LINK
    edge_vertex: NDArray[np.int16]  # [N, E]
    edge_prior: NDArray[np.uint16]  # [N, E]
    human_prior: NDArray[np.uint16]  # [N or 0, E]
    ownership: NDArray[np.int8]  # [N, area], or [N, 0] without
    rave_visits: NDArray[np.float32]  # [N or 0, E]
    rave_value: NDArray[np.float32]  # [N or 0, E]
    key_index: NDArray[np.int32]  # [power of two]
    bias_keys: NDArray[np.uint64]  # [power of two]
    bias_sums: NDArray[np.float64]  # [the same, 2]
    memory: NDArray[np.void]  # [M or 0] MEMORY
    memory_moves: NDArray[np.void]  # [M or 0, MEMORY_MOVES] REMEMBERED_MOVE


def bytes_per_node(area: int, *, rave: bool, ownership: bool = True, human: bool = False) -> int:
    """Return the memory of one node in bytes, including its share of links and tables."""
    shared = LINK.itemsize * LINKS_PER_NODE + 4 * 2 * _INDEX_LOAD + 4
    return NODE.itemsize + int(shared) + (area + 1) * (4 + 8 * rave + 2 * human) + area * ownership


def new_tree(capacity: int, area: int, *, rave: bool, ownership: bool = True, human: bool = False) -> Tree:
    """Allocate an empty tree."""
    # np.empty: the system provides memory only when it is first written, so an unfilled tree takes little.
    edges, rave_rows = area + 1, capacity if rave else 0
    entries = min(_MAX_BIAS_ENTRIES, _power_of_two(2 * capacity))
    return Tree(
        counters=np.zeros(COUNTERS, dtype=np.int64),
        nodes=_nodes(capacity),
        links=np.empty(int(capacity * LINKS_PER_NODE), dtype=LINK),
        edge_vertex=np.empty((capacity, edges), dtype=np.int16),
        edge_prior=np.empty((capacity, edges), dtype=np.uint16),
        human_prior=np.empty((capacity if human else 0, edges), dtype=np.uint16),
        ownership=np.empty((capacity, area if ownership else 0), dtype=np.int8),
        rave_visits=np.empty((rave_rows, edges), dtype=np.float32),
        rave_value=np.empty((rave_rows, edges), dtype=np.float32),
        key_index=np.zeros(_power_of_two(_INDEX_LOAD * capacity), dtype=np.int32),
        bias_keys=np.zeros(entries, dtype=np.uint64),
        bias_sums=np.zeros((entries, 2), dtype=np.float64),
        memory=np.zeros(0, dtype=MEMORY),
        memory_moves=np.zeros((0, MEMORY_MOVES), dtype=REMEMBERED_MOVE),
    )


def _nodes(capacity: int) -> NDArray[np.void]:
    """Allocate nodes so that the first half of the part that parents read is in one line of the cache."""
    memory = np.empty(capacity * NODE.itemsize + _CACHE_LINE, dtype=np.uint8)
    start = -memory.ctypes.data % _CACHE_LINE
    return memory[start : start + capacity * NODE.itemsize].view(NODE)


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()


def clear(tree: Tree) -> None:
    """Empty a tree."""
    tree.counters[:] = 0
    tree.key_index[:] = 0
    tree.bias_keys[:] = 0
    tree.bias_sums[:] = 0


@kernel
def playouts_without_evaluation(counters: NDArray[np.int64]) -> int:
    """Return the number of playouts of this search that ended with the game or at a node known by other paths."""
    return int(counters[TERMINAL_PLAYOUTS] + counters[SHARED_PLAYOUTS])


@kernel
def visits_made(tree: Tree) -> int:
    """Return the visits of the root and the playouts of this search that did not count for it."""
    return int(tree.nodes[ROOT].visits + tree.counters[WEIGHTLESS_PLAYOUTS])


@kernel
def find_node(nodes: NDArray[np.void], index: NDArray[np.int32], key: np.uint64) -> int:
    """Return the node of a key, or NO_NODE."""
    mask = index.shape[0] - 1
    place = np.int64(key & np.uint64(mask))
    while index[place] != 0:
        if nodes[index[place] - 1].key == key:
            return int(index[place] - 1)
        place = (place + 1) & mask
    return NO_NODE


@kernel
def put_in_index(nodes: NDArray[np.void], index: NDArray[np.int32], node: int) -> None:
    """Add a node to the key index."""
    mask = index.shape[0] - 1
    place = np.int64(nodes[node].key & np.uint64(mask))
    while index[place] != 0:
        place = (place + 1) & mask
    index[place] = node + 1


@kernel
def add_node(tree: Tree, key: np.uint64, chain: np.uint64, to_play: int) -> int:
    """Append a node without edges and return its number. Does not check the capacity."""
    number = tree.counters[SIZE]
    tree.counters[SIZE] = number + 1
    node = tree.nodes[number]
    node.key = key
    node.chain = chain
    node.to_play = to_play
    node.stage = NEW
    node.visits = 0
    node.pending = 0
    node.first_link = NO_LINK
    node.last_link = NO_LINK
    node.children = 0
    node.edges = 0
    node.weight = 0.0
    node.weight_sq = 0.0
    node.utility = 0.0
    node.utility_sq = 0.0
    node.value = 0.0
    node.no_result = 0.0
    node.score = 0.0
    node.score_sq = 0.0
    node.lead = 0.0
    node.raw_utility = 0.0
    node.raw_weight = 0.0
    node.bias_slot = NO_SLOT
    node.memory_slot = NO_SLOT
    node.memory_key = np.uint64(0)
    node.bias_delta = 0.0
    node.bias_weight = 0.0
    node.shape_bonus = 0.0
    node.has_human = 0
    put_in_index(tree.nodes, tree.key_index, number)
    return number


@kernel
def add_link(tree: Tree, parent: int, child: int) -> int:
    """Append a link from a node to a child and return its number. Does not check the capacity."""
    number = tree.counters[LINKS]
    tree.counters[LINKS] = number + 1
    link, node = tree.links[number], tree.nodes[parent]
    link.child = child
    link.next = NO_LINK
    link.visits = 0
    if node.first_link == NO_LINK:
        node.first_link = number
    else:
        tree.links[node.last_link].next = number
    node.last_link = number
    node.children += 1
    return number


@kernel
def swap_edges(tree: Tree, node: int, i: int, j: int) -> None:
    """Swap two edges of a node with all their statistics."""
    tree.edge_vertex[node, i], tree.edge_vertex[node, j] = tree.edge_vertex[node, j], tree.edge_vertex[node, i]
    tree.edge_prior[node, i], tree.edge_prior[node, j] = tree.edge_prior[node, j], tree.edge_prior[node, i]
    if tree.human_prior.shape[0] > 0:
        tree.human_prior[node, i], tree.human_prior[node, j] = tree.human_prior[node, j], tree.human_prior[node, i]
    if tree.rave_visits.shape[0] > 0:
        tree.rave_visits[node, i], tree.rave_visits[node, j] = tree.rave_visits[node, j], tree.rave_visits[node, i]
        tree.rave_value[node, i], tree.rave_value[node, j] = tree.rave_value[node, j], tree.rave_value[node, i]


@kernel
def decoded_prior(code: int) -> float:
    """Decode an `edge_prior` into a probability."""
    # The square root gives small priors, which are most of them, a finer resolution than p * 65535 would.
    root = code / PRIOR_SCALE
    return root * root


def links_of(tree: Tree, node: int) -> list[int]:
    """Return a node's links in the order of its edges."""
    found: list[int] = []
    link = int(tree.nodes[node]["first_link"])
    while link != NO_LINK:
        found.append(link)
        link = int(tree.links[link]["next"])
    return found


def child_nodes(tree: Tree, node: int) -> list[int]:
    """Return a node's children in the order of its edges."""
    return [int(tree.links[link]["child"]) for link in links_of(tree, node)]
