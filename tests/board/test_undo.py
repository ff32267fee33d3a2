"""Moves played for reading do what real moves do, and taking them back leaves no trace."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.board.kernels import is_legal, place
from engine.board.layout import COLOR, HEAD, HEADER, KO_POINT, LIBERTIES, NEXT, SIZE, Board, new_board
from engine.board.undo import new_journal, take_back, try_stone
from engine.color import BLACK, WHITE
from engine.vertex import points

SIZES = [(2, 2), (3, 3), (4, 4), (5, 3), (2, 7), (1, 6), (7, 7)]


def legal_moves(board: Board, places: list[int]) -> list[tuple[int, int]]:
    """Return the moves of both colors, suicides of several stones included."""
    return [(point, color) for point in places for color in (BLACK, WHITE) if is_legal(board, point, color, True)]


def same_reading(board: Board, other: Board) -> bool:
    """True if boards agree on everything that reading asks for."""
    stones = (board[COLOR] == BLACK) | (board[COLOR] == WHITE)
    heads = stones & (board[HEAD] == np.arange(board.shape[1]))
    return (
        bool(np.array_equal(board[COLOR], other[COLOR]))
        and board[HEADER, KO_POINT] == other[HEADER, KO_POINT]
        and all(np.array_equal(board[row, stones], other[row, stones]) for row in (HEAD, NEXT))
        and all(np.array_equal(board[row, heads], other[row, heads]) for row in (LIBERTIES, SIZE))
    )


@settings(max_examples=60, deadline=None)
@given(size=st.sampled_from(SIZES), choices=st.lists(st.integers(0, 2**30), max_size=60), look_ahead=st.integers(0, 40))
def test_moves_taken_back_leave_the_board_as_it_was(size: tuple[int, int], choices: list[int], look_ahead: int) -> None:
    board, places = new_board(*size), points(*size)
    before = max(0, len(choices) - look_ahead)
    for choice in choices[:before]:
        if moves := legal_moves(board, places):
            place(board, *moves[choice % len(moves)])
    real = board.copy()
    journal = new_journal(board, look_ahead)
    snapshots, marks, used = [], [], 0
    for choice in choices[before:]:
        if moves := legal_moves(board, places):
            move = moves[choice % len(moves)]
            snapshots.append(board.copy())
            marks.append(used)
            place(real, *move)
            used = try_stone(board, *move, journal, used)
            assert same_reading(board, real)
    assert used <= len(journal)
    for snapshot, mark in zip(reversed(snapshots), reversed(marks), strict=True):
        used = take_back(board, journal, used)
        assert used == mark
        assert np.array_equal(board, snapshot)
