"""The short run of the counts and of the random games; `make perft` is the long one."""

import pytest

from tests.perft.legal_positions import KNOWN, count_legal_positions
from tests.perft.random_games import run


@pytest.mark.parametrize(("width", "height"), [size for size, count in KNOWN.items() if count < 1_000_000])
def test_legal_positions_are_as_many_as_known(width: int, height: int) -> None:
    assert count_legal_positions(width, height) == KNOWN[width, height]


def test_random_games_go_alike_on_the_naive_board() -> None:
    *_, figures = run(4_000, seed=2, sizes=[(5, 5), (3, 3), (4, 3), (7, 7), (2, 5), (6, 5), (1, 6)])
    assert figures.positions >= 4_000
    assert min(figures.kos, figures.suicides, figures.superko_bans, figures.captures) > 20


def test_random_games_on_large_boards_go_alike_on_the_naive_board() -> None:
    *_, figures = run(800, seed=3, sizes=[(25, 3), (19, 19)])
    assert figures.positions >= 800
