"""Speaks GTP with one program of a match, measures its time, and turns its failures into lost games.

The process belongs to `engine.programs.program`; turns and results belong to `engine.match.game`.
"""

import contextlib
import logging
import time
from dataclasses import dataclass

from engine.clock import Kind, TimeSettings
from engine.match.clock import Clock, clock_text, knows_clocks, settings_command
from engine.match.errors import MatchError
from engine.match.settings import MatchSettings
from engine.programs.answers import parse_score
from engine.programs.commands import introduced, rules_command, size_command
from engine.programs.program import RESTING, Program, ProgramFailure, Reply, Trouble, printable
from engine.rules import Rules
from engine.vertex import format_vertex

log = logging.getLogger(__name__)

_WARM_UP_TIME = TimeSettings(Kind.CANADIAN, period=1.0, count=1)


@dataclass(frozen=True)
class Score:
    """A counted result, Black-positive; `margin` is None if only the winner is known."""

    sign: int
    margin: float | None

    @classmethod
    def of(cls, lead: float) -> "Score":
        """Return the score for a lead of Black."""
        return cls((lead > 0) - (lead < 0), abs(lead))

    def __str__(self) -> str:
        """Format the score as in SGF and GTP."""
        if self.sign == 0:
            return "0"
        return ("B+" if self.sign > 0 else "W+") + ("" if self.margin is None else f"{self.margin:g}")


class Forfeit(Exception):
    """A game lost by the program with `label`, and the reason."""

    def __init__(self, label: str, reason: str, detail: str) -> None:
        super().__init__(f"{label} loses by {reason}: {detail}")
        self.label = label
        self.reason = reason
        self.detail = detail


class Refusal(MatchError):
    """A program does not know, or refuses, a command that the match needs, such as the board size."""


class CannotStart(MatchError):
    """A program cannot be started or fails before it can play: nobody loses a game."""


class EngineProcess:
    """A program under a label, started when first needed and again after a failure."""

    def __init__(self, label: str, command: str, hang: float, name: str | None = None) -> None:
        """name: shown instead of the program's own name."""
        self.label = label
        self.command = command
        self.name = ""
        self._given_name = name
        self.moves = 0
        self.seconds = 0.0
        self.longest = 0.0
        self.clock: Clock | None = None
        self._hang = hang
        self._program: Program | None = None
        self._commands: frozenset[str] = frozenset()

    def start(self, warm_up: bool, settings: MatchSettings) -> None:
        """Start the program unless it runs. Raises CannotStart or Refusal.

        warm_up: generate one move outside the games, so that loading is not charged to the program's clock.
        """
        if self._program is not None:
            return
        try:
            self._program = Program(self.command, RESTING)
            called = introduced(self.ask)
            commands = self.ask("list_commands")
            self._commands = frozenset(commands.text.split()) if commands.ok else frozenset()
            self.name = self._given_name or called or self.command
            if warm_up:
                self._warm_up(settings)
        except (ProgramFailure, Forfeit) as failure:
            raise CannotStart(f"{self.command!r} does not start: {failure.detail}") from failure

    def _warm_up(self, settings: MatchSettings) -> None:
        """Generate a move outside the games; then send the match's time settings, so that a refusal shows before a
        game."""
        self._size(settings)
        command = settings_command(_WARM_UP_TIME, self._commands)
        if command is not None:
            self.ask(command)
        # The reply does not matter: `new_game` clears the board.
        self.ask("genmove black")
        self.set_time(settings.time)

    def lists(self, command: str) -> bool:
        """True if `list_commands` contains the command."""
        return command in self._commands

    def new_game(self, settings: MatchSettings, rules: Rules) -> None:
        """Set size, komi, rules, an empty board, handicap stones and the clock. Raises Forfeit or Refusal."""
        self.moves, self.seconds, self.longest = 0, 0.0, 0.0
        self.clock = None if settings.time is None else Clock(settings.time)
        self._size(settings)
        self._need(f"komi {settings.komi:g}")
        self._set_rules(rules)
        self._need("clear_board")
        self._place_handicap(settings)
        self.set_time(settings.time)

    def set_time(self, settings: TimeSettings | None) -> None:
        """Send the time settings, unless the program knows no clock at all. Raises Forfeit or Refusal.

        A program that knows clocks, but not this time system, would assume a wrong time.
        """
        if settings is None:
            return
        command = settings_command(settings, self._commands)
        if command is not None:
            self._need(command)
        elif knows_clocks(self._commands):
            raise Refusal(f"{self.name} ({self.command}) lists no command for the time system {clock_text(settings)!r}")
        else:
            log.warning("%s has no clock commands: its time is measured, but it does not know its limit", self.name)

    def genmove(self, color: str, grace: float) -> str:
        """Request a move, measure its time and return its text. Raises Forfeit."""
        if self.clock is None:
            reply, _ = self._timed(color, self._hang)
        else:
            reply = self._genmove_on_clock(self.clock, color, grace)
        if not reply.ok:
            raise Forfeit(self.label, "error", f"answered ? to genmove: {printable(reply.text)}")
        return reply.text

    def _genmove_on_clock(self, clock: Clock, color: str, grace: float) -> Reply:
        if self.lists("time_left"):
            self.ask(clock.command(color, fractions=self.lists("kata-time_settings")))
        allowed = clock.available()
        try:
            reply, seconds = self._timed(color, allowed + grace)
        except Forfeit as forfeit:
            if forfeit.reason != Trouble.HANG:
                raise
            # Recorded in the statistics although the game is lost.
            clock.spend(allowed + grace)
            raise Forfeit(self.label, "time", f"no move within {allowed:.2f} s") from forfeit
        if not clock.spend(seconds, grace):
            raise Forfeit(self.label, "time", f"{seconds:.2f} s for a move, {allowed:.2f} s were left")
        return reply

    def _timed(self, color: str, limit: float) -> tuple[Reply, float]:
        """Return the reply to genmove and its seconds, which are recorded even if no reply comes."""
        start = time.monotonic()
        try:
            reply = self.ask(f"genmove {color}", limit)
        finally:
            seconds = time.monotonic() - start
            self.moves += 1  # also without a reply: a mean of the seconds counts each genmove that took them
            self.seconds += seconds
            self.longest = max(self.longest, seconds)
        return reply, seconds

    def play(self, color: str, vertex: str) -> None:
        """Send a legal move to the program. Raises Forfeit if it fails or refuses."""
        reply = self.ask(f"play {color} {vertex}")
        if not reply.ok:
            detail = f"refuses the legal move {color} {vertex}: {printable(reply.text)}"
            raise Forfeit(self.label, "error", detail)

    def final_score(self) -> Score | None:
        """Return the program's own count, or None if it has none. Raises Forfeit."""
        if not self.lists("final_score"):
            return None
        reply = self.ask("final_score")
        lead = parse_score(reply.text) if reply.ok else None
        return None if lead is None else Score.of(lead)

    def ask(self, command: str, seconds: float | None = None) -> Reply:
        """Send a command and return its reply. Raises Forfeit, after the program was killed."""
        assert self._program is not None
        try:
            return self._program.ask(command, self._hang if seconds is None else seconds)
        except ProgramFailure as failure:
            # After a failure the protocol is out of step: a late reply would be taken for the next one.
            self._program.kill()
            self._program = None
            raise Forfeit(self.label, failure.trouble, failure.detail) from failure

    def rest(self) -> None:
        """End pondering after a game: any command does."""
        if self._program is not None:
            with contextlib.suppress(Forfeit):
                self.ask("name")

    def close(self) -> None:
        """Ask the program to quit, if it runs."""
        program, self._program = self._program, None
        if program is not None:
            program.close()

    def kill(self) -> None:
        """Kill the program, if it runs. Thread-safe."""
        program = self._program
        if program is not None:
            program.kill()

    def _size(self, settings: MatchSettings) -> None:
        self._need(size_command(settings.width, settings.height))

    def _place_handicap(self, settings: MatchSettings) -> None:
        """Place the handicap stones on the standard's points, with the first command that the program lists."""
        names = [format_vertex(vertex, settings.width, settings.height) for vertex in settings.handicap_points]
        if not names:
            return
        if self.lists("fixed_handicap"):
            placed = self._need(f"fixed_handicap {settings.handicap}")
            # A program with its own idea of the fixed points would play on another board.
            if sorted(placed.upper().split()) != sorted(names):
                where = f"on {printable(placed)!r} instead of {' '.join(names)!r}"
                raise Refusal(f"{self.name} ({self.command}) puts the handicap {where}")
        elif self.lists("set_free_handicap"):
            self._need(f"set_free_handicap {' '.join(names)}")
        else:
            for name in names:
                self._need(f"play black {name}")

    def _need(self, command: str) -> str:
        reply = self.ask(command)
        if not reply.ok:
            raise Refusal(f"{self.name} ({self.command}) refuses {command!r}: {printable(reply.text)}")
        return reply.text

    def _set_rules(self, rules: Rules) -> None:
        """Send the rules, if the program lists a command for it."""
        command = rules_command(rules, self._commands)
        if command is None:
            return
        reply = self.ask(command)
        if not reply.ok:
            # Not fatal: many programs know only some rule sets, and the arbiter's rules decide anyway.
            log.warning("%s refuses %r: %s", self.name, command, printable(reply.text))
