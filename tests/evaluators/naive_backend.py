"""A backend that computes with plain loops, and remembers what it was asked."""

from collections.abc import Sequence

import numpy as np

from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import METADATA, PositionBatch
from engine.evaluators.network import NetworkEvaluator, RawOutputs, Slot
from engine.nets.spec import Array, NetSpec
from tests.oracle import naive_net


class NaiveBackend:
    """Computes in the caller's thread. calls: (what, slot's number, rows) in order."""

    def __init__(self, spec: NetSpec, slots: int = 1, rows: int = 8, max_batch: int | None = None) -> None:
        self.name, self.parallel, self.preferred_batch = "naive", slots, rows
        self.board_bytes = self.model_bytes = 0
        self.max_batch = slots * rows if max_batch is None else max_batch
        self.calls: list[tuple[str, int, int]] = []
        self._spec, self._count, self._rows = spec, slots, rows
        self._slots: list[tuple[Slot, int]] = []
        self._used: set[int] = set()

    def prepare(self, width: int, height: int) -> None:
        self.calls.append(("prepare", width, height))

    def slots(self, width: int, height: int) -> Sequence[Slot]:
        self.calls.append(("slots", width, height))
        spec, area = self._spec, width * height

        def empty(*shape: int) -> Array:
            return np.full((self._rows, *shape), np.nan, dtype=np.float32)

        made = [
            Slot(
                empty(spec.planes, height, width),
                empty(spec.globals + spec.metadata),
                RawOutputs(
                    empty(spec.policy.policies, area + 1),
                    empty(spec.value.result.outputs),
                    empty(len(spec.scores)),
                    empty(area if spec.has_ownership else 0),
                ),
            )
            for _ in range(self._count)
        ]
        self._slots += [(slot, number) for number, slot in enumerate(made)]
        return made

    def _number(self, slot: Slot) -> int:
        return next(number for each, number in self._slots if each is slot)

    def infer(self, slot: Slot, count: int) -> None:
        assert id(slot) not in self._used, "a slot must not be used twice at a time"
        self._used.add(id(slot))
        self.calls.append(("infer", self._number(slot), count))
        for row in range(count):
            computed = naive_net.forward(self._spec, slot.planes[row], slot.globals[row])
            for name, values in computed.items():
                getattr(slot.outputs, name)[row] = values
        self._used.remove(id(slot))

    def close(self) -> None:
        self.calls.append(("close", 0, 0))


def naive_evaluator(spec: NetSpec, temperature: float = 1.0) -> NetworkEvaluator:
    """Return an evaluator that computes with plain loops."""
    return NetworkEvaluator(spec, NaiveBackend(spec), temperature=temperature)


def evaluated(evaluator: NetworkEvaluator, positions: PositionBatch) -> Evaluation:
    """Return the evaluation of all rows; who plays is random but the same, and so is what is not written."""
    positions.metadata = np.random.default_rng(5).normal(0, 0.5, (2, METADATA)).astype(np.float32)
    out = Evaluation(positions.capacity, positions.width, positions.height)
    evaluator.evaluate(positions, positions.capacity, out)
    return out


def assert_close(got: Evaluation, expected: Evaluation, tolerance: float = 1e-6) -> None:
    """Compare two evaluations of the same rows."""
    for name in ("policy", "value", "ownership", "no_result"):
        np.testing.assert_allclose(getattr(got, name), getattr(expected, name), atol=tolerance, err_msg=name)
    for name in ("score", "score_mean", "score_stdev", "variance_time", "value_error", "score_error"):
        np.testing.assert_allclose(
            getattr(got, name), getattr(expected, name), atol=50 * tolerance, rtol=tolerance, err_msg=name
        )
