"""Slots in flight: the same tree whoever waits for the evaluator, the order kept, and nothing lost by a failure."""

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engine.color import BLACK
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.search.in_flight import InFlight
from engine.search.params import SearchParams
from engine.search.search import Search
from engine.search.slot import Slot
from engine.search.stoppers import VisitStopper
from engine.search.tree import SIZE
from tests.search.fakes import FakeEvaluator

GAME = Game(5)


class BegunCall:
    """Evaluates when it is finished."""

    def __init__(self, evaluator: "Beginning", arguments: tuple[Any, ...]) -> None:
        self.evaluator, self.arguments = evaluator, arguments

    def wait(self, seconds: float) -> bool:
        return self.evaluator.is_ready

    def finish(self) -> None:
        self.evaluator.running -= 1
        self.evaluator.finishers.append(threading.get_ident())
        self.evaluator.evaluate(*self.arguments)


class Beginning(FakeEvaluator):
    """A fake that has room for some calls; keeps which of them were begun, and who finished them."""

    def __init__(self, room: int, fail_at: int | None = None) -> None:
        super().__init__(fail_at=fail_at)
        self.attributes = replace(self.attributes, begins=True, concurrent=3)
        self.room, self.running, self.is_ready = room, 0, True
        self.begun: list[bool] = []
        self.finishers: list[int] = []

    def begin(self, positions: PositionBatch, count: int, out: Evaluation) -> BegunCall | None:
        self.begun.append(self.running < self.room)
        if not self.begun[-1]:
            return None
        self.running += 1
        return BegunCall(self, (positions, count, out))


class OfThree(FakeEvaluator):
    """A fake that wants as many calls as `Beginning` does."""

    def __init__(self) -> None:
        super().__init__()
        self.attributes = replace(self.attributes, concurrent=3)


def slots(count: int) -> list[Slot]:
    """Return slots with positions where everything is legal."""
    made = [Slot(4, GAME, has_details=False) for _ in range(count)]
    for slot in made:
        slot.positions.legal[:] = True
    return made


def searched(evaluator: FakeEvaluator, visits: int = 150) -> Search:
    search = Search(evaluator, SearchParams(batch_size=4, seed=3))
    search.begin(GAME, BLACK, GAME.legal_vertices())
    search.run([VisitStopper(visits)], visits)
    return search


@pytest.mark.parametrize("room", [0, 1, 2, 9])
def test_the_tree_is_the_same_whoever_waits_for_the_evaluator(room: int) -> None:
    expected, got = searched(OfThree()), searched(Beginning(room))
    count = expected.size()
    assert got.size() == count == int(expected.tree.counters[SIZE])
    assert np.array_equal(got.tree.nodes[:count], expected.tree.nodes[:count])


def test_no_call_is_begun_while_a_thread_may_wait_for_its_memory() -> None:
    evaluator = Beginning(1)
    in_flight, (first, second, third, fourth) = InFlight(evaluator), slots(4)
    for slot in (first, second):
        in_flight.send(slot, 1)
    assert in_flight.receive() is first
    in_flight.send(third, 1)
    assert evaluator.begun == [True, False]
    assert [in_flight.receive(), in_flight.receive()] == [second, third]
    in_flight.send(fourth, 1)
    assert evaluator.begun == [True, False, True]
    assert in_flight.receive() is fourth
    assert not in_flight
    in_flight.close()


def test_what_is_given_up_is_finished_by_a_thread_and_the_slot_is_busy_until_then() -> None:
    evaluator = Beginning(9)
    in_flight, (first, second) = InFlight(evaluator), slots(2)
    in_flight.send(first, 1)
    in_flight.send(second, 1)
    assert in_flight.give_up() == [first, second]
    assert not in_flight
    for slot in (first, second):
        slot.finish()
    assert len(evaluator.finishers) == evaluator.calls == 2
    assert threading.get_ident() not in evaluator.finishers
    in_flight.close()


@pytest.mark.parametrize("room", [0, 9])
def test_a_failing_evaluation_is_told_and_its_slot_given_up(room: int) -> None:
    evaluator = Beginning(room, fail_at=1)
    in_flight, (first, second) = InFlight(evaluator), slots(2)
    in_flight.send(first, 1)
    with pytest.raises(RuntimeError, match="made to fail"):
        in_flight.receive()
    assert in_flight.give_up() == [first]
    first.finish()
    in_flight.send(second, 1)
    assert in_flight.receive() is second
    assert evaluator.calls == 2
    in_flight.close()


@pytest.mark.parametrize("room", [0, 2, 9])
def test_a_failing_evaluator_leaves_no_pending_visits(room: int) -> None:
    evaluator = Beginning(room, fail_at=5)
    search = Search(evaluator, SearchParams(batch_size=2))
    search.begin(GAME, BLACK, GAME.legal_vertices())
    with pytest.raises(RuntimeError, match="made to fail"):
        search.run([VisitStopper(100)], 100)
    assert not search.tree.nodes["pending"][: search.size()].any()
    search.begin(GAME, BLACK, GAME.legal_vertices())
    assert search.run([VisitStopper(100)], 100).visits == 100
    search.close()


def test_a_stop_does_not_wait_for_what_was_begun() -> None:
    evaluator = Beginning(9)

    class Impatient:
        """Stops while an evaluation is not there."""

        def should_stop(self, stats: Any) -> bool:
            evaluator.is_ready = stats.visits < 20
            return not evaluator.is_ready

    search = Search(evaluator, SearchParams(batch_size=2))
    search.begin(GAME, BLACK, GAME.legal_vertices())
    assert 20 <= search.run([Impatient()]).visits < 40
    assert not search.tree.nodes["pending"][: search.size()].any()
    search.close()
    assert evaluator.running == 0
