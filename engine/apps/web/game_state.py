"""The game that pages show and what their commands change in it. Knows neither threads nor the engine's program."""

import dataclasses
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from engine.apps.web.counting import toggled
from engine.apps.web.game_clock import GameClock
from engine.apps.web.open_game import OpenGame, new_game
from engine.apps.web.records import GameFile, read_tree, write_tree
from engine.apps.web.settings import GameSettings, PlayerKind, read_settings, recorded
from engine.apps.web.snapshot import Count, Limits, Notice, Shown, Switches
from engine.apps.web.tree import GameTree, Node
from engine.color import BLACK, WHITE, color_letter, color_name, opponent
from engine.errors import BadVertex, GoError
from engine.game import Game, Move
from engine.records.markup import SYMBOLS
from engine.records.setup import Step
from engine.rules import parse_rules
from engine.settings.levels import FULL
from engine.vertex import PASS, parse_vertex

INFO = ("PB", "BR", "PW", "WR", "EV", "RO", "DT", "PC", "GN")
"""SGF properties about a game that pages may change."""
_CHANGEABLE = ("black", "white", "seconds", "visits", "rank", "review_seconds")
"""Settings that may change during a game."""
_PLACE = ("game", "variation", "to")
LONGEST_INFO = 200
LONGEST_NOTE = 20_000
LABELS = {"letter": tuple(ascii_uppercase), "number": tuple(str(number) for number in range(1, 1000))}
"""Labels that pages write, by kind, in their order."""


class GameState:
    """The open game, the results shown beside it, and the switches.

    ticket: changes whenever the engine's running task is outdated. is_paused: the engine waits for a command.
    """

    def __init__(self, settings: GameSettings, folder: Path | None, default_komi: float | None = None) -> None:
        """folder: each game is saved here after every move; None saves nothing. Raises GoError.

        default_komi: of a record that names none; None for the usual one.
        """
        self.engine, self.has_ranks, self.limits = "engine", False, Limits()
        self.switches = Switches()
        self.shown = Shown()
        self.ticket = 0
        self.is_paused = self.wants_score = False
        self._folder = folder
        # Those of a record that names none: the user chose them for this server.
        self._default_rules, self._default_komi = parse_rules(settings.rules), default_komi
        self._open = new_game(settings, self._folder)
        self._previous: OpenGame | None = None

    # What is shown

    @property
    def settings(self) -> GameSettings:
        """The settings of the game."""
        return self._open.settings

    @property
    def tree(self) -> GameTree:
        """The game and its variations."""
        return self._open.tree

    @property
    def game(self) -> Game:
        """The game at the position shown."""
        return self._open.tree.game

    @property
    def notice(self) -> Notice:
        """How the record was read."""
        return self._open.notice

    @property
    def number(self) -> int:
        """The number of the game, which no other has."""
        return self._open.number

    @property
    def file_name(self) -> str:
        """A name for the game's file."""
        return self._open.file.name

    @property
    def info(self) -> dict[str, str]:
        """Names, ranks, event and so on, by SGF property."""
        return self._open.info

    @property
    def may_undo(self) -> bool:
        """True if there is a move to take back, or a game before this one."""
        return self.tree.shown is self.tree.end and (self.tree.end.number > 0 or self.has_previous)

    @property
    def has_previous(self) -> bool:
        """True if there is a game before this one."""
        return self._previous is not None

    @property
    def following(self) -> tuple[Move | None, ...]:
        """The moves after the position shown, first that of the line shown; None where stones are set up."""
        node, line = self.tree.shown, self.tree.end.path()
        after = line[node.number + 1] if node.number + 1 < len(line) else None
        return tuple(each.move for each in sorted(node.children, key=lambda child: child is not after))

    # Commands of pages

    def open(self, text: bytes) -> None:
        """Show the game and the variations of an SGF record. Raises BadSgf without having changed anything."""
        record, tree, notice = read_tree(text, self._default_rules, self._default_komi)
        tree.game_end.result = record.result or None
        settings = recorded(record, tree.game, self.settings)
        self._begin(OpenGame(settings, tree, GameFile(self._folder), notice))

    def _new(self, fields: dict[str, Any]) -> None:
        settings = replace(read_settings(fields, self.settings), people={}, about=None, is_record=False)
        self._begin(new_game(settings, self._folder))

    def _begin(self, opened: OpenGame) -> None:
        """Show a game; taking back at its start leads to the one before, unless that has no moves."""
        if self.tree.root.children:
            self._previous = self._open
        self._show_game(opened)

    def _back_to_previous(self, fields: dict[str, Any]) -> None:
        """Show the game before this one, which becomes the one before if it has moves."""
        if self._previous is None:
            raise GoError("there is no game before this one")
        opened, self._previous = self._previous, self._open if self.tree.root.children else None
        self._show_game(opened)

    def _show_game(self, opened: OpenGame) -> None:
        if self._open.clock is not None:
            self._open.clock.stop()
        self._open = opened
        self._show_line()
        self.follow_clock()

    def discard_results(self) -> None:
        """Discard analysis and errors of the position, and outdate the running task."""
        self.shown = Shown(count=self.tree.shown.count)
        self.is_paused = False
        self.ticket += 1

    def _play(self, fields: dict[str, Any]) -> None:
        if self.settings.players[self.game.to_play] is PlayerKind.ENGINE and not self.tree.is_review:
            raise GoError(f"it is {self.engine}'s turn")
        self.play(self._vertex(fields, "move"))

    def play(self, vertex: int) -> None:
        """Play a move for the side to move at the position shown. Raises IllegalMove.

        Before the end of a line this goes to a line that already contains the move, or starts a new variation.
        """
        is_new = self.tree.play(vertex)
        self._continue() if is_new else self._show_line()

    def _vertex(self, fields: dict[str, Any], name: str) -> int:
        return parse_vertex(str(fields.get(name, "")), self.game.width, self.game.height)

    def _resign(self, fields: dict[str, Any]) -> None:
        if self.tree.end.result is not None:
            raise GoError("the game is over")
        if self.clock is not None and self.tree.game_end.result is None:
            self.tree.show_line(0)  # the game that is played by the clock, not a variation beside it
        self.tree.go_to(self.tree.end.number)
        loser, players = self.game.to_play, self.settings.players
        if players[loser] is PlayerKind.ENGINE and PlayerKind.PERSON in players.values():
            loser = opponent(loser)
        self.finish(f"{color_letter(opponent(loser))}+R")

    def _undo(self, fields: dict[str, Any]) -> None:
        """Take back steps up to and including the person's last one; a single one if both players are of one kind.

        Stones that a record sets up are a person's. Without a step of theirs, show the game before it. Refused before
        the end of the line: moves that are not shown would be lost.
        """
        tree, players = self.tree, self.settings.players
        if tree.shown is not tree.end:
            raise GoError("only the last move can be taken back: go to the end first")
        is_mixed = set(players.values()) == {PlayerKind.PERSON, PlayerKind.ENGINE}

        def is_engines(step: Step) -> bool:
            return is_mixed and isinstance(step, Move) and players[step.color] is PlayerKind.ENGINE

        if all(is_engines(step) for step in tree.steps):
            if self._previous is None:
                raise GoError(f"there is no move {'of yours ' if tree.steps else ''}to take back")
            self._back_to_previous({})
            return
        while is_engines(tree.take_back()):
            pass
        self._continue()

    def _go(self, fields: dict[str, Any]) -> None:
        """Go to a move, or by a number of moves: two steps that are on their way at once are then two steps.

        variation: the index of the line where the move is.
        """
        is_relative = "by" in fields
        number = fields.get("by" if is_relative else "to")
        if not isinstance(number, int):
            raise GoError(f"expected the number of a move, got {number!r}")
        before = self.tree.shown
        if "variation" in fields:
            self.tree.show_line(self._line_number(fields["variation"]), number)
        else:
            self.tree.go_to(before.number + number if is_relative else number)
        if self.tree.shown is not before or self.is_paused:
            self._show_line()

    def _variation(self, fields: dict[str, Any]) -> None:
        """Go to another line: `to` its index, or `by` a number of lines.

        `to` shows it at its last shown position, `by` at the same move number; neither goes before its first own move.
        """
        if "by" not in fields:
            self.tree.show_line(self._line_number(fields.get("to")))
        else:
            if not isinstance(fields["by"], int):
                raise GoError(f"expected a number of lines, got {fields['by']!r}")
            lines, number = self.tree.variations(), self.tree.shown.number
            index = min(max(self.tree.index + fields["by"], 0), len(lines) - 1)
            own = lines[index].branch_point + 1 if index else 0
            self.tree.show_line(index, max(number, own) if index != self.tree.index else number)
        self._show_line()

    def _line_number(self, number: object) -> int:
        count = len(self.tree.ends())
        if not isinstance(number, int) or not 0 <= number < count:
            raise GoError(f"expected the number of a variation, from 0 to {count - 1}, got {number!r}")
        return number

    def _configure(self, fields: dict[str, Any]) -> None:
        if unknown := set(fields) - set(_CHANGEABLE):
            raise GoError(f"expected {', '.join(_CHANGEABLE)}, got {', '.join(sorted(unknown))}")
        settings = read_settings(fields, self.settings)
        if settings != self.settings or self.is_paused:
            self._open.settings = settings
            self.tree.retry_skipped()
            self.discard_results()

    def _switch(self, fields: dict[str, Any]) -> None:
        known = [each.name for each in dataclasses.fields(Switches)]
        if unknown := [name for name in fields if name not in known]:
            raise GoError(f"expected {', '.join(known)}, got {', '.join(unknown)}")
        self.switches = replace(self.switches, **{name: bool(on) for name, on in fields.items()})
        if fields.get("review"):
            self.tree.retry_skipped()
        self.is_paused = False

    def _count(self, fields: dict[str, Any]) -> None:
        self.discard_results()
        self.wants_score = True

    def _dead(self, fields: dict[str, Any]) -> None:
        """Toggle a chain of a finished game between dead and alive."""
        count = self._proposed()
        self.propose(toggled(self.game, count, self._vertex(fields, "at")))

    def _accept(self, fields: dict[str, Any]) -> None:
        """End the game with the count shown."""
        self.finish(self._proposed().score)

    def propose(self, count: Count) -> None:
        """Show the count of a finished game, which waits for the players' agreement. It is saved as the result."""
        self.tree.shown.count = self.shown.count = count
        self._save()

    def _proposed(self) -> Count:
        """Return the count that the players may agree on. Raises GoError."""
        count = self.shown.count
        if count is None or not self.game.is_over or self.tree.is_review:
            raise GoError("there is no count to agree on")
        return count

    def _edit(self, fields: dict[str, Any]) -> None:
        """Change the comment of a position (`note`), or names, ranks and so on of the game (see INFO).

        variation, to: the line and the number of the position; without them it is the one shown. game: the number of
        the game, so that a text that comes late does not get into the next one. is_record: as in `GameSettings`, of a
        page that gives its game back to a server that was started again.
        """
        if unknown := set(fields) - {"note", "is_record", *_PLACE, *INFO}:
            raise GoError(f"expected note, {', '.join(INFO)}, got {', '.join(sorted(unknown))}")
        if fields.get("game", self._open.number) != self._open.number:
            raise GoError("another game is open")
        node, is_record = self._node(fields), bool(fields.get("is_record", self.settings.is_record))
        fields = {name: text for name, text in fields.items() if name not in (*_PLACE, "is_record")}
        for name, text in fields.items():
            longest = LONGEST_NOTE if name == "note" else LONGEST_INFO
            if not isinstance(text, str) or len(text) > longest:
                raise GoError(f"{name}: expected a text of at most {longest} characters")
        given = {name: text.strip() for name, text in fields.items()}
        if (note := given.pop("note", None)) is not None:
            node.note = note
        self._open.settings = replace(self.settings, is_record=is_record)
        people = {color: given.pop(name) for color, name in ((BLACK, "PB"), (WHITE, "PW")) if name in given}
        if given or people:
            about = {key: text for key, text in (self.info | given).items() if key not in ("PB", "PW")}
            self._open.settings = replace(self.settings, people=dict(self.settings.people) | people, about=about)
        self._save()

    def _node(self, fields: dict[str, Any]) -> Node:
        """Return the position that `variation` and `to` name, the one shown without them."""
        if "variation" not in fields:
            return self.tree.shown
        line, number = self.tree.ends()[self._line_number(fields["variation"])].path(), fields.get("to")
        if not isinstance(number, int) or not 0 <= number < len(line):
            raise GoError(f"expected the number of a move, got {number!r}")
        return line[number]

    def _mark(self, fields: dict[str, Any]) -> None:
        """Draw a symbol or a label at a point of the position shown, or erase it where it is drawn already.

        mark: one of TR, SQ, CR, MA, or one of LABELS for the next letter or number that the position has not.
        """
        vertex, node, mark = self._vertex(fields, "at"), self.tree.shown, fields.get("mark")
        if vertex == PASS:
            raise BadVertex("expected a point, got pass")
        if isinstance(mark, str) and mark in LABELS:
            choices = LABELS[mark]
            if node.labels.get(vertex) in choices:
                del node.labels[vertex]
            else:
                used = set(node.labels.values())
                node.labels[vertex] = next((each for each in choices if each not in used), choices[-1])
        elif mark not in SYMBOLS:
            raise GoError(f"expected {', '.join((*SYMBOLS, *LABELS))}, got {mark!r}")
        elif node.symbols.get(vertex) == mark:
            del node.symbols[vertex]
        else:
            node.symbols[vertex] = mark
        self._save()

    # Changes of the game

    def _show_line(self) -> None:
        self.wants_score = False
        self.discard_results()

    def _continue(self) -> None:
        """Discard results, let the clocks follow and save after the line has changed."""
        self._show_line()
        self.follow_clock()
        self._save()

    def finish(self, result: str) -> None:
        """End the game with a result."""
        self.tree.end.result = result
        self.discard_results()
        self.follow_clock()
        self._save()

    # The clocks

    @property
    def clock(self) -> GameClock | None:
        """The clocks of the game, if it has any."""
        return self._open.clock

    def _resume_clock(self, fields: dict[str, Any]) -> None:
        """Give the game clocks that have run already, as the page of a server that was started again knows them.

        clock: as in the settings. left: [seconds, stones or periods] by color. The running move begins anew.
        """
        settings = read_settings({"clock": fields.get("clock")}, self.settings)
        if settings.clock is None:
            raise GoError("expected a clock such as fischer:60+5")
        clock = GameClock(settings.clock)
        try:
            left = {color: fields["left"][color_name(color)] for color in (BLACK, WHITE)}
            clock.resume({color: (float(seconds), int(count)) for color, (seconds, count) in left.items()})
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise GoError("left: expected [seconds, periods] of black and white, within the clock's time") from error
        self._open.settings, self._open.clock = settings, clock
        self.discard_results()
        self.follow_clock()

    def follow_clock(self) -> None:
        """Let the clocks follow the game to its last move. A move that came too late loses the game."""
        clock, end = self._open.clock, self.tree.game_end
        if clock is None:
            return
        is_over = end.result is not None or self.tree.at_node(end).is_over
        mover = clock.running
        if not clock.follow(end, is_over=is_over) and mover is not None:
            self._lose_on_time(mover)

    def pause_clock(self) -> None:
        """Let an engine's clock wait while another position is shown: it does not think about its move then."""
        clock = self._open.clock
        if clock is not None and clock.running is not None:
            is_engines = self.settings.players[clock.running] is PlayerKind.ENGINE
            clock.pause(is_engines and self.tree.shown is not self.tree.game_end)

    def check_time(self) -> bool:
        """End the game if the time of the player to move is over; return whether it was."""
        clock = self._open.clock
        if clock is None or clock.running is None or clock.seconds_left != 0:
            return False
        self._lose_on_time(clock.running)
        return True

    def _lose_on_time(self, loser: int) -> None:
        if self._open.clock is not None:
            self._open.clock.run_out(loser)
        self.tree.game_end.result = f"{color_letter(opponent(loser))}+T"
        self.discard_results()
        self._save()

    def _save(self) -> None:
        if not self.tree.root.children:
            return
        try:
            self._open.file.save(self.text())
        except OSError as error:
            self.shown.error = f"The game is not saved: {self._folder}: {error.strerror}"

    def text(self) -> str:
        """Return the game as SGF text."""
        rank = f", {self.settings.rank}" if self.has_ranks and self.settings.rank != FULL else ""
        return write_tree(self.tree, self.settings, self.engine + rank, self.info)


COMMANDS: dict[str, Callable[[GameState, dict[str, Any]], None]] = {
    "new": GameState._new,
    "play": GameState._play,
    "resign": GameState._resign,
    "undo": GameState._undo,
    "go": GameState._go,
    "variation": GameState._variation,
    "configure": GameState._configure,
    "switch": GameState._switch,
    "count": GameState._count,
    "dead": GameState._dead,
    "accept": GameState._accept,
    "edit": GameState._edit,
    "mark": GameState._mark,
    "clock": GameState._resume_clock,
    "previous": GameState._back_to_previous,
}
