"""Runs a match: starts the games that are left, several at once, and stops them.

Games belong to `game`, files to `store`, statistics to `report`.
"""

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from engine.color import BLACK, WHITE
from engine.match.engine_process import EngineProcess
from engine.match.game import Interrupted, RefereedGame
from engine.match.settings import Fixture, MatchSettings
from engine.match.store import GameRecord, Store

# Interval at which the waiting main thread wakes up, so that Ctrl-C reaches it.
_POLL_SECONDS = 0.2

OnGame = Callable[[list[GameRecord]], None]
_Done = tuple[GameRecord, str] | Exception


@dataclass(frozen=True)
class MatchResult:
    """The finished games in order, and whether Ctrl-C stopped the match."""

    records: list[GameRecord]
    interrupted: bool = False


def run_match(
    settings: MatchSettings,
    directory: Path | None = None,
    *,
    resume: bool = True,
    on_game: OnGame | None = None,
) -> MatchResult:
    """Play all games of a match that its directory does not contain yet, and return all records.

    on_game: called in this thread with the records so far, at the start and after every game. Ctrl-C ends the programs,
    drops the games in play and returns the finished ones.
    Raises MatchError if a program cannot be started (again), has no command for the time system, refuses the settings,
    or if the directory contains another match.
    """
    store = Store(settings, directory, resume)
    fixtures = settings.fixtures()
    finished = _finished(store, fixtures)
    missing = [each for each in fixtures if each.number not in finished]
    report = on_game or (lambda records: None)
    report(_in_order(finished))
    pool = _WorkerPool(settings, missing)
    interrupted = False
    try:
        for record, sgf in pool.results():
            named = replace(record, sgf=store.sgf_name(record.number) if directory is not None else "")
            store.add(named, sgf)
            finished[named.number] = named
            report(_in_order(finished))
    except KeyboardInterrupt:
        interrupted = True
        # Ctrl-C may have come between the file and `finished`.
        store.reload()
        finished = _finished(store, fixtures)
    finally:
        pool.stop()
    return MatchResult(_in_order(finished), interrupted)


class _WorkerPool:
    """Worker threads, each with its own programs; a free worker takes the next game."""

    def __init__(self, settings: MatchSettings, fixtures: list[Fixture]) -> None:
        self._count = len(fixtures)
        self._jobs: queue.Queue[Fixture] = queue.Queue()
        for fixture in fixtures:
            self._jobs.put(fixture)
        self._done: queue.Queue[_Done] = queue.Queue()
        self._stopping = threading.Event()
        self._workers = [
            _Worker(settings, self._stopping.is_set) for _ in range(min(settings.concurrency, self._count))
        ]
        self._threads = [threading.Thread(target=self._run, args=(worker,), daemon=True) for worker in self._workers]

    def results(self) -> Iterator[tuple[GameRecord, str]]:
        """Check the programs, start the threads, yield every finished game, and wait until the programs have ended.

        Raises the error of a game, and MatchError for a program that cannot play in this match.
        """
        # One check is enough: all workers start the same programs.
        for worker in self._workers[:1]:
            worker.check()
        for thread in self._threads:
            thread.start()
        left = self._count
        while left:
            try:
                done = self._done.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue
            if isinstance(done, Exception):
                raise done
            left -= 1
            yield done
        for thread in self._threads:
            while thread.is_alive():
                thread.join(_POLL_SECONDS)

    def stop(self) -> None:
        """End all games and programs, and wait for their end."""
        self._stopping.set()
        for worker in self._workers:
            worker.kill()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(timeout=10.0)

    def _run(self, worker: "_Worker") -> None:
        try:
            while not self._stopping.is_set():
                self._done.put(worker.play(self._jobs.get_nowait()))
        except (queue.Empty, Interrupted):
            pass
        except Exception as error:  # noqa: BLE001 - raised again in the main thread, by results()
            self._done.put(error)
        finally:
            worker.close()


class _Worker:
    """The programs of one worker: the players, each started for its first game, and the referee."""

    def __init__(self, settings: MatchSettings, stopping: Callable[[], bool]) -> None:
        self._settings = settings
        self._stopping = stopping
        self._players = {
            each.label: EngineProcess(each.label, each.command, settings.hang, each.name) for each in settings.entrants
        }
        self._referee = None if settings.referee is None else EngineProcess("referee", settings.referee, settings.hang)

    def check(self) -> None:
        """Start every player and send it the time settings. Raises CannotStart or Refusal."""
        for player in self._players.values():
            player.start(warm_up=self._settings.time is not None, settings=self._settings)

    def play(self, fixture: Fixture) -> tuple[GameRecord, str]:
        """Play one game; return its record and its SGF. Raises CannotStart, Refusal or Interrupted."""
        players = {BLACK: self._players[fixture.black], WHITE: self._players[fixture.white]}
        book = self._settings.openings
        opening = None if book is None or fixture.opening is None else book.openings[fixture.opening]
        game = RefereedGame(self._settings, fixture.number, players, opening, self._referee, self._stopping)
        record = game.play()
        if len(self._players) > 2:
            # A player that sits out the next game must not ponder on this one.
            for player in players.values():
                player.rest()
        return record, game.sgf(record)

    def kill(self) -> None:
        """Kill the programs; the game in play then fails and is dropped."""
        for player in self._programs():
            player.kill()

    def close(self) -> None:
        """Ask the programs to quit; kill them if the match is stopping."""
        for player in self._programs():
            if self._stopping():
                player.kill()
            with contextlib.suppress(OSError):
                player.close()

    def _programs(self) -> list[EngineProcess]:
        return [*self._players.values(), *([] if self._referee is None else [self._referee])]


def _finished(store: Store, fixtures: list[Fixture]) -> dict[int, GameRecord]:
    return {each.number: store.records[each.number] for each in fixtures if each.number in store.records}


def _in_order(records: dict[int, GameRecord]) -> list[GameRecord]:
    return [records[number] for number in sorted(records)]
