"""Canary positions, which every trained network must understand; they find swapped planes, wrong signs and symmetries.

Tolerances are wide, so that small networks pass. Properties that need no training (symmetry, exchanged colors) must
hold exactly.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.color import BLACK, WHITE, for_color, opponent
from engine.encoders import ENCODERS
from engine.evaluators.raw import RawEvaluation, RawNetwork
from engine.game import Game
from engine.nets.spec import NetSpec
from engine.rules import TROMP_TAYLOR
from engine.symmetry import COUNT, map_policy
from engine.vertex import format_vertex, from_policy_index, parse_vertex, point_at

KOMI = 7.5
SMALLEST_RACE = 9
SMALLEST_WON = 4
"""Side of the smallest board with room to be won by three quarters, or to be about even."""
_EVEN, _EVEN_LEAD = (0.1, 0.9), 8.0
_WON, _WON_LEAD = 0.9, 15.0
_FOUND = 0.3
_STEADY = 0.25
"""Largest change of the winrate by a symmetry, for a network that was not trained on symmetries."""
_EXACT, _ROUGH = 1e-4, 0.03
"""Largest difference for equal inputs in fp32, and in 16 bits, where rounding may depend on the other rows."""
_RACE_BLACK = "A4 B4 C4 D4 E4 A2 B2 C2 D2 E2 G3"
_RACE_WHITE = "A3 B3 C3 D3 E3 A1 B1 C1 D1 E1 F1 G1 G2"
_RACE_POINT = "F3"
"""Where Black takes five stones that are about to take five of his own."""


@dataclass(frozen=True)
class Finding:
    """The result of one canary. text: the measured numbers."""

    name: str
    passed: bool
    text: str


@dataclass(frozen=True)
class Setup:
    """A position: stones, side to move and komi on a square board."""

    side: int
    black: tuple[int, ...] = ()
    white: tuple[int, ...] = ()
    to_play: int = BLACK
    komi: float = KOMI

    def game(self) -> Game:
        """Return a game in this position."""
        game = Game(self.side, rules=TROMP_TAYLOR, komi=self.komi)
        game.setup(self.black, self.white, self.to_play)
        return game

    def exchanged(self) -> "Setup":
        """Return the same position with the colors exchanged."""
        return replace(self, black=self.white, white=self.black, to_play=opponent(self.to_play), komi=-self.komi)


def empty_board(side: int) -> Setup:
    """Return the start of a game."""
    return Setup(side)


def won_by_black(side: int) -> Setup:
    """Return a finished board of which Black owns three quarters, Black to move; from SMALLEST_WON on.

    Every second column is a wall, so that nobody can live inside.
    """
    border = side // 4
    black = [point_at(row, column, side) for column in range(border + 1, side, 2) for row in range(side)]
    white = [point_at(row, column, side) for column in range(border, -1, -2) for row in range(side)]
    return Setup(side, tuple(black), tuple(white))


def capturing_race(side: int) -> Setup:
    """Return a corner where Black can take five stones that stand in atari, as his own do."""
    black, white = (
        tuple(parse_vertex(name, side, side) for name in names.split()) for names in (_RACE_BLACK, _RACE_WHITE)
    )
    return Setup(side, black, white)


def canaries(network: RawNetwork, spec: NetSpec, sides: Sequence[int]) -> Iterator[Finding]:
    """Yield the result of each canary on square boards with these sides."""
    rounding = _EXACT if network.facts.precision == "fp32" else _ROUGH
    for side in sides:
        asker = _Asker(network, side, rounding)
        if side >= SMALLEST_WON:
            yield asker.even_start()
            yield from asker.won_game()
        if side >= SMALLEST_RACE:
            yield from asker.race()
            yield asker.turned_race()
        yield asker.turned_start()
        yield asker.exchanged_colors(_STEADY if ENCODERS[spec.encoder].sees_color else rounding)


class _Asker:
    """Runs the canaries of one network on one board size."""

    def __init__(self, network: RawNetwork, side: int, rounding: float) -> None:
        self._network, self._side, self._rounding = network, side, rounding

    def _ask(self, setup: Setup, symmetry: int = 0) -> RawEvaluation:
        return self._network.evaluate(setup.game(), setup.to_play, symmetry, 0.0)

    def _finding(self, name: str, passed: bool, text: str) -> Finding:
        return Finding(f"{self._side}x{self._side}: {name}", bool(passed), text)

    def even_start(self) -> Finding:
        raw = self._ask(empty_board(self._side))
        lead = raw.white_lead
        passed = _EVEN[0] <= raw.white_win <= _EVEN[1] and (lead is None or abs(lead) <= _EVEN_LEAD)
        return self._finding(f"the empty board is about even with komi {KOMI}", passed, _summary(raw))

    def won_game(self) -> Iterator[Finding]:
        for winner in (BLACK, WHITE):
            for to_play in (BLACK, WHITE):
                setup = won_by_black(self._side)
                setup = replace(setup if winner == BLACK else setup.exchanged(), to_play=to_play, komi=KOMI)
                raw = self._ask(setup)
                chance = raw.white_win if winner == WHITE else raw.white_loss
                lead = None if raw.white_lead is None else for_color(-raw.white_lead, winner)
                passed = chance >= _WON and (lead is None or lead >= _WON_LEAD * self._side**2 / 361)
                who = f"{_NAMES[winner]} has won, {_NAMES[to_play]} to move"
                yield self._finding(who, passed, _summary(raw))

    def race(self) -> Iterator[Finding]:
        for setup in (capturing_race(self._side), capturing_race(self._side).exchanged()):
            raw = self._ask(setup)
            best = int(np.nanargmax(raw.policy))
            found = format_vertex(from_policy_index(best, self._side, self._side), self._side, self._side)
            passed = found == _RACE_POINT and raw.policy[best] >= _FOUND
            text = f"{found} with {raw.policy[best]:.1%}, {_summary(raw)}"
            yield self._finding(f"{_NAMES[setup.to_play]} takes at {_RACE_POINT}", passed, text)

    def turned_start(self) -> Finding:
        """Check that on the empty board a symmetry of the input gives the same symmetry of the policy."""
        setup = empty_board(self._side)
        straight = self._ask(setup).policy
        off = max(
            _distance(map_policy(self._ask(setup, symmetry).policy, symmetry, self._side, self._side), straight)
            for symmetry in range(COUNT)
        )
        return self._finding("the empty board looks the same from all sides", off <= self._rounding, f"{off:.1e}")

    def turned_race(self) -> Finding:
        raws = [self._ask(capturing_race(self._side), symmetry) for symmetry in range(COUNT)]
        spread = max(raw.white_win for raw in raws) - min(raw.white_win for raw in raws)
        return self._finding("turning the board changes the winrate little", spread <= _STEADY, f"{spread:.3f}")

    def exchanged_colors(self, tolerance: float) -> Finding:
        off = 0.0
        setups = [empty_board(self._side)]
        if self._side >= SMALLEST_WON:
            setups.append(won_by_black(self._side))
        if self._side >= SMALLEST_RACE:
            setups.append(capturing_race(self._side))
        for setup in setups:
            raw, other = self._ask(setup), self._ask(setup.exchanged())
            off = max(off, abs(raw.white_win - other.white_loss), _distance(raw.policy, other.policy))
        return self._finding("exchanging the colors exchanges the result", off <= tolerance, f"{off:.1e}")


_NAMES = {BLACK: "Black", WHITE: "White"}


def _summary(raw: RawEvaluation) -> str:
    lead = "" if raw.white_lead is None else f" and leads by {raw.white_lead:.1f} points"
    return f"White wins {raw.white_win:.1%}{lead}"


def _distance(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """Return the largest difference of two policies, infinite where they disagree about legality."""
    if not np.array_equal(np.isnan(one), np.isnan(other)):
        return float("inf")
    return float(np.nanmax(np.abs(one - other)))
