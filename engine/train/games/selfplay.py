"""Self-play: many games at once in one process, whose leaves fill the evaluator's batches together.

`engine.train.games.selfplay_workers` has several such processes play.

The games of one board size and rule set share a forest and are divided into groups. While one group's leaves are
evaluated, those of another are brought into its trees, its finished searches become moves, and its next leaves are
collected. Boards take turns, for an evaluator works on one size at a time.

A game depends on its number, the seed, the settings and what the evaluator says of a position, and on nothing else: a
run that was interrupted plays the same games that it would have played.
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
from engine.game import Game
from engine.records.sgf_writer import write_game
from engine.search.forest import Forest
from engine.search.worker import Worker
from engine.train.data.held_out import is_held_out
from engine.train.data.samples import Samples, SampleWriter
from engine.train.games.selfplay_game import Ending, Plan, SelfplayGame
from engine.train.games.selfplay_settings import SelfplaySettings
from engine.train.games.selfplay_starts import Deal, Kind, Starts, draw_kind, generator_of
from engine.train.games.selfplay_stats import Report, SelfplayStats
from engine.train.games.selfplay_store import Store, game_hash
from engine.train.teaching.hints import Adviser

Players = Mapping[str, str | None]
_SPARE_NODES = 64
_NODES_PER_VISIT = 2
"""Room for what a search takes over from the one before."""
_WITHOUT_EFFECT = ("games_at_once", "batches", "turns", "shard_samples")
"""Settings that change how fast games are played, but not which."""
_REPORT_SECONDS = 1.0
_MOST_UNKEPT = 64
"""Finished games that wait for the disk at most."""


class Stop(Protocol):
    """An event that tells to end; of this process or of several."""

    def is_set(self) -> bool:
        """Whether to end."""


class Keeper(Protocol):
    """Where finished games go. samples: of all of them."""

    samples: int

    def add(self, number: int, samples: Samples, record: str) -> None:
        """Keep a finished game. record: SGF on one line, with the number in its round."""


def decisive(settings: SelfplaySettings, seed: int) -> dict[str, Any]:
    """Return what decides which games are played: what must stay the same in a folder."""
    return {"seed": seed} | {key: value for key, value in asdict(settings).items() if key not in _WITHOUT_EFFECT}


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
    """Play games 0 to games - 1 of a run, or without end, until `stop`; return the statistics of this process.

    folder: where finished games are kept, see `engine.train.games.selfplay_store`; games that it has are not played
    again. report: gets the statistics about once a second. adviser: may name moves, see
    `SelfplaySettings.exploration`. provenance: what is noted of the network in every shard and record.
    players: whatever of the network and the adviser must stay the same in a folder, as the settings.
    Raises GoError for a folder of another run and for starting positions that cannot be read.
    """
    store = open_store(settings, folder, seed, provenance, players)
    deal = Deal(settings, seed, games, frozenset(store.done))
    run = SelfplayRun(settings, evaluator, store, deal, seed, report, adviser, provenance)
    run.counted.to_play, run.counted.done = games, len(store.done)
    stats = run.play(stop or threading.Event())
    store.finish()
    return stats


def open_store(
    settings: SelfplaySettings,
    folder: Path,
    seed: int,
    provenance: dict[str, str] | None = None,
    players: Players | None = None,
) -> Store:
    """Return what a folder holds of a run. Raises GoError for a folder of another run."""
    decides = decisive(settings, seed) | dict(players or {})
    return Store(folder, decides, _origin(seed, provenance), settings.shard_samples)


def _origin(seed: int, provenance: dict[str, str] | None) -> dict[str, str]:
    return {"seed": str(seed), **(provenance or {})}


class SelfplayRun:
    """What all games of a process share: the deal of numbers, the keeper and the statistics.

    deal: of the numbers to play. counted: the statistics without what is measured.
    """

    def __init__(
        self,
        settings: SelfplaySettings,
        evaluator: Evaluator,
        keeper: Keeper,
        deal: Deal,
        seed: int,
        report: Report | None = None,
        adviser: Adviser | None = None,
        provenance: dict[str, str] | None = None,
    ) -> None:
        self.settings, self.evaluator, self.keeper, self.seed = settings, evaluator, keeper, seed
        self.adviser, self.starts, self.origin = adviser, Starts(settings.starts), _origin(seed, provenance)
        self._report, self._reported = report, time.monotonic()
        self.deal = deal
        self._tables: dict[Kind, _Table] = {}
        self._keeping = ThreadPoolExecutor(1, thread_name_prefix="keep")
        self._unkept: deque[Future[None]] = deque()
        self._start = time.perf_counter()
        self.counted = SelfplayStats()

    def play(self, stop: Stop) -> SelfplayStats:
        """Play until all games are finished and kept, or until told to stop; return the statistics."""
        try:
            self._play(stop)
            self._settle()
        finally:
            self._close()
        return self.stats()

    def _play(self, stop: Stop) -> None:
        """Give each board its turn, the one that lags behind first, until all games are finished."""
        while not stop.is_set():
            waiting = {kind: first for kind in self.deal.kinds if (first := self._first_number(kind)) is not None}
            if not waiting:
                return
            kind = min(waiting, key=lambda each: waiting[each])
            table = self._tables.get(kind) or _Table(self, kind)
            self._tables[kind] = table
            table.play(stop)

    def _first_number(self, kind: Kind) -> int | None:
        """Return the lowest number of an unfinished game of a kind."""
        playing, dealt = self._tables[kind].numbers() if kind in self._tables else [], self.deal.first(kind)
        return min([*playing, *([] if dealt is None else [dealt])], default=None)

    def finish(self, game: SelfplayGame, writer: SampleWriter) -> None:
        """Have a finished game kept in the background: the disk is slow, and encoding can wait."""
        assert game.ending is not None
        self.counted.count(game, game.ending)
        self._unkept.append(self._keeping.submit(self._keep, game, game.ending, writer))
        while self._unkept and (len(self._unkept) > _MOST_UNKEPT or self._unkept[0].done()):
            self._unkept.popleft().result()

    def _keep(self, game: SelfplayGame, ending: Ending, writer: SampleWriter) -> None:
        record = self._record(game, ending)
        if not is_held_out(record.encode()):
            game.write_samples(writer, game_hash(self.seed, game.number, record))
        self.keeper.add(game.number, writer.take(), record)

    def _settle(self) -> None:
        """Wait until every finished game is kept. Raises what keeping one did."""
        while self._unkept:
            self._unkept.popleft().result()

    def _record(self, game: SelfplayGame, ending: Ending) -> str:
        comment = "; ".join(
            [
                *(f"{key} {value}" for key, value in self.origin.items()),
                f"moves {game.summary()}",
                *(["counted as it stood"] if ending.unfinished else []),
            ]
        )
        name = self.origin.get("network", "")
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
        forests, counted = [table.forest for table in self._tables.values()], self.counted
        counted.evaluations = sum(forest.evaluations for forest in forests)
        counted.busy_seconds = round(sum(forest.busy.seconds for forest in forests), 3)
        counted.seconds = round(time.perf_counter() - self._start, 3)
        counted.samples = self.keeper.samples
        return counted

    def tell(self) -> None:
        """Report now and then."""
        now = time.monotonic()
        if self._report is not None and now - self._reported >= _REPORT_SECONDS:
            self._reported = now
            self._report(self.stats())

    def _close(self) -> None:
        """Finish what is being kept, and free what the tables hold."""
        self._keeping.shutdown()
        for table in self._tables.values():
            table.close()


class _Table:
    """The games of one board size and rule set, which share a forest and wait while other boards have their turn."""

    def __init__(self, run: SelfplayRun, kind: Kind) -> None:
        settings = run.settings
        self._run, self._kind, self._settings = run, kind, settings
        nodes = _NODES_PER_VISIT * max(settings.full_visits, settings.quick_visits) + _SPARE_NODES
        count = settings.games_at_once
        self.forest = Forest(
            run.evaluator,
            Game(kind.side, rules=kind.rules),
            count,
            nodes,
            most_moves=settings.most_moves(kind.side),
            seed=run.seed,
        )
        self._writer = SampleWriter(settings.encoder, kind.side, kind.side)
        attributes = run.evaluator.attributes
        room = max(1, attributes.max_batch // settings.leaves)
        groups = min(count, max(settings.batches or attributes.concurrent, -(-count // room)))
        self._groups = [list(range(first, count, groups)) for first in range(groups)]
        self._workers = [self.forest.new_worker(settings.leaves * len(group)) for group in self._groups]
        self._games: dict[int, tuple[SelfplayGame, Plan]] = {}
        self._moves = 0

    def numbers(self) -> list[int]:
        """Return the numbers of the games in progress."""
        return [game.number for game, _ in self._games.values()]

    def play(self, stop: Stop) -> None:
        """Play on for a turn, or until there is no game left; nothing is under evaluation afterwards."""
        last = self._moves + self._settings.turns * self._settings.games_at_once
        for group in self._groups:
            for tree in group:
                if tree not in self._games:
                    self._search(tree, None)
        try:
            while self._games and self._moves < last and not stop.is_set():
                for group, worker in zip(self._groups, self._workers, strict=True):
                    self._go_on(group, worker)
                self._run.tell()
        finally:
            for worker in self._workers:
                self.forest.receive(worker)

    def _go_on(self, group: list[int], worker: Worker) -> None:
        """Take in what was evaluated for a group, play the moves that are found, and send its next leaves."""
        self.forest.receive(worker)
        waiting = [tree for tree in group if tree in self._games]
        while waiting:
            over = self.forest.collect(worker, waiting, self._settings.leaves)
            waiting = [tree for tree in over if self._advance(tree)]
        if worker.rows:
            self.forest.send(worker)

    def _advance(self, tree: int) -> bool:
        """Play the move of a finished search; return whether there is another search at this tree."""
        game, plan = self._games[tree]
        self._moves += 1
        game.decide(plan, self.forest.trees[tree], self.forest.roots[tree])
        return self._search(tree, game)

    def _search(self, tree: int, game: SelfplayGame | None) -> bool:
        """Begin the next search of a game or, without one that goes on, of the next; return False if there is none."""
        plan = None if game is None else game.plan()
        while game is None or plan is None:
            if game is not None:
                self._games.pop(tree, None)
                self._run.finish(game, self._writer)
            game = self._next_game()
            if game is None:
                return False
            plan = game.plan()
        self._games[tree] = (game, plan)
        if not self._settings.reuses_trees:
            self.forest.forget(tree)
        self.forest.begin(tree, game.game, game.game.to_play, avoid=game.avoid())
        self.forest.search(tree, plan.params, plan.visits, plan.seed, game.generator)
        return True

    def _next_game(self) -> SelfplayGame | None:
        """Return the next game of this board and rules, None if there is none."""
        run, number = self._run, self._run.deal.take(self._kind)
        if number is None:
            return None
        generator = generator_of(run.seed, number)
        draw_kind(self._settings, generator)
        return SelfplayGame(self._settings, number, self._kind, run.starts, generator, run.adviser)

    def close(self) -> None:
        """Stop the forest's threads."""
        self.forest.close()
