"""A game session: the game with its variations, who plays which color, and the engine's next task.

Pages send commands from many threads and wait for changes; one engine worker takes the tasks and reports their results.
Knows neither HTTP nor GTP.
"""

import dataclasses
import secrets
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.apps.web.counting import toggled
from engine.apps.web.line import Line
from engine.apps.web.records import GameFile, read_variations, write_variations
from engine.apps.web.settings import GameSettings, PlayerKind, read_settings, recorded, rules_name
from engine.apps.web.snapshot import Count, Kind, Shown, Snapshot, Switches, Task, estimated
from engine.color import color_letter, opponent
from engine.errors import GoError
from engine.game import Game, Move
from engine.programs.answers import AnalysisAnswer
from engine.rules import parse_rules
from engine.settings.levels import FULL_LEVEL
from engine.vertex import parse_vertex


class GameSession:
    """One game, shown by any number of pages. Thread-safe."""

    def __init__(self, settings: GameSettings, folder: Path | None = None) -> None:
        """folder: each game is saved here after every move; None saves nothing. Raises GoError."""
        # One lock, two conditions: pages wait for a new version, the worker for a task.
        lock = threading.RLock()
        self._changed, self._has_work = threading.Condition(lock), threading.Condition(lock)
        self._folder = folder
        self._interrupt: Callable[[], None] = lambda: None
        self._engine, self._has_levels = "engine", False
        self._switches = Switches()
        self._version = self._ticket = self._pages = 0
        self._is_closed = False
        self._name = secrets.token_hex(8)
        # Those of a record that names none: the user chose them for this server.
        self._default_rules = parse_rules(settings.rules)
        self._begin(settings, [Line(settings.new_game())])

    def _begin(self, settings: GameSettings, variations: list[Line], notice: str = "") -> None:
        """Start with a game and its variations. The caller holds the lock, or no other thread knows the session yet."""
        self._settings = settings
        self._variations = variations
        self._notice = notice
        self._line = variations[0]
        self._file = GameFile(self._folder)
        self._wants_score = False
        self._discard_results()

    def _discard_results(self) -> None:
        """Discard analysis, count and errors of the position, and outdate the running task."""
        self._shown = Shown()
        self._is_paused = False
        self._current: Task | None = None
        self._ticket += 1

    def on_new_ticket(self, interrupt: Callable[[], None]) -> None:
        """Set the callback that interrupts an outdated task."""
        self._interrupt = interrupt

    # Commands of pages

    def command(self, name: str, fields: dict[str, Any]) -> None:
        """Execute one of COMMANDS. Raises GoError (one line) without having changed anything."""
        if name not in COMMANDS:
            raise GoError(f"expected one of {', '.join(COMMANDS)}, got {name!r}")
        with self._changed:
            COMMANDS[name](self, fields)
            self._notify()
        self._interrupt()

    def open(self, text: bytes) -> None:
        """Show the game and the variations of an SGF record. Raises BadSgf without having changed anything."""
        record, variations = read_variations(text, self._default_rules)
        variations[0].result = record.result or None
        used = rules_name(variations[0].game.rules)
        notice = "" if record.rules else f"The record names no rules that Keima knows: {used} rules are used."
        with self._changed:
            self._begin(recorded(record, variations[0].game, self._settings), variations, notice)
            self._notify()
        self._interrupt()

    def _new(self, fields: dict[str, Any]) -> None:
        settings = replace(read_settings(fields, self._settings), people={}, about=None)
        self._begin(settings, [Line(settings.new_game())])

    def _play(self, fields: dict[str, Any]) -> None:
        if self._settings.players[self._game.to_play] is PlayerKind.ENGINE and not self._line.is_review:
            raise GoError(f"it is {self._engine}'s turn")
        self._add(parse_vertex(str(fields.get("move", "")), self._game.width, self._game.height))

    def _resign(self, fields: dict[str, Any]) -> None:
        if self._line.result is not None:
            raise GoError("the game is over")
        self._line.go_to(len(self._line.moves))
        loser = self._game.to_play
        if self._settings.players[loser] is PlayerKind.ENGINE and PlayerKind.PERSON in self._settings.players.values():
            loser = opponent(loser)
        self._end(f"{color_letter(opponent(loser))}+R")

    def _undo(self, fields: dict[str, Any]) -> None:
        """Take back moves up to and including the person's last one; a single move if both players are of one kind."""
        moves = self._line.moves
        if not moves:
            raise GoError("there is no move to take back")
        players = self._settings.players
        is_mixed = set(players.values()) == {PlayerKind.PERSON, PlayerKind.ENGINE}
        if is_mixed and all(players[move.color] is PlayerKind.ENGINE for move in moves):
            raise GoError("there is no move of yours to take back")
        while players[self._line.take_back().color] is PlayerKind.ENGINE and is_mixed:
            pass
        self._continue()

    def _go(self, fields: dict[str, Any]) -> None:
        """Go to a move, or by a number of moves: two steps that are on their way at once are then two steps."""
        is_relative = "by" in fields
        number = fields.get("by" if is_relative else "to")
        if not isinstance(number, int):
            raise GoError(f"expected the number of a move, got {number!r}")
        before = self._game.move_number
        self._line.go_to(before + number if is_relative else number)
        if self._game.move_number != before or self._is_paused:
            self._discard_results()

    def _variation(self, fields: dict[str, Any]) -> None:
        """Switch to another variation at its last shown position, but not before its first own move; 0 is the game."""
        number = fields.get("to")
        if not isinstance(number, int) or not 0 <= number < len(self._variations):
            raise GoError(f"expected the number of a variation, from 0 to {len(self._variations) - 1}, got {number!r}")
        variation = self._variations[number]
        if variation.game.move_number < variation.branch_point:
            variation.go_to(variation.branch_point + 1)
        self._show_line(variation)

    def _configure(self, fields: dict[str, Any]) -> None:
        if unknown := set(fields) - {"black", "white", "seconds", "level", "review_seconds"}:
            raise GoError(f"expected black, white, seconds, level or review_seconds, got {', '.join(sorted(unknown))}")
        settings = read_settings(fields, self._settings)
        if settings != self._settings or self._is_paused:
            self._settings = settings
            self._discard_results()

    def _switch(self, fields: dict[str, Any]) -> None:
        known = [each.name for each in dataclasses.fields(Switches)]
        if unknown := [name for name in fields if name not in known]:
            raise GoError(f"expected {', '.join(known)}, got {', '.join(unknown)}")
        self._switches = replace(self._switches, **{name: bool(on) for name, on in fields.items()})
        self._is_paused = False
        self._drop_unwanted()

    def _drop_unwanted(self) -> bool:
        """Outdate a running analysis or review that is no longer wanted; return whether there was one."""
        if self._current is None or self._current.kind not in (Kind.ANALYSIS, Kind.REVIEW):
            return False
        if self._current.kind is self.wanted():
            return False
        self._current = None
        self._ticket += 1
        return True

    def _count(self, fields: dict[str, Any]) -> None:
        self._discard_results()
        self._wants_score = True

    def _dead(self, fields: dict[str, Any]) -> None:
        """Toggle a chain of a finished game between dead and alive."""
        count = self._proposed()
        vertex = parse_vertex(str(fields.get("at", "")), self._game.width, self._game.height)
        self._shown.count = toggled(self._game, count, vertex)

    def _accept(self, fields: dict[str, Any]) -> None:
        """End the game with the count shown."""
        count = self._proposed()
        self._end(count.score)
        self._shown.count = count

    def _proposed(self) -> Count:
        """Return the count that the players may agree on. Raises GoError."""
        count = self._shown.count
        if count is None or not self._game.is_over or self._line.is_review:
            raise GoError("there is no count to agree on")
        return count

    # Changes of the game

    @property
    def _game(self) -> Game:
        return self._line.game

    def _add(self, vertex: int) -> None:
        """Play a move for the side to move at the position shown. Raises IllegalMove.

        Before the end of a line this switches to a line that already contains the move, or starts a new variation.
        """
        moves = [*self._game.moves, Move(self._game.to_play, vertex)]
        known = [line for line in (self._line, *self._variations) if line.begins_with(moves)]
        if self._line.is_review and known:
            known[0].go_to(len(moves))
            self._show_line(known[0])
            return
        line = self._line.after(vertex)
        if line is not self._line:
            self._variations.append(line)
        self._line = line
        self._continue()

    def _show_line(self, line: Line) -> None:
        """Show an existing line."""
        self._line = line
        self._wants_score = False
        self._discard_results()

    def _continue(self) -> None:
        """Discard results and save after the line has changed."""
        self._wants_score = False
        self._discard_results()
        self._save()

    def _end(self, result: str) -> None:
        self._line.result = result
        self._discard_results()
        self._save()

    def _save(self) -> None:
        if not any(variation.moves for variation in self._variations):
            return
        try:
            self._file.save(self._text())
        except OSError as error:
            self._shown.error = f"The game is not saved: {self._folder}: {error.strerror}"

    def _text(self) -> str:
        level = f", level {self._settings.level}" if self._has_levels and self._settings.level < FULL_LEVEL else ""
        return write_variations(self._variations, self._settings, self._engine + level, self._file.began)

    # Tasks of the engine

    def next_task(self) -> Task | None:
        """Wait for a task and return it; None once the session is closed."""
        with self._changed:
            while True:
                if self._is_closed:
                    return None
                kind = self.wanted()
                if kind is not None and (self._current is None or self._current.ticket != self._ticket):
                    number = self._game.move_number if kind is not Kind.REVIEW else min(self._line.unreviewed)
                    settings = self._settings
                    seconds = settings.review_seconds if kind is Kind.REVIEW else settings.seconds
                    self._current = Task(kind, self._line.at(number), self._ticket, seconds, settings.level)
                    self._notify()
                    return self._current
                self._has_work.wait()

    def wanted(self) -> Kind | None:
        """Return the kind of the engine's next task, None if there is none."""
        if self._is_paused:
            return None
        if self._wants_score or (self._game.is_over and self._line.result is None and self._shown.count is None):
            return Kind.SCORE
        is_over = self._game.is_over
        if not is_over and not self._line.is_review and self._settings.players[self._game.to_play] is PlayerKind.ENGINE:
            return Kind.MOVE
        if self._switches.review and self._line.unreviewed:
            return Kind.REVIEW
        is_seen = self._pages > 0  # an analysis has no end, so it runs only while a page is open
        return Kind.ANALYSIS if is_seen and self._switches.need_analysis and not is_over else None

    def is_wanted(self, task: Task) -> bool:
        """Return whether a task's result is still of use."""
        return task.ticket == self._ticket and not self._is_closed

    def analysis_received(self, task: Task, answer: AnalysisAnswer) -> None:
        """Store an intermediate analysis and show it."""
        with self._changed:
            if not self.is_wanted(task):
                return
            if task.kind is not Kind.REVIEW:
                self._shown.answer = answer
            self._note(task, answer)
            self._notify()

    def _note(self, task: Task, answer: AnalysisAnswer) -> None:
        """Store the estimate of a position."""
        if (estimate := estimated(answer, task.game.to_play)) is not None:
            self._line.estimates[task.game.move_number] = estimate

    def engine_moved(self, task: Task, vertex: int) -> bool:
        """Play the engine's move unless its task is outdated; return whether it was played. Raises IllegalMove."""
        with self._changed:
            if not self.is_wanted(task):
                return False
            self._add(vertex)
            self._notify()
            return True

    def engine_resigned(self, task: Task) -> None:
        """End the game with the engine's resignation."""
        with self._changed:
            if self.is_wanted(task):
                self._end(f"{color_letter(opponent(task.game.to_play))}+R")
                self._notify()

    def position_counted(self, task: Task, count: Count) -> None:
        """Show a count. If the game is over, it is the result, unless people have to agree on dead stones."""
        with self._changed:
            if not self.is_wanted(task):
                return
            self._wants_score = False
            must_agree = self._game.rules.may_agree and PlayerKind.PERSON in self._settings.players.values()
            if self._game.is_over and not self._line.is_review and (self._game.no_result or not must_agree):
                self._end(count.score)
            self._shown.count = count
            self._current = None
            self._ticket += 1
            self._notify()

    def task_finished(self, task: Task) -> None:
        """Record that an analysis has ended by itself, or that a position is reviewed.

        After an analysis the engine pauses until the next command of a page.
        """
        with self._changed:
            if not self.is_wanted(task):
                return
            if task.kind is Kind.REVIEW:
                self._line.reviewed.add(task.game.move_number)
                self._ticket += 1
            else:
                self._is_paused = True
            self._current = None
            self._notify()

    def task_failed(self, task: Task | None, message: str) -> None:
        """Show an error; the engine pauses until the next command of a page."""
        with self._changed:
            if task is None or self.is_wanted(task):
                self._wants_score = False
                self._is_paused = True
                self._current = None
            self._shown.error = message
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

    def engine_started(self, engine: str, *, has_levels: bool = False) -> None:
        """Set the engine's name and whether it has the GTP command `level`."""
        with self._changed:
            self._engine, self._has_levels = engine, has_levels
            if not has_levels and self._settings.level < FULL_LEVEL:
                self._shown.error = f"{engine} knows no levels: it plays as well as it can."
            self._notify()

    def record(self) -> tuple[str, str]:
        """Return the game as SGF text and a name for its file."""
        with self._changed:
            return self._text(), self._file.name

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
            return Snapshot(
                self._version,
                self._settings,
                self._game.copy(),
                tuple(self._line.moves),
                self._line.is_review,
                self._line.result,
                self._engine,
                self._has_levels,
                self._current.kind if self._current and self._current.ticket == self._ticket else None,
                replace(self._shown),
                self._switches,
                dict(self._line.estimates),
                self._line.notes.get(self._game.move_number, ""),
                len(self._line.reviewed),
                tuple(line.variation for line in self._variations),
                self._variations.index(self._line),
                self._notice,
                self._name,
            )

    @property
    def is_closed(self) -> bool:
        """True after `close`."""
        return self._is_closed

    def close(self) -> None:
        """Close the session: all waiting threads return."""
        with self._changed:
            self._is_closed = True
            self._notify()
        self._interrupt()

    def _notify(self) -> None:
        self._version += 1
        self._changed.notify_all()
        self._has_work.notify_all()


COMMANDS: dict[str, Callable[[GameSession, dict[str, Any]], None]] = {
    "new": GameSession._new,
    "play": GameSession._play,
    "resign": GameSession._resign,
    "undo": GameSession._undo,
    "go": GameSession._go,
    "variation": GameSession._variation,
    "configure": GameSession._configure,
    "switch": GameSession._switch,
    "count": GameSession._count,
    "dead": GameSession._dead,
    "accept": GameSession._accept,
}
