"""Life and death: who will own each point, which chains are dead and which live in seki."""

import threading
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.color import BLACK, EMPTY, for_color, opponent
from engine.evaluation.evaluator import Evaluator
from engine.evaluators.rollout import RolloutEvaluator
from engine.game import Game
from engine.players.base import Limits
from engine.players.moves import chains, safe_vertices
from engine.scoring import ownership_map
from engine.search.params import SearchParams
from engine.search.search import Search
from engine.search.stoppers import EventStopper, Stopper, TimeStopper, VisitStopper
from engine.vertex import neighbors, points, policy_index

Ownership = NDArray[np.float64]
"""[area] in policy order, 1 Black's, -1 White's, with either side to move first."""

_SURE = 0.9
_SURE_OF_PLAYOUTS = 0.75
"""Mean ownership from which a point counts as decided, by a network or by play-outs, which blunder."""
_NOBODYS = 0.5
"""Mean ownership below which an empty point beside living stones is nobody's, and from which these surely live."""
_MEMORY_MIB = 64
_NETWORK_VISITS = 64
"""Visits of each of the two searches that judge by a network, unless a move has fewer."""
_GLANCE_VISITS = 8
"""Of each of the two before an analysis, which is to begin at once."""
_Position = tuple[object, ...]


@dataclass(frozen=True)
class Judgement:
    """What comes of a position if both sides go on playing.

    dead: stones that do not live, of both colors; seki: stones that live without territory. sure: ownership from
    which a point counts as decided.
    """

    ownership: Ownership
    dead: list[int]
    sure: float = _SURE
    seki: tuple[int, ...] = ()


class Judge:
    """Judges positions by searches that play on without end, one with either side to move.

    Evaluators that know no ownership leave the judgement to play-outs.
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
        """Search by other parameters from now on."""
        self._search.params = _judging(params)
        self._visits = params.judge_visits
        self._last = self._glance = None

    def forget(self) -> None:
        """Drop the last judgement."""
        self._last = self._glance = None
        self._search.forget()

    def restart(self) -> None:
        """Forget, and draw random numbers from the seed again."""
        self.forget()
        self._search.restart()

    def close(self) -> None:
        """Stop the threads."""
        self._search.close()
        if self._own is not None:
            self._own.close()

    def effort(self, limits: Limits) -> int:
        """Return how many evaluations a judgement takes."""
        if self._evaluator.attributes.has_first_play:
            return 2 * self._visits
        return 2 * min(_NETWORK_VISITS, limits.visits or _NETWORK_VISITS)

    def ownership(self, game: Game, limits: Limits | None = None) -> Ownership:
        """Return the expected owner of each point.

        limits: their seconds bound both searches together; their visits bound each where a network evaluates,
        and not where only many play-outs tell anything.
        """
        limits = limits or Limits()
        visits = self.effort(limits) // 2
        total = np.zeros(game.width * game.height)
        for color in (BLACK, opponent(BLACK)):
            self._search.forget()
            self._search.begin(game, color, safe_vertices(game, color))
            self._search.play_on()
            stoppers: list[Stopper] = [EventStopper(self._stop), VisitStopper(visits)]
            if limits.seconds is not None:
                stoppers.append(TimeStopper(limits.seconds / 2))
            self._search.run(stoppers, visits)
            total += self._search.ownership_sum[:-1] / max(1.0, self._search.ownership_sum[-1])
        return total / 2

    def judge(self, game: Game, limits: Limits) -> Judgement:
        """Return what a player may know of life and death within limits."""
        return self._judgement(game, self.ownership(game, limits))

    def glance(self, game: Game) -> Judgement:
        """Return what a few evaluations tell of life and death, the same whenever this position is asked about."""
        position = _position(game)
        for known in (self._last, self._glance):
            if known is not None and known[0] == position:
                return self._judgement(game, known[1])
        ownership = self.ownership(game, Limits(visits=_GLANCE_VISITS))
        if not self._stop.is_set():
            self._glance = (position, ownership)
        return self._judgement(game, ownership)

    def final_judgement(self, game: Game) -> Judgement:
        """Return `judge` by the `final_ownership`."""
        return self._judgement(game, self.final_ownership(game))

    def _judgement(self, game: Game, ownership: Ownership) -> Judgement:
        dead = [vertex for chain in dead_chains(game, ownership) for vertex in chain]
        seki = tuple(vertex for chain in seki_chains(game, ownership) for vertex in chain)
        return Judgement(ownership, dead, self.sure, seki)

    def final_ownership(self, game: Game) -> Ownership:
        """Return `ownership` without limits, judged once a position, so that all answers about it agree."""
        position = _position(game)
        if self._last is None or self._last[0] != position:
            self._stop.clear()
            ownership = self.ownership(game)
            if self._stop.is_set():
                return ownership
            self._last = (position, ownership)
        return self._last[1]


def _position(game: Game) -> _Position:
    """Return all that a judgement hangs on."""
    return game.board.tobytes(), tuple(game.moves), game.rules, game.komi


def _judging(params: SearchParams) -> SearchParams:
    """Return parameters for a search that wants the truth, whoever asks, and starts at once."""
    return replace(
        params,
        max_memory_mib=_MEMORY_MIB,
        noise_fraction=0.0,
        wide_root_noise=0.0,
        playout_doubling_advantage=0.0,
        prunes_symmetric_moves=False,
    )


def counts_as_it_stands(game: Game) -> bool:
    """True for a finished game whose rules know no agreement on dead stones."""
    return game.is_over and not game.rules.may_agree


def enclosed_chains(game: Game) -> list[list[int]]:
    """Return the chains in the other side's area as the rules count it: dead without anybody's judgement."""
    if game.no_result:
        return []
    owner, _ = ownership_map(game, game.board)
    return [chain for chain in chains(game) if owner[chain[0]] == opponent(game.color_at(chain[0]))]


def dead_chains(game: Game, ownership: Ownership) -> list[list[int]]:
    """Return the chains whose points the opponent is expected to own.

    A chain in doubt is dead where that is more likely than not: taken for alive, it would make a whole region neutral.
    """
    return [chain for chain in chains(game) if _own_share(game, chain, ownership) < 0.0]


def seki_chains(game: Game, ownership: Ownership) -> list[list[int]]:
    """Return the living chains beside empty points all of which are nobody's."""
    own = {v: ownership[policy_index(v, game.width, game.height)] for v in points(game.width, game.height)}
    found = []
    for chain in chains(game):
        if _own_share(game, chain, ownership) < _NOBODYS:
            continue
        liberties = {near for v in chain for near in neighbors(v, game.width)}
        empty = [v for v in liberties if game.color_at(v) == EMPTY]
        if empty and all(abs(own[v]) < _NOBODYS for v in empty):
            found.append(chain)
    return found


def _own_share(game: Game, chain: list[int], ownership: Ownership) -> float:
    """Return the mean ownership of a chain's points in the view of its color."""
    mean = float(np.mean([ownership[policy_index(v, game.width, game.height)] for v in chain]))
    return for_color(mean, game.color_at(chain[0]))
