"""Q-learning: what a target is, what may be played, and that learning shows."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")

import torch
from click.testing import CliRunner

from engine.train.cli import train
from engine.train.study.dqn import Learner, QNet, Table, Transition, choose, masked_best, targets
from engine.train.study.dqn_settings import DqnSettings

TINY = DqnSettings(size=3, games=20, at_once=4, channels=8, layers=2, batch=16, returns=2)


class FixedNet(QNet):
    """Answers every position with the same values."""

    def __init__(self, values: list[float]) -> None:
        super().__init__(1, TINY)
        self.values = torch.tensor(values)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.values.expand(len(inputs), -1)


def test_the_best_move_is_an_allowed_one_even_if_all_of_these_are_bad() -> None:
    values = torch.tensor([[0.5, -0.9, -0.2], [0.5, -0.9, -0.2]])
    allowed = torch.tensor([[False, True, True], [True, False, False]])
    assert masked_best(values, allowed).tolist() == [2, 0]


def test_the_network_chooses_and_its_copy_values() -> None:
    later = (np.zeros((1, 1, 2), np.float32), np.array([True, True, False]))
    batch = [Transition(later[0], 0, later, 1.0), Transition(later[0], 1, None, -1.0)]
    online, copy = FixedNet([0.1, 0.7, 0.9]), FixedNet([0.6, 0.25, -0.5])
    assert targets(batch, online, copy, 1.0).tolist() == [0.25, -1.0]
    assert targets(batch, online, copy, -1.0).tolist() == [-0.25, -1.0]


def test_only_legal_moves_that_fill_no_eye_are_chosen() -> None:
    table, generator = Table(TINY, 8), np.random.default_rng(1)
    net = QNet(table.planes, TINY)
    for _ in range(12):
        inputs, allowed = table.look()
        assert allowed.any(axis=1).all()
        for row, action in enumerate(choose(net, inputs, allowed, 0.5, generator).tolist()):
            assert allowed[row, action]
            if not table.is_over(table.games[row]):
                table.play(row, action)


def test_results_speak_for_the_mover() -> None:
    learner = Learner(TINY)
    learner.run(lambda games, loss: None)
    ends = [each for each in learner.memory if each.later is None]
    assert ends
    assert {each.result for each in ends} == {1.0, -1.0}
    assert learner.steps > 0


def test_epsilon_falls_over_the_first_half() -> None:
    settings = DqnSettings(games=100)
    assert [settings.epsilon_after(games) for games in (0, 25, 50, 100)] == pytest.approx([1.0, 0.55, 0.1, 0.1])


def test_no_game_is_played_beyond_those_asked_for() -> None:
    learner = Learner(replace(TINY, games=5, at_once=4, longest=1.0))
    learner.run(lambda games, loss: None)
    assert learner.played == 5


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("at_once=0", "at_once: expected an integer, 1 or more, got 0"),
        ("plies_a_step=0", "plies_a_step: expected an integer, 1 or more, got 0"),
        ("layers=0", "layers: expected an integer, 1 or more, got 0"),
        ("encoder=foo", "encoder: expected .* got 'foo'"),
        ("size=30", "size: expected an integer from 1 to 25, got 30"),
        ("memory=100", "memory: expected a batch, 128, or more, got 100"),
        ("epsilon=1.5", "epsilon: expected a number from 0 to 1, got 1.5"),
        ("seed=-1", "seed: expected an integer, 0 or more, got -1"),
    ],
)
def test_settings_that_cannot_be_learned_with_are_one_line(tmp_path: Path, setting: str, message: str) -> None:
    result = CliRunner().invoke(train, ["dqn", str(tmp_path / "run"), "--set", setting])
    assert result.exit_code == 1
    assert re.search(f"^Error: --set: {message}", result.stderr)
    assert not (tmp_path / "run").exists()


def test_a_run_leaves_its_network_and_figures_and_is_not_resumed(tmp_path: Path) -> None:
    words = ["dqn", str(tmp_path / "run"), "--test-games", "4"]
    words += ["--set", "size=3", "--set", "games=8", "--set", "channels=4"]
    result = CliRunner().invoke(train, words)
    assert result.exit_code == 0, result.output
    lines = (tmp_path / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert 0 <= json.loads(lines[-1])["against_random"] <= 1
    assert (tmp_path / "run" / "dqn.safetensors").stat().st_size > 1000
    again = CliRunner().invoke(train, words)
    assert again.exit_code == 1
    assert "cannot be resumed" in again.output
