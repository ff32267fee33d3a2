"""The moves that are judged by `keima bench --quality`: those of Keima's search with some settings, and KataGo's."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np

from engine.apps.quality.positions import Position
from engine.color import color_name
from engine.errors import GoError
from engine.evaluation.evaluator import Evaluator
from engine.players.base import Limits
from engine.players.moves import safe_vertices
from engine.players.search_player import SearchPlayer
from engine.programs.answers import parse_move
from engine.programs.follower import Follower
from engine.programs.program import ProgramFailure
from engine.search.move_choice import choose_vertex
from engine.search.params import ROLLOUT_PARAMS, SearchParams
from engine.search.position import Root
from engine.search.side_by_side import Extent, search_all
from engine.search.throughput import load_of_visits
from engine.search.tree import ROOT, Tree

_WAIT_SECONDS = 600.0
_NO_LIMIT = 1_000_000_000
"""Visits or seconds; KataGo has no other word for none."""


class Limit(NamedTuple):
    """The limit of a search: visits, or seconds."""

    visits: int | None = None
    seconds: float | None = None

    def __str__(self) -> str:
        return f"{self.visits:,} visits" if self.visits is not None else f"{self.seconds:g} s"


class Choice(NamedTuple):
    """A move, and what it took. seconds: 0 where searches run side by side."""

    vertex: int
    visits: int
    seconds: float


Choices = dict[str, Choice]
"""Choices by the key of the position."""


class Chooser(Protocol):
    """Chooses moves in positions."""

    def choose(self, positions: Sequence[Position], limit: Limit, report: Callable[[], None]) -> Choices:
        """Return a move for each position, on boards of one size. report: called after each."""

    def close(self) -> None:
        """Free threads and processes."""


def default_params(evaluator: Evaluator) -> SearchParams:
    """Return the search parameters that an evaluator has by default."""
    return ROLLOUT_PARAMS if evaluator.attributes.has_first_play else SearchParams()


class SearchChooser:
    """Keima's search with some parameters.

    A search that visits limit runs as in a game, with as many positions in flight, but beside those of other positions,
    so its result is the same on every machine. A search that time limits runs alone, as the player runs it, with an
    empty tree and without cached evaluations.
    evaluator: for searches by time. cached: the same behind a cache, for searches by visits; not closed here.
    """

    def __init__(self, evaluator: Evaluator, cached: Evaluator, params: SearchParams) -> None:
        self._evaluator, self._cached = evaluator, cached
        self._params = replace(params, allow_resignation=False)
        self._player: SearchPlayer | None = None

    def choose(self, positions: Sequence[Position], limit: Limit, report: Callable[[], None]) -> Choices:
        """Return a move for each position."""
        if limit.visits is None:
            return {each.key: self._choose_in_time(each, limit, report) for each in positions}
        return self._choose_by_visits(positions, limit.visits, report)

    def _choose_by_visits(self, positions: Sequence[Position], visits: int, report: Callable[[], None]) -> Choices:
        found, load = Choices(), load_of_visits(self._evaluator.attributes, self._params, visits)

        def end(place: int, tree: Tree, root: Root) -> None:
            vertex = choose_vertex(tree, root, self._params, 0.0, np.random.default_rng(0))
            found[positions[place].key] = Choice(vertex, int(tree.nodes[ROOT]["visits"]), 0.0)
            report()

        games, seed = [each.game for each in positions], self._params.seed or 1
        leaves = min(load.calls * load.batch, self._cached.attributes.max_batch)
        search_all(self._cached, games, self._params, Extent(visits, leaves, seed), safe_vertices, end)
        return found

    def _choose_in_time(self, position: Position, limit: Limit, report: Callable[[], None]) -> Choice:
        game = position.game.copy()
        if self._player is None:
            self._player = SearchPlayer(self._evaluator, self._params)
            self._player.warm_up(game.width, game.height)
        self._player.new_game()
        begun = time.monotonic()
        decision = self._player.genmove(game, game.to_play, Limits(seconds=limit.seconds))
        report()
        return Choice(decision.vertex, decision.visits, time.monotonic() - begun)

    def close(self) -> None:
        """Stop the threads of the searches."""
        if self._player is not None:
            # Not the player itself: that would close the evaluator, which others use.
            self._player.search.close()
            self._player.judge.close()


class ProgramChooser:
    """Another GTP program, KataGo or one that has its commands. command: starts it with its network."""

    def __init__(self, command: str) -> None:
        self._follower = Follower(command, _WAIT_SECONDS)

    def choose(self, positions: Sequence[Position], limit: Limit, report: Callable[[], None]) -> Choices:
        """Return a move for each position. Raises GoError if the program fails or does not know the commands."""
        found = Choices()
        with self._failures():
            if not self._follower.is_running:
                self._follower.start()
            visits, seconds = limit.visits or _NO_LIMIT, limit.seconds or _NO_LIMIT
            self._ask(f"kata-set-param maxVisits {visits}")
            self._ask(f"kata-set-param maxTime {seconds:g}")
            for each in positions:
                found[each.key] = self._choose(each, limit)
                report()
        return found

    def _choose(self, position: Position, limit: Limit) -> Choice:
        game = position.game
        if not self._follower.follow(game):
            raise GoError(f"{self._follower.command}: refused the position {position.key}")
        self._ask("clear_cache")
        begun = time.monotonic()
        answer = self._ask(f"kata-search {color_name(game.to_play)}")
        spent = time.monotonic() - begun
        vertex = parse_move(answer, game.width, game.height)
        if vertex is None:
            raise GoError(f"{self._follower.command}: expected a move, got {answer!r}")
        return Choice(vertex, limit.visits or 0, spent)

    def _ask(self, command: str) -> str:
        reply = self._follower.ask(command)
        if not reply.ok:
            raise GoError(f"{self._follower.command}: {command}: {reply.text}")
        return reply.text

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except ProgramFailure as error:
            self._follower.kill()
            raise GoError(f"{self._follower.command}: {error}") from None

    def close(self) -> None:
        """Ask the program to quit."""
        self._follower.close()
