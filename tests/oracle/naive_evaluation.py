"""What raw outputs of a network mean, in double precision and one position at a time, from the definitions."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.color import BLACK, WHITE
from engine.nets.spec import DenseValueHead, ErrorForm, NetSpec, Score, ValueHead, ValueKind

Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class NaiveEvaluation:
    """One row of an `Evaluation`."""

    policy: Doubles
    value: float
    score: float
    ownership: Doubles
    no_result: float
    score_mean: float
    score_stdev: float
    variance_time: float
    value_error: float
    score_error: float


def softmax(logits: list[float]) -> list[float]:
    """Return probabilities of logits."""
    weights = [math.exp(logit - max(logits)) for logit in logits]
    return [weight / sum(weights) for weight in weights]


def softplus(x: float) -> float:
    """Return log(1 + e^x)."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def policy_of(spec: NetSpec, logits: Doubles, legal: NDArray[np.bool_], optimism: float, temperature: float) -> Doubles:
    """Return the probabilities of the legal moves, 0 elsewhere."""
    mixed = (1 - optimism) * logits[0] + optimism * logits[spec.policy.optimistic]
    moves = [move for move in range(len(legal)) if legal[move]]
    policy = np.zeros(len(legal))
    policy[moves] = softmax([float(mixed[move]) / temperature for move in moves])
    return policy


def result_of(spec: NetSpec, result: Doubles, no_result: bool, black: bool) -> tuple[float, float]:
    """Return (value, chance of no result); no_result: the rules know such games."""
    head = spec.value
    if isinstance(head, DenseValueHead):
        value = math.tanh(float(result[0]))
        return (value if black or not head.black_view else -value), 0.0
    if head.meaning is ValueKind.TANH:
        return math.tanh(float(result[0])), 0.0
    logits = [float(x) for x in result]
    if len(logits) == 3 and not (no_result or head.no_result_always):
        logits.pop()
    win, loss, *draw = softmax(logits)
    return win - loss, sum(draw)


def error_of(head: ValueHead, x: float, scale: float, linear: float) -> float:
    """Return a short-term error."""
    match head.error_form:
        case ErrorForm.LINEAR:
            return linear * softplus(x)
        case ErrorForm.ROOT:
            return math.sqrt(softplus(x) * scale)
        case ErrorForm.SQUARED:
            return math.sqrt(softplus(x / 2) ** 2 * scale)


def evaluate(
    spec: NetSpec,
    raw: dict[str, Doubles],
    legal: NDArray[np.bool_],
    *,
    no_result: bool,
    black: bool = True,
    optimism: float = 0.0,
    temperature: float = 1.0,
) -> NaiveEvaluation:
    """Return the evaluation of raw outputs as `tests.oracle.naive_net.forward` gives them."""
    value, draw = result_of(spec, raw["result"], no_result, black)
    mean = stdev = lead = 0.0
    time = value_error = score_error = -1.0
    head = spec.value
    if isinstance(head, ValueHead) and head.scores:
        x = {meaning: float(number) for meaning, number in zip(head.scores, raw["score"], strict=True)}
        scales = head.scales
        certain = 1.0 - draw
        if Score.BOARD_MEAN in x:
            certain, mean = 1.0, x[Score.BOARD_MEAN] * 2 * math.sqrt(len(legal) - 1)
        if Score.MEAN in x:
            mean = x[Score.MEAN] * scales.mean
        lead = x[Score.LEAD] * scales.lead if Score.LEAD in x else mean
        if Score.MEAN not in x and Score.BOARD_MEAN not in x:
            mean = lead
        if Score.STDEV in x:
            stdev = softplus(x[Score.STDEV]) * scales.stdev
        square = (mean**2 + stdev**2) * certain
        mean, lead = mean * certain, lead * certain
        stdev = math.sqrt(max(0.0, square - mean**2))
        if Score.VARIANCE_TIME in x:
            time = softplus(x[Score.VARIANCE_TIME]) * scales.variance_time
        if Score.VALUE_ERROR in x:
            value_error = error_of(head, x[Score.VALUE_ERROR], scales.value_error, 1.0)
        if Score.SCORE_ERROR in x:
            score_error = error_of(head, x[Score.SCORE_ERROR], scales.score_error, 10.0)
    policy = policy_of(spec, raw["policy"], legal, optimism, temperature)
    ownership = np.tanh(raw["ownership"])
    return NaiveEvaluation(policy, value, lead, ownership, draw, mean, stdev, time, value_error, score_error)


def black_value(value: float, to_play: int) -> float:
    """Return a value for the side to move as Black's."""
    return {BLACK: value, WHITE: -value}[to_play]


def outcome_value(margin: float) -> float:
    """Return 95 % of the result and 5 % of the hyperbolic tangent of the margin in units of 20 points."""
    return 0.95 * ((margin > 0) - (margin < 0)) + 0.05 * math.tanh(margin / 20)
