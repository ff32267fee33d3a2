"""What a network loses when its numbers are rounded: the change of its answers on calibration positions."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.evaluators.calibration import calibration_inputs
from engine.evaluators.network import Backend
from engine.nets.spec import Array, NetSpec

COMPARED = slice(None, None, 4)
"""The compared positions: every fourth, because each may take a call, and consecutive ones are from the same game."""
MOST_LOST = 0.02
"""Largest accepted mean loss of winrate and of policy: several times the loss of known networks."""


class Loss(NamedTuple):
    """Mean change by rounding: of winrates (0 to 1), and of the policy (Kullback-Leibler divergence)."""

    winrate: float
    policy: float

    @property
    def is_small(self) -> bool:
        """Whether the loss is acceptable; NaN is not."""
        return self.winrate <= MOST_LOST and self.policy <= MOST_LOST


class Answers(NamedTuple):
    """Outputs of a network, see `engine.evaluators.network.RawOutputs`."""

    policy: Array
    result: Array


def loss_between(exact: Answers, rounded: Answers) -> Loss:
    """Return the loss of a rounded network's answers to the same positions."""
    winrates = _winrates(exact.result) - _winrates(rounded.result)
    before, after = (_log_softmax(answers.policy[:, 0]) for answers in (exact, rounded))
    return Loss(float(np.abs(winrates).mean()), float((np.exp(before) * (before - after)).sum(axis=1).mean()))


def loss_of(spec: NetSpec, width: int, height: int, backends: Sequence[Backend]) -> Loss:
    """Return what the second of two backends of a network loses to the first on a board. Their slots must be free."""
    planes, globals_ = (each[COMPARED] for each in calibration_inputs(spec, width, height))
    exact, rounded = (_answers(each, planes, globals_) for each in backends)
    return loss_between(exact, rounded)


def _answers(backend: Backend, planes: Array, globals_: Array) -> Answers:
    height, width = planes.shape[2:]
    slot = backend.slots(width, height)[0]
    found = []
    for first in range(0, len(planes), len(slot.planes)):
        count = min(len(slot.planes), len(planes) - first)
        slot.planes[:count], slot.globals[:count] = planes[first : first + count], globals_[first : first + count]
        backend.infer(slot, count)
        found.append(Answers(slot.outputs.policy[:count].copy(), slot.outputs.result[:count].copy()))
    return Answers(*(np.concatenate(each) for each in zip(*found, strict=True)))


def _winrates(result: Array) -> NDArray[np.float64]:
    """Return the winrates of the side to move, a draw as half a win."""
    value: NDArray[np.float64]
    if result.shape[1] == 1:
        value = np.tanh(result[:, 0].astype(np.float64))
    else:
        chances = np.exp(_log_softmax(result))
        value = chances[:, 0] - chances[:, 1]
    return 0.5 + value / 2


def _log_softmax(logits: Array) -> NDArray[np.float64]:
    """Return the logarithms of the softmax of logits [rows, n]."""
    shifted = logits - logits.max(axis=1, keepdims=True).astype(np.float64)
    chances: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return chances
