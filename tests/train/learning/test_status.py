"""What a run of `keima train run` shows of itself, from its files alone."""

import io
import json
from pathlib import Path

import pytest

from engine.errors import GoError
from engine.support.tables import print_tables
from engine.train.learning.status import seconds_left, status


def run_with(folder: Path, losses: list[float], **more: float) -> Path:
    """Write the files of a run of 100 steps with 8 samples a step, 40 samples a second and a line each step."""
    folder.mkdir()
    (folder / "config.toml").write_text("steps = 100\nbatch_size = 8\n")
    lines = [
        {"step": n, "loss": loss, "accuracy": 0.25, "samples_per_s": 40.0, "learning_rate": 1e-3, "data_wait": 0.01}
        | {"samples": 8 * n, "seconds": 0.2 * n}
        | more
        for n, loss in enumerate(losses, 1)
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def shown(folder: Path) -> str:
    """Return the status as lines with single spaces."""
    screen = io.StringIO()
    print_tables(screen, status(folder))
    return "\n".join(" ".join(line.split()) for line in screen.getvalue().splitlines())


def test_a_run_says_how_far_how_fast_and_where_its_losses_go(tmp_path: Path) -> None:
    text = shown(run_with(tmp_path / "run", [3.0] * 30 + [2.5] * 3 + [2.0] * 3))
    assert "run stopped 0 s ago; `keima train run" in text
    for row in (
        "step │ 36 of 100",
        "left │ 13 s, until",
        "samples │ 288",
        "samples/s │ 40.0, steady",
        "loss │ 2.000, down from 2.500",
        "top-1 accuracy │ 0.250, steady",
        "learning rate │ 0.001",
    ):
        assert row in text
    assert "Warning" not in text


def test_a_complete_run_is_said_to_be(tmp_path: Path) -> None:
    text = shown(run_with(tmp_path / "run", [3.0] * 100))
    assert "run is complete" in text
    assert "left" not in text


@pytest.mark.parametrize(
    ("losses", "more", "warning"),
    [
        ([3.0, 3.3], {}, "Warning: the loss rose from 3.000 to 3.300; try a lower learning rate."),
        ([3.0, 3.0], {"data_wait": 0.4}, "Warning: training waits for batches 40% of the time."),
    ],
)
def test_what_needs_a_look_is_a_warning(
    tmp_path: Path, losses: list[float], more: dict[str, float], warning: str
) -> None:
    assert warning in shown(run_with(tmp_path / "run", losses, **more))


def test_a_run_without_a_line_is_shown(tmp_path: Path) -> None:
    text = shown(run_with(tmp_path / "run", []))
    assert "step │ 0 of 100" in text


def test_the_time_left_ends_with_the_hours_of_the_run() -> None:
    line = {"step": 10.0, "samples": 80.0, "samples_per_s": 40.0, "seconds": 2.0}
    assert seconds_left([line], 110) == pytest.approx(20.0)
    assert seconds_left([line], 110, limit=5.0) == pytest.approx(3.0)
    assert seconds_left([], 110) is None


def test_a_folder_without_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(GoError, match="contains no run"):
        status(tmp_path)
