"""The speed of a search, and where its time goes."""

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
    """A search over one evaluator, the positions of one board size, and the seconds spent in each step."""

    def __init__(self, evaluator: Evaluator, positions: Sequence[Searched]) -> None:
        attributes = evaluator.attributes
        self._evaluator = evaluator
        self._search = Search(evaluator, ROLLOUT_PARAMS if attributes.has_first_play else SearchParams())
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
        """Return the visits a second in searches of `seconds` each, from every position, beginning with empty trees."""
        visits = elapsed = 0.0
        for position in self._positions:
            game = position.game
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
        """Return each step's share of the time of all workers.

        encode, of networks only, is a part of evaluate. What is missing to 1 is time in which workers waited for each
        other.
        """
        spent = dict(self._search.driver.seconds)
        is_native = self._search.driver.is_native
        if is_native:
            spent["evaluate"] += spent["encode"]
        else:
            spent["encode"] = self._encoding
        encodes = is_native or isinstance(self._evaluator, NetworkEvaluator)
        steps = ("select", *(("encode",) if encodes else ()), "evaluate", "backup")
        return {step: round(spent[step] / max(1e-9, spent["all"]), 3) for step in steps}

    def batch(self) -> int:
        """Return how many positions were evaluated at a time, on average, rounded."""
        return round(self._search.driver.rows / max(1, self._search.driver.answers))

    def close(self) -> None:
        """Stop the search's threads; the evaluator stays."""
        self._search.close()
