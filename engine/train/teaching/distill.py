"""Labels positions of game records with a teacher, shard by shard; an interrupted run can be resumed.

The folder of a run contains settings.json, `9x9/labels-000000.safetensors` and so on (one folder for each board
size), and progress.jsonl with a line for every finished chunk, that is, a range of games whose shards are complete.
The shards are ordinary samples: `keima train run --samples FOLDER` trains on them. Held-out games are skipped.
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
from engine.evaluators.raw import supports
from engine.settings.table import default_of
from engine.support.json_text import json_text
from engine.support.run_folder import RunFolder
from engine.train.data.samples import SUFFIX, Samples, concatenate, write_shard
from engine.train.teaching.hints import ShapingSettings
from engine.train.teaching.labelling import Mixture, Position, SampleMaker, batches, teacher_batch
from engine.train.teaching.teacher import Labels, Teacher, TeacherBatch

FORMAT = {"format": "keima-distill", "version": 1}
CHUNK_POSITIONS = 4096
CHUNK_SECONDS = 60.0
"""A chunk ends with the game that reaches either limit, so that a killed run loses at most this much work."""
# Batches in flight: the teacher labels one while the next is read.
_IN_FLIGHT = 2


@dataclass(frozen=True)
class DistillSettings:
    """Settings that must not change when a run is resumed.

    teacher: its name, including everything that affects its labels. sources: the paths as given. encoder: of the
    samples. per_game: positions of each game, None for all. own_move: share of the played move in the policy target.
    shaping: share of the squashed score in the outcome at the first position, falling to 0 at the last.
    """

    teacher: str
    sources: tuple[str, ...]
    encoder: str = default_of("encoder", "distill")
    per_game: int | None = default_of("per_game", "distill")
    own_move: float = default_of("own_move", "distill")
    shaping: float = default_of("shaping", "distill")
    seed: int = default_of("seed", "distill")

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return asdict(self) | {"sources": list(self.sources)}


@dataclass
class Chunk:
    """A line of progress.jsonl: games read, games among them that were held out or unusable, positions labelled.

    masked: positions that are in no shard, because the teacher gave no policy.
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
    """The progress of a run. total: over all sessions of the run. rate: positions/s of this session."""

    total: Chunk
    rate: float


@dataclass(frozen=True)
class SourceGame:
    """A game to be labelled, not yet parsed. positions: parses it; raises GoError if it cannot be used."""

    is_held_out: bool
    positions: Callable[[], list[Position]]


class Store:
    """The folder of a run."""

    def __init__(self, folder: Path, settings: DistillSettings) -> None:
        """Open or create the folder. Raises GoError if it contains a run with other settings, and names them."""
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
        """Store a finished chunk: first its samples, one shard for each board size, then its line."""
        name = f"labels-{self._chunks:06d}{SUFFIX}"
        for stale in self.folder.glob(f"*x*/{name}"):
            # A killed run can leave shards without their line, also of a size that this attempt does not write.
            stale.unlink()
        for part in samples:
            place = self.folder / f"{part.width}x{part.height}"
            place.mkdir(exist_ok=True)
            write_shard(place / name, part, self._provenance)
        self._run.add(asdict(chunk))
        self._chunks += 1
        self.total.add(chunk)


class Distiller:
    """Labels games until all are done or the wanted number of positions is reached."""

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
        """wanted: total positions, including those of earlier sessions; None for all.

        Raises GoError if the folder contains another run.
        """
        self._maker = SampleMaker(settings.encoder)
        self._store = Store(folder, settings)
        self._settings, self._teacher, self._wanted = settings, teacher, wanted
        self._shaping = ShapingSettings(settings.shaping, max(1, wanted or 1))
        self._report = report or _no_report
        self._chunk_positions, self._chunk_seconds = chunk_positions, chunk_seconds
        self.first_unusable = ""
        """Why the first of the games that this session could not use was of no use."""

    def run(self, games: Iterable[SourceGame], stop: threading.Event | None = None) -> Chunk:
        """Label the remaining games, or until `stop` is set, and return the counts of the whole run.

        games: the same in every session, in the same order; finished ones are skipped.
        Raises TeacherError if the teacher fails for good. On an error or a stop, only the current chunk is lost.
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
        """Return how many positions are missing after `drawn` of the current chunk, None if there is no limit."""
        return None if self._wanted is None else max(0, self._wanted - self._store.total.positions - drawn)

    def _label_chunk(self, games: Iterator[SourceGame], worker: ThreadPoolExecutor) -> tuple[Chunk, list[Samples]]:
        chunk, begun = Chunk(), time.monotonic()
        parts: dict[tuple[int, int], list[Samples]] = {}
        running: deque[tuple[list[Position], TeacherBatch, Future[Labels]]] = deque()

        # Collected in order, because the weight of the estimated score depends on the count so far.
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
        """Yield positions until the chunk is full; counts the games in the chunk."""
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
            except GoError as error:
                chunk.unusable += 1
                self.first_unusable = self.first_unusable or str(error)
                continue
            lacking = self._lacking(drawn)
            yield from found[:lacking]
            drawn += len(found[:lacking])
            if drawn >= self._chunk_positions or time.monotonic() - begun >= self._chunk_seconds:
                return
            if self._lacking(drawn) == 0:
                return

    def _positions(self, game: SourceGame) -> list[Position]:
        """Return the positions of a game. Raises GoError if it cannot be used."""
        found, known = game.positions(), self._teacher.board_sizes
        if not found or known is None:
            return found
        width, height = found[0].kind[:2]
        if not supports(known, width, height):
            raise GoError(f"a board of {width}x{height}, where the teacher plays on {known[0]} to {known[1]}")
        return found

    def _report_progress(self, chunk: Chunk) -> None:
        total = Chunk(**asdict(self._store.total))
        total.add(chunk)
        seconds = time.monotonic() - self._begun
        rate = (total.positions - self._before) / seconds if seconds > 0 else 0.0
        self._report(Progress(total, rate))


def _no_report(progress: Progress) -> None:
    """Ignore the progress."""
