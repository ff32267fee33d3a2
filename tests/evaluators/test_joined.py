"""Calls that wait together are evaluated together, each answered as if it had been alone."""

import threading

import numpy as np
import pytest

from engine.color import BLACK, WHITE
from engine.encoders.game_positions import write_position
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.evaluators import joined as joined_module
from engine.evaluators.joined import JoinedEvaluator
from engine.game import Game
from engine.rules import CHINESE, TROMP_TAYLOR, Rules
from tests.search.fakes import FakeEvaluator

SECONDS = 20.0


class Gated(FakeEvaluator):
    """Evaluates nothing until its gate is opened; keeps how many positions each call had."""

    def __init__(self, fail_at: int | None = None) -> None:
        super().__init__(fail_at=fail_at)
        self.gate, self.entered = threading.Event(), threading.Event()
        self.counts: list[int] = []

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Wait for the gate, then write the made-up evaluation."""
        self.entered.set()
        assert self.gate.wait(SECONDS)
        self.counts.append(count)
        super().evaluate(positions, count, out)


def positions(seed: int, count: int, rules: Rules = TROMP_TAYLOR) -> PositionBatch:
    """Return some positions of a random game."""
    generator, game, batch = np.random.default_rng(seed), Game(5, rules=rules), PositionBatch(count + 2, 5, 5)
    for row in range(count):
        color = (BLACK, WHITE)[row % 2]
        game.play(color, int(generator.choice(game.legal_vertices(color))))
        write_position(game, game.to_play, batch, row)
    return batch


def ask_at_once(joined: JoinedEvaluator, inner: Gated, asked: list[tuple[PositionBatch, int]]) -> list[object]:
    """Make all calls while the first one is held; return the evaluation of each, or what it raised."""
    found: list[object] = [None] * len(asked)

    def call(number: int) -> None:
        batch, count = asked[number]
        out = Evaluation(count, 5, 5)
        try:
            joined.evaluate(batch, count, out)
            found[number] = out
        except RuntimeError as error:
            found[number] = error

    threads = [threading.Thread(target=call, args=(number,)) for number in range(len(asked))]
    threads[0].start()
    assert inner.entered.wait(SECONDS)
    for waiting, thread in enumerate(threads[1:], 1):
        thread.start()
        while joined.waiting < waiting:
            assert thread.is_alive()
    inner.gate.set()
    for thread in threads:
        thread.join(SECONDS)
    return found


def test_calls_that_wait_share_a_batch_and_have_their_own_answers() -> None:
    inner = Gated()
    asked = [(positions(seed, count), count) for seed, count in ((1, 1), (2, 2), (3, 1), (4, 3))]
    found = ask_at_once(JoinedEvaluator(inner), inner, asked)
    assert inner.counts == [1, 6]
    for (batch, count), out in zip(asked, found, strict=True):
        alone = Evaluation(count, 5, 5)
        FakeEvaluator().evaluate(batch, count, alone)
        assert isinstance(out, Evaluation)
        for part in ("policy", "value", "score", "ownership", "details", "first_play"):
            np.testing.assert_array_equal(getattr(out, part), getattr(alone, part))


def test_positions_under_other_rules_are_not_joined() -> None:
    inner = Gated()
    asked = [(positions(seed, 1, rules), 1) for seed, rules in enumerate((CHINESE, CHINESE, TROMP_TAYLOR, CHINESE))]
    found = ask_at_once(JoinedEvaluator(inner), inner, asked)
    assert inner.counts == [1, 2, 1]
    assert all(isinstance(each, Evaluation) for each in found)


def test_a_failure_reaches_every_call_of_its_batch_and_no_other() -> None:
    inner = Gated(fail_at=2)
    found = ask_at_once(JoinedEvaluator(inner), inner, [(positions(seed, 1), 1) for seed in range(3)])
    assert [type(each) for each in found] == [Evaluation, RuntimeError, RuntimeError]


def test_a_call_of_too_many_positions_is_refused() -> None:
    inner = Gated()
    with pytest.raises(ValueError, match="65 positions exceed the batch of 64"):
        JoinedEvaluator(inner).evaluate(PositionBatch(65, 5, 5), 65, Evaluation(65, 5, 5))


def test_a_wait_that_is_interrupted_leaves_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            raise KeyboardInterrupt

    inner = Gated()
    joined = JoinedEvaluator(inner)
    running = threading.Thread(target=joined.evaluate, args=(positions(1, 1), 1, Evaluation(1, 5, 5)))
    running.start()
    assert inner.entered.wait(SECONDS)
    monkeypatch.setattr(joined_module.threading, "Event", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        joined.evaluate(positions(2, 1), 1, Evaluation(1, 5, 5))
    monkeypatch.undo()
    assert joined.waiting == 0
    inner.gate.set()
    running.join(SECONDS)
    joined.evaluate(positions(3, 1), 1, Evaluation(1, 5, 5))
    assert inner.counts == [1, 1]
