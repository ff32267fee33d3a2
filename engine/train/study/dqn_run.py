"""Implements `keima train dqn`: runs Q-learning in a folder, with tests against random moves at intervals."""

from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

import safetensors.torch

from engine.errors import GoError
from engine.support.files import append_line, write_atomically
from engine.support.json_text import json_text
from engine.support.run_kinds import DQN, claimed_run
from engine.train.study.dqn import Learner, share_against_random
from engine.train.study.dqn_settings import DqnSettings
from engine.train.toml_settings import from_table, overridden

FORMAT = "keima-dqn"


def cli_dqn(options: dict[str, Any], stdout: IO[str]) -> int:
    """Run the command and return its exit status. Raises GoError on bad settings or a folder that contains a run."""
    settings = from_table(DqnSettings, overridden(DqnSettings, {}, options["settings"]), "--set")
    folder: Path = options["run"]
    with claimed_run(folder, DQN):
        _learn(folder, settings, options, stdout)
    return 0


def _learn(folder: Path, settings: DqnSettings, options: dict[str, Any], stdout: IO[str]) -> None:
    if (folder / "metrics.jsonl").exists():
        raise GoError(f"{folder} already contains a run, and Q-learning cannot be resumed; use another folder")
    learner = Learner(settings)
    tested = 0

    def test(loss: float) -> None:
        share = share_against_random(learner.net, settings, options["test_games"])
        line = {"games": learner.played, "steps": learner.steps, "loss": round(loss, 5), "against_random": share}
        append_line(folder / "metrics.jsonl", json_text(line))
        stdout.write(f"{learner.played} games: loss {loss:.4f}, {100 * share:.1f} % against random moves\n")
        stdout.flush()

    def report(played: int, loss: float) -> None:
        nonlocal tested
        if played - tested >= options["every"] or played >= settings.games:
            tested = played
            test(loss)

    learner.run(report)
    tensors = {name: tensor.contiguous() for name, tensor in learner.net.state_dict().items()}
    data = safetensors.torch.save(tensors, {FORMAT: json_text(asdict(settings))})
    write_atomically(folder / "dqn.safetensors", data)
