"""What is fixed for a whole match: players, board, rules, time and limits, as one frozen value.

Running the match, and storing its results, are other modules' work.
"""

from dataclasses import dataclass
from typing import Any

from engine.errors import BadRules
from engine.match.clock import TimeLimit
from engine.rules import Rules, parse_rules
from engine.vertex import MAX_SIZE


class MatchError(Exception):
    """A match that cannot be started or gone on with; the text says why."""


@dataclass(frozen=True)
class MatchSettings:
    """Settings of a match of player A (`black`) against player B (`white`); times in seconds.

    black, white, referee: shell-split commands. A plays Black in every game, or in every other
    one with `alternate`. names: shown instead of what the programs call themselves.
    rules: a shorthand or JSON object. time: None plays without a clock.
    hang: the longest wait for any answer that no clock limits. max_moves: 0 stands for three
    times the number of points.
    """

    black: str
    white: str
    games: int = 1
    width: int = 19
    height: int = 19
    komi: float = 7.5
    rules: str = "tromp-taylor"
    alternate: bool = False
    referee: str | None = None
    time: TimeLimit | None = None
    grace: float = 0.5
    hang: float = 300.0
    max_moves: int = 0
    black_name: str | None = None
    white_name: str | None = None
    concurrency: int = 1

    def __post_init__(self) -> None:
        """Raise MatchError on a value that no match can have."""
        self._check(self.games >= 1, "games", self.games, "1 or more")
        self._check(2 <= self.width <= MAX_SIZE, "width", self.width, f"2 to {MAX_SIZE}")
        self._check(2 <= self.height <= MAX_SIZE, "height", self.height, f"2 to {MAX_SIZE}")
        self._check(abs(self.komi) <= 1000, "komi", self.komi, "a number")
        self._check(self.grace >= 0, "grace", self.grace, "0 or more")
        self._check(self.hang > 0, "hang", self.hang, "more than 0")
        self._check(self.max_moves >= 0, "max_moves", self.max_moves, "0 or more")
        self._check(self.concurrency >= 1, "concurrency", self.concurrency, "1 or more")
        self.parsed_rules()

    def parsed_rules(self) -> Rules:
        """Return the rules as a value. Raises MatchError on unknown ones."""
        try:
            return parse_rules(self.rules)
        except BadRules as error:
            raise MatchError(str(error)) from error

    @property
    def move_limit(self) -> int:
        """The number of moves at which a game is stopped and counted."""
        return self.max_moves or 3 * self.width * self.height

    def player_of_black(self, number: int) -> str:
        """Return "A" or "B", whoever plays Black in game `number` (from 1)."""
        return "B" if self.alternate and number % 2 == 0 else "A"

    def to_json(self) -> dict[str, Any]:
        """Return the settings that decide what a game is: all but `games` and `concurrency`."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        del fields["games"], fields["concurrency"]
        time = self.time
        return fields | {"time": None if time is None else [time.main, time.byo, time.stones]}

    @staticmethod
    def _check(holds: bool, name: str, value: object, expected: str) -> None:
        if not holds:
            raise MatchError(f"{name}: expected {expected}, got {value!r}")
