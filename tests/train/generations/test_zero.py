"""`keima zero` on 5x5 from the command line: whole, twice the same, and killed in every step."""

import json
import signal
import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from engine.train.data.samples import empty_samples, read_shard, write_shard
from engine.train.generations.adaptation import next_komi, resign_threshold
from engine.train.generations.gate import read_gates
from engine.train.generations.rating import read_lines
from engine.train.generations.zero import Stopped
from engine.train.generations.zero_cli import open_ray_workers, zero
from engine.train.generations.zero_config import ZeroConfig, read_config
from engine.train.generations.zero_state import State, read_state, read_steps
from engine.train.generations.zero_steps import game_figures, samples_in
from tests.train.generations.zero_runs import finish, kill_when, networks, start
from tests.train_ablation import PARTS
from weights.sized import read_sized

pytest.importorskip("torch")


def state_of(run: Path) -> State:
    return read_state(run / "state.json")


def games_of(run: Path) -> list[int]:
    """Return how many finished games each generation has, each with a line of its own and samples in a shard."""
    found = []
    for folder in sorted((run / "samples").iterdir()):
        lines = (folder / "games.sgfl").read_text().splitlines()
        games = {int(game) for path in folder.glob("*x*/*.safetensors") for game in read_shard(path).game}
        assert len(games) <= len(set(lines)) == len(lines)
        found.append(len(lines))
    return found


def is_playing(run: Path) -> bool:
    records = run / "samples" / "gen-0001" / "games.sgfl"
    return state_of(run).step == "selfplay" and records.exists() and bool(records.read_text())


def is_training(run: Path) -> bool:
    return state_of(run).step == "train" and any((run / "train" / "checkpoints").glob("step-*"))


def is_at_the_gate(run: Path) -> bool:
    return state_of(run).step == "gate"


def is_rated(run: Path) -> bool:
    return state_of(run).step == "rating" and (run / "ratings.jsonl").exists()


@pytest.mark.timeout(900)
@pytest.mark.slow
@pytest.mark.parametrize("moment", [is_playing, is_training, is_at_the_gate, is_rated])
def test_a_run_that_is_killed_goes_on_with_the_same_command(tmp_path: Path, moment: Callable[[Path], bool]) -> None:
    process = start(tmp_path, 1)
    kill_when(process, lambda: moment(tmp_path))
    before = state_of(tmp_path)
    assert before.generation == 1
    finish(tmp_path, 1)
    assert games_of(tmp_path) == [8]
    assert state_of(tmp_path).generation == 2
    assert [line["step"] for line in read_steps(tmp_path / "steps.jsonl")] == ["selfplay", "train", "gate", "rating"]
    assert [line["candidate"] for line in read_gates(tmp_path / "gate.jsonl")] == [1]
    matches = [json.loads(line) for line in (tmp_path / "ratings.jsonl").read_text().splitlines()]
    assert [(line["first"], line["second"]) for line in matches] == [
        ("gen-0001", "gen-0000"),
        ("gen-0001", "rollout-16"),
    ]
    assert sorted(networks(tmp_path)) == ["gen-0000.safetensors", "gen-0001.safetensors"]
    assert list(tmp_path.rglob("*.part")) == []


@pytest.mark.timeout(900)
@pytest.mark.slow
def test_the_same_seed_gives_the_same_networks(tmp_path: Path) -> None:
    for name in ("a", "b"):
        finish(tmp_path / name, 2)
    assert networks(tmp_path / "a") == networks(tmp_path / "b")
    finish(tmp_path / "c", 1, "run.seed=2")
    assert not set(networks(tmp_path / "a").values()) & set(networks(tmp_path / "c").values())


OPTIONS = {name: settings for name, settings in PARTS.items() if settings}
OPTIONS["all that go together"] = [setting for settings in OPTIONS.values() for setting in settings]


def is_playing_again(run: Path) -> bool:
    records = run / "samples" / "gen-0002" / "games.sgfl"
    return records.exists() and bool(records.read_text())


def is_training_again(run: Path) -> bool:
    return state_of(run) == State(2, "train", 1) and any((run / "train" / "checkpoints").glob("step-*"))


@pytest.mark.timeout(900)
@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONS)
def test_a_run_with_an_option_that_is_killed_ends_with_the_networks_of_one_that_is_not(
    tmp_path: Path, name: str
) -> None:
    settings = [*OPTIONS[name], "rating.every=0", "gate.games=0"]
    finish(tmp_path / "whole", 2, *settings)
    for moment in (is_playing_again, is_training_again):
        kill_when(start(tmp_path / "killed", 2, *settings), lambda moment=moment: moment(tmp_path / "killed"))  # type: ignore[misc]
    finish(tmp_path / "killed", 2, *settings)
    assert networks(tmp_path / "whole") == networks(tmp_path / "killed")


@pytest.mark.timeout(600)
@pytest.mark.slow
def test_self_play_follows_the_games_of_the_generation_before(tmp_path: Path) -> None:
    adapts = ("run.fair_komi_rate=0.5", "run.fork_share=1.0", "run.resign_false_rate=0.05")
    sizes = ("selfplay.sizes=[4, 5]", "train.board_sizes=[4, 9]", "selfplay.no_resign_share=1.0", "run.first_games=40")
    rated = (
        "rating.every=1",
        "rating.sizes=[4, 5]",
        "rating.games=2",
        "rating.rollout_first=0",
        "rating.rollout_last=0",
    )
    finish(tmp_path, 2, *adapts, *sizes, *rated, "gate.games=0")
    first, second = (line for line in read_steps(tmp_path / "steps.jsonl") if line["step"] == "selfplay")
    records = (tmp_path / "samples" / "gen-0001" / "games.sgfl").read_text().splitlines()
    assert first["komis"] == [0.5, 0.5]
    assert second["komis"] == [next_komi(0.5, records, side, 0.5) for side in (4, 5)]
    assert first["resign_threshold"] == 0.0
    assert second["resign_threshold"] == resign_threshold(records, 0.05, 0.0)
    assert list(read_sized(tmp_path / "nets" / "gen-0002.safetensors", "gen-0002")) == [(4, 4), (5, 5)]
    forks = (tmp_path / "samples" / "gen-0002" / "games.sgfl").read_text().splitlines()
    assert not any("fork=" in each for each in records)
    assert all("fork=" in each for each in forks)
    met = [(line.first, line.second, line.size) for line in read_lines(tmp_path / "ratings.jsonl")]
    assert met == [
        ("gen-0001", "gen-0000", 4),
        ("gen-0001", "gen-0000", 5),
        ("gen-0002", "gen-0001", 4),
        ("gen-0002", "gen-0001", 5),
    ]


@pytest.mark.timeout(600)
def test_a_generation_of_learning_is_made_interrupted_and_reported(tmp_path: Path) -> None:
    with_two = "evaluator.processes=2"
    process = start(tmp_path, 1, with_two)
    try:
        kill_when(process, lambda: is_training(tmp_path))
    finally:
        process.kill()
    finish(tmp_path, 1, with_two)
    assert games_of(tmp_path) == [8]
    report = (tmp_path / "report.md").read_text()
    assert "| games/s |" in report
    assert "| trained samples/s |" in report
    shown = CliRunner().invoke(zero, [str(tmp_path), "--status"])
    assert shown.exit_code == 0
    assert "is complete" in shown.output and "selfplay of generation 2" not in shown.output
    again = CliRunner().invoke(zero, [str(tmp_path)])
    assert again.exit_code == 0
    assert "is complete" in again.output


@pytest.mark.timeout(600)
@pytest.mark.slow
def test_ctrl_c_ends_a_run_politely(tmp_path: Path) -> None:
    process = start(tmp_path, 50)
    try:
        while not is_training(tmp_path):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130
    assert (tmp_path / "report.md").exists()


def invoked(*words: Any) -> str:
    """Run the command, which must fail, and return its error message as one line."""
    result = CliRunner().invoke(zero, [str(each) for each in words])
    assert result.exit_code not in (0, None)
    assert isinstance(result.exception, SystemExit)
    return " ".join(result.output.split())


def test_a_run_that_reaches_its_hours_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Idle:
        """Steps that end when `stop` is set."""

        def __init__(self, folder: Path, config: ZeroConfig, stop: threading.Event, *_: Any) -> None:
            self._stop = stop

        def selfplay(self, state: State) -> None:
            assert self._stop.wait(20)
            raise Stopped

    monkeypatch.setattr("engine.train.generations.zero_steps.LocalSteps", Idle)
    words = [str(tmp_path), "--preset", "tiny", "--set", "train.channels=8", "--hours", "0.00003"]
    result = CliRunner().invoke(zero, words)
    assert result.exit_code == 0, result.output
    assert "is complete: 0.00 h" in result.output


def test_a_network_that_cannot_be_made_leaves_no_configuration(tmp_path: Path) -> None:
    assert "supports only one board size" in invoked(tmp_path, "--preset", "tiny", "--set", "train.architecture=agz")
    assert not (tmp_path / "config.toml").exists()


def test_the_status_of_no_run_is_one_line(tmp_path: Path) -> None:
    assert "typo contains no run" in invoked(tmp_path / "typo", "--status")
    assert not (tmp_path / "typo").exists()


def test_a_cluster_plays_with_the_same_settings_in_all_generations(tmp_path: Path) -> None:
    assert "run.komi_gain=0" in invoked(tmp_path / "run", "--preset", "9x9-cpu", "--ray", "local")
    growing = ("--preset", "19x19-cpu", "--set", "run.fair_komi_rate=0", "--ray", "local")
    assert "run.sizes_from=none" in invoked(tmp_path / "run", *growing)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("threads", "cores"), [(0, 1), (3, 3)])
def test_a_worker_computes_on_the_cores_that_it_takes(
    tmp_path: Path, threads: int, cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[Any] = []
    monkeypatch.setattr(
        "engine.train.generations.ray_workers.RayWorkers",
        lambda address, make, spool, cluster, cores: taken.append((make.evaluator.threads, cores)) or nullcontext(),
    )
    with open_ray_workers(tmp_path, read_config("tiny", [f"evaluator.threads={threads}"]), "local"):
        assert taken == [(cores, cores)]


def test_games_are_counted_over_all_sittings(tmp_path: Path) -> None:
    assert set(game_figures(tmp_path).values()) == {None}
    results = ["B+2.5", "W+R", "B+R", "0", "Void", "B+T"]
    moves = [";B[aa];W[bb]; B[]", ";B[aa]", "", ";B[cc];W[]", ";B[aa]", ";B[aa]"]
    efforts = ["full=1,2,3", "full=1 decided=2", "", "", "", ""]
    records = [
        f"(;GM[1]C[seed 1; moves {effort}]RE[{result}]RO[{number}]{each})\n"
        for number, (result, each, effort) in enumerate(zip(results, moves, efforts, strict=True))
    ]
    (tmp_path / "games.sgfl").write_text("".join(records))
    assert game_figures(tmp_path) == {"black_win_rate": 0.75, "mean_length": 1.33, "decided_share": 0.1667}


def test_games_that_are_not_even_by_design_do_not_move_the_komi(tmp_path: Path) -> None:
    uneven = ["AB[cc]", "C[moves fork=3]", "C[playout doubling 2]"]
    results = [("", "B"), ("", "W"), *((each, "B") for each in uneven)]
    (tmp_path / "games.sgfl").write_text("".join(f"(;GM[1]{each}RE[{winner}+R])\n" for each, winner in results))
    assert game_figures(tmp_path)["black_win_rate"] == 0.5


def test_the_games_in_an_inbox_are_no_samples_yet(tmp_path: Path) -> None:
    samples = empty_samples("katago-v7", 5, 5, 7)
    for name in ("inbox/000000", "5x5/shard-000000", "pending/5x5-000001"):
        (tmp_path / name).parent.mkdir()
        write_shard(tmp_path / f"{name}.safetensors", samples, {})
    assert samples_in(tmp_path) == 7


def test_a_wrong_number_is_one_line(tmp_path: Path) -> None:
    result = CliRunner().invoke(zero, [str(tmp_path), "--preset", "tiny", "--set", "run.speed=3"])
    assert result.exit_code != 0
    assert "unknown key run.speed" in result.output
    assert list(tmp_path.iterdir()) == []
