"""Counts a game: area and territory, taxes, seki, bonuses and komi.

All scores are Black minus White in points. Dead stones are an argument: judging life and death is a player's job.
Without that argument, KataGo's rule applies: a stone is dead if it lies in the opponent's pass-alive territory.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.board.area import area, independent_life, new_scratch
from engine.board.kernels import remove_chain
from engine.board.layout import CAPTURED_BLACK, COLOR, HEAD, HEADER, WIDTH, Board
from engine.color import BLACK, EMPTY, WHITE
from engine.game import Game
from engine.rules import Tax
from engine.vertex import neighbors

Owner = NDArray[np.int8]
VOID = "Void"
"""SGF's result of a game without one: the same position occurred for the third time."""
_TAX_PER_GROUP = 2
# An eye space of this many points lives alone, even if its group touches neutral points.
_SURE_EYE_SIZE = 4
# A larger neutral region is open board rather than the shared liberties of a seki.
_MOST_SHARED = 4


@dataclass(frozen=True)
class Points:
    """What one color has on the board. area: points of stones and territory, or of territory alone.

    prisoners: stones that the color captured, and dead ones; 0 in an area count. tax: points paid for living groups.
    """

    area: int
    prisoners: int = 0
    tax: int = 0

    @property
    def total(self) -> int:
        """The color's points, without komi."""
        return self.area + self.prisoners - self.tax


def final_score(game: Game, dead: Collection[int] = (), seki: Collection[int] | None = None) -> float:
    """Return the score of the current position under the rules in force.

    dead: vertices of dead stones; their whole chains are removed first. seki: see `territory_score`.
    """
    if game.no_result:
        return 0.0
    return area_score(game, dead) if counts_area(game) else territory_score(game, dead, seki)


def counts_area(game: Game) -> bool:
    """Return whether `final_score` counts area: by the rules, or because clean-up phases captured all dead stones."""
    return game.rules.is_area or game.phase > 0 or game.encore


def area_score(game: Game, dead: Collection[int] = ()) -> float:
    """Return the area score. Under territory rules, this is the equivalent area count.

    That count gives White a point for each black move and takes one for each white move: a color's stones that are dead
    or no longer on the board then count as prisoners.
    """
    points = area_points(game, dead)
    return points[BLACK].total - points[WHITE].total - game.white_bonus


def area_points(game: Game, dead: Collection[int] = ()) -> dict[int, Points]:
    """Return the points of an area count by color, without `Game.white_bonus`."""
    owner, groups = ownership_map(game, without_chains(game.board, dead))
    taxed = _TAX_PER_GROUP if game.rules.tax is Tax.ALL else 0
    return {
        color: Points(int(np.count_nonzero(owner == color)), tax=taxed * int(groups[color])) for color in (BLACK, WHITE)
    }


def ownership_map(game: Game, board: Board) -> tuple[Owner, NDArray[np.int64]]:
    """Return (owner [n] of each vertex under the rules in force, independent groups [3] by color)."""
    rules = game.rules
    scratch = new_scratch(board)
    base = np.zeros(board.shape[1], dtype=np.int8)
    groups = np.zeros(3, dtype=np.int64)
    stones_alive = rules.is_area or game.phase < 2
    area(board, rules.suicide, True, scratch, base)
    if rules.is_area and rules.tax is Tax.NONE:
        return base, groups
    owner = np.zeros_like(base)
    independent_life(board, base, scratch, groups, owner)
    colors = board[COLOR].astype(np.int8)
    unmarked = owner == EMPTY
    if not rules.is_area and rules.tax is Tax.NONE:
        keep = unmarked & (base != EMPTY) & (colors != base)
        owner[keep] = base[keep]
    elif rules.is_area:
        keep = unmarked & (base != EMPTY) & (colors == base)
        owner[keep] = base[keep]
    stones = (colors == BLACK) | (colors == WHITE)
    unmarked = owner == EMPTY
    if not rules.is_area:
        if not stones_alive and game.second_encore_start is not None:
            # Stones played in the second clean-up phase are not alive by themselves (KataGo's territory rules).
            stones &= colors == game.second_encore_start
        owner[unmarked & stones] = colors[unmarked & stones]
    return owner, groups


def territory_score(game: Game, dead: Collection[int] = (), seki: Collection[int] | None = None) -> float:
    """Return the score by territory and prisoners, as players count a finished game.

    Dead stones become prisoners. Territory is an empty region that touches one color only. Under the seki tax, regions
    beside a stone in seki count nothing; under the tax on all groups, each living group also pays two points.
    seki: vertices of the stones that live in seki. With None they are estimated as if all neutral points were filled: a
    group beside a neutral point lives in seki unless it certainly has two eyes.
    """
    points = territory_points(game, dead, seki)
    return points[BLACK].total - points[WHITE].total - game.fixed_bonus


def territory_points(game: Game, dead: Collection[int] = (), seki: Collection[int] | None = None) -> dict[int, Points]:
    """Return the points of `territory_score` by color, without `Game.fixed_bonus`."""
    board = without_chains(game.board, dead)
    territory, living = _territory(game, board, seki)
    # Black's prisoners are the captured white stones, and vice versa.
    prisoners = {color: int(board[HEADER, CAPTURED_BLACK + 2 - color]) for color in (BLACK, WHITE)}
    taxed = _TAX_PER_GROUP if game.rules.tax is Tax.ALL else 0
    points = {}
    for color in (BLACK, WHITE):
        # An enclosed stone counts twice: as a prisoner, and for the point below it.
        own = territory == color
        beaten = int(np.count_nonzero(own & (board[COLOR] != EMPTY)))
        points[color] = Points(int(np.count_nonzero(own)), prisoners[color] + beaten, taxed * living[color])
    return points


def territory_map(game: Game, dead: Collection[int] = (), seki: Collection[int] | None = None) -> Owner:
    """Return whose territory each vertex is [n] in `territory_points`, those of enclosed stones included."""
    return _territory(game, without_chains(game.board, dead), seki)[0]


def _territory(game: Game, board: Board, seki: Collection[int] | None) -> tuple[Owner, dict[int, int]]:
    """Return whose territory each vertex of a board without dead stones is [n], and the living groups by color."""
    owner = np.zeros(board.shape[1], dtype=np.int8)
    area(board, game.rules.suicide, True, new_scratch(board), owner)
    living = {BLACK: 0, WHITE: 0}
    if game.rules.tax is not Tax.NONE:
        living = _drop_seki_eyes(board, owner, None if seki is None else frozenset(seki))
    # A stone inside the opponent's pass-alive territory is a prisoner too, although nobody listed it as dead.
    owner[board[COLOR] == owner] = EMPTY
    return owner, living


def format_score(score: float) -> str:
    """Format a Black-positive score: "B+3.5", "W+2" or "0"."""
    if score == 0:
        return "0"
    return f"{'B' if score > 0 else 'W'}+{abs(score):g}"


def format_lead(lead: float) -> str:
    """Format an expected Black-positive score to a tenth of a point: "B+3.5", "W+2.0", or "B+0.0" for less."""
    shown = round(lead, 1)
    return f"{'W' if shown < 0 else 'B'}+{abs(shown):.1f}"


def without_chains(board: Board, dead: Collection[int]) -> Board:
    """Return a copy of a board without the chains of the given stones, which become prisoners."""
    copy = board.copy()
    for vertex in dead:
        if copy[COLOR, vertex] in (BLACK, WHITE):
            remove_chain(copy, int(copy[HEAD, vertex]))
    return copy


def _region(seed: int, member: NDArray[np.bool_], board: Board) -> set[int]:
    """Return the vertices connected to `seed` for which `member` is true (flood fill)."""
    region, stack = {seed}, [seed]
    while stack:
        for neighbor in neighbors(stack.pop(), int(board[HEADER, WIDTH])):
            if member[neighbor] and neighbor not in region:
                region.add(neighbor)
                stack.append(neighbor)
    return region


@dataclass(frozen=True)
class _Group:
    """A connected set of points with one owner. eyes: its parts without own stones. beside: neutral points next to it.

    is_sure: it certainly has two eyes; one large eye space can be divided into two.
    """

    color: int
    points: set[int]
    eyes: list[set[int]]
    beside: set[int]

    @property
    def is_sure(self) -> bool:
        return len(self.eyes) >= 2 or any(len(eye) >= _SURE_EYE_SIZE for eye in self.eyes)


def _groups(board: Board, owner: Owner) -> Iterator[_Group]:
    """Yield the groups of an area map."""
    colors, width = board[COLOR], int(board[HEADER, WIDTH])
    neutral = (colors == EMPTY) & (owner == EMPTY)
    seen: set[int] = set()
    for seed in np.flatnonzero(owner != EMPTY).tolist():
        if seed in seen:
            continue
        color = int(owner[seed])
        group = _region(seed, owner == color, board)
        seen |= group
        beside = {near for vertex in group for near in neighbors(vertex, width) if neutral[near]}
        yield _Group(color, group, _eye_spaces(board, group, colors != color), beside)


def stones_in_mutual_life(game: Game, dead: Collection[int], decided: Collection[int]) -> set[int]:
    """Return the points of groups of both colors beside the same small neutral region, none of which has certain eyes.

    If all of them live, it is a seki. dead: stones that are not there. decided: points that surely get an owner. They
    are eyes of groups that live, or will be filled.
    """
    board = without_chains(game.board, dead)
    owner = np.zeros(board.shape[1], dtype=np.int8)
    area(board, game.rules.suicide, True, new_scratch(board), owner)
    owned = frozenset(decided)
    doubtful = [
        group
        for group in _groups(board, owner)
        if group.beside and not group.is_sure and not any(eye & owned for eye in group.eyes)
    ]
    neutral = (board[COLOR] == EMPTY) & (owner == EMPTY)
    found: set[int] = set()
    seen: set[int] = set()
    for seed in np.flatnonzero(neutral).tolist():
        if seed in seen:
            continue
        region = _region(seed, neutral, board)
        seen |= region
        around = [group for group in doubtful if group.beside & region]
        is_shared = {group.color for group in around} == {BLACK, WHITE} and len(region) <= _MOST_SHARED
        if is_shared and not region & owned:
            found = found.union(*(group.points for group in around))
    return found


def _drop_seki_eyes(board: Board, owner: Owner, seki: frozenset[int] | None) -> dict[int, int]:
    """Remove the territory of groups in seki from an area map, in place; return the number of other groups by color."""
    width = int(board[HEADER, WIDTH])
    living = {BLACK: 0, WHITE: 0}
    for group in list(_groups(board, owner)):  # the map that they come from changes below
        if seki is None:
            lost, lives = (group.eyes, False) if group.beside and not group.is_sure else ([], True)
        else:
            lost = [eye for eye in group.eyes if any(near in seki for point in eye for near in neighbors(point, width))]
            lives = not group.points & seki
        for eye in lost:
            owner[list(eye)] = EMPTY
        living[group.color] += lives
    return living


def _eye_spaces(board: Board, group: set[int], not_own_stone: NDArray[np.bool_]) -> list[set[int]]:
    """Return the connected parts of a group without its own stones."""
    member = np.zeros(board.shape[1], dtype=np.bool_)
    member[[vertex for vertex in group if not_own_stone[vertex]]] = True
    eyes: list[set[int]] = []
    seen: set[int] = set()
    for seed in np.flatnonzero(member).tolist():
        if seed not in seen:
            eyes.append(_region(seed, member, board))
            seen |= eyes[-1]
    return eyes
