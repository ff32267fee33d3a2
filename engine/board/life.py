"""Proves life and death: an AND/OR search of the points of a region, by depth-first proof numbers.

The search is A. Nagai's df-pn ("Df-pn Algorithm for Searching AND/OR Trees and Its Applications", 2002), on a board on
which a ring of attackers surrounds the region. Nobody plays outside the region, where the ring has a liberty, so its
chains never die. There are two goals, each an end that needs no further play:

- the defender lives: the chain of a target stone is pass-alive (`engine.board.area`);
- the defender dies: nowhere in the region is there room for two eyes (`has_room_for_eyes`).

A proof must hold whatever the rules say about ko and suicide. So the side that proves never takes a ko and commits no
suicide; the other side may retake every ko at once, commit suicide and pass. A position that repeats on the way from
the root counts against the side that proves. All this loses proofs and adds none: what is proved follows from ends that
were proved before.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.board.area import new_scratch, pass_alive
from engine.board.kernels import copy_board, is_legal, neighbor_offset, place, position_hash, zobrist
from engine.board.layout import COLOR, HEAD, HEADER, KO_POINT, ROWS, STRIDE, Board
from engine.color import EMPTY, WALL, WHITE
from engine.native.jit import kernel
from engine.vertex import NO_POINT, PASS

REFUTED, GAVE_UP = -1, -2
"""What `prove_life` returns without a proof: there is none within its rules, or it reached the limit of positions."""
MOST_MOVES = 100
"""Length of the longest line that is searched; longer ones count as refuted."""
_INFINITE = 1 << 30
_OWN, _OTHER, _LENGTH, _MOVE = range(4)
_COUNT, _OWN_LIMIT, _OTHER_LIMIT = range(3)
_RING_HEADS, _SEEN, _STACK = range(3)


class LifeMemory(NamedTuple):
    """The problem, and the working memory of its search.

    boards[0] is the position. The numbers of a position are those of the side to move: how many ends it still has to
    reach to win (_OWN), and its opponent (_OTHER); then the length of the proof in moves, and its next move.
    """

    region: NDArray[np.int16]  # [points] vertices where both sides may play
    ring: NDArray[np.int16]  # [stones] vertices of the attackers around it
    boards: NDArray[np.int16]  # [MOST_MOVES + 1, ROWS, n]
    moves: NDArray[np.int16]  # [MOST_MOVES, points + 1]
    keys: NDArray[np.uint64]  # [MOST_MOVES, points + 1] of the positions after the moves
    repeats: NDArray[np.int8]  # [MOST_MOVES, points + 1] 1 if that position is on the way from the root
    plies: NDArray[np.int64]  # [MOST_MOVES, 3] number of moves, and the limits of the proof numbers
    path: NDArray[np.uint64]  # [MOST_MOVES] keys of the positions on the way from the root
    table_keys: NDArray[np.uint64]  # [entries] 0 in free ones
    table: NDArray[np.int32]  # [entries, 4]
    area: NDArray[np.int32]  # see `engine.board.area.new_scratch`
    owner: NDArray[np.int8]  # [n]
    marks: NDArray[np.int32]  # [3, n]


def new_life_memory(board: Board, region: NDArray[np.int16], ring: NDArray[np.int16], positions: int) -> LifeMemory:
    """Allocate the memory of a search of at most `positions` positions, and enter the problem. Its ko is dropped."""
    entries = 1 << (2 * positions).bit_length()
    width = len(region) + 1
    memory = LifeMemory(
        region=region,
        ring=ring,
        boards=np.empty((MOST_MOVES + 1, ROWS, board.shape[1]), dtype=np.int16),
        moves=np.empty((MOST_MOVES, width), dtype=np.int16),
        keys=np.empty((MOST_MOVES, width), dtype=np.uint64),
        repeats=np.empty((MOST_MOVES, width), dtype=np.int8),
        plies=np.empty((MOST_MOVES, 3), dtype=np.int64),
        path=np.empty(MOST_MOVES, dtype=np.uint64),
        table_keys=np.zeros(entries, dtype=np.uint64),
        table=np.empty((entries, 4), dtype=np.int32),
        area=new_scratch(board),
        owner=np.empty(board.shape[1], dtype=np.int8),
        marks=np.empty((3, board.shape[1]), dtype=np.int32),
    )
    memory.boards[0] = board
    memory.boards[0, HEADER, KO_POINT] = NO_POINT
    return memory


@kernel
def has_room_for_eyes(
    board: Board, attacker: int, region: NDArray[np.int16], ring: NDArray[np.int16], marks: NDArray[np.int32]
) -> bool:
    """True if the defender might live somewhere in the region; False if he cannot, whoever moves first.

    Ring stones and all that is connected to them never die, and the attacker can always fill a point beside them. So
    eyes can only be made of points that touch none of them, and two eyes need two such points that are not neighbors,
    within what those stones enclose. Where each such part has at most one, or two that are neighbors, the attacker
    fills the rest and captures everything. (On boards of at least 2x2 the last capture is no ko: every point of a
    single eye has a neighbor in the chain that it belongs to.)
    marks: [3, n] working memory.
    """
    stride = board[HEADER, STRIDE]
    marks[_RING_HEADS, :] = 0
    marks[_SEEN, :] = 0
    for i in range(ring.shape[0]):
        marks[_RING_HEADS, board[HEAD, ring[i]]] = 1
    for i in range(region.shape[0]):
        start = region[i]
        if marks[_SEEN, start] or (board[COLOR, start] == attacker and marks[_RING_HEADS, board[HEAD, start]]):
            continue
        marks[_SEEN, start] = 1
        marks[_STACK, 0] = start
        used, inner, first = 1, 0, NO_POINT
        while used > 0:
            used -= 1
            point = marks[_STACK, used]
            touches = False
            for direction in range(4):
                neighbor = point + neighbor_offset(direction, stride)
                color = board[COLOR, neighbor]
                if color == WALL:
                    continue
                if color == attacker and marks[_RING_HEADS, board[HEAD, neighbor]]:
                    touches = True
                elif not marks[_SEEN, neighbor]:
                    marks[_SEEN, neighbor] = 1
                    marks[_STACK, used] = neighbor
                    used += 1
            if touches:
                continue
            inner += 1
            if inner == 1:
                first = point
            elif inner > 2 or (abs(point - first) != 1 and abs(point - first) != stride):
                return True
    return False


@kernel
def _judge(memory: LifeMemory, ply: int, prover: int, defender: int, target: int) -> int:
    """Return 1 if the goal is reached, -1 if it can no longer be, 0 otherwise."""
    board = memory.boards[ply]
    if prover == defender and board[COLOR, target] != defender:
        return -1
    if not has_room_for_eyes(board, 3 - defender, memory.region, memory.ring, memory.marks):
        return -1 if prover == defender else 1
    # As if suicide were legal: fewer chains are pass-alive then.
    pass_alive(board, True, False, memory.area, memory.owner)
    if prover == defender:
        return 1 if memory.owner[target] == defender else 0
    for i in range(memory.region.shape[0]):
        point = memory.region[i]
        if board[COLOR, point] == defender and memory.owner[point] == defender:
            return -1
    return 0


@kernel
def _key(board: Board, color: int) -> np.uint64:
    """Return the key of a position with `color` to move, never 0. Equal stones with another ko point are another."""
    key = position_hash(board)
    if color == WHITE:
        key ^= np.uint64(0x9E3779B97F4A7C15)
    ko = board[HEADER, KO_POINT]
    if ko != NO_POINT:
        key ^= zobrist(ko, EMPTY)
    return key | np.uint64(1)


@kernel
def _slot(memory: LifeMemory, key: np.uint64) -> int:
    """Return the table's entry of a position, or the free one where it belongs."""
    mask = memory.table_keys.shape[0] - 1
    slot = np.int64(key >> np.uint64(20)) & mask
    while memory.table_keys[slot] != 0 and memory.table_keys[slot] != key:
        slot = (slot + 1) & mask
    return int(slot)


@kernel
def _store(memory: LifeMemory, key: np.uint64, own: int, other: int, length: int, move: int) -> None:
    slot = _slot(memory, key)
    memory.table_keys[slot] = key
    memory.table[slot, _OWN], memory.table[slot, _OTHER] = own, other
    memory.table[slot, _LENGTH], memory.table[slot, _MOVE] = length, move


@kernel
def _add_move(memory: LifeMemory, ply: int, point: int, color: int) -> None:
    """Add a move whose position is at the next ply to the moves of this one."""
    count = memory.plies[ply, _COUNT]
    key = _key(memory.boards[ply + 1], 3 - color)
    memory.moves[ply, count] = point
    memory.keys[ply, count] = key
    memory.repeats[ply, count] = 0
    for earlier in range(ply + 1):
        if memory.path[earlier] == key:
            memory.repeats[ply, count] = 1
    memory.plies[ply, _COUNT] = count + 1


@kernel
def _expand(memory: LifeMemory, ply: int, color: int, prover: int) -> None:
    """List the moves of a ply, see the module on what each side may do."""
    board, after = memory.boards[ply], memory.boards[ply + 1]
    memory.plies[ply, _COUNT] = 0
    if color != prover:
        board[HEADER, KO_POINT] = NO_POINT
    for i in range(memory.region.shape[0]):
        point = memory.region[i]
        if not is_legal(board, point, color, color != prover):
            continue
        copy_board(board, after)
        place(after, point, color)
        if color != prover or after[HEADER, KO_POINT] == NO_POINT:
            _add_move(memory, ply, point, color)
    if color != prover:
        copy_board(board, after)
        _add_move(memory, ply, PASS, color)


@kernel
def _enter(memory: LifeMemory, ply: int, color: int, prover: int, defender: int, target: int) -> bool:
    """Begin a position: list its moves and return True, or store that it is an end and return False."""
    key, verdict = memory.path[ply], 0
    if memory.table_keys[_slot(memory, key)] == 0:
        verdict = _judge(memory, ply, prover, defender, target)
    if ply == MOST_MOVES - 1 and verdict == 0:
        verdict = -1
    if verdict != 0:
        wins = (verdict == 1) == (color == prover)
        _store(memory, key, 0 if wins else _INFINITE, _INFINITE if wins else 0, 0, NO_POINT)
        return False
    _expand(memory, ply, color, prover)
    return True


@kernel
def _sum_up(memory: LifeMemory, ply: int, is_prover: bool) -> tuple[int, int, int, int]:
    """Store the numbers of a position by those of its moves.

    Returns its own number and the other side's, the index of the move to search, and the least number of the others.
    """
    own, second, other, best = _INFINITE, _INFINITE, 0, -1
    length, move = -1, NO_POINT
    for i in range(memory.plies[ply, _COUNT]):
        child_own, child_other, child_length = 1, 1, 0
        slot = _slot(memory, memory.keys[ply, i])
        if memory.repeats[ply, i]:
            child_own, child_other = (0, _INFINITE) if is_prover else (_INFINITE, 0)
        elif memory.table_keys[slot] != 0:
            child_own, child_other = memory.table[slot, _OWN], memory.table[slot, _OTHER]
            child_length = memory.table[slot, _LENGTH]
        other = min(other + child_own, _INFINITE)
        if child_other < own:
            own, second, best = child_other, own, i
        elif child_other < second:
            second = child_other
        # The side that proves takes its shortest proof, the other one resists as long as it can.
        is_shorter = child_other == 0 and (length < 0 or child_length + 1 < length)
        if is_shorter if is_prover else child_length + 1 > length:
            length, move = child_length + 1, memory.moves[ply, i]
    _store(memory, memory.path[ply], own, other, length, move)
    return own, other, best, second


@kernel
def prove_life(memory: LifeMemory, color: int, prover: int, defender: int, target: int, positions: int) -> int:
    """Return the number of moves of a proof that `prover` reaches the goal with `color` to move, or a code without one.

    prover: the defender for the goal to live, the attacker for the other one. target: a stone of the chain that is to
    live. The moves are those of the longest line of the proof that was found; shorter proofs may exist. positions: at
    most as many as `new_life_memory` got; the table of the memory must be empty.
    """
    ply, visited = 0, 1
    memory.path[0] = _key(memory.boards[0], color)
    memory.plies[0, _OWN_LIMIT] = memory.plies[0, _OTHER_LIMIT] = _INFINITE
    going = _enter(memory, 0, color, prover, defender, target)
    while going:
        mover = color if ply % 2 == 0 else 3 - color
        own, other, best, second = _sum_up(memory, ply, mover == prover)
        own_limit, other_limit = memory.plies[ply, _OWN_LIMIT], memory.plies[ply, _OTHER_LIMIT]
        if own >= own_limit or other >= other_limit or visited >= positions:
            ply -= 1
            going = ply >= 0
            continue
        child_own = 1
        slot = _slot(memory, memory.keys[ply, best])
        if memory.table_keys[slot] != 0:
            child_own = memory.table[slot, _OWN]
        board = memory.boards[ply + 1]
        copy_board(memory.boards[ply], board)
        if memory.moves[ply, best] != PASS:
            place(board, memory.moves[ply, best], mover)
        memory.path[ply + 1] = memory.keys[ply, best]
        memory.plies[ply + 1, _OWN_LIMIT] = other_limit - other + child_own
        # A quarter more than the second best move, so that the search changes between moves less often.
        memory.plies[ply + 1, _OTHER_LIMIT] = min(own_limit, second + second // 4 + 1)
        visited += 1
        if _enter(memory, ply + 1, 3 - mover, prover, defender, target):
            ply += 1
    slot = _slot(memory, memory.path[0])
    own, other = memory.table[slot, _OWN], memory.table[slot, _OTHER]
    if (own if color == prover else other) == 0:
        return memory.table[slot, _LENGTH]
    return REFUTED if (other if color == prover else own) == 0 else GAVE_UP


@kernel
def life_line(memory: LifeMemory, color: int, out: NDArray[np.int16]) -> int:
    """Write the longest line of a proof that `prove_life` found, and return its length. out: [MOST_MOVES]."""
    board = memory.boards[1]
    copy_board(memory.boards[0], board)
    length = 0
    while True:
        slot = _slot(memory, _key(board, color))
        move = memory.table[slot, _MOVE]
        if memory.table_keys[slot] == 0 or move == NO_POINT or length == MOST_MOVES:
            return length
        out[length] = move
        length += 1
        if move == PASS:
            board[HEADER, KO_POINT] = NO_POINT
        else:
            place(board, move, color)
        color = 3 - color
