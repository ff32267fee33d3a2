"""Measures the speed of a search and the share of its time in each step."""

import time
from collections.abc import Sequence

from engine.evaluation.evaluator import Evaluator
from engine.evaluators.network import NetworkEvaluator
from engine.search.bench_positions import Searched
from engine.search.params import ROLLOUT_PARAMS, SearchParams
from engine.search.search import Search
from engine.search.stoppers import TimeStopper
from engine.search.tree import bytes_per_node


class MeasuredSearch:
    """A search with one evaluator on the positions of one board size; adds up the seconds spent in each step.

    params: by default those of play.
    """

    def __init__(self, evaluator: Evaluator, positions: Sequence[Searched], params: SearchParams | None = None) -> None:
        attributes = evaluator.attributes
        self._evaluator = evaluator
        self._search = Search(evaluator, params or (ROLLOUT_PARAMS if attributes.has_first_play else SearchParams()))
        self._positions = positions
        self._encoding = 0.0
        game, rave = positions[0].game, attributes.has_first_play
        area = game.width * game.height
        self.bytes_per_node = bytes_per_node(area, rave=rave, ownership=attributes.has_ownership)

    def warm_up(self) -> None:
        """Load kernels and compile networks."""
        self.per_second(0.01)
        self._encoding = 0.0
        self._search.driver.seconds.update(dict.fromkeys(self._search.driver.seconds, 0.0))

    def per_second(self, seconds: float) -> float:
        """Search every position for `seconds` seconds, each with a new tree; return the visits per second."""
        visits = elapsed = 0.0
        for position in self._positions:
            game = position.game
            # An empty tree: reused visits would count as speed.
            self._search.forget()
            self._search.begin(game, game.to_play, game.legal_vertices())
            encoding, start = self._encode_seconds(), time.perf_counter()
            visits += self._search.run([TimeStopper(seconds)]).playouts
            self._encoding += self._encode_seconds() - encoding
            elapsed += time.perf_counter() - start
        return visits / elapsed

    def _encode_seconds(self) -> float:
        return self._evaluator.encode_seconds if isinstance(self._evaluator, NetworkEvaluator) else 0.0

    def shares(self) -> dict[str, float]:
        """Return the share of each step in the total time of all workers.

        "encode" (networks only) is part of "evaluate". The rest is time in which workers waited for each other.
        """
        spent = dict(self._search.driver.seconds)
        is_native = self._search.driver.is_native
        if is_native:
            spent["evaluate"] += spent["encode"]
        else:
            spent["encode"] = self._encoding
        plays_out = self._evaluator.attributes.has_first_play
        encodes = not plays_out and (is_native or isinstance(self._evaluator, NetworkEvaluator))
        steps = ("select", *(("encode",) if encodes else ()), "evaluate", "backup")
        return {step: round(spent[step] / max(1e-9, spent["all"]), 3) for step in steps}

    def batch(self) -> int:
        """Return the mean number of positions in an evaluated batch, rounded."""
        return round(self._search.driver.rows / max(1, self._search.driver.answers))

    def close(self) -> None:
        """Stop the search's threads; does not close the evaluator."""
        self._search.close()
