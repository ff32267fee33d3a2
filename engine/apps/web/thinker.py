"""The thinker: a thread that has a GTP program do what the table wants of its engine."""

import logging
import threading
import time
from collections.abc import Callable

from engine.apps.web.facts import MOST_CANDIDATES, Count, Kind, Task
from engine.apps.web.table import Table
from engine.board.layout import COLOR
from engine.color import BLACK, EMPTY, WHITE, color_name
from engine.errors import BadVertex, GoError, IllegalMove
from engine.game import Game
from engine.programs.answers import parse_analysis
from engine.programs.commands import introduced
from engine.programs.follower import Follower
from engine.programs.program import ProgramFailure
from engine.programs.views import ask_for_movers
from engine.scoring import VOID, final_score, format_score, ownership_map, without_chains
from engine.settings.levels import FULL_LEVEL
from engine.vertex import parse_vertex, points

log = logging.getLogger(__name__)

_PATIENCE = 600.0
"""Seconds that a move or a count may take."""
_END_SECONDS = 20.0
"""That an analysis may take to end."""
_REVIEW_SECONDS = 1.0
"""For each position of a review, where the engine's moves have no time of their own."""
_CLOSE_SECONDS = 3.0
"""That a program has to end by itself when the page is closed."""
_CANCELLABLE = "kata-search_analyze_cancellable"
"""Ends as soon as nobody wants its move any more; what moves by itself thinks to its end first."""
_LEVEL = "level"
_KATA = f"20 maxmoves {MOST_CANDIDATES} rootInfo true ownership true"
"""A line each fifth of a second, with what the page draws: all moves would make it too long to be read whole."""


class Thinker:
    """Serves one table with one program, which is started again when it has failed and is wanted again."""

    def __init__(self, table: Table, command: str) -> None:
        self._table = table
        self._follower = Follower(command, _PATIENCE)
        self._task: Task | None = None
        self._told_seconds: float | None = None
        self._told_level = FULL_LEVEL
        self._thread = threading.Thread(target=self._run, name="thinker", daemon=True)
        table.on_new_ticket(self.interrupt)

    def start(self) -> None:
        """Start the program and serve the table."""
        self._thread.start()

    def interrupt(self) -> None:
        """End what is under way if nobody wants it any more."""
        task = self._task
        if task is not None and not self._table.is_wanted(task):
            self._follower.interrupt(_END_SECONDS)

    def close(self) -> None:
        """End the program and the thread; the table is closed before."""
        self.interrupt()
        self._thread.join(timeout=_CLOSE_SECONDS)
        self._follower.kill()
        self._thread.join(timeout=_CLOSE_SECONDS)

    def _run(self) -> None:
        self._try(None)
        while (task := self._table.next_task()) is not None:
            self._task = task
            self._try(task)
            self._task = None
        self._follower.close()

    def _try(self, task: Task | None) -> None:
        """Start the program unless it runs, and do the task, if there is one; tell the table what fails.

        A program that has run until now gets a second chance: it may have ended long before anybody asked it.
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
            if has_run and task is not None and self._table.is_wanted(task):
                self._try(task)
            else:
                self._table.failed(task, f"The engine failed. {failure.detail}")
        except GoError as error:
            self._table.failed(task, str(error))
        except Exception as error:  # a fault of ours must not leave the page waiting for ever
            log.exception("a task failed")
            self._follower.kill()
            self._table.failed(task, f"Keima failed: {error!r}")

    def _start(self) -> None:
        self._follower.start()
        self._told_seconds, self._told_level = None, FULL_LEVEL
        ask_for_movers(self._follower)
        name = introduced(self._follower.ask) or self._follower.command
        self._table.sit_down(name, has_levels=self._follower.lists(_LEVEL))

    def _do(self, task: Task) -> None:
        if not self._follower.follow(task.game):
            raise GoError("The engine does not take this game: it refuses its board, its rules or a move.")
        match task.kind:
            case Kind.MOVE:
                self._move(task)
            case Kind.ANALYSIS:
                self._analyse(task)
            case Kind.REVIEW:
                self._review(task)
            case Kind.SCORE:
                self._count(task)

    def _move(self, task: Task) -> None:
        self._tell_seconds(task.seconds)
        self._tell_level(task.level)
        color, follower = color_name(task.game.to_play), self._follower
        word = follower.first_listed(_CANCELLABLE, "kata-genmove_analyze", "lz-genmove_analyze")
        lines = _Lines(self._table, task, self.interrupt)
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
                self._table.resigns(task)
            case text:
                self._play(task, text, is_played=word != _CANCELLABLE)

    def _play(self, task: Task, text: str, is_played: bool) -> None:
        """Play the move that the program tells, which it has played itself or has to be told like others."""
        try:
            vertex = parse_vertex(text, task.game.width, task.game.height)
            if is_played:
                self._follower.played(vertex)
            self._table.moves(task, vertex)
        except (BadVertex, IllegalMove) as error:
            self._follower.lose_track()
            raise GoError(f"The engine played {text!r}: {error}") from error

    def _tell_seconds(self, seconds: float | None) -> None:
        """Tell how long a move may take: so many seconds for every single one, or as long as the engine likes."""
        if seconds == self._told_seconds or not self._follower.lists("time_settings"):
            return
        reply = self._follower.ask("time_settings 0 1 0" if seconds is None else f"time_settings 0 {seconds:g} 1")
        if not reply.ok and seconds is not None:  # GTP has whole seconds only
            self._follower.ask(f"time_settings 0 {max(1, round(seconds))} 1")
        self._told_seconds = seconds

    def _tell_level(self, level: int) -> None:
        """Tell at which level to play; GNU Go knows the command and the numbers, too."""
        if level != self._told_level and self._follower.lists(_LEVEL):
            self._follower.ask(f"{_LEVEL} {level}")
            self._told_level = level

    def _review(self, task: Task) -> None:
        """Think about one position of a game for as long as a move takes."""
        if not task.game.is_over:
            until = time.monotonic() + (task.seconds or _REVIEW_SECONDS)

            def look() -> None:
                if time.monotonic() >= until or not self._table.is_wanted(task):
                    self._follower.interrupt(_END_SECONDS)

            self._watch(task, look)
        self._table.finished(task)

    def _analyse(self, task: Task) -> None:
        """Think until nobody wants it any more."""
        self._watch(task, self.interrupt)
        self._table.finished(task)

    def _watch(self, task: Task, look: Callable[[], None]) -> None:
        """Tell the table what the program thinks; `look` is called at each line, and may end it."""
        word = self._follower.first_listed("kata-analyze", "lz-analyze")
        if word is None:
            raise GoError("The engine lists neither kata-analyze nor lz-analyze.")
        command = f"{word} {color_name(task.game.to_play)} {_options(word)}"
        reply = self._follower.program.watch(command, _Lines(self._table, task, look))
        if not reply.ok:
            raise GoError(f"The engine refuses to analyse: {reply.text}")

    def _count(self, task: Task) -> None:
        """Count with the engine's dead stones; by its own word where it has one. A void game is not counted."""
        if task.game.no_result:
            self._table.counts(task, Count(VOID))
            return
        dead: list[int] = []
        if self._follower.lists("final_status_list"):
            listed = self._follower.ask("final_status_list dead")
            words = listed.text.split() if listed.ok else []
            named = [parse_vertex(word, task.game.width, task.game.height) for word in words]
            dead = [vertex for vertex in named if task.game.color_at(vertex) in (BLACK, WHITE)]
        reply = self._follower.ask("final_score") if self._follower.lists("final_score") else None
        if reply is not None and reply.ok and task.game.is_over:
            score = reply.text.split()[0] if reply.text.split() else "0"
        else:
            score = format_score(final_score(task.game, dead))
        self._table.counts(task, Count(score, tuple(dead), _owners(task.game, dead)))


def _owners(game: Game, dead: list[int]) -> tuple[float, ...]:
    """Return who owns each point that is empty once the dead stones are off."""
    board = without_chains(game.board, dead)
    owner, _ = ownership_map(game, board)
    shown = {BLACK: 1.0, WHITE: -1.0}
    free = (int(owner[each]) if board[COLOR, each] == EMPTY else EMPTY for each in points(game.width, game.height))
    return tuple(shown.get(each, 0.0) for each in free)


class _Lines:
    """Reads the lines of one analysis and tells the table."""

    def __init__(self, table: Table, task: Task, look: Callable[[], None] = lambda: None) -> None:
        """look: called after every line; what was no longer wanted when it began has to be ended there."""
        self.played = ""
        self._table = table
        self._task = task
        self._look = look

    def __call__(self, line: str) -> None:
        """Take a line."""
        if line.startswith("play "):
            self.played = line.removeprefix("play ").strip()
            return
        answer = parse_analysis(line, self._task.game.width, self._task.game.height)
        if answer is not None:
            self._table.thinks(self._task, answer)
        self._look()


def _options(word: str) -> str:
    return _KATA if word.startswith("kata") else "20"
