"""Captures dead stones when the players disagree about them and play on."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from engine.color import EMPTY, for_color, opponent
from engine.game import Game, Move
from engine.players.base import Avoided, Decision, Limits, Player, all_but
from engine.players.moves import safe_liberties, safe_vertices
from engine.rules import Scoring, Tax
from engine.scoring import area_score
from engine.vertex import PASS, neighbors

# Capturing dead stones should cost nothing; if it seems to cost more points than this, other moves are tried.
_SUSPICIOUS_LOSS = 2.0
# A move must seem better by this many points to be preferred to one that takes a liberty.
_CLEAR_GAIN = 0.5


@dataclass
class CleanUp:
    """The state of one game's clean-up: the dead stones, and the moves at which they were determined.

    Dead stones are determined after the passes that ended the game, and again after every stone that the opponent
    plays. A chain does not become alive because its captor fills its liberties.
    """

    dead: frozenset[int] | None = None
    _moves: list[Move] | None = field(default=None)

    def expect(self, game: Game) -> None:
        """Record that the players have passed: they may take that back and play on from here."""
        count = game.move_number
        while count and game.moves[count - 1].vertex == PASS:
            count -= 1
        self.dead, self._moves = None, game.moves[:count]

    def goes_on(self, game: Game) -> bool:
        """True if only passes were played since `expect` or `remember`."""
        if self._moves is None:
            return False
        since = game.moves[len(self._moves) :]
        return game.moves[: len(self._moves)] == self._moves and all(move.vertex == PASS for move in since)

    def learn(self, game: Game, dead: Collection[int]) -> None:
        """Adopt the dead stones reported after the passes, so that the clean-up agrees with the report."""
        if self.dead is None and game.rules.may_agree and game.is_over and self.goes_on(game):
            self.dead = frozenset(dead)

    def judge(self, game: Game, player: Player, limits: Limits | None = None) -> None:
        """Determine the dead stones as if both players passed now and agreed. limits: see `Player.dead_stones`."""
        ended = game.copy()
        ended.set_rules(replace(game.rules, friendly_pass=True))
        # Some rules need more than two passes.
        while not ended.is_over:
            ended.play(ended.to_play, PASS)
        self.dead = frozenset(vertex for chain in player.dead_stones(ended, limits) for vertex in chain)

    def remember(self, game: Game) -> None:
        """Record that the moves so far have not changed which stones are dead."""
        self._moves = list(game.moves)

    def forget(self) -> None:
        """Reset: no dead stones are known."""
        self.dead, self._moves = None, None

    def left(self, game: Game, color: int) -> set[int]:
        """Return the opponent's dead stones that are still on the board."""
        return {vertex for vertex in self.dead or () if game.color_at(vertex) == opponent(color)}

    def choose(self, game: Game, color: int, think: Callable[[Game, Avoided], Decision]) -> Decision:
        """Choose a move against dead stones: on one of their liberties, else near them, else a pass.

        think: chooses a move by rules that count every stone on the board, except avoided moves.
        """
        # Under area rules a capture in own territory is free, so filling liberties never seems to lose points.
        game, found = as_it_stands(game), Decision(PASS)
        dead = self.left(game, color)
        for moves in (safe_liberties(game, color, dead), moves_around(game, color, dead)):
            if not moves:
                continue
            other = think(game, {color: all_but(moves, 1, game.width, game.height)})
            if found.vertex == PASS or (other.score_lead or 0) > (found.score_lead or 0) + _CLEAR_GAIN:
                found = other
            if found.vertex != PASS and not self._seems_to_cost(game, color, found):
                break
        return found

    def _seems_to_cost(self, game: Game, color: int, decision: Decision) -> bool:
        """True if the expected score after the move is below the board's score without the dead stones."""
        if decision.score_lead is None:
            return False
        return decision.score_lead < for_color(area_score(game, self.dead or ()), color) - _SUSPICIOUS_LOSS


def as_it_stands(game: Game) -> Game:
    """Return the game under rules that count every stone on the board; a move in own territory then costs nothing."""
    copy = game.copy()
    copy.set_rules(replace(game.rules, scoring=Scoring.AREA, tax=Tax.NONE, button=False, friendly_pass=False))
    return copy


def moves_around(game: Game, color: int, dead: Collection[int]) -> set[int]:
    """Return the safe moves of a color in the regions around the given stones, bounded by the color's own stones."""
    todo, seen = list(dead), set(dead)
    while todo:
        for near in neighbors(todo.pop(), game.width):
            if near not in seen and game.color_at(near) in (EMPTY, opponent(color)):
                seen.add(near)
                todo.append(near)
    return seen.intersection(safe_vertices(game, color))
