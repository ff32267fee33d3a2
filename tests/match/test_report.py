"""The numbers of a match: results by color and rival, intervals, ratings, times, losses by reason."""

import json
from typing import Any

import pytest

from engine.match.clock import parse_clock
from engine.match.report import (
    Tally,
    game_text,
    is_informative,
    pairings,
    progress_text,
    ratings,
    repeated_games,
    standings,
    summary,
)
from engine.match.settings import Entrant, MatchSettings
from engine.match.store import GameRecord
from engine.support.elo import elo_difference, elo_from_score, wilson_interval

NAMES = {"A": "Anna", "B": "Ben", "C": "Cleo"}


def record(number: int, black: str, white: str, winner: str | None, reason: str = "passes", **more: Any) -> GameRecord:
    """Return a record with the given outcome."""
    values: dict[str, Any] = {
        "names": {label: NAMES[label] for label in (black, white)},
        "seconds": {"A": 2.0, "B": 4.0, "C": 6.0},
        "moves": {"A": 10, "B": 8, "C": 10},
        "digest": str(number),
    }
    return GameRecord(number, black, white, winner, "?", reason, **values | more)


def settings(*labels: str, **more: Any) -> MatchSettings:
    """Return settings of a match of these players."""
    return MatchSettings(tuple(Entrant(label, "command") for label in labels), **more)


TWO = [
    record(1, "A", "B", "A"),
    record(2, "B", "A", "A", "time"),
    record(3, "A", "B", "B", "resign"),
    record(4, "B", "A", None),
    record(5, "A", "B", "A", "crash", digest="1"),
]
THREE = [
    record(1, "A", "B", "A"),
    record(2, "C", "A", "A", "time"),
    record(3, "B", "C", "B"),
    record(4, "B", "A", "B"),
    record(5, "A", "C", "A"),
    record(6, "C", "B", None),
]


def test_results_are_counted_by_color_and_reason() -> None:
    found = standings(TWO, "AB")
    assert (found["A"].black, found["A"].white) == (Tally(2, 1, 0), Tally(1, 0, 1))
    assert (found["B"].black, found["B"].white) == (Tally(0, 1, 1), Tally(1, 2, 0))
    assert found["A"].losses_by_reason == {"resign": 1}
    assert found["B"].losses_by_reason == {"passes": 1, "time": 1, "crash": 1}
    assert (found["A"].seconds_a_move, found["B"].seconds_a_move) == (0.2, 0.5)


def test_a_score_has_its_wilson_interval_and_elo_difference() -> None:
    total = standings(TWO, "AB")["A"].total
    assert total.score == wilson_interval(3.5, 5)
    assert total.elo == elo_from_score(3, 1, 1)
    assert total.elo.value == pytest.approx(147.19, abs=0.01)


def test_results_are_counted_against_each_rival() -> None:
    found = standings(THREE, "ABC")
    assert found["A"].against == {"B": Tally(1, 1), "C": Tally(2, 0)}
    assert found["B"].against == {"A": Tally(1, 1), "C": Tally(1, 0, 1)}
    assert found["C"].against == {"A": Tally(0, 2), "B": Tally(0, 1, 1)}
    assert [tuple(each) for each in pairings(found)] == [("A", "B", 1, 1, 0), ("A", "C", 2, 0, 0), ("B", "C", 1, 0, 1)]
    assert found["C"].losses_by_reason == {"time": 1, "passes": 2}


def test_ratings_wait_until_everybody_is_connected() -> None:
    assert ratings(standings([], "ABC")) is None
    assert ratings(standings(THREE[:1], "ABC")) is None
    fitted = ratings(standings(THREE, "ABC"))
    assert fitted is not None
    assert list(fitted) == ["A", "B", "C"]
    assert fitted["A"].value > fitted["B"].value > fitted["C"].value
    assert all(each.low < each.value < each.high for each in fitted.values())
    assert sum(each.value for each in fitted.values()) == pytest.approx(0)


def test_two_players_ratings_lie_closer_than_their_score_says_by_the_prior() -> None:
    fitted = ratings(standings(TWO, "AB"))
    assert fitted is not None
    assert fitted["A"].value - fitted["B"].value == pytest.approx(elo_difference(4.5 / 7))


def test_games_with_equal_moves_and_players_are_counted_as_repeated() -> None:
    assert repeated_games(TWO) == 1
    assert repeated_games([record(1, "A", "B", "A", digest="x"), record(2, "B", "A", "A", digest="x")]) == 0
    assert repeated_games([record(1, "A", "B", "A", digest="x"), record(2, "A", "C", "A", digest="x")]) == 0


def test_times_are_gathered_over_games() -> None:
    games = [
        record(
            1, "A", "B", "A", longest={"A": 1.5, "B": 1}, least_left={"A": 4, "B": 0}, main_share={"A": 0.5, "B": 1}
        ),
        record(
            2, "B", "A", "A", longest={"A": 0.5, "B": 2}, least_left={"A": 6, "B": 3}, main_share={"A": 0.9, "B": 1}
        ),
    ]
    found = standings(games, "AB")
    assert (found["A"].longest, found["A"].least_left, found["A"].mean_main_share) == (1.5, 4, pytest.approx(0.7))
    assert (found["B"].longest, found["B"].least_left, found["B"].main_shares) == (2, 0, [1, 1])
    timed = summary(games, settings("A", "B", time=parse_clock("absolute:60")))["players"]["A"]
    assert (timed["seconds"], timed["longest_move"], timed["least_left"]) == (4, 1.5, 4)
    assert timed["main_share"] == {"mean": pytest.approx(0.7), "least": 0.5}
    untimed = standings(TWO, "AB")["A"]
    assert (untimed.least_left, untimed.mean_main_share) == (None, None)


def test_lines_name_players_and_score() -> None:
    two, three = settings("A", "B", games=9), settings("A", "B", "C", games=3)
    assert progress_text([], two) == "0/9 games"
    assert progress_text(TWO, two).startswith("5/9 games: Anna 3 wins 1 losses 1 draws, 70.0% [")
    assert progress_text(THREE, three) == "6/9 games: Anna 3/4, Ben 2.5/4, Cleo 0.5/4"
    lost = record(2, "B", "A", "A", "illegal", detail="move 3 black B2: occupied")
    assert game_text(lost) == "game 2: Ben (black) - Anna: ? by illegal: move 3 black B2: occupied"


def test_the_summary_is_json_without_infinities() -> None:
    numbers = summary(TWO[:2], settings("A", "B"))
    assert json.loads(json.dumps(numbers, allow_nan=False)) == numbers
    assert numbers["players"]["A"]["elo"][0] is None
    assert numbers["players"]["A"]["black"] == {"wins": 1, "losses": 0, "draws": 0}
    assert numbers["players"]["B"]["lost_on_time"] == 1


def test_the_summary_has_settings_pairings_and_ratings() -> None:
    numbers = summary(THREE, settings("A", "B", "C", time=parse_clock("fischer:10+1")))
    assert (numbers["games"], numbers["settings"]["time"]) == (6, "fischer:10+1")
    ac = numbers["pairings"][1]
    assert [ac[key] for key in ("first", "second", "wins", "losses", "draws")] == ["A", "C", 2, 0, 0]
    assert ac["score"] == list(wilson_interval(2, 2))
    assert numbers["ratings"].keys() == {"A", "B", "C"}
    assert summary([], settings("A", "B"))["ratings"] is None


SAME = [record(number, "A", "B", "A", digest="1") for number in (1, 2, 3)] + [record(4, "B", "A", "B", digest="2")]


def test_games_that_mostly_repeat_an_earlier_one_have_no_interval_and_no_elo() -> None:
    assert is_informative(TWO)
    assert is_informative(SAME[1:])
    more = [*SAME, record(5, "B", "A", "B", digest="2")]
    assert not is_informative(more)
    assert progress_text(more, settings("A", "B", games=5)).endswith("60.0% in 2 distinct games")
    numbers = summary(more, settings("A", "B"))
    assert numbers["players"]["A"]["score"] == [0.6, None, None]
    assert numbers["players"]["A"]["elo"] == numbers["pairings"][0]["elo"] == [None, None, None]
    assert numbers["ratings"] is None
    assert (numbers["games"], numbers["repeated_games"]) == (5, 3)


def test_two_players_of_one_name_are_told_apart() -> None:
    twins = {"A": "Keima", "B": "Keima"}
    games = [record(1, "A", "B", "A", names=twins), record(2, "B", "A", "A", names=twins)]
    assert [standing.name for standing in standings(games, "AB").values()] == ["A: Keima", "B: Keima"]
    assert game_text(games[1]) == "game 2: B: Keima (black) - A: Keima: ? by passes"
