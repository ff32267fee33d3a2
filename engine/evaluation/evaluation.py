"""What evaluators return, from the view of the side to move, and its turn into the tree's Black-positive view.

Values change sides by `black_value`, in Python by `engine.color.for_color`.
"""

import math

import numpy as np

from engine.color import BLACK
from engine.native.jit import kernel
from engine.vertex import array_length

NO_RESULT, SCORE_MEAN, SCORE_STDEV, VARIANCE_TIME, VALUE_ERROR, SCORE_ERROR = range(6)
"""Columns of `Evaluation.details`."""
DETAILS = 6


class Evaluation:
    """The evaluations of a batch of positions, from the view of the side to move.

    policy: [B, area + 1] float32 probabilities, exactly 0 where illegal, pass last, sum 1.
    value: [B] float32 in [-1, 1], expected result: P(win) - P(loss).
    score: [B] float32, the lead: points, komi included, that would make the game even if the other side got them.
    ownership: [B, area] float32 in [-1, 1], 1 where the side to move will own the point.
    first_play: [B, n] int8 by vertex, color that first played there in the one sampled continuation of
        the position; EMPTY where nobody did (rollouts only).
    human_policy: [B, area + 1] float32, like policy, of a human network beside the evaluator's own; without `has_human`
        it has no rows.
    details: [B, DETAILS] float32, the columns below, each also an attribute that is a view of [B] (networks only).
        no_result: probability in [0, 1] of a game without a result.
        score_mean, score_stdev: of the final margin under self-play, 0 if there is no result; points.
            A network that knows only one score reports it as the mean; a stdev it does not know is 0.
        variance_time: about how many turns the outcome stays open; -1 where unknown.
        value_error, score_error: how far value and score are expected to be off in the short term;
            -1 where unknown.
    """

    def __init__(self, capacity: int, width: int, height: int, *, has_human: bool = False) -> None:
        area = width * height
        self.policy = np.zeros((capacity, area + 1), dtype=np.float32)
        self.value = np.zeros(capacity, dtype=np.float32)
        self.score = np.zeros(capacity, dtype=np.float32)
        self.ownership = np.zeros((capacity, area), dtype=np.float32)
        self.first_play = np.zeros((capacity, array_length(width, height)), dtype=np.int8)
        self.human_policy = np.zeros((capacity if has_human else 0, area + 1), dtype=np.float32)
        self.details = np.zeros((capacity, DETAILS), dtype=np.float32)
        self.no_result = self.details[:, NO_RESULT]
        self.score_mean = self.details[:, SCORE_MEAN]
        self.score_stdev = self.details[:, SCORE_STDEV]
        self.variance_time = self.details[:, VARIANCE_TIME]
        self.value_error = self.details[:, VALUE_ERROR]
        self.score_error = self.details[:, SCORE_ERROR]

    def average_into_first(self, count: int) -> None:
        """Replace row 0 by the mean of rows 0..count-1, which are of one position; `first_play` stays."""
        if count == 1:
            return
        for part in (self.policy, self.value, self.score, self.ownership, self.details):
            part[0] = part[:count].mean(axis=0)

    def first_row(self, width: int, height: int) -> "Evaluation":
        """Return a copy of row 0 alone, on a board of this size."""
        row = Evaluation(1, width, height)
        for part in ("policy", "value", "score", "ownership", "first_play", "details"):
            getattr(row, part)[0] = getattr(self, part)[0]
        return row


@kernel
def black_value(value: float, to_play: int) -> float:
    """Turn a value for the side to move into one for Black, or back: it is its own inverse."""
    return value if to_play == BLACK else -value


@kernel
def outcome_value(margin: float) -> float:
    """Turn a final margin in points into a value in [-1, 1]: mostly who won, a little by how much."""
    # A little for the margin, so that a search without a network prefers larger wins and smaller losses.
    if margin == 0:
        return 0.0
    return (0.95 if margin > 0 else -0.95) + 0.05 * math.tanh(margin / 20)
