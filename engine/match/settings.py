"""The settings of a match: players, board, rules, time, openings and limits, as one immutable value.

Does not run the match or store its results.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

from engine.clock import TimeSettings
from engine.errors import BadRules, GoError
from engine.handicap import fixed_handicap_points, max_fixed_handicap, possible_handicaps
from engine.match.clock import check_clock, clock_text
from engine.match.errors import MatchError
from engine.match.openings import OpeningBook
from engine.rules import Rules, parse_rules
from engine.settings.setting import check_fields, declared, number
from engine.settings.table import settings_on
from engine.vertex import MAX_SIZE

_OPTIONS = settings_on("match")


@dataclass(frozen=True)
class Entrant:
    """A program in a match: its label in records, its command line, and the name to show instead of its own."""

    label: str
    command: str
    name: str | None = None


@dataclass(frozen=True)
class Fixture:
    """One game to play: its number, from 1, the labels of its players, and the index of its opening."""

    number: int
    black: str
    white: str
    opening: int | None = None


@dataclass(frozen=True)
class MatchSettings:
    """Settings of a round-robin match of two or more programs: those of `keima match`, times in seconds.

    games: for each pairing. Without `alternate`, the earlier entrant plays Black. Matches with more than two entrants,
    or with openings, which are played with either color, always alternate. time: None plays without a clock.
    """

    entrants: tuple[Entrant, ...]
    games: int = declared(_OPTIONS["games"])
    width: int = number(19, "Points in a row of the board.", 2, MAX_SIZE)
    height: int = number(19, "Rows of the board.", 2, MAX_SIZE)
    komi: float = declared(_OPTIONS["komi"])
    handicap: int = _OPTIONS["handicap"].default
    rules: str = declared(_OPTIONS["rules"])
    alternate: bool = declared(_OPTIONS["alternate"])
    openings: OpeningBook | None = None
    referee: str | None = declared(_OPTIONS["referee"])
    time: TimeSettings | None = None
    grace: float = declared(_OPTIONS["grace"])
    hang: float = declared(_OPTIONS["hang"])
    max_moves: int = declared(_OPTIONS["max_moves"])
    concurrency: int = declared(_OPTIONS["concurrency"])

    def __post_init__(self) -> None:
        """Raise MatchError for an invalid value."""
        self._check(len(self.entrants) >= 2, "engines", len(self.entrants), "2 or more")
        self._check(len(set(self.labels)) == len(self.labels), "engines", " ".join(self.labels), "different names")
        try:
            check_fields(self)
        except GoError as error:
            raise MatchError(str(error)) from error
        possible, most = possible_handicaps(self.width, self.height), max_fixed_handicap(self.width, self.height)
        board = f"{self.width}x{self.height}"
        self._check(self.handicap in (0, *range(2, most + 1)), "handicap", self.handicap, f"{possible} on {board}")
        if self.openings is not None:
            self._check(not self.handicap, "handicap", self.handicap, "none together with openings")
            self._check(self.games % 2 == 0, "games", self.games, "an even number, for openings are played twice")
        if self.time is not None:
            try:
                check_clock(self.time)
            except ValueError as error:
                raise MatchError(str(error)) from error
        self.parsed_rules()

    def parsed_rules(self) -> Rules:
        """Parse the rules. Raises MatchError if they are unknown."""
        try:
            return parse_rules(self.rules)
        except BadRules as error:
            raise MatchError(str(error)) from error

    @property
    def handicap_points(self) -> list[int]:
        """The vertices of the handicap stones."""
        return fixed_handicap_points(self.handicap, self.width, self.height) if self.handicap else []

    @property
    def labels(self) -> list[str]:
        """The labels of all entrants."""
        return [entrant.label for entrant in self.entrants]

    @property
    def move_limit(self) -> int:
        """Number of moves after which a game is stopped and counted."""
        return self.max_moves or 3 * self.width * self.height

    @property
    def alternates(self) -> bool:
        """True if the players change colors after every game of a pairing."""
        return self.alternate or self.openings is not None or len(self.entrants) > 2

    def fixtures(self) -> list[Fixture]:
        """Return all games in starting order: round by round, each with every pairing once.

        More games append rounds, so a match can be extended later. Black alternates along the list, so that everyone
        plays both colors about equally often in one round.
        """
        result: list[Fixture] = []
        pairings = list(combinations(enumerate(self.entrants), 2))
        for round_number in range(self.games):
            # Two rounds share an opening, one with each color.
            opening = None if self.openings is None else round_number // 2 % len(self.openings.openings)
            for (place, first), (later_place, second) in pairings:
                # Alternates along a round as well as between rounds.
                swapped = self.alternates and (later_place - place + round_number) % 2 == 0
                black, white = (second, first) if swapped else (first, second)
                result.append(Fixture(len(result) + 1, black.label, white.label, opening))
        return result

    def to_json(self) -> dict[str, Any]:
        """Return the settings that define a game: all except `games` and `concurrency`."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name in ("entrants", "games", "concurrency"):
            del fields[name]
        for entrant in self.entrants:
            fields[f"engine {entrant.label}"] = entrant.command
            fields[f"name {entrant.label}"] = entrant.name
        return fields | {
            "alternate": self.alternates,
            # Colors and openings follow it.
            "order": list(self.labels),
            # None instead of 0, as in folders of matches from before there was a handicap.
            "handicap": self.handicap or None,
            "openings": None if self.openings is None else self.openings.to_json(),
            "time": None if self.time is None else clock_text(self.time),
        }

    @staticmethod
    def _check(holds: bool, name: str, value: object, expected: str) -> None:
        if not holds:
            raise MatchError(f"{name}: expected {expected}, got {value!r}")
