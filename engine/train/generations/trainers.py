"""The processes that train a network together, each on a GPU of its own (see `engine.train.learning.devices`).

The process of the run is the first of them: it reports, writes, and decides when to stop. The others are started for
one training step and do the same work.
"""

import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection

from engine.errors import GoError
from engine.support.openmp import limit_spinning
from engine.support.worker_processes import WorkerProcesses, serve

_PATIENCE_SECONDS = 60.0
"""For the others to say what they failed of, once the connection to one is lost."""


@contextmanager
def together(world: int, check: Callable[[], object], work: Callable[[], object]) -> Iterator[None]:
    """Let `world` - 1 other processes call `work`; this one does the same work within, as the first of them.

    check: called by the others before; raises GoError where the work is impossible. work: begins a process group with
    what it finds in the environment. Both can be pickled.
    Raises what another process failed of, as `WorkerProcesses` does.
    """
    if world == 1:
        yield
        return
    port = _free_port()
    places = [_place(rank, world, port) for rank in range(world)]
    advice = "the run goes on from its last checkpoint"
    with closing(WorkerProcesses("trainer", advice, _trainer, [(place,) for place in places[1:]])) as others:
        # A process group waits half an hour for one that does not come.
        _ask(others, check)
        _answers(others)
        _ask(others, work)
        try:
            with _environment(places[0]):
                yield
        except RuntimeError:
            # A lost connection, as a rule because its other end has failed, whose error says more.
            for _ in others.messages(others.connections, _PATIENCE_SECONDS):
                pass
            raise
        _answers(others)


def _ask(others: WorkerProcesses, task: Callable[[], object]) -> None:
    """Have a task done by all."""
    for connection in others.connections:
        others.send(connection, task)


def _answers(others: WorkerProcesses) -> None:
    """Wait until all have done their task."""
    waiting = list(others.connections)
    while waiting:
        for connection, _ in others.messages(waiting):
            waiting.remove(connection)


def _trainer(connection: Connection, place: Mapping[str, str]) -> None:
    """Do the work of one of the other processes."""
    limit_spinning()
    os.environ.update(place)
    serve(connection, _perform, (GoError,))


def _perform(task: Callable[[], object]) -> bool:
    task()
    return True


def _place(rank: int, world: int, port: int) -> dict[str, str]:
    """Return the environment of a process, as torchrun sets it."""
    numbers = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world, "MASTER_PORT": port}
    return {name: str(number) for name, number in numbers.items()} | {"MASTER_ADDR": "127.0.0.1"}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _environment(added: Mapping[str, str]) -> Iterator[None]:
    """Have some variables in the environment within."""
    kept = {name: os.environ.get(name) for name in added}
    os.environ.update(added)
    try:
        yield
    finally:
        for name, value in kept.items():
            os.environ.pop(name)
            os.environ.update({} if value is None else {name: value})
