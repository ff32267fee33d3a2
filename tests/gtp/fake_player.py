"""A player without a search, for tests of the protocol: fixed answers, and thinking that is waiting."""

import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from engine.search.params import SearchParams
from tests.gtp.small_search import small_search

if TYPE_CHECKING:
    from engine.evaluators.raw import RawNetwork
    from engine.game import Game
    from engine.players import AnalysisRequest, Decision, Limits, Watch

_BATCH_SECONDS = 0.005


class FakePlayer:
    """Plays `script`, then the first legal point in policy order, then passes.

    Entries of the script are vertices as text, "pass" or "resign". thinking: wait for `stop`, or for
    the seconds of the limits. Chains in atari are dead, chains with two liberties live in seki. Whoever
    watches it sees one small search again and again.
    """

    name = "fake"

    def __init__(
        self,
        script: Sequence[str] = (),
        thinking: bool = False,
        network: "RawNetwork | None" = None,
        human: "RawNetwork | None" = None,
    ) -> None:
        self.network, self.human = network, human
        self.script = list(script)
        self.limits: list[Limits] = []
        self.new_games = 0
        self.prepared: list[tuple[int, int]] = []
        self.judged = 0
        self.closed = False
        self.analyzed: list[tuple[int, AnalysisRequest]] = []
        self.avoided: Mapping[int, Mapping[int, int]] | None = None
        self.pondered: list[int] = []
        self.cleared = 0
        self.expected: float | None = None
        self.interrupted: list[bool] = []
        self.params = SearchParams()
        self._thinking = thinking
        self._stop = threading.Event()

    def genmove(
        self,
        game: "Game",
        color: int,
        limits: "Limits",
        watch: "Watch | None" = None,
        avoided: "Mapping[int, Mapping[int, int]] | None" = None,
    ) -> "Decision":
        """Return the next answer, after `limits.seconds` if the player thinks."""
        from engine.players import Decision
        from engine.vertex import PASS, parse_vertex

        self._stop.clear()
        self.limits.append(limits)
        self.avoided = avoided
        if self._thinking:
            self._think(game, color, limits.seconds or 60.0, watch)
        if self.script:
            answer = self.script.pop(0)
            if answer == "resign":
                return Decision(PASS, resign=True)
            return Decision(parse_vertex(answer, game.width, game.height))
        return Decision(next(iter(game.legal_vertices(color)), PASS))

    def _think(self, game: "Game", color: int, seconds: float, watch: "Watch | None") -> None:
        """Wait for `stop`, or some seconds; let someone watch."""
        from engine.search.stoppers import SearchStats

        if watch is None:
            self.interrupted.append(self._stop.wait(seconds))
            return
        search, deadline = small_search(game, color), time.monotonic() + seconds
        while not self._stop.wait(_BATCH_SECONDS):
            watch(search, SearchStats(visits=10, playouts=10, elapsed=1.0, best_visits=6, second_visits=3))
            if time.monotonic() >= deadline:
                self.interrupted.append(False)
                return
        self.interrupted.append(True)

    def analyze(self, game: "Game", color: int, request: "AnalysisRequest", watch: "Watch") -> None:
        """Show the small search until `stop`, or for a moment where the request has a limit."""
        self._stop.clear()
        self.analyzed.append((color, request))
        self._think(game, color, 60.0 if request.limits.visits is None else 5 * _BATCH_SECONDS, watch)

    def ponder(self, game: "Game") -> None:
        """Wait for `stop`; remember the number of moves before."""
        self._stop.clear()
        self.pondered.append(game.move_number)
        self._stop.wait(60.0)

    def set_params(self, params: SearchParams) -> None:
        """Remember them."""
        self.params = params

    def clear_cache(self) -> None:
        """Count the call."""
        self.cleared += 1

    def dead_stones(self, game: "Game", limits: "Limits | None" = None) -> list[list[int]]:
        """Return the chains in atari."""
        self.judged += 1
        return _chains_with_liberties(game, 1)

    def seki_stones(self, game: "Game") -> list[list[int]]:
        """Return the chains with two liberties."""
        return _chains_with_liberties(game, 2)

    def expected_score(self, game: "Game") -> float | None:
        """Return what the test has set."""
        return self.expected

    def prepare(self, width: int, height: int) -> None:
        """Remember the board."""
        self.prepared.append((width, height))

    def stop(self) -> None:
        """End thinking."""
        self._stop.set()

    def restart(self) -> None:
        """Count as a new game."""
        self.new_games += 1

    def new_game(self) -> None:
        """Count the call."""
        self.new_games += 1

    def close(self) -> None:
        """Remember the call."""
        self.closed = True


def _chains_with_liberties(game: "Game", number: int) -> list[list[int]]:
    from engine.board.layout import HEAD, LIBERTIES
    from engine.players import chains

    return [chain for chain in chains(game) if game.board[LIBERTIES, game.board[HEAD, chain[0]]] == number]
