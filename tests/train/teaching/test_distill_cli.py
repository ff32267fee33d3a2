"""`keima distill` from the command line: sources, teachers, refusals."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from engine.encoders import ENCODERS
from engine.evaluators import kernel_backend
from engine.nets.random import random_spec
from engine.records.sgf_writer import write_game
from engine.train.data.held_out import is_held_out
from engine.train.data.samples import read_shard
from engine.train.teaching.distill_cli import distill
from tests.positions import random_game
from tests.train.teaching.test_gtp_teacher import fake
from weights import native

SIZE = 5


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """Return a file of ten games of 8 moves."""
    path = tmp_path / "games.sgfl"
    lines = [write_game(random_game(seed, SIZE, moves=8), result="B+3.5").replace("\n", "") for seed in range(10)]
    assert not any(is_held_out(line.encode()) for line in lines)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def run(*words: object) -> Result:
    return CliRunner().invoke(distill, [str(word) for word in words])


def test_a_gtp_program_labels_records(records: Path, tmp_path: Path) -> None:
    result = run(tmp_path / "out", "--teacher", fake("reg_genmove estimate_score"), "--records", records)
    assert result.exit_code == 0, result.output
    assert "80 positions of 10 games; 0 games held out, 0 unusable" in result.stderr
    samples = read_shard(next((tmp_path / "out").glob("5x5/*.safetensors")))
    assert len(samples) == 80
    assert set(abs(samples.score).tolist()) == {3.5}


def test_a_network_that_ships_labels_records_by_its_name(tmp_path: Path) -> None:
    record = tmp_path / "a.sgf"
    record.write_text("(;SZ[9]KM[7]RE[B+R];B[ee];W[eg];B[gf])")
    result = run(tmp_path / "out", "--teacher", "zero9", "--records", record, "--threads", 1)
    assert result.exit_code == 0, result.output
    assert "of 1 games" in result.stderr


def test_a_run_goes_on_in_the_number_format_in_which_it_began(
    records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = tmp_path / "net.safetensors"
    native.write(random_spec(1, 4, ENCODERS["katago-v7"], 1, head_channels=2), net)
    words = ("--teacher", net, "--records", records, "--threads", 1)
    assert run(tmp_path / "out", *words, "--positions", 20, "--precision", "fp32").exit_code == 0
    monkeypatch.setattr(kernel_backend, "automatic_precisions", lambda spec: ("fp32", "int16"))
    again = run(tmp_path / "out", *words, "--positions", 40)
    assert again.exit_code == 0, again.output
    other = run(tmp_path / "out", *words, "--positions", 60, "--precision", "int16")
    assert "teacher was" in other.stderr


def test_playouts_label_the_games_of_self_play_once(records: Path, tmp_path: Path) -> None:
    words = ("--teacher", "playouts", "--visits", 4, "--per-game", 2, "--encoder", "oneplane")
    result = run(tmp_path / "out", *words, "--samples", records.parent)
    assert result.exit_code == 0, result.output
    assert "20 positions of 10 games" in result.stderr
    again = run(tmp_path / "out", *words, "--samples", records.parent)
    assert "20 positions of 10 games" in again.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--teacher", "no-such-program"], "nothing to label: give --records"),
        (["--teacher", "no-such-program", "--records", "."], "no teacher: cannot start 'no-such-program'"),
        (["--teacher", "playouts", "--records", "."], "--teacher playouts needs --visits"),
        (["--teacher", "playouts", "--visits", "4", "--samples", "{empty}"], "expected games.sgfl of self-play"),
        (["--teacher", "playouts", "--visits", "4", "--records", ".", "--shaping", "0.5"], "say how many"),
        (["--teacher", "playouts", "--visits", "4", "--records", "{empty}"], "no position to label in "),
        (["--teacher", "playouts", "--visits", "4", "--records", ".", "--encoder", "none"], "unknown encoder 'none'"),
        (["--teacher", "playouts", "--visits", "4", "--records", "{empty}/x.sgf"], "does not exist"),
        (["--teacher", "playouts", "--visits", "4", "--records", ".", "--hang", "9"], "--hang does nothing with --tea"),
        (["--teacher", "zero9", "--records", ".", "--programs", "2"], "--programs does nothing with a network"),
        (["--teacher", "zero9", "--visits", "4", "--records", ".", "--symmetries", "2"], "nothing with --visits"),
        (["--teacher", "x", "--records", ".", "--precision", "fp32"], "--precision does nothing with a GTP program"),
        (["--teacher", "x", "--records", ".", "--human-profile", "rank_5k"], "--human-profile does nothing with a GTP"),
        (["--teacher", "x", "--records", ".", "--seed", "-1"], "expected an integer, 0 or more, got '-1'"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(words: list[str], message: str, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    result = run(tmp_path / "out", *(word.replace("{empty}", str(empty)) for word in words))
    assert result.exit_code in (1, 2)
    assert message in " ".join(result.stderr.replace("\n", " ").split())
    assert "Traceback" not in result.output


def test_a_folder_of_another_teacher_is_refused(records: Path, tmp_path: Path) -> None:
    first = run(tmp_path / "out", "--teacher", fake("reg_genmove"), "--records", records)
    assert first.exit_code == 0, first.output
    result = run(tmp_path / "out", "--teacher", fake("genmove undo"), "--records", records)
    assert result.exit_code == 1
    assert "teacher was" in result.stderr


def test_another_network_of_the_same_name_is_refused(records: Path, tmp_path: Path) -> None:
    words = ("--records", records, "--threads", 1)
    for number, folder in enumerate((tmp_path / "one", tmp_path / "two")):
        folder.mkdir()
        native.write(random_spec(1, 4, ENCODERS["katago-v7"], number), folder / "same.net")
    assert run(tmp_path / "out", "--teacher", tmp_path / "one" / "same.net", *words).exit_code == 0
    result = run(tmp_path / "out", "--teacher", tmp_path / "two" / "same.net", *words)
    assert result.exit_code == 1
    assert "teacher was 'same.net " in result.stderr


def test_a_game_of_another_board_does_not_end_a_run(tmp_path: Path) -> None:
    (tmp_path / "a.sgfl").write_text("(;SZ[25]RE[B+R];B[ee];W[eg])\n(;SZ[9]RE[B+R];B[ee];W[eg])\n", encoding="utf-8")
    result = run(tmp_path / "out", "--teacher", "zero9", "--records", tmp_path / "a.sgfl", "--threads", 1)
    assert result.exit_code == 0, result.output
    assert "2 positions of 2 games; 0 games held out, 1 unusable (a board of 25x25, where " in result.stderr
