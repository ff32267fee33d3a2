"""What every player knows of a position without thinking: safe moves, chains, eyes."""

from collections.abc import Collection

import numpy as np

from engine.board.kernels import hash_after, is_suicide, position_hash
from engine.board.layout import COLOR, HEAD
from engine.board.tactics import is_eye
from engine.color import BLACK, EMPTY, WHITE
from engine.game import Game
from engine.vertex import neighbors, points


def safe_vertices(game: Game, color: int) -> list[int]:
    """Return the points that are legal here and under the strictest rules any server applies.

    A move that only the rules in force allow (suicide, or a repeated position under simple ko) can
    lose a game or a connection elsewhere, so the engine never plays one of its own accord.
    """
    seen: set[int] | None = None
    safe = []
    for vertex in game.legal_vertices(color):
        if is_suicide(game.board, vertex, color):
            continue
        if game.ever_occupied[vertex]:
            if seen is None:
                seen = {int(position_hash(board)) for board in game.recent_boards(game.move_number + 1)}
            if int(hash_after(game.board, vertex, color)) in seen:
                continue
        safe.append(vertex)
    return safe


def moves_made(game: Game) -> int:
    """Return how many moves it takes at least to come here: stones that were set up are moves that nobody saw."""
    stones = int(np.count_nonzero(game.board[COLOR] == BLACK) + np.count_nonzero(game.board[COLOR] == WHITE))
    return max(game.move_number, stones + game.captured(BLACK) + game.captured(WHITE))


def liberties_of(game: Game, color: int, stones: Collection[int]) -> set[int]:
    """Return the safe moves of a color beside stones."""
    beside = {near for vertex in stones for near in neighbors(vertex, game.width)}
    return beside.intersection(safe_vertices(game, color))


def chains(game: Game) -> list[list[int]]:
    """Return every chain on the board as its vertices, in policy order of their first stones."""
    board = game.board
    found: dict[int, list[int]] = {}
    for vertex in points(game.width, game.height):
        if board[COLOR, vertex] != EMPTY:
            found.setdefault(int(board[HEAD, vertex]), []).append(vertex)
    return list(found.values())


def fills_eye(game: Game, color: int, vertex: int) -> bool:
    """True if a point is a one-point eye of `color`."""
    return bool(is_eye(game.board, vertex, color))
