"""Self-play on several machines: Ray actors play with the newest network and send their finished games.

Every worker plays continuously, also during training; running games switch to a new network. Finished games go to a
collector on the training machine, which replies when they are on disk; only then does the worker delete them. So
workers and machines can join and leave at any time, and only running games are lost.

This file owns the actors; the games are played by a `WorkerPlayer`, which is created in the worker. Ray is imported
only when it is used.
Source of the scheme, one trainer and many independent players: P. Moritz et al., "Ray: A Distributed Framework for
Emerging AI Applications", OSDI 2018; the games change networks as in KataGo (Wu 2019, section 2).
"""

import contextlib
import logging
import os
import socket
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from engine.errors import GoError
from engine.support.files import write_atomically
from engine.support.openmp import limit_spinning

# Interval at which a worker checks for finished games and a new network, and the trainer for workers.
_POLL_SECONDS = 0.5
_REACH_SECONDS = 10.0
_LOG = logging.getLogger(__name__)


class WorkerPlayer(Protocol):
    """Plays games in a worker. `set_network` may be called at any time, also while `play` runs in another thread."""

    def set_network(self, network: bytes, generation: int) -> None:
        """Use this network file from now on."""

    def play(self, folder: Path, stop: threading.Event) -> None:
        """Play until `stop` is set, and store finished games in a folder."""

    def finished(self, folder: Path) -> Iterator[tuple[bytes, Path]]:
        """Yield the contents and the path of each finished game; the worker deletes the file after sending it."""


MakeWorkerPlayer = Callable[[int], WorkerPlayer]
"""Makes the player of a worker from the worker's number; it is pickled and sent to the workers."""


class RayMissing(GoError):
    """Ray is not installed."""


class Collector:
    """Runs on the training machine: serves the newest network, and writes received games to disk."""

    def __init__(self, spool: Path) -> None:
        self._spool = spool
        self._network: tuple[bytes, int] | None = None

    def publish(self, network: bytes, generation: int) -> None:
        """Set the newest network."""
        self._network = network, generation

    def newer(self, generation: int) -> tuple[bytes, int] | None:
        """Return the newest network and its generation unless it is the given one."""
        return None if self._network is None or self._network[1] == generation else self._network

    def add(self, name: str, content: bytes) -> None:
        """Write a finished game; returns when it is on disk. A game that is sent again overwrites itself."""
        write_atomically(self._spool / name, content)


class Worker:
    """A self-play process on any machine of the cluster."""

    def __init__(self, number: int, make: MakeWorkerPlayer, collector: Any) -> None:
        self._name = f"{number:06d}-{uuid.uuid4().hex[:12]}"
        # Set here, because a worker on another machine does not inherit the environment of the command.
        limit_spinning()
        self._player = make(number)
        self._collector = collector
        self._generation = -1
        self._sent = 0

    def run(self) -> None:
        """Play and send games until this process is killed. Raises the exceptions of the player."""
        while not self._update():
            time.sleep(_POLL_SECONDS)
        with tempfile.TemporaryDirectory(prefix="keima-worker-") as folder:
            self._play(Path(folder))

    def _play(self, folder: Path) -> None:
        stop, failures = threading.Event(), []

        def play() -> None:
            try:
                self._player.play(folder, stop)
            except BaseException as error:  # noqa: BLE001 - raised again in the thread that sends
                failures.append(error)

        thread = threading.Thread(target=play, daemon=True)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(_POLL_SECONDS)
                self._send(folder)
                self._update()
        finally:
            stop.set()
            thread.join()
        self._send(folder)
        if failures:
            raise failures[0]

    def _update(self) -> bool:
        """Switch to a newer network if there is one; return whether any network has been set."""
        import ray

        newer = ray.get(self._collector.newer.remote(self._generation))
        if newer is not None:
            network, self._generation = newer
            self._player.set_network(network, self._generation)
        return self._generation >= 0

    def _send(self, folder: Path) -> None:
        """Send finished games, and delete each when the collector has stored it."""
        import ray

        for content, path in self._player.finished(folder):
            ray.get(self._collector.add.remote(f"{self._name}-{self._sent:09d}", content))
            self._sent += 1
            path.unlink()


class RayWorkers:
    """Keeps as many workers running as the cluster has room for, until `close`; use as a context manager.

    spool: folder for received games. address: of a Ray cluster; "auto" for the one running on this machine, "local"
    to start one. cores: per worker. Raises RayMissing without Ray, GoError if there is no cluster at the address.
    """

    def __init__(self, address: str, make: MakeWorkerPlayer, spool: Path, cores: float = 1) -> None:
        ray = _ray()
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            _reach(address)
            ray.init(address=None if address == "local" else address, log_to_driver=False, logging_level="warning")
        except (OSError, ValueError, RuntimeError) as error:
            raise GoError(f"no Ray cluster at {address!r}: {error}") from error
        spool.mkdir(parents=True, exist_ok=True)
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        # The collector writes files that the trainer reads, so it must run on this machine.
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self._collector = ray.remote(Collector).options(num_cpus=0, scheduling_strategy=here).remote(spool)
        self._make, self._cores = make, cores
        self._workers: dict[Any, Any] = {}
        self._started = 0
        self._closing = threading.Event()
        self._watch = threading.Thread(target=self._fill_cluster, daemon=True)
        self.lost = 0
        self.failure: Exception | None = None

    def __enter__(self) -> "RayWorkers":
        self._watch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def publish(self, network: bytes, generation: int) -> None:
        """Distribute a network; every worker switches to it at its next check."""
        _ray().get(self._collector.publish.remote(network, generation))

    @property
    def size(self) -> int:
        """The number of workers that run or wait for room."""
        return len(self._workers)

    def check(self) -> None:
        """Raise GoError if self-play itself failed in a worker; a lost machine is no failure."""
        if self.failure is not None:
            raise GoError(f"self-play fails in the workers: {self.failure}") from self.failure

    def close(self) -> None:
        """Kill all workers and leave the cluster."""
        ray = _ray()
        self._closing.set()
        self._watch.join()
        for worker in self._workers.values():
            ray.kill(worker)
        ray.shutdown()

    def _fill_cluster(self) -> None:
        """Start workers while the cluster has room, and remove those that have ended."""
        ray = _ray()
        while not self._closing.wait(_POLL_SECONDS):
            room = int(ray.cluster_resources().get("CPU", 0) / self._cores)
            while len(self._workers) < room:
                self._start()
            gone, _ = ray.wait(list(self._workers), num_returns=max(1, len(self._workers)), timeout=0)
            for run in gone:
                self._forget(run)

    def _start(self) -> None:
        ray = _ray()
        self._started += 1
        options = {"num_cpus": self._cores, "max_restarts": 0}
        worker = ray.remote(Worker).options(**options).remote(self._started, self._make, self._collector)
        self._workers[worker.run.remote()] = worker

    def _forget(self, run: Any) -> None:
        """Remove a worker that has ended; `_fill_cluster` starts another one if there is room."""
        ray = _ray()
        worker = self._workers.pop(run)
        self.lost += 1
        try:
            ray.get(run)
        except ray.exceptions.RayTaskError as error:
            self.failure = error
        except ray.exceptions.RayError as error:
            _LOG.info("a worker ended and its running games are lost: %s", error)
        with contextlib.suppress(ray.exceptions.RayError):
            ray.kill(worker)


def _reach(address: str) -> None:
    """Raise OSError if nothing listens at host:port. Ray itself would retry for minutes and then exit the process."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH_SECONDS).close()


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise RayMissing("--ray needs Ray: pip install 'keima[ray]'") from error
    return ray
