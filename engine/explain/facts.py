"""Collects the facts of a position or a move from its board and from searches. Invents nothing: what is not measured
is None.

All win rates, leads and ownership are Black's, as in `keima review`; points lost and threats are positive for the
player whom they cost something.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from engine.board.layout import HEADER, KO_POINT
from engine.color import BLACK, EMPTY, WHITE, for_color, opponent, winrate_for_color
from engine.errors import IllegalMove
from engine.explain.groups import Group, groups_of, survival
from engine.explain.ladders import Ladder, ladders_of
from engine.explain.regions import owned_points
from engine.explain.shapes import Shape, shapes_of
from engine.explain.stones import Stones
from engine.game import Game
from engine.vertex import NO_POINT, PASS

LEAST_CHANGE = 0.1
"""Least change of a group's survival that is listed."""
SENTE_MARGIN = 1.0
"""Points by which a move's threat must exceed the value of a turn before it; searches of some hundred visits differ by
less than that."""


@dataclass(frozen=True)
class Measured:
    """What a search of a position found, in Black's view.

    ownership: [area] in policy order, None for a network without it. pv: best variation. best: the first choices, the
    variation's first move and its mirror images.
    """

    winrate: float
    lead: float
    visits: int
    ownership: Sequence[float] | None
    pv: tuple[int, ...] = ()
    best: tuple[int, ...] = ()


@dataclass(frozen=True)
class Line:
    """A variation. captured: stones of each color that it captures. visits: of the search that found it."""

    moves: tuple[int, ...]
    captured: dict[int, int]
    visits: int


@dataclass(frozen=True)
class Atari:
    """A chain with one liberty. escapes: its owner can save it by moving first, as far as ladders are read."""

    stones: tuple[int, ...]
    color: int
    liberty: int
    escapes: bool


@dataclass(frozen=True)
class GroupChange:
    """A group of the position before a move, and its survival before and after it."""

    color: int
    stones: tuple[int, ...]
    before: float
    after: float

    @property
    def change(self) -> float:
        """Change of the survival, negative if the group became weaker."""
        return self.after - self.before

    @property
    def points(self) -> float:
        """Points that the change makes on the group's stones alone: a captured stone's point changes its owner."""
        return 2 * self.change * len(self.stones)


@dataclass(frozen=True)
class TurnValue:
    """What a side loses by passing, in points and win rate, by a search of the position after the pass.

    line: the best variation of the opponent after the pass.
    """

    points: float
    winrate: float
    line: Line


@dataclass(frozen=True)
class PositionFacts:
    """Facts of a position. regions: Black's points less White's, none without ownership. turn: None unless a pass was
    searched."""

    size: tuple[int, int]
    to_play: int
    measured: Measured
    best: Line
    ataris: list[Atari]
    ladders: list[Ladder]
    groups: list[Group]
    regions: dict[str, float]
    turn: TurnValue | None = None


@dataclass(frozen=True)
class MoveFacts:
    """Facts of a move. before, after: the positions.

    captured: chains. left_in_atari: own chains that were in atari before and still are; gives_atari, self_atari:
    chains that are in atari only since the move. saved: own chains that were in atari before and are not any more.
    ladders_made, ladders_broken: that work only since the move, or worked only before it. groups: those whose survival
    changed, the largest change in points first. regions: (before, after). better: the search's variation, None if its
    first move was played or its visits were too few for one. refutation: the best variation after the move.
    """

    number: int
    color: int
    vertex: int
    before: PositionFacts
    after: PositionFacts
    shapes: list[Shape]
    captured: list[tuple[int, ...]]
    gives_atari: list[Atari]
    self_atari: list[Atari]
    left_in_atari: list[Atari]
    saved: list[tuple[int, ...]]
    takes_ko: bool
    ladders_made: list[Ladder]
    ladders_broken: list[Ladder]
    groups: list[GroupChange]
    regions: dict[str, tuple[float, float]]
    points_lost: float
    winrate_lost: float
    better: Line | None

    @property
    def refutation(self) -> Line:
        """The best variation after the move."""
        return self.after.best

    @property
    def threat(self) -> TurnValue | None:
        """What the opponent loses by passing now: the size of the move's threat, with the largest move elsewhere."""
        return self.after.turn

    @property
    def is_sente(self) -> bool | None:
        """True if ignoring the move costs more than a turn was worth before it; None unless passes were searched."""
        if self.before.turn is None or self.after.turn is None:
            return None
        return self.after.turn.points >= self.before.turn.points + SENTE_MARGIN


def position_facts(game: Game, color: int, measured: Measured, passed: Measured | None = None) -> PositionFacts:
    """Return the facts of a position. color: the side to move. passed: the search after it passes."""
    position, size = Stones(game.board), (game.width, game.height)
    ladders = ladders_of(position)
    turn = None
    if passed is not None:
        after = game.copy()
        after.play(color, PASS, lenient=True)
        line = _line(after, opponent(color), passed)
        lost = winrate_for_color(measured.winrate, color) - winrate_for_color(passed.winrate, color)
        turn = TurnValue(for_color(measured.lead - passed.lead, color), lost, line)
    return PositionFacts(
        size=size,
        to_play=color,
        measured=measured,
        best=_line(game, color, measured),
        ataris=_ataris(position, ladders),
        ladders=ladders,
        groups=groups_of(position, measured.ownership),
        regions={} if measured.ownership is None else owned_points(measured.ownership, *size),
        turn=turn,
    )


def move_facts(
    game: Game,
    move: tuple[int, int],
    before: PositionFacts,
    after: Measured,
    passed: Measured | None = None,
    to_play: int | None = None,
    earlier: int = 0,
) -> MoveFacts:
    """Return the facts of a move (color, vertex).

    game: before it. after, passed: searches after it, and after a pass then. to_play: the side to move then, the
    opponent if it is not given. earlier: number of moves before the game's first one, added to the move's number.
    Raises IllegalMove if the move cannot be played.
    """
    color, vertex = move
    played = game.copy()
    played.play(color, vertex, lenient=True)
    then = position_facts(played, to_play or opponent(color), after, passed)
    old, new = Stones(game.board), Stones(played.board)
    was, is_now = {stone for each in before.ataris for stone in each.stones}, then.ataris
    fresh = [each for each in is_now if not set(each.stones) & was]
    is_first = vertex in (before.measured.best or before.measured.pv[:1])
    lost = for_color(before.measured.lead - after.lead, color)
    fall = winrate_for_color(before.measured.winrate, color) - winrate_for_color(after.winrate, color)
    return MoveFacts(
        number=earlier + len(game.moves) + 1,
        color=color,
        vertex=vertex,
        before=before,
        after=then,
        shapes=shapes_of(old, new, vertex, color),
        captured=[chain for chain in old.chains() if new.color(chain[0]) == EMPTY],
        gives_atari=[each for each in fresh if each.color != color],
        self_atari=[each for each in fresh if each.color == color],
        left_in_atari=[each for each in is_now if each.color == color and set(each.stones) & was],
        saved=_saved(before.ataris, new, color),
        takes_ko=int(played.board[HEADER, KO_POINT]) != NO_POINT,
        ladders_made=_only_first(then.ladders, before.ladders),
        ladders_broken=[
            each for each in _only_first(before.ladders, then.ladders) if new.color(each.chain[0]) == each.color
        ],
        groups=_changes(before, after),
        regions={name: (value, then.regions[name]) for name, value in before.regions.items() if name in then.regions},
        # As in a review: what a deeper search changes after the first choice is not the player's loss.
        points_lost=0.0 if is_first else max(0.0, lost),
        winrate_lost=0.0 if is_first else fall,
        better=None if is_first or not before.best.moves else before.best,
    )


def _line(game: Game, color: int, measured: Measured) -> Line:
    """Return the best variation as far as it can be played, and what it captures."""
    played, moves = game.copy(), []
    counts = {each: -played.captured(each) for each in (BLACK, WHITE)}
    for vertex in measured.pv:
        try:
            played.play(color, vertex, lenient=True)
        except IllegalMove:
            break
        moves.append(vertex)
        color = opponent(color)
    return Line(tuple(moves), {each: count + played.captured(each) for each, count in counts.items()}, measured.visits)


def _ataris(position: Stones, ladders: Sequence[Ladder]) -> list[Atari]:
    lost = {ladder.chain[0] for ladder in ladders if ladder.works}
    found = []
    for chain in position.chains():
        liberties = position.liberties(chain)
        if len(liberties) == 1:
            found.append(Atari(chain, position.color(chain[0]), liberties.pop(), chain[0] not in lost))
    return found


def _saved(ataris: Sequence[Atari], new: Stones, color: int) -> list[tuple[int, ...]]:
    """Return the chains of a color that were in atari and are on the board with more liberties."""
    own = [each.stones for each in ataris if each.color == color and new.color(each.stones[0]) == color]
    return [stones for stones in own if len(new.liberties(new.chain(stones[0]))) > 1]


def _only_first(some: Sequence[Ladder], others: Sequence[Ladder]) -> list[Ladder]:
    """Return the working ladders whose stones no working ladder of the others captures."""
    known = {stone for ladder in others if ladder.works for stone in ladder.chain}
    return [ladder for ladder in some if ladder.works and not known & set(ladder.chain)]


def _changes(before: PositionFacts, after: Measured) -> list[GroupChange]:
    if after.ownership is None:
        return []
    changes = [
        GroupChange(
            each.color, each.stones, each.survival, survival(each.stones, each.color, after.ownership, before.size)
        )
        for each in before.groups
        if each.survival is not None
    ]
    found = [change for change in changes if abs(change.change) >= LEAST_CHANGE]
    return sorted(found, key=lambda change: -abs(change.points))
