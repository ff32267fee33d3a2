"""The picture of a training run."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.errors import GoError
from engine.train.learning.metrics import read_metrics
from engine.train.learning.plot import moving_average, plot_run
from tests.train.random_data import MadeUpSource, learnable_samples, tiny_config

PNG = b"\x89PNG"


def write_metrics(run: Path) -> None:
    lines = [
        {"step": step, "loss": 4.0 / step, "accuracy": 0.01 * step, "learning_rate": 1e-3} for step in range(1, 50)
    ]
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"step": 50, "lo')


def test_a_run_becomes_a_png(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    run = tmp_path / "a$^$b"
    run.mkdir()
    write_metrics(run)
    picture = plot_run(run)
    assert picture.startswith(PNG)
    assert len(picture) > 10_000


def test_every_part_of_the_loss_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures: list[Any] = []
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    pytest.importorskip("torch", reason="torch is not installed")
    from engine.train.learning.train import train
    from tests.train.learning.test_optimism import spec

    heads = ("soft_policy", "score_distribution", "short_value", "short_score")
    config = tiny_config(steps=2, **{f"{name}_weight": 0.1 for name in heads})
    samples = learnable_samples(16, 1)
    known = {"weights": np.ones_like(samples.weights), "later": np.full_like(samples.later, 0.25)}
    train(config, MadeUpSource(samples=samples.with_arrays(known)), tmp_path, start=spec())
    monkeypatch.setattr("engine.train.learning.plot.png", lambda figure: figures.append(figure) or PNG)
    plot_run(tmp_path)
    drawn = {line.get_label() for axes in figures[0].axes for line in axes.lines}
    losses = {name for name in read_metrics(tmp_path)[-1] if f"{name}_weight" in vars(config)} | {"soft_reply"}
    assert {*heads, "value_error", "score_error", "optimistic_policy", "ownership"} <= losses
    assert {name.replace("_", " ") for name in losses} <= drawn


def test_metrics_of_another_kind_of_run_are_named(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"games": 250, "steps": 30, "loss": 0.1}\n')
    with pytest.raises(GoError, match=r"metrics\.jsonl:1: expected metrics of keima train run, with a step"):
        plot_run(tmp_path)


def test_a_damaged_line_of_metrics_is_named(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "loss": 0.1}\ngarbage\n')
    with pytest.raises(GoError, match=r"metrics\.jsonl:2: no metrics"):
        plot_run(tmp_path)


def test_a_folder_without_metrics_is_named(tmp_path: Path) -> None:
    with pytest.raises(GoError, match=r"metrics\.jsonl: no metrics"):
        plot_run(tmp_path)


def test_without_matplotlib_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_metrics(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(GoError, match=r"pip install 'keima\[plot\]'"):
        plot_run(tmp_path)


def test_the_moving_average_looks_back_only() -> None:
    assert moving_average([2.0, 4.0, 6.0, 8.0], 2) == [2.0, 3.0, 5.0, 7.0]
    assert moving_average([2.0, 4.0, 6.0], 10) == [2.0, 3.0, 4.0]
