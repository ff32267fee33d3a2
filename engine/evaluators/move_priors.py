"""Priors of moves from tactics and shape alone, for playing without a network.

A softmax over hand-set weights of simple features: capture, rescue, atari, self-atari, 3x3 pattern, distance from the
last moves, and lines near the edge of an empty corner.
"""

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import neighbor_offset, point_at, row_column
from engine.board.layout import COLOR, HEAD, HEADER, HEIGHT, LIBERTIES, STRIDE, WIDTH, Board
from engine.board.reflexes import attacks_two
from engine.board.tactics import (
    PATTERNS,
    breathes_after,
    captures,
    chain_size_after,
    counter_capture,
    is_eye,
    nakade_point,
    neighborhood,
    puts_in_atari,
    saves,
)
from engine.color import EMPTY
from engine.native.jit import kernel
from engine.vertex import NO_POINT, PASS

(
    CAPTURE,
    CAPTURE_PER_STONE,
    CAPTURE_SAVES,
    SAVE,
    SAVE_PER_STONE,
    ATARI,
    SELF_ATARI,
    SELF_ATARI_PER_STONE,
    OWN_EYE,
    PATTERN,
    PATTERN_NEAR,
    NEAR_LAST,
    NEAR_PREVIOUS,
    FIRST_LINE,
    SECOND_LINE,
    GOOD_LINE,
    PASS_MOVE,
    NAKADE,
    TWO_ATARIS,
) = range(19)
PRIOR_WEIGHTS = np.array(
    [1.6, 0.15, 1.6, 1.8, 0.15, 0.5, -1.6, -0.3, -6.0, 0.8, 0.5, 0.35, 0.15, -2.0, -0.8, 0.4, -4.0, 2.5, 0.7],
    dtype=np.float32,
)
"""Added to the logit of a move with the feature of that name; natural logarithms, set by hand."""
_MAX_STONES = 6
_FAR = 8


@kernel
def _distance(board: Board, a: int, b: int) -> int:
    """Return dx + dy + max(dx, dy), the measure that MoGo and its followers use for locality."""
    width = board[HEADER, WIDTH]
    row, column = row_column(a, width)
    other_row, other_column = row_column(b, width)
    dx, dy = abs(column - other_column), abs(row - other_row)
    return dx + dy + max(dx, dy)


@kernel
def _is_lonely(board: Board, point: int) -> bool:
    """True if the 5x5 neighborhood holds no stone."""
    width, height = board[HEADER, WIDTH], board[HEADER, HEIGHT]
    row, column = row_column(point, width)
    for r in range(max(0, row - 2), min(height, row + 3)):
        for c in range(max(0, column - 2), min(width, column + 3)):
            if board[COLOR, point_at(r, c, width)] != EMPTY:
                return False
    return True


@kernel
def _rescues_by_capture(board: Board, point: int, color: int) -> bool:
    """True if the move captures a chain next to an own chain in atari."""
    stride = board[HEADER, STRIDE]
    for direction in range(4):
        neighbor = point + neighbor_offset(direction, stride)
        if board[COLOR, neighbor] != 3 - color or board[LIBERTIES, board[HEAD, neighbor]] != 1:
            continue
        if counter_capture(board, board[HEAD, neighbor]) != NO_POINT:
            return True
    return False


@kernel
def move_logit(board: Board, point: int, color: int, last: int, previous: int, weights: NDArray[np.float32]) -> float:
    """Return the unnormalized log prior of a legal point: the sum of the weights of its features."""
    width, height = board[HEADER, WIDTH], board[HEADER, HEIGHT]
    logit = 0.0
    captured = captures(board, point, color)
    if captured > 0:
        logit += weights[CAPTURE] + weights[CAPTURE_PER_STONE] * min(captured, _MAX_STONES)
        if _rescues_by_capture(board, point, color):
            logit += weights[CAPTURE_SAVES]
    elif not breathes_after(board, point, color):
        size = chain_size_after(board, point, color)
        logit += weights[SELF_ATARI] + weights[SELF_ATARI_PER_STONE] * min(size, _MAX_STONES)
    else:
        saved = saves(board, point, color)
        if saved > 0:
            logit += weights[SAVE] + weights[SAVE_PER_STONE] * min(saved, _MAX_STONES)
        if puts_in_atari(board, point, color) > 0:
            logit += weights[ATARI]
            if attacks_two(board, point, color) > 0:
                logit += weights[TWO_ATARIS]
    if is_eye(board, point, color):
        logit += weights[OWN_EYE]
    has_pattern = PATTERNS[neighborhood(board, point)]
    if has_pattern:
        logit += weights[PATTERN]
    if last > PASS:
        distance = _distance(board, point, last)
        if distance < _FAR:
            logit += weights[NEAR_LAST] * (_FAR - distance)
        if has_pattern and distance <= 3:
            logit += weights[PATTERN_NEAR]
    if previous > PASS:
        logit += weights[NEAR_PREVIOUS] * max(0, _FAR - _distance(board, point, previous))
    row, column = row_column(point, width)
    line = 1 + min(min(row, height - 1 - row), min(column, width - 1 - column))
    if line <= 4 and min(width, height) >= 7 and _is_lonely(board, point):
        logit += weights[FIRST_LINE] if line == 1 else weights[SECOND_LINE] if line == 2 else weights[GOOD_LINE]
    return logit


@kernel
def write_priors(
    board: Board,
    color: int,
    last: int,
    previous: int,
    legal: NDArray[np.bool_],
    weights: NDArray[np.float32],
    eye_space: NDArray[np.int16],
    policy: NDArray[np.float32],
) -> None:
    """Write the prior of every move, 0 where illegal, sum 1.

    last, previous: the last two vertices played. eye_space: [NAKADE_POINTS] int16 working memory.
    legal, policy: [area + 1], pass last.
    """
    # The vital point of an eye space is found once for the board, not in `move_logit`, which is called for every point.
    width, height = board[HEADER, WIDTH], board[HEADER, HEIGHT]
    vital = nakade_point(board, last, eye_space) if last > PASS and board[COLOR, last] != EMPTY else NO_POINT
    index, vital_index, total = 0, 0, 0.0
    for row in range(height):
        for column in range(width):
            point = point_at(row, column, width)
            if point == vital:
                vital_index = index
            policy[index] = 0.0
            if legal[index]:
                policy[index] = np.exp(move_logit(board, point, color, last, previous, weights))
                total += policy[index]
            index += 1
    if vital != NO_POINT:
        gained = policy[vital_index] * (np.exp(weights[NAKADE]) - 1.0)
        policy[vital_index] += gained
        total += gained
    policy[index] = np.exp(weights[PASS_MOVE])
    if total == 0.0:
        policy[index] = 1.0
    total += policy[index]
    for i in range(index + 1):
        policy[i] /= total
