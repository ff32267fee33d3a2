"""The kernels of the board, one by one, against their slow twins in `tests.oracle` on random positions."""

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from engine.board import kernels, reflexes, tactics
from engine.board.layout import (
    CAPTURED_BLACK,
    COLOR,
    EMPTIES,
    EMPTY_AT,
    EMPTY_COUNT,
    HEAD,
    HEADER,
    KO_POINT,
    LIBERTIES,
    NEXT,
    SIZE,
    STRIDE,
    TO_PLAY,
    Board,
    new_board,
)
from engine.board.undo import new_journal, take_back, try_stone
from engine.color import BLACK, EMPTY, WHITE, opponent
from engine.vertex import NO_POINT, PASS, array_length
from tests.board.positions import diagram_of, random_position
from tests.oracle import naive_tactics
from tests.oracle.naive_board import NaiveBoard, NaiveGame

SIZES = [(3, 3), (4, 4), (5, 4), (4, 6), (2, 7), (1, 6)]


def positions(count: int, seed: int = 1) -> Iterator[tuple[Board, NaiveBoard]]:
    """Yield random positions, each as the kernels' board and as the naive one."""
    generator = random.Random(seed)
    for number in range(count):
        naive = random_position(generator, *SIZES[number % len(SIZES)])
        yield diagram_of(naive).board(), naive


def legal_moves(naive: NaiveBoard) -> list[tuple[int, int]]:
    """Return the moves of either color but the ko point, suicides of several stones included."""
    return [
        (point, color)
        for color in (BLACK, WHITE)
        for point, (_, _, lost) in naive.outcomes(color).items()
        if lost != 1 and point != naive.ko_point
    ]


def assert_same_stones(board: Board, naive: NaiveBoard) -> None:
    """Assert that colors, chains, liberties and the ko point are the naive board's."""
    assert {point: board[COLOR, point] for point in naive.points} == {p: naive.colors[p] for p in naive.points}
    assert board[HEADER, KO_POINT] == naive.ko_point
    for _, stones, liberties in naive.chains():
        (head,) = {int(board[HEAD, stone]) for stone in stones}
        assert head in stones and {int(board[NEXT, stone]) for stone in stones} == stones
        assert (board[SIZE, head], board[LIBERTIES, head]) == (len(stones), len(liberties))


def assert_same(board: Board, naive: NaiveBoard) -> None:
    """Assert that the whole position is the naive board's: also the empty points and the hash."""
    assert_same_stones(board, naive)
    empties = [int(point) for point in board[EMPTIES, : board[HEADER, EMPTY_COUNT]]]
    assert sorted(empties) == [point for point in naive.points if naive.colors[point] == EMPTY]
    assert [board[EMPTY_AT, point] for point in empties] == list(range(len(empties)))
    assert kernels.position_hash(board) == naive_tactics.position_hash(naive)


@pytest.mark.parametrize(
    ("kernel", "twin"),
    [
        (tactics.is_eye, naive_tactics.is_eye),
        (tactics.breathes_after, naive_tactics.breathes_after),
        (tactics.chain_size_after, naive_tactics.chain_size_after),
        (tactics.captures, naive_tactics.captures),
        (tactics.puts_in_atari, naive_tactics.puts_in_atari),
        (tactics.saves, naive_tactics.saves),
        (reflexes.takes, naive_tactics.takes),
        (reflexes.rescues, naive_tactics.rescues),
        (reflexes.attacks_two, naive_tactics.attacks_two),
        (reflexes.reflex_at, naive_tactics.reflex_at),
        (kernels.hash_after, naive_tactics.hash_after),
    ],
    ids=lambda function: function.__name__,
)
def test_what_a_move_does(kernel: Callable[..., Any], twin: Callable[..., Any]) -> None:
    found = []
    for board, naive in positions(200):
        for point, color in legal_moves(naive):
            found.append(kernel(board, point, color))
            assert found[-1] == twin(naive, point, color), (bytes(naive.colors), point, color)
    assert len(set(found)) > 1


def test_is_suicide_and_is_legal() -> None:
    for board, naive in positions(200):
        game = NaiveGame(naive.width, naive.height)
        game.board = naive
        for color in (BLACK, WHITE):
            for point, (_, _, lost) in naive.outcomes(color).items():
                assert kernels.is_suicide(board, point, color) == (lost > 0)
            for suicide in (False, True):
                game.to_play, game.positions = color, set()
                legal = {p for p in naive.points if kernels.is_legal(board, p, color, suicide)}
                assert legal == game.legal_points(suicide=suicide)


def test_put_stone_place_and_play() -> None:
    lost_chains = 0
    for board, naive in positions(120):
        for point, color in legal_moves(naive):
            after = copy.deepcopy(naive)
            captured, lost = after.play(point, color)
            put, placed, played, tried = (board.copy() for _ in range(4))
            kernels.put_stone(put, point, color, None, 0)
            assert kernels.place(placed, point, color) == len(captured)
            assert kernels.play(played, point, color, True) == len(captured)
            for each in (put, placed, played):
                assert_same(each, after)
                prisoners = each[HEADER, CAPTURED_BLACK : CAPTURED_BLACK + 2] - board[HEADER, CAPTURED_BLACK:][:2]
                assert prisoners[color - 1] == len(lost) and prisoners[opponent(color) - 1] == len(captured)
            assert placed[HEADER, TO_PLAY] == played[HEADER, TO_PLAY] == opponent(color)
            journal = new_journal(board, 1)
            used = try_stone(tried, point, color, journal, 0)
            assert_same_stones(tried, after)
            assert take_back(tried, journal, used) == 0
            assert_same(tried, naive)
            lost_chains += bool(lost)
    assert lost_chains > 0


def test_a_pass_ends_the_ko_and_an_illegal_move_changes_nothing() -> None:
    for board, naive in positions(20):
        before = board.copy()
        for point in naive.points:
            if naive.colors[point] != EMPTY:
                assert kernels.play(board, point, BLACK, True) == kernels.ILLEGAL
        assert np.array_equal(board, before)
        assert kernels.play(board, PASS, BLACK, True) == 0
        naive.ko_point = NO_POINT
        assert_same(board, naive)


def test_add_stone_and_remove_chain() -> None:
    for board, naive in positions(120):
        for point in naive.points:
            changed, after = board.copy(), copy.deepcopy(naive)
            if after.colors[point] == EMPTY:
                after.colors[point] = WHITE
                kernels.add_stone(changed, point, WHITE)
            else:
                stones, _ = after.chain(point)
                for stone in stones:
                    after.colors[stone] = EMPTY
                assert kernels.remove_chain(changed, int(board[HEAD, point])) == len(stones)
            assert_same(changed, after)


def test_copy_board_and_copy_row() -> None:
    for board, _ in positions(6):
        copied, row = np.zeros_like(board), np.zeros_like(board[COLOR])
        kernels.copy_board(board, copied)
        kernels.copy_row(board[COLOR], row)
        assert np.array_equal(copied, board) and np.array_equal(row, board[COLOR])


@pytest.mark.parametrize("width", [1, 2, 9, 19, 25])
def test_neighbor_offset(width: int) -> None:
    stride = int(new_board(width, 3)[HEADER, STRIDE])
    for direction in range(4):
        assert kernels.neighbor_offset(direction, stride) == naive_tactics.neighbor_offset(direction, width)


def test_zobrist() -> None:
    for point in range(array_length(25, 25)):
        for color in (BLACK, WHITE):
            assert kernels.zobrist(point, color) == naive_tactics.zobrist(point, color)


def test_neighborhood() -> None:
    for board, naive in positions(200):
        for point in naive.points:
            # Without numba the sixteen bits are a signed number.
            assert int(tactics.neighborhood(board, point)) % 2**16 == naive_tactics.neighborhood(naive, point)


def test_last_liberty_and_counter_capture() -> None:
    in_atari, countered = 0, 0
    for board, naive in positions(200):
        for _, stones, liberties in naive.chains():
            head = int(board[HEAD, min(stones)])
            answers = naive_tactics.counter_captures(naive, head)
            assert tactics.counter_capture(board, head) in (answers or {NO_POINT})
            countered += bool(answers)
            if len(liberties) == 1:
                assert tactics.last_liberty(board, head) == naive_tactics.last_liberty(naive, head)
                in_atari += 1
    assert in_atari > 20 and countered > 20


def test_nakade_point() -> None:
    memory, vital, generator = np.zeros(tactics.NAKADE_POINTS, dtype=np.int16), 0, random.Random(3)
    for number in range(600):
        # One color alone, in places: random games leave few eye spaces of three points and more.
        naive = NaiveBoard(*SIZES[number % len(SIZES)])
        for point in naive.points:
            naive.colors[point] = generator.choice((BLACK, BLACK, BLACK, EMPTY, EMPTY))
        if number % 5 == 0:
            naive.colors[generator.choice(naive.points)] = WHITE
        board = diagram_of(naive).board()
        for point in naive.points:
            if naive.colors[point] != EMPTY:
                found = tactics.nakade_point(board, point, memory)
                assert found == naive_tactics.nakade_point(naive, point)
                vital += found != NO_POINT
    assert vital > 100
