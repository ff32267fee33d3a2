"""`keima selfplay --teacher`: a program's moves are played to explore, and are no samples."""

from pathlib import Path

from click.testing import CliRunner

from engine.train.games.selfplay_cli import selfplay
from tests.train.teaching.test_gtp_teacher import fake

TINY = ["full_visits=2", "quick_visits=2", "full_share=1.0", "games_at_once=2", "longest=0.4", "opening_share=0.0"]


def test_the_teacher_plays_what_exploration_leaves_to_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    words = [str(tmp_path / "out"), "--net", "none", "--blocks", "1", "--channels", "4", "--games", "2", "--size", "5"]
    words += [word for text in [*TINY, "exploration.start=1.0", "exploration.hints=1.0"] for word in ("--set", text)]
    words += ["--backend", "openvino", "--precision", "fp32", "--threads", "1"]
    result = CliRunner().invoke(selfplay, [*words, "--teacher", fake("reg_genmove", log=str(log))])
    assert result.exit_code == 0, result.output
    assert log.read_text(encoding="utf-8").count("reg_genmove") >= 10
    assert (tmp_path / "out" / "games.sgfl").read_text(encoding="utf-8").count("\n") == 2
    assert not list((tmp_path / "out").glob("5x5/*.safetensors")), "no ply was the search's own"


def test_a_teacher_without_exploration_is_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(selfplay, [str(tmp_path / "out"), "--net", "none", "--teacher", "x"])
    assert result.exit_code == 2
    assert "exploration.start" in result.output
