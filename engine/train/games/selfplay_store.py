"""The folder of a self-play run: finished games and their samples, so that a crash loses none of them.

    games.sgfl              one finished game a line, its number in the round (RO)
    9x9/shard-000000.safetensors ...    samples, see `engine.train.data.samples`
    pending/9x9-000012.safetensors ...  samples of single games that do not fill a shard yet
    selfplay.json           what decides how games are played

A game's samples are on the disk before its line, which makes it finished; its record is kept beside its samples, so
that a line which a crash prevented is added later. Shards name the games in them: a pending file whose game
is in a shard is a leftover of a crash and removed.
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from engine.support.files import append_line, whole_lines
from engine.support.run_folder import keep_settings
from engine.train.data.samples import SUFFIX, BadSamples, Samples, concatenate, read_shard, shard_info, write_shard

RECORDS = "games.sgfl"
_PENDING, _SETTINGS = "pending", "selfplay.json"
_NUMBER = re.compile(r"RO\[(\d+)\]")
_SHARD = re.compile(r"shard-(\d+)" + re.escape(SUFFIX))
_GAME, _GAMES, _RECORD = "game", "games", "record"
"""Keys of the provenance of pending files and of shards."""


def game_hash(seed: int, number: int, record: str) -> int:
    """Return what all samples of a game have in common: 64 bits of its record, number and seed."""
    digest = hashlib.sha256(f"{seed} {number} {record}".encode()).digest()
    return int.from_bytes(digest[:8], "little")


class Store:
    """What a folder holds. done: numbers of finished games. samples: written by this process.

    settings: must be those that the folder was begun with. provenance: noted in every shard.
    Raises GoError for a folder of another run.
    """

    def __init__(
        self, folder: Path, settings: Mapping[str, object], provenance: Mapping[str, str], shard_samples: int
    ) -> None:
        self._folder, self._pending = folder, folder / _PENDING
        self._provenance, self._shard_samples = dict(provenance), shard_samples
        self._pending.mkdir(parents=True, exist_ok=True)
        keep_settings(folder / _SETTINGS, settings)
        self.samples = 0
        lines = whole_lines(folder / RECORDS)
        self.done = {number for line in lines for number in _numbers(line)}
        self._waiting: dict[tuple[int, int], list[tuple[Path, Samples]]] = {}
        self._take_up()

    def _take_up(self) -> None:
        """Bring what a crash interrupted to its end, and remember which games wait for their shard."""
        in_shards = {number for path in self._folder.glob(f"*x*/shard-*{SUFFIX}") for number in _games_of(path)}
        for path in sorted(self._pending.glob(f"*{SUFFIX}")):
            info = shard_info(path)
            number = int(info.provenance[_GAME])
            if number in in_shards:
                path.unlink()
                continue
            if number not in self.done:
                append_line(self._folder / RECORDS, info.provenance[_RECORD])
                self.done.add(number)
            self._waiting.setdefault((info.width, info.height), []).append((path, concatenate([read_shard(path)])))
        for partial in self._folder.rglob("*.part"):
            partial.unlink()

    def add(self, number: int, samples: Samples, record: str) -> None:
        """Keep a finished game. record: SGF on one line, with the number in its round."""
        size = (samples.width, samples.height)
        if len(samples):
            path = self._pending / f"{size[0]}x{size[1]}-{number:06d}{SUFFIX}"
            write_shard(path, samples, {_GAME: str(number), _RECORD: record})
            self._waiting.setdefault(size, []).append((path, samples))
        append_line(self._folder / RECORDS, record)
        self.done.add(number)
        self.samples += len(samples)
        if sum(len(each) for _, each in self._waiting.get(size, ())) >= self._shard_samples:
            self._write_shard(size)

    def _write_shard(self, size: tuple[int, int]) -> None:
        """Put all samples that wait into a shard."""
        waiting = self._waiting.pop(size)
        folder = self._folder / f"{size[0]}x{size[1]}"
        folder.mkdir(exist_ok=True)
        taken = [int(match[1]) for path in folder.iterdir() if (match := _SHARD.fullmatch(path.name))]
        numbers = [str(int(path.stem.rpartition("-")[2])) for path, _ in waiting]
        path = folder / f"shard-{max(taken, default=-1) + 1:06d}{SUFFIX}"
        write_shard(path, concatenate([each for _, each in waiting]), self._provenance | {_GAMES: " ".join(numbers)})
        for pending, _ in waiting:
            pending.unlink()

    def finish(self) -> None:
        """Put what waits into shards, full or not: nothing more is to come for now."""
        for size in list(self._waiting):
            self._write_shard(size)


def _numbers(record: str) -> list[int]:
    match = _NUMBER.search(record)
    return [int(match[1])] if match else []


def _games_of(path: Path) -> list[int]:
    """Return the games in a shard. Raises BadSamples for one of another origin."""
    games = shard_info(path).provenance.get(_GAMES)
    if games is None:
        raise BadSamples(f"{path}: {_GAMES}: missing: no shard of self-play")
    return [int(each) for each in games.split()]
