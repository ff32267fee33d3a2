"""From a network's raw outputs to an `Evaluation`: the only place where these numbers get their meaning.

Owns policy optimism and temperature, the masked softmax, the way back from a turned board, and the
arithmetic of values and scores that `engine.nets.heads` names. Knows no framework. Kernels write rows
`first`.. of an evaluation from rows 0.. of raw outputs; everything is said for the side to move.

A symmetry table [8, area + 1] int64 says for each symmetry where the network sees each point, in
policy order. On a board that is not square the exchange of rows and columns is left out.
"""

import math
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.evaluation.evaluation import (
    NO_RESULT,
    SCORE_ERROR,
    SCORE_MEAN,
    SCORE_STDEV,
    VALUE_ERROR,
    VARIANCE_TIME,
    black_value,
)
from engine.native.closures import FAILED
from engine.native.jit import kernel
from engine.nets.spec import DenseValueHead, ErrorForm, NetSpec, Score, ValueHead, ValueKind
from engine.rules import Ko, Rules
from engine.symmetry import COUNT, TRANSPOSE, map_planes

Array: TypeAlias = NDArray[np.float32]

TANH, SOFTMAX, TANH_BLACK = range(3)
"""Kinds of result: of the side to move before tanh, logits, of Black before tanh."""
MEAN, STDEV, LEAD, BOARD_MEAN, TIME, OF_VALUE, OF_SCORE = range(7)
_ORDER = (
    Score.MEAN,
    Score.STDEV,
    Score.LEAD,
    Score.BOARD_MEAN,
    Score.VARIANCE_TIME,
    Score.VALUE_ERROR,
    Score.SCORE_ERROR,
)
LINEAR, ROOT, SQUARED = range(3)
_FORMS = (ErrorForm.LINEAR, ErrorForm.ROOT, ErrorForm.SQUARED)
_LINEAR_SCORE_ERROR = 10.0
_SOFTPLUS_IS_LINEAR = 40.0


class Meaning(NamedTuple):
    """What a network's result and score outputs mean, in the form that kernels take.

    kind: of the result. columns: [7] int64, the score output of each meaning in `_ORDER`, -1 without.
    scales: [7] float64 by the same order. form: how errors are computed.
    """

    kind: int
    columns: NDArray[np.int64]
    scales: NDArray[np.float64]
    form: int


def meaning_of(spec: NetSpec) -> Meaning:
    """Return what the numbers of a network mean."""
    head, columns = spec.value, np.full(len(_ORDER), -1, dtype=np.int64)
    if isinstance(head, DenseValueHead):
        return Meaning(TANH_BLACK if head.black_view else TANH, columns, np.zeros(len(_ORDER)), SQUARED)
    for column, score in enumerate(head.scores):
        if score is not Score.UNUSED:
            columns[_ORDER.index(score)] = column
    scales = head.scales
    numbers = [
        scales.mean,
        scales.stdev,
        scales.lead,
        1.0,
        scales.variance_time,
        scales.value_error,
        scales.score_error,
    ]
    kind = TANH if head.meaning is ValueKind.TANH else SOFTMAX
    return Meaning(kind, columns, np.array(numbers), _FORMS.index(head.error_form))


class Reading(NamedTuple):
    """How a network's numbers are read on boards of one size. table: see above. optimistic, temperature: see there."""

    meaning: Meaning
    table: NDArray[np.int64]
    optimistic: int
    temperature: float


def counts_no_result(spec: NetSpec, rules: Rules) -> bool:
    """True if the third value logit counts: a game under these rules can end in no result, or the network is old."""
    head = spec.value
    if not isinstance(head, ValueHead):
        return False
    return head.no_result_always or rules.ko is Ko.SIMPLE or not rules.is_area


def symmetry_table(width: int, height: int) -> NDArray[np.int64]:
    """Return where the network sees each point: [8, area + 1] int64, pass last, where it is."""
    area = width * height
    table = np.empty((COUNT, area + 1), dtype=np.int64)
    table[:, area] = area
    points = np.arange(area).reshape(height, width)
    for symmetry in range(COUNT):
        seen = map_planes(points, symmetry if width == height else symmetry % TRANSPOSE)
        table[symmetry, seen.ravel()] = np.arange(area)
    return table


@kernel
def turn_planes(
    planes: Array, table: NDArray[np.int64], symmetry: NDArray[np.int8], first: int, scratch: Array, count: int
) -> int:
    """Turn planes [rows, planes, area] of rows 0..count-1 in place, as rows first.. of symmetry [B] say; return count.

    scratch: [area].
    """
    area = planes.shape[2]
    for row in range(count):
        turned = table[symmetry[first + row]]
        if symmetry[first + row] != 0:
            for plane in range(planes.shape[1]):
                for point in range(area):
                    scratch[turned[point]] = planes[row, plane, point]
                for point in range(area):
                    planes[row, plane, point] = scratch[point]
    return count


# More than 8 parameters: a kernel takes each array by itself, so that a call builds and unpacks no tuple.
@kernel
def write_policy(
    logits: Array,
    optimistic: int,
    temperature: float,
    optimism: Array,
    legal: NDArray[np.bool_],
    table: NDArray[np.int64],
    symmetry: NDArray[np.int8],
    first: int,
    count: int,
    policy: Array,
) -> bool:
    """Write policy [B, area + 1]: softmax over the legal moves, exactly 0 elsewhere; return True if all are finite.

    logits: [rows, P, area + 1] as the network saw the board. optimistic: the channel that `optimism` [B]
    mixes with channel 0 before the softmax, 0 for none. legal: [B, area + 1], in each row at least one True.
    """
    _legal_logits(logits, optimistic, temperature, optimism, legal, table, symmetry, first, count, policy)
    for row in range(first, first + count):
        for move in range(policy.shape[1]):
            policy[row, move] = math.exp(policy[row, move])
    return _divide_by_sums(policy[first : first + count])


# More than 8 parameters: a kernel takes each array by itself, so that a call builds and unpacks no tuple.
@kernel
def _legal_logits(
    logits: Array,
    optimistic: int,
    temperature: float,
    optimism: Array,
    legal: NDArray[np.bool_],
    table: NDArray[np.int64],
    symmetry: NDArray[np.int8],
    first: int,
    count: int,
    policy: Array,
) -> None:
    """Write the logits whose softmax is the policy, less the largest of them; minus infinity where illegal."""
    moves, factor = policy.shape[1], np.float32(1.0 / temperature)
    for row in range(count):
        target, seen = policy[first + row], table[symmetry[first + row]]
        allowed, weight = legal[first + row], optimism[first + row]
        plain, hopeful = logits[row, 0], logits[row, optimistic]
        best = np.float32(-np.inf)
        for move in range(moves):
            target[move] = -np.inf
            if allowed[move]:
                index = seen[move]
                target[move] = (plain[index] + (hopeful[index] - plain[index]) * weight) * factor
                best = max(best, target[move])
        for move in range(moves):
            if allowed[move]:
                target[move] -= best


@kernel
def _divide_by_sums(policy: Array) -> bool:
    """Divide each row by its sum; return True if all sums are finite."""
    finite = True
    for row in range(policy.shape[0]):
        total = 0.0
        for move in range(policy.shape[1]):
            total += policy[row, move]
        finite = finite and np.isfinite(total)
        share = np.float32(1.0 / total)
        for move in range(policy.shape[1]):
            policy[row, move] *= share
    return finite


@kernel
def write_ownership(
    logits: Array, table: NDArray[np.int64], symmetry: NDArray[np.int8], first: int, count: int, ownership: Array
) -> None:
    """Write ownership [B, area] of logits [rows, area] as the network saw the board."""
    for row in range(count):
        where = table[symmetry[first + row]]
        for point in range(ownership.shape[1]):
            ownership[first + row, point] = math.tanh(logits[row, where[point]])


@kernel
def write_values(
    result: Array,
    kind: int,
    counts_no_result: bool,
    to_play: NDArray[np.int8],
    first: int,
    count: int,
    value: Array,
    details: Array,
) -> bool:
    """Write value [B] and the chance of no result, in details [B, DETAILS], of result [rows, 1..3].

    Returns True if all values are finite.
    """
    finite = True
    for row in range(count):
        draw = 0.0
        if kind == SOFTMAX:
            win, loss = float(result[row, 0]), float(result[row, 1])
            third = counts_no_result and result.shape[1] == 3
            top = max(win, loss)
            if third:
                top = max(top, float(result[row, 2]))
                draw = math.exp(float(result[row, 2]) - top)
            win, loss = math.exp(win - top), math.exp(loss - top)
            total = win + loss + draw
            expected, draw = (win - loss) / total, draw / total
        else:
            expected = math.tanh(float(result[row, 0]))
            if kind == TANH_BLACK:
                expected = black_value(expected, to_play[first + row])
        value[first + row] = expected
        details[first + row, NO_RESULT] = draw
        finite = finite and np.isfinite(expected)
    return finite


@kernel
def softplus(x: float) -> float:
    """Return log(1 + e^x)."""
    return x if x > _SOFTPLUS_IS_LINEAR else math.log1p(math.exp(x))


@kernel
def short_term_error(x: float, scale: float, form: int, linear: float) -> float:
    """Return a short-term error of a raw output, see `ErrorForm`; `linear` is the scale of the linear form."""
    if form == LINEAR:
        return softplus(x) * linear
    if form == ROOT:
        return math.sqrt(softplus(x) * scale)
    return softplus(0.5 * x) * math.sqrt(scale)


# More than 8 parameters: a kernel takes each array by itself, so that a call builds and unpacks no tuple.
@kernel
def write_scores(
    raw: Array,
    columns: NDArray[np.int64],
    scales: NDArray[np.float64],
    form: int,
    area: int,
    first: int,
    count: int,
    score: Array,
    details: Array,
) -> bool:
    """Write score [B] and the details [B, DETAILS] of raw scores [rows, S], see `Meaning`.

    Reads the chances of no result, which `write_values` has written: such games count as 0 points.
    Returns True if all scores are finite.
    """
    finite = True
    for row in range(count):
        x, target = raw[row], details[first + row]
        certain = float(1.0 - target[NO_RESULT])
        mean, lead, deviation, has_lead = 0.0, 0.0, 0.0, columns[LEAD] >= 0
        if has_lead:
            lead = x[columns[LEAD]] * scales[LEAD]
            mean = lead
        if columns[MEAN] >= 0:
            mean = x[columns[MEAN]] * scales[MEAN]
        if columns[STDEV] >= 0:
            deviation = softplus(x[columns[STDEV]]) * scales[STDEV]
        if columns[BOARD_MEAN] >= 0:
            mean, certain = x[columns[BOARD_MEAN]] * 2.0 * math.sqrt(area), 1.0
        if not has_lead:
            lead = mean
        # The variance of a margin that is 0 whenever there is no result.
        variance = certain * deviation * deviation + certain * (1.0 - certain) * mean * mean
        score[first + row] = lead * certain
        target[SCORE_MEAN] = mean * certain
        target[SCORE_STDEV] = math.sqrt(variance)
        target[VARIANCE_TIME] = softplus(x[columns[TIME]]) * scales[TIME] if columns[TIME] >= 0 else -1.0
        target[VALUE_ERROR] = target[SCORE_ERROR] = -1.0
        if columns[OF_VALUE] >= 0:
            target[VALUE_ERROR] = short_term_error(x[columns[OF_VALUE]], scales[OF_VALUE], form, 1.0)
        if columns[OF_SCORE] >= 0:
            target[SCORE_ERROR] = short_term_error(x[columns[OF_SCORE]], scales[OF_SCORE], form, _LINEAR_SCORE_ERROR)
        finite = finite and np.isfinite(lead) and np.isfinite(variance)
    return finite


# More than 8 parameters: a kernel takes each array by itself, so that a call builds and unpacks no tuple.
@kernel
def write_evaluation(
    policy_logits: Array,
    result: Array,
    raw_score: Array,
    ownership_logits: Array,
    reading: Reading,
    third: bool,
    optimism: Array,
    legal: NDArray[np.bool_],
    symmetry: NDArray[np.int8],
    to_play: NDArray[np.int8],
    first: int,
    policy: Array,
    value: Array,
    score: Array,
    ownership: Array,
    details: Array,
    count: int,
) -> int:
    """Write rows first..first+count-1 of an `Evaluation` from the first rows of `RawOutputs`.

    third: see `counts_no_result`. Returns count, or FAILED if not all numbers are finite.
    """
    meaning, table = reading.meaning, reading.table
    finite = write_policy(
        policy_logits,
        reading.optimistic,
        reading.temperature,
        optimism,
        legal,
        table,
        symmetry,
        first,
        count,
        policy,
    )
    finite &= write_values(result, meaning.kind, third, to_play, first, count, value, details)
    area = policy.shape[1] - 1
    finite &= write_scores(raw_score, meaning.columns, meaning.scales, meaning.form, area, first, count, score, details)
    if ownership_logits.shape[1] > 0:
        write_ownership(ownership_logits, table, symmetry, first, count, ownership)
    return count if finite else FAILED
