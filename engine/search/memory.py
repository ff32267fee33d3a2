"""Remembers what searches found about positions, so that later searches of them are biased (KataGo's `useEvalCache`).

A node with enough visits leaves an entry when its search ends: its mean values, and those of its most visited moves.
A later search pulls the value of a node of the same position toward the entry, the less, the more visits the node has
itself, and values unvisited moves as they were found to be. The root's own value is never pulled.

The table has a fixed size; buckets of four entries, of which the one with the fewest visits is replaced, with eight
moves of each position. KataGo's is unbounded; formulas are KataGo's (cpp/search/evalcache.cpp and
searchupdatehelpers.cpp).
"""

import hashlib
import threading

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import position_hash
from engine.board.layout import HEADER, KO_POINT, Board
from engine.evaluation.evaluation import black_value
from engine.native.jit import kernel
from engine.rules import Rules
from engine.search.bias import mixed
from engine.search.params import SearchParams
from engine.search.position import Root
from engine.search.tree import (
    EXPANDED,
    FORGOTTEN,
    MEMORY,
    MEMORY_MOVES,
    NO_LINK,
    NO_SLOT,
    REMEMBERED_MOVE,
    ROOT,
    SIZE,
    Tree,
)
from engine.vertex import PASS

ENTRIES = 1 << 14
"""Entries of a table: 2.6 MB. A search of 10,000 visits leaves some hundred."""
_WAYS = 4
_KEPT = 0.75
"""Share of an entry's visits that a later node needs to replace it."""
_PASS_SHARE, _PASS_GAP = 8, 0.05
"""A root is not remembered if passes have an eighth of its visits, or are nearly its best move."""
_BONUS_OFFSET = 1 << 20


class Memory:
    """A table, which lasts longer than the trees that use it.

    Several searches may use it at a time: an entry that one reads while another writes it biases one node a little.
    entries: [ENTRIES] MEMORY. moves: [ENTRIES, MEMORY_MOVES] REMEMBERED_MOVE.
    network: what the values are of, if the table may hold those of several networks.
    """

    def __init__(self, network: str = "") -> None:
        # The system provides memory only when it is first written, so an unused table takes none.
        self.entries = np.zeros(ENTRIES, dtype=MEMORY)
        self.moves = np.zeros((ENTRIES, MEMORY_MOVES), dtype=REMEMBERED_MOVE)
        self.network = network
        self.lock = threading.Lock()

    def used_by(self, tree: Tree, params: SearchParams) -> Tree:
        """Return a tree that uses the table, if the parameters want it."""
        return tree._replace(memory=self.entries, memory_moves=self.moves) if params.remembers else tree

    def take(self, tree: Tree, params: SearchParams, *, keeps_root: bool) -> None:
        """Remember what a finished search has found, if the parameters want it. keeps_root: see `remember`."""
        if params.remembers:
            with self.lock:
                remember(tree, params.remember_visits, keeps_root)

    def add(self, entries: NDArray[np.void], moves: NDArray[np.void]) -> None:
        """Add entries: of two of a position, and of too many in a bucket, those with the most visits stay."""
        with self.lock:
            used = self.entries["key"] != 0
            entries = np.concatenate([self.entries[used], entries])
            moves = np.concatenate([self.moves[used], moves])
            order = np.lexsort((-entries["weight"], entries["key"]))
            order = order[np.unique(entries["key"][order], return_index=True)[1]]
            buckets = (entries["key"] >> np.uint64(1)).astype(np.int64) & (ENTRIES - _WAYS)
            order = order[np.lexsort((-entries["weight"][order], buckets[order]))]
            buckets = buckets[order]
            ranks = np.arange(len(order)) - np.searchsorted(buckets, buckets)
            slots, order = (buckets + ranks)[ranks < _WAYS], order[ranks < _WAYS]
            self.entries[:] = np.zeros(1, dtype=MEMORY)
            self.entries[slots], self.moves[slots] = entries[order], moves[order]

    def clear(self) -> None:
        """Forget everything."""
        with self.lock:
            self.entries[:] = np.zeros(1, dtype=MEMORY)

    def close(self) -> None:
        """Do nothing: the table ends with the session."""


def write_memory(
    record: np.void, params: SearchParams, network: str, rules: Rules, root: Root, doubling: float, *, doubts: bool
) -> None:
    """Write into a record of KERNEL_PARAMS what the memory needs, if it is used.

    doubts: whether counted scores are doubted, on which those of finished games depend by territory rules.

    memory_seed is a number that differs where values of one position must not be mixed.
    """
    if not params.remembers:
        return
    record["remember_visits"] = params.remember_visits
    parts = (
        *(network, rules, root.board.shape, root.region.tobytes(), root.dead.tobytes(), root.cautious, doubling),
        doubts and not rules.is_area,
        np.where(root.avoid > 1, root.avoid, 0).tobytes(),
        *(params.ignores_past, params.ignores_all_past, params.conservative_pass, params.repeated_shape_penalty),
        *(params.human_profile, params.human_own_weightful, params.human_opponent_weightful),
    )
    record["memory_seed"] = int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=8).digest(), "little")


@kernel
def memory_key(board: Board, to_play: int, number: int, passes: int, bonus: float, seed: np.uint64) -> np.uint64:
    """Return the key of a position after `number` moves; never 0, which marks a free entry. bonus: White's points."""
    key = mixed(mixed(seed, position_hash(board)), np.uint64(4 * number + to_play))
    key = mixed(key, np.uint64(board[HEADER, KO_POINT] + 1))
    key = mixed(key, np.uint64(_BONUS_OFFSET + max(passes, -1)))
    return mixed(key, np.uint64(_BONUS_OFFSET + int(2.0 * bonus))) | np.uint64(1)


@kernel
def find_entry(entries: NDArray[np.void], key: np.uint64) -> int:
    """Return the entry of a key, or NO_SLOT."""
    first = np.int64(key >> np.uint64(1)) & (entries.shape[0] - _WAYS)
    for slot in range(first, first + _WAYS):
        if entries[slot].key == key:
            return int(slot)
    return NO_SLOT


@kernel
def _place_for(entries: NDArray[np.void], key: np.uint64) -> int:
    """Return the entry of a key, or the one of its bucket with the fewest visits, emptied for the key."""
    found = find_entry(entries, key)
    if found != NO_SLOT:
        return found
    first = np.int64(key >> np.uint64(1)) & (entries.shape[0] - _WAYS)
    best = first
    for slot in range(first, first + _WAYS):
        if entries[slot].weight < entries[best].weight:
            best = slot
    entry = entries[best]
    entry.key, entry.weight, entry.moves = key, 0.0, 0
    return int(best)


@kernel
def recall(tree: Tree, number: int, key: np.uint64) -> None:
    """Give a new node its key, and the entry of the key if there is one."""
    node = tree.nodes[number]
    node.memory_key = key
    node.memory_slot = find_entry(tree.memory, key)


@kernel
def _is_root_remembered(tree: Tree) -> bool:
    """Return whether the root's values are those of any node: passes are judged otherwise at a root."""
    root, visits, passes = tree.nodes[ROOT], 0, 0
    best, of_pass, edge, link = -1e30, -1e30, 0, tree.nodes[ROOT].first_link
    while link != NO_LINK:
        each = tree.links[link]
        utility = black_value(tree.nodes[each.child].utility, root.to_play)
        visits, best = visits + each.visits, max(best, utility)
        if tree.edge_vertex[ROOT, edge] == PASS:
            passes, of_pass = each.visits, utility
        edge, link = edge + 1, each.next
    return bool(passes * _PASS_SHARE < visits and of_pass + _PASS_GAP < best)


@kernel
def _remember_moves(tree: Tree, number: int, slot: int, least_visits: int) -> None:
    """Add the moves of a node that have enough visits to an entry; of too many, the most visited ones stay."""
    entry, kept, link, edge = tree.memory[slot], tree.memory_moves[slot], tree.nodes[number].first_link, 0
    while link != NO_LINK:
        child, vertex = tree.nodes[tree.links[link].child], tree.edge_vertex[number, edge]
        edge, link = edge + 1, tree.links[link].next
        if child.visits < least_visits:
            continue
        place, lightest = -1, 0
        for i in range(entry.moves):
            if kept[i].vertex == vertex:
                place = i
            if kept[i].weight < kept[lightest].weight:
                lightest = i
        if place < 0 and entry.moves < kept.shape[0]:
            place = entry.moves
            entry.moves += 1
            kept[place].weight = 0.0
        elif place < 0:
            place = lightest
        if child.visits >= kept[place].weight:
            move = kept[place]
            move.vertex, move.weight, move.value, move.score = vertex, child.visits, child.value, child.score


@kernel
def remember(tree: Tree, least_visits: int, keeps_root: bool) -> None:
    """Leave an entry for each node of a finished search that has enough visits. No evaluation may be in flight.

    keeps_root: whether all moves were searched at the root, so that its value may be remembered. A node that left an
    entry does not read it: its own visits are what the entry knows.
    """
    for number in range(tree.counters[SIZE]):
        node = tree.nodes[number]
        if node.stage != EXPANDED or node.visits < least_visits or node.memory_key == np.uint64(0):
            continue
        slot = _place_for(tree.memory, node.memory_key)
        entry = tree.memory[slot]
        if node.visits < _KEPT * entry.weight:
            continue
        _remember_moves(tree, number, slot, least_visits)
        if number != ROOT or (keeps_root and _is_root_remembered(tree)):
            entry.weight, entry.value, entry.no_result = node.visits, node.value, node.no_result
            entry.score, entry.lead = node.score, node.lead
        if node.memory_slot >= 0:
            node.memory_slot = FORGOTTEN
