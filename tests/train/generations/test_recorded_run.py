"""What a run of `keima zero` on 5x5, recorded as it was stopped in the ratings of generation 8, shows of itself."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from engine.train.cli import train
from engine.train.generations import progress_plot
from engine.train.generations.progress_plot import plot_progress
from engine.train.generations.zero_cli import zero
from engine.train.generations.zero_progress import read_progress

ROWS = (
    "now │ rating of generation 8; generation 8 plays",
    "hours │ 0.22",
    "of which │ selfplay 33 %, train 19 %, gate 32 %, rating 15 %",
    "games │ 800",
    "new samples/s │ 16.30",
    "game length │ 13.9 moves, up from 13.1",
    "resignations │ 4.0%, wrong 0.0% of 1",
    "Black won │ 51.7%, mean komi 0.5",
    "loss │ 4.792, steady",
    "policy entropy │ 2.593, up from 2.575",
    "Elo above gen-0000 │ +341 (+115 to +601) for generation 6, +17 since 4",
    "last gate │ generation 8: 75 % of 12 (47-91) yes",
    "│ 5 │ 0.07 │ 100 │ 507 │ 4.8967 │ 50 % of 20 (30-70) no │",
    "│ rollout-20 │ gen-0006 │ +3 -7 =0 │ +558 │",
)
TITLES = [
    "Elo above the first network",
    "loss",
    "samples/s and evaluations/s",
    "game length, moves",
    "games, %",
    "entropy of the policy, nats",
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return Path(shutil.copytree(Path(__file__).with_name("recorded_run"), tmp_path / "run"))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_status_is_read_from_the_files_and_changes_none(run: Path) -> None:
    with (run / "steps.jsonl").open("a") as file:
        file.write('{"generation": 8, "st')  # a line that is being written
    before = contents(run)
    result = CliRunner().invoke(zero, [str(run), "--status"])
    assert result.exit_code == 0, result.output
    assert contents(run) == before
    lines = [" ".join(line.split()) for line in result.output.splitlines()]
    assert f"`keima zero {run}` continues it" in lines[0]
    for row in ROWS:
        assert any(row in line for line in lines), row


def test_the_picture_has_every_kind_of_number(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    figures: list[Any] = []
    monkeypatch.setattr(progress_plot, "png", lambda figure, dpi: figures.append(figure) or b"")
    progress = read_progress(run)
    plot_progress(progress, "a$^$b")
    panels = {axes.get_title(): axes for axes in figures[0].axes if axes.get_visible()}
    assert list(panels) == TITLES
    assert {axes.get_xlabel() for axes in panels.values()} == {"minutes"}
    for title, axes in panels.items():
        assert all(len(line.get_xdata()) > 1 for line in axes.get_lines()), title
    (length,) = panels["game length, moves"].get_lines()
    assert list(length.get_ydata()) == [line["mean_length"] for line in progress.lines("selfplay")]


def test_the_picture_is_drawn_where_it_is_asked_for(run: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    result = CliRunner().invoke(train, ["plot", str(run)])
    assert result.output == f"{run / 'progress.png'}\n"
    assert (run / "progress.png").read_bytes().startswith(b"\x89PNG")


def test_a_training_run_within_it_is_one_of_its_own(run: Path) -> None:
    result = CliRunner().invoke(train, ["run", str(run / "train"), "--status"])
    assert result.exit_code == 0, result.output
    shown = " ".join(result.output.split())
    assert "step │ 400 of 1,000,000" in shown
    assert "loss │ 4.792, down from 4.826" in shown
