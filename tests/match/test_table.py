"""The tables that a match prints."""

import io
from dataclasses import replace
from typing import Any

from rich.console import Console

from engine.match.clock import parse_clock
from engine.match.openings import Opening, OpeningBook
from engine.match.report import ratings, standings
from engine.match.table import tables
from tests.match.test_report import SAME, THREE, TWO, settings


def printed(records: list[Any], *labels: str, **more: Any) -> list[list[str]]:
    """Return the cells of all rows of a match's tables as printed, headings too."""
    stream = io.StringIO()
    for table in tables(records, settings(*labels, **more), "a title"):
        Console(file=stream, width=150).print(table)
    lines = stream.getvalue().replace("┃", "│").splitlines()
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if "│" in line]


def test_a_crosstable_has_the_strongest_first_and_everyones_results_against_everyone() -> None:
    fitted = ratings(standings(THREE, "ABC"))
    assert fitted is not None
    rows = printed(THREE, "A", "B", "C")
    assert rows[0] == ["", "engine", "Elo", "95 %", "1", "2", "3", "points", "score"]
    elo = [f"{fitted[label].value:+.0f}" for label in "ABC"]
    ranges = [f"{fitted[label].low:+.0f} to {fitted[label].high:+.0f}" for label in "ABC"]
    assert rows[1:4] == [
        ["1", "Anna", elo[0], ranges[0], "", "1-1-0", "2-0-0", "3/4", "75.0%"],
        ["2", "Ben", elo[1], ranges[1], "1-1-0", "", "1-0-1", "2.5/4", "62.5%"],
        ["3", "Cleo", elo[2], ranges[2], "0-2-0", "0-1-1", "", "0.5/4", "12.5%"],
    ]
    facts = {row[0]: row[1:] for row in rows[4:]}
    assert facts[""] == ["A: Anna", "B: Ben", "C: Cleo"]
    assert facts["total"] == ["3-1-0", "2-1-1", "0-3-1"]
    assert facts["lost on time"] == ["0", "0", "1"]
    assert "Elo difference" not in facts


def test_a_crosstable_of_players_who_have_not_met_goes_without_ratings() -> None:
    rows = printed(THREE[:1], "A", "B", "C")
    assert rows[1] == ["1", "Anna", "", "", "", "", "1-0-0", "1/1", "100.0%"]
    assert ["2", "C", "", "", "", "", "", "0/0", "50.0%"] in rows


def test_two_players_have_score_elo_and_losses_by_reason() -> None:
    facts = {row[0]: row[1:] for row in printed(TWO, "A", "B")}
    assert facts["score"] == ["70.0%", "30.0%"]
    assert facts["Elo difference"] == ["+147", "-147"]
    assert facts["resigned"] == ["1", "0"]
    assert facts["lost by crash"] == ["0", "1"]
    assert "least time left" not in facts


def test_a_clean_sweep_has_an_infinite_difference() -> None:
    facts = {row[0]: row[1:] for row in printed(TWO[:2], "A", "B")}
    assert facts["Elo difference"] == ["+inf", "-inf"]


def test_with_a_clock_there_are_rows_of_times_and_of_time_losses() -> None:
    clock = parse_clock("absolute:60")
    facts = {row[0]: row[1:] for row in printed(TWO[2:], "A", "B", time=clock)}
    assert facts["lost on time"] == ["0", "0"]
    assert facts["least time left"] == facts["main time used, mean"] == ["", ""]
    timed = [
        replace(TWO[0], least_left={"A": 4.0, "B": 0.5}, main_share={"A": share, "B": 1.0}) for share in (0.5, 0.75)
    ]
    facts = {row[0]: row[1:] for row in printed(timed, "A", "B", time=clock)}
    assert facts["least time left"] == ["4.00 s", "0.50 s"]
    assert facts["main time used, mean"] == ["62.5%", "100.0%"]
    assert facts["main time used, least"] == ["50.0%", "100.0%"]
    overtime = {row[0] for row in printed(timed, "A", "B", time=parse_clock("byoyomi:0+5x10"))}
    assert "least time left" in overtime
    assert "main time used, mean" not in overtime


def test_repeated_games_have_no_interval_but_a_caption_that_says_why() -> None:
    (table,) = tables([*SAME, replace(SAME[0], number=5)], settings("A", "B"), "a title")
    assert isinstance(table.caption, str)
    assert table.caption.startswith("only 2 distinct games of 5: no interval and no Elo can be given")
    facts = {row[0]: row[1:] for row in printed([*SAME, replace(SAME[0], number=5)], "A", "B")}
    assert facts["score"] == ["80.0%", "20.0%"]
    assert "Wilson 95 %" not in facts
    assert "Elo difference" not in facts


def test_games_that_end_soon_after_their_openings_have_a_caption_that_says_so() -> None:
    book = OpeningBook((Opening("one", ()),), None, 0, "digest")
    ends = [
        ({"A": 9, "B": 9}, "passes", True),
        ({"A": 10, "B": 9}, "passes", False),
        ({"A": 10, "B": 9}, "resign", True),
    ]
    for moves, reason, is_said in ends:
        games = [replace(each, moves=moves, reason=reason) for each in TWO[:4]]
        (table,) = tables(games, settings("A", "B", openings=book, games=4), "a title")
        assert str(table.caption).startswith("half of the games ended within 18 moves after their openings") == is_said
    (table,) = tables([replace(each, moves={"A": 2, "B": 2}) for each in TWO[:4]], settings("A", "B"), "a title")
    assert table.caption is None
