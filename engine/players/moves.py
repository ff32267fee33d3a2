"""Finds safe moves, chains and eyes, without search."""

from collections.abc import Collection

import numpy as np

from engine.board.kernels import hash_after, is_suicide, position_hash
from engine.board.layout import COLOR, HEAD
from engine.board.tactics import is_eye
from engine.color import BLACK, EMPTY, WHITE
from engine.game import Game
from engine.vertex import neighbors, points


def safe_vertices(game: Game, color: int) -> list[int]:
    """Return the points that are legal here and under the strictest rules of any server.

    A move that only the rules in force allow (suicide, or a repeated position under simple ko) may lose a game or a
    connection elsewhere, so the engine never chooses one.
    """
    seen: set[int] | None = None
    safe = []
    for vertex in game.legal_vertices(color):
        if is_suicide(game.board, vertex, color):
            continue
        if game.ever_occupied[vertex]:
            # Hashes of all earlier boards are computed only if a move could repeat one.
            if seen is None:
                seen = {int(position_hash(board)) for board in game.recent_boards(game.move_number + 1)}
            if int(hash_after(game.board, vertex, color)) in seen:
                continue
        safe.append(vertex)
    return safe


def moves_made(game: Game) -> int:
    """Return the least number of moves that lead here; setup stones count as moves."""
    # Setup stones were never moves, but a board full of them is late in its game.
    stones = int(np.count_nonzero(game.board[COLOR] == BLACK) + np.count_nonzero(game.board[COLOR] == WHITE))
    return max(game.move_number, stones + game.captured(BLACK) + game.captured(WHITE))


def safe_liberties(game: Game, color: int, stones: Collection[int]) -> set[int]:
    """Return the safe moves of a color on the liberties of stones."""
    beside = {near for vertex in stones for near in neighbors(vertex, game.width)}
    return beside.intersection(safe_vertices(game, color))


def chains(game: Game) -> list[list[int]]:
    """Return every chain on the board as a list of vertices, in policy order of their first stones."""
    board = game.board
    found: dict[int, list[int]] = {}
    for vertex in points(game.width, game.height):
        if board[COLOR, vertex] != EMPTY:
            found.setdefault(int(board[HEAD, vertex]), []).append(vertex)
    return list(found.values())


def fills_eye(game: Game, color: int, vertex: int) -> bool:
    """True if a point is a one-point eye of `color`."""
    return bool(is_eye(game.board, vertex, color))
