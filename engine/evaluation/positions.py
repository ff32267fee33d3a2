"""Positions as a search writes them and encoders read them: one row of plain arrays each."""

import struct

import numpy as np
from numpy.typing import NDArray

from engine.board.facts import FACTS, PHASE
from engine.board.layout import HEADER_LENGTH, ROWS
from engine.native.jit import kernel
from engine.rules import Rules
from engine.vertex import NO_POINT, array_length

HISTORY = 8
"""Boards and moves that a position carries: now and up to seven moves ago."""
METADATA = 192
"""Inputs of human networks that say who plays."""
_MIX = np.uint64(0x9E3779B97F4A7C15)


class PositionBatch:
    """Positions of one board size, one row each, as a search kernel writes them.

    boards: [B, ROWS, n] int16, see `engine.board.layout`; no ko point where the side to move is not the
        one whose turn it is.
    colors: [B, HISTORY, n] int8, colors of every vertex now and 1..7 moves ago; before the first
        move the oldest known board repeats.
    board_hashes: [B, HISTORY] uint64, the hashes of these stones.
    moves: [B, HISTORY] int16, the last moves, most recent first; NO_POINT where there was none.
    to_play: [B] int8.
    legal: [B, area + 1] bool, in policy order; superko applied; pass last and always True.
    facts: [B, FACTS] int16, see `engine.board.facts`.
    marks: [B, n] int8, bits MARKED and BANNED of `engine.board.facts`.
    second_start: [B, n] int8, colors at the start of the second clean-up phase, EMPTY before it.
    hashes: [B] uint64, equal only for positions that every evaluator must evaluate equally under the
        same rules, bonus and the settings below.
    seeds: [B] uint64, for evaluators that draw random numbers.
    white_bonus: [B] float32, points that an area count must give White: komi, handicap bonus and, under
        territory rules, black moves less white moves.
    optimism: [B] float32, 0..1, weight of the optimistic policy of networks that have one.
    symmetry: [B] int8, 0..7, how a network is to see the board (KataGo's numbering). Inputs are always
        encoded unturned.
    playout_doubling: Black's advantage as the logarithm, to base 2, of playouts against White's; for
        networks trained with handicaps of that kind.
    metadata: [2, METADATA] float32 inputs of human networks, row 0 when Black is to move, or None.
    """

    def __init__(self, capacity: int, width: int, height: int) -> None:
        n = max(array_length(width, height), HEADER_LENGTH)
        area = width * height
        self.width, self.height, self.capacity = width, height, capacity
        self.boards = np.zeros((capacity, ROWS, n), dtype=np.int16)
        self.colors = np.zeros((capacity, HISTORY, n), dtype=np.int8)
        self.board_hashes = np.zeros((capacity, HISTORY), dtype=np.uint64)
        self.moves = np.full((capacity, HISTORY), NO_POINT, dtype=np.int16)
        self.to_play = np.zeros(capacity, dtype=np.int8)
        self.legal = np.zeros((capacity, area + 1), dtype=np.bool_)
        self.facts = np.zeros((capacity, FACTS), dtype=np.int16)
        self.marks = np.zeros((capacity, n), dtype=np.int8)
        self.second_start = np.zeros((capacity, n), dtype=np.int8)
        self.hashes = np.zeros(capacity, dtype=np.uint64)
        self.seeds = np.zeros(capacity, dtype=np.uint64)
        self.white_bonus = np.zeros(capacity, dtype=np.float32)
        self.optimism = np.zeros(capacity, dtype=np.float32)
        self.symmetry = np.zeros(capacity, dtype=np.int8)
        self.playout_doubling = 0.0
        self.metadata: NDArray[np.float32] | None = None
        self.rules = Rules()

    def common_values(self) -> tuple[Rules, bytes, bytes]:
        """Return the values that all rows share, in a form that can be compared and hashed."""
        metadata = b"" if self.metadata is None else self.metadata.tobytes()
        # As bytes, because Python hashes -1.0 and -2.0 alike: one doubling had the other's evaluations. Plus 0.0, which
        # makes 0.0 of White's -0.0: with it, each position of a review had a program and cached evaluations of its own.
        return self.rules, struct.pack("<d", self.playout_doubling + 0.0), metadata

    def repeat_first(self, count: int) -> None:
        """Write the position of row 0 into rows 1..count-1."""
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray) and name != "metadata":
                value[1:count] = value[0]


@kernel
def row_hash(
    board_hashes: NDArray[np.uint64],
    moves: NDArray[np.int16],
    legal: NDArray[np.bool_],
    facts: NDArray[np.int16],
    marks: NDArray[np.int8],
    second_start: NDArray[np.int8],
    to_play: int,
) -> np.uint64:
    """Return the hash of one row of a `PositionBatch`: of everything except seeds, bonus and settings."""
    # Mixed part by part, each by a multiplication: sums and exclusive ors of hashes of related parts can cancel out.
    key = np.uint64(to_play)
    for age in range(HISTORY):
        key = (key ^ board_hashes[age]) * _MIX
        key = (key ^ np.uint64(moves[age] + 2)) * _MIX
        key ^= key >> np.uint64(29)
    for column in range(FACTS):
        key = (key ^ np.uint64(facts[column] + 2)) * _MIX
    key ^= key >> np.uint64(29)
    for index in range(legal.shape[0]):
        if legal[index]:
            key = (key ^ np.uint64(index)) * _MIX
    for point in range(marks.shape[0]):
        if marks[point] != 0:
            key = (key ^ np.uint64(4 * point + marks[point])) * _MIX
    if facts[PHASE] == 2:
        for point in range(marks.shape[0]):
            key = (key ^ np.uint64(second_start[point] + 1)) * _MIX
    return (key ^ (key >> np.uint64(32))) * _MIX
