"""The table's numbers: results by color, intervals, time, losses by reason; and the command's streams."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from engine.match import cli_match
from engine.match.cli import time_limit
from engine.match.clock import TimeLimit
from engine.match.report import Tally, game_text, progress_text, repeated_games, standings, summary
from engine.match.settings import MatchError
from engine.match.store import GameRecord
from tests.match.players import fake


def record(number: int, black: str, winner: str | None, reason: str = "passes", **more: Any) -> GameRecord:
    """Return a record with the given outcome."""
    values = {"names": {"A": "Anna", "B": "Ben"}, "seconds": {"A": 2.0, "B": 4.0}, "moves": {"A": 10, "B": 8}}
    return GameRecord(number, black, winner, "?", reason, **values | {"digest": str(number)} | more)


GAMES = [
    record(1, "A", "A"),
    record(2, "B", "A", "time"),
    record(3, "A", "B", "resign"),
    record(4, "B", None),
    record(5, "A", "A", "crash", digest="1"),
]


def test_results_are_counted_by_color_and_reason() -> None:
    found = standings(GAMES)
    assert (found["A"].black, found["A"].white) == (Tally(2, 1, 0), Tally(1, 0, 1))
    assert (found["B"].black, found["B"].white) == (Tally(0, 1, 1), Tally(1, 2, 0))
    assert found["A"].losses_by_reason == {"resign": 1}
    assert found["B"].losses_by_reason == {"passes": 1, "time": 1, "crash": 1}
    assert (found["A"].seconds_a_move, found["B"].seconds_a_move) == (0.2, 0.5)
    assert found["A"].score.value == 0.7
    assert found["A"].elo.value == pytest.approx(147.19, abs=0.01)
    assert found["B"].elo.value == pytest.approx(-147.19, abs=0.01)


def test_games_with_equal_moves_are_counted_as_repeated() -> None:
    assert repeated_games(GAMES) == 1
    assert repeated_games([record(1, "A", "A", digest="x"), record(2, "B", "A", digest="x")]) == 0


def test_lines_name_players_and_score() -> None:
    assert progress_text([], 5) == "0/5 games"
    text = progress_text(GAMES, 9)
    assert text.startswith("5/9 games: Anna 3 wins 1 losses 1 draws, 70.0% [")
    lost = record(2, "B", "A", "illegal", detail="move 3 black B2: occupied")
    assert game_text(lost) == "game 2: Ben (black) - Anna: ? by illegal: move 3 black B2: occupied"


def test_the_summary_is_json_without_infinities() -> None:
    numbers = summary(GAMES[:2])
    assert json.loads(json.dumps(numbers, allow_nan=False)) == numbers
    assert numbers["players"]["A"]["elo"][0] is None
    assert numbers["players"]["A"]["black"] == {"wins": 1, "losses": 0, "draws": 0}


def test_the_command_shows_lines_on_stderr_and_the_table_on_stdout(tmp_path: Path) -> None:
    out, err = io.StringIO(), io.StringIO()
    status = cli_match(
        black=fake("C3", name="Anna"),
        white=fake("resign", name="Ben"),
        games=2,
        size=(7, 5),
        alternate=True,
        out=tmp_path,
        stdout=out,
        stderr=err,
    )
    assert status == 0
    shown = out.getvalue()
    for part in ("2 of 2 games, 7x5, komi 7.5", "A: Anna 1", "B: Ben 1", "2-0-0", "100.0%", "34.2% to 100.0%", "+inf"):
        assert part in shown
    assert [line.split()[0] for line in err.getvalue().splitlines()] == ["0/2", "game", "game"]
    assert json.loads((tmp_path / "summary.json").read_text())["games"] == 2


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"black": "/no/such/program"}, "does not start"),
        ({"rules": "nobody's"}, "unknown rules"),
        ({"size": 40}, "width: expected 2 to 25, got 40"),
        ({"seconds_per_move": 0}, "no time for a move"),
        ({"seconds_per_move": 1, "time": 60}, "exclude each other"),
    ],
)
def test_a_match_that_cannot_be_is_status_2_and_one_line(options: dict[str, Any], text: str) -> None:
    out, err = io.StringIO(), io.StringIO()
    values: dict[str, Any] = {"black": fake(), "white": fake(), "size": 5} | options
    assert cli_match(**values, stdout=out, stderr=err) == 2
    assert out.getvalue() == ""
    assert err.getvalue().splitlines()[-1].startswith("keima match: ")
    assert text in err.getvalue()


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        ((None, None, None, None), None),
        ((2.0, None, None, None), TimeLimit(0, 2, 1)),
        ((None, 60.0, None, None), TimeLimit(60)),
        ((None, 60.0, 10.0, None), TimeLimit(60, 10, 1)),
        ((None, None, 10.0, 5), TimeLimit(0, 10, 5)),
    ],
)
def test_time_options(options: tuple[float | None, float | None, float | None, int | None], limit: TimeLimit) -> None:
    assert time_limit(*options) == limit


def test_byo_stones_without_seconds_are_an_error() -> None:
    with pytest.raises(MatchError, match="both the seconds and the stones"):
        time_limit(None, 60.0, None, 5)
