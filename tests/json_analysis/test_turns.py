"""The queue of a pool: turns between clients, priorities within one, and what it counts."""

import threading
from dataclasses import replace

from engine.apps.analysis_server.pool import AnalysisPool
from engine.apps.analysis_server.task import Report, Task
from engine.apps.analysis_server.turns import TurnQueue
from engine.game import Game
from engine.search.tree import bytes_per_node
from tests.json_analysis.talk import SETTINGS
from tests.search.fakes import FakeEvaluator


def task(client: str, number: int = 0, priority: int = 0) -> Task:
    """Return a task of a client."""
    game = Game(5)
    made = Task(game, game.to_play, game.to_play, SETTINGS.params, lambda task, report: None, visits=4)
    return replace(made, client=client, subject=f"{client}{number}", priority=priority)


def taken(queue: TurnQueue, count: int) -> list[object]:
    """Take tasks, each of which is done at once; return their subjects."""
    found = []
    for _ in range(count):
        each = queue.take()
        assert each is not None
        found.append(each.subject)
        queue.done(each)
    return found


def test_clients_take_turns_and_each_goes_by_priority() -> None:
    queue = TurnQueue()
    for number in range(4):
        queue.put(task("a", number, priority=number))
    queue.put(task("b", 0, priority=-5))
    queue.put(task("b", 1, priority=-5))
    queue.put(task("c", 0))
    assert taken(queue, 7) == ["a3", "b0", "c0", "a2", "b1", "a1", "a0"]
    assert queue.take() is None


def test_the_client_with_the_fewest_running_tasks_is_next() -> None:
    queue = TurnQueue()
    for number in range(5):
        queue.put(task("a", number))
    running = [queue.take() for _ in range(3)]
    assert queue.starved == 0
    queue.put(task("b"))
    assert (queue.starved, queue.running, queue.clients) == (1, 3, 2)
    following = queue.take()
    assert following is not None
    assert following.subject == "b0"
    assert queue.starved == 0
    for each in (*running, following):
        assert each is not None
        queue.done(each)
    assert (queue.running, queue.clients) == (0, 1)


def test_removed_tasks_are_never_taken_and_idle_clients_are_forgotten() -> None:
    queue = TurnQueue()
    for number in range(3):
        queue.put(task("a", number))
        queue.put(task("b", number))
    removed = queue.remove(lambda each: each.client == "a" or each.subject == "b1")
    assert {each.subject for each in removed} == {"a0", "a1", "a2", "b1"}
    assert queue.clients == 1
    assert taken(queue, 2) == ["b0", "b2"]
    assert queue.clients == 0


def test_the_trees_of_many_clients_take_no_more_than_the_memory_and_two_mebibytes_each() -> None:
    """Clients that come later get what is left of the memory, and always enough to answer."""
    taken_mib: list[int] = []

    class Pool(AnalysisPool):
        def _analyze(self, search: object, task: Task, memory_mib: int) -> None:
            taken_mib.append(memory_mib)
            assert self.together.wait(20)
            task.on_report(task, Report(None))

        together = threading.Event()

    pool = Pool(FakeEvaluator(), 2, 64)
    big = int(200 * 2**20 / bytes_per_node(25, rave=False, ownership=True))
    for number in range(10):
        pool.submit([replace(task(str(number)), visits=big)])
    while len(taken_mib) < 10:
        threading.Event().wait(0.01)
    Pool.together.set()
    pool.close()
    assert sum(taken_mib) <= 64 + 10 * 2
    assert min(taken_mib) >= 2
