"""`keima net check`: checks that a network is computed correctly on this machine, with a backend and precision.

Three checks: it understands the canary positions; its outputs are those of its own engine (golden files); and they are
those of the reference backend.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from engine.apps.net.canaries import (
    SMALLEST_RACE,
    SMALLEST_WON,
    Setup,
    canaries,
    capturing_race,
    empty_board,
    won_by_black,
)
from engine.apps.net.golden import Comparison, compare, compare_answers, records_of, tolerances_for
from engine.apps.net.records import read_golden
from engine.errors import GoError
from engine.evaluators.devices import CPU
from engine.evaluators.factory import (
    Computing,
    check_profile,
    make_evaluator,
    precision_of,
    raw_network,
)
from engine.evaluators.finding import find_network
from engine.evaluators.network import NetworkEvaluator
from engine.nets.drawing import sides_of
from engine.nets.spec import NetSpec
from engine.records.human_profiles import MEASURED_PROFILE
from engine.symmetry import COUNT
from weights.registry import load

_REFERENCE = "torch-cpu-fp32"
_SHOWN = 10
"""Lines about records that differ."""


def cli_check(
    file: str,
    *,
    golden: Sequence[str] = (),
    computing: Computing | None = None,
    profile: str | None = None,
    positions: bool = True,
    sides: Sequence[int] = (),
    stdout: IO[str] | None = None,
) -> int:
    """Check a network and return the exit status: 0, or 1 if a check failed.

    golden: files of golden records. positions: also the canary positions and the other backends, on square boards of
    these sides; without any, on those of `sides_of`.
    Raises GoError, also where there is nothing to check, WeightsError, OSError.
    """
    if not (golden or positions):
        raise GoError(f"{file}: nothing was checked: --no-positions leaves only --golden")
    screen = stdout or sys.stdout
    path = find_network(file)
    spec, computing = load(path), computing or Computing()
    smallest, largest = spec.board_sizes
    if not all(smallest <= side <= largest for side in sides):
        expected = f"{smallest} to {largest}"
        raise GoError(f"--size: expected boards of {path}, {expected}, got {' '.join(map(str, sides))}")
    sides = sides or sides_of(spec)
    if spec.metadata and profile is None:
        profile = MEASURED_PROFILE
    check_profile(spec, profile)
    evaluator = make_evaluator(spec, computing)
    screen.write(f"{path}: {spec.name}, {spec.format} {spec.version}, by {evaluator.attributes.name}\n")
    wrong = 0
    try:
        for name in golden:
            wrong += _check_golden(screen, spec, evaluator, [path.name, spec.name], name)
        if positions:
            network = raw_network(path, spec, evaluator, profile)
            for finding in canaries(network, spec, sides):
                screen.write(f"{_verdict(finding.passed)}  {finding.name}: {finding.text}\n")
                wrong += not finding.passed
            wrong += _check_reference(screen, spec, evaluator, computing, profile, sides)
    finally:
        evaluator.close()
    screen.write(f"{wrong} wrong\n" if wrong else "all as it should be\n")
    return 1 if wrong else 0


def _verdict(passed: bool) -> str:
    return "ok    " if passed else "WRONG "


def _check_golden(screen: IO[str], spec: NetSpec, evaluator: NetworkEvaluator, names: Sequence[str], file: str) -> int:
    """Compare with one golden file and return how many evaluations differ."""
    comparison = Comparison(tolerances_for(len(spec.blocks), precision_of(evaluator)))
    try:
        compare(evaluator, records_of(read_golden(file), names), comparison)
    except GoError as error:
        raise GoError(str(error) if file in str(error) else f"{file}: {error}") from None
    if comparison.evaluations == 0:
        raise GoError(f"{file}: nothing was checked: its records have no outputs")
    screen.write(f"{file}: {comparison.records} positions, {comparison.evaluations} evaluations\n")
    return _print_differences(screen, comparison)


def _check_reference(
    screen: IO[str],
    spec: NetSpec,
    evaluator: NetworkEvaluator,
    computing: Computing,
    profile: str | None,
    sides: Sequence[int],
) -> int:
    """Compare with torch in fp32 on a CPU, the reference, where it is installed; return how much differs."""
    if evaluator.attributes.name == _REFERENCE:
        return 0
    try:
        reference = make_evaluator(spec, Computing("torch", "fp32", computing.threads, CPU))
    except GoError as error:
        screen.write(f"not compared with another backend: {error}\n")
        return 0
    comparison = Comparison(tolerances_for(len(spec.blocks), precision_of(evaluator)))
    networks = [raw_network(Path(), spec, each, profile) for each in (evaluator, reference)]
    for side in sides:
        for name, setup in _setups(side).items():
            for symmetry in range(COUNT):
                found, expected = (each.evaluate(setup.game(), setup.to_play, symmetry) for each in networks)
                compare_answers(comparison, f"{side}x{side}, {name}, symmetry {symmetry}", found, expected)
    screen.write(f"against {reference.attributes.name}: {comparison.evaluations} evaluations\n")
    reference.close()
    return _print_differences(screen, comparison)


def _setups(side: int) -> dict[str, Setup]:
    found = {"empty board": empty_board(side)}
    found |= {"won game": won_by_black(side)} if side >= SMALLEST_WON else {}
    return found | ({"capturing race": capturing_race(side)} if side >= SMALLEST_RACE else {})


def _print_differences(screen: IO[str], comparison: Comparison) -> int:
    """Print a line for each kind of output, and the first that differ; return how many differ."""
    for kind, found in comparison.differences.items():
        tolerance = comparison.tolerances[kind]
        allowed = f"{tolerance.absolute:g}" + (f" or {tolerance.relative:.2%}" if tolerance.relative else "")
        kinds_wrong = any(f": {kind} differs" in line for line in comparison.wrong)
        where = f", largest at {found.where}" if found.where else ""
        screen.write(
            f"{_verdict(not kinds_wrong)}  {kind:14} largest {found.largest:.1e}, mean {found.mean:.1e}, "
            f"allowed {allowed}{where}\n"
        )
    for line in comparison.wrong[:_SHOWN]:
        screen.write(f"        {line}\n")
    return len(comparison.wrong)
