"""KataGo's history object in plain Python: the yardstick for `engine.game` and for the facts of positions.

Owns phases, passes, marks of kos and all that network inputs show of a game's past, by looking the
whole history up. Handicap is left out. As in `engine.game`, superko outlives a move out of turn.
"""

import copy
from dataclasses import dataclass, field

from engine.color import BLACK, EMPTY, WHITE, opponent
from engine.rules import Ko, Rules
from engine.vertex import NO_POINT, PASS
from tests.oracle.naive_board import NaiveBoard


@dataclass
class NaiveHistory:
    """A game under any rules; encore: territory rules are played through both clean-up phases."""

    width: int
    height: int
    rules: Rules
    komi: float = 7.5
    encore: bool = False
    to_play: int = BLACK
    phase: int = 0
    over: bool = False
    no_result: bool = False
    passes: int = 0
    bonus: float = 0.0
    turns: int = 0
    legal_turns: int = 0
    marks: set[int] = field(default_factory=set)
    moves: list[tuple[int, int]] = field(default_factory=list)
    passed: set[tuple[object, ...]] = field(default_factory=set)
    taken: set[tuple[bytes, int, int]] = field(default_factory=set)
    second_start: bytes | None = None

    def __post_init__(self) -> None:
        self.board = NaiveBoard(self.width, self.height)
        self.button = self.rules.button
        self.boards = [copy.deepcopy(self.board)]
        self.seen: list[tuple[object, ...]] = [self.situation(self.to_play)]

    def situation(self, color: int) -> tuple[object, ...]:
        """Return the stones, the marks and who is to play."""
        return self.board.key(), frozenset(self.marks), color

    def turn_to(self, color: int) -> None:
        """Make it a color's turn; if it was not, all but stones, phase, bonus and superko begins anew."""
        if color == self.to_play:
            return
        self.to_play, self.board.ko_point = color, NO_POINT
        self.over = self.no_result = False
        self.passes = self.turns = self.legal_turns = 0
        self.marks, self.moves, self.passed, self.taken = set(), [], set(), set()
        self.boards = [copy.deepcopy(self.board)]
        if self.second_start is not None:
            self.second_start = self.board.key()

    def lifted(self, point: int) -> int:
        """Return the marked stone whose mark a play at a point would lift, or NO_POINT."""
        enemy = opponent(self.to_play)
        if self.board.colors[point] == enemy:
            single = all(len(part) == 1 for part in self.board.chain(point))
            return point if single and point in self.marks else NO_POINT
        near = self.board.neighbors[point]
        if self.board.colors[point] != EMPTY or any(self.board.colors[each] != enemy for each in near):
            return NO_POINT
        in_atari = [each for each in near if len(self.board.chain(each)[1]) == 1]
        if len(in_atari) == 1 and len(self.board.chain(in_atari[0])[0]) == 1 and in_atari[0] in self.marks:
            return in_atari[0]
        return NO_POINT

    def banned(self) -> set[int]:
        """Return where repetition other than the simple ko forbids to play."""
        if self.phase > 0:
            present = self.board.key(), self.to_play
            return {point for before, point, mover in self.taken if (before, mover) == present}
        if self.rules.ko is Ko.SIMPLE:
            return set()
        following = opponent(self.to_play)
        positions = {(key, following if self.rules.ko is Ko.POSITIONAL else color) for key, _, color in self.seen}
        return {
            point
            for point, (after, _, lost) in self.board.outcomes(self.to_play).items()
            if point != self.board.ko_point and self._stands(lost) and (after, following) in positions
        }

    def _stands(self, lost: int) -> bool:
        return lost == 0 or (lost > 1 and self.rules.suicide)

    def legal(self) -> set[int]:
        """Return where the side to move may play."""
        lifting = {point for point in self.board.points if self.phase > 0 and self.lifted(point) != NO_POINT}
        outcomes = self.board.outcomes(self.to_play)
        standing = {point for point, (_, _, lost) in outcomes.items() if self._stands(lost)}
        return (standing - self.banned() - {self.board.ko_point}) | lifting

    def pass_repeats(self) -> bool:
        """Return whether the side to move has passed in this situation before, where that matters."""
        return (self.rules.ko is Ko.SIMPLE or self.phase > 0) and self.situation(self.to_play) in self.passed

    def pass_ends_phase(self) -> bool:
        """Return whether a pass would end the phase."""
        return not self.button and (self.passes >= 1 or self.pass_repeats())

    def play(self, color: int, vertex: int) -> None:
        """Play a legal move, or a pass."""
        self.turn_to(color)
        if self.over:
            self.turns, self.legal_turns = min(self.turns, 1), min(self.legal_turns, 1)
        self.over = self.no_result = False
        self.turns, self.legal_turns = self.turns + 1, self.legal_turns + 1
        self.moves.append((color, vertex))
        if vertex == PASS:
            self._pass()
        else:
            self._stone(vertex)
        self.boards.append(copy.deepcopy(self.board))

    def _stone(self, vertex: int) -> None:
        color, before = self.to_play, self.board.key()
        stone = self.lifted(vertex) if self.phase > 0 else NO_POINT
        self.passes, self.to_play = 0, opponent(color)
        if stone != NO_POINT:
            self.marks.remove(stone)
        else:
            self.board.play(vertex, color)
            if not self.rules.is_area and self.phase < 2:
                self.bonus += 1 if color == BLACK else -1
            if self.phase > 0:
                if self.board.ko_point != NO_POINT:
                    self.marks.add(vertex)
                    self.taken.add((before, vertex, color))
                    self.board.ko_point = NO_POINT
                self.marks = {point for point in self.marks if self.board.colors[point] != EMPTY}
        self.seen.append(self.situation(self.to_play))
        if (self.rules.ko is Ko.SIMPLE or self.phase > 0) and self.seen.count(self.seen[-1]) >= 3:
            self.over = self.no_result = True

    def _pass(self) -> None:
        color, ends, situation = self.to_play, self.pass_ends_phase(), self.situation(self.to_play)
        self.to_play, self.board.ko_point = opponent(color), NO_POINT
        if self.button:
            self.button = False
            self.bonus += 0.5 if color == WHITE else -0.5
            self.passes, self.passed, self.seen = 0, set(), []
        else:
            self.passes += 1
            self.passed.add(situation)
            if self.rules.ko is Ko.SIMPLE or self.phase > 0:
                self.seen = []
        if ends:
            if self.rules.is_area or self.phase == 2 or not self.encore:
                self.over = True
            else:
                self.phase += 1
                self.passes = self.turns = 0
                self.marks, self.passed, self.taken, self.seen = set(), set(), set(), []
                if self.phase == 2:
                    self.second_start = self.board.key()
        self.seen.append(self.situation(self.to_play))
