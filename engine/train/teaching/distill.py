"""Label positions of game records with a teacher, shard after shard, and go on where it stopped.

A run's folder holds settings.json, `9x9/labels-000000.safetensors` and so on (a folder for each board size), and
progress.jsonl with a line for every finished chunk: a stretch of games whose shards were written before. The
labelled shards are samples like any others: `keima train run --samples FOLDER` learns from them. Games that are
held out for measuring are passed over.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any

from engine.errors import GoError
from engine.support.json_text import json_text
from engine.support.run_folder import RunFolder
from engine.train.data.samples import SUFFIX, Samples, concatenate, write_shard
from engine.train.teaching.hints import ShapingSettings
from engine.train.teaching.labelling import Mixture, Position, SampleMaker, batches, teacher_batch
from engine.train.teaching.teacher import Labels, Teacher, TeacherBatch

FORMAT = {"format": "keima-distill", "version": 1}
CHUNK_POSITIONS = 4096
CHUNK_SECONDS = 60.0
"""A chunk ends with the game after which one of these is reached, so that a kill loses little work."""
_IN_FLIGHT = 2
"""Batches: the teacher labels one while the next is read."""


@dataclass(frozen=True)
class DistillSettings:
    """What must be the same for a run to go on.

    teacher: its name, with all that shapes its answers. sources: what was given, as text. encoder: of the samples.
    per_game: positions of each game, None for all. own_move: share of the move that was played in the policy
    target. shaping: share of the squashed score in the outcome at the first position, falling to 0 at the last.
    """

    teacher: str
    sources: tuple[str, ...]
    encoder: str = "katago-v7"
    per_game: int | None = None
    own_move: float = 0.0
    shaping: float = 0.0
    seed: int = 1

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON has them."""
        return asdict(self) | {"sources": list(self.sources)}


@dataclass
class Chunk:
    """A line of progress.jsonl: games read, of which some were held out or could not be used, and positions labelled.

    masked: positions that got no policy, because the teacher had none, and are in no shard.
    """

    games: int = 0
    held_out: int = 0
    unusable: int = 0
    positions: int = 0
    masked: int = 0
    seconds: float = 0.0

    def add(self, other: "Chunk") -> None:
        """Add another chunk's counts."""
        for field in fields(Chunk):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))


@dataclass(frozen=True)
class Progress:
    """How far a run is. total: of all runs into the folder; rate: positions/s of this one, 0 before the first."""

    total: Chunk
    rate: float


@dataclass(frozen=True)
class SourceGame:
    """A game to be labelled, not yet read. positions: reads it; raises GoError where it cannot be used."""

    is_held_out: bool
    positions: Callable[[], list[Position]]


class Store:
    """A run's folder."""

    def __init__(self, folder: Path, settings: DistillSettings) -> None:
        """Open or create it. Raises GoError where it holds a run with other settings; the text says which."""
        self.folder = folder
        self.total = Chunk()
        self._chunks = 0
        wanted = FORMAT | settings.to_json()
        self._provenance = {key: json_text(value) for key, value in wanted.items()}
        self._run = RunFolder(folder, wanted, "progress.jsonl")
        for chunk in self._run.read(lambda line: Chunk(**line), "line of progress"):
            self.total.add(chunk)
            self._chunks += 1

    def add(self, chunk: Chunk, samples: Iterable[Samples]) -> None:
        """Keep a finished chunk: its samples, one shard a board size, then its line."""
        name = f"labels-{self._chunks:06d}{SUFFIX}"
        for stale in self.folder.glob(f"*x*/{name}"):
            # Written before a kill, and without its line: another size may have been among them.
            stale.unlink()
        for part in samples:
            place = self.folder / f"{part.width}x{part.height}"
            place.mkdir(exist_ok=True)
            write_shard(place / name, part, self._provenance)
        self._run.add(asdict(chunk))
        self._chunks += 1
        self.total.add(chunk)


class Distiller:
    """Labels games until there are no more, or until as many positions are labelled as were asked for."""

    def __init__(
        self,
        folder: Path,
        settings: DistillSettings,
        teacher: Teacher,
        *,
        wanted: int | None = None,
        report: Callable[[Progress], None] | None = None,
        chunk_positions: int = CHUNK_POSITIONS,
        chunk_seconds: float = CHUNK_SECONDS,
    ) -> None:
        """wanted: positions in all, with those of earlier runs; None for all there are.

        Raises GoError where the folder holds another run.
        """
        self._maker = SampleMaker(settings.encoder)
        self._store = Store(folder, settings)
        self._settings, self._teacher, self._wanted = settings, teacher, wanted
        self._shaping = ShapingSettings(settings.shaping, max(1, wanted or 1))
        self._report = report or _no_report
        self._chunk_positions, self._chunk_seconds = chunk_positions, chunk_seconds

    def run(self, games: Iterable[SourceGame], stop: threading.Event | None = None) -> Chunk:
        """Label what is not labelled yet, or until `stop` is set, and return the counts of the whole run.

        games: the same in every run, in the same order; those that are done are passed over.
        Raises TeacherError when the teacher is lost; then, and when stopped, all but the last chunk is kept.
        """
        self._stop = stop or threading.Event()
        self._begun, self._before = time.monotonic(), self._store.total.positions
        waiting = islice(games, self._store.total.games, None)
        worker = ThreadPoolExecutor(1, thread_name_prefix="teach")
        try:
            while self._lacking(0) != 0:
                chunk, parts = self._label_chunk(waiting, worker)
                if chunk.games == 0 or self._stop.is_set():
                    break
                self._store.add(chunk, parts)
                self._report_progress(Chunk())
        finally:
            worker.shutdown(cancel_futures=True)
        return self._store.total

    def _lacking(self, drawn: int) -> int | None:
        """Return how many positions are still wanted after so many of the present chunk, None for any number."""
        return None if self._wanted is None else max(0, self._wanted - self._store.total.positions - drawn)

    def _label_chunk(self, games: Iterator[SourceGame], worker: ThreadPoolExecutor) -> tuple[Chunk, list[Samples]]:
        chunk, begun = Chunk(), time.monotonic()
        parts: dict[tuple[int, int], list[Samples]] = {}
        running: deque[tuple[list[Position], TeacherBatch, Future[Labels]]] = deque()

        def collect() -> None:
            batch, question, labels = running.popleft()
            weight = self._shaping.at(self._store.total.positions + chunk.positions)
            mixture = Mixture(self._settings.own_move, weight)
            samples = self._maker.samples(batch, question, labels.result(), mixture)
            parts.setdefault((samples.width, samples.height), []).append(samples)
            chunk.positions += len(batch)
            chunk.masked += len(batch) - len(samples)
            self._report_progress(chunk)

        for batch in batches(self._draw(games, chunk, begun), self._teacher.batch):
            question = teacher_batch(batch)
            running.append((batch, question, worker.submit(self._teacher.label, question, self._stop)))
            if len(running) == _IN_FLIGHT:
                collect()
        while running:
            collect()
        chunk.seconds = round(time.monotonic() - begun, 3)
        return chunk, [each for samples in parts.values() if len(each := concatenate(samples)) > 0]

    def _draw(self, games: Iterator[SourceGame], chunk: Chunk, begun: float) -> Iterator[Position]:
        """Yield the positions of games until the chunk is full, counting the games in it."""
        drawn = 0
        for game in games:
            if self._stop.is_set():
                return
            chunk.games += 1
            if game.is_held_out:
                chunk.held_out += 1
                continue
            try:
                found = self._positions(game)
            except GoError:
                chunk.unusable += 1
                continue
            lacking = self._lacking(drawn)
            yield from found[:lacking]
            drawn += len(found[:lacking])
            if drawn >= self._chunk_positions or time.monotonic() - begun >= self._chunk_seconds:
                return
            if self._lacking(drawn) == 0:
                return

    def _positions(self, game: SourceGame) -> list[Position]:
        """Return the positions of a game. Raises GoError where it cannot be used."""
        found, known = game.positions(), self._teacher.board_sizes
        if known is not None and not all(known[0] <= side <= known[1] for each in found[:1] for side in each.kind[:2]):
            raise GoError("of a board that the teacher does not know")
        return found

    def _report_progress(self, chunk: Chunk) -> None:
        total = Chunk(**asdict(self._store.total))
        total.add(chunk)
        seconds = time.monotonic() - self._begun
        rate = (total.positions - self._before) / seconds if seconds > 0 else 0.0
        self._report(Progress(total, rate))


def _no_report(progress: Progress) -> None:
    """Stand for a reporter where nobody listens."""
