"""A loaded network, and its evaluation of a position without a search."""

import os
from dataclasses import dataclass
from types import TracebackType
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from engine.api.game import NAMES, Color, Game
from engine.color import for_color
from engine.errors import GoError
from engine.evaluators.cache import CachedEvaluator
from engine.evaluators.factory import Computing, open_network
from engine.evaluators.raw import RawNetwork
from engine.players import SearchPlayer
from engine.search.params import SearchParams
from engine.vertex import format_vertex, from_policy_index
from weights.shipped import DEFAULT_NETWORK


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A network's evaluation of a position, for the side to move.

    winrate: in [0, 1]. score_lead: points ahead, komi included; None for a network without a score.
    policy: [height, width] float32 probabilities, row 0 at the top, 0 where illegal; policy and pass_policy sum to 1.
    ownership: [height, width] float32 in [-1, 1], 1 where the side to move will own the point; None if unknown.
    """

    to_play: Color
    winrate: float
    score_lead: float | None
    policy: NDArray[np.float32]
    pass_policy: float
    ownership: NDArray[np.float32] | None

    def best_moves(self, count: int = 5) -> list[tuple[str, float]]:
        """Return the most likely legal moves with their probabilities, best first."""
        flat = np.append(self.policy, np.float32(self.pass_policy))
        order = np.argsort(-flat, kind="stable")[:count].tolist()
        height, width = self.policy.shape
        names = [format_vertex(from_policy_index(index, width, height), width, height) for index in order]
        return [(name, float(flat[index])) for name, index in zip(names, order, strict=True) if flat[index] > 0]


class Network:
    """A network that is ready to evaluate, returned by `load_network`. Any number of players may share it."""

    def __init__(self, raw: RawNetwork) -> None:
        self._raw, self._is_closed = raw, False
        self._cached = CachedEvaluator(raw.evaluator)
        # Weak: a player that the program has dropped is not kept alive by its network.
        self._players: WeakSet[SearchPlayer] = WeakSet()

    @property
    def name(self) -> str:
        """The name stored in the network file."""
        return self._raw.facts.name

    @property
    def board_sizes(self) -> tuple[int, int]:
        """Smallest and largest side of the boards that the network was trained for."""
        return self._raw.facts.board_sizes

    def evaluate(self, game: Game, *, symmetry: int = 0) -> Evaluation:
        """Evaluate the position once.

        symmetry: 0 to 7, how the board is turned or mirrored for the network; the result is turned back. On a board
        that is not square, 4 to 7 are the same as 0 to 3.
        Raises GoError for another symmetry or once the network is closed, WeightsError for a board size that the
        network was not trained for.
        """
        self.require_open()
        inner = game.inner
        found = self._raw.evaluate(inner, inner.to_play, symmetry)
        # `RawNetwork` reports from White's view; its negative is Black's view, which `for_color` expects.
        sign = for_color(-1.0, inner.to_play)
        policy = np.nan_to_num(found.policy)
        shape = inner.height, inner.width
        return Evaluation(
            to_play=NAMES[inner.to_play],
            winrate=(1.0 + sign * (found.white_win - found.white_loss)) / 2.0,
            score_lead=None if found.white_lead is None else sign * found.white_lead,
            policy=policy[:-1].reshape(shape),
            pass_policy=float(policy[-1]),
            ownership=None if found.ownership is None else np.float32(sign) * found.ownership.reshape(shape),
        )

    def search_player(self, params: SearchParams) -> SearchPlayer:
        """Create an engine player that searches with this network; `close` closes it, too.

        Raises GoError once the network is closed.
        """
        self.require_open()
        player = SearchPlayer(self._cached, params, self.name, self._raw)
        self._players.add(player)
        return player

    def require_open(self) -> None:
        """Raise GoError once the network is closed."""
        if self._is_closed:
            raise GoError(f"{self.name}: the network is closed")

    def close(self) -> None:
        """Free the threads and memory of the network and of its players; neither can be used afterwards."""
        self._is_closed = True
        for player in self._players:
            player.close()
        self._cached.close()

    def __enter__(self) -> "Network":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def load_network(
    source: str | os.PathLike[str] | None = None,
    *,
    backend: str = "auto",
    precision: str = "auto",
    threads: int | None = None,
    human_profile: str | None = None,
) -> Network:
    """Load a network.

    source: a file in any format that Keima reads, a directory (its newest network), or the name of a network that
    ships with Keima; None for the default network.
    backend, precision, threads, human_profile: as the options of these names, see `keima gtp --help`.
    Raises GoError or WeightsError; the message is one line and names the file.
    """
    chosen = DEFAULT_NETWORK if source is None else source
    return Network(open_network(chosen, Computing(backend, precision, threads), human_profile))
