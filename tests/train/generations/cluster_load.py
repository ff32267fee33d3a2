"""A Ray cluster of many pretended workers: python -m tests.train.generations.cluster_load [--workers 200] ...

Every process of a node runs many workers in threads, each of which is the engine's `Worker` with play that only waits
and writes files of the size of a 9x9 game. In the middle, three nodes are killed and three others come. Prints the
share of a core that the driver and the collector took, and whether a game was lost or came twice.
"""

import argparse
import json
import os
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.train.generations import ray_workers
from engine.train.generations.ray_workers import Collector, Failed, RayWorkers, Worker
from engine.train.generations.zero_config import ClusterSettings
from tests.train.generations.ray_cluster import STORE_BYTES, cluster
from tests.waiting import wait_until

GAME_BYTES = 24_000
UNSENT_SECONDS = 10.0
"""Games that ended so shortly before their node was killed need not have been sent, on a busy machine."""
PATIENCE_SECONDS = 300.0


class Pretending:
    """Plays "games" that take some seconds, and notes each in a diary."""

    def __init__(self, diary: Path, seconds: float) -> None:
        self._diary, self._seconds, self._name = diary, seconds, uuid.uuid4().hex
        self._generation = -1

    def set_network(self, network: bytes, generation: int) -> None:
        """Note the generation."""
        assert network[:1] == bytes([generation])
        self._generation = generation

    def pause(self, paused: bool) -> None:
        """Do nothing: the load must not fall."""

    def play(self, folder: Path, stop: threading.Event) -> None:
        """Play until `stop` is set."""
        number = 0
        while not stop.wait(self._seconds):
            game = {"who": self._name, "number": number, "generation": self._generation, "padding": "x" * GAME_BYTES}
            partial = folder / "game.part"
            partial.write_text(json.dumps(game))
            partial.rename(folder / f"{number:06d}.json")
            with (self._diary / self._name).open("a") as diary:
                diary.write(f"{time.time()} {number} {os.environ.get('RAY_NODE_ID', '')}\n")
            number += 1

    def finished(self, folder: Path) -> Iterator[tuple[bytes, Path]]:
        """Yield the games that are finished."""
        for path in sorted(folder.glob("*.json")):
            yield path.read_bytes(), path


class MakePretending:
    """Makes them in a worker."""

    def __init__(self, diary: Path, seconds: float) -> None:
        self._diary, self._seconds = diary, seconds

    def __call__(self, number: int, on_gpu: bool = False) -> Pretending:
        return Pretending(self._diary, self._seconds)


class Crowd:
    """Many workers in one process, in place of one."""

    def __init__(self, number: int, make: MakePretending, collector: Any, on_gpu: bool, size: int) -> None:
        self._workers = [Worker(1000 * number + each, make, collector, on_gpu) for each in range(size)]

    def run(self) -> Failed:
        """Run all until the first one ends."""
        results: list[Failed] = []
        over = threading.Event()

        def run(worker: Worker) -> None:
            try:
                results.append(worker.run())
            finally:
                over.set()

        for worker in self._workers:
            threading.Thread(target=run, args=(worker,), daemon=True).start()
        over.wait()
        return results[0] if results else Failed("", "a worker raised an error")


class MeasuredCollector(Collector):
    """Measures the processor seconds of its process."""

    def processor_seconds(self) -> float:
        """Return them."""
        return time.process_time()


def main() -> int:
    """Run the cluster and return 1 if a game was lost or came twice, or the driver took half a core."""
    parser = argparse.ArgumentParser(prog="python -m tests.train.generations.cluster_load")
    parser.add_argument("--workers", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--game-seconds", type=float, default=10.0, help="of a game of a worker")
    options = parser.parse_args()
    size = options.workers // options.nodes

    class _Crowd(Crowd):
        def __init__(self, number: int, make: MakePretending, collector: Any, on_gpu: bool = False) -> None:
            super().__init__(number, make, collector, on_gpu, size)

    ray_workers.Worker, ray_workers.Collector = _Crowd, MeasuredCollector  # type: ignore[misc, assignment]
    with tempfile.TemporaryDirectory() as name:
        spool, diary = Path(name) / "spool", Path(name) / "diary"
        diary.mkdir()
        make, settings = MakePretending(diary, options.game_seconds), ClusterSettings(waiting=10**9)
        return _measure(options, make, spool, diary, settings)


def _measure(
    options: argparse.Namespace, make: MakePretending, spool: Path, diary: Path, settings: ClusterSettings
) -> int:
    import ray

    with cluster(options.nodes) as nodes, RayWorkers(nodes.address, make, spool, settings) as workers:
        workers.publish(bytes([0]) * 12_000_000, 0)
        wait_until(lambda: len(list(diary.iterdir())) >= options.workers, PATIENCE_SECONDS)
        collector = workers._collector
        begun, mine = time.monotonic(), time.process_time()
        theirs = ray.get(collector.processor_seconds.remote())
        before = len(list(spool.iterdir()))
        time.sleep(options.seconds / 2)
        killed_at = time.time()
        for node in nodes.computers[:3]:
            nodes.remove_node(node, allow_graceful=False)
        workers.publish(bytes([1]) * 12_000_000, 1)
        for _ in range(3):
            nodes.add_node(num_cpus=1, object_store_memory=STORE_BYTES)
        time.sleep(options.seconds / 2)
        wait_until(lambda: len(list(diary.iterdir())) >= options.workers * (1 + 3 / options.nodes), PATIENCE_SECONDS)
        passed = time.monotonic() - begun
        driver = (time.process_time() - mine) / passed
        collected = (ray.get(collector.processor_seconds.remote()) - theirs) / passed
        ended_at = time.time()
        games_s = (len(list(spool.iterdir())) - before) / passed
        workers.check()
    found = [json.loads(path.read_text()) for path in spool.iterdir() if path.suffix != ".part"]
    arrived = {(game["who"], game["number"]) for game in found}
    lines = [(path.name, *line.split()) for path in diary.iterdir() for line in path.read_text().splitlines()]
    last = {who: float(at) for who, at, *_ in lines}
    lost = [
        (who, number)
        for who, at, number, *_ in lines
        if float(at) < (killed_at if last[who] < killed_at + UNSENT_SECONDS else ended_at) - UNSENT_SECONDS
        and (who, int(number)) not in arrived
    ]
    print(
        f"{options.workers} workers on {options.nodes} nodes for {passed:.0f} s, {games_s:.0f} games of "
        f"{GAME_BYTES // 1000} kB a second, 3 nodes killed: driver {driver:.1%} of a core, collector {collected:.1%}; "
        f"{len(arrived)} games arrived, {len(found) - len(arrived)} twice, {len(lost)} lost; "
        f"{workers.lost} processes of workers ended"
    )
    return int(bool(lost) or len(found) != len(arrived) or driver >= 0.5)


if __name__ == "__main__":
    raise SystemExit(main())
