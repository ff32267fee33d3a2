"""The seam between search and everything that evaluates: positions in, policy and value out.

The search knows this file and no evaluator. An `Evaluation` speaks for the side to move, as network
heads do; `black_value` is the one place where that turns into the tree's Black-positive view.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from engine.board.facts import BANNED, FACTS, KO_NOW, PHASE
from engine.board.kernels import is_legal, is_suicide, position_hash
from engine.board.layout import COLOR, HEADER, HEADER_LENGTH, HEIGHT, KO_POINT, ROWS, STRIDE, TO_PLAY, WIDTH
from engine.game import Game
from engine.native.closures import Closure
from engine.native.jit import kernel
from engine.rules import Ko, Rules
from engine.vertex import NO_POINT, array_length, from_policy_index

HISTORY = 8
"""Boards and moves that a position carries: now and up to seven moves ago."""
METADATA = 192
"""Inputs of human networks that say who plays."""
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Attributes:
    """What a search must know of an evaluator.

    preferred_batch: positions a call at which throughput is about full, `concurrent` calls being in flight.
    max_batch: positions a call that must not be exceeded.
    concurrent: calls in flight, each from its own thread, at which throughput is about full; more are
        answered, too.
    has_score, has_details, has_ownership, has_first_play: which optional parts of an `Evaluation` are written.
    has_symmetries: whether it evaluates a position differently under each of `PositionBatch.symmetry`.
    begins: whether `AsynchronousEvaluator.begin`, where there is one, costs less than a thread for each call.
    threads: of the caller's that are worth running programs of a `NativeEvaluator` at the same time; 0 where there are
        none.
    """

    name: str
    preferred_batch: int
    max_batch: int
    has_score: bool = False
    has_ownership: bool = False
    has_first_play: bool = False
    has_details: bool = False
    has_symmetries: bool = False
    concurrent: int = 1
    begins: bool = False
    threads: int = 0


class PositionBatch:
    """Positions of one board size, one row each, as a search kernel writes them.

    boards: [B, ROWS, n] int16, see `engine.board.layout`; no ko point where the side to move is not the
        one whose turn it is.
    colors: [B, HISTORY, n] int8, colors of every vertex now and 1..7 moves ago; before the first
        move the oldest known board repeats.
    board_hashes: [B, HISTORY] uint64, the hashes of these stones.
    moves: [B, HISTORY] int16, the last moves, most recent first; NO_POINT where there was none.
    to_play: [B] int8.
    legal: [B, area + 1] bool, in policy order; superko applied; pass last and always True.
    facts: [B, FACTS] int16, see `engine.board.facts`.
    marks: [B, n] int8, bits MARKED and BANNED of `engine.board.facts`.
    second_start: [B, n] int8, colors at the start of the second clean-up phase, EMPTY before it.
    hashes: [B] uint64, equal only for positions that every evaluator must evaluate equally under the
        same rules, bonus and the settings below.
    seeds: [B] uint64, for evaluators that draw random numbers.
    white_bonus: [B] float32, points that an area count must give White: komi, handicap bonus and, under
        territory rules, black moves less white moves.
    optimism: [B] float32, 0..1, weight of the optimistic policy of networks that have one.
    symmetry: [B] int8, 0..7, how a network is to see the board (KataGo's numbering). Inputs are always
        encoded unturned.
    playout_doubling: Black's advantage as the logarithm, to base 2, of playouts against White's; for
        networks trained with handicaps of that kind.
    metadata: [2, METADATA] float32 inputs of human networks, row 0 when Black is to move, or None.
    """

    def __init__(self, capacity: int, width: int, height: int) -> None:
        n = max(array_length(width, height), HEADER_LENGTH)
        area = width * height
        self.width, self.height, self.capacity = width, height, capacity
        self.boards = np.zeros((capacity, ROWS, n), dtype=np.int16)
        self.colors = np.zeros((capacity, HISTORY, n), dtype=np.int8)
        self.board_hashes = np.zeros((capacity, HISTORY), dtype=np.uint64)
        self.moves = np.full((capacity, HISTORY), NO_POINT, dtype=np.int16)
        self.to_play = np.zeros(capacity, dtype=np.int8)
        self.legal = np.zeros((capacity, area + 1), dtype=np.bool_)
        self.facts = np.zeros((capacity, FACTS), dtype=np.int16)
        self.marks = np.zeros((capacity, n), dtype=np.int8)
        self.second_start = np.zeros((capacity, n), dtype=np.int8)
        self.hashes = np.zeros(capacity, dtype=np.uint64)
        self.seeds = np.zeros(capacity, dtype=np.uint64)
        self.white_bonus = np.zeros(capacity, dtype=np.float32)
        self.optimism = np.zeros(capacity, dtype=np.float32)
        self.symmetry = np.zeros(capacity, dtype=np.int8)
        self.playout_doubling = 0.0
        self.metadata: NDArray[np.float32] | None = None
        self.rules = Rules()

    def repeat_first(self, count: int) -> None:
        """Write the position of row 0 into rows 1..count-1."""
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray) and name != "metadata":
                value[1:count] = value[0]


NO_RESULT, SCORE_MEAN, SCORE_STDEV, VARIANCE_TIME, VALUE_ERROR, SCORE_ERROR = range(6)
"""Columns of `Evaluation.details`."""
DETAILS = 6


class Evaluation:
    """What an evaluator says of each position, from the view of the side to move.

    policy: [B, area + 1] float32 probabilities, exactly 0 where illegal, pass last, sum 1.
    value: [B] float32 in [-1, 1], expected result: P(win) - P(loss).
    score: [B] float32, the lead: points, komi included, that would make the game even if the other side got them.
    ownership: [B, area] float32 in [-1, 1], 1 where the side to move will own the point.
    first_play: [B, n] int8 by vertex, color that first played there in the one sampled continuation of
        the position; EMPTY where nobody did (rollouts only).
    details: [B, DETAILS] float32, the columns below, each also an attribute that is a view of [B] (networks only).
        no_result: probability in [0, 1] of a game without a result.
        score_mean, score_stdev: of the final margin under self-play, 0 if there is no result; points.
            A network that knows only one score reports it as the mean; a stdev it does not know is 0.
        variance_time: about how many turns the outcome stays open; -1 where unknown.
        value_error, score_error: how far value and score are expected to be off in the short term;
            -1 where unknown.
    """

    def __init__(self, capacity: int, width: int, height: int) -> None:
        area = width * height
        self.policy = np.zeros((capacity, area + 1), dtype=np.float32)
        self.value = np.zeros(capacity, dtype=np.float32)
        self.score = np.zeros(capacity, dtype=np.float32)
        self.ownership = np.zeros((capacity, area), dtype=np.float32)
        self.first_play = np.zeros((capacity, array_length(width, height)), dtype=np.int8)
        self.details = np.zeros((capacity, DETAILS), dtype=np.float32)
        self.no_result = self.details[:, NO_RESULT]
        self.score_mean = self.details[:, SCORE_MEAN]
        self.score_stdev = self.details[:, SCORE_STDEV]
        self.variance_time = self.details[:, VARIANCE_TIME]
        self.value_error = self.details[:, VALUE_ERROR]
        self.score_error = self.details[:, SCORE_ERROR]

    def average_into_first(self, count: int) -> None:
        """Replace row 0 by the mean of rows 0..count-1, which are of one position; `first_play` stays."""
        for part in (self.policy, self.value, self.score, self.ownership, self.details):
            part[0] = part[:count].mean(axis=0)

    def first_row(self, width: int, height: int) -> "Evaluation":
        """Return a copy of row 0 alone, on a board of this size."""
        row = Evaluation(1, width, height)
        for part in ("policy", "value", "score", "ownership", "first_play", "details"):
            getattr(row, part)[0] = getattr(self, part)[0]
        return row


class Evaluator(Protocol):
    """Evaluates batches of positions, in any number of calls at a time from any threads."""

    attributes: Attributes

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the evaluation of rows 0..count-1. Does not change `positions`."""

    def close(self) -> None:
        """Free threads and devices."""


class Begun(Protocol):
    """An evaluation that goes on by itself until somebody takes it in."""

    def wait(self, seconds: float) -> bool:
        """Wait so many seconds at most; return whether the answer is there."""

    def finish(self) -> None:
        """Wait for the answer and write it. To be called once, by any thread, wanted or not. Raises as `evaluate`."""


@runtime_checkable
class AsynchronousEvaluator(Evaluator, Protocol):
    """An evaluator that needs no thread of the caller's for a call: it changes threads twice, not four times."""

    def begin(self, positions: PositionBatch, count: int, out: Evaluation) -> Begun | None:
        """Begin to evaluate rows 0..count-1, without waiting; None where only `evaluate` can, or not at once.

        `positions` and `out` must stay as they are until the evaluation is finished. Who has begun one must not wait
        for an `evaluate` before it is finished: that may wait for the memory that this one holds.
        """


def asynchronous(evaluator: Evaluator) -> AsynchronousEvaluator | None:
    """Return an evaluator as one whose calls are to be begun, None if a thread is to wait for each."""
    return evaluator if evaluator.attributes.begins and isinstance(evaluator, AsynchronousEvaluator) else None


class Step(NamedTuple):
    """A part of a `Program`. name: what it does, by which its time is told: "encode" or "evaluate"."""

    name: str
    closure: Closure


class Program(NamedTuple):
    """An evaluation that threads run without Python.

    steps: called one after the other, the first with a number of rows, every other with what the one before returned.
        The last returns a negative number if the evaluation failed; why is what `evaluate` raises.
    rows: positions that it is worth being run with at most.
    """

    steps: tuple[Step, ...]
    rows: int


@runtime_checkable
class NativeEvaluator(Evaluator, Protocol):
    """An evaluator that kernels call."""

    def program(self, positions: PositionBatch, out: Evaluation) -> Program | None:
        """Return what writes the evaluation of the first rows, of positions like these, by one thread at a time.

        What a batch has in common is what it is now. None where only `evaluate` can. Raises as `evaluate`.
        """


def native(evaluator: Evaluator) -> NativeEvaluator | None:
    """Return an evaluator as one that kernels call, None if they cannot."""
    return evaluator if evaluator.attributes.threads > 0 and isinstance(evaluator, NativeEvaluator) else None


@kernel
def black_value(value: float, to_play: int) -> float:
    """Turn a value for the side to move into one for Black, or back: it is its own inverse."""
    return value if to_play == 1 else -value


@kernel
def outcome_value(margin: float) -> float:
    """Turn a final margin in points into a value in [-1, 1]: mostly who won, a little by how much."""
    if margin == 0:
        return 0.0
    return (0.95 if margin > 0 else -0.95) + 0.05 * math.tanh(margin / 20)


@kernel
def row_hash(
    board_hashes: NDArray[np.uint64],
    moves: NDArray[np.int16],
    legal: NDArray[np.bool_],
    facts: NDArray[np.int16],
    marks: NDArray[np.int8],
    second_start: NDArray[np.int8],
    to_play: int,
) -> np.uint64:
    """Return the hash of one row of a `PositionBatch`: of all it holds but seeds, bonus and settings."""
    key = np.uint64(to_play)
    for age in range(HISTORY):
        key = (key ^ board_hashes[age]) * _MIX
        key = (key ^ np.uint64(moves[age] + 2)) * _MIX
        key ^= key >> np.uint64(29)
    for column in range(FACTS):
        key = (key ^ np.uint64(facts[column] + 2)) * _MIX
    key ^= key >> np.uint64(29)
    for index in range(legal.shape[0]):
        if legal[index]:
            key = (key ^ np.uint64(index)) * _MIX
    for point in range(marks.shape[0]):
        if marks[point] != 0:
            key = (key ^ np.uint64(4 * point + marks[point])) * _MIX
    if facts[PHASE] == 2:
        for point in range(marks.shape[0]):
            key = (key ^ np.uint64(second_start[point] + 1)) * _MIX
    return (key ^ (key >> np.uint64(32))) * _MIX


@kernel
def stones_allow(
    board: NDArray[np.int16],
    color: int,
    suicide: bool,
    repeatable: NDArray[np.bool_],
    legal: NDArray[np.bool_],
    doubtful: NDArray[np.bool_],
) -> int:
    """Write which points the stones allow a color to play, in policy order, and those where superko may forbid it.

    repeatable: [n], where a stone may repeat a position even if it kills none of its own. The simple ko binds only
    the side whose turn it is. Returns how many points are doubtful.
    """
    stride, found, index = board[HEADER, STRIDE], 0, 0
    for row in range(board[HEADER, HEIGHT]):
        for column in range(board[HEADER, WIDTH]):
            point = (row + 1) * stride + column + 1
            if point == board[HEADER, KO_POINT] and color != board[HEADER, TO_PLAY]:
                legal[index] = not is_suicide(board, point, color)
            else:
                legal[index] = is_legal(board, point, color, suicide)
            doubtful[index] = legal[index] and (repeatable[point] or (suicide and is_suicide(board, point, color)))
            found += doubtful[index]
            index += 1
    return found


def legality_of(game: Game, color: int) -> tuple[NDArray[np.bool_], NDArray[np.int8], NDArray[np.int8]]:
    """Return the rows `legal`, `marks` and `second_start` of a game's present position."""
    legal = np.ones(game.width * game.height + 1, dtype=np.bool_)
    marks, second_start = game.clean_up(color)
    doubtful = np.ones_like(legal)
    if game.phase == 0:
        stones_allow(game.board, color, game.rules.suicide, game.ever_occupied, legal, doubtful)
        doubtful &= game.rules.ko is not Ko.SIMPLE
    for index in np.flatnonzero(doubtful[:-1]).tolist():
        vertex = from_policy_index(index, game.width, game.height)
        reason = game.legality(color, vertex)
        legal[index] = reason is None
        if reason == "superko":
            marks[vertex] |= BANNED
    return legal, marks, second_start


def write_position(game: Game, color: int, positions: PositionBatch, row: int) -> None:
    """Write the present position of a game, `color` to play, into one row of a batch.

    Leaves seeds, optimism, symmetry, playout doubling and metadata as they are.
    """
    facts, boards = game.facts(color), game.recent_boards(HISTORY)
    positions.facts[row] = facts
    positions.boards[row] = boards[0]
    positions.boards[row, HEADER, TO_PLAY] = color
    positions.boards[row, HEADER, KO_POINT] = facts[KO_NOW]
    for age in range(HISTORY):
        board = boards[min(age, len(boards) - 1)]
        positions.colors[row, age] = board[COLOR]
        positions.board_hashes[row, age] = position_hash(board)
    positions.moves[row] = NO_POINT
    for age, move in enumerate(reversed(game.moves[-HISTORY:])):
        positions.moves[row, age] = move.vertex
    positions.to_play[row] = color
    legal, marks, second_start = legality_of(game, color)
    positions.legal[row], positions.marks[row], positions.second_start[row] = legal, marks, second_start
    positions.white_bonus[row] = game.white_bonus
    positions.rules = game.rules
    recent = (positions.board_hashes[row], positions.moves[row])
    positions.hashes[row] = row_hash(*recent, legal, facts, marks, second_start, color)
