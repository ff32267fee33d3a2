"""What a move would do, by the kernels of `engine.board` against `tests.oracle.naive_board.NaiveBoard.outcomes`."""

import random

import pytest

from engine.board.kernels import is_suicide, play, position_hash, zobrist
from engine.board.layout import new_board
from engine.board.tactics import breathes_after
from engine.color import BLACK, EMPTY, WHITE
from tests.oracle.naive_board import NaiveBoard


@pytest.mark.parametrize("seed", range(6))
def test_suicide_breath_and_hash_are_those_of_the_naive_board(seed: int) -> None:
    chance, width, height = random.Random(seed), 3 + seed % 4, 4
    board, naive = new_board(width, height), NaiveBoard(width, height)
    for _ in range(60):
        for color in (BLACK, WHITE):
            for point, (after, captured, lost) in naive.outcomes(color).items():
                assert is_suicide(board, point, color) == (lost > 0)
                if not lost:
                    then = NaiveBoard(width, height)
                    then.colors = bytearray(after)
                    assert breathes_after(board, point, color) == (captured > 1 or len(then.chain(point)[1]) > 1)
        color = chance.choice((BLACK, WHITE))
        legal = [each for each, (_, _, lost) in naive.outcomes(color).items() if not lost and each != naive.ko_point]
        if not legal:
            break
        point = chance.choice(legal)
        play(board, point, color, False)
        naive.play(point, color)
        expected = 0
        for each in naive.points:
            if naive.colors[each] != EMPTY:
                expected ^= int(zobrist(each, naive.colors[each]))
        assert int(position_hash(board)) == expected
