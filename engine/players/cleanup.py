"""Taking dead stones off the board, where players do not agree that they are dead and play on."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from engine.color import EMPTY, for_color, opponent
from engine.game import Game
from engine.players.base import Decision, Player
from engine.players.moves import safe_vertices
from engine.rules import Scoring, Tax
from engine.scoring import area_score
from engine.vertex import PASS

_SUSPICIOUS_LOSS = 2.0
"""Points that taking stones off may seem to cost, which should cost nothing, before other moves are looked at."""


@dataclass
class CleanUp:
    """What one game's clean-up knows: the stones to take off, and the moves by which it knew them.

    Stones are judged when it begins, as `final_status_list` told them after the passes, and again after every stone
    that the opponent plays. A chain does not come back to life because its captor has begun to fill its liberties.
    """

    dead: frozenset[int] = frozenset()
    _moves: list[tuple[int, int]] | None = field(default=None)

    def goes_on(self, game: Game) -> bool:
        """True if nothing but passes has happened since `remember`."""
        if self._moves is None:
            return False
        since = game.moves[len(self._moves) :]
        return game.moves[: len(self._moves)] == self._moves and all(move.vertex == PASS for move in since)

    def begin(self, game: Game, player: Player) -> None:
        """Judge which stones are dead, as if both players passed now and agreed on them."""
        ended = game.copy()
        ended.set_rules(replace(game.rules, friendly_pass=True))
        while not ended.is_over:
            ended.play(ended.to_play, PASS)
        self.dead = frozenset(vertex for chain in player.dead_stones(ended) for vertex in chain)

    def remember(self, game: Game) -> None:
        """Note that all moves up to now are known."""
        self._moves = list(game.moves)

    def left(self, game: Game, color: int) -> set[int]:
        """Return the opponent's dead stones that still stand."""
        return {vertex for vertex in self.dead if game.color_at(vertex) == opponent(color)}

    def seems_to_cost(self, game: Game, color: int, decision: Decision) -> bool:
        """True if a player expects fewer points after its move than the board holds without the dead stones."""
        if decision.score_lead is None:
            return False
        return decision.score_lead < for_color(area_score(game, self.dead), color) - _SUSPICIOUS_LOSS


def as_it_stands(game: Game) -> Game:
    """Return the game by rules that count what stands, where own moves within own territory cost nothing."""
    copy = game.copy()
    copy.set_rules(replace(game.rules, scoring=Scoring.AREA, tax=Tax.NONE, button=False, friendly_pass=False))
    return copy


def liberties_of(game: Game, color: int, dead: Collection[int]) -> set[int]:
    """Return the safe moves of a color beside stones of the other."""
    stride = game.width + 1
    beside = {vertex + step for vertex in dead for step in (-stride, -1, 1, stride)}
    return beside.intersection(safe_vertices(game, color))


def moves_around(game: Game, color: int, dead: Collection[int]) -> set[int]:
    """Return the safe moves of a color in the regions without its stones that hold the given ones."""
    stride, todo, seen = game.width + 1, list(dead), set(dead)
    while todo:
        vertex = todo.pop()
        for near in (vertex - stride, vertex - 1, vertex + 1, vertex + stride):
            if near not in seen and game.color_at(near) in (EMPTY, opponent(color)):
                seen.add(near)
                todo.append(near)
    return seen.intersection(safe_vertices(game, color))
