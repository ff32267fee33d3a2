"""The end of recorded games: parsing of results, and when Keima's own score is accepted."""

from itertools import islice

import numpy as np
import pytest

from engine.color import BLACK, EMPTY, WHITE
from engine.records.sgf import iterate_sgfl, load_sgf
from engine.rules import CHINESE, JAPANESE, Rules
from engine.train.data.final_scoring import Ending, FinalJudge, Recorded, is_settled, recorded_result
from engine.train.data.records import komi_of, rules_of
from engine.vertex import PASS, parse_vertex, policy_index
from tests.positions import DEAD_STONE, game_from_diagram
from tests.shared import require_shared


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("B+R", Recorded(Ending.RESIGNATION, BLACK)),
        ("w+resign", Recorded(Ending.RESIGNATION, WHITE)),
        ("W+3.5", Recorded(Ending.COUNT, WHITE, -3.5)),
        ("B+12", Recorded(Ending.COUNT, BLACK, 12.0)),
        ("B+0,5", Recorded(Ending.COUNT, BLACK, 0.5)),
        ("B+6½", Recorded(Ending.COUNT, BLACK, 6.5)),
        ("W+3 1/2", Recorded(Ending.COUNT, WHITE, -3.5)),
        ("B+1/2", Recorded(Ending.COUNT, BLACK, 0.5)),
        ("W+½", Recorded(Ending.COUNT, WHITE, -0.5)),
        ("B+6.5.", Recorded(Ending.COUNT, BLACK, 6.5)),
        ("W+3.5, by count", Recorded(Ending.COUNT, WHITE, -3.5)),
        ("W+1.5e3", Recorded(Ending.OTHER, WHITE)),
        ("B+6.5/x", Recorded(Ending.OTHER, BLACK)),
        ("B+6.5 Estimate", Recorded(Ending.COUNT, BLACK, 6.5)),
        ("W+1e3", Recorded(Ending.OTHER, WHITE)),
        ("W+11/2", Recorded(Ending.OTHER, WHITE)),
        ("B+0", Recorded(Ending.COUNT, EMPTY, 0.0)),
        ("0", Recorded(Ending.COUNT, EMPTY, 0.0)),
        ("Draw", Recorded(Ending.COUNT, EMPTY, 0.0)),
        ("W+T", Recorded(Ending.FORFEIT, WHITE)),
        ("B+Forfeit", Recorded(Ending.FORFEIT, BLACK)),
        ("B+", Recorded(Ending.OTHER, BLACK)),
        ("Void", Recorded(Ending.VOID)),
        ("?", Recorded(Ending.UNKNOWN)),
        ("", Recorded(Ending.UNKNOWN)),
        ("Both lost", Recorded(Ending.UNKNOWN)),
    ],
)
def test_what_a_result_says(text: str, expected: Recorded) -> None:
    assert recorded_result(text) == expected


@pytest.mark.parametrize(("rules", "margin"), [(CHINESE, 4 * 7 - 3 * 7 - 7.5), (JAPANESE, 9 + 2 - 6 - 7.5)])
def test_a_count_that_agrees_with_the_record_gives_owners_and_score(rules: Rules, margin: float) -> None:
    game = game_from_diagram(DEAD_STONE, rules=rules)
    recorded = Recorded(Ending.COUNT, BLACK if margin > 0 else WHITE, margin)
    result = FinalJudge().result(game, recorded)
    assert result is not None and result.ownership is not None
    assert (result.winner, result.score) == (recorded.winner, margin)
    owners = np.asarray(result.ownership).reshape(7, 7)
    assert np.all(owners[:, :4] == 1) and np.all(owners[:, 4:] == -1)
    assert owners.ravel()[policy_index(parse_vertex("B6", 7, 7), 7, 7)] == 1, "the dead white stone is Black's"


def test_a_count_that_does_not_agree_leaves_the_winner_only() -> None:
    game = game_from_diagram(DEAD_STONE, rules=CHINESE)
    result = FinalJudge().result(game, Recorded(Ending.COUNT, WHITE, -5.5))
    assert result is not None and (result.winner, result.score, result.ownership) == (WHITE, None, None)


@pytest.mark.parametrize("ending", [Ending.RESIGNATION, Ending.OTHER])
def test_a_game_that_was_not_counted_has_a_winner_only(ending: Ending) -> None:
    game = game_from_diagram(DEAD_STONE, rules=CHINESE)
    result = FinalJudge().result(game, Recorded(ending, BLACK))
    assert result is not None and (result.winner, result.score, result.ownership) == (BLACK, None, None)


def test_time_and_forfeit_say_nothing_about_the_board() -> None:
    assert FinalJudge().result(game_from_diagram(DEAD_STONE), Recorded(Ending.FORFEIT, BLACK)) is None


def test_a_settled_board_after_two_passes_needs_no_record() -> None:
    settled = game_from_diagram(DEAD_STONE.replace(". O X X O O .", ". . X X O O ."), rules=CHINESE)
    open_board = game_from_diagram(". . .\n. X .\n. . O", rules=CHINESE)
    for game in (settled, open_board):
        assert FinalJudge().result(game, Recorded(Ending.UNKNOWN)) is None, "it is not over"
        for color in (BLACK, WHITE):
            game.play(color, PASS)
    assert is_settled(settled) and not is_settled(open_board)
    result = FinalJudge().result(settled, Recorded(Ending.UNKNOWN))
    assert result is not None and (result.winner, result.score) == (WHITE, 28 - 21 - 7.5)
    assert FinalJudge().result(open_board, Recorded(Ending.UNKNOWN)) is None


def test_judging_twice_gives_the_same_owners() -> None:
    judge = FinalJudge(8)
    game = game_from_diagram(". X . O .\nX X . O O\n. . . . .\nX X . O .\n. X X O O", rules=CHINESE)
    first, second = (judge.ownership(game).copy() for _ in range(2))
    assert np.array_equal(first, second) and np.any(first != 0)


def test_most_counted_games_of_a_collection_are_trusted() -> None:
    judge, trusted, counted = FinalJudge(), 0, 0
    for text in islice(iterate_sgfl(require_shared("games/ogs9_10k_plus.sgfl.bz2")), 120):
        record = load_sgf(text)
        recorded = recorded_result(record.result)
        if recorded.margin is not None:
            rules = rules_of(record)
            result = judge.result(record.game(rules=rules, komi=komi_of(record, rules)), recorded)
            assert result is not None and result.winner == recorded.winner
            counted, trusted = counted + 1, trusted + (result.ownership is not None)
    assert counted > 30
    assert trusted / counted > 0.8
