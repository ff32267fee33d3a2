"""A player that knows the rules and nothing else."""

import threading

import numpy as np

from engine.game import Game
from engine.players.base import AnalysisRequest, Avoided, Decision, Limits, Watch
from engine.players.moves import fills_eye, safe_vertices
from engine.search.params import SearchParams
from engine.vertex import PASS


class RandomPlayer:
    """Plays uniformly random legal moves that fill no one-point eye; judges no stone dead, analyzes nothing."""

    name = "random"
    network = None

    def __init__(self, seed: int = 1) -> None:
        self.params = SearchParams(seed=seed)
        self._generator = np.random.default_rng(seed)
        self._stop = threading.Event()

    def genmove(
        self, game: Game, color: int, limits: Limits, watch: Watch | None = None, avoided: Avoided | None = None
    ) -> Decision:
        """Return a random sensible move, or a pass where there is none."""
        vertices = [vertex for vertex in safe_vertices(game, color) if not fills_eye(game, color, vertex)]
        return Decision(int(self._generator.choice(vertices)) if vertices else PASS)

    def analyze(self, game: Game, color: int, request: AnalysisRequest, watch: Watch) -> None:
        """Find nothing, until told to stop."""
        self._stop.clear()
        self._stop.wait(request.limits.bound)

    def ponder(self, game: Game) -> None:
        """Do nothing: there is nothing to think about."""

    def dead_stones(self, game: Game) -> list[list[int]]:
        """Return nothing."""
        return []

    def seki_stones(self, game: Game) -> list[list[int]]:
        """Return nothing."""
        return []

    def expected_score(self, game: Game) -> float | None:
        """Return nothing: what stands counts."""
        return None

    def prepare(self, width: int, height: int) -> None:
        """Do nothing: every board is alike."""

    def stop(self) -> None:
        """End an analysis; moves come at once."""
        self._stop.set()

    def set_params(self, params: SearchParams) -> None:
        """Take over a seed for the next `restart`."""
        self.params = params

    def clear_cache(self) -> None:
        """Do nothing: no memory."""

    def new_game(self) -> None:
        """Do nothing: no memory."""

    def restart(self) -> None:
        """Draw the same moves again."""
        self._generator = np.random.default_rng(self.params.seed)

    def close(self) -> None:
        """Do nothing: no resources."""
