"""The command: what its options mean, its two streams and its exit status."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import keima
from engine.apps.match.cli import cli_match
from engine.apps.match.options import MatchOptions
from engine.clock import TimeSettings
from engine.match.clock import parse_clock
from engine.match.errors import MatchError
from tests.match.players import fake
from tests.terminal import Terminal


def run(**options: Any) -> tuple[int, str, str]:
    """Return the exit status of a match and what it writes to stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    return cli_match(MatchOptions.of(**options), stdout=out, stderr=err), out.getvalue(), err.getvalue()


def test_the_command_shows_lines_on_stderr_and_the_table_on_stdout(tmp_path: Path) -> None:
    status, shown, progress = run(
        black=fake("C3", name="Anna"),
        white=fake("resign", name="Ben"),
        games=2,
        size=(7, 5),
        alternate=True,
        out=tmp_path,
    )
    assert status == 0
    for part in ("2 of 2 games, 7x5, komi 7.5", "A: Anna 1", "B: Ben 1", "2-0-0", "100.0%", "34.2% to 100.0%", "+inf"):
        assert part in shown
    assert [line.split()[0] for line in progress.splitlines()] == ["0/2", "game", "game"]
    assert json.loads((tmp_path / "summary.json").read_text())["games"] == 2


def test_names_are_shown_as_they_are_given() -> None:
    names = ["net [b6c96]", "[/b6] :cat:"]
    options = MatchOptions.of(engines=[f"{name}={fake('resign')}" for name in names], size=5)
    shown, bar = io.StringIO(), Terminal()
    assert cli_match(options, stdout=shown, stderr=bar) == 0
    assert all(name in shown.getvalue() for name in names)
    assert names[0] in bar.getvalue()


@pytest.mark.parametrize(
    ("out", "said"), [("file/match", "Not a directory"), ("match", "results.jsonl: line 1: not UTF-8 text")]
)
def test_a_folder_that_cannot_be_used_is_one_line(tmp_path: Path, out: str, said: str) -> None:
    (tmp_path / "file").touch()
    arguments = ["match", "--black", fake("resign"), "--white", fake(), "--size", "5", "--out", str(tmp_path / out)]
    if out == "match":
        assert CliRunner().invoke(keima.main, arguments).exit_code == 0
        (tmp_path / out / "results.jsonl").write_bytes(b"\xff\n")
    result = CliRunner().invoke(keima.main, arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert said in result.stderr.splitlines()[-1]


def test_engines_play_a_round_robin_under_their_given_names(tmp_path: Path) -> None:
    (tmp_path / "book.sgf").write_text("(;SZ[5];B[cc];W[bb])")
    clock = {"also": "kata-time_settings"}
    status, shown, _ = run(
        engines=[f"one={fake('C1', **clock)}", f"two={fake('resign', **clock)}", f"three={fake('C2', **clock)}"],
        games=2,
        size=5,
        openings=[tmp_path / "book.sgf"],
        clock="fischer:20+1",
        out=tmp_path / "out",
    )
    assert status == 0
    assert "6 of 6 games, 5x5, komi 7.5, tromp-taylor, fischer:20+1" in shown
    numbers = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert [each["first"] + each["second"] for each in numbers["pairings"]] == ["onetwo", "onethree", "twothree"]
    assert numbers["players"]["two"]["losses"] == 4
    assert numbers["ratings"]["two"][0] < 0
    assert numbers["players"]["one"]["lost_on_time"] == 0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"black": "/no/such/program"}, "does not start"),
        ({"rules": "nobody's"}, "unknown rules"),
        ({"size": 40}, "width: expected an integer from 2 to 25, got 40"),
        ({"seconds_per_move": 0}, "clock 'canadian:0+1/0': expected a period above 0 s"),
        ({"seconds_per_move": 1, "time": 60}, "exclude each other"),
        ({"clock": "absolute:60", "time": 60}, "exclude each other"),
        ({"clock": "absolute:60", "seconds_per_move": 1}, "exclude each other"),
        ({"clock": "fisher:60"}, "clock 'fisher:60': expected one of"),
        ({"stones": 5, "time": 60}, "--stones needs --byo"),
        ({"byo": 5, "stones": 0}, "clock 'canadian:0+0/5': expected 1 stone or more"),
        ({"opening_moves": 4}, "--opening-moves and --seed need --openings"),
        ({"seed": 4}, "--opening-moves and --seed need --openings"),
        ({"engines": ["a=b", "c=d"]}, "--engine and --black"),
        ({"white": None}, "expected --black and --white, or two or more --engine"),
        ({"black": None, "white": None, "engines": ["a=b", "c"]}, "--engine: expected NAME=COMMAND, got 'c'"),
        ({"black": None, "white": None, "engines": ["a=b", "=c"]}, "--engine: expected NAME=COMMAND, got '=c'"),
        ({"black": None, "white": None, "engines": ["a=b"]}, "engines: expected 2 or more, got 1"),
        ({"black": None, "white": None, "engines": ["a=b", "a=c"]}, "engines: expected different names"),
    ],
)
def test_a_match_that_cannot_be_is_status_2_and_one_line(options: dict[str, Any], text: str) -> None:
    status, shown, progress = run(**{"black": fake(), "white": fake(), "size": 5} | options)
    assert (status, shown) == (2, "")
    assert progress.splitlines()[-1].startswith("keima match: ")
    assert text in progress


@pytest.mark.parametrize(
    ("options", "clock"),
    [
        ({}, None),
        ({"clock": "byoyomi:60+5x10"}, "byoyomi:60+5x10"),
        ({"seconds_per_move": 2.0}, "canadian:0+1/2"),
        ({"time": 60.0}, "absolute:60"),
        ({"time": 60.0, "byo": 10.0}, "canadian:60+1/10"),
        ({"byo": 10.0, "stones": 5}, "canadian:0+5/10"),
    ],
)
def test_time_options(options: dict[str, Any], clock: str | None) -> None:
    settings: TimeSettings | None = MatchOptions.of(black="a", white="b", **options).settings().time
    assert settings == (None if clock is None else parse_clock(clock))


def test_colors_change_unless_they_are_fixed_which_engines_and_openings_refuse(tmp_path: Path) -> None:
    (tmp_path / "book.sgf").write_text("(;SZ[5];B[cc])")
    for given in ({"engines": ["a=b", "c=d"]}, {"black": "a", "white": "b", "games": 2, "openings": [tmp_path]}):
        with pytest.raises(MatchError, match="--fixed-colors is for --black and --white without --openings"):
            MatchOptions.of(**given, alternate=False).settings()
    assert MatchOptions.of(engines=["a=b", "c=d"]).settings().alternates
    assert MatchOptions.of(black="a", white="b").settings().alternates
    assert not MatchOptions.of(black="a", white="b", alternate=False).settings().alternates


def test_openings_need_an_even_number_of_games(tmp_path: Path) -> None:
    (tmp_path / "book.sgf").write_text("(;SZ[5];B[cc])")
    with pytest.raises(MatchError, match="games: expected an even number"):
        MatchOptions.of(black="a", white="b", games=3, size=5, openings=[tmp_path]).settings()
