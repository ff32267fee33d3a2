"""The table: a game, who sits at it, and what its engine is to do next.

Pages command it from many threads and wait for its changes; one thinker takes its tasks and answers them. Knows
neither HTTP nor GTP.
"""

import dataclasses
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.apps.web.facts import Count, Estimate, Facts, Kind, Shown, Switches, Task
from engine.apps.web.line import Line
from engine.apps.web.records import GameFile, read_ways, write_ways
from engine.apps.web.settings import GameSettings, Sitting, read_settings, recorded
from engine.color import BLACK, color_letter, for_color, opponent
from engine.errors import GoError
from engine.game import Game, Move
from engine.programs.answers import AnalysisAnswer
from engine.settings.levels import FULL_LEVEL
from engine.vertex import parse_vertex


class Table:
    """One game that several pages may look at. All methods may be called from any thread."""

    def __init__(self, settings: GameSettings, folder: Path | None = None) -> None:
        """folder: where every game is saved after each move, None for nowhere. Raises GoError."""
        # One lock, two conditions: pages wait for a new version, the thinker for something to do.
        lock = threading.RLock()
        self._changed, self._has_work = threading.Condition(lock), threading.Condition(lock)
        self._folder = folder
        self._interrupt: Callable[[], None] = lambda: None
        self._engine, self._has_levels = "engine", False
        self._switches = Switches()
        self._version = self._ticket = self._visitors = 0
        self._is_closed = False
        self._begin(settings, [Line(settings.new_game())])

    def _begin(self, settings: GameSettings, ways: list[Line]) -> None:
        """Sit down to a game and other ways of it. The caller holds the lock, or nobody else knows the table."""
        self._settings = settings
        self._ways = ways
        self._line = ways[0]
        self._file = GameFile(self._folder)
        self._wants_score = False
        self._turn_over()

    def _turn_over(self) -> None:
        """Have everything that was said about a position forgotten, and what is under way given up."""
        self._shown = Shown()
        self._is_paused = False
        self._taken: Task | None = None
        self._ticket += 1

    def on_new_ticket(self, interrupt: Callable[[], None]) -> None:
        """Name who ends what is under way when it is no longer wanted."""
        self._interrupt = interrupt

    # What a page can do

    def command(self, name: str, fields: dict[str, Any]) -> None:
        """Do what a page asks for by a name of COMMANDS. Raises GoError, one line, and changes nothing then."""
        if name not in COMMANDS:
            raise GoError(f"expected one of {', '.join(COMMANDS)}, got {name!r}")
        with self._changed:
            COMMANDS[name](self, fields)
            self._tell()
        self._interrupt()

    def open(self, text: bytes) -> None:
        """Show the game of a record, and its ways. Raises BadSgf, and changes nothing then."""
        record, ways = read_ways(text)
        ways[0].result = record.result or None
        with self._changed:
            self._begin(recorded(record, ways[0].game, self._settings), ways)
            self._tell()
        self._interrupt()

    def _new(self, fields: dict[str, Any]) -> None:
        settings = replace(read_settings(fields, self._settings), people={}, about=None)
        self._begin(settings, [Line(settings.new_game())])

    def _play(self, fields: dict[str, Any]) -> None:
        if self._settings.sittings[self._game.to_play] is Sitting.ENGINE and not self._line.is_review:
            raise GoError(f"it is {self._engine}'s turn")
        self._add(parse_vertex(str(fields.get("move", "")), self._game.width, self._game.height))

    def _resign(self, fields: dict[str, Any]) -> None:
        if self._line.result is not None:
            raise GoError("the game is over")
        self._line.go_to(len(self._line.moves))
        loser = self._game.to_play
        if self._settings.sittings[loser] is Sitting.ENGINE and Sitting.PERSON in self._settings.sittings.values():
            loser = opponent(loser)
        self._end(f"{color_letter(opponent(loser))}+R")

    def _undo(self, fields: dict[str, Any]) -> None:
        """Take back moves down to and with a person's last one; one move where nobody, or everybody, is a person."""
        moves = self._line.moves
        if not moves:
            raise GoError("there is no move to take back")
        sittings = self._settings.sittings
        is_mixed = set(sittings.values()) == {Sitting.PERSON, Sitting.ENGINE}
        if is_mixed and all(sittings[move.color] is Sitting.ENGINE for move in moves):
            raise GoError("there is no move of yours to take back")
        while sittings[self._line.take_back().color] is Sitting.ENGINE and is_mixed:
            pass
        self._continue()

    def _go(self, fields: dict[str, Any]) -> None:
        number = fields.get("to")
        if not isinstance(number, int):
            raise GoError(f"expected the number of a move, got {number!r}")
        before = self._game.move_number
        self._line.go_to(number)
        if self._game.move_number != before or self._is_paused:
            self._turn_over()

    def _way(self, fields: dict[str, Any]) -> None:
        """Go on along another way, where it was left, at its own first move at least; 0 is the game itself."""
        number = fields.get("to")
        if not isinstance(number, int) or not 0 <= number < len(self._ways):
            raise GoError(f"expected the number of a way, from 0 to {len(self._ways) - 1}, got {number!r}")
        way = self._ways[number]
        if way.game.move_number < way.began:
            way.go_to(way.began + 1)
        self._go_along(way)

    def _sit(self, fields: dict[str, Any]) -> None:
        if unknown := set(fields) - {"black", "white", "seconds", "level"}:
            raise GoError(f"expected black, white, seconds or level, got {', '.join(sorted(unknown))}")
        settings = read_settings(fields, self._settings)
        if settings != self._settings or self._is_paused:
            self._settings = settings
            self._turn_over()

    def _switch(self, fields: dict[str, Any]) -> None:
        known = [each.name for each in dataclasses.fields(Switches)]
        if unknown := [name for name in fields if name not in known]:
            raise GoError(f"expected {', '.join(known)}, got {', '.join(unknown)}")
        self._switches = replace(self._switches, **{name: bool(on) for name, on in fields.items()})
        self._is_paused = False
        self._drop_unwanted()

    def _drop_unwanted(self) -> bool:
        """Give up a running analysis or review that is no longer wanted; return whether there was one."""
        if self._taken is None or self._taken.kind not in (Kind.ANALYSIS, Kind.REVIEW):
            return False
        if self._taken.kind is self.wanted():
            return False
        self._taken = None
        self._ticket += 1
        return True

    def _count(self, fields: dict[str, Any]) -> None:
        self._turn_over()
        self._wants_score = True

    # How the game goes on

    @property
    def _game(self) -> Game:
        return self._line.game

    def _add(self, vertex: int) -> None:
        """Play a move for the side to move at the position shown. Raises IllegalMove.

        In the middle of a game it goes on along the way that has it, this one if it does, or begins another.
        """
        moves = [*self._game.moves, Move(self._game.to_play, vertex)]
        known = [line for line in (self._line, *self._ways) if line.begins_with(moves)]
        if self._line.is_review and known:
            known[0].go_to(len(moves))
            self._go_along(known[0])
            return
        line = self._line.after(vertex)
        if line is not self._line:
            self._ways.append(line)
        self._line = line
        self._continue()

    def _go_along(self, line: Line) -> None:
        """Show a way that there is."""
        self._line = line
        self._wants_score = False
        self._turn_over()

    def _continue(self) -> None:
        """Go on after a change of the line."""
        self._wants_score = False
        self._turn_over()
        self._save()

    def _end(self, result: str) -> None:
        self._line.result = result
        self._turn_over()
        self._save()

    def _save(self) -> None:
        if not any(way.moves for way in self._ways):
            return
        try:
            self._file.save(self._text())
        except OSError as error:
            self._shown.error = f"The game is not saved: {self._folder}: {error.strerror}"

    def _text(self) -> str:
        level = f", level {self._settings.level}" if self._has_levels and self._settings.level < FULL_LEVEL else ""
        return write_ways(self._ways, self._settings, self._engine + level, self._file.began)

    # What the engine is to do

    def next_task(self) -> Task | None:
        """Wait for something to do and return it; None once the table is closed."""
        with self._changed:
            while True:
                if self._is_closed:
                    return None
                kind = self.wanted()
                if kind is not None and (self._taken is None or self._taken.ticket != self._ticket):
                    number = self._game.move_number if kind is not Kind.REVIEW else min(self._line.unreviewed)
                    self._taken = Task(
                        kind, self._line.at(number), self._ticket, self._settings.seconds, self._settings.level
                    )
                    self._tell()
                    return self._taken
                self._has_work.wait()

    def wanted(self) -> Kind | None:
        """Return what the engine should do next, None if nothing."""
        if self._is_paused:
            return None
        if self._wants_score or (self._game.is_over and self._line.result is None and self._shown.count is None):
            return Kind.SCORE
        is_over = self._game.is_over
        if not is_over and not self._line.is_review and self._settings.sittings[self._game.to_play] is Sitting.ENGINE:
            return Kind.MOVE
        if self._switches.review and self._line.unreviewed:
            return Kind.REVIEW
        is_seen = self._visitors > 0  # an analysis without end is for somebody who looks at it
        return Kind.ANALYSIS if is_seen and self._switches.need_analysis and not is_over else None

    def is_wanted(self, task: Task) -> bool:
        """Return whether nothing has happened that makes a task's result useless."""
        return task.ticket == self._ticket and not self._is_closed

    def thinks(self, task: Task, answer: AnalysisAnswer) -> None:
        """Tell what the engine thinks so far."""
        with self._changed:
            if not self.is_wanted(task):
                return
            if task.kind is not Kind.REVIEW:
                self._shown.answer = answer
            self._note(task, answer)
            self._tell()

    def _note(self, task: Task, answer: AnalysisAnswer) -> None:
        """Remember the value of a position, in Black's view."""
        best = answer.candidates[0] if answer.candidates else None
        winrate = best.winrate if answer.winrate is None and best is not None else answer.winrate
        lead = best.lead if answer.score is None and best is not None else answer.score
        if winrate is None:
            return
        is_black = task.game.to_play == BLACK
        self._line.estimates[task.game.move_number] = Estimate(
            winrate if is_black else 1 - winrate, None if lead is None else for_color(lead, task.game.to_play)
        )

    def moves(self, task: Task, vertex: int) -> bool:
        """Play the engine's move if it is still wanted; return whether it was. Raises IllegalMove."""
        with self._changed:
            if not self.is_wanted(task):
                return False
            self._add(vertex)
            self._tell()
            return True

    def resigns(self, task: Task) -> None:
        """End the game: the engine gives up."""
        with self._changed:
            if self.is_wanted(task):
                self._end(f"{color_letter(opponent(task.game.to_play))}+R")
                self._tell()

    def counts(self, task: Task, count: Count) -> None:
        """Tell the count, whose score is the game's result if the game is over."""
        with self._changed:
            if not self.is_wanted(task):
                return
            self._wants_score = False
            if self._game.is_over and not self._line.is_review:
                self._end(count.score)
            self._shown.count = count
            self._taken = None
            self._ticket += 1
            self._tell()

    def finished(self, task: Task) -> None:
        """Say that an analysis has ended by itself, or that a position is reviewed.

        There will be another analysis once a page asks for something.
        """
        with self._changed:
            if not self.is_wanted(task):
                return
            if task.kind is Kind.REVIEW:
                self._line.reviewed.add(task.game.move_number)
                self._ticket += 1
            else:
                self._is_paused = True
            self._taken = None
            self._tell()

    def failed(self, task: Task | None, message: str) -> None:
        """Tell what went wrong; the engine rests until a page asks for something."""
        with self._changed:
            if task is None or self.is_wanted(task):
                self._wants_score = False
                self._is_paused = True
                self._taken = None
            self._shown.error = message
            self._tell()

    # What pages see

    def enter(self) -> None:
        """Count one more visitor: an analysis may begin for him. Other pages show nothing new."""
        with self._changed:
            self._visitors += 1
            self._has_work.notify_all()

    def leave(self) -> None:
        """Count one visitor less; when nobody looks any more, an analysis ends."""
        with self._changed:
            self._visitors -= 1
            if self._drop_unwanted():
                self._tell()
        self._interrupt()

    def sit_down(self, engine: str, *, has_levels: bool = False) -> None:
        """Tell the engine's name, and whether it plays at a level that it is told."""
        with self._changed:
            self._engine, self._has_levels = engine, has_levels
            if not has_levels and self._settings.level < FULL_LEVEL:
                self._shown.error = f"{engine} knows no levels: it plays as well as it can."
            self._tell()

    def record(self) -> tuple[str, str]:
        """Return the game as SGF, and a name for its file."""
        with self._changed:
            return self._text(), self._file.name

    @property
    def version(self) -> int:
        """A number that grows with every change that pages show."""
        return self._version

    def wait_for_change(self, after: int, seconds: float) -> bool:
        """Wait until the version differs from `after` or the table is closed; return False after the timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: self._version != after or self._is_closed, seconds)

    def facts(self) -> Facts:
        """Return the table as it is now, for a page."""
        with self._changed:
            return Facts(
                self._version,
                self._settings,
                self._game.copy(),
                tuple(self._line.moves),
                self._line.is_review,
                self._line.result,
                self._engine,
                self._has_levels,
                self._taken.kind if self._taken and self._taken.ticket == self._ticket else None,
                replace(self._shown),
                self._switches,
                dict(self._line.estimates),
                self._line.notes.get(self._game.move_number, ""),
                len(self._line.reviewed),
                tuple(line.way for line in self._ways),
                self._ways.index(self._line),
            )

    @property
    def is_closed(self) -> bool:
        """True once nobody is to wait for anything any more."""
        return self._is_closed

    def close(self) -> None:
        """Let everyone who waits go."""
        with self._changed:
            self._is_closed = True
            self._tell()
        self._interrupt()

    def _tell(self) -> None:
        self._version += 1
        self._changed.notify_all()
        self._has_work.notify_all()


COMMANDS: dict[str, Callable[[Table, dict[str, Any]], None]] = {
    "new": Table._new,
    "play": Table._play,
    "resign": Table._resign,
    "undo": Table._undo,
    "go": Table._go,
    "way": Table._way,
    "sit": Table._sit,
    "switch": Table._switch,
    "count": Table._count,
}
