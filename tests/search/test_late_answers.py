"""An evaluation that comes back after its search has ended disturbs nobody."""

import threading

from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.search.params import SearchParams
from engine.search.search import Search
from engine.search.stoppers import SearchStats
from tests.search.fakes import FakeEvaluator


class LateEvaluator(FakeEvaluator):
    """Answers for the root at once, for leaves only when `answers` is set; `is_asked` is set by the first leaf."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked, self.answers = threading.Event(), threading.Event()

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Wait, then write the made-up evaluation."""
        if self.calls > 0:
            self.is_asked.set()
            assert self.answers.wait(60)
        super().evaluate(positions, count, out)


class OnceALeafIsAsked:
    """Ends a search as soon as a leaf is being evaluated."""

    def __init__(self, evaluator: LateEvaluator) -> None:
        self._evaluator = evaluator

    def should_stop(self, stats: SearchStats) -> bool:
        """Return whether a leaf is being evaluated."""
        return self._evaluator.is_asked.is_set()


def test_nobody_is_shown_a_tree_after_the_search_has_returned() -> None:
    evaluator, shown = LateEvaluator(), []
    search = Search(evaluator, SearchParams(random_symmetries=False))
    game = Game(5)
    search.begin(game, game.to_play, game.legal_vertices())
    search.run([OnceALeafIsAsked(evaluator)], watch=shown.append)
    before = len(shown)
    assert before > 0
    evaluator.answers.set()
    search.driver.wait()
    assert len(shown) == before
    search.close()
