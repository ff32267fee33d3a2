"""Long commands killed at random moments, and gone on with: nothing is lost, and the results are those of a whole run.

Run `python -m tests.kill [train selfplay zero match solve book tune] --kills 20 --seed 1`. Each command is run once
without a kill, and again in other folders, where SIGKILL ends its processes after a random number of changes in the
folder, or soon after the start; then the same command goes on. All that a run has finished is compared with the whole
run by its digest: networks, shards, games, checkpoints, answers, trials. Prints a line for each command; exits with 1
on any difference.
"""

import argparse
import hashlib
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from engine.records.sgf import load_sgf
from tests.apps.quality.records import file_of
from tests.apps.solve.problems import capture_file
from tests.conformity.driver import ROOT
from tests.train.generations.zero_runs import command as zero_command

PATIENCE = 600.0
GENERATIONS = 3
_POLL_SECONDS = 0.005
# Share of the kills that come while the command still starts, and the seconds within which they come.
_EARLY, _EARLY_SECONDS = 0.15, 3.0
# What is written about the time that something took; it differs from run to run.
_TIMES = {"seconds", "longest", "samples_per_s", "wait_share", "hours"}

Digests = dict[str, str]


@dataclass(frozen=True)
class LongCommand:
    """A command that resumes. words: its arguments for a folder. results: digests of all that a folder holds."""

    words: Callable[[Path], list[str]]
    results: Callable[[Path], Digests]


def _keima(*words: object) -> list[str]:
    return [sys.executable, "-m", "keima", *map(str, words)]


def _settings(*settings: str) -> list[str]:
    return [word for setting in settings for word in ("--set", setting)]


def selfplay_words(folder: Path) -> list[str]:
    """Return the command of 24 games on 4x4 and 5x5 by a random network."""
    options = ["--net", "none", "--blocks", 1, "--channels", 8, "--size", 5, "--size", 4, "--games", 24]
    speed = _settings("full_visits=24", "quick_visits=8", "games_at_once=6", "batches=1", "shard_samples=40")
    return _keima("selfplay", folder, *options, "--precision", "fp32", "--threads", 1, "--processes", 1, *speed)


def train_words(samples: Path, folder: Path) -> list[str]:
    """Return the command of 60 steps of a tiny network on samples."""
    shape = _settings("blocks=1", "channels=8", "batch_size=16", "checkpoint_every=4", "log_every=2", "precision=fp32")
    return _keima("train", "run", folder, "--samples", samples, "--steps", 60, "--threads", 1, *shape)


def match_words(openings: Path, folder: Path) -> list[str]:
    """Return the command of 12 games on 5x5, two at once, whose engines play by the position alone.

    Random numbers would depend on the games before: an engine draws them from one sequence for all its games.
    """
    players, by_position = [], ("temperature=0", "random_symmetries=false", "root_symmetries=1")
    for side, visits in (("--black", 1), ("--white", 4)):
        options = ["--net", "keima-b6c96", "--precision", "fp32", "--visits", visits, "--seed", 3, "--threads", 1]
        players += [side, shlex.join(_keima("gtp", *options, "--rules", "tromp-taylor", *_settings(*by_position)))]
    board = ["--size", 5, "--komi", 24.5, "--rules", "tromp-taylor", "--games", 12, "--concurrency", 2]
    return _keima("match", *players, *board, "--openings", openings, "--opening-moves", 2, "--out", folder)


def opening_file(folder: Path) -> Path:
    """Write six records of two moves."""
    path = folder / "openings.sgfl"
    starts = (("cc", "cb"), ("cc", "bc"), ("cc", "bb"), ("bc", "cc"), ("cb", "cc"), ("bb", "cc"))
    path.write_text("".join(f"(;GM[1]SZ[5];B[{black}];W[{white}])\n" for black, white in starts), encoding="utf-8")
    return path


def solve_words(problems: Path, folder: Path) -> list[str]:
    """Return the command of 40 problems, searched by visits."""
    return _keima("solve", problems, "--net", "none", "--visits", "1,200", "--threads", 1, "--out", folder)


def book_words(folder: Path) -> list[str]:
    """Return the command of a book of 60 positions on 4x4, four at a time."""
    options = ["--net", "none", "--size", 4, "--komi", 0.5, "--visits", 300, "--threads", 1]
    return _keima("book", "build", folder, *options, "--positions", 60, "--at-once", 4)


def tune_words(records: Path, folder: Path) -> list[str]:
    """Return the command of 12 sets of two parameters on 5x5, and of games with the best of them."""
    tuned = _settings("c_puct=0.3..4:log", "rave_bias=0.001..0.1:log")
    limits = ["--visits", "20,40", "--reference-visits", 100, "--positions", 6, "--held", 4, "--trials", 12]
    games = ["--net", "none", "--size", 5, "--threads", 1, "--confirm", 80]
    return _keima("tune", *tuned, *limits, *games, "--records", records, "--out", folder)


def digests(folder: Path, *patterns: str) -> Digests:
    """Return a digest of each file that fits one of the patterns, by its path in the folder."""
    files = sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def move_digests(folder: Path) -> Digests:
    """Return a digest of the moves of each record, whose comments say how long they took."""
    moves = {path.name: load_sgf(path).moves for path in sorted(folder.glob("*.sgf"))}
    return {name: hashlib.sha256(repr(found).encode()).hexdigest() for name, found in moves.items()}


def line_digests(folder: Path, *names: str) -> Digests:
    """Return a digest of the JSON lines of each file, in any order and without the times that things took."""
    found = {}
    for name in names:
        lines = [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]
        kept = sorted(json.dumps(_without_times(line), sort_keys=True) for line in lines)
        found[name] = hashlib.sha256("\n".join(kept).encode()).hexdigest()
    return found


def _without_times(line: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in line.items() if not any(part in key for part in _TIMES)}


def commands(work: Path) -> dict[str, LongCommand]:
    """Return the commands; what they read is made in a folder."""
    samples = work / "samples"
    problems = capture_file(work, 40)
    weights = "checkpoints/*/*.safetensors"
    return {
        "train": LongCommand(partial(train_words, samples), lambda run: digests(run, "*.safetensors", weights)),
        "selfplay": LongCommand(selfplay_words, lambda run: digests(run, "games.sgfl", "*x*/*", "pending/*")),
        "zero": LongCommand(
            lambda run: zero_command(run, GENERATIONS, "evaluator.processes=1"),
            lambda run: (
                digests(run, "nets/*", "samples/**/*.safetensors", "samples/*/games.sgfl", "matches/*")
                | line_digests(run, "gate.jsonl", "ratings.jsonl")
            ),
        ),
        "match": LongCommand(
            partial(match_words, opening_file(work)), lambda run: line_digests(run, "results.jsonl") | move_digests(run)
        ),
        "book": LongCommand(book_words, lambda run: line_digests(run, "results.jsonl")),
        "solve": LongCommand(partial(solve_words, problems), lambda run: line_digests(run, "results.jsonl")),
        "tune": LongCommand(
            partial(tune_words, file_of(work, 60)), lambda run: digests(run, "trials.jsonl", "report.json", "games-*/*")
        ),
    }


def start(words: Sequence[str]) -> "subprocess.Popen[bytes]":
    """Start a command in a process group of its own."""
    return subprocess.Popen(
        words,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        start_new_session=True,
    )


def finish(words: Sequence[str]) -> None:
    """Run a command to its end. Raises AssertionError if it fails."""
    process = start(words)
    try:
        _, errors = process.communicate(timeout=PATIENCE)
    finally:
        _kill(process)
    assert process.returncode == 0, errors.decode(errors="replace")


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill a command and the processes that it started; nothing happens if it has ended."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of change of every file, those that come and go while they are listed left out."""
    found = {}
    for directory, _, names in os.walk(folder):
        for name in names:
            try:
                status = Path(directory, name).stat()
            except FileNotFoundError:
                continue
            found[f"{directory}/{name}"] = status.st_size, status.st_mtime_ns
    return found


def changes(process: "subprocess.Popen[bytes]", folder: Path) -> Iterator[None]:
    """Yield whenever a running command has changed its folder."""
    before = contents(folder)
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None:
        if time.monotonic() > deadline:
            raise TimeoutError("the run does not end")
        now = contents(folder)
        if now != before:
            before = now
            yield
        time.sleep(_POLL_SECONDS)


def killed(words: Sequence[str], folder: Path, most: int, generator: random.Random) -> bool:
    """Run a command until a random moment, at most `most` changes of its folder away; return whether it was killed."""
    process = start(words)
    try:
        if generator.random() < _EARLY:
            time.sleep(generator.uniform(0.0, _EARLY_SECONDS))
        else:
            left = generator.randint(1, most)
            for _ in changes(process, folder):
                left -= 1
                if left == 0:
                    time.sleep(generator.uniform(0.0, 0.05))
                    break
        was_running = process.poll() is None
    finally:
        _kill(process)
    if not was_running:
        assert process.returncode == 0, f"{shlex.join(words)} ended with {process.returncode}"
    return was_running and process.returncode == -signal.SIGKILL


def attack(command: LongCommand, work: Path, kills: int, seed: int) -> tuple[int, list[str]]:
    """Kill a command until it was killed `kills` times; return the number of complete runs and what differs in them."""
    generator, whole = random.Random(seed), work / "whole"
    process, steps = start(command.words(whole)), 0
    for _ in changes(process, whole):
        steps += 1
    _, errors = process.communicate()
    assert process.returncode == 0, errors.decode(errors="replace")
    wanted = command.results(whole)
    assert wanted, "the whole run has no results"
    # On average, as many kills as are wanted fit into one run.
    most = max(1, 2 * steps // kills)
    runs, done, different = 0, 0, list[str]()
    while done < kills:
        runs += 1
        folder = work / f"killed-{runs}"
        words = command.words(folder)
        is_killed = True
        while done < kills and is_killed:
            is_killed = killed(words, folder, most, generator)
            done += is_killed
        finish(words)
        found = command.results(folder)
        different += [
            f"{folder.name}/{name}" for name in sorted(wanted.keys() | found) if wanted.get(name) != found.get(name)
        ]
    return runs, different


def main() -> int:
    """Attack the commands and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="commands to kill, by default all")
    parser.add_argument("--kills", type=int, default=20, help="kills of each command")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    options = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory(prefix="keima-kill-") as place:
        work = Path(place)
        known = commands(work)
        names = options.names or list(known)
        if "train" in names:
            finish(selfplay_words(work / "samples"))
        for name in names:
            begun = time.monotonic()
            (work / name).mkdir()
            runs, different = attack(known[name], work / name, options.kills, options.seed)
            verdict = f"DIFFERENT: {' '.join(different)}" if different else "equal to the run that was not killed"
            print(
                f"{name}: {options.kills} kills, {runs} runs, {time.monotonic() - begun:.0f} s: {verdict}", flush=True
            )
            failed |= bool(different)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
