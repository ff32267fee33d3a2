"""Several processes that play: the games of one, none twice and none lost, and what happens when a process fails."""

import multiprocessing
import os
import threading
from dataclasses import fields, replace
from pathlib import Path

import pytest

from engine.errors import GoError
from engine.evaluation.evaluator import Evaluator
from engine.train.games.selfplay_stats import SelfplayStats
from engine.train.games.selfplay_workers import SelfplayWorkers, dealt_gpu
from tests.search.fakes import FakeEvaluator
from tests.train.games.test_selfplay import TINY, fake, play, records, samples


def refuse(threads: int) -> Evaluator:
    raise GoError(f"cannot be computed on {threads} threads")


def break_down(threads: int) -> Evaluator:
    raise RuntimeError("an error of the program")


def fail_soon(threads: int) -> Evaluator:
    return FakeEvaluator(fail_at=40)


def tell_gpu(threads: int) -> Evaluator:
    raise GoError(f"computed on {os.environ['CUDA_VISIBLE_DEVICES']}")


@pytest.mark.parametrize(
    ("count", "visible", "dealt"),
    [
        (0, None, [None, None, None]),
        (1, "3", [None, None, None]),
        (2, None, ["0", "1", "0"]),
        (2, "5, 3", ["5", "3", "5"]),
        (3, "GPU-a,GPU-b,GPU-c", ["GPU-a", "GPU-b", "GPU-c"]),
    ],
)
def test_gpus_are_dealt_to_processes_in_turn(count: int, visible: str | None, dealt: list[str | None]) -> None:
    assert [dealt_gpu(process, count, visible) for process in range(3)] == dealt


def test_a_process_sees_the_gpu_that_it_was_dealt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.train.games.selfplay_workers.nvidia_gpus", lambda: 2)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "6,7")
    with SelfplayWorkers(2) as workers, pytest.raises(GoError, match=r"^computed on [67]$"):
        workers.play(TINY, tell_gpu, tmp_path, 4, 1)


def test_two_processes_play_the_games_of_one_and_stay_for_the_next(tmp_path: Path) -> None:
    reports: list[SelfplayStats] = []
    alone = play(tmp_path / "alone", 12)
    with SelfplayWorkers(2) as workers:
        together = workers.play(TINY, fake, tmp_path / "both", 12, 1, report=lambda each: reports.append(each))
        processes = multiprocessing.active_children()
        workers.play(replace(TINY, sizes=(4, 5)), fake, tmp_path / "next", 12, 2)
        assert multiprocessing.active_children() == processes
    play(tmp_path / "next-alone", 12, seed=2, sizes=(4, 5))
    for one, two in (("alone", "both"), ("next-alone", "next")):
        assert records(tmp_path / one) == records(tmp_path / two)
        assert len(samples(tmp_path / one)) == len(samples(tmp_path / two))
    for name in (each.name for each in fields(SelfplayStats) if "seconds" not in each.name):
        assert getattr(together, name) == getattr(alone, name), name
    assert reports[-1].games == 12
    assert 0 < together.busy_seconds < together.seconds
    assert not multiprocessing.active_children()


def test_a_crew_that_is_stopped_goes_on_with_the_same_games(tmp_path: Path) -> None:
    stop = threading.Event()
    settings = replace(TINY, shard_samples=20)

    def end(stats: SelfplayStats) -> None:
        if stats.done >= 4:
            stop.set()

    with SelfplayWorkers(2) as workers:
        first = workers.play(settings, fake, tmp_path / "a", 4000, 1, stop=stop, report=end)
        assert 4 <= first.done < 4000
        wanted = max(records(tmp_path / "a")) + 4
        rest = workers.play(settings, fake, tmp_path / "a", wanted, 1)
    assert rest.done >= wanted
    play(tmp_path / "whole", wanted)
    found = records(tmp_path / "a")
    assert {number: found[number] for number in range(wanted)} == records(tmp_path / "whole")


def test_a_process_that_dies_ends_the_run_and_loses_no_finished_game(tmp_path: Path) -> None:
    def kill(stats: SelfplayStats) -> None:
        alive = multiprocessing.active_children()
        if stats.done >= 4 and len(alive) == 2:
            alive[0].kill()

    with SelfplayWorkers(2) as workers, pytest.raises(GoError, match="died with status -9; finished games are kept"):
        workers.play(TINY, fake, tmp_path / "a", 4000, 1, report=kill)
    wanted = max(records(tmp_path / "a")) + 1
    with SelfplayWorkers(2) as workers:
        workers.play(TINY, fake, tmp_path / "a", wanted, 1)
    play(tmp_path / "whole", wanted)
    assert records(tmp_path / "a") == records(tmp_path / "whole")


@pytest.mark.parametrize(
    ("make", "kind", "said"),
    [
        (refuse, GoError, "^cannot be computed on 3 threads$"),
        (break_down, RuntimeError, "Traceback.*an error of the program"),
        (fail_soon, RuntimeError, "Traceback.*made to fail"),
    ],
)
def test_what_fails_in_a_process_is_told(tmp_path: Path, make: object, kind: type[Exception], said: str) -> None:
    with SelfplayWorkers(2, threads=6) as workers, pytest.raises(kind, match=f"(?s){said}"):
        workers.play(TINY, make, tmp_path, 400, 1)  # type: ignore[arg-type]
    assert not multiprocessing.active_children()
