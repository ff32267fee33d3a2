"""What `RayWorkers` uses of Ray, without a cluster: a test says which machines there are and how each worker ends."""

import sys
from collections.abc import Callable, Iterable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest


class RayError(Exception):
    """The error of a lost worker."""


class RayTaskError(RayError):
    """The error of a task, with the one that it raised."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(f"remote traceback\n{cause}")
        self.cause = cause


class FakeRay:
    """The cluster. end: returns what a worker's run returns, or raises it; called once for each, as soon as it ends.

    nodes: names of machines with a core each. alive: those among them that are not lost. broken: it does not answer.
    lasting: no worker ends.
    """

    def __init__(self, end: Callable[[], Any], nodes: Iterable[str] = ("a",)) -> None:
        self.end, self.nodes = end, list(nodes)
        self.alive = set(self.nodes)
        self.broken = self.lasting = False

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Stand in for the module `ray`."""
        ray, scheduling = ModuleType("ray"), ModuleType("ray.util.scheduling_strategies")
        scheduling.NodeAffinitySchedulingStrategy = lambda *_, **more: None  # type: ignore[attr-defined]
        parts: dict[str, Any] = {
            "exceptions": SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError),
            "init": lambda **_: None,
            "shutdown": lambda: None,
            "kill": lambda worker: None,
            "get_runtime_context": lambda: SimpleNamespace(get_node_id=lambda: "trainer"),
            "nodes": self._nodes,
            "remote": lambda _: SimpleNamespace(options=lambda **_: SimpleNamespace(remote=lambda *_: _Actor())),
            "wait": lambda runs, **_: ([] if self.lasting else list(runs), []),
            "get": lambda _: self.end(),
        }
        vars(ray).update(parts)
        monkeypatch.setitem(sys.modules, "ray", ray)
        monkeypatch.setitem(sys.modules, "ray.util", ModuleType("ray.util"))
        monkeypatch.setitem(sys.modules, "ray.util.scheduling_strategies", scheduling)
        monkeypatch.setattr("engine.train.generations.ray_workers.POLL_SECONDS", 0.001)

    def _nodes(self) -> list[dict[str, Any]]:
        if self.broken:
            raise RuntimeError("the cluster does not answer")
        return [{"NodeID": name, "Alive": name in self.alive, "Resources": {"CPU": 1.0}} for name in self.nodes]


class _Actor:
    """A worker."""

    def __init__(self) -> None:
        self.run = SimpleNamespace(remote=object)
