"""A match plays its games, stores each whole, goes on where it was stopped, and stops cleanly."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from engine.apps.match.options import MatchOptions
from engine.clock import NO_LIMIT
from engine.color import BLACK, WHITE
from engine.game import Move
from engine.match.clock import parse_clock
from engine.match.errors import MatchError
from engine.match.openings import Opening, OpeningBook
from engine.match.settings import Entrant, Fixture, MatchSettings
from engine.match.store import GameRecord
from engine.match.tournament import run_match
from engine.records.sgf import load_sgf
from engine.vertex import format_vertex, parse_vertex
from tests.match.players import fake, fast

ROOT = Path(__file__).resolve().parents[2]
GNUGO = Path("/usr/games/gnugo")
BUILD = (
    "import sys; from pathlib import *; from engine.apps.match.cli import cli_match; "
    "from engine.apps.match.options import MatchOptions"
)
"""What a program of one line needs to run a match."""


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


def test_a_program_that_cannot_be_started_again_ends_the_match_and_loses_no_game(tmp_path: Path) -> None:
    program, moved, crashing = tmp_path / "program", tmp_path / "moved", fake("!crash", once=tmp_path / "crashed")
    program.write_text(f"#!/bin/sh\nmv {program} {moved}\nexec {crashing}\n")
    program.chmod(0o755)
    settings, out = fast(str(program), fake(), games=3), tmp_path / "match"
    with pytest.raises(MatchError, match=r"program' does not start: cannot start"):
        run_match(settings, out)
    assert [line["reason"] for line in lines(out)] == ["crash"]
    moved.rename(program)
    assert [record.reason for record in run_match(settings, out).records] == ["crash", "passes", "passes"]


def test_a_program_that_fails_at_its_start_loses_no_game(tmp_path: Path) -> None:
    settings = fast(f"sh -c 'test -e {tmp_path}/gone && exit 3; touch {tmp_path}/gone; {fake('!crash')}'", fake())
    with pytest.raises(MatchError, match=r"does not start: ended at 'name' \(exit status 3\)"):
        run_match(replace(settings, games=2))


def test_a_referee_that_does_not_start_is_not_taken_for_an_entrant_of_that_name() -> None:
    players = (Entrant("referee", fake()), Entrant("other", fake()))
    with pytest.raises(MatchError, match="'/no/such/referee' does not start"):
        run_match(replace(fast(fake(), fake()), entrants=players, referee="/no/such/referee"))
    failing = fake(refuse="play", score="B+9")
    (record,) = run_match(replace(fast(fake(), fake()), entrants=players, referee=failing)).records
    assert (record.reason, record.scored_by) == ("passes", "arbiter")


@pytest.mark.parametrize("concurrency", [1, 2])
def test_every_program_is_asked_to_quit_after_the_last_game(tmp_path: Path, concurrency: int) -> None:
    logs = {name: tmp_path / name for name in ("black", "white", "referee")}
    black, white, referee = (fake(log=log) for log in logs.values())
    run_match(fast(black, white, referee=referee, games=2, concurrency=concurrency))
    for log in logs.values():
        assert log.read_text().split().count("quit") == concurrency


def test_programs_stay_for_all_games_and_start_each_from_an_empty_board(tmp_path: Path) -> None:
    log = tmp_path / "log"
    result = run_match(fast(fake("C3", log=log), fake("C4"), games=3))
    assert [record.reason for record in result.records] == ["passes"] * 3
    reported = log.read_text().split()
    assert (reported.count("name"), reported.count("clear_board"), reported.count("quit")) == (1, 3, 1)


def test_every_finished_game_has_a_line_and_a_record(tmp_path: Path) -> None:
    result = run_match(fast(fake("C3"), fake("C4"), games=3, concurrency=2), tmp_path)
    stored = lines(tmp_path)
    assert sorted(int(str(line["number"])) for line in stored) == [1, 2, 3]
    assert [GameRecord(**line) for line in sorted(stored, key=lambda line: str(line["number"]))] == result.records  # type: ignore[arg-type]
    for record in result.records:
        assert load_sgf(tmp_path / record.sgf).game().move_number == 4
    names = {"settings.json", "results.jsonl", *(record.sgf for record in result.records)}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_concurrent_games_run_at_the_same_time(tmp_path: Path) -> None:
    waiting = fake("!meet:4:C3", thoughts=tmp_path / "thoughts")
    result = run_match(fast(waiting, fake("C4"), games=4, concurrency=4, hang=60.0))
    assert [record.reason for record in result.records] == ["passes"] * 4


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
    ("name", "value", "said"),
    [
        ("black", "C", "expected players of A B and their names, got 'C'"),
        ("white", ["B"], r"expected players of A B and their names, got \['B'\]"),
        ("names", {"A": "Anna"}, "expected players of A B and their names, got 'B'"),
        ("winner", "C", "winner: expected 'A', 'B' or none, got 'C'"),
    ],
)
def test_a_line_of_other_players_is_an_error(tmp_path: Path, name: str, value: object, said: str) -> None:
    settings = fast(fake("resign"), fake())
    run_match(settings, tmp_path)
    (line,) = lines(tmp_path)
    (tmp_path / "results.jsonl").write_text(json.dumps(line | {name: value}) + "\n")
    with pytest.raises(MatchError, match=rf"results\.jsonl:1: no game record: {said}"):
        run_match(settings, tmp_path)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("komi", 6.5, "komi was 0.5 there and is 6.5 now"),
        ("rules", "chinese", "rules was 'tromp-taylor' there and is 'chinese' now"),
        ("alternate", True, "alternate was False there and is True now"),
        ("width", 7, "width was 5 there and is 7 now"),
        ("time", parse_clock("absolute:9"), "time was None there and is 'absolute:9' now"),
    ],
)
def test_other_settings_in_the_same_directory_are_an_error(tmp_path: Path, name: str, value: object, text: str) -> None:
    run_match(fast(fake(), fake()), tmp_path)
    with pytest.raises(MatchError, match=text):
        run_match(fast(fake(), fake(), **{name: value}), tmp_path)


def test_other_colors_and_openings_by_another_order_of_the_engines_are_an_error(tmp_path: Path) -> None:
    settings = fast(fake(), fake(), games=2, alternate=True)
    run_match(settings, tmp_path)
    with pytest.raises(MatchError, match="order was"):
        run_match(replace(settings, entrants=settings.entrants[::-1]), tmp_path)
    file = tmp_path / "settings.json"
    kept = json.loads(file.read_text())
    del kept["order"]  # as before it was written
    file.write_text(json.dumps(kept))
    assert len(run_match(settings, tmp_path).records) == 2


def test_resuming_can_be_refused(tmp_path: Path) -> None:
    run_match(fast(fake(), fake()), tmp_path)
    with pytest.raises(MatchError, match="already holds a match"):
        run_match(fast(fake(), fake()), tmp_path, resume=False)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("games", 0),
        ("width", 26),
        ("height", 1),
        ("hang", 0.0),
        ("rules", "none"),
        ("komi", 1e9),
        ("time", NO_LIMIT),
    ],
)
def test_impossible_settings_are_errors(name: str, value: object) -> None:
    with pytest.raises(MatchError, match=rf"^{name}|unknown rules"):
        fast("a", "b", **{name: value})


def test_engines_of_one_name_or_alone_are_errors() -> None:
    with pytest.raises(MatchError, match="engines: expected 2 or more, got 1"):
        fast("a")
    with pytest.raises(MatchError, match="engines: expected different names, got 'A B A'"):
        MatchSettings((*fast("a", "b").entrants, fast("c", "d").entrants[0]))


def colors(fixtures: list[Fixture]) -> list[str]:
    """Return each game as its two labels, Black's first."""
    return [fixture.black + fixture.white for fixture in fixtures]


def test_a_round_robin_plays_every_pairing_in_each_round_with_colors_changed_in_the_next() -> None:
    four = fast("a", "b", "c", "d", games=2).fixtures()
    assert colors(four) == ["AB", "CA", "AD", "BC", "DB", "CD", "BA", "AC", "DA", "CB", "BD", "DC"]
    assert [fixture.number for fixture in four] == list(range(1, 13))
    assert fast("a", "b", "c", games=3).fixtures()[:6] == fast("a", "b", "c", games=2).fixtures()


def test_nobody_has_a_color_more_than_once_too_often_in_a_round() -> None:
    for count in (3, 4, 5, 6):
        fixtures = fast(*"abcdef"[:count]).fixtures()
        for label in "ABCDEF"[:count]:
            black, white = (sum(label == each for each in side) for side in zip(*colors(fixtures), strict=True))
            assert abs(black - white) <= 1
            assert black + white == count - 1


def book(*openings: str) -> OpeningBook:
    """Return openings on 5x5, each given by its vertices."""
    moves = [[Move((BLACK, WHITE)[i % 2], parse_vertex(v, 5, 5)) for i, v in enumerate(o.split())] for o in openings]
    return OpeningBook(tuple(Opening(f"o{i}", tuple(each)) for i, each in enumerate(moves)), 2, 0, "digest")


def test_each_opening_is_played_by_every_pairing_with_both_colors() -> None:
    settings = fast("a", "b", "c", games=4, openings=book("C3 B2", "B2 C3"))
    assert [(each.opening, each.number) for each in settings.fixtures() if {each.black, each.white} == {"A", "B"}] == [
        (0, 1),
        (0, 4),
        (1, 7),
        (1, 10),
    ]
    two = fast("a", "b", games=6, openings=book("C3 B2", "B2 C3")).fixtures()
    assert colors(two) == ["AB", "BA"] * 3
    assert [each.opening for each in two] == [0, 0, 1, 1, 0, 0]
    with pytest.raises(MatchError, match="games: expected an even number"):
        fast("a", "b", games=3, openings=book("C3 B2"))


def test_opening_moves_are_sent_to_both_programs_and_the_referee_and_stand_in_the_record(tmp_path: Path) -> None:
    logs = {name: tmp_path / name for name in ("black", "white", "referee")}
    settings = fast(
        fake("C1", log=logs["black"]),
        fake("C5", log=logs["white"]),
        referee=fake(score="B+1", log=logs["referee"]),
        games=2,
        openings=book("C3 B2 D4"),
    )
    result = run_match(settings, tmp_path / "match")
    assert [(record.opening, record.reason, record.result) for record in result.records] == [
        ("o0", "passes", "B+1")
    ] * 2
    reported = {name: log.read_text().splitlines() for name, log in logs.items()}
    start = ["play black C3", "play white B2", "play black D4"]
    for lines_of_one in reported.values():
        place = lines_of_one.index("clear_board")
        assert lines_of_one[place + 1 : place + 4] == start
    assert "genmove white" in reported["white"]
    game = load_sgf(tmp_path / "match" / result.records[0].sgf)
    assert [format_vertex(move.vertex, 5, 5) for move in game.moves] == ["C3", "B2", "D4", "C5", "C1", "pass", "pass"]
    assert "Opening: 3 moves of o0" in (tmp_path / "match" / result.records[0].sgf).read_text()
    assert [record.moves for record in result.records] == [{"A": 2, "B": 2}] * 2


def test_a_round_robin_goes_on_where_it_stopped_and_grows(tmp_path: Path) -> None:
    log = tmp_path / "log"
    commands = (fake("C3", log=log), fake("C4", score="W+1"), fake("resign"))
    first = run_match(fast(*commands, games=2, openings=book("B2 D4")), tmp_path / "match")
    assert [record.reason for record in first.records].count("resign") == 4
    kept = (tmp_path / "match" / "results.jsonl").read_text().splitlines()
    (tmp_path / "match" / "results.jsonl").write_text(
        "".join(f"{line}\n" for line in kept if '"number": 4' not in line)
    )
    seen: list[int] = []
    again = run_match(
        fast(*commands, games=4, openings=book("B2 D4", "D4 B2")),
        tmp_path / "match",
        on_game=lambda records: seen.append(len(records)),
    )
    assert (seen[0], len(again.records)) == (5, 12)
    assert [record.number for record in again.records] == list(range(1, 13))
    by_number = {record.number: record for record in again.records}
    assert all(by_number[record.number] == record for record in first.records if record.number != 4)
    assert {record.opening for record in again.records[6:]} == {"o1"}
    with pytest.raises(MatchError, match="engine C was"):
        run_match(fast(*commands[:2], fake("C1"), games=2, openings=book("B2 D4")), tmp_path / "match")
    other = OpeningBook(book("B2 D4").openings, 2, 0, "other")
    with pytest.raises(MatchError, match="openings was"):
        run_match(fast(*commands, games=2, openings=other), tmp_path / "match")


def test_a_match_in_the_format_of_an_earlier_version_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"format": "keima-match", "version": 1, "black": "a"}')
    with pytest.raises(MatchError, match="version was 1 there and is 2 now"):
        run_match(fast(fake(), fake()), tmp_path)


def test_a_killed_match_loses_only_the_game_in_play(tmp_path: Path) -> None:
    out = tmp_path / "match"
    options = MatchOptions.of(black=fake("!slow:0.1:C3"), white=fake("B3"), games=500, size=5, out=out)
    code = f"{BUILD}; sys.exit(cli_match({options!r}))"
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as match:
        deadline = time.monotonic() + 60
        while not (out / "game-00003.sgf").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        match.kill()
    before = len(lines(out))
    assert before >= 2
    settings = replace(options.settings(), games=before + 2)
    assert [record.number for record in run_match(settings, out).records] == list(range(1, before + 3))


def test_one_program_thinks_at_a_time(tmp_path: Path) -> None:
    thought = tmp_path / "thought"
    commands = [fake("!slow:0.1:C3 !slow:0.1:pass", thoughts=thought) for _ in range(3)]
    run_match(fast(*commands, games=2))
    kinds = [line.split()[0] for line in thought.read_text().splitlines()]
    assert len(kinds) >= 2 * 2 * 6
    assert kinds == ["begin", "end"] * (len(kinds) // 2)


def test_who_sits_a_game_out_is_asked_to_end_its_thoughts(tmp_path: Path) -> None:
    log = tmp_path / "log"
    run_match(fast(fake("resign", log=log), fake(), fake()))
    reported = log.read_text().splitlines()
    assert reported[reported.index("genmove black") + 1] == "name"


def test_a_failing_program_loses_its_game_and_the_others_go_on(tmp_path: Path) -> None:
    commands = (fake("!crash"), fake("!garbage"), fake("C3"), fake("C4"))
    result = run_match(fast(*commands, max_moves=6))
    reasons = {record.black + record.white: (record.winner, record.reason) for record in result.records}
    assert reasons == {
        "AB": ("B", "crash"),
        "CA": ("C", "crash"),
        "AD": ("D", "crash"),
        "BC": ("C", "garbage"),
        "DB": ("D", "garbage"),
        "CD": ("D", "passes"),
    }


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_interrupting_leaves_whole_files_and_no_process(tmp_path: Path, name: str) -> None:
    out, log = tmp_path / "match", tmp_path / "log"
    slow = fake("!slow:0.1:C3 !slow:0.1:C4", log=log)
    options = MatchOptions.of(black=slow, white=fake("!slow:0.1:B3"), games=500, size=5, out=out)
    # Tests in the background of a shell, or under nohup, have these signals ignored, and so would the match.
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    heed += "signal.signal(signal.SIGHUP, signal.SIG_DFL)"
    code = f"{heed}; {BUILD}; sys.exit(cli_match({options!r}))"
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as match:
        deadline = time.monotonic() + 60
        while not (out / "results.jsonl").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        match.send_signal(getattr(signal, name))
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
