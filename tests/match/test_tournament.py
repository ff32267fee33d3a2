"""A match plays its games, stores each whole, goes on where it was stopped, and stops cleanly."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.match import MatchError, MatchSettings, run_match
from engine.match.store import GameRecord
from engine.sgf import load_sgf
from tests.match.players import fake, fast

ROOT = Path(__file__).resolve().parents[2]
GNUGO = Path("/usr/games/gnugo")


def lines(directory: Path) -> list[dict[str, object]]:
    """Return the stored game lines."""
    return [json.loads(line) for line in (directory / "results.jsonl").read_text().splitlines()]


def test_colors_alternate_when_asked() -> None:
    result = run_match(fast(fake("resign"), fake("resign"), games=3, alternate=True))
    assert [(record.black, record.winner) for record in result.records] == [("A", "B"), ("B", "A"), ("A", "B")]
    fixed = run_match(fast(fake("resign"), fake("resign"), games=2))
    assert [record.black for record in fixed.records] == ["A", "A"]


def test_a_program_is_started_again_after_a_crash(tmp_path: Path) -> None:
    crashing = fake("!crash", once=tmp_path / "crashed")
    result = run_match(fast(crashing, fake(), games=3))
    assert [record.reason for record in result.records] == ["crash", "passes", "passes"]


def test_programs_stay_for_all_games_and_start_each_from_an_empty_board(tmp_path: Path) -> None:
    log = tmp_path / "log"
    result = run_match(fast(fake("C3", log=log), fake("C4"), games=3))
    assert [record.reason for record in result.records] == ["passes"] * 3
    told = log.read_text().split()
    assert (told.count("name"), told.count("clear_board"), told.count("quit")) == (1, 3, 1)


def test_every_finished_game_has_a_line_and_a_record(tmp_path: Path) -> None:
    result = run_match(fast(fake("C3"), fake("C4"), games=3, concurrency=2), tmp_path)
    stored = lines(tmp_path)
    assert sorted(int(str(line["number"])) for line in stored) == [1, 2, 3]
    assert [GameRecord(**line) for line in sorted(stored, key=lambda line: str(line["number"]))] == result.records  # type: ignore[arg-type]
    for record in result.records:
        assert load_sgf(tmp_path / record.sgf).game().move_number == 4
    names = {"settings.json", "results.jsonl", *(record.sgf for record in result.records)}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_concurrent_games_run_at_the_same_time() -> None:
    slow = fake("!slow:1:C3")
    start = time.monotonic()
    run_match(fast(slow, fake("C4"), games=4, concurrency=4))
    assert time.monotonic() - start < 4 * 1.0


def test_a_match_goes_on_where_it_stopped(tmp_path: Path) -> None:
    log = tmp_path / "log"
    settings = fast(fake("C3", log=log), fake("C4"), games=2)
    first = run_match(settings, tmp_path / "match")
    seen: list[int] = []
    more = MatchSettings(**{**settings.__dict__, "games": 4, "concurrency": 2})
    result = run_match(more, tmp_path / "match", on_game=lambda records: seen.append(len(records)))
    assert result.records[:2] == first.records
    assert (len(result.records), seen) == (4, [2, 3, 4])
    assert log.read_text().split().count("clear_board") == 4
    assert run_match(settings, tmp_path / "match").records == first.records
    assert log.read_text().split().count("clear_board") == 4


def test_a_torn_last_line_is_played_again(tmp_path: Path) -> None:
    settings = fast(fake("C3"), fake("C4"), games=2)
    run_match(settings, tmp_path)
    results = tmp_path / "results.jsonl"
    whole = results.read_text()
    results.write_text(whole[:-20])
    result = run_match(settings, tmp_path)
    assert [record.number for record in result.records] == [1, 2]
    assert [line["number"] for line in lines(tmp_path)] == [1, 2]


def test_a_damaged_line_is_an_error_with_its_place(tmp_path: Path) -> None:
    settings = fast(fake("C3"), fake("C4"), games=2)
    run_match(settings, tmp_path)
    results = tmp_path / "results.jsonl"
    results.write_text("{}\n" + results.read_text())
    with pytest.raises(MatchError, match=r"results\.jsonl:1: no game record"):
        run_match(settings, tmp_path)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("komi", 6.5, "komi was 0.5 there and is 6.5 now"),
        ("rules", "chinese", "rules was 'tromp-taylor' there and is 'chinese' now"),
        ("alternate", True, "alternate was False there and is True now"),
        ("width", 7, "width was 5 there and is 7 now"),
    ],
)
def test_other_settings_in_the_same_directory_are_an_error(tmp_path: Path, name: str, value: object, text: str) -> None:
    run_match(fast(fake(), fake()), tmp_path)
    with pytest.raises(MatchError, match=text):
        run_match(fast(fake(), fake(), **{name: value}), tmp_path)


def test_resuming_can_be_refused(tmp_path: Path) -> None:
    run_match(fast(fake(), fake()), tmp_path)
    with pytest.raises(MatchError, match="already holds a match"):
        run_match(fast(fake(), fake()), tmp_path, resume=False)


@pytest.mark.parametrize(
    ("name", "value"), [("games", 0), ("width", 26), ("height", 1), ("hang", 0.0), ("rules", "none"), ("komi", 1e9)]
)
def test_impossible_settings_are_errors(name: str, value: object) -> None:
    with pytest.raises(MatchError, match=rf"^{name}|unknown rules"):
        fast("a", "b", **{name: value})


def test_interrupting_leaves_whole_files_and_no_process(tmp_path: Path) -> None:
    out, log = tmp_path / "match", tmp_path / "log"
    slow = fake("!slow:0.1:C3 !slow:0.1:C4", log=log)
    arguments = {"black": slow, "white": fake("!slow:0.1:B3"), "games": 500, "size": 5, "out": str(out)}
    # A test run in the background of a shell has Ctrl-C ignored, and so would the match.
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{heed}; import sys; from engine.match import cli_match; sys.exit(cli_match(**{arguments!r}))"
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as match:
        deadline = time.monotonic() + 60
        while not (out / "results.jsonl").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        match.send_signal(signal.SIGINT)
        shown, errors = match.communicate(timeout=30)
    assert match.returncode == 130, errors
    assert "of 500 games" in shown
    assert "Wilson 95 %" in shown
    stored = lines(out)
    assert 1 <= len(stored) < 500
    for line in stored:
        assert load_sgf(out / str(line["sgf"])).game().move_number == 5
    assert not list(out.glob("*.part"))
    assert json.loads((out / "summary.json").read_text())["games"] == len(stored)
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(log) not in running


@pytest.mark.skipif(not GNUGO.exists(), reason=f"no GNU Go at {GNUGO}")
def test_gnugo_plays_gnugo(tmp_path: Path) -> None:
    gnugo = f"{GNUGO} --mode gtp --chinese-rules --level 1"
    result = run_match(fast(gnugo, gnugo, games=2, alternate=True, referee=gnugo, rules="chinese", komi=7.5), tmp_path)
    assert len(result.records) == 2
    for record in result.records:
        assert record.reason in ("passes", "resign")
        assert record.names == {"A": "GNU Go 3.8", "B": "GNU Go 3.8"}
        assert load_sgf(tmp_path / record.sgf).game().move_number >= 4
