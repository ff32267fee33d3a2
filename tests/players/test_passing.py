"""When a game should end: what is left to gain under each kind of rules, and what nobody gives away."""

from dataclasses import replace

import numpy as np
import pytest

from engine.board.layout import COLOR
from engine.color import BLACK, EMPTY, WHITE
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.players import Limits, SearchPlayer
from engine.players.judge import Judgement
from engine.players.passing import (
    agreed_dead,
    gains,
    is_early,
    is_late,
    is_settled,
    nothing_is_left,
    wins_as_it_stands,
)
from engine.rules import CHINESE, JAPANESE, TROMP_TAYLOR, Rules
from engine.scoring import final_score
from engine.search.params import SearchParams
from engine.vertex import PASS, format_vertex, parse_vertex, points
from tests.positions import DEAD_STONE, game_from_diagram
from tests.search.fakes import FakeEvaluator

DAME = """
. X . X O . O
X X X X O O .
. X . X O . O
X X X . O O O
. X . X O . O
X X X X O O .
. X . X O . O
"""
OPEN_BORDER = DAME.replace("X X X . O O O", "X X X . . O O")
OPEN_CENTER = """
. X . X O . O
X X X X O O .
. X . . . O O
X X . . . O O
. X . . . O O
X X X X O O .
. X . X O . O
"""


def owned_by_stones(game: Game, dead: tuple[str, ...] = (), unsure: tuple[str, ...] = ()) -> Judgement:
    """Return a sure judgement of a 7x7 board whose left side is Black's, up to column D, apart from points unsure."""
    ownership = np.array([1.0 if vertex % 8 <= 4 else -1.0 for vertex in points(7, 7)])
    for name in unsure:
        ownership[points(7, 7).index(parse_vertex(name, 7, 7))] = 0.1
    return Judgement(ownership, [parse_vertex(name, 7, 7) for name in dead])


@pytest.mark.parametrize(("rules", "counts"), [(CHINESE, True), (TROMP_TAYLOR, True), (JAPANESE, False)])
def test_dame_are_worth_a_safe_move_where_area_counts(rules: Rules, counts: bool) -> None:
    game = game_from_diagram(DAME, rules=rules, komi=0.5)
    judgement = owned_by_stones(game, unsure=("D4",))
    assert is_settled(game, judgement)
    for color in (BLACK, WHITE):
        found = [format_vertex(vertex, 7, 7) for vertex in gains(game, color, judgement)]
        assert found == (["D4"] if counts else [])
        assert nothing_is_left(game, color, judgement) != counts


@pytest.mark.parametrize("rules", [CHINESE, TROMP_TAYLOR, JAPANESE], ids=["chinese", "tromp-taylor", "japanese"])
@pytest.mark.parametrize(
    ("diagram", "unsure"), [(OPEN_BORDER, ("D4", "E4")), (OPEN_CENTER, ()), (OPEN_CENTER, ("D4",))]
)
def test_nobody_passes_while_a_border_is_open(rules: Rules, diagram: str, unsure: tuple[str, ...]) -> None:
    game = game_from_diagram(diagram, rules=rules, komi=0.5)
    judgement = owned_by_stones(game, unsure=unsure)
    assert not is_settled(game, judgement), "each stone is safe, but points between them may become territory"
    for color in (BLACK, WHITE):
        assert not nothing_is_left(game, color, judgement)


def test_the_inside_of_a_seki_is_no_open_border() -> None:
    game = game_from_diagram(OPEN_BORDER, rules=JAPANESE, komi=0.5)
    judgement = owned_by_stones(game, unsure=("D4", "E4"))
    in_seki = tuple(parse_vertex(name, 7, 7) for name in ("C4", "F4"))
    assert is_settled(game, replace(judgement, seki=in_seki))
    assert not is_settled(game, replace(judgement, seki=in_seki[:1]))


def test_a_dead_stone_is_taken_off_only_where_players_cannot_agree_on_it() -> None:
    for rules, wanted in [(CHINESE, set()), (JAPANESE, set()), (TROMP_TAYLOR, {"A6", "B5", "B7"})]:
        game = game_from_diagram(DEAD_STONE, rules=rules, komi=0.5)
        judgement = owned_by_stones(game, dead=("B6",))
        assert {format_vertex(vertex, 7, 7) for vertex in gains(game, BLACK, judgement)} == wanted
        assert nothing_is_left(game, BLACK, judgement) == (not wanted)
        assert gains(game, WHITE, judgement) == []
        assert bool(agreed_dead(game, judgement)) == (not wanted)


def test_an_undecided_point_keeps_the_game_open() -> None:
    game = game_from_diagram(DEAD_STONE, rules=CHINESE, komi=0.5)
    assert nothing_is_left(game, BLACK, owned_by_stones(game, dead=("B6",)))
    assert not nothing_is_left(game, BLACK, owned_by_stones(game, dead=("B6",), unsure=("A7",)))


def test_nobody_fills_the_shared_liberties_of_a_seki() -> None:
    game = game_from_diagram(". X O . O X .\nX X O . O X X\nX O O O O O X\nX X X X X X X\n. X . X . X .", rules=CHINESE)
    assert game.color_at(parse_vertex("D5", 7, 5)) == EMPTY
    judgement = Judgement(np.zeros(35), [])
    assert gains(game, BLACK, judgement) == []


def test_a_win_must_stand_however_dead_stones_are_counted() -> None:
    game = game_from_diagram(DEAD_STONE, rules=CHINESE, komi=0.5)
    judgement = owned_by_stones(game, dead=("B6",))
    counted = final_score(game)
    assert wins_as_it_stands(game, BLACK, judgement) == (counted > 0)
    game.set_komi(final_score(game, judgement.dead) + 0.5 - 1.0)
    assert final_score(game, judgement.dead) > 0 > final_score(game)
    assert not wins_as_it_stands(game, BLACK, judgement)


@pytest.mark.parametrize("rules", [CHINESE, TROMP_TAYLOR])
def test_the_last_dame_is_filled_before_a_pass(rules: Rules) -> None:
    class Hasty(FakeEvaluator):
        """Wants to pass, and finds all moves equally good."""

        def evaluate(self, positions, count, out):  # type: ignore[no-untyped-def]
            super().evaluate(positions, count, out)
            out.policy[:count] = 0.02 * positions.legal[:count]
            out.policy[:count, -1] = 0.9
            out.value[:count] = 0.5
            out.score[:count] = 1.0
            sign = np.where(positions.to_play[:count] == BLACK, 1.0, -1.0)[:, None]
            columns = np.tile(np.arange(7), 7)
            out.ownership[:count] = sign * np.where(columns <= 3, 1.0, -1.0)

    game = game_from_diagram(DAME, rules=rules, komi=0.5)
    thinker = SearchPlayer(Hasty(), SearchParams(resign_threshold=0.0))
    decision = thinker.genmove(game, BLACK, Limits(visits=60))
    thinker.close()
    assert format_vertex(decision.vertex, 7, 7) == "D4"


class EvenEvaluator(FakeEvaluator):
    """Sees every position as even, but for the points and the value that a stone at D4 has for its owner."""

    def __init__(self, worth: float, value: float = 0.0) -> None:
        super().__init__()
        self._worth = worth
        self._value = value

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the made-up evaluation."""
        super().evaluate(positions, count, out)
        for row in range(count):
            stone = int(positions.boards[row, COLOR, parse_vertex("D4", 7, 7)])
            sign = 0 if stone == EMPTY else 1 if stone == int(positions.to_play[row]) else -1
            out.value[row], out.score[row] = sign * self._value, sign * self._worth


def played(diagram: str, rules: Rules) -> Game:
    """Return the game of a 7x7 diagram as if its stones had been played, Black to move; it counts even."""
    set_up, game = game_from_diagram(diagram), Game(7, 7, rules=rules, komi=0.0)
    for color in (BLACK, WHITE):
        for vertex in points(7, 7):
            if set_up.color_at(vertex) == color:
                game.play(color, vertex)
    game.set_komi(final_score(game))
    return game


@pytest.mark.parametrize(
    ("rules", "worth", "value", "loss", "passes"),
    [
        (JAPANESE, 0.0, 0.0, 0.0, True),
        (JAPANESE, 2.0, 0.0, 0.0, False),
        (JAPANESE, 0.0, 0.2, 0.0, False),
        (JAPANESE, 0.0, 0.0, 1.0, False),
        (JAPANESE, 0.0, 0.0, 0.2, False),
        (CHINESE, 0.0, 0.0, 0.0, False),
    ],
    ids=["nothing to win", "points to win", "a chance to win", "points lost by counting", "a loss by counting", "area"],
)
def test_by_territory_rules_a_move_must_win_something(
    rules: Rules, worth: float, value: float, loss: float, passes: bool
) -> None:
    game = played(OPEN_BORDER, rules)
    assert final_score(game) == 0
    game.set_komi(game.komi + loss)
    thinker = SearchPlayer(EvenEvaluator(worth, value), SearchParams(resign_threshold=0))
    found = thinker.genmove(game, BLACK, Limits(visits=400))
    thinker.close()
    assert (found.vertex == PASS) == passes


def test_a_board_that_was_set_up_is_as_far_as_one_that_was_played() -> None:
    empty, full = Game(7), game_from_diagram(DAME)
    assert (is_early(empty), is_late(empty)) == (True, False)
    assert (is_early(full), is_late(full)) == (False, True)
