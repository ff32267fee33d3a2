"""The view of an analysis: found by what a program says of a decided position, and turned to the side to move."""

import numpy as np
import pytest

from engine.color import BLACK, WHITE
from engine.game import Game
from engine.programs.answers import AnalysisAnswer, Candidate
from engine.programs.views import View, for_mover, shown_view


@pytest.mark.parametrize(
    ("black_to_move", "white_to_move", "view"),
    [(0.99, 0.01, View.MOVER), (0.99, 0.98, View.BLACK), (0.0, 0.02, View.WHITE), (0.1, 0.9, None), (None, 0.9, None)],
)
def test_a_position_that_black_has_won_shows_the_view(
    black_to_move: float | None, white_to_move: float, view: View | None
) -> None:
    asked: list[Game] = []

    def winrate(game: Game) -> float | None:
        asked.append(game)
        return black_to_move if game.to_play == BLACK else white_to_move

    assert shown_view(winrate, Game(7, 5)) is view
    assert {(game.width, game.height, game.komi) for game in asked} == {(7, 5, -100.0)}
    assert [game.to_play for game in asked] == [BLACK, WHITE]


@pytest.mark.parametrize(
    ("view", "to_play", "turned"),
    [(View.MOVER, WHITE, False), (View.BLACK, BLACK, False), (View.BLACK, WHITE, True), (View.WHITE, BLACK, True)],
)
def test_figures_are_turned_to_the_side_to_move(view: View, to_play: int, turned: bool) -> None:
    first, unknown = Candidate(7, 3, 0.75, 2.5, (7,)), Candidate(8, 1)
    answer = AnalysisAnswer((first, unknown), 0.25, -1.5, np.array([0.5], dtype=np.float32), "A1")
    found = for_mover(answer, view, to_play)
    assert (found.winrate, found.score) == ((0.75, 1.5) if turned else (0.25, -1.5))
    assert found.candidates == ((Candidate(7, 3, 0.25, -2.5, (7,)) if turned else first), unknown)
    assert found.ownership is not None and found.ownership[0] == (-0.5 if turned else 0.5)
