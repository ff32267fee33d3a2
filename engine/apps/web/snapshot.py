"""Plain data of a game session: tasks for the engine, its results, and the snapshot that pages get."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from engine.apps.web.settings import GameSettings
from engine.book.book import Found
from engine.clock import TimeSettings
from engine.color import for_color, winrate_for_color
from engine.game import Game, Move
from engine.programs.answers import AnalysisAnswer
from engine.records.setup import Step
from engine.settings.levels import FULL

MOST_CANDIDATES = 12
"""Moves of an analysis that pages show, at most."""


class Kind(StrEnum):
    """Kinds of tasks for the engine."""

    MOVE = "move"
    ANALYSIS = "analysis"
    REVIEW = "review"
    SCORE = "score"


@dataclass(frozen=True)
class ClockReading:
    """Both clocks at one moment.

    left: (seconds, stones or periods) by color as in GTP's `time_left`, before the running move is charged.
    running: the color whose clock runs, None while none does. elapsed: seconds of its move so far. is_paused: it waits.
    """

    settings: TimeSettings
    left: dict[int, tuple[float, int]]
    running: int | None = None
    elapsed: float = 0.0
    is_paused: bool = False

    def left_now(self, color: int) -> tuple[float, int]:
        """Return a color's time with the seconds of the running move taken off, at least 0."""
        seconds, count = self.left[color]
        return max(0.0, seconds - (self.elapsed if color == self.running else 0.0)), count


@dataclass(frozen=True)
class Task:
    """A task for the engine: one position. A result with an outdated `ticket` is discarded.

    number: of steps before the position. seconds, visits: limits of the search, None for the engine's own. clock: of
    both players, instead of seconds.
    """

    kind: Kind
    game: Game
    number: int
    ticket: int
    seconds: float | None = None
    rank: str = FULL
    visits: int | None = None
    clock: ClockReading | None = None


@dataclass(frozen=True)
class Estimate:
    """The engine's evaluation of a position, from Black's point of view.

    variation: the vertices of its best one. visits: of the search, 0 if unknown.
    """

    winrate: float
    lead: float | None = None
    variation: tuple[int, ...] = ()
    visits: int = field(default=0, compare=False)


def estimated(answer: AnalysisAnswer, to_play: int) -> Estimate | None:
    """Return the estimate of a position from an analysis in the view of the side to move; None without a winrate."""
    best = answer.candidates[0] if answer.candidates else None
    winrate = best.winrate if answer.winrate is None and best is not None else answer.winrate
    lead = best.lead if answer.score is None and best is not None else answer.score
    if winrate is None:
        return None
    return Estimate(
        winrate_for_color(winrate, to_play),
        None if lead is None else for_color(lead, to_play),
        () if best is None else best.pv or (best.vertex,),
        sum(each.visits for each in answer.candidates),
    )


@dataclass(frozen=True)
class Count:
    """A counted position.

    score: in SGF notation, such as "B+3.5". dead: vertices of dead stones. owners: [area] in policy order, 1 Black, -1
    White, 0 at living stones. seki: vertices of stones that live in seki unless they are dead; None where nobody judged
    them.
    """

    score: str
    dead: tuple[int, ...] = ()
    owners: tuple[float, ...] = ()
    seki: tuple[int, ...] | None = None


@dataclass
class Shown:
    """Results shown beside the game: the last analysis, a count, an error message."""

    answer: AnalysisAnswer | None = None
    count: Count | None = None
    error: str | None = None


@dataclass
class Switches:
    """Switches of the page: the engine's candidate moves, expected ownership, a review of all positions, the book."""

    analysis: bool = False
    territory: bool = False
    review: bool = False
    book: bool = False

    @property
    def need_analysis(self) -> bool:
        """True if the engine should analyze every position shown."""
        return self.analysis or self.territory


@dataclass(frozen=True)
class Limits:
    """The engine's own limits of a search; None where there is none or it does not say.

    can_set_visits: whether the page can set the visits of a move.
    """

    seconds: float | None = None
    visits: int | None = None
    can_set_visits: bool = False


@dataclass(frozen=True)
class Variation:
    """A line of play, named by where it branches off: its first `branch_point` steps belong to the line `parent`.

    move: the first own step, None if stones are set up by it or it was taken back. colors: of the own steps, "b" or "w"
    for a move, "s" for stones that are set up, capital where the position has a comment or markup.
    """

    branch_point: int
    move: Move | None
    parent: int = 0
    colors: str = ""


@dataclass(frozen=True)
class BookPage:
    """What the open book has of the position shown.

    misfit: why the book is not for this game, None if it is. found: the position, None where the book does not have it
    or the switch is off.
    """

    misfit: str | None = None
    found: Found | None = None


@dataclass(frozen=True)
class Notice:
    """How a record was read. rules, komi: those that are used because it names none. left_out: number of variations.

    more_games: number of games after the first one, which alone is shown.
    """

    rules: str = ""
    komi: float | None = None
    left_out: int = 0
    more_games: int = 0


NOTHING = Notice()


@dataclass(frozen=True)
class Snapshot:
    """The state of a session at one moment, for pages.

    game: at the position shown. number: of steps before it. changed: colors of the points that the step to it set up.
    line: all steps of the line of play. is_review: a move here starts a new variation or continues after a result.
    has_ranks: whether the engine plays at ranks. limits: those that the engine has by itself.
    estimates: by the number of steps before the position. reviewed: number of reviewed positions.
    note, symbols, labels, lines: the record's comment and markup of the position shown, see `Markup`.
    following: moves after the position shown, first that of the line, then those of variations; None for a setup.
    variations: all lines of play, first the game itself. variation: index of the one shown.
    may_undo, has_previous: whether a move can be taken back, and whether there is a game before this one.
    open_game: a number that the game has alone. info: names, ranks, event and so on, by SGF property.
    session: differs between sessions, so that a page notices a new one. book: None where no book is open.
    """

    version: int
    settings: GameSettings
    game: Game
    number: int
    changed: Mapping[int, int]
    line: tuple[Step, ...]
    is_review: bool
    result: str | None
    engine: str
    has_ranks: bool
    limits: Limits
    busy: Kind | None
    shown: Shown
    switches: Switches
    estimates: dict[int, Estimate] = field(default_factory=dict)
    reviewed: int = 0
    note: str = ""
    symbols: Mapping[int, str] = field(default_factory=dict)
    labels: Mapping[int, str] = field(default_factory=dict)
    lines: Sequence[tuple[str, int, int]] = ()
    following: tuple[Move | None, ...] = ()
    variations: tuple[Variation, ...] = (Variation(0, None),)
    variation: int = 0
    may_undo: bool = False
    has_previous: bool = False
    open_game: int = 0
    notice: Notice = NOTHING
    info: Mapping[str, str] = field(default_factory=dict)
    session: str = ""
    clock: ClockReading | None = None
    book: BookPage | None = None

    @property
    def is_proposed(self) -> bool:
        """True if the game has ended and its count waits for the players' agreement."""
        return self.shown.count is not None and self.game.is_over and not self.is_review
