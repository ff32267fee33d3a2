"""One problem after another through one search: set up, searched near its stones, answered at each count of visits."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.apps.solve.frame import Stones, frame, local_box
from engine.apps.solve.problems import Problem
from engine.color import BLACK, WHITE, color_letter
from engine.evaluation.evaluator import Evaluator
from engine.game import Game
from engine.rules import CHINESE
from engine.search.move_choice import choose_vertex
from engine.search.params import SearchParams
from engine.search.search import Search
from engine.search.stoppers import VisitStopper
from engine.vertex import PASS, format_sgf, point_at, points, row_column

KOMI = 7.0
"""An even game's under area rules, so that networks meet positions of a kind they know."""


@dataclass(frozen=True)
class Answer:
    """What was answered to a problem, as a line of results.jsonl.

    to_play: "B" or "W". stones: on the board of the problem. visits: counts at which the search was asked;
    moves: the move it would have played at each, in SGF letters; solved: whether that is a correct one.
    seconds: of the whole search.
    """

    name: str
    kind: str
    rank: str
    size: int
    to_play: str
    stones: int
    visits: tuple[int, ...]
    moves: tuple[str, ...]
    solved: tuple[bool, ...]
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON has them."""
        return asdict(self)

    @classmethod
    def from_json(cls, entry: Any) -> "Answer":
        """Return the answer of a line. Raises TypeError where it is none."""
        if not isinstance(entry, dict):
            raise TypeError(f"expected a JSON object, got {entry!r}")
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()
        }
        return cls(**fields)


class Posed(NamedTuple):
    """A problem as it is searched. region: the points that either side may play."""

    game: Game
    region: list[int]


class Solver:
    """Answers problems by search over one evaluator; each is searched as if it were the first."""

    def __init__(self, evaluator: Evaluator, params: SearchParams, visits: Sequence[int], *, framed: bool) -> None:
        """visits: at which answers are read, ascending. framed: wall off the board around problems, see `frame`."""
        self._search = Search(evaluator, params)
        self._visits = tuple(visits)
        self._framed = framed

    def solve(self, problem: Problem) -> Answer:
        """Return the answers to a problem, all from one search that grows."""
        start = time.monotonic()
        color, search = problem.to_play, self._search
        game, region = pose(problem, framed=self._framed)
        inside = set(region)
        legal = [vertex for vertex in game.legal_vertices(color) if vertex in inside]
        search.restart()
        search.begin(game, color, legal, region=region, avoid=_no_pass_first(game, color))
        moves = []
        for count in self._visits:
            search.run([VisitStopper(count)], count)
            moves.append(choose_vertex(search.tree, search.root, search.params, 0.0, search.generator))
        return Answer(
            name=problem.name,
            kind=problem.kind,
            rank=problem.rank,
            size=problem.size,
            to_play=color_letter(color),
            stones=len(problem.black) + len(problem.white),
            visits=self._visits,
            moves=tuple(format_sgf(vertex, problem.size) for vertex in moves),
            solved=tuple(vertex in problem.correct for vertex in moves),
            seconds=round(time.monotonic() - start, 3),
        )

    def close(self) -> None:
        """Stop the search's threads; the evaluator stays."""
        self._search.close()


def pose(problem: Problem, *, framed: bool) -> Posed:
    """Return the game and the region in which a problem is searched. framed: with a frame where there is room."""
    stones = _stones(problem)
    box = local_box(stones)
    around = frame(stones, box, KOMI) if framed else None
    if around is not None:
        stones = stones + around
    game = Game(problem.size, rules=CHINESE, komi=KOMI)
    game.setup(_where(stones, BLACK), _where(stones, WHITE), problem.to_play)
    inside = box.mask(problem.size, problem.size).ravel()
    every = points(problem.size, problem.size)
    return Posed(game, [vertex for vertex, is_inside in zip(every, inside, strict=True) if is_inside])


def _stones(problem: Problem) -> Stones:
    stones = np.zeros((problem.size, problem.size), dtype=np.int8)
    for color, vertices in ((BLACK, problem.black), (WHITE, problem.white)):
        for vertex in vertices:
            stones[row_column(vertex, problem.size)] = color
    return stones


def _where(stones: Stones, color: int) -> list[int]:
    return [point_at(int(row), int(column), stones.shape[1]) for row, column in np.argwhere(stones == color)]


def _no_pass_first(game: Game, color: int) -> NDArray[np.int16]:
    """Return the moves to avoid: a pass as the first one. A problem asks where to play."""
    avoid = np.zeros((3, game.board.shape[1]), dtype=np.int16)
    avoid[color, PASS] = 1
    return avoid
