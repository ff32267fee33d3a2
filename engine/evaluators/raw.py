"""Evaluates single positions with a network, without search or cache, from White's view, as KataGo's `kata-raw-nn`."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.color import for_color
from engine.encoders.game_positions import write_position
from engine.encoders.human import human_metadata
from engine.errors import GoError
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.nets.spec import WeightsError
from engine.settings.levels import KnownPeople
from engine.symmetry import COUNT
from engine.vertex import MAX_SIZE

ROOT_OPTIMISM = 0.2
"""Weight of the optimistic policy at the root of KataGo's search, and the default in its reports."""


@dataclass(frozen=True)
class NetworkFacts:
    """The description of a network that a session reports.

    file: its path. name: the name stored in the file. version: of the file format.
    precision: "fp32", "bf16", "fp16" or "int8". imitates: True for human networks, which need a profile.
    board_sizes: smallest and largest side of the boards that it supports.
    model_bytes: about what its models take at most, see `engine.evaluators.network.Backend`.
    people: whom a human network knows.
    """

    file: str
    name: str
    version: int
    max_batch: int
    precision: str
    imitates: bool
    board_sizes: tuple[int, int] = (1, MAX_SIZE)
    model_bytes: int = 0
    people: KnownPeople = field(default_factory=KnownPeople)


@dataclass(frozen=True, eq=False)
class RawEvaluation:
    """A network's evaluation of a position, from White's view.

    white_win, white_loss, no_result: probabilities. white_lead: points. white_score, score_square: mean and mean square
    of the final score in points. All three are None for a network without a score.
    variance_time, value_error, score_error: -1 if the network does not have them.
    policy: [area + 1], pass last, NaN for illegal moves. ownership: [area] in [-1, 1], or None.
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


def supports(sizes: tuple[int, int], width: int, height: int) -> bool:
    """Return whether a network with these smallest and largest sides supports a board."""
    return sizes[0] <= min(width, height) and max(width, height) <= sizes[1]


def check_board(name: str, sizes: tuple[int, int], width: int, height: int) -> None:
    """Raise WeightsError unless a network with these smallest and largest sides supports a board."""
    if not supports(sizes, width, height):
        expected = f"sides of {sizes[0]} to {sizes[1]}"
        raise WeightsError(f"network {name} does not support this board", expected=expected, got=f"{width}x{height}")


class RawNetwork:
    """Evaluates single positions with a network. A search may use its evaluator at the same time.

    prepare: starts compiling for a width and height in the background and returns at once.
    """

    def __init__(
        self, evaluator: Evaluator, facts: NetworkFacts, prepare: Callable[[int, int], None] | None = None
    ) -> None:
        self.evaluator = evaluator
        self.facts = facts
        self._prepare = prepare

    def knows(self, width: int, height: int) -> bool:
        """Return whether the network supports boards of this size."""
        return supports(self.facts.board_sizes, width, height)

    def check_board(self, width: int, height: int) -> None:
        """Raise WeightsError unless the network supports boards of this size."""
        check_board(self.facts.name, self.facts.board_sizes, width, height)

    def prepare(self, width: int, height: int) -> None:
        """Prepare for a board size in the background; does nothing if the network does not support it."""
        if self._prepare is not None and self.knows(width, height):
            self._prepare(width, height)

    def evaluate(
        self,
        game: Game,
        color: int,
        symmetry: int = 0,
        optimism: float = ROOT_OPTIMISM,
        *,
        profile: str = "",
        doubling: float = 0.0,
    ) -> RawEvaluation:
        """Evaluate the present position with `color` to play.

        symmetry: 0..7, how the board is turned for the network; the result is turned back. profile: the players that a
        human network imitates, if not those that it was opened with. doubling: advantage in playouts of `color`, see
        `SearchParams.playout_doubling_advantage`.
        Raises GoError for a symmetry that does not exist, WeightsError if the network does not support the board.
        """
        if symmetry not in range(COUNT):
            raise GoError(f"expected a symmetry from 0 to {COUNT - 1}, got {symmetry!r}")
        positions = PositionBatch(1, game.width, game.height)
        positions.playout_doubling = for_color(doubling, color)
        if profile:
            positions.metadata = human_metadata(profile, game.width, game.height)
        write_position(game, color, positions, 0)
        positions.symmetry[0], positions.optimism[0] = symmetry, optimism
        out = Evaluation(1, game.width, game.height)
        self.evaluator.evaluate(positions, 1, out)
        attributes = self.evaluator.attributes
        return read_row(positions, out, 0, has_score=attributes.has_score, has_ownership=attributes.has_ownership)


def read_row(
    positions: PositionBatch, out: Evaluation, row: int, *, has_score: bool, has_ownership: bool
) -> RawEvaluation:
    """Return one row of an evaluation from White's view."""
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
