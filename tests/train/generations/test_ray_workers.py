"""Self-play on a real Ray cluster of several nodes: nothing that is finished is lost when one of them goes."""

import json
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.errors import GoError
from engine.support.files import claimed
from engine.train.games.selfplay_settings import SelfplaySettings
from engine.train.generations.ray_selfplay import MakeSelfplay
from engine.train.generations.ray_workers import Collector, News, RayWorkers, Worker, delete_abandoned, room_of
from engine.train.generations.zero_config import ClusterSettings, EvaluatorSettings
from tests.train.generations.fake_ray import FakeRay, RayError, RayTaskError
from tests.train.generations.ray_cluster import MakeBroken, MakeNumbers, cluster
from tests.waiting import wait_until

PLAIN, TWICE = ClusterSettings(), ClusterSettings(failures=2)
LONG = "The actor died because of \x1b[36mray::Worker\x1b[39m\n" + 99 * "  File worker.py\n" + "ImportError: No module"
SENDING_SECONDS = 3.0
"""Within which a finished game is sent, also on a machine that has other things to do."""


def games(spool: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in spool.iterdir() if path.suffix != ".part"]


def test_the_collector_names_the_newest_network(tmp_path: Path) -> None:
    collector = Collector(tmp_path)
    assert collector.exchange(-1, []).network is None
    collector.publish(["network"], 3)
    assert collector.exchange(2, []) == News(["network"], 3, paused=False)
    assert collector.exchange(3, []).network is None


def test_a_file_that_is_sent_twice_is_kept_once(tmp_path: Path) -> None:
    collector = Collector(tmp_path)
    for _ in range(2):
        collector.exchange(0, [("a", b"game"), ("b", b"another")])
    assert sorted(path.read_bytes() for path in tmp_path.iterdir()) == [b"another", b"game"]


def test_workers_pause_while_too_many_games_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.train.generations.ray_workers._NEWS_SECONDS", 0.0)
    collector = Collector(tmp_path, waiting=2)
    assert not collector.exchange(0, [("a", b"")]).paused
    assert collector.exchange(0, [("b", b"")]).paused
    (tmp_path / "a").unlink()
    assert not collector.exchange(0, []).paused


@pytest.mark.parametrize(
    ("resources", "reserved", "cores", "share", "room"),
    [
        ({"CPU": 8.0}, 0, 1, 0.0, 8),
        ({"CPU": 8.0}, 2, 1, 0.0, 6),
        ({"CPU": 8.0}, 1, 2, 0.0, 3),
        ({"CPU": 8.0, "GPU": 2.0}, 0, 1, 0.0, 8),
        ({"CPU": 8.0}, 0, 1, 0.25, 0),
        ({"CPU": 8.0, "GPU": 1.0}, 0, 1, 0.25, 4),
        ({"CPU": 8.0, "GPU": 2.0}, 0, 1, 0.1, 8),
        ({"CPU": 80.0, "GPU": 2.0}, 0, 1, 0.1, 20),
        ({"CPU": 80.0, "GPU": 2.0}, 0, 1, 0.6, 2),
        ({}, 1, 1, 0.0, 0),
    ],
)
def test_a_machine_has_room_for_workers_by_cores_and_shares_of_gpus(
    resources: dict[str, float], reserved: float, cores: float, share: float, room: int
) -> None:
    assert room_of(resources, reserved, cores, share) == room


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[FakeRay], RayWorkers]:
    """Return what makes the workers of a cluster that is none."""

    def workers(ray: FakeRay) -> RayWorkers:
        ray.install(monkeypatch)
        return RayWorkers("auto", MakeNumbers(tmp_path), tmp_path / "spool", PLAIN)

    return workers


def test_an_error_of_the_collector_is_reported(fake: Callable[[FakeRay], RayWorkers]) -> None:
    def full() -> None:
        raise RayTaskError(OSError(28, "No space left on device"))

    with fake(FakeRay(full)) as workers:
        wait_until(lambda: workers.failure is not None)
        with pytest.raises(
            GoError, match=r"self-play fails in the workers: OSError: \[Errno 28\] No space left"
        ) as info:
            workers.check()
        assert "\n" not in str(info.value)
        assert workers.lost == PLAIN.failures + 1


def test_a_worker_says_what_the_collector_failed_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> None:
        raise RayTaskError(OSError(28, "No space left on device"))

    FakeRay(full).install(monkeypatch)
    collector = SimpleNamespace(exchange=SimpleNamespace(remote=lambda *_: None))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    failed = Worker(1, MakeNumbers(tmp_path), collector).run()
    assert failed == ("trainer", "the collector: OSError: [Errno 28] No space left on device")


@pytest.mark.parametrize("error", [RayError(LONG), RayTaskError(RayError(LONG))])
def test_workers_that_cannot_be_started_are_reported(fake: Callable[[FakeRay], RayWorkers], error: RayError) -> None:
    def ends() -> None:
        raise error  # its text is that of an actor whose class cannot be imported

    with fake(FakeRay(ends)) as workers:
        wait_until(lambda: workers.failure is not None)
        said = (
            r"8 workers in a row ended as soon as they were started: RayError: The actor died .* \.\.\. .* No module$"
        )
        with pytest.raises(GoError, match=said):
            workers.check()
        assert workers.lost == 8


def test_workers_of_machines_that_leave_are_no_failure(fake: Callable[[FakeRay], RayWorkers]) -> None:
    def leaves() -> None:
        ray.alive.remove(min(ray.alive))
        ray.nodes.append(f"{len(ray.nodes):03d}")
        ray.alive.add(ray.nodes[-1])
        raise RayError("the machine is lost")

    ray = FakeRay(leaves, ["000"])
    with fake(ray) as workers:
        wait_until(lambda: workers.lost > 30)
        workers.check()


def test_workers_that_end_together_count_once(fake: Callable[[FakeRay], RayWorkers]) -> None:
    def ends() -> None:
        ray.lasting = True
        raise RayError("a hiccup")

    ray = FakeRay(ends, [f"{number}" for number in range(40)])
    with fake(ray) as workers:
        wait_until(lambda: workers.lost == 40 and workers.size == 40)
        workers.check()


def test_a_cluster_that_does_not_answer_is_reported(fake: Callable[[FakeRay], RayWorkers]) -> None:
    ray = FakeRay(lambda: None)
    workers = fake(ray)
    ray.broken = True
    with workers:
        wait_until(lambda: workers.failure is not None)
        with pytest.raises(GoError, match="RuntimeError: the cluster does not answer"):
            workers.check()


def test_folders_of_workers_that_were_killed_are_deleted(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("keima-worker-dead", "keima-worker-lives", "keima-worker-new", "other")]
    for folder in folders:
        folder.mkdir()
        (folder / "000000001.safetensors").touch()
    with claimed(folders[1]):
        for folder in (*folders[:2], folders[3]):
            os.utime(folder, (0, 0))
        delete_abandoned(tmp_path)
    assert [folder.exists() for folder in folders] == [False, True, True, True]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore")
def test_a_node_that_is_killed_takes_only_its_running_games_along(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    spool, diary = tmp_path / "spool", tmp_path / "diary"
    diary.mkdir()
    with cluster(3) as nodes, RayWorkers(nodes.address, MakeNumbers(diary), spool, PLAIN) as ray_workers:
        ray_workers.publish(b"network 0", 0)
        wait_until(lambda: len({game["who"] for game in games(spool)}) == 3)
        ray_workers.publish(b"network 1", 1)
        wait_until(lambda: len({game["who"] for game in games(spool) if game["generation"] == 1}) == 3)

        first = {game["who"] for game in games(spool)}
        killed_at = time.time()
        nodes.remove_node(nodes.computers[0], allow_graceful=False)
        wait_until(lambda: ray_workers.lost == 1)
        nodes.add_node(num_cpus=1, object_store_memory=80 * 2**20)  # another one comes
        wait_until(lambda: len({game["who"] for game in games(spool)} - first) == 1)
        ray_workers.check()
    arrived = {(game["who"], game["number"]) for game in games(spool)}
    assert len(arrived) == len(games(spool)), "a game came twice"
    notes = {path.name: [line.split() for line in path.read_text().splitlines()] for path in diary.iterdir()}
    played = {(who, int(number)) for who, lines in notes.items() for at, number in lines if float(at) < killed_at}
    (victim,) = (who for who in first if float(notes[who][-1][0]) < killed_at + SENDING_SECONDS)
    survivors = {game for game in played if game[0] != victim}
    assert survivors <= arrived
    old = {(victim, int(n)) for at, n in notes[victim] if float(at) < killed_at - SENDING_SECONDS}
    assert old <= arrived, "a finished game of the killed node was lost"


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.filterwarnings("ignore")
def test_play_that_fails_by_itself_is_an_error_and_no_lost_node(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    with cluster(1) as nodes, RayWorkers(nodes.address, MakeBroken(tmp_path), tmp_path / "spool", TWICE) as ray_workers:
        ray_workers.publish(b"network 0", 0)
        wait_until(lambda: ray_workers.failure is not None)
        with pytest.raises(GoError, match="two and two are five"):
            ray_workers.check()
        assert ray_workers.lost == 3, "two failures of a machine are survived"


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.filterwarnings("ignore")
def test_workers_share_the_gpus_that_ray_gives_them(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    spool, diary, half = tmp_path / "spool", tmp_path / "diary", ClusterSettings(gpu_share=0.5)
    diary.mkdir()
    with (
        cluster(1, cores=4, gpus=2) as nodes,
        RayWorkers(nodes.address, MakeNumbers(diary), spool, half) as ray_workers,
    ):
        ray_workers.publish(b"network 0", 0)
        wait_until(lambda: len({game["who"] for game in games(spool)}) == 4)
        shares = Counter(gpus for _, gpus in {(game["who"], game["gpus"]) for game in games(spool)})
        assert shares == {"0": 2, "1": 2}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.filterwarnings("ignore")
def test_a_worker_with_a_share_of_a_gpu_that_pytorch_does_not_find_is_an_error(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    make = MakeSelfplay(SelfplaySettings(sizes=(5,)), EvaluatorSettings())
    settings = ClusterSettings(gpu_share=1.0, failures=0)
    with cluster(1, gpus=1) as nodes, RayWorkers(nodes.address, make, tmp_path / "spool", settings) as ray_workers:
        wait_until(lambda: ray_workers.failure is not None)
        with pytest.raises(GoError, match=r"a share of a GPU .* but PyTorch finds none"):
            ray_workers.check()


@pytest.mark.filterwarnings("ignore")
def test_an_address_without_a_cluster_is_named(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    with pytest.raises(GoError, match=r"no Ray cluster at '127\.0\.0\.1:9'"):
        RayWorkers("127.0.0.1:9", MakeNumbers(tmp_path), tmp_path, PLAIN)
