"""Judges life and death: the owner of each point, dead chains, and chains in seki."""

import threading
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.color import BLACK, EMPTY, for_color, opponent
from engine.evaluation.evaluator import Evaluator
from engine.evaluators.rollout import RolloutEvaluator
from engine.game import Game
from engine.players.base import Limits
from engine.players.moves import chains, safe_vertices
from engine.scoring import ownership_map, stones_in_mutual_life
from engine.search.params import SearchParams
from engine.search.search import Search
from engine.search.stoppers import EventStopper, Stopper, TimeStopper, VisitStopper
from engine.vertex import neighbors, points, policy_index

Ownership = NDArray[np.float64]
"""[area] in policy order: 1 is Black's, -1 White's, averaged over both sides to move first."""

# Mean ownership from which a point counts as decided. Playouts blunder, so their threshold is lower than a network's.
_SURE = 0.9
_SURE_OF_PLAYOUTS = 0.75
# An empty point beside living stones belongs to nobody below this mean ownership; from it on, stones are surely alive.
_NOBODYS = 0.5
# An eye space or neutral point with less may belong to a seki of a finished game: in 150 games of KGS the eyes of three
# had up to 0.58, and an eye of a group that lived 0.89.
_DECIDED = 0.8
_MEMORY_MIB = 64
# Visits of each of the two judging searches with a network, unless the move has fewer.
_NETWORK_VISITS = 64
# The same before an analysis, which must begin without delay.
_GLANCE_VISITS = 8
_Position = tuple[object, ...]


@dataclass(frozen=True)
class Judgement:
    """The expected result of a position if both sides play on.

    dead: stones of both colors that will be captured; seki: stones that live without territory. sure: ownership from
    which a point counts as decided.
    """

    ownership: Ownership
    dead: list[int]
    sure: float = _SURE
    seki: tuple[int, ...] = ()


class Judge:
    """Judges positions with two endless searches, one for each side to move first.

    If the evaluator has no ownership, playouts replace it.
    """

    def __init__(self, evaluator: Evaluator, params: SearchParams, stop: threading.Event) -> None:
        self._own = None if evaluator.attributes.has_ownership else RolloutEvaluator()
        self._evaluator = self._own or evaluator
        self._search = Search(self._evaluator, _judging(params))
        self._stop = stop
        self._visits = params.judge_visits
        self._last: tuple[_Position, Ownership] | None = None
        self._glance: tuple[_Position, Ownership] | None = None
        self.sure = _SURE_OF_PLAYOUTS if self._evaluator.attributes.has_first_play else _SURE

    def set_params(self, params: SearchParams) -> None:
        """Use other parameters from now on."""
        self._search.params = _judging(params)
        self._visits = params.judge_visits
        self._last = self._glance = None

    def forget(self) -> None:
        """Drop cached judgements."""
        self._last = self._glance = None
        self._search.forget()

    def restart(self) -> None:
        """Drop cached judgements and reset the random numbers to the seed."""
        self.forget()
        self._search.restart()

    def close(self) -> None:
        """Stop the threads."""
        self._search.close()
        if self._own is not None:
            self._own.close()

    def effort(self, limits: Limits) -> int:
        """Return the number of evaluations of one judgement."""
        if self._evaluator.attributes.has_first_play:
            return 2 * self._visits
        return 2 * min(_NETWORK_VISITS, limits.visits or _NETWORK_VISITS)

    def ownership(self, game: Game, limits: Limits | None = None) -> Ownership:
        """Return the expected owner of each point.

        limits: their seconds limit both searches together. Their visits limit each search with a network; with playouts
        they are ignored, because only many playouts are meaningful.
        """
        limits = limits or Limits()
        visits = self.effort(limits) // 2
        total = np.zeros(game.width * game.height)
        # The average over both sides to move removes the advantage of moving first.
        for color in (BLACK, opponent(BLACK)):
            self._search.forget()
            self._search.begin(game, color, safe_vertices(game, color))
            # Without it the tree would end at two passes, where dead stones still stand.
            self._search.play_on()
            stoppers: list[Stopper] = [EventStopper(self._stop), VisitStopper(visits)]
            if limits.seconds is not None:
                stoppers.append(TimeStopper(limits.seconds / 2))
            self._search.run(stoppers, visits)
            # The last entry is the number of evaluations in the sum.
            total += self._search.ownership_sum[:-1] / max(1.0, self._search.ownership_sum[-1])
        return total / 2

    def judge(self, game: Game, limits: Limits) -> Judgement:
        """Judge life and death within limits."""
        return self._judgement(game, self.ownership(game, limits))

    def glance(self, game: Game) -> Judgement:
        """Judge life and death by a few evaluations; the result is cached for the position."""
        position = _position(game)
        # A full judgement of this position is better than a glance, and free.
        for known in (self._last, self._glance):
            if known is not None and known[0] == position:
                return self._judgement(game, known[1])
        ownership = self.ownership(game, Limits(visits=_GLANCE_VISITS))
        if not self._stop.is_set():
            self._glance = (position, ownership)
        return self._judgement(game, ownership)

    def final_judgement(self, game: Game) -> Judgement:
        """Judge life and death by `final_ownership`."""
        return self._judgement(game, self.final_ownership(game))

    def _judgement(self, game: Game, ownership: Ownership) -> Judgement:
        dead = [vertex for chain in dead_chains(game, ownership) for vertex in chain]
        seki = tuple(vertex for chain in seki_chains(game, ownership) for vertex in chain)
        return Judgement(ownership, dead, self.sure, seki)

    def final_ownership(self, game: Game, limits: Limits | None = None) -> Ownership:
        """Return `ownership`, without limits cached for the position, so that all answers about it agree."""
        position = _position(game)
        if self._last is None or self._last[0] != position:
            self._stop.clear()
            ownership = self.ownership(game, limits)
            # A judgement that was stopped early is less reliable and must not be cached.
            if self._stop.is_set() or limits is not None:
                return ownership
            self._last = (position, ownership)
        return self._last[1]


def _position(game: Game) -> _Position:
    """Return everything that a judgement depends on."""
    return game.board.tobytes(), tuple(game.moves), game.rules, game.komi


def _judging(params: SearchParams) -> SearchParams:
    """Return search parameters without noise and biases, and with a small memory so that the search starts at once."""
    return replace(
        params,
        max_memory_mib=_MEMORY_MIB,
        adds_noise=False,
        wide_root_noise=0.0,
        playout_doubling_advantage=0.0,
        repeated_shape_penalty=0.0,
        max_playouts=0,
        prunes_symmetric_moves=False,
        remembers=False,
    )


def counts_as_it_stands(game: Game) -> bool:
    """True for a finished game whose rules have no agreement on dead stones."""
    return game.is_over and not game.rules.may_agree


def enclosed_chains(game: Game) -> list[list[int]]:
    """Return the chains in the opponent's area under the rules: dead without any judgement."""
    if game.no_result:
        return []
    owner, _ = ownership_map(game, game.board)
    return [chain for chain in chains(game) if owner[chain[0]] == opponent(game.color_at(chain[0]))]


def dead_chains(game: Game, ownership: Ownership) -> list[list[int]]:
    """Return the chains whose points the opponent is expected to own.

    A doubtful chain counts as dead if that is more likely than not: counted as alive, it would make its whole region
    neutral.
    """
    return [chain for chain in chains(game) if _own_share(game, chain, ownership) < 0.0]


def seki_chains(game: Game, ownership: Ownership) -> list[list[int]]:
    """Return the living chains beside empty points that all belong to nobody.

    In a finished game, also those of groups of both colors that share neutral points and have no certain eyes.
    """
    own = {v: ownership[policy_index(v, game.width, game.height)] for v in points(game.width, game.height)}
    mutual: Collection[int] = ()
    if game.is_over:
        dead = [vertex for chain in dead_chains(game, ownership) for vertex in chain]
        decided = [vertex for vertex, share in own.items() if abs(share) >= _DECIDED]
        mutual = stones_in_mutual_life(game, dead, decided)
    found = []
    for chain in chains(game):
        share = _own_share(game, chain, ownership)
        liberties = {near for v in chain for near in neighbors(v, game.width)}
        empty = [v for v in liberties if game.color_at(v) == EMPTY]
        is_nobodys = share >= _NOBODYS and empty and all(abs(own[v]) < _NOBODYS for v in empty)
        if is_nobodys or (share >= 0.0 and chain[0] in mutual):
            found.append(chain)
    return found


def _own_share(game: Game, chain: list[int], ownership: Ownership) -> float:
    """Return the mean ownership of a chain's points from its color's point of view."""
    mean = float(np.mean([ownership[policy_index(v, game.width, game.height)] for v in chain]))
    return for_color(mean, game.color_at(chain[0]))
