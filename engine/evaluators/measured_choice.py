"""The backend and precision that computed a network fastest on this machine, measured once and kept in the cache.

`auto` follows a rule (`engine.evaluators.backends`) until there is a measurement: by `keima bench --choose`, which a
GTP session starts in a process beside it while it waits for the opponent. A running session keeps its backend.
"""

import hashlib
import json
import logging
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from engine import __version__
from engine.evaluators.backend_speed import positions_per_second
from engine.evaluators.network import Backend
from engine.native.machine import processor_name
from engine.native.processor import instruction_sets
from engine.nets.spec import NetSpec, tensors
from engine.nets.summary import gflop
from engine.support.cores import usable_cores
from engine.support.files import write_atomically
from engine.support.installation import make_private, user_cache
from engine.support.json_text import json_text

_FOLDER = "speeds"
_LONGEST = 1 << 16
"""Bytes of a file; larger ones are not ours."""
_MOST_BOARDS = 32
_SECONDS = 1.0
"""For all measurements together, without loading and compiling."""
_ROUNDS = 4
"""The candidates take turns, and the fastest turn counts: other programs only slow a measurement down."""
_CHANCE = 0.6
"""After half of the time, only those go on that have this share of the fastest one's speed, the rule's choice, and
those whose turn was disturbed."""
_LEAST_SHARE = 0.6
"""Share of the cores that a turn must have had. On two cores with a load of 18, kernels in fp32 seemed 3.9 times as
fast as OpenVINO in int8; on the idle machine they have 0.64 times its speed (g170-b6c96, 19x19)."""
_MARGIN = 1.25
"""What is measured must be faster than the rule's choice by this factor. One of four measurements of keima-t7c96 on
9x9, right after its kernels were compiled, found OpenVINO in bf16 1.22 times as fast as the kernels; the others found
0.84 to 0.94."""
_MARGIN_WITHIN = 1.1
"""The same for another precision of the same backend, where fewer things differ."""
_SETTLED, _MOST_WAITS, _WAIT_SECONDS = 0.2, 40, 0.05
"""Share of a core that backends may still use before they are measured. Right after OpenVINO had compiled a network in
int8, which went on in the background, Keima's kernels seemed half as fast as a moment later."""
_MOST_GFLOP = 20.0
"""Largest evaluation to measure, a little more than one of b18c384nbt on 19x19 (18.9)."""
_SINGLE_GFLOP = 2.0
"""From here on, calls are of one position: each takes long enough."""
_LOG = logging.getLogger(__name__)

Pair = tuple[str, str]
"""Backend and precision."""


class Measurement(NamedTuple):
    """Positions/s by backend and precision, the rule's choice first, on a board."""

    board: str
    speeds: Mapping[Pair, float]

    @property
    def best(self) -> Pair:
        """The fastest pair, or the rule's choice if that is about as fast."""
        rule = next(iter(self.speeds))
        least = {pair: (_MARGIN_WITHIN if pair[0] == rule[0] else _MARGIN) * self.speeds[rule] for pair in self.speeds}
        faster = [pair for pair, speed in self.speeds.items() if speed > least[pair]]
        return max(faster, key=self.speeds.__getitem__, default=rule)


def remembered(spec: NetSpec, threads: int | None, board: str | None = None) -> Measurement | None:
    """Return what was measured for a network on this machine; None without it, and for a damaged file.

    board: the last one that was in use if None, since sessions begin before they know their board.
    """
    last, found = _read(spec, threads)
    return found.get(last if board is None else board)


def _read(spec: NetSpec, threads: int | None) -> tuple[str, dict[str, Measurement]]:
    """Return the board that was in use last, and the measurements by their boards."""
    file = _file(spec, threads)
    try:
        if file is None or file.stat().st_size > _LONGEST:
            return "", {}
        content = json.loads(file.read_text(encoding="utf-8"))
        measured = {board: _measurement(board, speeds) for board, speeds in content["boards"].items()}
        return str(content["last"]), measured
    except FileNotFoundError:
        pass
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        _LOG.info("no measured speeds: %s: %s", file, error)
    return "", {}


def _measurement(board: str, speeds: Mapping[str, float]) -> Measurement:
    """Return a measurement of a file. Raises ValueError, AttributeError or TypeError if it is none."""
    found = {_pair(name): float(speed) for name, speed in speeds.items()}
    if not found or not all(math.isfinite(speed) and speed > 0 for speed in found.values()):
        raise ValueError(f"{board}: expected positive speeds, got {speeds}")
    return Measurement(board, found)


def _pair(name: str) -> Pair:
    backend, precision = name.split(" ")
    return backend, precision


def remember(spec: NetSpec, threads: int | None, measurement: Measurement) -> None:
    """Keep a measurement for later sessions, of which the next begins with its board.

    What cannot be written is measured again.
    """
    file = _file(spec, threads)
    if file is None:
        return
    _, measured = _read(spec, threads)
    # The newest last; a file holds a few kilobytes.
    measured.pop(measurement.board, None)
    kept = [*list(measured.values())[1 - _MOST_BOARDS :], measurement]
    boards = {each.board: {" ".join(pair): round(speed, 1) for pair, speed in each.speeds.items()} for each in kept}
    content = {"network": spec.name, "last": measurement.board, "boards": boards}
    try:
        make_private(file.parent)
        write_atomically(file, json_text(content, indent=1))
    except OSError as error:
        _LOG.info("measured speeds are not kept: %s", error)


def _file(spec: NetSpec, threads: int | None) -> Path | None:
    """Return the file for a network, a processor, a number of threads and a version of this program."""
    folder = user_cache()
    if folder is None:
        return None
    digest = hashlib.sha256()
    machine = (__version__, processor_name(), *instruction_sets(), str(threads or usable_cores()))
    digest.update("\0".join(machine).encode())
    for path, array in tensors(spec):
        digest.update(f"{path}{array.shape}".encode())
        digest.update(array.tobytes())
    return folder / _FOLDER / f"{digest.hexdigest()[:32]}.json"


def is_measurable(spec: NetSpec, width: int, height: int) -> bool:
    """Return whether a network is small enough to be measured within the time."""
    return gflop(spec, width, height) <= _MOST_GFLOP


def measure(
    spec: NetSpec,
    width: int,
    height: int,
    backends: Mapping[Pair, Backend],
    cpu_seconds: Callable[[], float] = time.process_time,
) -> Measurement | None:
    """Measure backends by their pairs, of which the first is the rule's choice, in turns, for a second in all.

    Returns None on a machine that other programs kept busy, by `cpu_seconds`, the CPU time of this process.
    """
    single = gflop(spec, width, height) > _SINGLE_GFLOP
    pairs = list(backends)
    for backend in backends.values():
        # A call of each slot: what is timed is neither compiled nor touched for the first time.
        positions_per_second(backend, width, height, 0.0, 1 if single else backend.preferred_batch)
    _settle(cpu_seconds)
    speeds = dict.fromkeys(pairs, 0.0)
    hopeful, seconds = pairs, _SECONDS / 2 / len(pairs)
    for _ in range(_ROUNDS):
        for pair in hopeful:
            backend = backends[pair]
            batch = 1 if single else backend.preferred_batch
            used, start = cpu_seconds(), time.perf_counter()
            speed = positions_per_second(backend, width, height, seconds, batch)
            cores = min(backend.parallel, usable_cores())
            if cpu_seconds() - used >= _LEAST_SHARE * cores * (time.perf_counter() - start):
                speeds[pair] = max(speeds[pair], speed)
        fastest = max(speeds.values())
        hopeful = [
            pair for pair in pairs if pair == pairs[0] or speeds[pair] == 0.0 or speeds[pair] >= _CHANCE * fastest
        ]
        seconds = _SECONDS / 2 / (_ROUNDS - 1) / len(hopeful)
    return Measurement(f"{width}x{height}", speeds) if all(speeds.values()) else None


def _settle(cpu_seconds: Callable[[], float]) -> None:
    """Wait until this process computes nothing, for two seconds at most."""
    for _ in range(_MOST_WAITS):
        used = cpu_seconds()
        time.sleep(_WAIT_SECONDS)
        if cpu_seconds() - used < _SETTLED * _WAIT_SECONDS:
            return
