"""The queue of an analysis pool: clients take turns, and each client's tasks go by priority."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from engine.apps.analysis_server.task import Task


@dataclass(eq=False)
class _Client:
    """Waiting tasks of a client, as a heap; the number of its running ones; and when it had its last turn."""

    waiting: list[tuple[int, int, Task]] = field(default_factory=list)
    running: int = 0
    last_turn: int = 0


class TurnQueue:
    """Tasks that wait, and how many run, by client. Not thread-safe: the pool has the lock.

    The next task is one of the client with the fewest running tasks, among equals of the one that has waited longest
    for its turn, so that no number of tasks of one client keeps another client waiting.
    """

    def __init__(self) -> None:
        self._clients: dict[object, _Client] = {}
        self._numbers, self._turns = count(), count(1)

    @property
    def clients(self) -> int:
        """Number of clients with a waiting or running task."""
        return len(self._clients)

    @property
    def starved(self) -> int:
        """Number of clients that wait while none of their tasks runs."""
        return sum(1 for each in self._clients.values() if each.waiting and not each.running)

    @property
    def running(self) -> int:
        """Number of running tasks."""
        return sum(each.running for each in self._clients.values())

    def put(self, task: Task) -> None:
        """Add a task, behind those of its client with the same or a higher priority."""
        client = self._clients.setdefault(task.client, _Client(last_turn=next(self._turns)))
        heapq.heappush(client.waiting, (-task.priority, next(self._numbers), task))

    def take(self) -> Task | None:
        """Take the next task, which runs from now on; None if no task waits."""
        having = [each for each in self._clients.values() if each.waiting]
        if not having:
            return None
        client = min(having, key=lambda each: (each.running, each.last_turn))
        client.running += 1
        client.last_turn = next(self._turns)
        return heapq.heappop(client.waiting)[2]

    def done(self, task: Task) -> None:
        """Note that a task does not run any more."""
        self._clients[task.client].running -= 1
        self._drop_idle()

    def remove(self, chosen: Callable[[Task], bool]) -> list[Task]:
        """Remove the chosen waiting tasks and return them."""
        removed = []
        for client in self._clients.values():
            removed += [each[2] for each in client.waiting if chosen(each[2])]
            client.waiting = [each for each in client.waiting if not chosen(each[2])]
            heapq.heapify(client.waiting)
        self._drop_idle()
        return removed

    def _drop_idle(self) -> None:
        self._clients = {key: each for key, each in self._clients.items() if each.waiting or each.running}
