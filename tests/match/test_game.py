"""A refereed game: the arbiter's rules, and each way in which a program can lose."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from engine.color import BLACK, WHITE
from engine.match.clock import parse_clock
from engine.match.errors import MatchError
from engine.match.settings import Entrant, MatchSettings
from engine.match.store import GameRecord
from engine.match.tournament import run_match
from engine.records.sgf import load_sgf
from engine.vertex import parse_vertex
from tests.match.players import fake, fast

DRAGON = "C1 C2 C3 C4 C5"
"""A wall down the middle of 5x5."""


def only_game(black: str, white: str, **changes: object) -> GameRecord:
    """Play a match of one game and return its record."""
    (record,) = run_match(fast(black, white, **changes)).records
    return record


@pytest.mark.parametrize(
    ("moves", "reason", "detail", "result"),
    [
        ("C3 resign", "resign", "", "W+R"),
        ("C3 RESIGN", "resign", "", "W+R"),
        ("C3 B2", "illegal", "move 3 black B2: occupied", "W+F"),
        ("C3 Z9", "illegal", "'Z9' is outside the 5x5 board", "W+F"),
        ("C3 I1", "illegal", "expected a vertex such as Q16 or pass, got 'I1'", "W+F"),
        ("C3 D4|D5", "illegal", "expected a vertex", "W+F"),
        ("C3 !crash", "crash", "ended at 'genmove black' (exit status 3): out of luck", "W+F"),
        ("C3 !hang", "hang", "no answer in time to 'genmove black'", "W+F"),
        ("C3 !partial", "hang", "started an answer but did not end it", "W+F"),
        ("C3 !garbage", "garbage", "answered 'genmove black' with 'Segmentation thoughts'", "W+F"),
        ("C3 !fail", "error", "answered ? to genmove: cannot", "W+F"),
    ],
)
def test_every_way_to_lose_has_its_reason(moves: str, reason: str, detail: str, result: str) -> None:
    hang = 2.0 if reason == "hang" else 10.0
    record = only_game(fake(moves, name="Bad"), fake("B2 B3", name="Good"), hang=hang)
    assert (record.winner, record.result, record.reason) == ("B", result, reason)
    assert detail in record.detail
    assert record.names == {"A": "Bad 1", "B": "Good 1"}


def test_white_can_lose_too() -> None:
    record = only_game(fake("C3 B2"), fake("C3"))
    assert (record.winner, record.result, record.reason) == ("A", "B+F", "illegal")


def test_text_nobody_asked_for_loses() -> None:
    record = only_game(fake("!noise:C3 !slow:0.3:C4 C5"), fake("!slow:0.3:B2 B3"))
    assert (record.winner, record.reason) == ("B", "garbage")
    assert "by the way" in record.detail


def test_refusing_a_legal_move_loses() -> None:
    record = only_game(fake("C3"), fake("B2", refuse="play"))
    assert (record.winner, record.reason) == ("A", "error")
    assert record.detail == "refuses the legal move black C3: refused"


@pytest.mark.parametrize(("rules", "reason"), [("tromp-taylor", "passes"), ("chinese", "illegal")])
def test_the_rules_of_the_match_decide_on_suicide(rules: str, reason: str) -> None:
    # A2 joins A1 and B1 to a chain whose only liberties White has filled: A3, B2, C1.
    record = only_game(fake("A1 B1 E5 A2"), fake("A3 B2 C1"), rules=rules)
    assert record.reason == reason
    assert record.detail == ("" if reason == "passes" else "move 7 black A2: suicide")


def test_taking_a_ko_back_at_once_is_illegal() -> None:
    record = only_game(fake("C2 B3 C4 E1 D3"), fake("D2 E3 D4 C3 C3"))
    assert (record.winner, record.detail) == ("A", "move 10 white C3: ko")


def test_the_third_occurrence_of_a_position_under_simple_ko_is_a_draw() -> None:
    # A triple ko: Black takes at C9 and H9, White at B1, then each takes back; six moves make a cycle.
    black = "E5 A9 B8 A1 B2 C1 F9 G8" + " C9 H9 C1" * 3
    white = "D9 C8 B9 D1 C2 J9 H8 G9" + " B1 B9 G9" * 3
    record = only_game(fake(black), fake(white), rules="chinese", width=9, height=9)
    assert (record.winner, record.result, record.reason) == (None, "Void", "repetition")
    assert record.moves == {"A": 14, "B": 14}
    forbidden = only_game(fake(black), fake(white), rules="tromp-taylor", width=9, height=9)
    assert forbidden.detail == "move 22 white G9: superko"


def test_two_passes_are_counted_by_the_arbiter_when_nobody_else_can() -> None:
    record = only_game(fake(DRAGON), fake("pass pass pass pass pass"), komi=7.5)
    assert (record.result, record.winner, record.scored_by, record.reason) == ("B+17.5", "A", "arbiter", "passes")
    assert (record.moves, record.detail) == ({"A": 6, "B": 5}, "")


@pytest.mark.parametrize(
    ("black_score", "white_score", "referee_score", "result", "scored_by"),
    [
        ("W+3", "W+3.0", None, "W+3", "players"),
        ("W+3", "W+5", None, "W+", "players"),
        ("W+3", "B+3", None, "B+24.5", "arbiter"),
        ("W+3", "cannot tell", None, "B+24.5", "arbiter"),
        ("W+3", "", None, "B+24.5", "arbiter"),
        ("0", "0.0", None, "0", "players"),
        ("B+.5", "B+0.5 (upper bound: 1)", None, "B+0.5", "players"),
        ("W+3", "W+3", "B+2.5", "B+2.5", "referee"),
        ("W+3", "W+3", "unknown", "W+3", "players"),
    ],
)
def test_who_counts(black_score: str, white_score: str, referee_score: str | None, result: str, scored_by: str) -> None:
    referee = None if referee_score is None else fake(score=referee_score)
    record = only_game(fake("C3", score=black_score), fake("pass", score=white_score), referee=referee)
    assert (record.result, record.scored_by) == (result, scored_by)
    assert record.winner == {"B": "A", "W": "B", "0": None}[result[0]]


def test_a_draw_has_no_winner() -> None:
    record = only_game(fake(), fake(), komi=0.0)
    assert (record.result, record.winner) == ("0", None)


def test_a_game_stops_at_the_move_limit_and_is_counted() -> None:
    record = only_game(fake(DRAGON), fake("B1 B2 B3 B4"), max_moves=4)
    assert (record.reason, record.moves, record.scored_by) == ("moves", {"A": 2, "B": 2}, "arbiter")


def test_without_a_limit_a_game_stops_at_three_moves_for_each_point() -> None:
    entrants = (Entrant("A", "command"), Entrant("B", "command"))
    settings = MatchSettings(entrants, width=5, height=7)
    assert (settings.move_limit, replace(settings, max_moves=4).move_limit) == (3 * 5 * 7, 4)


def test_the_referee_follows_the_game_and_its_failure_is_nobodys_loss(tmp_path: Path) -> None:
    log = tmp_path / "referee.log"
    record = only_game(fake("C3"), fake("B2"), referee=fake(score="B+9", log=log))
    assert (record.result, record.scored_by) == ("B+9", "referee")
    reported = log.read_text().splitlines()
    assert reported[3:6] == ["boardsize 5", "komi 0.5", "clear_board"]
    assert reported[6:10] == ["play black C3", "play white B2", "play black pass", "play white pass"]
    refusing = only_game(fake("C3"), fake("B2"), referee=fake(score="B+9", refuse="play"))
    assert (refusing.reason, refusing.scored_by) == ("passes", "arbiter")


def test_programs_receive_size_komi_rules_time_in_this_order(tmp_path: Path) -> None:
    log = tmp_path / "black.log"
    black = fake("!slow:0.3:C3", log=log, also="time_settings time_left kata-set-rules kgs-rules")
    only_game(black, fake("B2", also="kgs-rules"), rules="chinese", time=parse_clock("absolute:60"), width=7)
    reported = log.read_text().splitlines()
    assert reported[:3] == ["name", "version", "list_commands"]
    warm_up = ["boardsize 7 5", "time_settings 0 1 1", "genmove black", "time_settings 60 0 0"]
    game = ["boardsize 7 5", "komi 0.5", "kata-set-rules chinese", "clear_board", "time_settings 60 0 0"]
    assert reported[3:] == [
        *warm_up,
        *game,
        "time_left black 60 0",
        "genmove black",
        "play white B2",
        "time_left black 59 0",
        "genmove black",
        "play white pass",
        "quit",
    ]


@pytest.mark.parametrize(
    ("rules", "command"),
    [("chinese-kgs", "kgs-rules chinese"), ("japanese", "kgs-rules japanese"), ("tromp-taylor", None)],
)
def test_kgs_rules_are_sent_where_they_mean_the_same(tmp_path: Path, rules: str, command: str | None) -> None:
    log = tmp_path / "log"
    only_game(fake(log=log, also="kgs-rules"), fake(), rules=rules)
    assert [line for line in log.read_text().splitlines() if "rules" in line] == ([command] if command else [])


@pytest.mark.parametrize(
    ("clock", "moves", "reason"),
    [
        ("absolute:2", "!slow:0.4:C3 !slow:0.4:C4", "passes"),
        ("absolute:0.6", "!slow:0.4:C3 !slow:0.4:C4", "time"),
        ("canadian:0+1/1", "!slow:0.4:C3 !slow:0.4:C4 !slow:0.4:C5", "passes"),
        ("canadian:0+1/0.3", "!slow:0.5:C3", "time"),
        ("canadian:0.2+2/1.5", "!slow:0.4:C3 !slow:0.4:C4", "passes"),
        ("canadian:0.2+3/0.7", "!slow:0.4:C3 !slow:0.4:C4 !slow:0.4:C5", "time"),
        ("byoyomi:0.2+1x1", "!slow:0.4:C3 !slow:0.4:C4 !slow:0.4:C5", "passes"),
        ("byoyomi:0.2+2x0.3", "!slow:0.7:C3 !slow:0.6:C4", "time"),
        ("fischer:1+0.4", "!slow:0.4:C3 !slow:0.4:C4 !slow:0.4:C5", "passes"),
        ("fischer:0.5+0.1", "!slow:0.4:C3 !slow:0.4:C4", "time"),
        ("capped:5+1//1", "!slow:0.4:C3 !slow:0.4:C4", "passes"),
        ("capped:5+1//0.2", "!slow:0.5:C3", "time"),
    ],
)
def test_the_clock_decides(clock: str, moves: str, reason: str) -> None:
    record = only_game(fake(moves), fake(), time=parse_clock(clock), grace=0.1)
    assert record.reason == reason
    assert record.result == ("W+T" if reason == "time" else record.result)


def test_a_game_records_each_players_times() -> None:
    black = fake("!slow:0.5:C3 !slow:0.2:C4")
    record = only_game(black, fake("B2"), time=parse_clock("fischer:3+0.1"))
    assert 0.7 <= record.seconds["A"] < 1.3
    assert 0.5 <= record.longest["A"] < 1.0
    # 3 seconds, less 0.5, more 0.1, less 0.2; the increment after that, less a pass, keeps above it or nearly so.
    assert 1.8 < record.least_left["A"] <= 2.4
    assert 0.7 / 3.2 <= record.main_share["A"] < 0.45
    assert record.seconds["B"] < 0.7
    assert record.main_share["B"] < 0.25


def test_without_a_clock_there_is_no_time_left_to_record() -> None:
    record = only_game(fake(), fake())
    assert (record.least_left, record.main_share) == ({}, {})
    assert record.longest.keys() == {"A", "B"}


def test_a_flag_that_falls_is_recorded_with_the_time_that_it_took() -> None:
    record = only_game(fake("!hang"), fake(), time=parse_clock("absolute:0.5"), grace=0.1)
    assert (record.reason, record.detail) == ("time", "no move within 0.50 s")
    assert (record.least_left["A"], record.main_share["A"]) == (0, 1)
    assert 0.6 <= record.seconds["A"] < 1.5
    assert record.moves["A"] == 1  # the mean seconds a move are these seconds, not 0


@pytest.mark.parametrize(
    ("clock", "also", "reported"),
    [
        ("byoyomi:0+3x5", "kgs-time_settings time_left", ["kgs-time_settings byoyomi 0 5 3", "time_left black 5 3"]),
        ("fischer:9+1", "kata-time_settings time_left", ["kata-time_settings fischer 9 1", "time_left black 9.00 0"]),
        ("capped:9+1/20/", "kata-time_settings", ["kata-time_settings fischer-capped 9 1 20 -1"]),
        ("canadian:9+5/20", "time_settings time_left", ["time_settings 9 20 5", "time_left black 9 0"]),
    ],
)
def test_the_clock_is_sent_in_the_programs_own_words(
    tmp_path: Path, clock: str, also: str, reported: list[str]
) -> None:
    log = tmp_path / "log"
    only_game(fake(log=log, also=also), fake(also="kata-time_settings"), time=parse_clock(clock))
    lines = log.read_text().splitlines()
    game = lines[lines.index("clear_board") + 1 :]
    assert game == [*reported, "genmove black", "play white pass", "quit"]


@pytest.mark.parametrize("clock", ["byoyomi:10+3x5", "fischer:10+1"])
def test_a_program_that_knows_other_clocks_only_ends_the_match_before_it_starts(tmp_path: Path, clock: str) -> None:
    old = fake(also="time_settings time_left")
    with pytest.raises(MatchError, match=f"lists no command for the time system '{re.escape(clock)}'"):
        run_match(fast(fake(also="kata-time_settings"), old, time=parse_clock(clock)), tmp_path)
    assert not (tmp_path / "results.jsonl").exists()


def test_a_program_that_refuses_its_clock_ends_the_match_before_it_starts() -> None:
    refusing = fake(also="kata-time_settings", refuse="kata-time_settings")
    with pytest.raises(MatchError, match="refuses 'kata-time_settings fischer 10 1'"):
        run_match(fast(fake(), refusing, time=parse_clock("fischer:10+1")))


def test_a_slow_start_is_not_charged_to_the_clock() -> None:
    # Its first genmove of all is the warm-up, and only that one is slow: charged to the clock it would lose on time.
    slow = fake("C3", load=1.0)
    record = only_game(slow, fake("B2"), time=parse_clock("canadian:0+1/0.7"), grace=0.0)
    assert record.reason == "passes"


def test_the_record_is_a_readable_sgf(tmp_path: Path) -> None:
    settings = fast(
        fake("C3", name="Anna"), fake("B2", name="Ben]"), rules="chinese", time=parse_clock("canadian:60+3/5")
    )
    (record,) = run_match(settings, tmp_path).records
    path = tmp_path / record.sgf
    text = path.read_text()
    for part in ("PB[Anna 1]", "PW[Ben\\] 1]", "RE[W+0.5]", "KM[0.5]", "SZ[5]", "TM[60]", "OT[3/5 Canadian]", "RO[1]"):
        assert part in text
    assert "Counted by: arbiter" in text
    game = load_sgf(path).game()
    vertices = [parse_vertex(name, 5, 5) for name in ("C3", "B2", "pass", "pass")]
    assert [tuple(move) for move in game.moves] == list(zip((BLACK, WHITE) * 2, vertices, strict=True))


@pytest.mark.parametrize(
    ("black", "text"),
    [
        ("/no/such/program", "does not start"),
        ("sh -c 'echo hello; sleep 5'", "does not start"),
        (fake(refuse="boardsize"), "refuses 'boardsize 5': refused"),
        (fake(refuse="komi"), "refuses 'komi 0.5': refused"),
    ],
)
def test_a_program_that_cannot_play_at_all_ends_the_match(black: str, text: str) -> None:
    with pytest.raises(MatchError, match=text):
        run_match(fast(black, fake()))


@pytest.mark.parametrize("word", ["{}", "!error:{}"])
def test_what_a_program_says_is_recorded_as_one_short_line(word: str) -> None:
    evil = "\x1b[31m" + "x" * 100_000
    record = only_game(fake(word.format(evil), name=f"A\x1b[2J{'n' * 300}"), fake(name="Ben\tand\tJerry"))
    assert record.reason == ("error" if word.startswith("!") else "illegal")
    assert all(text.isprintable() and len(text) < 300 for text in (record.detail, *record.names.values()))
    assert "x1b[31mxxx" in record.detail
