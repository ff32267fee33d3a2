"""Evaluators that are made up: known outputs, counters, failures."""

from dataclasses import replace

import numpy as np

from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Attributes
from engine.evaluation.positions import PositionBatch


class FakeEvaluator:
    """Priors by a hash of the position, values by the count of stones: the same in every run.

    Counts its calls and positions and keeps the hashes it saw; fails at call `fail_at`.
    """

    def __init__(self, batch: int = 8, fail_at: int | None = None) -> None:
        self.attributes = Attributes("fake", preferred_batch=batch, max_batch=64, has_score=True, has_ownership=True)
        self.calls = 0
        self.positions = 0
        self.legal_seen: list[np.ndarray] = []
        self._fail_at = fail_at

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the made-up evaluation."""
        self.calls += 1
        if self.calls == self._fail_at:
            raise RuntimeError("made to fail")
        self.positions += count
        for row in range(count):
            generator = np.random.default_rng(int(positions.hashes[row]) & 0xFFFFFFFF)
            legal = positions.legal[row]
            policy = generator.random(len(legal)).astype(np.float32) * legal
            out.policy[row] = policy / policy.sum()
            colors = positions.boards[row, 1]
            balance = int(np.count_nonzero(colors == 1)) - int(np.count_nonzero(colors == 2))
            sign = 1 if positions.to_play[row] == 1 else -1
            out.value[row] = np.tanh(sign * balance / 4)
            out.score[row] = sign * balance
            out.ownership[row] = 0
            self.legal_seen.append(legal.copy())

    def close(self) -> None:
        """Hold nothing."""


class LeadEvaluator(FakeEvaluator):
    """A fake that gives Black the same lead everywhere."""

    def __init__(self, lead: float) -> None:
        super().__init__()
        self._lead = lead

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the made-up evaluation."""
        super().evaluate(positions, count, out)
        out.score[:count] = np.where(positions.to_play[:count] == 1, self._lead, -self._lead)


class TurningEvaluator(FakeEvaluator):
    """A fake whose value is the number of the symmetry it is asked under, over eight; keeps the symmetries."""

    def __init__(self, fail_at: int | None = None) -> None:
        super().__init__(fail_at=fail_at)
        self.attributes = replace(self.attributes, has_symmetries=True)
        self.symmetries: list[list[int]] = []

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the made-up evaluation."""
        super().evaluate(positions, count, out)
        self.symmetries.append(positions.symmetry[:count].tolist())
        out.value[:count] = positions.symmetry[:count] / 8
