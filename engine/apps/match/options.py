"""The options of `keima match` and the settings that they mean; contradictions between them are errors."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.clock import Kind, TimeSettings
from engine.errors import BadRules
from engine.match.clock import parse_clock
from engine.match.errors import MatchError
from engine.match.openings import OpeningBook, read_openings
from engine.match.settings import Entrant, MatchSettings
from engine.rules import parse_rules
from engine.settings.table import settings_on


@dataclass(frozen=True, kw_only=True)
class MatchOptions:
    """What the command line says, by the names of its options; `keima match --help` explains them.

    engines: NAME=COMMAND each, or black and white. clock, or seconds_per_move, or time, byo and
    stones: without any of them there is no clock, only `hang`, the longest wait for one answer.
    out: the match's directory; an earlier match with the same settings in it goes on.
    """

    black: str | None
    white: str | None
    engines: Sequence[str]
    games: int
    size: int | tuple[int, int]
    komi: float
    handicap: int
    rules: str
    alternate: bool
    openings: Sequence[Path]
    opening_moves: int | None
    seed: int | None
    referee: str | None
    out: Path | None
    clock: str | None
    seconds_per_move: float | None
    time: float | None
    byo: float | None
    stones: int | None
    grace: float
    hang: float
    max_moves: int
    concurrency: int
    resume: bool
    black_name: str | None
    white_name: str | None

    @classmethod
    def of(cls, **given: Any) -> "MatchOptions":
        """Return the options with the defaults of the table of settings for those that are not given."""
        defaults: dict[str, Any] = {name: () if row.many else row.default for name, row in settings_on("match").items()}
        return cls(**defaults | given)

    def settings(self) -> MatchSettings:
        """Return the settings of the match. Reads the openings. Raises MatchError."""
        if not self.alternate and (self.engines or self.openings):
            raise MatchError("--fixed-colors is for --black and --white without --openings")
        width, height = (self.size, self.size) if isinstance(self.size, int) else self.size
        return MatchSettings(
            entrants=self._entrants(),
            games=self.games,
            width=width,
            height=height,
            komi=self.komi,
            handicap=self.handicap,
            rules=self.rules,
            alternate=self.alternate,
            openings=self._openings(width, height),
            referee=self.referee,
            time=self.time_settings(),
            grace=self.grace,
            hang=self.hang,
            max_moves=self.max_moves,
            concurrency=self.concurrency,
        )

    def time_settings(self) -> TimeSettings | None:
        """Return the time system that the options mean, None for no clock. Raises MatchError."""
        overtime = (self.time, self.byo, self.stones)
        ways = (self.clock is not None, self.seconds_per_move is not None, overtime != (None, None, None))
        if sum(ways) > 1:
            raise MatchError("--clock, --move-time and --time, --byo, --stones exclude each other")
        if self.clock is not None:
            try:
                return parse_clock(self.clock)
            except ValueError as error:
                raise MatchError(str(error)) from error
        if self.seconds_per_move is not None:
            return TimeSettings(Kind.CANADIAN, period=self.seconds_per_move, count=1)
        if overtime == (None, None, None):
            return None
        if self.byo is None and self.stones is None:
            return TimeSettings(Kind.ABSOLUTE, self.time or 0.0)
        if not self.byo:
            raise MatchError("--stones needs --byo, the seconds for that many moves")
        return TimeSettings(Kind.CANADIAN, self.time or 0.0, self.byo, 1 if self.stones is None else self.stones)

    def _entrants(self) -> tuple[Entrant, ...]:
        if not self.engines:
            if self.black is None or self.white is None:
                raise MatchError("expected --black and --white, or two or more --engine NAME=COMMAND")
            return Entrant("A", self.black, self.black_name), Entrant("B", self.white, self.white_name)
        if (self.black, self.white, self.black_name, self.white_name) != (None,) * 4:
            raise MatchError("--engine and --black, --white or their names exclude each other")
        entrants = []
        for text in self.engines:
            name, equals, command = text.partition("=")
            if not (name.strip() and equals and command.strip()):
                raise MatchError(f"--engine: expected NAME=COMMAND, got {text!r}")
            entrants.append(Entrant(name.strip(), command.strip(), name.strip()))
        return tuple(entrants)

    def _openings(self, width: int, height: int) -> OpeningBook | None:
        if not self.openings:
            if (self.opening_moves, self.seed) != (None, None):
                raise MatchError("--opening-moves and --seed need --openings")
            return None
        try:
            rules = parse_rules(self.rules)
        except BadRules as error:
            raise MatchError(str(error)) from error
        return read_openings(
            self.openings,
            width,
            height,
            rules,
            moves=self.opening_moves,
            seed=self.seed or 0,
            count=(self.games + 1) // 2,
        )
