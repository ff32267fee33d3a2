"""The speed of a search, and where its time goes."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import engine.search.search as search_module
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Begun, Evaluator, Program, asynchronous, native
from engine.evaluation.positions import PositionBatch
from engine.evaluators.network import NetworkEvaluator
from engine.search.bench_positions import Searched
from engine.search.params import ROLLOUT_PARAMS, SearchParams
from engine.search.search import Search
from engine.search.stoppers import TimeStopper
from engine.search.tree import bytes_per_node

_STEPS = {"select": "collect", "backup": "back_up"}
"""The steps of the search that are timed, and their functions in the search's module."""


class _Watched:
    """An evaluator that adds up its calls, their rows, and the time during which at least one is in flight."""

    def __init__(self, inner: Evaluator) -> None:
        self.attributes = inner.attributes
        self._inner, self._beginner, self._native = inner, asynchronous(inner), native(inner)
        self._lock = threading.Lock()
        self._inside, self._since, self._seconds = 0, 0.0, 0.0
        self.calls = self.rows = 0

    def busy(self) -> float:
        """Return the seconds so far."""
        with self._lock:
            return self._seconds + (time.perf_counter() - self._since if self._inside else 0.0)

    def _enter(self, rows: int) -> None:
        with self._lock:
            self.calls += 1
            self.rows += rows
            if self._inside == 0:
                self._since = time.perf_counter()
            self._inside += 1

    def leave(self) -> None:
        """Count a call out."""
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._seconds += time.perf_counter() - self._since

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        self._enter(count)
        try:
            self._inner.evaluate(positions, count, out)
        finally:
            self.leave()

    def begin(self, positions: PositionBatch, count: int, out: Evaluation) -> Begun | None:
        begun = None if self._beginner is None else self._beginner.begin(positions, count, out)
        if begun is None:
            return None
        self._enter(count)
        return _WatchedCall(begun, self.leave)

    def program(self, positions: PositionBatch, out: Evaluation) -> Program | None:
        return None if self._native is None else self._native.program(positions, out)

    def close(self) -> None:
        self._inner.close()


class _WatchedCall:
    """A call that is in flight until somebody finishes it."""

    def __init__(self, begun: Begun, leave: Callable[[], None]) -> None:
        self.wait, self._begun, self._leave = begun.wait, begun, leave

    def finish(self) -> None:
        try:
            self._begun.finish()
        finally:
            self._leave()


@contextmanager
def _timed_steps(spent: dict[str, float]) -> Iterator[None]:
    """Add up the seconds spent in the steps of every search, by name."""
    originals = {name: getattr(search_module, name) for name in _STEPS.values()}

    def watch(step: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            start = time.perf_counter()
            result = original(*arguments)
            spent[step] += time.perf_counter() - start
            return result

        return timed

    try:
        for step, name in _STEPS.items():
            setattr(search_module, name, watch(step, originals[name]))
        yield
    finally:
        for name, original in originals.items():
            setattr(search_module, name, original)


class MeasuredSearch:
    """A search over one evaluator, the positions of one board size, and the seconds spent in each step."""

    def __init__(self, evaluator: Evaluator, positions: Sequence[Searched]) -> None:
        attributes = evaluator.attributes
        self._evaluator, self._watched = evaluator, _Watched(evaluator)
        self._search = Search(self._watched, ROLLOUT_PARAMS if attributes.has_first_play else SearchParams())
        self._positions = positions
        self._spent, self._wall = dict.fromkeys((*_STEPS, "evaluate", "encode"), 0.0), 0.0
        game, rave = positions[0].game, attributes.has_first_play
        area = game.width * game.height
        self.bytes_per_node = bytes_per_node(area, rave=rave, ownership=attributes.has_ownership)

    def warm_up(self) -> None:
        """Load kernels and compile networks."""
        self.per_second(0.01)
        self._spent, self._wall = dict.fromkeys(self._spent, 0.0), 0.0

    def per_second(self, seconds: float) -> float:
        """Return the visits a second in searches of so many seconds each, from every position, from empty trees."""
        visits = elapsed = 0.0
        with _timed_steps(self._spent):
            for position in self._positions:
                game = position.game
                self._search.forget()
                self._search.begin(game, game.to_play, game.legal_vertices())
                busy, encoding, start = self._watched.busy(), self._encode_seconds(), time.perf_counter()
                visits += self._search.run([TimeStopper(seconds)]).playouts
                # Calls that are still in flight when the search ends go on outside of its time.
                self._add("evaluate", self._watched.busy() - busy)
                self._add("encode", self._encode_seconds() - encoding)
                elapsed += time.perf_counter() - start
        self._wall += elapsed
        return visits / elapsed

    def _add(self, step: str, seconds: float) -> None:
        self._spent[step] += seconds

    def _encode_seconds(self) -> float:
        return self._evaluator.encode_seconds if isinstance(self._evaluator, NetworkEvaluator) else 0.0

    def shares(self) -> dict[str, float]:
        """Return each step's share of the wall time or, where threads search without Python, of all threads' time.

        evaluate: at least one call was in flight; encode, of networks only, is a part of it. The other steps go
        on meanwhile, so that the shares may exceed 1 together. Without Python each thread does one thing at a time,
        evaluate includes encode, and what lacks is time in which threads waited for each other.
        """
        pump = self._search.pump
        if pump is not None and pump.seconds["all"] > 0.0:
            spent = pump.seconds | {"evaluate": pump.seconds["encode"] + pump.seconds["evaluate"]}
            return {step: round(spent[step] / spent["all"], 3) for step in ("select", "encode", "evaluate", "backup")}
        encodes = isinstance(self._evaluator, NetworkEvaluator)
        steps = ("select", *(("encode",) if encodes else ()), "evaluate", "backup")
        return {step: round(self._spent[step] / self._wall, 3) for step in steps}

    def batch(self) -> int:
        """Return how many positions were evaluated at a time, on average, rounded."""
        pump = self._search.pump
        calls, rows = (self._watched.calls, self._watched.rows) if pump is None else pump.answered()
        return round(rows / calls)

    def close(self) -> None:
        """Stop the search's threads; the evaluator stays."""
        self._search.close()
