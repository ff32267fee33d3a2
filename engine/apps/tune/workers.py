"""Measures sets of parameters in several processes, with the results of one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing.connection import Connection
from typing import Any

from engine.apps.quality.choices import Choices, default_params
from engine.apps.quality.positions import Position
from engine.apps.quality.reference import Found, Reference
from engine.apps.tune.games import Chunk
from engine.apps.tune.measuring import Chosen, InProcess, Report, with_cache
from engine.apps.tune.ranges import Value
from engine.errors import GoError
from engine.evaluation.evaluator import Evaluator
from engine.nets.spec import WeightsError
from engine.search.params import with_settings
from engine.support.worker_processes import WorkerProcesses, serve

Answer = tuple[Any, list[Found]]
"""What a process answers: its result, and what its reference has found for it."""


@dataclass(frozen=True)
class Workplace:
    """What each process needs, picklable. fixed: texts of parameters that differ from the defaults."""

    open_evaluator: Callable[[], Evaluator]
    fixed: Mapping[str, str]
    visits: tuple[int, ...]
    reference_visits: int
    network: str

    def measuring(self, reference: Reference, evaluator: Evaluator) -> InProcess:
        """Return what measures with an evaluator."""
        return InProcess(evaluator, reference, with_settings(default_params(evaluator), self.fixed), self.visits)


class InProcesses:
    """Measures in several processes, each with an evaluator and its share of the positions.

    A process keeps its positions, so that it has their evaluations in its cache and knows their judged moves.
    reference: receives what the processes find, and alone stores it.
    """

    def __init__(self, workplace: Workplace, reference: Reference, jobs: int) -> None:
        self._reference = reference
        known = reference.known()
        self._workers = WorkerProcesses(
            "tuning process", "the same command continues", _serve, [(workplace, known)] * jobs
        )

    def choose(self, positions: Sequence[Position], values: Mapping[str, Value], report: Report) -> Chosen:
        """Return the moves of searches with these parameters, all judged."""
        connections, together = self._workers.connections, dict[int, Choices]()
        count = len(connections)
        tasks = {
            each: (positions[number::count], dict(values))
            for number, each in enumerate(connections)
            if positions[number::count]
        }
        for connection, task in tasks.items():
            self._workers.send(connection, task)
        for connection, (chosen, found) in self._answers(list(tasks)):
            self._reference.add_all(found)
            report(len(tasks[connection][0]) * sum(chosen) + len(found) * self._reference.visits)
            for visits, choices in chosen.items():
                together.setdefault(visits, {}).update(choices)
        return together

    def play(self, chunks: Sequence[Chunk], values: Mapping[str, Value]) -> Iterator[tuple[Chunk, list[float]]]:
        """Yield the points of each chunk of games, as chunks end; at most as many chunks as there are processes."""
        playing = dict(zip(self._workers.connections, chunks, strict=False))
        for connection, chunk in playing.items():
            self._workers.send(connection, (chunk, dict(values)))
        for connection, (points, _) in self._answers(list(playing)):
            yield playing[connection], points
        if len(playing) < len(chunks):
            yield from self.play(chunks[len(playing) :], values)

    def _answers(self, asked: list[Connection]) -> Iterator[tuple[Connection, Answer]]:
        """Yield the answer of each process as it comes. Raises as `WorkerProcesses.messages`."""
        while asked:
            for connection, answer in self._workers.messages(asked):
                asked.remove(connection)
                yield connection, answer

    def close(self) -> None:
        """End the processes at once, whatever they do."""
        self._workers.close()


@contextmanager
def in_processes(workplace: Workplace, reference: Reference, jobs: int) -> Iterator[InProcesses]:
    """Start processes, and end them after the block."""
    started = InProcesses(workplace, reference, jobs)
    try:
        yield started
    finally:
        started.close()


def _serve(connection: Connection, workplace: Workplace, known: Sequence[Found]) -> None:
    """Answer the tasks of the parent process until it ends."""
    opened = cache(partial(_open, workplace, known))

    def perform(task: tuple[Any, Mapping[str, Value]]) -> Answer:
        return _answer(opened(), *task)

    serve(connection, perform, (GoError, WeightsError))


def _open(workplace: Workplace, known: Sequence[Found]) -> InProcess:
    evaluator = with_cache(workplace.open_evaluator())
    reference = Reference(evaluator, default_params(evaluator), workplace.reference_visits, workplace.network)
    reference.learn(known)
    return workplace.measuring(reference, evaluator)


def _answer(here: InProcess, task: Any, values: Mapping[str, Value]) -> Answer:
    if isinstance(task, Chunk):
        [(_, points)] = here.play([task], values)
        return points, []
    before = len(here.reference.found)
    return here.choose(task, values, lambda _: None), here.reference.found[before:]
