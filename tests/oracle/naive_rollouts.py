"""Light rollouts and priors in plain Python: the oracle for `engine.evaluators.playout_kernels` and `uniform`.

The moves come from the kernels of `engine.board`, which have twins of their own.
"""

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import is_legal, play
from engine.board.layout import COLOR, EMPTIES, EMPTY_COUNT, HEADER, HEIGHT, WIDTH, Board
from engine.board.tactics import is_eye
from engine.color import BLACK, EMPTY, WHITE, opponent
from engine.vertex import PASS, points
from tests.oracle.naive_board import NaiveBoard
from tests.oracle.naive_random import Generator
from tests.oracle.naive_tactics import is_eye as is_naive_eye


def owner_sign(board: NaiveBoard, point: int) -> int:
    """Return 1 for Black's stone or a point that only such touch, -1 for White's, else 0."""
    color = board.colors[point]
    near = {color} if color != EMPTY else {board.colors[neighbor] for neighbor in board.neighbors[point]}
    return {frozenset({BLACK}): 1, frozenset({WHITE}): -1}.get(frozenset(near), 0)


def random_move(board: Board, color: int, generator: Generator) -> int:
    """Return the first sensible move of the list of empty points, read in a circle from a random place."""
    empties = [int(point) for point in board[EMPTIES, : board[HEADER, EMPTY_COUNT]]]
    if not empties:
        return PASS
    start = generator.random_below(len(empties))
    sensible = (
        point
        for point in empties[start:] + empties[:start]
        if is_legal(board, point, color, False) and not is_eye(board, point, color)
    )
    return next(sensible, PASS)


def light_rollout(board: Board, color: int, generator: Generator) -> int:
    """Play to two passes, or three moves for each point; return Black's points less White's. Changes the board."""
    width, height = int(board[HEADER, WIDTH]), int(board[HEADER, HEIGHT])
    passes = 0
    for _ in range(3 * width * height):
        move = random_move(board, color, generator)
        passes = passes + 1 if move == PASS else 0
        if passes == 2:
            break
        play(board, move, color, False)
        color = opponent(color)
    naive = NaiveBoard(width, height)
    for point in points(width, height):
        naive.colors[point] = int(board[COLOR, point])
    return sum(owner_sign(naive, point) for point in naive.points)


def run_light_rollouts(board: Board, color: int, count: int, generator: Generator) -> int:
    """Return the sum of rollouts from one position."""
    return sum(light_rollout(board.copy(), color, generator) for _ in range(count))


def uniform_policy(board: NaiveBoard, color: int, legal: NDArray[np.bool_]) -> list[float]:
    """Return equal probabilities of the legal points that are no own eyes, and 0.01 or what is left for a pass."""
    chosen = [bool(legal[i]) and not is_naive_eye(board, point, color) for i, point in enumerate(board.points)]
    passing = 0.01 if any(chosen) else 1.0
    return [*((1 - passing) / sum(chosen) if each else 0.0 for each in chosen), passing]
