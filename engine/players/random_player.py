"""Plays legal moves at random."""

import threading

import numpy as np

from engine.game import Game
from engine.players.base import AnalysisRequest, Avoided, Decision, Limits, Watch
from engine.players.moves import fills_eye, safe_vertices
from engine.search.params import SearchParams
from engine.vertex import PASS


class RandomPlayer:
    """Plays uniformly random legal moves that fill no one-point eye; has no judgement and no analysis."""

    name = "random"
    network = None

    def __init__(self, seed: int = 1) -> None:
        self.params = SearchParams(seed=seed)
        self._generator = np.random.default_rng(seed or None)
        self._stop = threading.Event()

    def genmove(
        self, game: Game, color: int, limits: Limits, watch: Watch | None = None, avoided: Avoided | None = None
    ) -> Decision:
        """Return a random move, or a pass if only eyes are left."""
        # Without eyes left open, random games would never end.
        refused = (avoided or {}).get(color, {})
        vertices = [
            vertex
            for vertex in safe_vertices(game, color)
            if refused.get(vertex, 0) <= 0 and not fills_eye(game, color, vertex)
        ]
        return Decision(int(self._generator.choice(vertices)) if vertices else PASS)

    def analyze(self, game: Game, color: int, request: AnalysisRequest, watch: Watch) -> None:
        """Wait until `stop` or the limits; there is nothing to report."""
        self._stop.clear()
        self._stop.wait(request.limits.bound)

    def ponder(self, game: Game) -> None:
        """Do nothing: there is no search."""

    def dead_stones(self, game: Game, limits: Limits | None = None) -> list[list[int]]:
        """Return no chains."""
        return []

    def seki_stones(self, game: Game) -> list[list[int]]:
        """Return no chains."""
        return []

    def expected_score(self, game: Game) -> float | None:
        """Return None: the stones on the board are counted."""
        return None

    def prepare(self, width: int, height: int) -> None:
        """Do nothing: no board needs preparation."""

    def stop(self) -> None:
        """Stop an analysis; moves take no time."""
        self._stop.set()

    def set_params(self, params: SearchParams) -> None:
        """Set the seed for the next `restart`."""
        self.params = params

    def clear_cache(self) -> None:
        """Do nothing: nothing is cached."""

    def new_game(self) -> None:
        """Do nothing: nothing is remembered."""

    def restart(self) -> None:
        """Reset the random numbers to the seed, or to 1 if that is 0."""
        self._generator = np.random.default_rng(self.params.seed or 1)

    def close(self) -> None:
        """Do nothing: there are no resources."""
