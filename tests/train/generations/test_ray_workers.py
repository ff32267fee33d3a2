"""Self-play on a real Ray cluster of several nodes: nothing that is finished is lost when one of them goes."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from engine.errors import GoError
from engine.train.generations.ray_workers import Collector, RayWorkers
from tests.train.generations.ray_cluster import MakeBroken, MakeNumbers, cluster
from tests.waiting import wait_until

SENDING_SECONDS = 2.0
"""Within which a finished game is sent, also on a machine that has other things to do."""


def games(spool: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in spool.iterdir() if path.suffix != ".part"]


def test_the_collector_hands_out_the_newest_network(tmp_path: Path) -> None:
    collector = Collector(tmp_path)
    assert collector.newer(-1) is None
    collector.publish(b"network", 3)
    assert collector.newer(2) == (b"network", 3)
    assert collector.newer(3) is None


def test_a_file_that_is_sent_twice_is_kept_once(tmp_path: Path) -> None:
    collector = Collector(tmp_path)
    for _ in range(2):
        collector.add("a", b"game")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"game"]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore")
def test_a_node_that_is_killed_takes_only_its_running_games_along(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    spool, diary = tmp_path / "spool", tmp_path / "diary"
    diary.mkdir()
    with cluster(3) as nodes, RayWorkers(nodes.address, MakeNumbers(diary), spool) as ray_workers:
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
    with cluster(1) as nodes, RayWorkers(nodes.address, MakeBroken(tmp_path), tmp_path / "spool") as ray_workers:
        ray_workers.publish(b"network 0", 0)
        wait_until(lambda: ray_workers.failure is not None)
        with pytest.raises(GoError, match="two and two are five"):
            ray_workers.check()


@pytest.mark.filterwarnings("ignore")
def test_an_address_without_a_cluster_is_named(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    with pytest.raises(GoError, match=r"no Ray cluster at '127\.0\.0\.1:9'"):
        RayWorkers("127.0.0.1:9", MakeNumbers(tmp_path), tmp_path)
