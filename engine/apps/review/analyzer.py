"""Analyzes the positions of games, many at the same time, and keeps each answer as soon as it is there."""

import math
import queue
import time
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from engine.apps.analysis_server.answer import Asked, answer_to
from engine.apps.analysis_server.pool import AnalysisPool
from engine.apps.analysis_server.task import Report, Task
from engine.apps.review.games import GAMES_FILE, ReviewGame, stored_games
from engine.apps.review.judgement import Position
from engine.color import BLACK
from engine.errors import GoError
from engine.evaluators.cache import CachedEvaluator
from engine.game import Game
from engine.search.analysis import Wanted
from engine.search.params import SearchParams
from engine.support.run_folder import RunFolder
from engine.support.stopping import WAIT_SECONDS
from engine.vertex import parse_vertex

ANALYSIS_FILE = "analysis.jsonl"
_OWNERSHIP_SCALE = 100
_SECONDS_AT_RISK = 1.0
"""Work that may be lost if the machine fails: short searches do not wait for the disk after each position."""
_PV_LENGTH = 15
_AHEAD = 8
"""Positions for each thread that are begun or wait, so that no thread waits while the report of a game is written: 3 %
more evaluations/s than with 2 (18 games of 9x9, 100 visits)."""


@dataclass(frozen=True)
class Effort:
    """Limits of the search. visits: for each position. seconds: for each game. None: no limit."""

    visits: int | None
    seconds: float | None = None


@dataclass(eq=False)
class Analyzed:
    """The positions of a game that were analyzed, by turn. ownership: in hundredths, 100 is Black's, by turn."""

    positions: dict[int, Position] = field(default_factory=dict)
    ownership: dict[int, "array[int]"] = field(default_factory=dict)

    def owners(self, turn: int) -> list[float] | None:
        """Return the ownership of a position, [area] in policy order, 1 Black's; None if it is not known."""
        found = self.ownership.get(turn)
        return None if found is None else [each / _OWNERSHIP_SCALE for each in found]


class AnalysisStore:
    """The analyses in the folder of a review: a line for each position, with the fields of KataGo's analysis engine."""

    def __init__(self, folder: Path, settings: Mapping[str, Any], games: Sequence[ReviewGame]) -> None:
        """Open or create it. Raises GoError if it has other settings."""
        self._lines = RunFolder(folder, settings, ANALYSIS_FILE)
        self._sizes = {game.id: (game.record.width, game.record.height) for game in games}
        self.analyzed: dict[str, Analyzed] = defaultdict(Analyzed)
        self._synced = -math.inf
        records = RunFolder(folder, settings, GAMES_FILE)
        known = stored_games(folder)
        for game in games:
            if game.id not in known:
                records.add({"id": game.id, "sha256": game.sha256, "stem": game.stem, "file": game.file})
        self._lines.read(self._take, "analysis of a position")

    def add(self, answer: dict[str, Any]) -> None:
        """Store the analysis of a position."""
        now = time.monotonic()
        waits = now >= self._synced + _SECONDS_AT_RISK
        self._lines.add(answer, waits=waits)
        if waits:
            self._synced = time.monotonic()
        self._take(answer)

    def missing(self, game: ReviewGame) -> list[int]:
        """Return the turns of a game that are not analyzed, in order."""
        done = self.analyzed[game.id].positions
        return [turn for turn in range(len(game.record.moves) + 1) if turn not in done]

    def _take(self, answer: dict[str, Any]) -> None:
        # Games that are not reviewed this time are skipped: the folder may have more than the command names.
        size = self._sizes.get(answer["id"])
        if size is None:
            return
        found, turn = self.analyzed[answer["id"]], int(answer["turnNumber"])
        found.positions[turn] = read_position(answer, size)
        if "ownership" in answer:
            hundredths = np.rint(_OWNERSHIP_SCALE * np.array(answer["ownership"]))
            found.ownership[turn] = array("b", hundredths.astype(np.int8).tobytes())


def read_position(answer: dict[str, Any], size: tuple[int, int]) -> Position:
    """Return what an answer with the fields of KataGo's analysis engine, in Black's view, says about a position."""
    root, infos = answer["rootInfo"], answer["moveInfos"]
    first = infos[0]["move"] if infos else None
    best = [info["move"] for info in infos if info["move"] == first or info.get("isSymmetryOf") == first]
    return Position(
        winrate=root["winrate"],
        lead=root["scoreLead"],
        best=tuple(parse_vertex(move, *size) for move in best),
        pv=tuple(parse_vertex(move, *size) for move in infos[0]["pv"]) if infos else (),
        visits=root["visits"],
    )


class Analyzer:
    """Runs the analysis of games in a pool.

    pool: its evaluator is used by nobody else. on_progress: called after each position. on_game: called with each game
    once all its positions are analyzed, before on_progress.
    visits: of the roots that were searched.
    """

    def __init__(
        self,
        pool: AnalysisPool,
        params: SearchParams,
        effort: Effort,
        store: AnalysisStore,
        on_progress: Callable[[], None],
        on_game: Callable[[ReviewGame], None],
    ) -> None:
        self._pool, self._params, self._effort, self._store = pool, params, effort, store
        self._on_progress, self._on_game = on_progress, on_game
        self._results: queue.SimpleQueue[tuple[Task, Report]] = queue.SimpleQueue()
        self._left: dict[str, int] = {}
        self.visits = 0

    def run(self, games: Sequence[ReviewGame]) -> None:
        """Analyze the positions that the store does not have.

        KeyboardInterrupt passes through, after the finished positions were stored.
        Raises GoError if an analysis fails.
        """
        self._left = {game.id: len(self._store.missing(game)) for game in games}
        by_id = {game.id: game for game in games}
        for game in games:
            if self._left[game.id] == 0:
                self._on_game(game)
        tasks = self._tasks(games)
        most, is_open = _AHEAD * self._pool.threads, 0
        try:
            while True:
                while is_open < most and (task := next(tasks, None)) is not None:
                    self._pool.submit([task])
                    is_open += 1
                if is_open == 0:
                    return
                try:
                    result = self._results.get(timeout=WAIT_SECONDS)
                except queue.Empty:
                    continue
                is_open -= 1
                self._keep(*result, by_id)
        finally:
            self._pool.close(wait=False)
            while not self._results.empty():
                self._keep(*self._results.get(), by_id)

    def _tasks(self, games: Sequence[ReviewGame]) -> Iterator[Task]:
        for game in games:
            missing = set(self._store.missing(game))
            if not missing:
                continue
            for turn, position in self._in_order(game):
                if turn in missing:
                    yield self._task(game, turn, position)

    def _in_order(self, game: ReviewGame) -> Iterable[tuple[int, Game]]:
        """Return turns and positions; where searches remember positions, from the end: each then knows what follows."""
        found = enumerate(game.positions())
        if not self._params.remembers:
            return found
        return reversed([(turn, position.copy()) for turn, position in found])

    def _task(self, game: ReviewGame, turn: int, position: Game) -> Task:
        copy = position.copy()  # the game goes on to the next turn
        moves = game.record.moves
        color = moves[turn].color if turn < len(moves) else copy.to_play
        return Task(
            game=copy,
            color=color,
            view=BLACK,
            params=self._params,
            on_report=lambda task, report: self._results.put((task, report)),
            subject=Asked(id=game.id, turn=turn, game=copy, color=color, ownership=True),
            visits=self._effort.visits,
            seconds=self._seconds(game),
            wanted=Wanted(pv_length=_PV_LENGTH, ownership=True),
        )

    def _seconds(self, game: ReviewGame) -> float | None:
        """Return the time for a position: a share of the game's, for each of those that are searched side by side."""
        if self._effort.seconds is None:
            return None
        return self._effort.seconds * self._pool.threads / (len(game.record.moves) + 1)

    def _keep(self, task: Task, report: Report, games: Mapping[str, ReviewGame]) -> None:
        """Store a result. Cancelled searches are dropped: they have fewer visits than the others."""
        asked = task.subject
        assert isinstance(asked, Asked)
        if report.failure:
            raise GoError(f"{asked.id}: the analysis of the position after move {asked.turn} failed: {report.failure}")
        if report.analysis is None or task.cancelled.is_set():
            return
        self._store.add(answer_to(asked, report, BLACK))
        self.visits += report.analysis.root.visits
        self._left[asked.id] -= 1
        if self._left[asked.id] == 0:
            self._on_game(games[asked.id])
        self._on_progress()


class Speed:
    """Evaluations per second since it was created. Evaluations that a cache remembers are not counted."""

    def __init__(self, pool: AnalysisPool) -> None:
        self._pool, self._start, self._before = pool, time.perf_counter(), 0
        self._before = self.evaluations

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.perf_counter() - self._start

    @property
    def evaluations(self) -> int:
        """Number of positions evaluated since the start."""
        inner = self._pool.inner
        return (inner.misses if isinstance(inner, CachedEvaluator) else self._pool.rows) - self._before

    @property
    def per_second(self) -> float:
        """Evaluations per second."""
        return self.evaluations / max(self.seconds, 1e-9)
