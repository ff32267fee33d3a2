"""What a network says of one position, White's side: unsearched, uncached, as KataGo's `kata-raw-nn` reports it.

Owns the turn from the side to move to White, which reports by this name always have. Formatting is
the reader's.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.color import for_color
from engine.encoders.game_positions import write_position
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.vertex import MAX_SIZE

ROOT_OPTIMISM = 0.2
"""Weight of the optimistic policy at the root of KataGo's search, and in its reports unless told otherwise."""


@dataclass(frozen=True)
class NetworkFacts:
    """What a session tells of the network in use.

    file: as the user named it. name: what the network calls itself. version: of its format.
    precision: "fp32", "bf16", "fp16" or "int8". imitates: True for networks that must be told who plays.
    board_sizes: (smallest, largest) side of the boards it knows.
    """

    file: str
    name: str
    version: int
    max_batch: int
    precision: str
    imitates: bool
    board_sizes: tuple[int, int] = (1, MAX_SIZE)


@dataclass(frozen=True, eq=False)
class RawEvaluation:
    """Points of view are White's.

    white_win, white_loss, no_result: probabilities. white_lead, white_score, score_square: points, the
    latter two mean and mean square of the final score; None for a network without a score.
    variance_time, value_error, score_error: -1 where the network does not tell them.
    policy: [area + 1], pass last, NaN where a move is illegal. ownership: [area] in [-1, 1], or None.
    """

    symmetry: int
    white_win: float
    white_loss: float
    no_result: float
    white_lead: float | None
    white_score: float | None
    score_square: float | None
    variance_time: float
    value_error: float
    score_error: float
    policy: NDArray[np.float32]
    ownership: NDArray[np.float32] | None


class RawNetwork:
    """A network that answers for single positions, by the evaluator that a search may use, too.

    prepare: begins to compile for a board of a width and height in the background, and returns at once.
    """

    def __init__(
        self, evaluator: Evaluator, facts: NetworkFacts, prepare: Callable[[int, int], None] | None = None
    ) -> None:
        self.evaluator = evaluator
        self.facts = facts
        self._prepare = prepare

    def knows(self, width: int, height: int) -> bool:
        """True if it was made for boards of this size."""
        smallest, largest = self.facts.board_sizes
        return smallest <= min(width, height) and max(width, height) <= largest

    def prepare(self, width: int, height: int) -> None:
        """Get ready for a board in the background, if the network knows it at all."""
        if self._prepare is not None and self.knows(width, height):
            self._prepare(width, height)

    def evaluate(self, game: Game, color: int, symmetry: int = 0, optimism: float = ROOT_OPTIMISM) -> RawEvaluation:
        """Return what the network says of the present position, `color` to play.

        symmetry: 0..7, how it sees the board; answers are turned back. Raises WeightsError on a
        board that the network does not know.
        """
        positions = PositionBatch(1, game.width, game.height)
        write_position(game, color, positions, 0)
        positions.symmetry[0], positions.optimism[0] = symmetry, optimism
        out = Evaluation(1, game.width, game.height)
        self.evaluator.evaluate(positions, 1, out)
        attributes = self.evaluator.attributes
        return read_row(positions, out, 0, has_score=attributes.has_score, has_ownership=attributes.has_ownership)


def read_row(
    positions: PositionBatch, out: Evaluation, row: int, *, has_score: bool, has_ownership: bool
) -> RawEvaluation:
    """Return one row of an evaluation with details from White's side."""
    to_play = int(positions.to_play[row])
    no_result, value = float(out.no_result[row]), -for_color(float(out.value[row]), to_play)
    mean, deviation = -for_color(float(out.score_mean[row]), to_play), float(out.score_stdev[row])
    policy = np.where(positions.legal[row], out.policy[row], np.float32(np.nan))
    return RawEvaluation(
        symmetry=int(positions.symmetry[row]),
        white_win=(1.0 - no_result + value) / 2,
        white_loss=(1.0 - no_result - value) / 2,
        no_result=no_result,
        white_lead=-for_color(float(out.score[row]), to_play) if has_score else None,
        white_score=mean if has_score else None,
        score_square=mean * mean + deviation * deviation if has_score else None,
        variance_time=float(out.variance_time[row]),
        value_error=float(out.value_error[row]),
        score_error=float(out.score_error[row]),
        policy=policy,
        ownership=-for_color(out.ownership[row], to_play) if has_ownership else None,
    )
