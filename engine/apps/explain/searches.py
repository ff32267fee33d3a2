"""Searches the positions that an explanation needs, and collects its facts when all of them are done."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from engine.apps.analysis_server.task import Report, Task
from engine.color import BLACK, opponent
from engine.errors import GoError
from engine.explain.as_json import move_object, position_object
from engine.explain.facts import Measured, MoveFacts, PositionFacts, move_facts, position_facts
from engine.game import Game
from engine.search.analysis import Wanted
from engine.vertex import PASS

_PV_LENGTH = 15


@dataclass(frozen=True)
class Explanation:
    """Facts of a position, and of the move that led to it; None for a position without one."""

    position: PositionFacts
    move: MoveFacts | None


class _Role(StrEnum):
    """The positions that are searched. A pass is searched to learn what it costs."""

    AFTER = "after"
    AFTER_AND_PASS = "after, then a pass"
    BEFORE = "before"
    BEFORE_AND_PASS = "before, then a pass"


class ExplanationSearch:
    """The searches for one explanation.

    game: the position to explain, which is copied; its last move is explained, too. color: the side to move.
    earlier: number of moves before the game's first one, added to the move's number.
    on_done: called once, from any thread, with the explanation, with None if a search was cancelled without a result,
    or with a GoError if one failed. It must return soon and not raise.
    """

    def __init__(
        self, game: Game, color: int, on_done: Callable[[Explanation | GoError | None], None], earlier: int = 0
    ) -> None:
        self._game, self._color, self._on_done, self._earlier = game.copy(), color, on_done, earlier
        self._before: Game | None = None
        if game.moves:
            self._before = game.copy()
            self._move = self._before.undo()
        self._lock = threading.Lock()
        self._measured: dict[_Role, Measured] = {}
        self._missing: set[_Role] = set()
        self._is_answered = False

    def tasks(self, like: Task) -> list[Task]:
        """Return the searches, with the limits and parameters of a task, whose position and callback are replaced."""
        positions = _with_pass(_Role.AFTER, _Role.AFTER_AND_PASS, self._game, self._color)
        if self._before is not None:
            positions |= _with_pass(_Role.BEFORE, _Role.BEFORE_AND_PASS, self._before, self._move.color)
        self._missing = set(positions)
        return [self._task(role, game, color, like) for role, (game, color) in positions.items()]

    @property
    def missing(self) -> int:
        """The number of searches that are not done yet."""
        return len(self._missing)

    def _task(self, role: _Role, game: Game, color: int, like: Task) -> Task:
        def take(task: Task, report: Report) -> None:
            if report.is_final:
                self._take(role, report)

        return replace(
            like,
            game=game,
            color=color,
            view=BLACK,
            on_report=take,
            wanted=Wanted(pv_length=_PV_LENGTH, ownership=True),
            report_every=None,
            first_report=None,
            cancelled=threading.Event(),
        )

    def _take(self, role: _Role, report: Report) -> None:
        """Keep a result; answer after the last one."""
        with self._lock:
            self._missing.discard(role)
            if report.analysis is not None:
                self._measured[role] = measured(report)
            is_due = not self._is_answered and (not self._missing or bool(report.failure) or report.analysis is None)
            self._is_answered |= is_due
        if is_due:
            self._on_done(GoError(report.failure) if report.failure else self._explanation())

    def _explanation(self) -> Explanation | GoError | None:
        found = self._measured
        if self._missing or _Role.AFTER not in found or (self._before is not None and _Role.BEFORE not in found):
            return None
        try:
            after, passed = found[_Role.AFTER], found.get(_Role.AFTER_AND_PASS)
            if self._before is None:
                return Explanation(position_facts(self._game, self._color, after, passed), None)
            before = position_facts(
                self._before, self._move.color, found[_Role.BEFORE], found.get(_Role.BEFORE_AND_PASS)
            )
            move = move_facts(self._before, self._move, before, after, passed, self._color, self._earlier)
            return Explanation(move.after, move)
        except GoError as error:
            return error


def _with_pass(role: _Role, passing: _Role, game: Game, color: int) -> dict[_Role, tuple[Game, int]]:
    """Return a position to search, and the one after a pass unless the pass would end the game or a phase of it."""
    found = {role: (game, color)}
    if not game.is_over and not game.pass_ends_phase(color):
        passed = game.copy()
        passed.play(color, PASS, lenient=True)
        found[passing] = (passed, opponent(color))
    return found


def measured(report: Report) -> Measured:
    """Return what a report in Black's view says about its position."""
    assert report.analysis is not None
    root, moves = report.analysis.root, report.analysis.moves
    best = [move.vertex for move in moves if moves[0].vertex in (move.vertex, move.is_symmetry_of)]
    return Measured(
        winrate=root.winrate,
        lead=root.lead,
        visits=root.visits,
        ownership=None if root.ownership is None else root.ownership.tolist(),
        pv=moves[0].pv if moves else (),
        best=tuple(best),
    )


def explanation_object(explanation: Explanation) -> dict[str, object]:
    """Return an explanation as plain data for JSON: "move", if a move led to the position, and "position"."""
    move: dict[str, object] = {} if explanation.move is None else {"move": move_object(explanation.move)}
    return move | {"position": position_object(explanation.position)}
