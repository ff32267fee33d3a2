"""Computes KataGo's position hashes, which programs compare with their own (Ogatak does).

They are 128-bit Zobrist hashes over tables from a generator with a fixed seed: the sum of PCG32 and xorshift1024*, both
published, whose initial states are digests of the seed's text. Source: KataGo's `Board::initHash` and `Rand::init`.
"""

import hashlib
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import count

import numpy as np
from numpy.typing import NDArray

from engine.vertex import point_at

KO_POINT = 3
"""Content of a point where ko forbids play; 0, 1 and 2 are empty, Black and White."""
_LONGEST_SIDE = 25
_WORD, _HALF = (1 << 64) - 1, (1 << 32) - 1
_STATES = 16
_SEED = "Board::initHash()"
_SEED_OF_SIZES = "Board::initHash() for ZOBRIST_SIZE hashes"


def position_hashes(contents: NDArray[np.intp], width: int, height: int, color: int) -> tuple[str, str]:
    """Return two hashes of 32 hexadecimal digits; the second is equal for all rotations and reflections of a position.

    contents: [area] in policy order, as for KO_POINT. color: the side to move.
    """
    words, sizes = _turned_tables(width, height)
    found = np.bitwise_xor.reduce(words[:, np.arange(width * height), contents], axis=1) ^ sizes
    side = _tables()[0][color]
    hashes = [(high << 64 | low) ^ side for high, low in found.tolist()]
    return f"{hashes[0]:032X}", f"{min(hashes):032X}"


@lru_cache(maxsize=8)
def _turned_tables(width: int, height: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the words of a board size by symmetry, each in two halves, the higher first.

    words: [8, area, 4, 2] of each content of each point, where the symmetry moves it. sizes: [8, 2] of the size.
    """
    (_, points), (across, down) = _tables(), _size_tables()
    words, sizes = np.zeros((8, width * height, 4, 2), dtype=np.uint64), np.zeros((8, 2), dtype=np.uint64)
    places = np.arange(width * height).reshape(height, width)
    for turn, turned in enumerate(np.rot90(each, turns) for each in (places, places[:, ::-1]) for turns in range(4)):
        rows, columns = turned.shape
        sizes[turn] = _halves_of(across[columns] ^ down[rows])
        for (row, column), place in np.ndenumerate(turned):
            # KataGo numbers the points of a board with a border as our vertices do.
            words[turn, place] = [_halves_of(word) for word in points[point_at(row, column, columns)]]
    return words, sizes


def _halves_of(word: int) -> tuple[int, int]:
    """Return the halves of a number of 128 bits, the higher first."""
    return word >> 64, word & _WORD


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
