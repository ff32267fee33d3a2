"""What a teacher may add to self-play: moves to explore with, and an estimate of the score beside the result.

Neither takes the place of what self-play learns from: plies that a hint or chance decided are no policy targets,
and the result of the game stays at least half of the value target.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.game import Game
from engine.players.moves import fills_eye
from engine.vertex import PASS

SQUASH_POINTS = 20.0
"""Points of lead whose squashed value is tanh(1)."""
MOST_SHAPING = 0.5
"""Largest share of the value target that is not the game's result."""

Adviser = Callable[[Game], int | None]
"""Names a move for the side to move, or None where it has none; `engine.train.teaching.gtp_teacher.Advice` is one."""


@dataclass(frozen=True)
class ExplorationSettings:
    """Epsilon-greedy exploration: with probability epsilon a move is not the search's own.

    start: epsilon of the first game; it is multiplied by `decay` after each game down to `floor`.
    hints: share of these moves that are the adviser's; the others are random points, no own eyes. Off by default.
    """

    start: float = 0.0
    decay: float = 0.99
    floor: float = 0.01
    hints: float = 0.5

    def __post_init__(self) -> None:
        """Raise ValueError unless all are shares."""
        for name in ("start", "decay", "floor", "hints"):
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise ValueError(f"exploration {name}: expected 0 to 1, got {value}")

    def epsilon(self, games: int) -> float:
        """Return epsilon after so many games; 0 where exploration is off."""
        return max(self.floor, self.start * self.decay**games) if self.start > 0 else 0.0


class Exploration:
    """Decides ply by ply of one game whether a move is forced, and which, with the probability `epsilon`.

    What it forces must be masked from policy targets.
    """

    def __init__(
        self,
        settings: ExplorationSettings,
        generator: np.random.Generator,
        adviser: Adviser | None = None,
        games: int = 0,
    ) -> None:
        """Without an adviser, and where it has no answer, every forced move is a random one. games: played before."""
        self._settings = settings
        self._generator = generator
        self._adviser = adviser
        self.epsilon = settings.epsilon(games)

    def forced_move(self, game: Game) -> int | None:
        """Return the move that must be played for the side to move, None where the search is to choose."""
        if self.epsilon == 0.0 or self._generator.random() >= self.epsilon:
            return None
        if self._adviser is not None and self._generator.random() < self._settings.hints:
            vertex = self._adviser(game)
            if vertex is not None and game.is_legal(game.to_play, vertex):
                return vertex
        return random_move(game, self._generator)


def random_move(game: Game, generator: np.random.Generator) -> int:
    """Return a random legal point that fills no own one-point eye, a pass where there is none."""
    color = game.to_play
    candidates = [vertex for vertex in game.legal_vertices(color) if not fills_eye(game, color, vertex)]
    return int(generator.choice(candidates)) if candidates else PASS


@dataclass(frozen=True)
class ShapingSettings:
    """How long and how much an estimated score takes part in the value target.

    weight: its share at the start, at most MOST_SHAPING; it falls linearly to 0 at `until`, counted in whatever
    the caller counts (games, positions, generations).
    """

    weight: float = 0.0
    until: int = 1

    def __post_init__(self) -> None:
        """Raise ValueError where the result would not stay the target."""
        if not 0.0 <= self.weight <= MOST_SHAPING:
            raise ValueError(f"shaping weight: expected 0 to {MOST_SHAPING}, got {self.weight}")
        if self.until < 1:
            raise ValueError(f"shaping until: expected 1 or more, got {self.until}")

    def at(self, count: int) -> float:
        """Return the weight after so many."""
        return self.weight * max(0.0, 1.0 - count / self.until)


def squashed(score: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return leads in points as values in [-1, 1]: tanh(score / 20)."""
    value: NDArray[np.float32] = np.tanh(np.asarray(score, dtype=np.float32) / np.float32(SQUASH_POINTS))
    return value


def shaped_outcome(
    result: NDArray[np.float32], score: NDArray[np.float32], known: NDArray[np.bool_], weight: float
) -> NDArray[np.float32]:
    """Return outcome targets [B, 3] of which `weight` is the squashed estimate of the score where one is known.

    result: [B, 3] P(win), P(loss), P(no result). score: [B] points for the side to move. known: [B].
    The cross entropy is linear in the target, so this is the loss of the result, weighing 1 - weight, and an auxiliary
    loss of the estimate on the same head, weighing `weight`.
    """
    value = squashed(score)
    estimate = np.stack([(1 + value) / 2, (1 - value) / 2, np.zeros_like(value)], axis=1)
    share = np.where(known, np.float32(weight), np.float32(0))[:, None]
    mixed: NDArray[np.float32] = ((1 - share) * result + share * estimate).astype(np.float32)
    return mixed
