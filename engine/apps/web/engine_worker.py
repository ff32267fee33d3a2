"""The engine worker: a thread that executes a session's tasks with a GTP program."""

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from engine.apps.web.counting import counted
from engine.apps.web.game_session import GameSession
from engine.apps.web.snapshot import MOST_CANDIDATES, Count, Kind, Limits, Task
from engine.clock import TimeSettings
from engine.color import BLACK, WHITE, color_name
from engine.errors import BadVertex, GoError, IllegalMove
from engine.game import Game
from engine.match.clock import settings_command
from engine.programs.answers import parse_analysis
from engine.programs.commands import introduced
from engine.programs.follower import Follower
from engine.programs.program import ProgramFailure
from engine.programs.views import ask_for_movers
from engine.scoring import VOID
from engine.settings.levels import FULL
from engine.vertex import parse_vertex

log = logging.getLogger(__name__)

_PATIENCE = 600.0
"""Most seconds for a move, a count or the first line of a review: Keima may have to compile its kernels first."""
_SILENT_SECONDS = 30.0
"""Most seconds beyond a position's own for the first line of a review about it, once the program has written some."""
_END_SECONDS = 20.0
"""Most seconds for an analysis to end after an interrupt."""
_CLOSE_SECONDS = 3.0
"""Seconds that the program has to exit by itself before it is killed."""
_CANCELLABLE = "kata-search_analyze_cancellable"
"""Preferred because it can be interrupted; genmove commands search to their end."""
_RANK = "keima-rank"
_NO_SECONDS, _NO_VISITS = 1e20, 1 << 50
"""How KataGo and Keima write that there is no limit."""
_INTERVAL = 20
"""Hundredths of a second between two lines of an analysis."""
_LINES_OF_REVIEW = 4
"""Lines that a program has time for in the seconds of a position: what it finds after the last one is lost."""
_KATA = f"maxmoves {MOST_CANDIDATES} rootInfo true ownership true"
"""What the page draws; with all moves a line would be too long to be read whole."""


class EngineWorker:
    """Executes the tasks of one session with one program; after a failure the next task starts it again."""

    def __init__(self, session: GameSession, command: str, silent_seconds: float = _PATIENCE) -> None:
        """silent_seconds: a review waits this long beyond its seconds for the first line about a position."""
        self._session = session
        self._silent_seconds = silent_seconds
        self._follower = Follower(command, _PATIENCE)
        self._task: Task | None = None
        self._sent_time: float | TimeSettings | None = None
        self._limits = Limits()
        self._sent_visits: int | None = None
        self._sent_rank = FULL
        self._thread = threading.Thread(target=self._run, name="engine worker", daemon=True)
        session.on_new_ticket(self.interrupt)

    def start(self) -> None:
        """Start the thread, which starts the program."""
        self._thread.start()

    def interrupt(self) -> None:
        """Interrupt the running task if it is outdated."""
        task = self._task
        if task is not None and not self._session.is_wanted(task):
            self._follower.interrupt(_END_SECONDS)

    def close(self) -> None:
        """End the program and the thread. Close the session first."""
        self.interrupt()
        self._thread.join(timeout=_CLOSE_SECONDS)
        self._follower.kill()
        self._thread.join(timeout=_CLOSE_SECONDS)

    def _run(self) -> None:
        self._try(None)
        while (task := self._session.next_task()) is not None:
            self._task = task
            self._try(task)
            self._task = None
        self._follower.close()

    def _try(self, task: Task | None) -> None:
        """Start the program unless it runs, execute the task, if any, and report failures to the session.

        A program that was running is started once more: it may have exited while it was idle.
        """
        has_run = self._follower.is_running
        try:
            if not has_run:
                self._start()
            if task is not None:
                self._do(task)
        except ProgramFailure as failure:
            log.warning("the engine failed: %s", failure)
            self._follower.kill()
            if has_run and task is not None and self._session.is_wanted(task):
                self._try(task)
            else:
                self._session.task_failed(task, f"The engine failed. {failure.detail}")
        except GoError as error:
            self._session.task_failed(task, str(error))
        except Exception as error:  # otherwise the page would wait forever
            log.exception("a task failed")
            self._follower.kill()
            self._session.task_failed(task, f"Keima failed: {error!r}")

    def _start(self) -> None:
        self._follower.start()
        self._sent_time, self._sent_rank = None, FULL
        ask_for_movers(self._follower)
        name = introduced(self._follower.ask) or self._follower.command
        self._limits = self._asked_limits()
        self._sent_visits = self._limits.visits
        self._session.engine_started(name, has_ranks=self._follower.lists(_RANK), limits=self._limits)

    def _asked_limits(self) -> Limits:
        """Ask the program for its limits of a search; KataGo and Keima say them."""
        if not {"kata-get-param", "kata-set-param"} <= self._follower.commands:
            return Limits()
        values: dict[str, float] = {}
        for name, most in (("maxTime", _NO_SECONDS), ("maxVisits", _NO_VISITS)):
            reply = self._follower.ask(f"kata-get-param {name}")
            with suppress(ValueError):
                if reply.ok and 0 < float(reply.text) < most:
                    values[name] = float(reply.text)
        visits = values.get("maxVisits")
        return Limits(values.get("maxTime"), None if visits is None else int(visits), can_set_visits=True)

    def _do(self, task: Task) -> None:
        if not self._follower.follow(task.game):
            raise GoError("The engine does not take this game: it refuses its board, its rules or a move.")
        match task.kind:
            case Kind.MOVE:
                self._move(task)
            case Kind.ANALYSIS:
                self._analyze(task)
            case Kind.REVIEW:
                self._review(task)
            case Kind.SCORE:
                self._count(task)

    def _move(self, task: Task) -> None:
        self._send_time(task)
        self._send_visits(task.visits)
        self._send_rank(task.rank)
        color, follower = color_name(task.game.to_play), self._follower
        word = follower.first_listed(_CANCELLABLE, "kata-genmove_analyze", "lz-genmove_analyze")
        lines = _LineReader(self._session, task, self.interrupt)
        if word is None:
            reply = follower.ask(f"genmove {color}")
            lines.played = reply.text
        else:
            limit = None if word == _CANCELLABLE else _PATIENCE
            reply = follower.program.watch(f"{word} {color} {_options(word)}", lines, limit)
        if not reply.ok:
            raise GoError(f"The engine refuses to move: {reply.text}")
        match lines.played.lower():
            case "cancelled":
                pass
            case "resign":
                self._session.engine_resigned(task)
            case text:
                self._play(task, text, is_played=word != _CANCELLABLE)

    def _play(self, task: Task, text: str, is_played: bool) -> None:
        """Play the move `text`. is_played: the program has already played it on its own board."""
        try:
            vertex = parse_vertex(text, task.game.width, task.game.height)
            if is_played:
                self._follower.played(vertex)
            self._session.engine_moved(task, vertex)
        except (BadVertex, IllegalMove) as error:
            self._follower.lose_track()
            raise GoError(f"The engine played {text!r}: {error}") from error

    def _send_time(self, task: Task) -> None:
        """Send the clock and its present state, else the time per move."""
        if task.clock is None:
            self._send_seconds(task.seconds)
            return
        listed, settings = self._follower.commands, task.clock.settings
        if settings != self._sent_time and (command := settings_command(settings, listed)) is not None:
            self._follower.ask(command)
            self._sent_time = settings
        if self._sent_time == settings and self._follower.lists("time_left"):
            # GTP specifies integers; programs that know KataGo's clocks take fractions.
            digits = 2 if "kata-time_settings" in listed else 0
            for color in task.clock.left:
                seconds, count = task.clock.left_now(color)
                self._follower.ask(f"time_left {color_name(color)} {seconds:.{digits}f} {count}")

    def _send_visits(self, visits: int | None) -> None:
        """Limit the visits of a move; None restores the program's own limit."""
        if not self._limits.can_set_visits:
            return
        wanted = visits or self._limits.visits
        if wanted != self._sent_visits:
            self._follower.ask(f"kata-set-param maxVisits {_NO_VISITS if wanted is None else wanted}")
            self._sent_visits = wanted

    def _send_seconds(self, seconds: float | None) -> None:
        """Send the time per move in seconds; None sends no limit."""
        if seconds == self._sent_time or not self._follower.lists("time_settings"):
            return
        reply = self._follower.ask("time_settings 0 1 0" if seconds is None else f"time_settings 0 {seconds:g} 1")
        if not reply.ok and seconds is not None:  # GTP specifies integers, so some programs refuse fractions
            self._follower.ask(f"time_settings 0 {max(1, round(seconds))} 1")
        self._sent_time = seconds

    def _send_rank(self, rank: str) -> None:
        """Send the rank to play at."""
        if rank != self._sent_rank and self._follower.lists(_RANK):
            self._follower.ask(f"{_RANK} {rank}")
            self._sent_rank = rank

    def _review(self, task: Task) -> None:
        """Analyze one position for its time, and on to the program's first line about it."""
        if not task.game.is_over:
            seconds, is_due = task.seconds or 0.0, threading.Event()

            def end() -> None:
                is_due.set()
                end_if_due()

            def end_if_due() -> None:
                if is_due.is_set() and lines.has_answer:
                    self._follower.interrupt(_END_SECONDS)
                else:
                    self.interrupt()

            lines = _LineReader(self._session, task, end_if_due)
            # Timers, because programs may write nothing for as long as they like.
            timers = (
                threading.Timer(seconds, end),
                threading.Timer(seconds + self._silent_seconds, self._follower.interrupt, (_END_SECONDS,)),
            )
            for timer in timers:
                timer.start()
            try:
                self._watch(task, lines, interval=round(100 * seconds / _LINES_OF_REVIEW))
            finally:
                for timer in timers:
                    timer.cancel()
                    timer.join()  # it must not interrupt the next analysis
            if lines.has_answer:
                self._silent_seconds = min(self._silent_seconds, _SILENT_SECONDS)
        self._session.task_finished(task)

    def _analyze(self, task: Task) -> None:
        """Analyze until the task is outdated."""
        self._watch(task, _LineReader(self._session, task, self.interrupt))
        self._session.task_finished(task)

    def _watch(self, task: Task, lines: "_LineReader", interval: int = _INTERVAL) -> None:
        """Pass the program's analysis to the session. interval: 1/100 s between its lines, limited to 1 to 20."""
        word = self._follower.first_listed("kata-analyze", "lz-analyze")
        if word is None:
            raise GoError("The engine lists neither kata-analyze nor lz-analyze.")
        command = f"{word} {color_name(task.game.to_play)} {_options(word, min(max(interval, 1), _INTERVAL))}"
        reply = self._follower.program.watch(command, lines)
        if not reply.ok:
            raise GoError(f"The engine refuses to analyze: {reply.text}")

    def _count(self, task: Task) -> None:
        """Count with the engine's dead stones by the rules of the game, else by its final_score.

        The dead stones come first because programs may know other rules. A void game is not counted.
        """
        if task.game.no_result:
            self._session.position_counted(task, Count(VOID))
            return
        game = task.game
        dead = self._stones(game, "dead")
        if game.is_over and not game.rules.may_agree:
            dead = ()  # every stone counts, whatever the program thinks of it
        count = counted(game, dead or (), None if dead is None else self._stones(game, "seki"))
        # A program that names no dead stones may still know the score.
        reply = self._follower.ask("final_score") if dead is None and self._follower.lists("final_score") else None
        if reply is not None and reply.ok and game.is_over:
            count = replace(count, score=reply.text.split()[0] if reply.text.split() else "0")
        self._session.position_counted(task, count)

    def _stones(self, game: Game, status: str) -> tuple[int, ...] | None:
        """Return the stones to which the program gives a status, None if it gives none."""
        if not self._follower.lists("final_status_list"):
            return None
        reply = self._follower.ask(f"final_status_list {status}")
        if not reply.ok:
            return None
        named = [parse_vertex(word, game.width, game.height) for word in reply.text.split()]
        return tuple(vertex for vertex in named if game.color_at(vertex) in (BLACK, WHITE))


class _LineReader:
    """Parses the lines of one analysis and passes them to the session."""

    def __init__(self, session: GameSession, task: Task, on_line: Callable[[], None] = lambda: None) -> None:
        """on_line: called after every line; must interrupt a task that was already outdated when it began."""
        self.played = ""
        self.has_answer = False
        self._session = session
        self._task = task
        self._on_line = on_line

    def __call__(self, line: str) -> None:
        """Handle one line of output."""
        if line.startswith("play "):
            self.played = line.removeprefix("play ").strip()
            return
        answer = parse_analysis(line, self._task.game.width, self._task.game.height)
        if answer is not None:
            self._session.analysis_received(self._task, answer)
            self.has_answer = True
        self._on_line()


def _options(word: str, interval: int = _INTERVAL) -> str:
    return f"{interval} {_KATA}" if word.startswith("kata") else f"{interval}"
