"""Defines the protocol of a player: requests, limits and decisions."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from engine.clock import Allotment
from engine.evaluators.raw import RawNetwork
from engine.game import Game
from engine.search.params import SearchParams
from engine.search.search import Search
from engine.search.stoppers import SearchStats
from engine.settings.levels import Level, level_at
from engine.vertex import PASS, points

Watch = Callable[[Search, SearchStats], None]
"""Callback that the searching thread calls every few milliseconds; it may read the tree and must return soon."""


@dataclass(frozen=True)
class Limits:
    """Limits of a search; None means unlimited.

    visits: at the root, including reused ones.
    seconds: wall time that may be used completely; with `most_seconds`, the time for a move of average difficulty.
    most_seconds: upper bound; within it the search chooses the time by the difficulty of the move.
    is_kept: unused time serves later moves; without it, a move takes at least `seconds`.
    level: how weaker play chooses a move, None at full strength. rank: the level's, by which a human network beside the
    playing one knows whom to imitate; "" at full strength.
    """

    visits: int | None = None
    seconds: float | None = None
    most_seconds: float | None = None
    is_kept: bool = True
    level: Level | None = None
    rank: str = ""

    @property
    def bound(self) -> float | None:
        """The number of seconds that must not be exceeded, or None."""
        return self.seconds if self.most_seconds is None else self.most_seconds


def at_rank(limits: Limits, rank: str, width: int, height: int) -> Limits:
    """Return the limits of a move by a player of a rank: its visits replace those of the limits."""
    level = level_at(rank, width, height)
    if level is None:
        return limits
    return replace(limits, visits=level.visits, level=level, rank=rank)


def limits_within(allotment: Allotment | None, visits: int | None = None, seconds: float | None = None) -> Limits:
    """Return the limits given by a clock, capped by the user's visits and seconds for each move."""
    if allotment is None:
        return Limits(visits, seconds)
    limits = Limits(visits, allotment.seconds, allotment.most_seconds, allotment.is_kept)
    if seconds is None:
        return limits
    return replace(limits, seconds=min(seconds, allotment.seconds), most_seconds=min(seconds, allotment.most_seconds))


@dataclass(frozen=True)
class Decision:
    """A chosen move and the player's evaluation from the mover's point of view.

    winrate in [0, 1], score_lead in points, visits of the search.
    """

    vertex: int
    resign: bool = False
    winrate: float | None = None
    score_lead: float | None = None
    visits: int = 0


Avoided = Mapping[int, Mapping[int, int]]
"""For each color, the vertices (also PASS) that it may not play in the search, with the number of plies: 1 is the root
only."""


@dataclass(frozen=True)
class AnalysisRequest:
    """What an analysis searches, and for how long.

    wide_root_noise, ignores_past: for this search only, see `SearchParams`.
    """

    limits: Limits = Limits()
    avoided: Avoided = field(default_factory=dict)
    wide_root_noise: float = 0.0
    ignores_past: bool = False


def all_but(vertices: Collection[int], plies: int, width: int, height: int) -> dict[int, int]:
    """Return every point not in `vertices`, and pass, as avoided for `plies` plies: this allows `vertices` only."""
    return {vertex: plies for vertex in [*points(width, height), PASS] if vertex not in vertices}


class Player(Protocol):
    """Chooses moves and judges finished games. `stop` is thread-safe.

    network: the network that evaluates positions, for direct queries between searches; None for a player without one.
    human: a human network beside it. params: of the player's search.
    """

    name: str
    network: RawNetwork | None
    human: RawNetwork | None
    params: SearchParams

    def genmove(
        self, game: Game, color: int, limits: Limits, watch: Watch | None = None, avoided: Avoided | None = None
    ) -> Decision:
        """Return a legal move for `color`; does not change the game."""

    def analyze(self, game: Game, color: int, request: AnalysisRequest, watch: Watch) -> None:
        """Search for `color` until `stop` or the request's limits and keep the tree; plays nothing."""

    def ponder(self, game: Game) -> None:
        """Search for the side to move until `stop` or the limit of pondering, and keep the tree."""

    def dead_stones(self, game: Game, limits: Limits | None = None) -> list[list[int]]:
        """Return the dead chains of a finished game, each as a list of vertices.

        limits: None judges as long as it takes.
        """

    def seki_stones(self, game: Game) -> list[list[int]]:
        """Return the chains that live in seki, each as a list of vertices."""

    def expected_score(self, game: Game) -> float | None:
        """Return the expected final score, Black minus White; None if the position can simply be counted."""

    def prepare(self, width: int, height: int) -> None:
        """Prepare for boards of this size in the background; returns at once."""

    def stop(self) -> None:
        """Stop a running `genmove`, which returns its best move so far, `analyze` or `ponder`."""

    def set_params(self, params: SearchParams) -> None:
        """Use other parameters from the next search on."""

    def clear_cache(self) -> None:
        """Drop the search tree and cached evaluations; keep everything about the game."""

    def new_game(self) -> None:
        """Forget the last game."""

    def restart(self) -> None:
        """Return to the initial state, including the seed: equal requests get equal answers again."""

    def close(self) -> None:
        """Release threads and devices."""
