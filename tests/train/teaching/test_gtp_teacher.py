"""Programs as teachers: the best command they list is used, what they refuse stays unknown, crashes are survived."""

import os
import shlex
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from engine.color import BLACK, WHITE
from engine.game import Game
from engine.programs.program import ProgramFailure
from engine.train.teaching.gtp_teacher import PATIENCE, Advice, GtpProgram, GtpTeacher
from engine.train.teaching.labelling import Position, teacher_batch
from engine.train.teaching.teacher import OUTCOME, OWNERSHIP, POLICY, SCORE, Labels, TeacherError
from engine.vertex import PASS, parse_vertex
from tests.positions import game_of

SIZE = 5
FAKE = Path(__file__).with_name("fake_teacher.py")
A1 = (SIZE - 1) * SIZE
"""Policy index of A1."""


def fake(also: str, *words: str, **options: str) -> str:
    command = [sys.executable, "-E", "-S", str(FAKE), "--also", also, *words]
    return shlex.join(command + [part for name, text in options.items() for part in (f"--{name}", text)])


def game_after(moves: str) -> Game:
    return game_of(moves, SIZE)


@contextmanager
def teaching(command: str, **options: int) -> Iterator[GtpTeacher]:
    teacher = GtpTeacher(command, seconds=20.0, **options)
    try:
        yield teacher
    finally:
        teacher.close()


def labels_of(command: str, games: list[Game], **options: int) -> Labels:
    with teaching(command, **options) as teacher:
        return teacher.label(teacher_batch([Position(game, PASS, None, None, 1) for game in games]))


def test_a_network_answer_is_turned_to_the_side_to_move() -> None:
    labels = labels_of(fake("genmove kata-raw-nn"), [game_after(""), game_after("C3")])
    assert not labels.searched
    assert labels.known.all()
    assert labels.policy[0, [A1, SIZE * SIZE]].tolist() == [0.75, 0.25]
    assert np.allclose(labels.outcome, [[0.2, 0.7, 0.1], [0.7, 0.2, 0.1]])
    assert labels.score.tolist() == [-0.5, 1.5]
    assert labels.ownership[:, 0].tolist() == [0.5, -0.5]


@pytest.mark.parametrize("command", ["kata-search_analyze", "kata-genmove_analyze"])
def test_a_search_gives_its_visits_as_policy_and_changes_no_game(command: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    game = game_after("C3 D3")
    labels = labels_of(fake(f"genmove undo kata-set-param {command}", log=str(log)), [game, game], visits=5)
    assert labels.policy[1, [A1, SIZE * SIZE]].tolist() == [0.75, 0.25]
    assert labels.outcome[0].tolist() == [0.625, 0.375, 0.0]
    assert (labels.score[0], labels.ownership[0, 0]) == (2.5, 0.25)
    said = log.read_text(encoding="utf-8").split("\n")
    assert said.count("undo") == (2 if "genmove" in command else 0)
    assert said.count("play black C3") == 1


@pytest.mark.parametrize("command", ["kata-search_analyze", "kata-genmove_analyze"])
@pytest.mark.parametrize("view", ["black", "white"])
def test_figures_are_those_of_the_side_to_move_whatever_view_a_program_has(command: str, view: str) -> None:
    program = fake(f"genmove undo kata-set-param {command}", view=view)
    labels = labels_of(program, [game_after("C3"), game_after("C3 D3")], visits=5)
    assert labels.searched
    assert labels.outcome.tolist() == [[0.625, 0.375, 0.0]] * 2
    assert labels.score.tolist() == [2.5, 2.5]
    assert labels.ownership[:, 0].tolist() == [0.25, 0.25]


def test_figures_in_a_view_that_cannot_be_known_stay_unknown() -> None:
    labels = labels_of(fake("kata-set-param kata-search_analyze", view="nobody"), [game_after("C3")], visits=5)
    assert np.flatnonzero(labels.known[0]).tolist() == [POLICY]


@pytest.mark.parametrize(
    ("also", "refuse"),
    [("kata-set-param kata-search_analyze", "kata-set-param"), ("kata-search_analyze", ""), ("kata-set-param", "")],
)
def test_a_program_that_takes_no_visits_is_no_teacher_by_search(also: str, refuse: str) -> None:
    with pytest.raises(TeacherError, match="does not take 5 visits"):
        labels_of(fake(also, refuse=refuse), [game_after("C3")], visits=5)


@pytest.mark.parametrize(("also", "undone"), [("reg_genmove undo", 0), ("genmove undo", 2), ("genmove", 0)])
def test_a_move_and_a_score_are_what_a_plain_program_knows(also: str, undone: int, tmp_path: Path) -> None:
    log = tmp_path / "log"
    labels = labels_of(fake(f"{also} estimate_score", log=str(log)), [game_after("C3"), game_after("C3 A1")])
    assert labels.known.tolist() == [[True, False, True, False]] * 2
    assert labels.policy.argmax(axis=1).tolist() == [A1, A1 + 1]
    assert labels.score.tolist() == [-3.5, 3.5]
    assert log.read_text(encoding="utf-8").split("\n").count("undo") == undone


def test_a_program_that_cannot_undo_is_told_the_game_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    labels_of(fake("genmove", log=str(log)), [game_after("C3"), game_after("C3")])
    assert log.read_text(encoding="utf-8").split("\n").count("clear_board") == 2


@pytest.mark.parametrize(
    ("refused", "known"),
    [("estimate_score", POLICY), ("reg_genmove", SCORE)],
)
def test_what_is_refused_stays_unknown(refused: str, known: int) -> None:
    labels = labels_of(fake("reg_genmove estimate_score", refuse=refused), [game_after("")])
    assert np.flatnonzero(labels.known[0]).tolist() == [known]


@pytest.mark.parametrize("move", ["resign", "C3", "Z99", ""])
def test_no_move_is_made_of_a_resignation_or_of_what_cannot_be_played(move: str) -> None:
    labels = labels_of(fake("reg_genmove", move=move or "?"), [game_after("C3")])
    assert not labels.known[0, POLICY]


def test_a_refused_position_stays_unknown() -> None:
    assert not labels_of(fake("reg_genmove kata-raw-nn", refuse="play"), [game_after("C3")]).known.any()


def test_setup_stones_and_komi_are_told_the_opponent_of_the_first_player_last(tmp_path: Path) -> None:
    game, log = Game(SIZE, komi=0.5), tmp_path / "log"
    game.setup([parse_vertex("A1", SIZE, SIZE)], [parse_vertex("B2", SIZE, SIZE)], to_play=WHITE)
    labels = labels_of(fake("genmove kata-raw-nn", log=str(log)), [game])
    said = log.read_text(encoding="utf-8").split("\n")
    assert said[1:7] == ["boardsize 5", "clear_board", "komi 0.5", "play white B2", "play black A1", "kata-raw-nn 0"]
    assert labels.outcome[0, 0] == pytest.approx(0.7)


def test_a_crash_costs_one_position_and_the_program_is_started_again(tmp_path: Path) -> None:
    command = fake("reg_genmove", "--crash", str(tmp_path / "count"), "1")
    labels = labels_of(command, [game_after("C3"), game_after("C3 D4")])
    assert labels.known[:, POLICY].tolist() == [False, True]


def test_a_program_that_keeps_crashing_is_no_teacher(tmp_path: Path) -> None:
    command = fake("reg_genmove", "--crash", str(tmp_path / "count"), "99")
    with pytest.raises(TeacherError, match=rf"failed {PATIENCE} times in a row.*out of ideas"):
        labels_of(command, [game_after("C3")] * PATIENCE)


def test_a_lost_teacher_is_not_asked_again(tmp_path: Path) -> None:
    question = teacher_batch([Position(game_after("C3"), PASS, None, None, 1)] * PATIENCE)
    with teaching(fake("reg_genmove", "--crash", str(tmp_path / "count"), "99")) as teacher:
        for _ in range(2):
            with pytest.raises(TeacherError, match=f"failed {PATIENCE} times in a row"):
                teacher.label(question)
    assert (tmp_path / "count").read_text(encoding="utf-8") == str(PATIENCE)


def test_positions_after_a_stop_stay_unknown() -> None:
    stop = threading.Event()
    stop.set()
    with teaching(fake("reg_genmove")) as teacher:
        assert not teacher.label(teacher_batch([Position(game_after("C3"), PASS, None, None, 1)]), stop).known.any()


def test_a_teacher_that_cannot_be_started_is_an_error_at_once() -> None:
    with pytest.raises(TeacherError, match=r"cannot start '\./no-such-program'"):
        GtpTeacher("./no-such-program")


def test_several_programs_share_the_positions() -> None:
    labels = labels_of(fake("kata-raw-nn"), [game_after("C3")] * 5, programs=2)
    assert labels.known.all()


def test_advice_is_a_move_or_nothing(tmp_path: Path) -> None:
    advice = Advice(fake("reg_genmove"))
    assert advice(game_after("C3")) == parse_vertex("A1", SIZE, SIZE)
    advice.close()
    crashing = Advice(fake("reg_genmove", "--crash", str(tmp_path / "count"), "99"))
    assert [crashing(game_after("")) for _ in range(PATIENCE - 1)] == [None] * (PATIENCE - 1)
    with pytest.raises(TeacherError, match=f"failed {PATIENCE} times in a row"):
        crashing(game_after(""))


def test_advice_of_a_program_that_cannot_be_started_is_an_error_at_once() -> None:
    with pytest.raises(TeacherError, match=r"cannot start '\./no-such-program'"):
        Advice("./no-such-program")


def test_a_program_that_fails_as_it_starts_is_ended(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    with pytest.raises(ProgramFailure, match="no answer in time"):
        GtpProgram(shlex.join(["sh", "-c", f"echo $$ > {pid}; exec sleep 60"]), seconds=0.5).start()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text(encoding="utf-8")), 0)


def test_labels_know_nothing_by_columns_they_do_not_have() -> None:
    labels = labels_of(fake("genmove undo"), [game_after("")])
    assert not labels.known[0, [OUTCOME, SCORE, OWNERSHIP]].any()
    assert game_after("").to_play == BLACK
