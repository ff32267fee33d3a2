"""Chooses moves with a set of parameters and judges them by the reference; plays games with it. In this process."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from engine.apps.quality.choices import Choices, Limit, SearchChooser
from engine.apps.quality.positions import Position
from engine.apps.quality.reference import Reference
from engine.apps.tune.games import Chunk, play_chunk
from engine.apps.tune.ranges import Value
from engine.evaluation.evaluator import Evaluator
from engine.evaluators.cache import CachedEvaluator
from engine.search.params import SearchParams, with_settings

_CACHE_MIB = 256.0
_CHUNK = 64
"""Positions that are searched side by side; few enough for their trees to fit into memory."""
Report = Callable[[int], None]
"""Called after each search, or several, with the visits that were made."""
Chosen = dict[int, Choices]
"""Choices by the visits of the searches."""


class Measuring(Protocol):
    """Measures sets of parameters on positions."""

    def choose(self, positions: Sequence[Position], values: Mapping[str, Value], report: Report) -> Chosen:
        """Return the moves of searches with these parameters, all judged."""

    def play(self, chunks: Sequence[Chunk], values: Mapping[str, Value]) -> Iterator[tuple[Chunk, list[float]]]:
        """Yield the points of each chunk of games of these parameters against the default, as chunks end."""


def with_cache(evaluator: Evaluator) -> Evaluator:
    """Return an evaluator that keeps its evaluations, if they may be kept: sets of parameters share most of them."""
    return evaluator if evaluator.attributes.has_first_play else CachedEvaluator(evaluator, _CACHE_MIB)


@dataclass(frozen=True)
class InProcess:
    """Measures with one evaluator, which may have a cache, in this process.

    defaults: what the values of a set replace.
    """

    evaluator: Evaluator
    reference: Reference
    defaults: SearchParams
    visits: tuple[int, ...]

    def choose(self, positions: Sequence[Position], values: Mapping[str, Value], report: Report) -> Chosen:
        """Return the moves of searches with these parameters, all judged."""
        found: Chosen = {visits: {} for visits in self.visits}
        chooser = SearchChooser(self.evaluator, self.evaluator, with_settings(self.defaults, values))
        for first in range(0, len(positions), _CHUNK):
            chunk = positions[first : first + _CHUNK]
            for visits in self.visits:
                found[visits] |= chooser.choose(chunk, Limit(visits=visits), partial(report, visits))
            moves = {each.key: {choices[each.key].vertex for choices in found.values()} for each in chunk}
            self.reference.judge(chunk, moves, partial(report, self.reference.visits))
        return found

    def play(self, chunks: Sequence[Chunk], values: Mapping[str, Value]) -> Iterator[tuple[Chunk, list[float]]]:
        """Yield the points of each chunk of games."""
        for chunk in chunks:
            yield chunk, play_chunk(self.evaluator, chunk, with_settings(self.defaults, values), self.defaults)
