"""Ladders of a position: which chains they capture, by which move, and which distant stones break them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import add_stone
from engine.board.ladders import find_ladders, new_ladder_scratch
from engine.board.layout import Board, new_board
from engine.explain.stones import Stones
from engine.vertex import row_column

_MOST_LIBERTIES = 2
_NEAR = 3
"""Stones within this distance of a chain belong to its surroundings: they are part of the fight, not breakers."""


@dataclass(frozen=True)
class Ladder:
    """A chain of one or two liberties that a ladder captures, or would capture but for the breakers.

    works: the chain cannot escape: with one liberty even if its owner moves, with two if the attacker moves first.
    starts: the attacker's first moves, for a working ladder against a chain with two liberties. breakers: stones far
    from the chain without any one of which the ladder would work; only for ladders that do not work.
    """

    chain: tuple[int, ...]
    color: int
    liberties: int
    works: bool
    starts: tuple[int, ...] = ()
    breakers: tuple[int, ...] = ()


def ladders_of(position: Stones) -> list[Ladder]:
    """Return the ladders that work, and those that distant stones break."""
    laddered, working = _read(position.board)
    found = []
    for chain in position.chains():
        liberties = position.liberties(chain)
        if len(liberties) > _MOST_LIBERTIES:
            continue
        color = position.color(chain[0])
        if laddered[chain[0]]:
            starts = tuple(sorted(point for point in liberties if working[point] & color)) if len(liberties) > 1 else ()
            found.append(Ladder(chain, color, len(liberties), works=True, starts=starts))
        elif breakers := _breakers(position, chain):
            found.append(Ladder(chain, color, len(liberties), works=False, breakers=breakers))
    return found


def _read(board: Board) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return the marks of `find_ladders`: stones in ladders, and points where ladders start."""
    laddered, working = (np.zeros(board.shape[1], dtype=np.int8) for _ in range(2))
    find_ladders(board, new_ladder_scratch(board), np.empty_like(board), laddered, working)
    return laddered, working


def _breakers(position: Stones, chain: tuple[int, ...]) -> tuple[int, ...]:
    """Return the stones of the chain's color, far from it, without any one of which a ladder would capture it."""
    stones = position.stones()
    places, own = [row_column(vertex, position.width) for vertex in chain], position.color(chain[0])
    far = [
        vertex
        for vertex, color in stones
        if color == own and _distance(row_column(vertex, position.width), places) > _NEAR
    ]
    if not far or not _is_laddered_without(position, chain, stones, set(far)):
        return ()
    return tuple(vertex for vertex in far if _is_laddered_without(position, chain, stones, {vertex}))


def _is_laddered_without(
    position: Stones, chain: tuple[int, ...], stones: Sequence[tuple[int, int]], removed: set[int]
) -> bool:
    board = new_board(position.width, position.height)
    for vertex, color in stones:
        if vertex not in removed:
            add_stone(board, vertex, color)
    return bool(_read(board)[0][chain[0]])


def _distance(place: tuple[int, int], others: Sequence[tuple[int, int]]) -> int:
    """Return the number of lines between a place and the nearest of others, in the larger direction."""
    row, column = place
    return min(max(abs(row - r), abs(column - c)) for r, c in others)
