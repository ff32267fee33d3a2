"""Self-play in the workers of a Ray cluster, and the transfer of their games into the folder of a generation.

A worker runs endless self-play (`engine.train.games.selfplay`); every finished game is sent as one samples file with
the game's record in its header.
"""

import re
import secrets
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from engine.errors import GoError
from engine.evaluators.factory import Computing, make_evaluator
from engine.train.data.samples import SUFFIX, read_shard, shard_info, write_shard
from engine.train.games.selfplay import selfplay
from engine.train.games.selfplay_settings import SelfplaySettings
from engine.train.games.selfplay_store import RECORDS, Store
from engine.train.games.switching_evaluator import SwitchingEvaluator
from engine.train.generations.zero_config import EvaluatorSettings
from weights.registry import load

_RECORD, _GAMES = "record", "games"
_ROUND = re.compile(r"RO\[(\d+)\]")
_INBOX = "inbox"


def computing_of(settings: EvaluatorSettings) -> Computing:
    """Return the evaluator options of these settings."""
    return Computing(settings.backend, settings.precision, settings.threads or None)


@dataclass(frozen=True)
class MakeSelfplay:
    """Makes the self-play of a worker; this object is pickled and sent to the workers."""

    selfplay: SelfplaySettings
    evaluator: EvaluatorSettings

    def __call__(self, number: int) -> "SelfplayPlaying":
        """Return the self-play of a worker. It seeds itself at random, so that a restarted worker repeats no game."""
        return SelfplayPlaying(self.selfplay, self.evaluator)


class SelfplayPlaying:
    """Plays games endlessly, one file per game. unsent: records of finished games that are not sent, by number."""

    def __init__(self, settings: SelfplaySettings, evaluator: EvaluatorSettings) -> None:
        self._settings = replace(settings, shard_samples=1)
        self._computing = computing_of(evaluator)
        self._evaluator: SwitchingEvaluator | None = None
        self.unsent: dict[int, str] = {}
        self._read = 0

    def set_network(self, network: bytes, generation: int) -> None:
        """Use this network file from now on, also in running games."""
        with TemporaryDirectory(prefix="keima-network-") as folder:
            path = Path(folder) / f"gen-{generation:04d}{SUFFIX}"
            path.write_bytes(network)
            new = make_evaluator(load(path), self._computing)
        if self._evaluator is None:
            self._evaluator = SwitchingEvaluator(new)
        else:
            self._evaluator.switch(new)

    def play(self, folder: Path, stop: threading.Event) -> None:
        """Play until `stop` is set."""
        assert self._evaluator is not None, "a network comes first"
        selfplay(self._settings, self._evaluator, folder, None, secrets.randbits(63), stop=stop)

    def finished(self, folder: Path) -> Iterator[tuple[bytes, Path]]:
        """Yield every finished game as a samples file with the record in its header."""
        for path in sorted(folder.glob(f"*x*/shard-*{SUFFIX}")):
            (number,) = (int(each) for each in shard_info(path).provenance[_GAMES].split())
            letter = folder / ("letter" + SUFFIX)
            write_shard(letter, read_shard(path), {_RECORD: self._record_of(folder, number)})
            yield letter.read_bytes(), path
            del self.unsent[number]  # the game is sent

    def _record_of(self, folder: Path, number: int) -> str:
        """Return the record of a finished game; its line is written before its samples."""
        if number not in self.unsent:
            # Opened for reading only: the playing thread appends to the file at the same time.
            with (folder / RECORDS).open("rb") as file:
                file.seek(self._read)
                whole, end, _ = file.read().rpartition(b"\n")
            self._read += len(whole + end)
            lines = whole.decode("utf-8").splitlines()
            self.unsent |= {int(match[1]): line for line in lines if (match := _ROUND.search(line))}
        return self.unsent[number]


class Intake:
    """Moves games received from workers into the folder of a generation, each exactly once.

    A game gets its number by a rename into the folder's inbox, from where it is added to the store; after a kill in
    between, it is still in the inbox.
    """

    def __init__(self, spool: Path, folder: Path, settings: Mapping[str, object], shard_samples: int) -> None:
        """Open the folder and add the games that an earlier session left in its inbox. Raises GoError."""
        self._spool, self._inbox = spool, folder / _INBOX
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

    def take(self, most: int) -> int:
        """Add at most `most` received games; return how many were added."""
        sent = sorted(path for path in self._spool.iterdir() if path.suffix != ".part")[:most]
        for path in sent:
            number = max(self._store.done, default=-1) + 1
            self._take(path.replace(self._inbox / f"{number:06d}{SUFFIX}"))
        return len(sent)

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
