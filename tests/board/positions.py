"""Random positions on the naive board, for tests of what kernels see in a position."""

import random

from engine.color import BLACK, WHITE
from engine.records.diagram import Diagram
from tests.oracle.naive_board import NaiveBoard


def random_position(generator: random.Random, width: int, height: int) -> NaiveBoard:
    """Return a board after random moves, from a few to many times its area; no own small eye is filled."""
    board = NaiveBoard(width, height)
    color = BLACK
    for _ in range(generator.randrange(1, 3 * width * height)):
        moves = [
            point
            for point, (_, _, lost) in board.outcomes(color).items()
            if not lost and any(board.colors[neighbor] != color for neighbor in board.neighbors[point])
        ]
        if moves:
            board.play(generator.choice(moves), color)
        color = BLACK + WHITE - color
    return board


def diagram_of(board: NaiveBoard) -> Diagram:
    """Return a naive board as a diagram, its ko point included."""
    stones = {color: tuple(p for p in board.points if board.colors[p] == color) for color in (BLACK, WHITE)}
    return Diagram(board.width, board.height, stones[BLACK], stones[WHITE], ko_point=board.ko_point)
