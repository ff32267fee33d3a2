"""A wrapper for networks that imitate people: it adds the profile of the players to imitate."""

import copy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engine.encoders.human import human_metadata
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator
from engine.evaluation.positions import PositionBatch


class HumanProfileEvaluator:
    """Evaluates positions that have no metadata as played by the people of a profile.

    Profiles are those of `engine.records.human_profiles`. Raises GoError on an unknown profile.
    """

    def __init__(self, inner: Evaluator, profile: str) -> None:
        self.attributes = replace(inner.attributes, needs_profile=False)
        self._inner, self._profile = inner, profile
        self._metadata: dict[tuple[int, int], NDArray[np.float32]] = {}
        human_metadata(profile, 19, 19)

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the evaluation of rows 0..count-1."""
        known = positions if positions.metadata is not None else self._with_metadata(positions)
        self._inner.evaluate(known, count, out)

    def _with_metadata(self, positions: PositionBatch) -> PositionBatch:
        """Return a view of the positions with the metadata of the profile."""
        size = (positions.width, positions.height)
        if size not in self._metadata:
            self._metadata[size] = human_metadata(self._profile, *size)
        view = copy.copy(positions)
        view.metadata = self._metadata[size]
        return view

    def close(self) -> None:
        """Close the inner evaluator."""
        self._inner.close()
