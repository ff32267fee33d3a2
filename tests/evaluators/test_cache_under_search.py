"""Every expanded position costs one evaluation, and through the cache no position costs two."""

from dataclasses import replace

import numpy as np

from engine.color import BLACK, WHITE
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator
from engine.evaluation.positions import PositionBatch
from engine.evaluators.cache import CachedEvaluator
from engine.evaluators.uniform import UniformEvaluator
from engine.game import Game
from engine.search.params import SearchParams
from engine.search.search import Search
from engine.search.stoppers import VisitStopper
from engine.search.tree import EXPANDED, SIZE


class Recording:
    """Passes everything on, one call at a time, and remembers the keys that it was asked for."""

    def __init__(self, inner: Evaluator) -> None:
        self.attributes, self._inner = replace(inner.attributes, concurrent=1), inner
        self.keys: list[tuple[int, float]] = []

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        hashes, bonuses = positions.hashes[:count].tolist(), positions.white_bonus[:count].tolist()
        self.keys += zip(hashes, bonuses, strict=True)
        self._inner.evaluate(positions, count, out)

    def close(self) -> None:
        self._inner.close()


def searched(search: Search, game: Game, visits: int, color: int = BLACK) -> int:
    """Search a position from an empty tree and return how many positions were expanded."""
    search.forget()
    search.begin(game, color, game.legal_vertices(color))
    search.run([VisitStopper(visits)], visits)
    tree = search.tree
    return int(np.count_nonzero(tree.nodes["stage"][: tree.counters[SIZE]] == EXPANDED))


def test_evaluations_equal_expanded_positions_and_the_cache_asks_for_each_once() -> None:
    inner = Recording(UniformEvaluator())
    cached = CachedEvaluator(inner)
    outer = Recording(cached)
    search = Search(outer, SearchParams(max_memory_mib=8))
    game = Game(4)
    expanded = searched(search, game, 600)
    assert expanded > 300
    assert len(outer.keys) == expanded
    assert len(inner.keys) == len(set(inner.keys)) == cached.misses
    assert set(inner.keys) == set(outer.keys)
    assert cached.hits == expanded - cached.misses
    before = len(inner.keys)
    again = searched(search, game, 600)
    assert len(outer.keys) == expanded + again
    assert len(inner.keys) - before < again // 4
    assert len(inner.keys) == len(set(inner.keys))


def test_searches_for_either_side_share_their_evaluations() -> None:
    # The doubling of White's playouts is -0.0 where Black's is 0.0.
    inner = Recording(UniformEvaluator())
    cached = CachedEvaluator(inner)
    search = Search(cached, SearchParams(max_memory_mib=8))
    game = Game(3)
    searched(search, game, 200)
    game.play(BLACK, game.legal_vertices(BLACK)[4])
    searched(search, game, 200, WHITE)
    assert cached.hits > 5
    # The root is evaluated once more: another optimism holds there.
    assert len(inner.keys) - len(set(inner.keys)) <= 1
