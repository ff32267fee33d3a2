"""`keima bench --choose`: measures which backend and precision computes a network fastest here, for `auto`."""

import os
import sys
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

from engine.apps.bench.effort import Size, name_of
from engine.evaluators.backends import backend_of, cpu_candidates
from engine.evaluators.finding import find_network
from engine.evaluators.measured_choice import Measurement, is_measurable, measure, remember, remembered
from engine.evaluators.network import Backend
from engine.evaluators.rounding_loss import MOST_LOST, loss_of
from engine.nets.spec import NetSpec
from engine.support.json_text import json_text
from weights.registry import load
from weights.sized import text_of

_BYTES = ("numba", "int8")
_NICENESS = 10
"""Added to the priority's number: a search must not wait for the measurement."""


def cli_choose(net: str | Path, size: Size, threads: int, *, once: bool, as_json: bool) -> int:
    """Measure the network on one board, keep and print the result, and return the exit status: 1 on a busy machine.

    once: take what was measured on this board before.
    """
    with suppress(OSError, AttributeError):  # Windows has no nice
        os.nice(_NICENESS)
    spec = load(find_network(net))
    pairs = cpu_candidates(spec)
    known = remembered(spec, threads, text_of(size)) if once else None
    if known is not None and _is_of(known, pairs):
        # The next session begins with the choice for this board.
        remember(spec, threads, known)
        _print(known, as_json=as_json)
        return 0
    if not pairs or not is_measurable(spec, *size):
        why = "an evaluation takes too long, or nothing computes it"
        print(f"{spec.name} is not measured on {name_of(size)}: {why}", file=sys.stderr)
        _print(None, as_json=as_json)
        return 0
    with ExitStack() as stack:
        backends = {pair: stack.enter_context(closing(backend_of(spec, pair, threads))) for pair in pairs}
        if _BYTES in pairs and not _loses_little(spec, size, backends[pairs[0]], backends[_BYTES]):
            del backends[_BYTES]
        found = measure(spec, *size, backends)
    if found is None:
        print("other programs kept the machine busy: nothing is kept", file=sys.stderr)
        _print(None, as_json=as_json)
        return 1
    remember(spec, threads, found)
    _print(found, as_json=as_json)
    return 0


def _is_of(known: Measurement, pairs: list[tuple[str, str]]) -> bool:
    """Return whether what was measured is what would be now: a backend may have been installed or removed since."""
    measured = list(known.speeds)
    return measured[:1] == pairs[:1] and {*pairs} - {_BYTES} <= {*measured} <= {*pairs}


def _loses_little(spec: NetSpec, size: Size, rule: Backend, rounded: Backend) -> bool:
    """Return whether the kernels lose little in int8: on a board and on 9x9, where winrates change more."""
    smallest, largest = spec.board_sizes
    boards = {size, (9, 9)} if smallest <= 9 <= largest else {size}
    losses = {board: loss_of(spec, *board, (rule, rounded)) for board in boards}
    for (width, height), loss in losses.items():
        if not loss.is_small:
            print(
                f"not int8: on {width}x{height} it would change winrates by {loss.winrate:.3f} and the policy by "
                f"{loss.policy:.3f} (at most {MOST_LOST})",
                file=sys.stderr,
            )
    return all(loss.is_small for loss in losses.values())


def _print(found: Measurement | None, *, as_json: bool) -> None:
    """Print a measurement, where there is one; as JSON one object in any case."""
    if found is None:
        if as_json:
            print(json_text({"chosen": None}))
        return
    speeds: dict[str, Any] = {" ".join(pair): round(speed, 1) for pair, speed in found.speeds.items()}
    best = " ".join(found.best)
    if as_json:
        print(json_text({"board": found.board, "evaluations_per_s": speeds, "chosen": best}, indent=1))
        return
    for name, speed in speeds.items():
        print(f"{name}: {speed:,} evaluations/s")
    print(f"auto takes {best} from the next start on")
