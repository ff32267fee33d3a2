"""Ranks that `keima review --rank estimate` finds: the line and its interval, and the moves and games that count."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from engine.apps.review.analyzer import Effort
from engine.apps.review.command import review
from engine.apps.review.judgement import Grade, JudgedMove, Phase, Position
from engine.apps.review.rank import (
    CALIBRATIONS,
    ESTIMATE,
    VISITS,
    Calibration,
    RankEstimate,
    estimate,
    figure,
    rank_name,
)
from engine.color import BLACK, WHITE
from engine.vertex import PASS
from tests.apps.review.test_review import run, write

LINE = CALIBRATIONS[9]


def move(lost: float, color: int = BLACK, vertex: int = 5, *, is_top: bool = False, winrate: float = 0.5) -> JudgedMove:
    before = Position(winrate, 0.0, (vertex,) if is_top else (vertex + 1,))
    after = Position(winrate, 0.0)
    return JudgedMove(1, color, vertex, before, after, 0.0, lost, Grade.FINE, Phase.OPENING)


def estimated(figures: list[float], line: Calibration = LINE) -> RankEstimate:
    return estimate("Anna", 9, [(each, 20) for each in figures], line)


def test_the_figure_is_the_logarithm_of_the_mean_winrate_lost() -> None:
    moves = [move(0.1)] * 5 + [move(0.03)] * 5 + [move(0.5, WHITE)] * 5
    assert figure(moves, BLACK) == (pytest.approx(math.log(0.065 + 0.005)), 10)


def test_passes_and_moves_of_decided_games_do_not_count_and_first_choices_and_gains_lose_nothing() -> None:
    moves = [move(0.1)] * 10 + [move(0.9, vertex=PASS), move(0.9, winrate=0.99), move(0.9, winrate=0.01)]
    assert figure(moves, BLACK) == (pytest.approx(math.log(0.105)), 10)
    assert figure([*moves, move(0.2, is_top=True), move(-0.3)], BLACK) == (pytest.approx(math.log(1 / 12 + 0.005)), 12)


def test_a_game_of_few_moves_has_no_figure() -> None:
    assert figure([move(0.1)] * 9, BLACK) is None


@pytest.mark.parametrize("rank", [-9, -3, 0, 1, 9])
def test_the_estimate_is_the_rank_at_which_the_line_has_the_mean_figure(rank: int) -> None:
    found = estimated([LINE.intercept + LINE.slope * rank + change for change in (-0.2, 0.2)])
    assert found.rank == pytest.approx(rank)
    assert found.texts[0] == rank_name(rank)
    assert found.low < rank < found.high


def test_more_games_narrow_the_interval_down_to_the_spread_among_players_of_one_rank() -> None:
    widths = [found.high - found.low for found in (estimated([-3.0] * count) for count in (1, 10, 100, 10_000))]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == pytest.approx(2 * 1.96 * LINE.between / -LINE.slope, rel=0.01)


def test_ranks_that_the_records_do_not_cover_are_not_claimed() -> None:
    strong = estimated([LINE.intercept + LINE.slope * 25] * 400)
    assert strong.texts == ("above 9d", "above 9d to above 9d")
    assert estimated([LINE.intercept - LINE.slope * 30] * 400).texts[0] == "below 10k"


@pytest.mark.parametrize(("number", "name"), [(1, "1d"), (9, "9d"), (0, "1k"), (-9, "10k")])
def test_ranks_are_numbers_without_a_gap(number: int, name: str) -> None:
    assert rank_name(number) == name


def record(moves: int, **changes: str) -> str:
    """Return a game of 9x9 whose players fill the board row by row, every second point."""
    points = [f"{column}{row}" for row in "acegibf" for column in "abcdefg"][:moves]
    played = "".join(f";{'BW'[number % 2]}[{point}]" for number, point in enumerate(points))
    properties = {"SZ": "9", "KM": "7", "RU": "Chinese", "PB": "Anna", "PW": "Bert"} | changes
    return "(;GM[1]" + "".join(f"{key}[{text}]" for key, text in properties.items()) + played + ")"


def test_a_name_in_capitals_is_the_same_player(tmp_path: Path) -> None:
    games = write(tmp_path / "games", one=record(40), two=record(42, PB="ANNA"), three=record(40, PB="anna"))
    assert run(tmp_path / "out", games, estimates=True)[0] == 0
    found = json.loads((tmp_path / "out" / "ranks.json").read_text(encoding="utf-8"))
    assert {each["player"].casefold(): each["games"] for each in found} == {"anna": 3, "bert": 3}


def test_the_command_prints_the_ranks_and_writes_what_they_rest_on(tmp_path: Path) -> None:
    games = write(tmp_path / "games", one=record(40), two=record(42), three=record(40, PB="Bert", PW="Carl"))
    status, stdout, _ = run(tmp_path / "out", games, estimates=True)
    assert status == 0
    found: list[dict[str, Any]] = json.loads((tmp_path / "out" / "ranks.json").read_text(encoding="utf-8"))
    assert (found[0]["player"], found[0]["games"], found[0]["size"]) == ("Bert", 3, 9)
    assert all(each["interval"][0] < each["number"] < each["interval"][1] for each in found)
    assert "1181 players, 10k to 9d, on OGS, 40 visits a position" in found[0]["rests_on"]
    assert "Estimated ranks" in stdout and "on OGS" in stdout.replace("\n", " ")


def test_ranks_of_games_that_were_reviewed_otherwise_than_the_calibrations_are_doubted(tmp_path: Path) -> None:
    games = write(tmp_path / "games", one=record(40))
    doubted = "the ranks rest on 40 visits a position by keima-t7c96, not 6 visits a position by fake"
    _, _, stderr = run(tmp_path / "out", games, estimates=True)
    assert doubted in stderr
    assert json.loads((tmp_path / "out" / "ranks.json").read_text(encoding="utf-8"))[0]["reviewed"] in doubted
    _, _, stderr = run(tmp_path / "like", games, estimates=True, effort=Effort(VISITS), name="keima-t7c96 bf16")
    assert "rest on" not in stderr


def test_a_review_that_is_there_is_estimated_with_its_own_visits(tmp_path: Path) -> None:
    games = write(tmp_path / "games", one=record(40))
    command = [str(games), "--out", str(tmp_path / "out"), "--net", "none", "--threads", "1"]
    begun = CliRunner().invoke(review, [*command, "--visits", "3"])
    assert begun.exit_code == 0, begun.output
    estimated = CliRunner().invoke(review, [*command, "--rank"])
    assert estimated.exit_code == 0, estimated.output
    assert "41 of 41 positions are analyzed already" in estimated.output
    assert "not 3 visits a position by" in estimated.output


def test_a_profile_or_other_parameters_of_the_search_are_another_condition(tmp_path: Path) -> None:
    games = write(tmp_path / "games", one=record(40))
    for number, (name, search) in enumerate((("my net bf16 rank_5k", {}), ("my net", {"c_puct": "2"}))):
        out, effort = tmp_path / str(number), Effort(VISITS)
        _, _, stderr = run(out, games, estimates=True, effort=effort, name=name, search=search)
        assert f"by my net with {name.partition('bf16 ')[2] or 'c_puct=2'}: they may" in stderr


def test_the_option_alone_asks_for_an_estimate(tmp_path: Path) -> None:
    for words, rank in (([], None), (["--rank"], ESTIMATE), (["--rank", "5k"], "5k")):
        asked = review.make_context("review", [str(tmp_path), "--out", str(tmp_path), *words])
        assert asked.params["rank"] == rank


@pytest.mark.parametrize("changes", [{"SZ": "7"}, {"HA": "2", "AB": "gg][cg"}, {"PB": "", "PW": " "}])
def test_games_without_a_calibration_or_names_or_with_handicap_give_no_estimate(
    tmp_path: Path, changes: dict[str, str]
) -> None:
    games = write(tmp_path / "games", one=record(30 if "PB" in changes else 12, **changes))
    status, stdout, _ = run(tmp_path / "out", games, estimates=True)
    assert status == 0
    assert json.loads((tmp_path / "out" / "ranks.json").read_text(encoding="utf-8")) == []
    assert "No named player" in stdout
