"""Turns a network's raw outputs into an `Evaluation`; the only place that interprets these numbers.

Applies policy optimism and temperature, the softmax over legal moves, the inverse of the board's symmetry, and the
formulas for values and scores that `engine.nets.heads` names. Independent of the framework. Kernels write the rows from
`first` on of an evaluation from the rows from 0 on of raw outputs; all values are for the side to move.

A symmetry table [8, area + 1] int64 has, for each symmetry and each point in policy order, the index at which the
network sees the point. On boards that are not square, symmetries do not exchange rows and columns.
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
from engine.nets.heads import LINEAR_SCORE_ERROR
from engine.nets.spec import DenseValueHead, ErrorForm, NetSpec, Score, ValueHead, ValueKind
from engine.rules import Ko, Rules
from engine.symmetry import COUNT, TRANSPOSE, map_planes

Array: TypeAlias = NDArray[np.float32]

TANH, SOFTMAX, TANH_BLACK = range(3)
"""Kinds of result: value before tanh; logits of win, loss and no result; value for Black before tanh."""
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
_SOFTPLUS_IS_LINEAR = 40.0


class Meaning(NamedTuple):
    """The interpretation of a network's result and score outputs, for kernels.

    kind: TANH, SOFTMAX or TANH_BLACK. columns: [7] int64, the score output of each meaning in `_ORDER`, -1 for none.
    scales: [7] float64, factors in the same order. form: how errors are computed, LINEAR, ROOT or SQUARED.
    """

    kind: int
    columns: NDArray[np.int64]
    scales: NDArray[np.float64]
    form: int


def meaning_of(spec: NetSpec) -> Meaning:
    """Return the interpretation of a network's outputs."""
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
    """The interpretation of a network's outputs on boards of one size.

    table: the symmetry table. optimistic, temperature: see `write_policy`.
    """

    meaning: Meaning
    table: NDArray[np.int64]
    optimistic: int
    temperature: float


def counts_no_result(spec: NetSpec, rules: Rules) -> bool:
    """Return whether the third value logit is used: games can end without a result, or the network is old."""
    head = spec.value
    if not isinstance(head, ValueHead):
        return False
    return head.no_result_always or rules.ko is Ko.SIMPLE or not rules.is_area


def symmetry_table(width: int, height: int) -> NDArray[np.int64]:
    """Return the symmetry table [8, area + 1] int64; the last entry is pass, which no symmetry moves."""
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
    """Apply the symmetries to planes [rows, planes, area] of rows 0..count-1, in place; return count.

    Row i has the symmetry of row first + i of symmetry [B]. scratch: [area] working memory.
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


@kernel
def write_policy(
    logits: Array,
    reading: Reading,
    optimism: Array,
    legal: NDArray[np.bool_],
    symmetry: NDArray[np.int8],
    first: int,
    count: int,
    policy: Array,
) -> bool:
    """Write policy [B, area + 1]: softmax over the legal moves, exactly 0 elsewhere; return whether all are finite.

    logits: [rows, P, area + 1] as the network saw the board. `reading.optimistic` is the channel that is mixed with
    channel 0 before the softmax, by the weights `optimism` [B]; 0 for none. The logits are divided by
    `reading.temperature`. legal: [B, area + 1], at least one True in each row.
    """
    _legal_logits(logits, reading, optimism, legal, symmetry, first, count, policy)
    # In a kernel although NumPy's exp on whole rows is faster (94 us instead of 313 for 16 positions on 19x19, when it
    # was measured): programs run without Python.
    for row in range(first, first + count):
        for move in range(policy.shape[1]):
            policy[row, move] = math.exp(policy[row, move])
    return _divide_by_sums(policy[first : first + count])


@kernel
def _legal_logits(
    logits: Array,
    reading: Reading,
    optimism: Array,
    legal: NDArray[np.bool_],
    symmetry: NDArray[np.int8],
    first: int,
    count: int,
    policy: Array,
) -> None:
    """Write the logits of the policy minus the largest one, so that exp cannot overflow; -inf for illegal moves."""
    moves, factor = policy.shape[1], np.float32(1.0 / reading.temperature)
    for row in range(count):
        target, seen = policy[first + row], reading.table[symmetry[first + row]]
        allowed, weight = legal[first + row], optimism[first + row]
        plain, hopeful = logits[row, 0], logits[row, reading.optimistic]
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
    """Divide each row by its sum; return whether all sums are finite."""
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
    """Write ownership [B, area] from logits [rows, area] as the network saw the board."""
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
    """Write value [B], and the probability of no result into details [B, DETAILS], from result [rows, 1..3].

    Returns whether all values are finite.
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
    """Return log(1 + e^x); above 40 it is x to double precision, and e^x would overflow later."""
    return x if x > _SOFTPLUS_IS_LINEAR else math.log1p(math.exp(x))


@kernel
def short_term_error(x: float, scale: float, form: int, linear: float) -> float:
    """Return the short-term error for a raw output x, see `ErrorForm`. linear: the scale of the form LINEAR."""
    if form == LINEAR:
        return softplus(x) * linear
    if form == ROOT:
        return math.sqrt(softplus(x) * scale)
    return softplus(0.5 * x) * math.sqrt(scale)


@kernel
def write_scores(
    raw: Array,
    meaning: Meaning,
    area: int,
    first: int,
    count: int,
    score: Array,
    details: Array,
) -> bool:
    """Write score [B] and details [B, DETAILS] from raw scores [rows, S]; return whether all scores are finite.

    Call `write_values` before: games without a result count as 0 points, so the
    probability of no result, which it writes, is read here.
    """
    columns, scales, form = meaning.columns, meaning.scales, meaning.form
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
        # The variance of a margin that is 0 with probability 1 - certain: E[X^2] - E[X]^2 of the mixture.
        variance = certain * deviation * deviation + certain * (1.0 - certain) * mean * mean
        score[first + row] = lead * certain
        target[SCORE_MEAN] = mean * certain
        target[SCORE_STDEV] = math.sqrt(variance)
        target[VARIANCE_TIME] = softplus(x[columns[TIME]]) * scales[TIME] if columns[TIME] >= 0 else -1.0
        target[VALUE_ERROR] = target[SCORE_ERROR] = -1.0
        if columns[OF_VALUE] >= 0:
            target[VALUE_ERROR] = short_term_error(x[columns[OF_VALUE]], scales[OF_VALUE], form, 1.0)
        if columns[OF_SCORE] >= 0:
            target[SCORE_ERROR] = short_term_error(x[columns[OF_SCORE]], scales[OF_SCORE], form, LINEAR_SCORE_ERROR)
        finite = finite and np.isfinite(lead) and np.isfinite(variance)
    return finite


# More than 8 parameters: a closure fixes all but `count` once, so their number costs nothing in a call.
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

    third: the result of `counts_no_result`. Returns count, or FAILED if a number is not finite.
    """
    meaning = reading.meaning
    finite = write_policy(policy_logits, reading, optimism, legal, symmetry, first, count, policy)
    finite &= write_values(result, meaning.kind, third, to_play, first, count, value, details)
    area = policy.shape[1] - 1
    finite &= write_scores(raw_score, meaning, area, first, count, score, details)
    if ownership_logits.shape[1] > 0:
        write_ownership(ownership_logits, reading.table, symmetry, first, count, ownership)
    return count if finite else FAILED
