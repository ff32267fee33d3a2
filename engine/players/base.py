"""One seat for everything that can choose a move: what it is asked, and what it answers."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from engine.clock import Allotment
from engine.evaluators.raw import RawNetwork
from engine.game import Game
from engine.search.params import SearchParams
from engine.search.search import Search
from engine.search.stoppers import SearchStats
from engine.vertex import PASS, points

Watch = Callable[[Search, SearchStats], None]
"""Called every few milliseconds by the thread that searches; it may read the tree and must return soon."""


@dataclass(frozen=True)
class Limits:
    """How much a player may think; None for no limit.

    visits: at the root, reused ones included.
    seconds: wall time, all of which may be used; with `most_seconds` the time of a move of average difficulty.
    most_seconds: the bound of an easy or hard move's time, which the search then chooses itself.
    is_kept: time that is not used serves later moves; without it a move takes at least `seconds`.
    visibility: how much is seen of a move to be played, None for all; see `engine.settings.levels`.
    """

    visits: int | None = None
    seconds: float | None = None
    most_seconds: float | None = None
    is_kept: bool = True
    visibility: float | None = None

    @property
    def bound(self) -> float | None:
        """Seconds that must not be exceeded, or None."""
        return self.seconds if self.most_seconds is None else self.most_seconds


def limits_within(allotment: Allotment | None, visits: int | None = None, seconds: float | None = None) -> Limits:
    """Return the limits that a clock sets, within a user's caps of visits and seconds a move."""
    if allotment is None:
        return Limits(visits, seconds)
    limits = Limits(visits, allotment.seconds, allotment.most_seconds, allotment.is_kept)
    if seconds is None:
        return limits
    return replace(limits, seconds=min(seconds, allotment.seconds), most_seconds=min(seconds, allotment.most_seconds))


@dataclass(frozen=True)
class Decision:
    """A chosen move, and what the player thinks of the position from the mover's side.

    winrate in [0, 1], score_lead in points, visits of the search behind it.
    """

    vertex: int
    resign: bool = False
    winrate: float | None = None
    score_lead: float | None = None
    visits: int = 0


Avoided = Mapping[int, Mapping[int, int]]
"""By color, the vertices (PASS too) that this color may not play in the search, each with the number of plies for
which that holds: 1 is the root alone."""


@dataclass(frozen=True)
class AnalysisRequest:
    """What an analysis looks at, and how long.

    wide_root_noise: of this search alone, see `SearchParams`.
    """

    limits: Limits = Limits()
    avoided: Avoided = field(default_factory=dict)
    wide_root_noise: float = 0.0


def all_but(vertices: Collection[int], plies: int, width: int, height: int) -> dict[int, int]:
    """Return every other point and pass as avoided for a number of plies: how to allow `vertices` only."""
    return {vertex: plies for vertex in [*points(width, height), PASS] if vertex not in vertices}


class Player(Protocol):
    """Chooses moves and judges finished games. `stop` may be called from any thread.

    network: what it judges positions by, to be asked between searches; None for a player without one.
    params: of its search.
    """

    name: str
    network: RawNetwork | None
    params: SearchParams

    def genmove(
        self, game: Game, color: int, limits: Limits, watch: Watch | None = None, avoided: Avoided | None = None
    ) -> Decision:
        """Return a legal move for `color`; the game is not changed."""

    def analyze(self, game: Game, color: int, request: AnalysisRequest, watch: Watch) -> None:
        """Search for `color` until `stop` or the request's limits, and keep the tree; nothing is played."""

    def ponder(self, game: Game) -> None:
        """Search for the side to move until `stop` or the limit of pondering, and keep the tree."""

    def dead_stones(self, game: Game) -> list[list[int]]:
        """Return the dead chains of a finished game, each as its vertices."""

    def seki_stones(self, game: Game) -> list[list[int]]:
        """Return the chains that live in seki, each as its vertices."""

    def expected_score(self, game: Game) -> float | None:
        """Return the score that the game is expected to end with, Black minus White; None if it can be counted."""

    def prepare(self, width: int, height: int) -> None:
        """Get ready for boards of this size in the background, and return at once."""

    def stop(self) -> None:
        """End a running `genmove`, with the best move so far, `analyze` or `ponder`."""

    def set_params(self, params: SearchParams) -> None:
        """Search by other parameters from the next search on."""

    def clear_cache(self) -> None:
        """Forget what was searched and evaluated, and nothing of the game."""

    def new_game(self) -> None:
        """Forget what was learned about the last game."""

    def restart(self) -> None:
        """Start anew from the seed, as if just made: the same questions get the same answers."""

    def close(self) -> None:
        """Free threads and devices."""
