"""A network that is replaced while others still wait for its answers."""

import threading

from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.evaluators.uniform import UniformEvaluator
from engine.train.games.switching_evaluator import SwitchingEvaluator


class Slow(UniformEvaluator):
    """Answers when it is allowed to, and remembers."""

    def __init__(self) -> None:
        super().__init__()
        self.allowed = threading.Event()
        self.asked = threading.Semaphore(0)
        self.answers = 0
        self.closed = 0

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        self.asked.release()
        assert self.allowed.wait(20)
        assert not self.closed
        self.answers += 1

    def close(self) -> None:
        self.closed += 1


def test_a_replaced_network_answers_its_last_calls_and_is_closed_then() -> None:
    old, new = Slow(), Slow()
    new.allowed.set()
    evaluator = SwitchingEvaluator(old)
    positions, out = PositionBatch(1, 5, 5), Evaluation(1, 5, 5)
    threads = [threading.Thread(target=evaluator.evaluate, args=(positions, 1, out)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert old.asked.acquire(timeout=20)
    evaluator.switch(new)
    evaluator.evaluate(positions, 1, out)
    assert (new.answers, old.closed) == (1, 0)
    old.allowed.set()
    for thread in threads:
        thread.join()
    assert (old.answers, old.closed, new.closed) == (3, 1, 0)
    evaluator.close()
    assert new.closed == 1


def test_an_idle_network_is_closed_at_once() -> None:
    old, new = Slow(), Slow()
    evaluator = SwitchingEvaluator(old)
    evaluator.switch(new)
    assert (old.closed, new.closed) == (1, 0)
