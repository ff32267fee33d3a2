"""Keys of nodes: one for each position and its past, whatever the order of moves."""

import numpy as np
import pytest

from engine.board.layout import COLOR, EMPTY_COUNT, HEADER, KO_POINT, Board
from engine.color import BLACK, WHITE
from engine.game import Game
from engine.rules import TROMP_TAYLOR
from engine.search.walk import chain_after, node_key
from engine.vertex import NO_POINT, points

GAMES, MOVES, NUMBER = 30, 120, 60
NO_CHAIN = np.uint64(0)


def chain_of(board: Board, color: int, passes: int) -> np.uint64:
    """Return the chain of a board after the first capture or pass."""
    return np.uint64(chain_after(NO_CHAIN, board, color, passes))


@pytest.fixture(scope="module")
def captures() -> list[Board]:
    """Return different boards right after a capture, of random games on 9x9."""
    found: dict[bytes, Board] = {}
    for seed in range(GAMES):
        game, generator = Game(9, rules=TROMP_TAYLOR), np.random.default_rng(seed)
        for _ in range(MOVES):
            empties = int(game.board[HEADER, EMPTY_COUNT])
            vertices = generator.permutation(points(9, 9)).tolist()
            game.play(game.to_play, next(each for each in vertices if game.is_legal(game.to_play, each)))
            if game.board[HEADER, EMPTY_COUNT] >= empties:
                found.setdefault(game.board[COLOR].tobytes(), game.board.copy())
    return list(found.values())


@pytest.mark.parametrize(("color", "passes"), [(BLACK, 0), (WHITE, 0), (BLACK, 1), (WHITE, 2)])
def test_different_boards_after_a_capture_or_a_pass_have_different_keys(
    captures: list[Board], color: int, passes: int
) -> None:
    chains = [chain_of(board, color, passes) for board in captures]
    assert len(set(chains)) == len(captures) > 300
    for ko in (NO_POINT, *points(9, 9)):
        keys = set()
        for board, chain in zip(captures, chains, strict=True):
            board[HEADER, KO_POINT] = ko
            keys.add(node_key(board, 3 - color, chain, NUMBER))
        assert len(keys) == len(captures)


def test_a_key_tells_the_side_the_ko_the_past_and_the_number_of_moves(captures: list[Board]) -> None:
    board, keys = captures[0], set()
    for color, ko, number in ((c, k, n) for c in (BLACK, WHITE) for k in (NO_POINT, 11, 29) for n in (NUMBER, 61, 62)):
        board[HEADER, KO_POINT] = ko
        chains = (NO_CHAIN, *(chain_of(board, c, passes) for c in (BLACK, WHITE) for passes in range(3)))
        keys |= {node_key(board, color, chain, number) for chain in chains}
    assert len(keys) == 2 * 3 * 3 * 7
