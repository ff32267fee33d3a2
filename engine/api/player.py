"""A player that searches with a network: analyzes positions, chooses moves, scores finished games."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.api.game import NAMES, Color, Game
from engine.api.network import Network
from engine.errors import GoError
from engine.players import AnalysisRequest, Limits
from engine.scoring import final_score
from engine.search import analysis
from engine.search.params import SearchParams, with_settings

DEFAULT_VISITS = 200
"""Visits of a search if neither visits nor seconds are given."""


@dataclass(frozen=True)
class MoveInfo:
    """Statistics of a searched move, for the side to move.

    move: "Q16" or "pass". winrate: in [0, 1]. prior: the network's probability of it, in [0, 1].
    pv: the principal variation, this move first.
    """

    move: str
    visits: int
    winrate: float
    score_lead: float
    prior: float
    pv: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Analysis:
    """The result of a search, for the side to move.

    moves: the visited moves, best first.
    ownership: [height, width] float32 in [-1, 1], 1 where the side to move will own the point; None if unknown.
    """

    to_play: Color
    visits: int
    winrate: float
    score_lead: float
    moves: tuple[MoveInfo, ...]
    ownership: NDArray[np.float32] | None


class Player:
    """Chooses moves by tree search with a network; reuses its search tree from move to move. Not thread-safe.

    name: the name of the network.
    """

    def __init__(
        self,
        network: Network,
        *,
        visits: int | None = None,
        seconds: float | None = None,
        seed: int | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        """Create a player whose search for a move stops after `visits` or `seconds`, whichever comes first.

        visits: 200 if neither is given. seed: the same seed, visits and positions give the same moves.
        settings: search parameters with the names and values of `--set`.
        Raises GoError for an unknown parameter, a bad value or a closed network.
        """
        chosen = {"seed": seed or 0, **(settings or {})}
        params = with_settings(SearchParams(), {name: str(value) for name, value in chosen.items()})
        self.name, self._network = network.name, network
        self._limits = _limits(visits, seconds)
        self._player = network.search_player(params)

    def search(self, game: Game, *, visits: int | None = None, seconds: float | None = None) -> Analysis:
        """Search the position and return the statistics. visits, seconds: limits instead of the player's own.

        Raises GoError for a limit that is not above 0, or once the network is closed.
        """
        self._network.require_open()
        inner = game.inner.copy()
        limits = self._limits if visits is None and seconds is None else _limits(visits, seconds)
        self._player.analyze(inner, inner.to_play, AnalysisRequest(limits), lambda search, statistics: None)
        found = analysis.snapshot(self._player.search, analysis.Wanted(ownership=True), inner.to_play)
        assert found is not None  # every search evaluates its root
        ownership = found.root.ownership
        return Analysis(
            to_play=NAMES[inner.to_play],
            visits=found.root.visits,
            winrate=found.root.winrate,
            score_lead=found.root.lead,
            moves=tuple(_move_info(game, each) for each in found.moves),
            ownership=None if ownership is None else ownership.reshape(game.height, game.width).astype(np.float32),
        )

    def genmove(self, game: Game) -> str:
        """Choose a move for the side to move: a point, "pass" or "resign". Does not change the game.

        Raises GoError once the network is closed.
        """
        self._network.require_open()
        inner = game.inner.copy()
        decision = self._player.genmove(inner, inner.to_play, self._limits)
        return "resign" if decision.resign else game.vertex_name(decision.vertex)

    def score(self, game: Game) -> float:
        """Return Black's points minus White's of a finished game, after removing the stones that it judges dead.

        Raises GoError once the network is closed.
        """
        self._network.require_open()
        dead, seki = (
            [vertex for chain in chains for vertex in chain]
            for chains in (self._player.dead_stones(game.inner), self._player.seki_stones(game.inner))
        )
        return final_score(game.inner, dead, seki)

    def new_game(self) -> None:
        """Drop the search tree and everything learned in the last game."""
        self._player.new_game()


def _limits(visits: int | None, seconds: float | None) -> Limits:
    if visits is not None and not visits >= 1:
        raise GoError(f"expected at least one visit, got {visits!r}")
    if seconds is not None and not seconds > 0:
        raise GoError(f"expected more than 0 seconds, got {seconds!r}")
    return Limits(DEFAULT_VISITS if visits is None and seconds is None else visits, seconds)


def _move_info(game: Game, move: analysis.MoveInfo) -> MoveInfo:
    return MoveInfo(
        move=game.vertex_name(move.vertex),
        visits=move.visits,
        winrate=move.winrate,
        score_lead=move.lead,
        prior=move.prior,
        pv=tuple(game.vertex_name(vertex) for vertex in move.pv),
    )
