"""Contributions of a teacher to self-play: exploratory moves, and an estimated score in the value target.

Neither replaces the targets of self-play: moves chosen by a hint or at random are not policy targets, and the game's
result remains at least half of the value target.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.game import Game
from engine.players.moves import fills_eye
from engine.train.teaching.exploration_settings import ExplorationSettings
from engine.vertex import PASS

SQUASH_POINTS = 20.0
"""The lead in points that maps to tanh(1)."""
MOST_SHAPING = 0.5
"""Maximum share of the estimated score in the value target."""

Adviser = Callable[[Game], int | None]
"""Returns a move for the side to move, or None; `engine.train.teaching.gtp_teacher.Advice` is an implementation."""


class Exploration:
    """Decides for each move of a game whether exploration replaces the search, with probability `epsilon`.

    The caller must mask these moves out of the policy targets.
    """

    def __init__(
        self,
        settings: ExplorationSettings,
        generator: np.random.Generator,
        adviser: Adviser | None = None,
        games: int = 0,
    ) -> None:
        """games: played before this one. Moves are random if there is no adviser, or if it returns None."""
        self._settings = settings
        self._generator = generator
        self._adviser = adviser
        self.epsilon = settings.epsilon(games)

    def forced_move(self, game: Game) -> int | None:
        """Return an exploratory move for the side to move, or None if the search must choose."""
        if self.epsilon == 0.0 or self._generator.random() >= self.epsilon:
            return None
        if self._adviser is not None and self._generator.random() < self._settings.hints:
            vertex = self._adviser(game)
            if vertex is not None and game.is_legal(game.to_play, vertex):
                return vertex
        return random_move(game, self._generator)


def random_move(game: Game, generator: np.random.Generator) -> int:
    """Return a random legal move that does not fill an own one-point eye, or a pass if there is none."""
    color = game.to_play
    candidates = [vertex for vertex in game.legal_vertices(color) if not fills_eye(game, color, vertex)]
    return int(generator.choice(candidates)) if candidates else PASS


@dataclass(frozen=True)
class ShapingSettings:
    """The weight of the estimated score in the value target.

    weight: its share at the start, at most MOST_SHAPING; it falls linearly to 0 at `until`, in the caller's unit
    (games, positions, generations).
    """

    weight: float = 0.0
    until: int = 1

    def __post_init__(self) -> None:
        """Raise ValueError on a weight that would outweigh the result."""
        if not 0.0 <= self.weight <= MOST_SHAPING:
            raise ValueError(f"shaping weight: expected 0 to {MOST_SHAPING}, got {self.weight}")
        if self.until < 1:
            raise ValueError(f"shaping until: expected 1 or more, got {self.until}")

    def at(self, count: int) -> float:
        """Return the weight after `count` units."""
        return self.weight * max(0.0, 1.0 - count / self.until)


def squashed(score: NDArray[np.float32]) -> NDArray[np.float32]:
    """Map leads in points to values in [-1, 1]: tanh(score / 20)."""
    value: NDArray[np.float32] = np.tanh(np.asarray(score, dtype=np.float32) / np.float32(SQUASH_POINTS))
    return value


def shaped_outcome(
    result: NDArray[np.float32], score: NDArray[np.float32], known: NDArray[np.bool_], weight: float
) -> NDArray[np.float32]:
    """Mix outcome targets [B, 3] with the squashed score estimate, with share `weight` where the score is known.

    result: [B, 3] P(win), P(loss), P(no result). score: [B] points for the side to move. known: [B].
    The cross entropy is linear in the target, so this equals the loss of the result with weight 1 - weight plus an
    auxiliary loss of the estimate on the same head with weight `weight`.
    """
    value = squashed(score)
    estimate = np.stack([(1 + value) / 2, (1 - value) / 2, np.zeros_like(value)], axis=1)
    share = np.where(known, np.float32(weight), np.float32(0))[:, None]
    mixed: NDArray[np.float32] = ((1 - share) * result + share * estimate).astype(np.float32)
    return mixed
