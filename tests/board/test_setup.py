"""Boards built from colors against boards that were played on."""

import numpy as np
import pytest

from engine.board.kernels import position_hash
from engine.board.layout import COLOR, EMPTIES, EMPTY_COUNT, HEAD, HEADER, KO_POINT, LIBERTIES, SIZE
from engine.board.setup import build_board
from engine.vertex import points
from tests.positions import random_game


@pytest.mark.parametrize(("width", "height"), [(1, 1), (4, 3), (9, 9), (25, 25)])
def test_a_built_board_has_the_chains_hash_and_empty_points_of_the_played_one(width: int, height: int) -> None:
    for seed in range(10):
        board = random_game(seed, width, height, moves=12 * (seed + 1)).board
        built = np.full_like(board, 99)
        build_board(board, board[COLOR].astype(np.int8), int(board[HEADER, KO_POINT]), built)
        assert position_hash(built) == position_hash(board)
        assert built[HEADER, KO_POINT] == board[HEADER, KO_POINT]
        count = int(board[HEADER, EMPTY_COUNT])
        assert sorted(built[EMPTIES, :count]) == sorted(board[EMPTIES, :count])
        assert np.array_equal(built[COLOR], board[COLOR])
        for point in points(width, height):
            if 0 < board[COLOR, point] <= 2:
                head, other = board[HEAD, point], built[HEAD, point]
                assert _same_chain(board, built, point)
                assert (built[SIZE, other], built[LIBERTIES, other]) == (board[SIZE, head], board[LIBERTIES, head])


def _same_chain(board: np.ndarray, built: np.ndarray, point: int) -> bool:
    """Compare chains on stones only: what HEAD holds on empty points means nothing."""
    stones = (board[COLOR] == 1) | (board[COLOR] == 2)
    return np.array_equal(stones & (board[HEAD] == board[HEAD, point]), stones & (built[HEAD] == built[HEAD, point]))
