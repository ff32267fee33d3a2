"""What commands do to the session's state, where a transcript cannot see it."""

import errno
import json
import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

from engine.board.kernels import position_hash
from engine.clock import NO_LIMIT, Kind, TimeSettings
from engine.color import BLACK, WHITE
from engine.game import Game
from engine.rules import TROMP_TAYLOR
from engine.scoring import final_score
from engine.settings.levels import FULL, LEVELS
from engine.vertex import PASS, format_vertex, parse_vertex, points
from gtp.commands import FAMILIES, HANDLERS
from gtp.state import SessionConfig
from tests.gtp.fake_player import FakePlayer
from tests.gtp.talk import CONFIG, ask, new_state

REQUIRED = {
    *("protocol_version", "name", "version", "known_command", "list_commands", "quit"),
    *("boardsize", "clear_board", "komi", "play", "genmove"),
}
TIME_COMMANDS = [
    ("time_settings 600 0 0", TimeSettings(Kind.ABSOLUTE, 600)),
    ("time_settings 0 1 0", NO_LIMIT),
    ("time_settings 0 5 1", TimeSettings(Kind.CANADIAN, 0, 5, 1)),
    ("kgs-time_settings none", NO_LIMIT),
    ("kgs-time_settings absolute 300", TimeSettings(Kind.ABSOLUTE, 300)),
    ("kgs-time_settings byoyomi 300 30 5", TimeSettings(Kind.BYOYOMI, 300, 30, 5)),
    ("kgs-time_settings canadian 300 600 25", TimeSettings(Kind.CANADIAN, 300, 600, 25)),
    ("kata-time_settings none", NO_LIMIT),
    ("kata-time_settings byoyomi 10.5 3.5 2", TimeSettings(Kind.BYOYOMI, 10.5, 3.5, 2)),
    ("kata-time_settings fischer 60 5", TimeSettings(Kind.FISCHER, 60, increment=5)),
    (
        "kata-time_settings fischer-capped 60 5 120 -1",
        TimeSettings(Kind.FISCHER_CAPPED, 60, increment=5, main_cap=120.0),
    ),
    ("kata-time_settings fischer-capped 60 5 -2 -0.5", TimeSettings(Kind.FISCHER_CAPPED, 60, increment=5)),
]


def test_every_required_command_is_listed_once_and_sorted() -> None:
    listed = ask(new_state(), "list_commands").split("\n")
    assert set(listed) >= REQUIRED
    assert listed == sorted(set(listed)) == sorted(HANDLERS)
    assert sum(len(family) for family in FAMILIES) == len(HANDLERS)
    assert all(ask(new_state(), f"known_command {name}") == "true" for name in listed)


@pytest.mark.parametrize(("line", "settings"), TIME_COMMANDS)
def test_time_settings_are_understood_and_outlive_boards(line: str, settings: TimeSettings) -> None:
    state = new_state()
    assert ask(state, line) == ""
    for other in ("boardsize 13", "clear_board", "komi 5", "rectangular_boardsize 5 6"):
        assert ask(state, other) == ""
        assert state.clock.settings == settings


@pytest.mark.parametrize(("line", "settings"), TIME_COMMANDS)
def test_surplus_arguments_of_a_time_system_are_ignored_and_missing_ones_refused(
    line: str, settings: TimeSettings
) -> None:
    state = new_state()
    assert ask(state, f"{line} 1 x") == ""
    assert state.clock.settings == settings
    if not line.endswith(" none"):
        assert ask(state, line.rpartition(" ")[0]) == "? syntax error"


@pytest.mark.parametrize("name", ["boardsize", "rectangular_boardsize"])
def test_a_size_is_given_in_each_of_katagos_forms(name: str) -> None:
    state = new_state()
    for size, sides in (("9", (9, 9)), ("7 5", (7, 5)), ("9:13", (9, 13))):
        assert ask(state, f"{name} {size}") == ""
        assert (state.width, state.height) == sides
    for size in ("", "9:", ":9", "9:9:9", "9:9 9", "9 9 9", "9x9"):
        assert ask(state, f"{name} {size}") == "? syntax error"
        assert (state.width, state.height) == (9, 13)
    assert ask(state, f"{name} 9:99") == "? unacceptable size"


def test_time_left_reaches_the_clock() -> None:
    state = new_state()
    ask(state, "kgs-time_settings byoyomi 300 30 5")
    assert ask(state, "time_left b 120 0") == ask(state, "time_left W 12 3") == ask(state, "time_left w -4 1") == ""
    assert state.clock.time_left(BLACK) == (120, 0)
    assert state.clock.time_left(WHITE) == (0, 1)


LIMITS = [
    (SessionConfig(), [], (None, 5.0)),
    (SessionConfig(fallback_seconds=2.0), ["time_settings 0 1 0"], (None, 2.0)),
    (SessionConfig(visits=100), [], (100, None)),
    (SessionConfig(seconds=3.0), [], (None, 3.0)),
    (SessionConfig(seconds=3.0, visits=100, lag_buffer=0.0), ["time_settings 0 60 1"], (100, 3.0)),
    (SessionConfig(seconds=90.0, lag_buffer=0.0), ["time_settings 0 60 1"], (None, 60.0)),
    (SessionConfig(lag_buffer=0.0), ["time_settings 0 60 1", "clear_board"], (None, 60.0)),
    (SessionConfig(lag_buffer=0.0), ["time_settings 600 30 10", "time_left b 50 5"], (None, 10.0)),
]


@pytest.mark.parametrize(("config", "lines", "expected"), LIMITS)
def test_a_move_is_bounded_by_clock_caps_and_default(
    config: SessionConfig, lines: list[str], expected: tuple[int | None, float | None]
) -> None:
    player = FakePlayer()
    state = new_state(player, config)
    for line in [*lines, "genmove b"]:
        assert not ask(state, line).startswith("?")
    limits = player.limits[-1]
    assert limits.visits == expected[0]
    # The clock runs while other processes keep this one waiting.
    assert limits.seconds == (None if expected[1] is None else pytest.approx(expected[1], rel=0.1))


def test_the_own_clock_runs_during_genmove_only() -> None:
    state = new_state(FakePlayer(thinking=True), SessionConfig(seconds=0.2))
    ask(state, "time_settings 600 0 0")
    assert ask(state, "genmove b") == "A19"
    ask(state, "play w b2")
    assert 0.1 < 600 - state.clock.time_left(BLACK)[0] < 5
    assert state.clock.time_left(WHITE)[0] == 600


def test_a_resignation_is_said_and_not_played() -> None:
    state = new_state(FakePlayer(["resign", "pass"]))
    assert ask(state, "genmove b") == "resign"
    assert state.game.move_number == 0
    assert ask(state, "genmove b") == "pass"
    assert state.game.moves == [(BLACK, PASS)]


@pytest.mark.parametrize("command", ["keima-rank 8k", "kata-set-param rank 8K"])
def test_a_rank_changes_how_genmove_chooses_and_nothing_else(command: str) -> None:
    player = FakePlayer()
    state = new_state(player)
    assert ask(state, command) == ""
    assert ask(state, "kata-get-param rank") == "8k"
    for each in ("genmove b", "reg_genmove w", "keima-rank full", "genmove w"):
        ask(state, each)
    assert [each.level for each in player.limits] == [LEVELS[9]["8k"], None, None]
    assert player.limits[0].visits == LEVELS[9]["8k"].visits


@pytest.mark.parametrize("text", ["0k", "19x", "8", "30k"])
def test_a_rank_that_there_is_not_is_refused(text: str) -> None:
    state = new_state(FakePlayer())
    assert ask(state, f"keima-rank {text}").startswith(f"? rank '{text}': must be 21k or 20k or ")
    assert state.config.rank == FULL


def test_reg_genmove_changes_nothing_and_never_resigns() -> None:
    player = FakePlayer(["resign", "e5"])
    state = new_state(player)
    ask(state, "time_settings 0 1 1")
    before = state.clock.time_left(BLACK)
    assert ask(state, "reg_genmove b") == "PASS"
    assert ask(state, "reg_genmove b") == "E5"
    assert state.game.move_number == 0
    assert state.clock.time_left(BLACK) == before
    assert {(limits.visits, limits.seconds) for limits in player.limits} == {(CONFIG.reg_visits, None)}


def test_an_illegal_own_move_is_an_internal_error_and_is_not_played() -> None:
    state = new_state(FakePlayer(["e5"]))
    ask(state, "play w e5")
    assert ask(state, "genmove b").startswith("? internal error: ")
    assert state.game.move_number == 1
    assert ask(state, "name") == CONFIG.name


def test_own_moves_keep_to_the_rules_in_force_that_play_need_not() -> None:
    state = new_state(FakePlayer(["a2"]))
    for line in ["play b b2", "play b a3", "play b c1", "play w b1", "play w a1"]:
        assert ask(state, line) == ""
    assert ask(state, "genmove w").startswith("? internal error: ")
    assert ask(state, "play w a2") == ""


def test_status_lists_and_score_share_one_judgment() -> None:
    player = FakePlayer()
    state = new_state(player)
    for line in ("play b e5", "play w a1", "play b a2"):
        ask(state, line)
    dead = ask(state, "final_status_list dead").split()
    score = ask(state, "final_score")
    assert dead == ["A1"]
    assert score == f"B+{final_score(state.game, [state.game.moves[1].vertex]):g}"
    for fate in ("alive", "seki", "dead"):
        ask(state, f"final_status_list {fate}")
    assert player.judged == 1
    ask(state, "undo")
    ask(state, "final_score")
    assert player.judged == 2


@pytest.mark.parametrize(
    ("expected", "reported"),
    [(None, "B+76.5"), (75.2, "B+76.5"), (4.3, "B+4.5"), (-2.8, "W+2.5"), (-0.1, "W+0.5")],
    ids=["settled", "as it counts", "Black is ahead", "White is ahead", "close"],
)
def test_a_game_that_goes_on_gets_its_expected_score_unless_the_count_is_as_good(
    expected: float | None, reported: str
) -> None:
    player = FakePlayer()
    player.expected = expected
    state = new_state(player, config=replace(CONFIG, komi=4.5))
    ask(state, "play b e5")
    assert ask(state, "final_score") == reported
    for line in ("play w pass", "play b pass"):
        ask(state, line)
    assert ask(state, "final_score") == "B+76.5", "after two passes it counts as it stands"


def test_every_stone_has_exactly_one_status() -> None:
    generator = random.Random(5)
    state = new_state()
    for number in range(60):
        vertex = generator.choice(state.game.legal_vertices())
        ask(state, f"play {'bw'[number % 2]} {format_vertex(vertex, 9, 9)}")
    listed = " ".join(ask(state, f"final_status_list {fate}") for fate in ("alive", "seki", "dead")).split()
    stones = [name for name in (f"{c}{r}" for c in "ABCDEFGHJ" for r in range(1, 10)) if _occupied(state.game, name)]
    assert sorted(listed) == sorted(stones)
    assert len(stones) > 30


def _occupied(game: Game, name: str) -> bool:
    return game.color_at(parse_vertex(name, game.width, game.height)) != 0


def test_a_random_walk_of_play_and_undo_equals_a_replay() -> None:
    generator = random.Random(20)
    state = new_state(config=SessionConfig(width=5, height=4, rules=TROMP_TAYLOR))
    line: list[tuple[int, int]] = []
    longest = 0
    for step in range(1500):
        if generator.random() < 0.15:
            count = generator.choice([1, 1, 1, 3])
            expected = "" if count <= len(line) else "? cannot undo"
            assert ask(state, f"gg-undo {count}" if count > 1 else "undo") == expected
            if not expected:
                del line[len(line) - count :]
        else:
            color = generator.choice([BLACK, WHITE])
            vertex = generator.choice([PASS, *points(5, 4)])
            if ask(state, f"play {' bw'[color]} {format_vertex(vertex, 5, 4)}") == "":
                line.append((color, vertex))
        longest = max(longest, len(line))
        if step % 20 == 0:
            replay = Game(5, 4, rules=TROMP_TAYLOR)
            for color, vertex in line:
                replay.play(color, vertex, lenient=True)
            assert (state.game.board == replay.board).all()
            assert state.game.moves == line
    assert longest > 20


def test_a_new_board_is_announced_to_the_player() -> None:
    player = FakePlayer()
    state = new_state(player)
    ask(state, "clear_board")
    assert player.new_games == 0
    ask(state, "genmove b")
    for number, line in enumerate(("clear_board", "boardsize 9", "fixed_handicap 2"), start=1):
        assert ask(state, line)[:1] != "?"
        assert player.new_games == number


@pytest.mark.parametrize("name", ["game.sgf", "two words.sgf", "with  gap 7", "naïve.sgf"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_a_game_written_is_read_back(tmp_path: Path, name: str, quote: str) -> None:
    path = f"{quote}{tmp_path / name}{quote}"
    state = new_state()
    for line in ("komi 3.5", "set_free_handicap c3 g7", "play w e5", "play b d4", "play w pass"):
        assert ask(state, line) == ""
    assert ask(state, f"printsgf {path}") == ""
    assert (tmp_path / name).read_text(encoding="utf-8").startswith("(;")
    other = new_state(config=SessionConfig())
    assert ask(other, f"loadsgf {path}") == "black"
    assert (other.width, other.height, other.komi) == (9, 9, 3.5)
    assert other.game.moves == state.game.moves
    assert position_hash(other.game.board) == position_hash(state.game.board)
    assert ask(other, f"loadsgf {path} 1") == "white"
    assert other.game.moves == []
    assert len(other.game.setup_black) == 2
    assert ask(other, f"loadsgf {path} 2") == "black"
    assert len(other.game.moves) == 1
    assert json.loads(ask(other, "kata-get-rules")) == json.loads(CONFIG.rules.to_json())


def test_a_bad_record_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "bad.sgf").write_text("(;GM[1]SZ[99]", encoding="utf-8")
    state = new_state()
    ask(state, "play b e5")
    for path in (tmp_path / "bad.sgf", tmp_path / "bad.sgf\x00", tmp_path):
        assert ask(state, f"loadsgf {path}") == "? cannot load file"
    assert ask(state, f"printsgf {tmp_path / 'no' / 'folder.sgf'}") == "? cannot write file"
    assert state.game.move_number == 1


def test_printsgf_writes_no_pipe_and_no_device(tmp_path: Path) -> None:
    state, pipe, link = new_state(), tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)  # nobody reads it: opening it would never end
    link.symlink_to("/dev/null")
    for path in (pipe, link, Path("/dev/null"), Path("/dev/stdin"), tmp_path):
        assert ask(state, f"printsgf {path}") == "? cannot write file"
    assert (pipe.is_fifo(), link.is_symlink()) == (True, True)


def test_printsgf_replaces_a_file_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state, path = new_state(), tmp_path / "game.sgf"
    path.write_text("before")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        assert ask(state, f"printsgf {path}") == "? cannot write file"
    assert (path.read_text(), list(tmp_path.iterdir())) == ("before", [path])
    assert ask(state, f"printsgf {path}") == ""
    assert path.read_text().startswith("(;")


@pytest.mark.parametrize("given", ["1e308", "-1e308", "400.5", "-401", "1" + "0" * 300])
def test_a_komi_that_no_board_can_need_is_refused_in_words(given: str) -> None:
    state = new_state()
    assert ask(state, f"komi {given}") == "? komi must be from -400 to 400"
    assert (ask(state, "get_komi"), ask(state, "komi -400"), ask(state, "get_komi")) == ("7.5", "", "-400")
    assert ask(state, "final_score") == "B+400"


def test_a_record_of_an_absurd_komi_is_loaded_without_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    state, path = new_state(), tmp_path / "absurd.sgf"
    path.write_text("(;GM[1]SZ[25]KM[1e308];B[ee])")
    assert ask(state, f"loadsgf {path}") == "white"
    assert ask(state, "get_komi") == "7.5"
    assert "KM[1e308]: ignored" in caplog.text


@pytest.mark.parametrize(
    ("root", "is_reported"),
    [
        ("HA[3];W[ee]", True),
        ("HA[3]AW[cc];W[ee]", True),
        ("HA[3]AB[cc][gg][cg];W[ee]", False),
        ("HA[3];AB[cc][gg][cg];W[ee]", False),
        ("HA[3];B[cc];B[gg];B[cg];W[ee]", False),
        ("HA[1];W[ee]", False),
        ("HA[3]", False),
    ],
)
def test_handicap_stones_that_a_record_does_not_set_up_are_reported(
    root: str, is_reported: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "game.sgf"
    path.write_text(f"(;SZ[9]{root})")
    assert ask(new_state(), f"loadsgf {path}") in ("black", "white")
    line = f"{path}: HA[3]: the 3 handicap stones are not in the record"
    assert [record.getMessage() for record in caplog.records] == [line] * is_reported


@pytest.mark.parametrize("line", ["printsgf", "printsgf -"])
def test_printsgf_without_a_file_returns_the_record(line: str) -> None:
    state = new_state()
    ask(state, "play b e5")
    assert ";B[ee]" in ask(state, line).replace("\n", "")


def test_processor_time_is_a_number() -> None:
    assert float(ask(new_state(), "cputime")) > 0
    assert float(ask(new_state(), "gomill-cpu_time")) > 0


def test_an_unknown_rule_is_named() -> None:
    state = new_state()
    for line in ("kata-set-rules martian", "kata-set-rules {", "kata-set-rule gravity true", "kata-set-rules"):
        assert ask(state, line)[:2] == "? "
    assert state.rules == CONFIG.rules


def test_new_rules_judge_the_game_in_progress() -> None:
    state = new_state()
    ask(state, "komi 0")
    for line in ("play b e5", "play w e4", "kgs-rules japanese"):
        assert ask(state, line) == ""
    assert state.game.rules == state.rules
    assert state.game.move_number == 2


def test_the_board_is_drawn_below_the_status_line() -> None:
    pytest.importorskip("engine.records.diagram")
    state = new_state()
    ask(state, "play b e5")
    text = ask(state, "showboard")
    assert text.startswith("\n")
    assert "\n\n" not in text
    assert text.isascii()
    assert "X" in text


def test_the_player_gets_ready_for_each_new_board() -> None:
    player = FakePlayer()
    state = new_state(player)
    ask(state, "boardsize 13")
    assert player.prepared == []
    state.player_loader.get()
    ask(state, "rectangular_boardsize 7 9")
    ask(state, "clear_board")
    assert player.prepared == [(7, 9), (7, 9)]
