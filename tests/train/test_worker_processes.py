"""Worker processes: how many, and that those that read and those that play end with their parent."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.train.worker_processes import divide_threads, usable_processes

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
    cores = usable_processes()
    assert divide_threads(0, 0) == (cores, 1)
    assert divide_threads(0, 1) == (1, cores)
    assert divide_threads(1, 0) == (1, 1)
    assert divide_threads(8, 3) == (3, 2)
    assert divide_threads(2, 4) == (4, 1)
