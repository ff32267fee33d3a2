"""Worker processes: how many, what they answer, how they fail, and that they end with their parent."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from engine.errors import GoError
from engine.support.cores import usable_cores
from engine.support.worker_processes import WorkerProcesses, divide_threads, serve

READING = """
import multiprocessing, sys
from engine.train.data.records import RecordOptions, read_samples
if __name__ == "__main__":
    records = ((str(number), b"(;SZ[5];B[aa];W[bb])") for number in range(10**9))
    for _ in read_samples(records, RecordOptions(held_out=None), processes=1):
        workers = multiprocessing.active_children()
        if workers:
            print(workers[0].pid, flush=True)
            sys.stdin.read()
"""
PLAYING = """
import multiprocessing, sys
from pathlib import Path
from engine.train.games.selfplay_workers import SelfplayWorkers
from tests.train.games.test_selfplay import TINY, fake
if __name__ == "__main__":
    with SelfplayWorkers(2) as workers:
        def report(stats):
            print(*(worker.pid for worker in multiprocessing.active_children()), flush=True)
            sys.stdin.read()
        workers.play(TINY, fake, Path(sys.argv[1]), None, 1, report=report)
"""


@pytest.mark.skipif(not Path("/proc").exists(), reason="needs /proc to see processes")
@pytest.mark.parametrize("script", [READING, PLAYING], ids=["reading", "playing"])
def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path, script: str) -> None:
    path = tmp_path / "parent.py"
    path.write_text(script)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    command = [sys.executable, path, tmp_path / "out"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as parent:
        assert parent.stdout is not None
        workers = [Path("/proc") / number for number in parent.stdout.readline().split()]
        assert workers and all(map(_lives, workers))
        parent.kill()
    deadline = time.monotonic() + 20
    while any(map(_lives, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(_lives, workers))


def _lives(process: Path) -> bool:
    """True unless a process is gone, or only waits to be counted by whoever adopted it."""
    try:
        return process.joinpath("stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_threads_are_shared_out_among_processes() -> None:
    cores = usable_cores()
    assert divide_threads(0, 0) == (cores, 1)
    assert divide_threads(0, 1) == (1, cores)
    assert divide_threads(1, 0) == (1, 1)
    assert divide_threads(8, 3) == (3, 2)
    assert divide_threads(2, 4) == (4, 1)


def add_to(connection: Connection, number: int) -> None:
    """Answer tasks by their sums with a number; those that are no numbers raise or end the process."""

    def perform(task: object) -> int:
        if isinstance(task, Exception):
            raise task
        if not isinstance(task, int):
            os._exit(7)
        return number + task

    serve(connection, perform, (GoError, KeyError))


@pytest.fixture
def workers() -> Iterator[WorkerProcesses]:
    """Start two processes, and end them after the test."""
    with closing(WorkerProcesses("test worker", "try again", add_to, [(10,), (20,)])) as started:
        yield started
    assert not multiprocessing.active_children()


def test_each_process_answers_with_its_own_arguments_one_task_after_the_other(workers: WorkerProcesses) -> None:
    asked = list(workers.connections)
    for task in (1, 2):
        for connection in asked:
            connection.send(task)
    answers: dict[Connection, list[int]] = {each: [] for each in asked}
    while any(len(each) < 2 for each in answers.values()):
        for connection, answer in workers.messages(asked):
            answers[connection].append(answer)
    assert list(answers.values()) == [[11, 12], [21, 22]]
    assert list(workers.messages(asked, 0.0)) == []


@pytest.mark.parametrize(
    ("task", "kind", "said"),
    [
        (GoError("no such file"), GoError, "^no such file$"),
        (KeyError("net"), GoError, "^'net'$"),
        (MemoryError("8 GiB"), MemoryError, "^8 GiB$"),
        (OSError("an error of the program"), RuntimeError, "Traceback.*an error of the program"),
        ("end", GoError, "^a test worker died with status 7; try again$"),
    ],
)
def test_what_fails_in_a_process_is_raised_in_its_parent(
    workers: WorkerProcesses, task: object, kind: type[Exception], said: str
) -> None:
    workers.connections[1].send(task)
    with pytest.raises(kind, match=f"(?s){said}"):
        list(workers.messages(workers.connections))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals for single processes")
def test_ctrl_c_does_not_reach_a_process_that_still_loads_and_what_is_blocked_for_it_is_not_for_its_parent() -> None:
    with closing(WorkerProcesses("test worker", "try again", add_to, [(10,)])) as started:
        for process in multiprocessing.active_children():
            assert process.pid is not None
            os.kill(process.pid, signal.SIGINT)
        [connection] = started.connections
        started.send(connection, 1)
        assert list(started.messages([connection])) == [(connection, 11)]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_a_process_that_died_while_it_had_nothing_to_do_is_named_when_it_gets_a_task(workers: WorkerProcesses) -> None:
    [first, second] = workers.connections
    workers.send(second, "end")
    with pytest.raises(GoError, match="died"):
        list(workers.messages([second]))
    workers.send(first, 1)
    with pytest.raises(GoError, match=r"^a test worker died with status 7; try again$"):
        workers.send(second, 1)
    assert list(workers.messages([first])) == [(first, 11)]


def test_a_process_goes_on_after_a_task_that_failed(workers: WorkerProcesses) -> None:
    [first, _] = workers.connections
    first.send(GoError("no such file"))
    with pytest.raises(GoError, match="no such file"):
        list(workers.messages([first]))
    first.send(5)
    assert list(workers.messages([first])) == [(first, 15)]
