"""A game session: the open game, the pages that show it, and the engine's next task.

Pages send commands from many threads and wait for changes; one engine worker takes the tasks and reports their results.
Knows neither HTTP nor GTP.
"""

import secrets
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.apps.web.game_clock import GameClock
from engine.apps.web.game_state import COMMANDS, GameState
from engine.apps.web.settings import GameSettings, PlayerKind
from engine.apps.web.snapshot import BookPage, Count, Kind, Limits, Snapshot, Task, estimated
from engine.book.book import Book
from engine.color import color_letter, opponent
from engine.errors import GoError
from engine.game import Game
from engine.programs.answers import AnalysisAnswer
from engine.records.markup import MarkupReader
from engine.settings.levels import FULL


class GameSession:
    """One game, shown by any number of pages. Thread-safe."""

    def __init__(
        self,
        settings: GameSettings,
        folder: Path | None = None,
        book: Book | None = None,
        default_komi: float | None = None,
    ) -> None:
        """folder: each game is saved here after every move; None saves nothing. book: to show. Raises GoError.

        default_komi: of a record that names none; None for the usual one.
        """
        # One lock, two conditions: pages wait for a new version, the worker for a task.
        lock = threading.RLock()
        self._changed, self._has_work = threading.Condition(lock), threading.Condition(lock)
        self._state, self._book = GameState(settings, folder, default_komi), book
        self._interrupt: Callable[[], None] = lambda: None
        self._current: Task | None = None
        self._timer: threading.Timer | None = None
        self._timed_turn: tuple[GameClock, int] | None = None
        self._version = self._pages = 0
        self._is_closed = False
        self._name = secrets.token_hex(8)

    def on_new_ticket(self, interrupt: Callable[[], None]) -> None:
        """Set the callback that interrupts an outdated task."""
        self._interrupt = interrupt

    # Commands of pages

    def command(self, name: str, fields: dict[str, Any]) -> None:
        """Execute one of COMMANDS. Raises GoError (one line) without having changed anything."""
        if name not in COMMANDS:
            raise GoError(f"expected one of {', '.join(COMMANDS)}, got {name!r}")
        with self._changed:
            COMMANDS[name](self._state, fields)
            self._state.pause_clock()
            self._drop_unwanted()
            self._notify()
        self._interrupt()

    def open(self, text: bytes) -> None:
        """Show the game and the variations of an SGF record. Raises BadSgf without having changed anything."""
        with self._changed:
            self._state.open(text)
            self._notify()
        self._interrupt()

    # Tasks of the engine

    @property
    def _running(self) -> Task | None:
        """The engine's task, None if there is none or it is outdated."""
        return self._current if self._current is not None and self._current.ticket == self._state.ticket else None

    def _drop_unwanted(self) -> bool:
        """Outdate a running analysis or review that is no longer wanted; return whether there was one."""
        running = self._running
        if running is None or running.kind not in (Kind.ANALYSIS, Kind.REVIEW) or running.kind is self.wanted():
            return False
        self._state.ticket += 1
        return True

    def next_task(self) -> Task | None:
        """Wait for a task and return it; None once the session is closed."""
        with self._changed:
            while True:
                if self._is_closed:
                    return None
                kind = self.wanted()
                if kind is not None and self._running is None:
                    state, settings = self._state, self._state.settings
                    number = state.tree.shown.number if kind is not Kind.REVIEW else self._unreviewed()[0]
                    is_timed = kind is Kind.MOVE and state.clock is not None and state.tree.end is state.tree.game_end
                    self._current = Task(
                        kind,
                        state.tree.at(number),
                        number,
                        state.ticket,
                        settings.review_seconds if kind is Kind.REVIEW else settings.seconds,
                        settings.rank,
                        settings.visits,
                        state.clock.reading() if is_timed and state.clock is not None else None,
                    )
                    self._notify()
                    return self._current
                self._has_work.wait()

    def wanted(self) -> Kind | None:
        """Return the kind of the engine's next task, None if there is none."""
        state = self._state
        if state.is_paused:
            return None
        is_over, tree = state.game.is_over, state.tree
        if state.wants_score or (is_over and tree.end.result is None and state.shown.count is None):
            return Kind.SCORE
        if not is_over and not tree.is_review and state.settings.players[state.game.to_play] is PlayerKind.ENGINE:
            return Kind.MOVE
        if state.switches.review and self._unreviewed():
            return Kind.REVIEW
        is_seen = self._pages > 0  # an analysis has no end, so it runs only while a page is open
        return Kind.ANALYSIS if is_seen and state.switches.need_analysis and not is_over else None

    def _unreviewed(self) -> list[int]:
        return self._state.tree.unreviewed(self._state.settings.review_seconds)

    def is_wanted(self, task: Task) -> bool:
        """Return whether a task's result is still of use."""
        return task.ticket == self._state.ticket and not self._is_closed

    def analysis_received(self, task: Task, answer: AnalysisAnswer) -> None:
        """Store an intermediate analysis and show it."""
        with self._changed:
            if not self.is_wanted(task):
                return
            if task.kind is not Kind.REVIEW:
                self._state.shown.answer = answer
            node, estimate = self._state.tree.end.path()[task.number], estimated(answer, task.game.to_play)
            # A glance must not replace what a long search found.
            if estimate is not None and (node.estimate is None or estimate.visits >= node.estimate.visits):
                node.estimate = estimate
            self._notify()

    def engine_moved(self, task: Task, vertex: int) -> bool:
        """Play the engine's move unless its task is outdated; return whether it was played. Raises IllegalMove."""
        with self._changed:
            if not self.is_wanted(task):
                return False
            self._state.play(vertex)
            self._notify()
            return True

    def engine_resigned(self, task: Task) -> None:
        """End the game with the engine's resignation."""
        with self._changed:
            if self.is_wanted(task):
                self._state.finish(f"{color_letter(opponent(task.game.to_play))}+R")
                self._notify()

    def position_counted(self, task: Task, count: Count) -> None:
        """Show a count. If the game is over, it is the result, unless people have to agree on dead stones."""
        with self._changed:
            if not self.is_wanted(task):
                return
            state, game = self._state, self._state.game
            state.wants_score = False
            must_agree = game.rules.may_agree and PlayerKind.PERSON in state.settings.players.values()
            if game.is_over and not state.tree.is_review:
                state.propose(count)
                if game.no_result or not must_agree:
                    state.finish(count.score)
            state.shown.count = count
            state.ticket += 1
            self._notify()

    def task_finished(self, task: Task) -> None:
        """Record that an analysis has ended by itself, or that a position is reviewed.

        A position without an estimate is not reviewed unless the game is over there; the review goes on without it.
        After an analysis the engine pauses until the next command of a page.
        """
        with self._changed:
            if not self.is_wanted(task):
                return
            if task.kind is Kind.REVIEW:
                node = self._state.tree.end.path()[task.number]
                if node.estimate is not None or task.game.is_over:
                    node.review_seconds = task.seconds or 0.0
                else:
                    node.is_skipped = True
                    self._state.shown.error = f"{self._state.engine} gave no estimate of a position, which is skipped."
                self._state.ticket += 1
            else:
                self._state.is_paused = True
            self._current = None
            self._notify()

    def task_failed(self, task: Task | None, message: str) -> None:
        """Show an error; the engine pauses until the next command of a page."""
        with self._changed:
            if task is None or self.is_wanted(task):
                self._state.wants_score = False
                self._state.is_paused = True
                self._current = None
            self._state.shown.error = message
            self._notify()

    # State for pages

    def page_connected(self) -> None:
        """Count a connected page, for which an analysis may start."""
        with self._changed:
            self._pages += 1
            self._has_work.notify_all()

    def page_disconnected(self) -> None:
        """Count a page that disconnected; without any page an analysis ends."""
        with self._changed:
            self._pages -= 1
            if self._drop_unwanted():
                self._notify()
        self._interrupt()

    def engine_started(self, engine: str, *, has_ranks: bool = False, limits: Limits | None = None) -> None:
        """Set the engine's name, whether it plays at ranks, and its own limits of a search."""
        with self._changed:
            self._state.engine, self._state.has_ranks = engine, has_ranks
            self._state.limits = limits or Limits()
            if not has_ranks and self._state.settings.rank != FULL:
                self._state.shown.error = f"{engine} knows no ranks: it plays as well as it can."
            self._notify()

    def record(self) -> tuple[str, str]:
        """Return the game as SGF text and a name for its file."""
        with self._changed:
            return self._state.text(), self._state.file_name

    @property
    def pages(self) -> int:
        """The number of connected pages."""
        return self._pages

    @property
    def version(self) -> int:
        """A number that grows with every visible change."""
        return self._version

    def wait_for_change(self, after: int, seconds: float) -> bool:
        """Wait until the version differs from `after` or the session is closed; return False after the timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: self._version != after or self._is_closed, seconds)

    def snapshot(self) -> Snapshot:
        """Return the present state."""
        with self._changed:
            state, tree, running = self._state, self._state.tree, self._running
            line, shown = tree.end.path(), tree.shown
            return Snapshot(
                version=self._version,
                settings=state.settings,
                game=tree.game.copy(),
                number=shown.number,
                changed=shown.changed,
                line=tuple(tree.steps),
                is_review=tree.is_review,
                result=tree.end.result,
                engine=state.engine,
                has_ranks=state.has_ranks,
                limits=state.limits,
                busy=None if running is None else running.kind,
                shown=replace(state.shown),
                switches=state.switches,
                estimates={node.number: node.estimate for node in line if node.estimate is not None},
                reviewed=sum(node.review_seconds >= state.settings.review_seconds for node in line),
                note=shown.note,
                symbols=dict(shown.symbols),
                labels=dict(shown.labels),
                lines=MarkupReader(state.game.width, state.game.height).lines(shown.others),
                following=state.following,
                variations=tree.variations(),
                variation=tree.index,
                may_undo=state.may_undo,
                has_previous=state.has_previous,
                open_game=state.number,
                notice=state.notice,
                info=state.info,
                session=self._name,
                clock=None if state.clock is None else state.clock.reading(),
                book=self._book_page(tree.game),
            )

    def _book_page(self, game: Game) -> BookPage | None:
        if self._book is None:
            return None
        return BookPage(self._book.misfit(game), self._book.find(game) if self._state.switches.book else None)

    @property
    def has_running_clock(self) -> bool:
        """True while a player's time runs."""
        return self._state.clock is not None and self._state.clock.running is not None

    @property
    def is_closed(self) -> bool:
        """True after `close`."""
        return self._is_closed

    def close(self) -> None:
        """Close the session: all waiting threads return."""
        with self._changed:
            self._is_closed = True
            if self._timer is not None:
                self._timer.cancel()
            self._notify()
        self._interrupt()

    def _time_is_over(self) -> None:
        """Called when the running clock may have lost the game: end the game if it has."""
        with self._changed:
            if self._is_closed:
                return
            self._timer = None
            self._state.check_time()
            self._notify()
        self._interrupt()

    def _set_timer(self) -> None:
        """Wait for the end of the running clock's time."""
        clock = self._state.clock
        turn = None if clock is None else (clock, clock.turn)
        if turn == self._timed_turn and self._timer is not None:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timed_turn, self._timer = turn, None
        seconds = None if clock is None else clock.seconds_left
        if seconds is not None and not self._is_closed:
            self._timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), self._time_is_over)
            self._timer.daemon = True
            self._timer.start()

    def _notify(self) -> None:
        self._set_timer()
        self._version += 1
        self._changed.notify_all()
        self._has_work.notify_all()
