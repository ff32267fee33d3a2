"""A player without a search, for tests of the protocol: fixed answers, and thinking that is waiting."""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.evaluators.raw import RawNetwork
    from engine.game import Game
    from engine.players import Decision, Limits


class FakePlayer:
    """Plays `script`, then the first legal point in policy order, then passes.

    Entries of the script are vertices as text, "pass" or "resign". thinking: wait for `stop`, or for
    the seconds of the limits. Chains in atari are dead, chains with two liberties live in seki.
    """

    name = "fake"

    def __init__(self, script: Sequence[str] = (), thinking: bool = False, network: "RawNetwork | None" = None) -> None:
        self.network = network
        self.script = list(script)
        self.limits: list[Limits] = []
        self.new_games = 0
        self.prepared: list[tuple[int, int]] = []
        self.judged = 0
        self.closed = False
        self._thinking = thinking
        self._stop = threading.Event()

    def genmove(self, game: "Game", color: int, limits: "Limits") -> "Decision":
        """Return the next answer, after `limits.seconds` if the player thinks."""
        from engine.players import Decision
        from engine.vertex import PASS, parse_vertex

        self._stop.clear()
        self.limits.append(limits)
        if self._thinking:
            self._stop.wait(limits.seconds or 60.0)
        if self.script:
            answer = self.script.pop(0)
            if answer == "resign":
                return Decision(PASS, resign=True)
            return Decision(parse_vertex(answer, game.width, game.height))
        return Decision(next(iter(game.legal_vertices(color)), PASS))

    def dead_stones(self, game: "Game") -> list[list[int]]:
        """Return the chains in atari."""
        self.judged += 1
        return _chains_with_liberties(game, 1)

    def seki_stones(self, game: "Game") -> list[list[int]]:
        """Return the chains with two liberties."""
        return _chains_with_liberties(game, 2)

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
