"""Several processes train the network of `keima zero` together, and what one of them fails of is said."""

import os
from functools import partial
from pathlib import Path
from threading import Event
from typing import cast

import pytest

from engine.errors import GoError
from engine.train.generations.trainers import together
from engine.train.generations.zero_config import CONFIG, read_config, read_file
from engine.train.generations.zero_state import State, read_steps
from engine.train.toml_settings import ConfigError
from tests.train.generations.zero_runs import finish, networks

torch = pytest.importorskip("torch", reason="torch is not installed")

from engine.train.games.selfplay_workers import SelfplayWorkers  # noqa: E402
from engine.train.generations import training  # noqa: E402
from engine.train.generations.training import begun_at, check_trainers  # noqa: E402
from engine.train.generations.zero_steps import LocalSteps  # noqa: E402
from engine.train.learning.device_batch import TrainingError  # noqa: E402
from engine.train.learning.devices import Devices  # noqa: E402
from tests.train.random_data import figures_of, tiny_config  # noqa: E402


def _works() -> None:
    pass


def _sum_of_ranks(folder: Path) -> None:
    with Devices(tiny_config()) as devices:
        total = devices.mean(float(devices.rank)) * devices.world
        (folder / str(devices.rank)).write_text(f"{total:.0f} of {devices.world}")


def _fails_before() -> None:
    raise TrainingError("no GPU here")


def _fails_within() -> None:
    with Devices(tiny_config()) as devices:
        if devices.rank == 1:
            raise TrainingError("the gradient is not finite")
        devices.wait()


def test_processes_work_together_and_the_environment_is_as_before(tmp_path: Path) -> None:
    before = dict(os.environ)
    with together(3, _works, partial(_sum_of_ranks, tmp_path)):
        assert os.environ["WORLD_SIZE"] == "3"
        _sum_of_ranks(tmp_path)
    assert dict(os.environ) == before
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys("012", "3 of 3")


def test_what_keeps_another_process_from_working_is_said_before_any_works() -> None:
    with pytest.raises(GoError, match="no GPU here"), together(2, _fails_before, _works):
        pytest.fail("the work has begun")


def test_what_another_process_fails_of_is_said_in_place_of_the_lost_connection() -> None:
    with pytest.raises(GoError, match="the gradient is not finite"), together(2, _works, _fails_within):
        _fails_within()


@pytest.mark.timeout(600)
def test_a_run_trains_in_two_processes_and_goes_on_with_one(tmp_path: Path) -> None:
    two = ("run.trainers=2", "gate.games=0", "rating.every=0")
    finish(tmp_path, 1, *two)
    (line,) = (each for each in read_steps(tmp_path / "steps.jsonl") if each["step"] == "train")
    assert line["sitting_samples"] == line["steps"] * 16 * 2
    steps, samples = (figures_of(tmp_path / "train", name) for name in ("step", "samples"))
    assert samples == [each * 16 * 2 for each in steps]
    finish(tmp_path, 2, "run.trainers=1", *two[1:])
    assert list(networks(tmp_path)) == [f"gen-{each:04d}.safetensors" for each in range(3)]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_with_more_processes_a_generation_that_has_its_steps_already_takes_none_of_the_next(tmp_path: Path) -> None:
    finish(tmp_path, 1, "run.trainers=1", "gate.games=0", "rating.every=0")
    begun = begun_at(tmp_path / "train")
    (tmp_path / "steps.jsonl").unlink()  # killed after the last checkpoint
    config = read_file(tmp_path / CONFIG, ["run.trainers=2"])
    steps = LocalSteps(tmp_path, config, Event(), lambda _: None, lambda: 0.0, cast(SelfplayWorkers, None))
    found = steps.train(State(1, "train", 0))
    assert (found["steps"], found["sitting_samples"]) == (begun, 0)


def test_a_run_with_more_trainers_than_the_machine_can_start_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "usable_cores", lambda: 4)
    monkeypatch.setattr(training, "gpus", lambda: 0)
    check_trainers(read_config("tiny", ["run.trainers=4"]))
    with pytest.raises(ConfigError, match=r"run\.trainers: expected at most 4 on this machine, got 999"):
        check_trainers(read_config("tiny", ["run.trainers=999"]))
