"""A real Ray cluster of several nodes on this machine, and play for its workers that needs no engine."""

import json
import os
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

STORE_BYTES = 80 * 2**20
"""Ray's least object store."""


@contextmanager
def cluster(nodes: int, cores: int = 1, gpus: int = 0) -> Iterator[Any]:
    """Yield a cluster with a head without cores and nodes with some cores and pretended GPUs, `.computers`."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    made = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "include_dashboard": False, "object_store_memory": STORE_BYTES},
    )
    try:
        made.computers = [
            made.add_node(num_cpus=cores, num_gpus=gpus, object_store_memory=STORE_BYTES) for _ in range(nodes)
        ]
        yield made
    finally:
        made.shutdown()


class Numbers:
    """Plays "games" of a few hundredths of a second: files with who played, which, and with what network.

    It notes in `diary` when a game is finished, so that a test can count what should have arrived.
    """

    def __init__(self, diary: Path) -> None:
        self._diary = diary
        self._name = uuid.uuid4().hex
        self._generation, self._paused = -1, False
        self._gpus = os.environ.get("CUDA_VISIBLE_DEVICES")
        self._node = os.environ.get("RAY_NODE_ID", "")

    def set_network(self, network: bytes, generation: int) -> None:
        assert network == f"network {generation}".encode()
        self._generation = generation

    def play(self, folder: Path, stop: threading.Event) -> None:
        number = 0
        while not stop.wait(0.05):
            if self._paused:
                continue
            game = {"who": self._name, "number": number, "generation": self._generation, "gpus": self._gpus}
            partial = folder / "game.part"
            partial.write_text(json.dumps(game))
            partial.rename(folder / f"{number:06d}.json")
            with (self._diary / self._name).open("a") as diary:
                diary.write(f"{time.time()} {number}\n")
            number += 1

    def pause(self, paused: bool) -> None:
        self._paused = paused

    def finished(self, folder: Path) -> Iterator[tuple[bytes, Path]]:
        for path in sorted(folder.glob("*.json")):
            yield path.read_bytes(), path


class MakeNumbers:
    """Makes them in a worker."""

    def __init__(self, diary: Path) -> None:
        self._diary = diary

    def __call__(self, number: int, on_gpu: bool = False) -> Numbers:
        return Numbers(self._diary)


class Broken(Numbers):
    """Cannot play."""

    def play(self, folder: Path, stop: threading.Event) -> None:
        raise ArithmeticError("two and two are five")


class MakeBroken(MakeNumbers):
    """Makes what cannot play."""

    def __call__(self, number: int, on_gpu: bool = False) -> Numbers:
        return Broken(self._diary)
