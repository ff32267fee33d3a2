"""Computes KataGo's position hashes, which programs compare with their own (Ogatak does).

They are 128-bit Zobrist hashes over tables from a generator with a fixed seed: the sum of PCG32 and xorshift1024*, both
published, whose initial states are digests of the seed's text. Source: KataGo's `Board::initHash` and `Rand::init`.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import count

from engine.vertex import point_at

KO_POINT = 3
"""Marks a point in the rows of a position where ko forbids play; 0, 1 and 2 are empty, Black and White."""
_LONGEST_SIDE = 25
_WORD, _HALF = (1 << 64) - 1, (1 << 32) - 1
_STATES = 16
_SEED = "Board::initHash()"
_SEED_OF_SIZES = "Board::initHash() for ZOBRIST_SIZE hashes"


def position_hash(rows: Sequence[Sequence[int]], color: int) -> str:
    """Return 32 hexadecimal digits. rows: points from the top, as for KO_POINT. color: the side to move."""
    players, points = _tables()
    across, down = _size_tables()
    width = len(rows[0])
    bits = players[color] ^ across[width] ^ down[len(rows)]
    for row, line in enumerate(rows):
        for column, content in enumerate(line):
            # KataGo numbers the points of a board with a border as our vertices do.
            bits ^= points[point_at(row, column, width)][content]
    return f"{bits:032X}"


@cache
def _tables() -> tuple[list[int], list[tuple[int, int, int, int]]]:
    """Return the words for players, and for the content of each point of a board with a border."""
    word = _words(_SEED)
    players = [word() for _ in range(4)]
    for _ in range(3):  # words for game phases, which these hashes leave out
        word()
    points = []
    for _ in range((_LONGEST_SIDE + 1) * (_LONGEST_SIDE + 2) + 1):
        black, _, white, _ = (word() for _ in range(4))  # the other two are for ko marks
        points.append((0, black, white, word()))
    return players, points


@cache
def _size_tables() -> tuple[list[int], list[int]]:
    """Return the words for the width and the height of a board."""
    word = _words(_SEED_OF_SIZES)
    pairs = [(word(), word()) for _ in range(_LONGEST_SIDE + 1)]
    return [across for across, _ in pairs], [down for _, down in pairs]


def _words(seed: str) -> Callable[[], int]:
    """Return a function that returns the next 128 bits."""
    halves = _halves(seed)

    def word() -> int:
        return next(halves) | next(halves) << 32 | next(halves) << 64 | next(halves) << 96

    return word


def _halves(seed: str) -> Iterator[int]:
    """Yield numbers of 32 bits."""
    states = _start(seed)
    shifted = [next(states) for _ in range(_STATES)]
    congruent, at = next(states), 0
    while True:
        congruent = (congruent * 6364136223846793005 + 1442695040888963407) & _WORD
        mixed = (((congruent >> 18) ^ congruent) >> 27) & _HALF
        turn = congruent >> 59
        rotated = (mixed >> turn | mixed << (32 - turn)) & _HALF
        last = shifted[at]
        at = (at + 1) % _STATES
        new = shifted[at]
        new ^= (new << 31) & _WORD
        new ^= new >> 11
        shifted[at] = last ^ (last >> 30) ^ new
        yield (rotated + (((shifted[at] * 1181783497276652981) & _WORD) >> 32)) & _HALF


def _start(seed: str) -> Iterator[int]:
    """Yield the non-zero words from which the generators start."""
    first = int.from_bytes(hashlib.md5(seed.encode(), usedforsecurity=False).digest()[:4], "little")
    for number in count(0, 37):
        digest = hashlib.sha256(f"{number}|{first}|{seed}".encode()).digest()
        for begin in range(0, len(digest), 8):
            word = int.from_bytes(digest[begin : begin + 8], "big")
            if word:
                yield word
