"""Self-play on several machines: Ray actors play with the newest network and send their finished games.

Every worker plays continuously, also during training, unless too many games wait; running games switch to a new
network. Finished games go to a
collector on the training machine, which replies when they are on disk; only then does the worker delete them. So
workers and machines can join and leave at any time, and only running games are lost.

This file owns the actors; the games are played by a `WorkerPlayer`, which is created in the worker. Ray is imported
only when it is used.
Source of the scheme, one trainer and many independent players: P. Moritz et al., "Ray: A Distributed Framework for
Emerging AI Applications", OSDI 2018; the games change networks as in KataGo (Wu 2019, section 2).
"""

import contextlib
import logging
import math
import os
import re
import shutil
import socket
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Protocol

from engine.errors import GoError
from engine.support.files import claimed, is_claimed, write_atomically
from engine.support.openmp import limit_spinning
from engine.train.generations.zero_config import ClusterSettings

# Interval at which the trainer looks after the workers.
POLL_SECONDS = 0.5
# Interval at which a worker sends its games and asks for news. 200 workers make 200 calls a second of it.
_NEWS_SECONDS = 1.0
_REACH_SECONDS = 10.0
_FOLDER = "keima-worker-"
# Age of a folder at which its worker has locked it.
_ABANDONED_SECONDS = 60.0
# A worker that ends sooner after its start has hardly begun: Ray needs seconds for the start of a process.
_SOON_SECONDS = 30.0
# Workers that may end so soon, each started after the end of the one before, before a run fails.
_MOST_SOON = 8
# Errors in a row of the thread that looks after the workers, before a run fails.
_MOST_ERRORS = 5
_MOST_TEXT = 500
_ANSI_COLOR = re.compile(r"\x1b\[[\d;]*m")
_LOG = logging.getLogger(__name__)


class WorkerPlayer(Protocol):
    """Plays games in a worker. All but `play` may be called at any time, also while it runs in another thread."""

    def set_network(self, network: bytes, generation: int) -> None:
        """Use this network from now on."""

    def play(self, folder: Path, stop: threading.Event) -> None:
        """Play until `stop` is set, and store finished games in a folder."""

    def pause(self, paused: bool) -> None:
        """Stop computing, with the games in progress kept, or go on."""

    def finished(self, folder: Path) -> Iterator[tuple[bytes, Path]]:
        """Yield the contents and the path of each finished game; the worker deletes the file after sending it."""


class MakeWorkerPlayer(Protocol):
    """Makes the player of a worker; it is pickled and sent to the workers."""

    def __call__(self, number: int, on_gpu: bool = False) -> WorkerPlayer:
        """Return the player of a worker. on_gpu: it has a share of a GPU. Raises GoError if it cannot play there."""


class RayMissing(GoError):
    """Ray is not installed."""


class News(NamedTuple):
    """The collector's answer to a worker. network: a reference to the newest one in a list, if the worker lacks it.

    A bare reference would be replaced by the network itself on its way through the collector.
    """

    network: list[Any] | None
    generation: int
    paused: bool


class Failed(NamedTuple):
    """Why a worker ended, and the machine that it ran on, by Ray's name of it."""

    node: str
    text: str


class _Started(NamedTuple):
    """A worker, when it was started, the machines that the cluster had then, and `RayWorkers._soon` at that time."""

    worker: Any
    at: float
    nodes: frozenset[str]
    soon: int


class Collector:
    """Runs on the training machine: names the newest network, and writes received games to disk.

    waiting: games that wait there to be taken in at which workers pause.
    """

    def __init__(self, spool: Path, waiting: int = 2000) -> None:
        self._spool, self._waiting = spool, waiting
        self._network: list[Any] | None = None
        self._generation, self._counted, self._paused = -1, -math.inf, False

    def publish(self, network: list[Any], generation: int) -> None:
        """Set the newest network."""
        self._network, self._generation = network, generation

    def exchange(self, generation: int, games: Sequence[tuple[str, bytes]]) -> News:
        """Write finished games, by name and content, and return what is new; when it returns, they are on disk.

        generation: of the worker's network. A game that is sent again overwrites itself.
        """
        for name, content in games:
            write_atomically(self._spool / name, content)
        now = time.monotonic()
        if now - self._counted >= _NEWS_SECONDS:
            self._paused, self._counted = sum(1 for _ in self._spool.iterdir()) >= self._waiting, now
        is_newer = self._network is not None and self._generation != generation
        return News(self._network if is_newer else None, self._generation, self._paused)


class Worker:
    """A self-play process on any machine of the cluster."""

    def __init__(self, number: int, make: MakeWorkerPlayer, collector: Any, on_gpu: bool = False) -> None:
        self._number, self._make, self._on_gpu = number, make, on_gpu
        self._name = f"{number:06d}-{uuid.uuid4().hex[:12]}"
        self._collector = collector
        self._generation = -1
        self._sent = 0

    def run(self) -> Failed:
        """Play and send games until this process is killed; return why play failed."""
        import ray

        node = str(ray.get_runtime_context().get_node_id())
        # Set here, because a worker on another machine does not inherit the environment of the command.
        limit_spinning()
        try:
            if self._on_gpu and not ray.get_gpu_ids():
                raise GoError("a worker has a share of a GPU (cluster.gpu_share), but Ray gave it none")
            self._player = self._make(self._number, self._on_gpu)
            delete_abandoned(Path(tempfile.gettempdir()))
            with tempfile.TemporaryDirectory(prefix=_FOLDER) as name, claimed(Path(name)):
                folder = Path(name)
                while self._generation < 0:
                    self._exchange(folder)
                    time.sleep(_NEWS_SECONDS if self._generation < 0 else 0)
                self._play(folder)
        except ray.exceptions.RayTaskError as error:
            return Failed(node, f"the collector: {_text_of(error)}")
        except ray.exceptions.RayError:
            # The trainer or its machine is gone, and so will be this process.
            raise
        except Exception as error:  # noqa: BLE001 - reported by the trainer
            return Failed(node, f"{type(error).__name__}: {error}")
        return Failed(node, "play has ended")

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
                thread.join(_NEWS_SECONDS)
                self._exchange(folder)
        finally:
            stop.set()
            self._player.pause(False)
            thread.join()
        self._exchange(folder)
        if failures:
            raise failures[0]

    def _exchange(self, folder: Path) -> None:
        """Send all finished games at once, delete them when the collector has stored them, and follow its news."""
        import ray

        games: list[tuple[str, bytes]] = []
        paths: list[Path] = []
        for content, path in self._player.finished(folder):
            games.append((f"{self._name}-{self._sent + len(games):09d}", content))
            paths.append(path)
        news: News = ray.get(self._collector.exchange.remote(self._generation, games))
        self._sent += len(games)
        for path in paths:
            path.unlink()
        if news.network is not None:
            self._player.set_network(ray.get(news.network[0]), news.generation)
            self._generation = news.generation
        self._player.pause(news.paused)


class _Reserved:
    """Holds cores of the training machine, so that Ray places no worker on them."""


class RayWorkers:
    """Keeps as many workers running as the cluster has room for, until `close`; use as a context manager.

    spool: folder for received games. address: of a Ray cluster; "auto" for the one running on this machine, "local"
    to start one. cores: per worker. Raises RayMissing without Ray, GoError if there is no cluster at the address.
    lost: workers that ended, those of machines that left among them.
    """

    def __init__(
        self, address: str, make: MakeWorkerPlayer, spool: Path, settings: ClusterSettings, cores: float = 1
    ) -> None:
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
        self._here = ray.get_runtime_context().get_node_id()
        here = NodeAffinitySchedulingStrategy(self._here, soft=False)
        kept = {"num_cpus": 0, "scheduling_strategy": here}
        self._collector = ray.remote(Collector).options(**kept).remote(spool, settings.waiting)
        self._make, self._settings, self._cores = make, settings, cores
        self._workers: dict[Any, _Started] = {}
        self._nodes = frozenset[str]()
        self._network: Any = None
        self._reserved = self._cores_to_reserve()
        self._reserve = ray.remote(_Reserved).options(**kept | {"num_cpus": self._reserved}).remote()
        self._started = 0
        self._closing = threading.Event()
        self._watch = threading.Thread(target=self._fill_cluster, daemon=True)
        self._failures: Counter[str] = Counter()
        self._soon = 0
        self.lost = 0
        self.failure: str | None = None

    def __enter__(self) -> "RayWorkers":
        self._watch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def publish(self, network: bytes, generation: int) -> None:
        """Distribute a network; every worker switches to it at its next check.

        It is copied to each machine once, however many workers that has.
        """
        ray = _ray()
        # Kept until the next one: Ray deletes an object that nobody refers to.
        self._network = ray.put(network)
        ray.get(self._collector.publish.remote([self._network], generation))

    @property
    def size(self) -> int:
        """The number of workers that run or wait for room."""
        return len(self._workers)

    def check(self) -> None:
        """Raise GoError if self-play failed too often on a machine; a lost machine is no failure."""
        if self.failure is not None:
            raise GoError(f"self-play fails in the workers: {self.failure}")

    def close(self) -> None:
        """Kill all workers and leave the cluster."""
        ray = _ray()
        self._closing.set()
        self._watch.join()
        for started in self._workers.values():
            ray.kill(started.worker)
        ray.shutdown()

    def _cores_to_reserve(self) -> float:
        """Return the cores of this machine that no worker gets: those of the trainer, but one worker has room."""
        for node in _ray().nodes():
            if node["NodeID"] == self._here:
                spare = float(node["Resources"].get("CPU", 0)) - self._cores
                return max(0.0, min(self._settings.trainer_cores, spare))
        return 0.0

    def _room(self) -> int:
        """Return how many workers the machines of the cluster have room for."""
        room, alive = 0, [node for node in _ray().nodes() if node["Alive"]]
        for node in alive:
            reserved = self._reserved if node["NodeID"] == self._here else 0.0
            room += room_of(node["Resources"], reserved, self._cores, self._settings.gpu_share)
        self._nodes = frozenset(node["NodeID"] for node in alive)
        return room

    def _fill_cluster(self) -> None:
        """Start workers while the cluster has room, and remove those that have ended, until `close`."""
        errors = 0
        while not self._closing.wait(POLL_SECONDS):
            try:
                self._look_after()
            except Exception as error:  # noqa: BLE001 - reported by `check`
                errors += 1
                _LOG.warning("the workers cannot be looked after: %s", _text_of(error))
                if errors >= _MOST_ERRORS:
                    self.failure = _text_of(error)
            else:
                errors = 0

    def _look_after(self) -> None:
        room = self._room()
        while len(self._workers) < room and self.failure is None:
            self._start()
        if self._workers:
            gone, _ = _ray().wait(list(self._workers), num_returns=len(self._workers), timeout=0)
            for run in gone:
                self._forget(run)

    def _start(self) -> None:
        ray = _ray()
        self._started += 1
        share = self._settings.gpu_share
        options = {"num_cpus": self._cores, "num_gpus": share, "max_restarts": 0}
        worker = ray.remote(Worker).options(**options).remote(self._started, self._make, self._collector, share > 0)
        self._workers[worker.run.remote()] = _Started(worker, time.monotonic(), self._nodes, self._soon)

    def _forget(self, run: Any) -> None:
        """Remove a worker that has ended; `_fill_cluster` starts another one if there is room."""
        ray = _ray()
        started = self._workers.pop(run)
        self.lost += 1
        try:
            self._count_failure(ray.get(run))
        except ray.exceptions.RayError as error:
            cause = getattr(error, "cause", None)
            # A worker that has lost the trainer raises the error of Ray, which arrives as that of a task.
            if isinstance(error, ray.exceptions.RayTaskError) and not isinstance(cause, ray.exceptions.RayError):
                self._count_failure(Failed("", _text_of(error)))
            else:
                self._count_end(started, error)
        with contextlib.suppress(ray.exceptions.RayError):
            ray.kill(started.worker)

    def _count_failure(self, failed: Failed) -> None:
        self._failures[failed.node] += 1
        _LOG.warning("a worker failed: %s", failed.text)
        if self._failures[failed.node] > self._settings.failures:
            self.failure = failed.text

    def _count_end(self, started: _Started, error: Exception) -> None:
        """Count a worker that is lost without a failure of its own: too many in a row that hardly began are one.

        Those that end together count once, and those of a cluster that has lost a machine since do not count.
        """
        _LOG.info("a worker ended and its running games are lost: %s", error)
        self._room()  # reads the machines anew: the end of one is known before the end of its workers
        if time.monotonic() - started.at >= _SOON_SECONDS:
            self._soon = 0
        elif started.nodes <= self._nodes:
            self._soon = max(self._soon, started.soon + 1)
            if self._soon >= _MOST_SOON:
                self.failure = f"{_MOST_SOON} workers in a row ended as soon as they were started: {_text_of(error)}"


def delete_abandoned(place: Path) -> None:
    """Delete the folders of workers that were killed, whose locks nobody holds."""
    for folder in place.glob(f"{_FOLDER}*"):
        with contextlib.suppress(OSError):  # it may be another user's, or be deleted by another worker
            if time.time() - folder.stat().st_mtime > _ABANDONED_SECONDS and not is_claimed(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _text_of(error: Exception) -> str:
    """Return an error, or the one in a task of Ray from which it comes, on one line without colors.

    Of a long text, as of an actor that could not be created, begin and end: the end has the cause.
    """
    cause = getattr(error, "cause", None) or error
    text = f"{type(cause).__name__}: {' '.join(_ANSI_COLOR.sub('', str(cause)).split())}"
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT // 2]} ... {text[-_MOST_TEXT // 2 :]}"


def room_of(resources: Mapping[str, float], reserved: float, cores: float, gpu_share: float) -> int:
    """Return how many workers a machine has room for. A worker's share of a GPU is of one GPU."""
    room = int((resources.get("CPU", 0) - reserved) / cores)
    if gpu_share > 0:
        room = min(room, int(resources.get("GPU", 0)) * int(1 / gpu_share + 1e-9))
    return max(0, room)


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
