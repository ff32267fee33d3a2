"""Self-play in several worker processes on this machine, which send their finished games to this process.

Within a process, searches and moves are serialized by one interpreter; with a small network they are a third of all
work (4x48 on 9x9: 60 of 190 us per position), and the evaluator waits for them. So there is one process per core, each
with its own evaluator. A game depends only on its number and the seed, so the number of workers does not change the
games; workers take numbers from a shared queue, and this process stores the games. Workers are reused from run to
run, because starting one takes seconds.
"""

import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any

from engine.errors import GoError
from engine.evaluation.evaluator import Evaluator
from engine.evaluators.devices import nvidia_gpus
from engine.nets.spec import WeightsError
from engine.support.worker_processes import WorkerProcesses, divide_threads, serve
from engine.train.data.samples import Samples
from engine.train.games.selfplay import Players, SelfplayRun, Stop, open_store, selfplay
from engine.train.games.selfplay_settings import SelfplaySettings
from engine.train.games.selfplay_starts import GameQueue
from engine.train.games.selfplay_stats import Report, SelfplayStats
from engine.train.games.selfplay_store import Store
from engine.train.teaching.gtp_teacher import Advice

MakeEvaluator = Callable[[int], Evaluator]
"""Opens the evaluator of a worker with a number of threads. It is sent to the workers, so it must be picklable."""
# Interval at which this process checks whether to stop.
_POLL_SECONDS = 0.2
# Maximum of board sizes times rule sets: the shared counters are allocated before the settings are known.
_MOST_KINDS = 1024
_VISIBLE = "CUDA_VISIBLE_DEVICES"
# Time for a process to exit by itself before it is killed.
_PATIENCE_SECONDS = 5.0


@dataclass(frozen=True)
class _Task:
    """The task of a worker. done: games that are finished. teacher: command of a program that suggests moves."""

    settings: SelfplaySettings
    make_evaluator: MakeEvaluator
    threads: int
    games: int | None
    done: frozenset[int]
    seed: int
    teacher: str | None
    provenance: dict[str, str] | None


@dataclass(frozen=True)
class _Finished:
    """A message with a finished game."""

    number: int
    samples: Samples
    record: str


@dataclass(frozen=True)
class _Counted:
    """A message with a worker's statistics so far."""

    stats: SelfplayStats
    is_over: bool


class SelfplayWorkers:
    """Worker processes for self-play; use as a context manager. A single worker is this process itself.

    threads: of evaluators, in all processes together; 0 for all cores. processes: 0 for one for each thread.
    A script that starts several workers must be guarded by `if __name__ == "__main__"`.
    """

    def __init__(self, processes: int = 0, threads: int = 0) -> None:
        processes, self._threads = divide_threads(threads, processes)
        self._workers: WorkerProcesses | None = None
        if processes > 1:
            self._start(processes)

    def _start(self, processes: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._counters, self._stop = context.Array("q", _MOST_KINDS), context.Event()
        gpus, visible = nvidia_gpus(), os.environ.get(_VISIBLE)
        self._workers = WorkerProcesses(
            "self-play worker",
            "finished games are kept, and the same command resumes the run",
            _serve,
            [(self._counters, self._stop, dealt_gpu(process, gpus, visible)) for process in range(processes)],
        )

    def __enter__(self) -> "SelfplayWorkers":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # More than 8 parameters: keyword arguments with defaults, of which a caller names the few that matter to it.
    def play(
        self,
        settings: SelfplaySettings,
        make_evaluator: MakeEvaluator,
        folder: Path,
        games: int | None,
        seed: int,
        *,
        stop: Stop | None = None,
        report: Report | None = None,
        teacher: str | None = None,
        provenance: dict[str, str] | None = None,
        players: Players | None = None,
    ) -> SelfplayStats:
        """Play as `engine.train.games.selfplay.selfplay` does, and return the statistics of all processes.

        teacher: command of the program that each process asks for moves to explore.
        Raises GoError as `selfplay` does, if no evaluator can be opened, and when a process dies; these workers
        cannot be used after that.
        """
        if self._workers is None:
            with closing(make_evaluator(self._threads)) as evaluator, _advising(teacher) as adviser:
                return selfplay(
                    settings,
                    evaluator,
                    folder,
                    games,
                    seed,
                    stop=stop,
                    report=report,
                    adviser=adviser,
                    provenance=provenance,
                    players=players,
                )
        store = open_store(settings, folder, seed, provenance, players)
        done = frozenset(store.done)
        task = _Task(settings, make_evaluator, self._threads, games, done, seed, teacher, provenance)
        return self._play_in_processes(self._workers, task, store, stop, report)

    def _play_in_processes(
        self, workers: WorkerProcesses, task: _Task, store: Store, stop: Stop | None, report: Report | None
    ) -> SelfplayStats:
        begun = time.perf_counter()
        self._stop.clear()
        self._counters[:] = [0] * _MOST_KINDS
        for connection in workers.connections:
            workers.send(connection, task)
        counted = dict.fromkeys(workers.connections, SelfplayStats())
        playing = set(workers.connections)
        stats = SelfplayStats(to_play=task.games)
        while playing:
            if stop is not None and stop.is_set():
                self._stop.set()
            for connection, message in workers.messages(playing, _POLL_SECONDS):
                match message:
                    case _Finished(number, samples, record):
                        store.add(number, samples, record)
                    case _Counted(part, is_over):
                        counted[connection] = part
                        playing -= {connection} if is_over else set()
                        stats.take_sums(list(counted.values()))
                        stats.done, stats.seconds = len(store.done), round(time.perf_counter() - begun, 3)
                        if report is not None:
                            report(stats)
        store.finish(task.games)
        return stats

    def close(self) -> None:
        """Stop all workers."""
        if self._workers is not None:
            self._stop.set()
            self._workers.close(_PATIENCE_SECONDS)


def _advising(teacher: str | None) -> AbstractContextManager[Advice | None]:
    return nullcontext() if teacher is None else closing(Advice(teacher))


class _Sender:
    """Sends finished games to the parent process; see `engine.train.games.selfplay.GameSink`."""

    def __init__(self, send: Callable[[Any], None]) -> None:
        self.samples = 0
        self._send = send

    def add(self, number: int, samples: Samples, record: str) -> None:
        """Send a finished game."""
        self._send(_Finished(number, samples, record))
        self.samples += len(samples)


def dealt_gpu(process: int, count: int, visible: str | None) -> str | None:
    """Return which of several GPUs a process computes on, in turn, as CUDA_VISIBLE_DEVICES; None if there is no choice.

    process: from 0. visible: that variable of this process, whose GPUs are dealt.
    """
    if count < 2:
        return None
    names = [name.strip() for name in visible.split(",")] if visible else [str(number) for number in range(count)]
    return names[process % len(names)]


def _serve(connection: Connection, counters: Any, stop: Any, gpu: str | None) -> None:
    """Run the tasks received from a connection until it sends None or is closed."""
    if gpu is not None:
        # Before CUDA's driver starts in this process.
        os.environ[_VISIBLE] = gpu

    def perform(task: _Task) -> _Counted:
        return _Counted(_play(task, connection, counters, stop), is_over=True)

    serve(connection, perform, (GoError, WeightsError))


def _play(task: _Task, connection: Connection, counters: Any, stop: Any) -> SelfplayStats:
    queue = GameQueue(task.settings, task.seed, task.games, task.done, counters, counters.get_lock())
    lock = threading.Lock()  # games are sent by another thread than the statistics

    def send(message: Any) -> None:
        with lock:
            connection.send(message)

    with closing(task.make_evaluator(task.threads)) as evaluator, _advising(task.teacher) as adviser:
        run = SelfplayRun(
            task.settings,
            evaluator,
            _Sender(send),
            queue,
            task.seed,
            lambda stats: send(_Counted(stats, is_over=False)),
            adviser,
            task.provenance,
        )
        return run.play(stop)
