"""Plays positions out to the end: light (uniformly random) and heavy (tactical) playouts, and their score.

The heavy playout answers the last move first, as MoGo's sequence-like simulations do (Gelly et al. 2006): capture the
stone that put itself in atari, save own chains in atari, answer 3x3 patterns, then play any sensible move. Neither
fills own one-point eyes.
"""

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import copy_board, is_legal, neighbor_offset, place, play, point_at
from engine.board.layout import COLOR, EMPTIES, EMPTY_COUNT, HEAD, HEADER, HEIGHT, LIBERTIES, STRIDE, WIDTH, Board
from engine.board.tactics import (
    PATTERNS,
    breathes_after,
    chain_size_after,
    counter_capture,
    is_eye,
    last_liberty,
    nakade_point,
    neighborhood,
)
from engine.color import BLACK, EMPTY, WALL, WHITE
from engine.native.jit import kernel
from engine.vertex import NO_POINT, PASS

CAPTURE, SAVE, PATTERN, SELF_ATARI, NAKADE = range(5)
"""Indices of PROBABILITIES, the probabilities in 1/256 with which a heavy playout considers each kind of move."""
PROBABILITIES = np.array([230, 230, 230, 20, 230], dtype=np.int64)
_MAX_MOVES_PER_POINT = 3
_BIG_SELF_ATARI = 6
"""A self-atari of this many stones or more is never played: it is too large to be a nakade."""


@kernel
def random_bits(rng: NDArray[np.uint64]) -> int:
    """Step a xorshift64* generator (Vigna 2014), state rng[0] != 0; return 31 random bits."""
    # Written out, because numba's own generator is one per thread: a playout must depend on its seed alone.
    x = rng[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    rng[0] = x
    # int() would leave it unsigned in the kernel, and unsigned times signed is a float there.
    return np.int64((x * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(33))  # type: ignore[return-value]


@kernel
def random_below(rng: NDArray[np.uint64], bound: int) -> int:
    """Return a random integer in [0, bound), by a multiplication instead of a slow division."""
    return (random_bits(rng) * bound) >> 31


@kernel
def seed_generator(rng: NDArray[np.uint64], seed: np.uint64) -> None:
    """Seed the generator by splitmix64, so that neighboring seeds give unrelated streams."""
    z = seed + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    rng[0] = (z ^ (z >> np.uint64(31))) | np.uint64(1)


@kernel
def _random_move(
    board: Board, color: int, rng: NDArray[np.uint64], refuses_self_atari: bool, probabilities: NDArray[np.int64]
) -> int:
    """Return a random legal move that does not fill an own eye, or PASS if there is none.

    refuses_self_atari: skip most moves that leave one liberty, so that sekis survive.
    """
    # A random start and a walk through the list of empty points takes one random number, however many are rejected. It
    # prefers points that follow rejected ones in the list.
    count = board[HEADER, EMPTY_COUNT]
    if count == 0:
        return PASS
    start = random_below(rng, count)
    for i in range(count):
        place_in_list = start + i
        if place_in_list >= count:
            place_in_list -= count
        point = board[EMPTIES, place_in_list]
        if not is_legal(board, point, color, False) or is_eye(board, point, color):
            continue
        if not refuses_self_atari or breathes_after(board, point, color):
            return point
        if chain_size_after(board, point, color) < _BIG_SELF_ATARI and (
            random_bits(rng) & 255 < probabilities[SELF_ATARI]
        ):
            return point
    return PASS


@kernel
def _answer_last_move(
    board: Board,
    color: int,
    last: int,
    rng: NDArray[np.uint64],
    probabilities: NDArray[np.int64],
    eye_space: NDArray[np.int16],
) -> int:
    """Return a tactical answer to the opponent's last stone, or NO_POINT."""
    stride = board[HEADER, STRIDE]
    if board[COLOR, last] != EMPTY:
        head = board[HEAD, last]
        if board[LIBERTIES, head] == 1 and random_bits(rng) & 255 < probabilities[CAPTURE]:
            point = last_liberty(board, head)
            if is_legal(board, point, color, False):
                return point
    for direction in range(4):
        neighbor = last + neighbor_offset(direction, stride)
        if board[COLOR, neighbor] != color or board[LIBERTIES, board[HEAD, neighbor]] != 1:
            continue
        if random_bits(rng) & 255 >= probabilities[SAVE]:
            continue
        capture = counter_capture(board, board[HEAD, neighbor])
        if capture != NO_POINT and is_legal(board, capture, color, False):
            return capture
        escape = last_liberty(board, board[HEAD, neighbor])
        if is_legal(board, escape, color, False) and breathes_after(board, escape, color):
            return escape
    if board[COLOR, last] != EMPTY and random_bits(rng) & 255 < probabilities[NAKADE]:
        point = nakade_point(board, last, eye_space)
        if point != NO_POINT and is_legal(board, point, color, False):
            return point
    if random_bits(rng) & 255 >= probabilities[PATTERN]:
        return NO_POINT
    chosen, matches = NO_POINT, 0
    for place_around in range(9):
        point = last + (place_around // 3 - 1) * stride + place_around % 3 - 1
        if board[COLOR, point] != EMPTY or not PATTERNS[neighborhood(board, point)]:
            continue
        if is_legal(board, point, color, False) and breathes_after(board, point, color):
            matches += 1
            # Reservoir sampling: each of the matches is chosen with equal probability, without a list of them.
            if random_below(rng, matches) == 0:
                chosen = point
    return chosen


@kernel
def count_area(board: Board) -> int:
    """Return black minus white points of a played-out board: stones, and empty points next to one color only."""
    stride, width, height = board[HEADER, STRIDE], board[HEADER, WIDTH], board[HEADER, HEIGHT]
    balance = 0
    for row in range(height):
        for column in range(width):
            point = point_at(row, column, width)
            balance += owner_sign(board, point, stride)
    return balance


@kernel
def owner_sign(board: Board, point: int, stride: int) -> int:
    """Return the owner of a point of a played-out board: 1 for Black, -1 for White, 0 for neither."""
    color = board[COLOR, point]
    if color == EMPTY:
        seen = 0
        for direction in range(4):
            neighbor_color = board[COLOR, point + neighbor_offset(direction, stride)]
            if neighbor_color != WALL:
                seen |= 1 << neighbor_color
        if seen == 1 << BLACK:
            return 1
        return -1 if seen == 1 << WHITE else 0
    return 1 if color == BLACK else -1


@kernel
def light_rollout(board: Board, color: int, rng: NDArray[np.uint64]) -> int:
    """Play uniformly random moves to the end and return black minus white points. Changes the board."""
    passes = 0
    # Playouts check no superko, so a cycle is possible; the limit ends it.
    limit = _MAX_MOVES_PER_POINT * board[HEADER, WIDTH] * board[HEADER, HEIGHT]
    for _ in range(limit):
        point = _random_move(board, color, rng, False, PROBABILITIES)
        if point == PASS:
            passes += 1
            if passes == 2:
                break
            play(board, PASS, color, False)
        else:
            passes = 0
            place(board, point, color)
        color = 3 - color
    return count_area(board)


@kernel
def heavy_rollout(
    board: Board,
    color: int,
    last: int,
    rng: NDArray[np.uint64],
    probabilities: NDArray[np.int64],
    eye_space: NDArray[np.int16],
    first_play: NDArray[np.int8],
) -> int:
    """Play tactical moves to the end; return the number of black minus white moves. Changes the board.

    last: the vertex just played, PASS, or NO_POINT. eye_space: [NAKADE_POINTS] int16 working memory.
    first_play: [n] int8, receives for each point the color that first plays there, or EMPTY.
    """
    passes, balance = 0, 0
    first_play[:] = EMPTY
    limit = _MAX_MOVES_PER_POINT * board[HEADER, WIDTH] * board[HEADER, HEIGHT]
    for _ in range(limit):
        point = NO_POINT
        if last > PASS:
            point = _answer_last_move(board, color, last, rng, probabilities, eye_space)
        if point == NO_POINT:
            point = _random_move(board, color, rng, True, probabilities)
        if point == PASS:
            passes += 1
            if passes == 2:
                break
            play(board, PASS, color, False)
        else:
            passes = 0
            place(board, point, color)
            balance += 1 if color == BLACK else -1
            if first_play[point] == EMPTY:
                first_play[point] = color
        last = point
        color = 3 - color
    return balance


@kernel
def run_light_rollouts(board: Board, color: int, count: int, rng: NDArray[np.uint64], work: Board) -> int:
    """Play `count` light playouts from one position; return the sum of their black minus white points.

    rng: seeded. work: a board of the same size for the playouts to change.
    """
    total = 0
    for _ in range(count):
        copy_board(board, work)
        total += light_rollout(work, color, rng)
    return total
