"""What is known of a table: what its engine is asked and has said, and what pages see."""

from dataclasses import dataclass, field
from enum import StrEnum

from engine.apps.web.settings import GameSettings
from engine.game import Game, Move
from engine.programs.answers import AnalysisAnswer
from engine.settings.levels import FULL_LEVEL

MOST_CANDIDATES = 12
"""Moves of an analysis that pages show."""


class Kind(StrEnum):
    """What an engine can be asked to do."""

    MOVE = "move"
    ANALYSIS = "analysis"
    REVIEW = "review"
    SCORE = "score"


@dataclass(frozen=True)
class Task:
    """Something to do about a position. `ticket` tells whether it is still wanted when it is done."""

    kind: Kind
    game: Game
    ticket: int
    seconds: float | None = None
    level: int = FULL_LEVEL


@dataclass(frozen=True)
class Estimate:
    """The engine's evaluation of a position, from Black's point of view."""

    winrate: float
    lead: float | None = None


@dataclass(frozen=True)
class Count:
    """A counted position: the score as SGF has results, dead stones, and each point's owner as `ownership` has it.

    owners: [area] in policy order, 0 where a stone lives.
    """

    score: str
    dead: tuple[int, ...] = ()
    owners: tuple[float, ...] = ()


@dataclass
class Shown:
    """What a page sees beside the game: the last analysis, a count, messages."""

    answer: AnalysisAnswer | None = None
    count: Count | None = None
    error: str | None = None


@dataclass
class Switches:
    """What a page can switch on: the engine's candidates, expected ownership, a review of every position."""

    analysis: bool = False
    territory: bool = False
    review: bool = False

    @property
    def need_analysis(self) -> bool:
        """True if the engine should analyze every position shown."""
        return self.analysis or self.territory


@dataclass(frozen=True)
class Way:
    """A way that a game went: after so many moves of another way it has a move of its own, unless it was taken back."""

    began: int
    move: Move | None


@dataclass(frozen=True)
class Facts:
    """The table at one moment, for a page.

    game: at the position shown. line: all moves that were played. is_review: a move here begins another way, or goes on
    after a result. has_levels: whether the engine plays at a level that it is told.
    estimates: by the number of moves before the position. note: what a record that was opened says of it.
    reviewed: so many positions.
    ways: all that were tried of this game, the first is the game itself. way: which of them the line is.
    """

    version: int
    settings: GameSettings
    game: Game
    line: tuple[Move, ...]
    is_review: bool
    result: str | None
    engine: str
    has_levels: bool
    busy: Kind | None
    shown: Shown
    switches: Switches
    estimates: dict[int, Estimate] = field(default_factory=dict)
    note: str = ""
    reviewed: int = 0
    ways: tuple[Way, ...] = (Way(0, None),)
    way: int = 0
