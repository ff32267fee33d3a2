"""The folder of a self-play run, which stores finished games and their samples so that a crash loses none of them.

    games.sgfl              one finished game per line, its number in the round (RO); in order once all are finished
    9x9/shard-000000.safetensors ...    samples, see `engine.train.data.samples`
    pending/9x9-000012.safetensors ...  samples of single games that do not fill a shard yet
    selfplay.json           settings that decide how games are played

A game's samples are written before its line, and the line marks it as finished. The record is also stored with the
samples, so that a line lost in a crash can be added later. Shards list their games: a pending file whose game is in a
shard was left by a crash and is deleted.

Shards are cut from the games in the order of their numbers, not of their ends. So a run that is killed, and resumed
however often, leaves the same files as one that is not: what is in a shard depends on the games alone.
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from engine.support.files import append_line, whole_lines, write_atomically
from engine.support.run_folder import keep_settings
from engine.train.data.samples import SUFFIX, BadSamples, Samples, concatenate, read_shard, shard_info, write_shard

RECORDS = "games.sgfl"
_PENDING, _SETTINGS = "pending", "selfplay.json"
_NUMBER = re.compile(r"RO\[(\d+)\]")
_SHARD = re.compile(r"shard-(\d+)" + re.escape(SUFFIX))
# Keys of the provenance of pending files and of shards.
_GAME, _GAMES, _RECORD = "game", "games", "record"


def sample_hash(seed: int, number: int, record: str) -> int:
    """Return the 64-bit identifier of a game in its samples, from its record, number and seed.

    It draws which samples are copied, too. So with one more word in its comments a game has other samples, and a folder
    that an earlier version began gets others than it would have had.
    """
    digest = hashlib.sha256(f"{seed} {number} {record}".encode()).digest()
    return int.from_bytes(digest[:8], "little")


class Store:
    """The contents of a folder. done: numbers of finished games. samples: written by this process.

    settings: must equal those with which the folder was created. provenance: stored in every shard.
    Raises GoError for the folder of another run.
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
        self._waiting: dict[tuple[int, int], dict[int, tuple[Path, Samples]]] = {}
        self._unfinished = 0
        self._recover()
        self._advance()

    def _recover(self) -> None:
        """Complete the writes that a crash interrupted, and load the games that are in no shard yet."""
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
            self._waiting.setdefault((info.width, info.height), {})[number] = path, concatenate([read_shard(path)])
        for partial in self._folder.rglob("*.part"):
            partial.unlink()

    def add(self, number: int, samples: Samples, record: str) -> None:
        """Store a finished game. record: SGF on one line, with the number in its round."""
        size = (samples.width, samples.height)
        if len(samples):
            path = self._pending / f"{size[0]}x{size[1]}-{number:06d}{SUFFIX}"
            write_shard(path, samples, {_GAME: str(number), _RECORD: record})
            self._waiting.setdefault(size, {})[number] = path, samples
        append_line(self._folder / RECORDS, record)
        self.done.add(number)
        self.samples += len(samples)
        self._advance()

    def _advance(self) -> None:
        """Write the shards that are full of games before the first unfinished one."""
        while self._unfinished in self.done:
            self._unfinished += 1
        self._cut_shards(self._unfinished)

    def _cut_shards(self, below: int | None, is_last: bool = False) -> None:
        """Write the full shards of pending games with numbers less than `below`; with `is_last`, also the rest."""
        for size, waiting in self._waiting.items():
            numbers, count = list[int](), 0
            for number in sorted(each for each in waiting if below is None or each < below):
                numbers.append(number)
                count += len(waiting[number][1])
                if count >= self._shard_samples:
                    self._write_shard(size, numbers)
                    numbers, count = [], 0
            if numbers and is_last:
                self._write_shard(size, numbers)

    def _write_shard(self, size: tuple[int, int], numbers: list[int]) -> None:
        """Write the pending samples of some games of a board size into a shard."""
        games = [self._waiting[size].pop(number) for number in numbers]
        folder = self._folder / f"{size[0]}x{size[1]}"
        folder.mkdir(exist_ok=True)
        taken = [int(match[1]) for path in folder.iterdir() if (match := _SHARD.fullmatch(path.name))]
        path = folder / f"shard-{max(taken, default=-1) + 1:06d}{SUFFIX}"
        listed = {_GAMES: " ".join(map(str, numbers))}
        write_shard(path, concatenate([samples for _, samples in games]), self._provenance | listed)
        # Only now: after a crash between the two, the shard's list of games shows which pending files are stored.
        for pending, _ in games:
            pending.unlink()

    def finish(self, games: int | None = None) -> None:
        """Write all games into shards, of which the last need not be full, and put the records in order.

        games: the number of games of the run; while one of them is missing, nothing is done. None: the run has no end,
        and the records stay in their order.
        """
        if games is not None and self._unfinished < games:
            return
        # All, also games above `games` of a longer run: what is pending is not trained on.
        self._cut_shards(None, is_last=True)
        if games is not None:
            self._sort_records()

    def _sort_records(self) -> None:
        lines = whole_lines(self._folder / RECORDS)
        ordered = sorted(lines, key=lambda line: _numbers(line)[:1])
        if lines != ordered:
            write_atomically(self._folder / RECORDS, "".join(f"{line}\n" for line in ordered))


def _numbers(record: str) -> list[int]:
    match = _NUMBER.search(record)
    return [int(match[1])] if match else []


def _games_of(path: Path) -> list[int]:
    """Return the numbers of the games in a shard. Raises BadSamples if self-play did not write it."""
    games = shard_info(path).provenance.get(_GAMES)
    if games is None:
        raise BadSamples(f"{path}: {_GAMES}: missing: no shard of self-play")
    return [int(each) for each in games.split()]
