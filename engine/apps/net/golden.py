"""Compares an evaluator's outputs for golden positions with those of the network's own engine; defines the tolerances.

There are two kinds of files: "nn" with the outputs of KataGo's kata-raw-nn, and "lz" with Leela Zero's winrates and
policies in thousandths, rounded down.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.apps.net.records import Golden, positions_of
from engine.errors import GoError
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator
from engine.evaluators.raw import RawEvaluation, read_row
from engine.nets.spec import WeightsError
from engine.symmetry import FLIP_ROWS, compose

Numbers = float | NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Tolerance:
    """A number may differ by `absolute`, or by `relative` of its size if that is more (sizes from 1 up)."""

    absolute: float
    relative: float = 0.0

    def scaled(self, factor: float) -> "Tolerance":
        """Return the same tolerance, wider or narrower."""
        return Tolerance(self.absolute * factor, self.relative * factor)


EXACT: Mapping[str, Tolerance] = {
    "winrate": Tolerance(1e-5),
    "policy": Tolerance(2e-5),
    "ownership": Tolerance(5e-5),
    "lead": Tolerance(2e-3),
    "score": Tolerance(2e-3),
    "score square": Tolerance(0.03, 5e-4),
    "variance time": Tolerance(2e-3),
    "value error": Tolerance(2e-3),
    "score error": Tolerance(2e-3),
    "legality": Tolerance(0.0),
}
"""Tolerances of fp32, for networks with few blocks."""
ROUGH: Mapping[str, Tolerance] = {
    "winrate": Tolerance(0.05),
    "policy": Tolerance(0.1),
    "ownership": Tolerance(0.2),
    "lead": Tolerance(2.0),
    "score": Tolerance(2.0),
    "score square": Tolerance(40.0, 0.15),
    "variance time": Tolerance(5.0, 0.1),
    "value error": Tolerance(0.1),
    "score error": Tolerance(1.0),
    "legality": Tolerance(0.0),
}
"""Tolerances of 16-bit precisions."""
DEEP_BLOCKS, DEEP_FACTOR = 15, 5.0
"""Networks with at least this many blocks round more often, and their tolerance grows by this factor."""
_NN_FIELDS: Mapping[str, tuple[str, ...]] = {
    "winrate": ("whiteWin", "whiteLoss", "noResult"),
    "lead": ("whiteLead",),
    "score": ("whiteScoreSelfplay", "whiteScore"),
    "score square": ("whiteScoreSelfplaySq", "whiteScoreSq"),
    "variance time": ("varTimeLeft",),
    "value error": ("shorttermWinlossError",),
    "score error": ("shorttermScoreError",),
}
_FIELD_OF = {
    "whiteWin": "white_win",
    "whiteLoss": "white_loss",
    "noResult": "no_result",
    "whiteLead": "white_lead",
    "whiteScoreSelfplay": "white_score",
    "whiteScore": "white_score",
    "whiteScoreSelfplaySq": "score_square",
    "whiteScoreSq": "score_square",
    "varTimeLeft": "variance_time",
    "shorttermWinlossError": "value_error",
    "shorttermScoreError": "score_error",
}
_PERMILLE = 1000.0


@dataclass
class Difference:
    """Differences of one kind of output: the largest and its place, the sum, and the number of comparisons."""

    largest: float = 0.0
    total: float = 0.0
    count: int = 0
    where: str = ""

    @property
    def mean(self) -> float:
        """Mean absolute difference."""
        return self.total / max(1, self.count)


@dataclass
class Comparison:
    """Differences by kind of output, and a line for each record and kind that exceeds its tolerance."""

    tolerances: Mapping[str, Tolerance]
    records: int = 0
    evaluations: int = 0
    differences: dict[str, Difference] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def compare(self, kind: str, where: str, found: Numbers, expected: Numbers, slack: float = 0.0) -> None:
        """Compare numbers of one kind. slack: what the expected ones may be off by in print."""
        off = np.abs(np.atleast_1d(np.asarray(found, dtype=np.float64) - expected))
        off = np.where(np.isnan(off), np.inf, np.maximum(off - slack, 0.0))
        known = self.differences.setdefault(kind, Difference())
        largest = float(off.max(initial=0.0))
        known.total += float(off.sum())
        known.count += off.size
        if largest > known.largest:
            known.largest, known.where = largest, where
        tolerance = self.tolerances[kind]
        sizes = np.maximum(1.0, np.abs(np.atleast_1d(expected)))
        if bool((off > np.maximum(tolerance.absolute, tolerance.relative * sizes)).any()):
            self.wrong.append(f"{where}: {kind} differs by {largest:.3g}")


def tolerances_for(blocks: int, precision: str) -> Mapping[str, Tolerance]:
    """Return the tolerances for a network with `blocks` blocks."""
    if precision != "fp32":
        return ROUGH
    factor = DEEP_FACTOR if blocks >= DEEP_BLOCKS else 1.0
    return {kind: tolerance.scaled(factor) for kind, tolerance in EXACT.items()}


def stem_of(file: str) -> str:
    """Return a network file's name without folder and suffixes, as golden files name it."""
    name = file.replace("\\", "/").rpartition("/")[2]
    for suffix in (".gz", ".bin", ".txt", ".safetensors"):
        name = name.removesuffix(suffix)
    return name


def records_of(data: Golden, names: Sequence[str]) -> list[Golden]:
    """Return the records of a golden file about a network of one of these names, each with `outputs` a list.

    Those without an `id` get their number, from 1 on, as one. Raises GoError when there is none, or one is malformed.
    """
    kind = data.get("kind")
    if kind not in ("nn", "lz"):
        raise GoError(f"golden records of kind {kind!r} say nothing of a network, expected nn or lz")
    wanted = {stem_of(name) for name in names}
    found: list[Golden] = []
    known: set[str] = set()
    for number, record in enumerate(data["records"], 1):
        with _blaming(number):
            outputs = record["outputs"]
            by_name = outputs if kind == "lz" else {stem_of(record.get("net") or data["net"]): outputs}
            known |= by_name.keys()
            found += [{"id": number, **record, "outputs": each} for name, each in by_name.items() if name in wanted]
    if not found:
        raise GoError(f"no golden records of {' or '.join(sorted(wanted))}, but of {' '.join(sorted(known))}")
    return found


def compare(evaluator: Evaluator, records: Sequence[Golden], comparison: Comparison) -> Comparison:
    """Add the evaluator's differences over the records, see `records_of`, and return the comparison.

    Raises GoError on a malformed record.
    """
    for record in records:
        with _blaming(record["id"]):
            _compare_record(evaluator, record, comparison)
        comparison.records += 1
    return comparison


def _compare_record(evaluator: Evaluator, record: Golden, comparison: Comparison) -> None:
    for expected, raw in _evaluated(evaluator, record):
        name = f"{record['id']}, symmetry {expected['symmetry']}"
        if "optimism" in expected:
            name += f", optimism {expected['optimism']}"
        if "winrate" in expected:
            _compare_leela(comparison, name, raw, expected, white=record["to_move"] == "W")
        else:
            _compare_katago(comparison, name, raw, expected)
        comparison.evaluations += 1


@contextmanager
def _blaming(record: object) -> Iterator[None]:
    """Turn what a record that lacks something, or has it in another form, leads to into a GoError that names it."""
    try:
        yield
    except (GoError, WeightsError):
        raise
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise GoError(f"no golden file: record {record}: {error!r}") from error


def _evaluated(evaluator: Evaluator, record: Golden) -> Iterator[tuple[Golden, RawEvaluation]]:
    """Yield each expected output of a record with the evaluator's own."""
    attributes = evaluator.attributes
    outputs: Sequence[Mapping[str, Any]] = record["outputs"]
    for start in range(0, len(outputs), attributes.max_batch):
        chunk = outputs[start : start + attributes.max_batch]
        positions = positions_of(record, len(chunk))
        positions.symmetry[:] = [_symmetry(each) for each in chunk]
        positions.optimism[:] = [each.get("optimism") or 0.0 for each in chunk]
        legal = positions.legal.copy()
        if "winrate" in chunk[0]:
            # Leela Zero's softmax is over all points, illegal ones too.
            positions.legal[:] = True
        out = Evaluation(len(chunk), positions.width, positions.height)
        evaluator.evaluate(positions, len(chunk), out)
        positions.legal[:] = legal
        for row, expected in enumerate(chunk):
            raw = read_row(positions, out, row, has_score=attributes.has_score, has_ownership=attributes.has_ownership)
            yield expected, raw


def _symmetry(expected: Golden) -> int:
    """Return the symmetry of an expected output: Leela Zero's rows count from the bottom."""
    symmetry: int = expected["symmetry"]
    return compose(compose(FLIP_ROWS, symmetry), FLIP_ROWS) if "winrate" in expected else symmetry


def _compare_katago(comparison: Comparison, name: str, raw: RawEvaluation, expected: Golden) -> None:
    for kind, fields in _NN_FIELDS.items():
        present = [each for each in fields if each in expected]
        found = [getattr(raw, _FIELD_OF[each]) for each in present]
        if present:
            numbers = np.array([math.nan if each is None else each for each in found])
            comparison.compare(kind, name, numbers, np.array([expected[each] for each in present]))
    chances = [chance for row in expected["policy"] for chance in row] + [expected["policyPass"]]
    wanted = np.array([math.nan if chance is None else chance for chance in chances])
    legal = ~np.isnan(wanted)
    comparison.compare("legality", name, legal.astype(float), (~np.isnan(raw.policy)).astype(float))
    both = legal & ~np.isnan(raw.policy)
    comparison.compare("policy", name, raw.policy[both].astype(np.float64), wanted[both])
    if raw.ownership is not None and expected.get("whiteOwnership") is not None:
        owned = np.array([each for row in expected["whiteOwnership"] for each in row])
        comparison.compare("ownership", name, raw.ownership.astype(np.float64), owned)


def compare_answers(comparison: Comparison, name: str, found: RawEvaluation, expected: RawEvaluation) -> None:
    """Compare what two evaluators say of one position."""
    for kind, fields in _NN_FIELDS.items():
        names = dict.fromkeys(_FIELD_OF[each] for each in fields)
        wanted = {each: getattr(expected, each) for each in names if getattr(expected, each) is not None}
        if wanted:
            numbers = np.array([getattr(found, each) for each in wanted])
            comparison.compare(kind, name, numbers, np.array(list(wanted.values())))
    legal = ~np.isnan(expected.policy)
    comparison.compare("policy", name, found.policy[legal].astype(np.float64), expected.policy[legal])
    if found.ownership is not None and expected.ownership is not None:
        comparison.compare("ownership", name, found.ownership.astype(np.float64), expected.ownership)
    comparison.evaluations += 1


def _compare_leela(comparison: Comparison, name: str, raw: RawEvaluation, expected: Golden, *, white: bool) -> None:
    comparison.compare("winrate", name, raw.white_win if white else raw.white_loss, expected["winrate"])
    chances = [*(chance for row in expected["policy_permille"] for chance in row), expected["pass_permille"]]
    floor = np.array(chances) / _PERMILLE
    legal = ~np.isnan(raw.policy)
    policy = raw.policy[legal].astype(np.float64)
    # Rounded down, so up to one thousandth more is the same; the middle of that is what is compared with.
    half = 0.5 / _PERMILLE
    comparison.compare("policy", name, policy, floor[legal] + half, slack=half)
