"""The steps of a generation by the files of the run folder, with made-up workers in place of self-play."""

import threading
from pathlib import Path
from typing import Any

import pytest

from engine.errors import GoError
from engine.support.files import whole_lines
from engine.train.data.samples import empty_samples, write_shard
from engine.train.games.selfplay_settings import SelfplaySettings
from engine.train.games.selfplay_stats import SelfplayStats
from engine.train.generations.first_network import make_first_network
from engine.train.generations.gate import Gate, write_gate
from engine.train.generations.zero_config import read_config
from engine.train.generations.zero_state import State, add_step
from engine.train.generations.zero_steps import LocalSteps, network_file


class Workers:
    """Play nothing, and note what they were asked for."""

    def __init__(self) -> None:
        self.settings: list[SelfplaySettings] = []
        self.lines: list[str] = []

    def play(
        self, settings: SelfplaySettings, make: object, folder: Path, games: int, seed: int, **_: Any
    ) -> SelfplayStats:
        self.settings.append(settings)
        self.lines = whole_lines(folder / "games.sgfl")
        return SelfplayStats(done=games)


class Cluster:
    """Sends nothing more than what is in the spool. Fails if the run asks for more."""

    size = 1

    def __init__(self) -> None:
        self._checks = 0

    def publish(self, network: bytes, generation: int) -> None:
        pass

    def check(self) -> None:
        self._checks += 1
        assert self._checks < 3, "games are missing"


def steps_of(folder: Path, *settings: str, cluster: Cluster | None = None) -> tuple[LocalSteps, Workers]:
    config, workers = read_config("tiny", settings), Workers()
    more: list[Any] = [threading.Event(), lambda text: None, lambda: 0.0, workers, cluster]
    return LocalSteps(folder, config, *more), workers


def sent(path: Path, number: int, began: int = 0) -> None:
    """Write a game of a worker of a cluster."""
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {"record": f"(;RO[{number}]C[network gen-{began:04d}])", "generation": f"{began:04d}"}
    write_shard(path, empty_samples("katago-v7", 5, 5, 3), record)


def test_the_age_of_a_game_counts_promotions_and_no_refused_candidates(tmp_path: Path) -> None:
    settings = ("run.games=2", "cluster.max_age=1", "train.blocks=1", "train.channels=4")
    steps, _ = steps_of(tmp_path, *settings, cluster=Cluster())
    make_first_network(tmp_path, read_config("tiny", settings))
    network_file(tmp_path, 0).rename(network_file(tmp_path, 5))
    for candidate in range(1, 10):
        write_gate(tmp_path / "gate.jsonl", Gate(candidate, 0, candidate in (1, 5), "games", 5, 5))
    for number, began in enumerate((0, 1, 5)):
        sent(tmp_path / "spool" / f"worker-{number}", number, began)
    figures = steps.selfplay(State(10, "selfplay", 5))
    assert (figures["stale"], figures["began_with"]) == (1, {"1": 1, "5": 1})


def test_games_that_a_cluster_had_sent_are_taken_in_by_a_run_that_goes_on_without_it(tmp_path: Path) -> None:
    steps, workers = steps_of(tmp_path)
    inbox = tmp_path / "samples" / "gen-0001" / "inbox" / "000004.safetensors"
    sent(inbox, 4)
    steps.selfplay(State(1))
    assert [line[:8] for line in workers.lines] == ["(;RO[4]C"]
    assert not inbox.exists()


def test_a_size_joins_with_its_generation_and_has_a_komi_of_its_own(tmp_path: Path) -> None:
    sizes = ("selfplay.sizes=[5, 7, 6]", "selfplay.size_weights=[3, 2, 1]", "run.sizes_from=[1, 3, 2]")
    steps, workers = steps_of(tmp_path, *sizes, "run.fair_komi_rate=0.5")
    for generation in (1, 2, 3):
        games = tmp_path / "samples" / f"gen-{generation:04d}" / "games.sgfl"
        games.parent.mkdir(parents=True, exist_ok=True)
        games.write_text("(;SZ[5]KM[0.5]RE[B+4.5];B[aa])\n" if generation == 1 else "")
        figures = steps.selfplay(State(generation))
        add_step(tmp_path / "steps.jsonl", State(generation), figures | {"hours": 0.1})
    played = [(each.sizes, each.size_weights, each.komis) for each in workers.settings]
    assert played == [
        ((5,), (3.0,), (0.5,)),
        ((5, 6), (3.0, 1.0), (2.75, 0.5)),
        ((5, 7, 6), (3.0, 2.0, 1.0), (2.75, 0.5, 0.5)),
    ]


def test_a_first_generation_without_samples_is_said_before_training(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    steps, _ = steps_of(tmp_path)
    with pytest.raises(GoError, match=r"generation 1 has no samples: .*selfplay\.full_share"):
        steps.train(State(1, "train"))
