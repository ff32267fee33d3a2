"""Runs of `keima zero` on 5x5 as other processes: begun, killed, and gone on with."""

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 240.0
SMALL = [
    *("run.games=8", "run.first_games=8", "selfplay.games_at_once=8", "selfplay.full_visits=16"),
    *("selfplay.quick_visits=4", "selfplay.shard_samples=64", "train.batch_size=16", "train.channels=8"),
    *("train.blocks=1", "train.checkpoint_every=2", "train.log_every=2", "run.reuse=4"),
    *("gate.games=8", "gate.first_generation=1", "gate.visits=8", "gate.margin=0", "rating.every=1"),
    *("rating.games=4", "rating.visits=8", "rating.back=[1]", "rating.rollout_first=16", "rating.rollout_last=16"),
]
"""A generation of a few seconds."""


def command(run: Path, generations: int, *more: str, ray: str = "") -> list[str]:
    """Return the command that begins a run, and goes on with it. ray: the address of a cluster that plays."""
    settings = [part for setting in [*SMALL, *more] for part in ("--set", setting)]
    bounds = ["--generations", str(generations), *(["--ray", ray] if ray else [])]
    return [sys.executable, "-m", "keima", "zero", str(run), "--preset", "tiny", *settings, *bounds]


def start(run: Path, generations: int, *more: str, ray: str = "") -> "subprocess.Popen[bytes]":
    """Start a run in a process group of its own."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        command(run, generations, *more, ray=ray),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )


def finish(run: Path, generations: int, *more: str) -> None:
    """Go on with a run until it is complete."""
    process = start(run, generations, *more)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors.decode()


def kill_when(process: "subprocess.Popen[bytes]", is_time: Callable[[], bool]) -> None:
    """Wait for the moment, and kill the run without a warning. Fails if the run ends before."""
    while not is_time():
        ended = process.poll() is not None
        assert not ended, f"the run ended before it could be killed: {process.stderr and process.stderr.read()!r}"
        time.sleep(0.002)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def networks(run: Path) -> dict[str, str]:
    """Return the networks of a run by name, with a digest of each."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((run / "nets").glob("*.safetensors"))
    }
