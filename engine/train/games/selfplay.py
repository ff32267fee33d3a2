"""Self-play with many games at once in one process; their leaves share the evaluator's batches.

`engine.train.games.selfplay_workers` runs several such processes.

The games of one board size and rule set share a search and are divided into groups. While the leaves of one group are
evaluated, another group backs up its evaluations, plays the moves of finished searches, and collects its next leaves.
Board sizes alternate, because an evaluator handles one size at a time.

A game depends only on its number, the seed, the settings and the evaluator: an interrupted run plays the same games
as one that was not interrupted.
"""

import threading
import time
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from engine.evaluation.evaluator import Evaluator
from engine.records.sgf_writer import write_game
from engine.search.batched_search import BatchedDriver, BatchedSearch, Group
from engine.train.data.held_out import is_held_out
from engine.train.data.samples import Samples, SampleWriter
from engine.train.games.selfplay_game import Ending, Plan, SelfplayGame
from engine.train.games.selfplay_settings import SelfplaySettings
from engine.train.games.selfplay_starts import GameQueue, Kind, Starts, draw_kind, generator_of
from engine.train.games.selfplay_stats import Report, SelfplayStats
from engine.train.games.selfplay_store import Store, sample_hash
from engine.train.teaching.hints import Adviser

Players = Mapping[str, str | None]
_SPARE_NODES = 64
# Room for the nodes that a search keeps from the one before.
_NODES_PER_VISIT = 2
# Settings that change the speed, but not the games.
_WITHOUT_EFFECT = ("games_at_once", "batches", "turns", "shard_samples")
# Settings that every folder names. No others are added: a setting beside them that decides the games is named only
# where it differs from its default, which plays as before, so that folders of earlier versions go on.
_FIRST: tuple[str, ...] = (
    "sizes",
    "size_weights",
    "rules",
    "leaves",
    "full_visits",
    "quick_visits",
    "full_share",
    "quick_weight",
    "search",
    "noise_fraction",
    "noise_concentration",
    "forced_playouts",
    "root_temperature",
    "root_temperature_end",
    "temperature",
    "temperature_end",
    "temperature_halflife",
    "temperature_moves",
    "tempers_targets",
    "reuses_trees",
    "opening_share",
    "opening_temperature",
    "starts",
    "starts_share",
    "komi",
    "komi_stdev",
    "komi_wide_share",
    "komi_wide_stdev",
    "exploration",
    "resign_threshold",
    "resign_turns",
    "resign_from",
    "no_resign_share",
    "decided_visits",
    "ends_settled",
    "avoids_settled",
    "longest",
    "encoder",
)
_REPORT_SECONDS = 1.0
# Maximum number of finished games that wait to be written.
_MAX_UNSTORED = 64


class Stop(Protocol):
    """A stop event of this process or of several."""

    def is_set(self) -> bool:
        """Return whether to stop."""


class GameSink(Protocol):
    """Receives finished games. samples: their total number of samples."""

    samples: int

    def add(self, number: int, samples: Samples, record: str) -> None:
        """Store a finished game. record: SGF on one line, with the number in its round."""


def decisive_settings(settings: SelfplaySettings, seed: int) -> dict[str, Any]:
    """Return the settings that decide which games are played; they must not change within a folder."""
    default = asdict(type(settings)())
    decides = {key: value for key, value in asdict(settings).items() if key not in _WITHOUT_EFFECT}
    # Only the names of the generation and the file, so that the folder of a run may be moved.
    decides["forks"] = tuple("/".join(Path(each).parts[-2:]) for each in settings.forks)
    return {"seed": seed} | {key: value for key, value in decides.items() if key in _FIRST or value != default[key]}


# More than 8 parameters: keyword arguments with defaults, of which a caller names the few that matter to it.
def selfplay(
    settings: SelfplaySettings,
    evaluator: Evaluator,
    folder: Path,
    games: int | None,
    seed: int,
    *,
    stop: Stop | None = None,
    report: Report | None = None,
    adviser: Adviser | None = None,
    provenance: dict[str, str] | None = None,
    players: Players | None = None,
) -> SelfplayStats:
    """Play games 0 to games - 1 of a run, or endlessly if None, until `stop`; return the statistics of this process.

    folder: for finished games, see `engine.train.games.selfplay_store`; games already in it are not played again.
    report: called with the statistics about once a second. adviser: suggests moves, see
    `SelfplaySettings.exploration`. provenance: of the network, stored in every shard and record; what it says when a
    game begins stands in the record.
    players: identifies the network and the adviser, which must not change within a folder.
    Raises GoError for the folder of another run, or if starting positions cannot be read.
    """
    store = open_store(settings, folder, seed, provenance, players)
    queue = GameQueue(settings, seed, games, frozenset(store.done))
    run = SelfplayRun(settings, evaluator, store, queue, seed, report, adviser, provenance)
    run.counted.to_play, run.counted.done = games, len(store.done)
    stats = run.play(stop or threading.Event())
    store.finish(games)
    return stats


def open_store(
    settings: SelfplaySettings,
    folder: Path,
    seed: int,
    provenance: dict[str, str] | None = None,
    players: Players | None = None,
) -> Store:
    """Open the folder of a run. Raises GoError for the folder of another run."""
    decides = decisive_settings(settings, seed) | dict(players or {})
    return Store(folder, decides, _origin(seed, provenance), settings.shard_samples)


def _origin(seed: int, provenance: dict[str, str] | None) -> dict[str, str]:
    return {"seed": str(seed), **(provenance or {})}


class SelfplayRun:
    """What all games of a process share: the queue of game numbers, the sink of finished games, and the statistics.

    counted: the statistics without the measured ones.
    """

    def __init__(
        self,
        settings: SelfplaySettings,
        evaluator: Evaluator,
        sink: GameSink,
        queue: GameQueue,
        seed: int,
        report: Report | None = None,
        adviser: Adviser | None = None,
        provenance: dict[str, str] | None = None,
    ) -> None:
        self.settings, self.evaluator, self.sink, self.seed = settings, evaluator, sink, seed
        self.adviser, self.starts = adviser, Starts(settings.starts)
        # May change while games are played, so that each remembers with which network it began.
        self._provenance, self._begun_with = provenance, dict[int, str]()
        self.forks = Starts(settings.forks)
        self._report, self._reported = report, time.monotonic()
        self.queue = queue
        self._pools: dict[Kind, _GamePool] = {}
        self._storing = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._unstored: deque[Future[None]] = deque()
        self._start = time.perf_counter()
        self.counted = SelfplayStats()

    @property
    def origin(self) -> dict[str, str]:
        """What records tell about the seed and the network."""
        return _origin(self.seed, self._provenance)

    def begin(self, game: SelfplayGame) -> None:
        """Note with which network a game begins."""
        self._begun_with[game.number] = self.origin.get("network", "")

    def play(self, stop: Stop) -> SelfplayStats:
        """Play until all games are finished and stored, or until `stop` is set; return the statistics."""
        try:
            self._play(stop)
            self._wait_for_store()
        finally:
            self._close()
        return self.stats()

    def _play(self, stop: Stop) -> None:
        """Play each kind of game for a while, the one that lags behind first, until all games are finished."""
        while not stop.is_set():
            waiting = {kind: first for kind in self.queue.kinds if (first := self._first_number(kind)) is not None}
            if not waiting:
                return
            kind = min(waiting, key=lambda each: waiting[each])
            pool = self._pools.get(kind) or _GamePool(self, kind)
            self._pools[kind] = pool
            pool.play(stop)

    def _first_number(self, kind: Kind) -> int | None:
        """Return the lowest number of an unfinished game of a kind."""
        playing, dealt = self._pools[kind].numbers() if kind in self._pools else [], self.queue.first(kind)
        return min([*playing, *([] if dealt is None else [dealt])], default=None)

    def finish(self, game: SelfplayGame, writer: SampleWriter) -> None:
        """Store a finished game in the background: encoding and writing must not delay the games in progress."""
        assert game.ending is not None
        self.counted.count(game, game.ending)
        self._unstored.append(self._storing.submit(self._store_game, game, game.ending, writer))
        while self._unstored and (len(self._unstored) > _MAX_UNSTORED or self._unstored[0].done()):
            self._unstored.popleft().result()

    def _store_game(self, game: SelfplayGame, ending: Ending, writer: SampleWriter) -> None:
        record = self._record(game, ending)
        if not is_held_out(record.encode()):
            game.write_samples(writer, sample_hash(self.seed, game.number, record))
        self.sink.add(game.number, writer.take(), record)

    def _wait_for_store(self) -> None:
        """Wait until every finished game is stored. Raises the exception of a failed write."""
        while self._unstored:
            self._unstored.popleft().result()

    def _record(self, game: SelfplayGame, ending: Ending) -> str:
        origin, name = self.origin, self._begun_with.pop(game.number, "")
        later = origin.get("network", "")
        origin |= {"network": name} if name else {}
        comment = "; ".join(
            [
                *(f"{key} {value}" for key, value in origin.items()),
                *([f"ended with network {later}"] if later != name else []),
                f"moves {game.summary()}",
                *game.notes(),
                *([f"playout doubling {game.doubling:g}"] if game.doubling else []),
                *(["counted as it stood"] if ending.unfinished else []),
            ]
        )
        text = write_game(
            game.game,
            result=ending.text,
            black=name,
            white=name,
            event="self-play",
            round_name=str(game.number),
            comment=comment,
        )
        return " ".join(text.split())

    def stats(self) -> SelfplayStats:
        """Return the statistics so far."""
        pools, counted = self._pools.values(), self.counted
        counted.evaluations = sum(pool.driver.rows for pool in pools)
        counted.busy_seconds = round(sum(pool.search.busy_seconds for pool in pools), 3)
        counted.seconds = round(time.perf_counter() - self._start, 3)
        counted.samples = self.sink.samples
        return counted

    def report_progress(self) -> None:
        """Report the statistics if a second has passed since the last report."""
        now = time.monotonic()
        if self._report is not None and now - self._reported >= _REPORT_SECONDS:
            self._reported = now
            self._report(self.stats())

    def _close(self) -> None:
        """Finish storing games, and close the searches."""
        self._storing.shutdown()
        for pool in self._pools.values():
            pool.close()


class _GamePool:
    """The games of one board size and rule set, which share a search and pause while other kinds are played."""

    def __init__(self, run: SelfplayRun, kind: Kind) -> None:
        settings = run.settings
        self._run, self._kind, self._settings = run, kind, settings
        # Twice as many in asymmetric games: the side with more visits has less than twice the usual ones.
        visits = max(settings.full_visits, settings.quick_visits) * (2 if kind.doubling else 1)
        nodes = _NODES_PER_VISIT * visits + _SPARE_NODES
        count = settings.games_at_once
        self.search = BatchedSearch(
            run.evaluator,
            kind.new_game(0.0),
            count,
            nodes,
            most_moves=settings.most_moves(kind.side),
            seed=run.seed,
            doubling=kind.doubling,
        )
        self._writer = SampleWriter(settings.encoder, kind.side, kind.side, kind.doubling)
        attributes = run.evaluator.attributes
        room = max(1, attributes.max_batch // settings.leaves)
        groups = min(count, max(settings.batches or attributes.concurrent, -(-count // room)))
        self.driver = BatchedDriver(
            [Group(self.search, range(first, count, groups), self._advance, settings.leaves) for first in range(groups)]
        )
        self._games: dict[int, tuple[SelfplayGame, Plan]] = {}
        self._moves = 0

    def numbers(self) -> list[int]:
        """Return the numbers of the games in progress."""
        return [game.number for game, _ in self._games.values()]

    def play(self, stop: Stop) -> None:
        """Play for a while, or until no game is left; no evaluation is in flight afterwards."""
        last = self._moves + self._settings.turns * self._settings.games_at_once
        for tree in range(self._settings.games_at_once):
            if tree not in self._games:
                self._search(tree, None)

        def is_over() -> bool:
            self._run.report_progress()
            return self._moves >= last or stop.is_set()

        self.driver.run(is_over)

    def _advance(self, tree: int) -> None:
        """Play the move of a finished search, and start the next search in this tree, if a game is left."""
        game, plan = self._games[tree]
        self._moves += 1
        policy = self.search.policy(tree) if self._settings.surprise_share else None
        game.decide(plan, self.search.trees[tree], self.search.roots[tree], policy, self.search.gumbel[tree])
        self._search(tree, game)

    def _search(self, tree: int, game: SelfplayGame | None) -> None:
        """Start the next search of `game`, or of the next game if it is over, as long as games are left."""
        plan = None if game is None else game.plan()
        while game is None or plan is None:
            if game is not None:
                self._games.pop(tree, None)
                self._run.finish(game, self._writer)
            game = self._next_game()
            if game is None:
                return
            plan = game.plan()
        self._games[tree] = (game, plan)
        # The two sides of an asymmetric game do not share a tree, and sequential halving starts with no visits.
        if not self._settings.reuses_trees or self._kind.doubling or plan.considered:
            self.search.forget(tree)
        self.search.begin(tree, game.game, game.game.to_play, avoid=game.avoid())
        self.search.start(tree, plan.params, plan.visits, plan.seed, game.generator, plan.considered)

    def _next_game(self) -> SelfplayGame | None:
        """Return the next game of this board and rules, None if there is none."""
        run, number = self._run, self._run.queue.take(self._kind)
        if number is None:
            return None
        generator = generator_of(run.seed, number)
        # The queue has drawn the kind from these random numbers, so they are used up here too.
        draw_kind(self._settings, generator)
        game = SelfplayGame(self._settings, number, self._kind, run.starts, run.forks, generator, run.adviser)
        run.begin(game)
        return game

    def close(self) -> None:
        """Stop the search's threads."""
        self.driver.close()
