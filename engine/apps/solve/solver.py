"""Solves problems with one search: sets each one up, searches near its stones, and records moves on the way."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.apps.solve.frame import Stones, frame, local_box
from engine.apps.solve.problems import Problem
from engine.apps.solve.proof import prove
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
"""An even game under area rules, the kind of positions that networks were trained on."""


@dataclass(frozen=True)
class Answer:
    """The answer to a problem, a line of results.jsonl.

    to_play: "B" or "W". stones: their number in the problem, without the frame.
    visits, moves, solved: at each number of visits the best move, in SGF letters, and whether it is correct.
    seconds: time of the whole search, without that of a proof.
    proof: what was proved, in words, "" without a proof. proof_wins: whether the side to move wins by it.
    proof_solves: whether its first move is a correct one.
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
    proof: str = ""
    proof_wins: bool = False
    proof_solves: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, entry: Any) -> "Answer":
        """Return the answer of a line. Raises TypeError for other JSON."""
        if not isinstance(entry, dict):
            raise TypeError(f"expected a JSON object, got {entry!r}")
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()
        }
        return cls(**fields)


class SearchedProblem(NamedTuple):
    """A problem as it is searched. region: the points that both sides may play."""

    game: Game
    region: list[int]


class Solver:
    """Solves problems with one search; the result of a problem does not depend on earlier ones."""

    def __init__(
        self,
        evaluator: Evaluator,
        params: SearchParams,
        visits: Sequence[int],
        *,
        framed: bool,
        proves: bool = False,
    ) -> None:
        """visits: numbers of visits at which the move is recorded, ascending. framed: see `engine.apps.solve.frame`.

        proves: whether to look for proofs, see `engine.apps.solve.proof`.
        """
        self._search = Search(evaluator, params)
        self._visits = tuple(visits)
        self._framed = framed
        self._proves = proves

    def solve(self, problem: Problem) -> Answer:
        """Solve a problem. All moves are from one search that continues from one number of visits to the next."""
        start = time.monotonic()
        color, search = problem.to_play, self._search
        game, region = pose(problem, framed=self._framed)
        inside = set(region)
        legal = [vertex for vertex in game.legal_vertices(color) if vertex in inside]
        # Reseeds the random numbers, so that a continued run gives the same answers as one without a stop.
        search.restart()
        search.begin(game, color, legal, region=region, avoid=_no_pass_first(game, color))
        moves = []
        # One search that goes on: its tree at 800 visits contains that at 100, so larger counts cost only the
        # difference.
        for count in self._visits:
            search.run([VisitStopper(count)], count)
            moves.append(choose_vertex(search.tree, search.root, search.params, 0.0, search.generator))
        answer = Answer(
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
        proof = prove(problem.game(), color) if self._proves else None
        if proof is None:
            return answer
        wins = proof.lives == (proof.color == color)
        solves = bool(proof.line) and proof.line[0] in problem.correct
        return replace(answer, proof=proof.text, proof_wins=wins, proof_solves=wins and solves)

    def close(self) -> None:
        """Stop the search's threads; does not close the evaluator."""
        self._search.close()


def pose(problem: Problem, *, framed: bool) -> SearchedProblem:
    """Set up a problem for a search. framed: surround it with a frame if there is room."""
    stones = _stones(problem)
    box = local_box(stones)
    around = frame(stones, box, KOMI) if framed else None
    if around is not None:
        stones = stones + around
    game = Game(problem.size, rules=CHINESE, komi=KOMI)
    game.setup(_where(stones, BLACK), _where(stones, WHITE), problem.to_play)
    inside = box.mask(problem.size, problem.size).ravel()
    every = points(problem.size, problem.size)
    return SearchedProblem(game, [vertex for vertex, is_inside in zip(every, inside, strict=True) if is_inside])


def _stones(problem: Problem) -> Stones:
    stones = np.zeros((problem.size, problem.size), dtype=np.int8)
    for color, vertices in ((BLACK, problem.black), (WHITE, problem.white)):
        for vertex in vertices:
            stones[row_column(vertex, problem.size)] = color
    return stones


def _where(stones: Stones, color: int) -> list[int]:
    return [point_at(int(row), int(column), stones.shape[1]) for row, column in np.argwhere(stones == color)]


def _no_pass_first(game: Game, color: int) -> NDArray[np.int16]:
    """Return an avoid table that forbids a pass as the first move: a problem asks where to play."""
    avoid = np.zeros((3, game.board.shape[1]), dtype=np.int16)
    avoid[color, PASS] = 1
    return avoid
