"""Self-play in the workers of a Ray cluster, and the transfer of their games into the folder of a generation.

A worker runs endless self-play (`engine.train.games.selfplay`); every finished game is sent as one samples file with
the game's record in its header.
"""

import re
import secrets
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from engine.errors import GoError
from engine.evaluators.devices import CPU, GPU, torch_device
from engine.evaluators.factory import Computing, make_evaluator
from engine.train.data.samples import SUFFIX, Samples, read_shard, shard_info, write_shard
from engine.train.games.selfplay import SelfplayRun
from engine.train.games.selfplay_settings import SelfplaySettings
from engine.train.games.selfplay_starts import GameQueue
from engine.train.games.selfplay_store import Store
from engine.train.games.switching_evaluator import SwitchingEvaluator
from engine.train.generations.rating import player_of
from engine.train.generations.zero_config import EvaluatorSettings
from weights.registry import load
from weights.sized import unpacked

_RECORD, _GENERATION = "record", "generation"
_ROUND = re.compile(r"RO\[(\d+)\]")
_BEGUN = re.compile(r"\bnetwork gen-(\d+)")
INBOX = "inbox"
"""Folder of games within that of a generation, see `Intake`."""


def computing_of(settings: EvaluatorSettings) -> Computing:
    """Return the evaluator options of these settings."""
    return Computing(settings.backend, settings.precision, settings.threads or None)


@dataclass(frozen=True)
class MakeSelfplay:
    """Makes the self-play of a worker; this object is pickled and sent to the workers."""

    selfplay: SelfplaySettings
    evaluator: EvaluatorSettings

    def __call__(self, number: int, on_gpu: bool = False) -> "SelfplayPlaying":
        """Return the self-play of a worker. It seeds itself at random, so that a restarted worker repeats no game.

        on_gpu: compute on the GPU that the worker has a share of. Raises GoError if PyTorch finds none.
        """
        return SelfplayPlaying(self.selfplay, self.evaluator, on_gpu=on_gpu)


class SelfplayPlaying:
    """Plays games endlessly, one file per game."""

    def __init__(self, settings: SelfplaySettings, evaluator: EvaluatorSettings, *, on_gpu: bool = False) -> None:
        self._settings = settings
        # Ray 2.60 hides no GPU from workers without a share: all of them would compute on the first one.
        self._computing = replace(computing_of(evaluator), device=GPU if on_gpu else CPU)
        if on_gpu and torch_device() is None:
            raise GoError("a worker has a share of a GPU (cluster.gpu_share), but PyTorch finds none on its machine")
        self._evaluator: SwitchingEvaluator | None = None
        self._provenance: dict[str, str] = {}

    def set_network(self, network: bytes, generation: int) -> None:
        """Use this network from now on, also in running games. network: of `weights.sized.packed`."""
        with TemporaryDirectory(prefix="keima-network-") as folder:
            file = unpacked(network, Path(folder))
            new = make_evaluator(load(file), self._computing, file)
        self._provenance["network"] = player_of(generation)
        if self._evaluator is None:
            self._evaluator = SwitchingEvaluator(new)
        else:
            self._evaluator.switch(new)

    def play(self, folder: Path, stop: threading.Event) -> None:
        """Play until `stop` is set."""
        assert self._evaluator is not None, "a network comes first"
        seed = secrets.randbits(63)
        queue = GameQueue(self._settings, seed, None, frozenset())
        run = SelfplayRun(self._settings, self._evaluator, Outbox(folder), queue, seed, provenance=self._provenance)
        run.play(stop)

    def pause(self, paused: bool) -> None:
        """Stop evaluating, with all games in progress kept, or go on."""
        if self._evaluator is not None:
            self._evaluator.pause(paused)

    def finished(self, folder: Path) -> Iterator[tuple[bytes, Path]]:
        """Yield every finished game as a samples file with the record in its header."""
        for path in sorted(folder.glob(f"*{SUFFIX}")):
            yield path.read_bytes(), path


class Outbox:
    """Finished games that wait to be sent, one file each; those without samples are not sent. A `GameSink`.

    Not a `Store`, which needs the games in their order: a long game would hold back the short ones that began later.
    """

    def __init__(self, folder: Path) -> None:
        self.samples = 0
        self._folder = folder

    def add(self, number: int, samples: Samples, record: str) -> None:
        """Write a finished game."""
        if len(samples):
            begun = _BEGUN.search(record)
            origin = {_GENERATION: begun[1]} if begun else {}
            write_shard(self._folder / f"{number:09d}{SUFFIX}", samples, {_RECORD: record, **origin})
            self.samples += len(samples)


class Intake:
    """Moves games received from workers into the folder of a generation, each exactly once.

    stale: games that were too old. generations: the games added in this session, by the generation they began with.

    A game gets its number by a rename into the folder's inbox, from where it is added to the store; after a kill in
    between, it is still in the inbox.
    """

    def __init__(self, spool: Path, folder: Path, settings: Mapping[str, object], shard_samples: int) -> None:
        """Open the folder and add the games that an earlier session left in its inbox. Raises GoError."""
        self.stale, self.generations = 0, Counter[int]()
        self._spool, self._inbox = spool, folder / INBOX
        self._inbox.mkdir(parents=True, exist_ok=True)
        self._store = Store(folder, settings, {}, shard_samples)
        for path in sorted(self._inbox.glob(f"*{SUFFIX}")):
            self._take(path)

    @property
    def games(self) -> int:
        """The number of games in the folder."""
        return len(self._store.done)

    @property
    def samples(self) -> int:
        """The number of samples added in this session."""
        return self._store.samples

    def take(self, most: int, oldest: int = 0) -> int:
        """Add at most `most` received games, those that came first; return how many were added.

        oldest: games that began with the network of an earlier generation are deleted and counted in `stale`.
        """
        sent = [path for path in self._spool.iterdir() if path.suffix != ".part"]
        added = 0
        for path in sorted(sent, key=lambda each: (each.stat().st_mtime_ns, each.name)):
            if added == most:
                break
            began = int(shard_info(path).provenance.get(_GENERATION, "0"))
            if began < oldest:
                self.stale += 1
                path.unlink()
                continue
            self.generations[began] += 1
            number = max(self._store.done, default=-1) + 1
            self._take(path.replace(self._inbox / f"{number:06d}{SUFFIX}"))
            added += 1
        return added

    def finish(self) -> None:
        """Write the remaining samples into shards: the generation is complete."""
        self._store.finish()

    def _take(self, path: Path) -> None:
        number = int(path.stem)
        if number not in self._store.done:
            record = shard_info(path).provenance.get(_RECORD)
            if record is None:
                raise GoError(f"{path}: {_RECORD}: missing: no game of a worker")
            self._store.add(number, read_shard(path), _ROUND.sub(f"RO[{number}]", record, count=1))
        path.unlink()
