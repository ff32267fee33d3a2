"""Life and death in plain Python, by looking at every position that can arise: the yardstick for `engine.board.life`.

The rules are those of that module's proofs, but nothing is searched: the positions from which a side reaches an end by
force are collected backwards from the ends, until there are no more.
"""

from collections.abc import Callable, Collection
from typing import TypeAlias

from engine.color import opponent
from engine.vertex import NO_POINT, PASS
from tests.oracle.naive_area import around, benson, connected, of_color
from tests.oracle.naive_board import NaiveBoard

State: TypeAlias = tuple[bytes, int, int]
"""Stones, ko point, side to move."""
MOST_POSITIONS = 1200
End: TypeAlias = Callable[[NaiveBoard], int]
"""Returns 1 where the side that proves has won, -1 where it can't win any more, 0 elsewhere."""


class TooMany(Exception):
    """More positions can arise than are worth looking at."""


class NaiveLife:
    """A position with a region around which the attacker's ring stands.

    defender: the color that is surrounded.
    """

    def __init__(self, board: NaiveBoard, region: Collection[int], ring: Collection[int], defender: int) -> None:
        self.board, self.region, self.ring, self.defender = board, set(region), set(ring), defender
        self._looked_at = NaiveBoard(board.width, board.height)

    def has_room(self, board: NaiveBoard) -> bool:
        """True if some part of the region has two points for eyes that are not neighbors."""
        safe: set[int] = set()
        for color, stones, _ in board.chains():
            if color != self.defender and stones & self.ring:
                safe |= stones
        for part in connected(board, self.region - safe):
            inner = part - around(board, safe)
            if any(two not in board.neighbors[one] for one in inner for two in inner if one != two):
                return True
        return False

    def lives_end(self, target: int) -> End:
        """Return the end of the goal that the chain of a stone lives."""

        def end(board: NaiveBoard) -> int:
            if board.colors[target] != self.defender or not self.has_room(board):
                return -1
            return int(any(target in chain for chain in benson(board, self.defender, suicide=True)[0]))

        return end

    def dies_end(self, board: NaiveBoard) -> int:
        """Judge the goal that nobody of the defender lives."""
        if not self.has_room(board):
            return 1
        return -int(any(chain & self.region for chain in benson(board, self.defender, suicide=True)[0]))

    def captured_end(self, board: NaiveBoard) -> int:
        """Judge the goal that the defender has no stone left."""
        return int(not of_color(board, self.defender) & self.region)

    def forces(self, color: int, prover: int, end: End) -> bool:
        """True if `prover` reaches the end by force with `color` to move. Raises TooMany."""
        root = bytes(self.board.colors), NO_POINT, color
        after, verdicts = self._reachable(root, prover, end)
        before: dict[State, list[State]] = {}
        for state, following in after.items():
            for each in following:
                before.setdefault(each, []).append(state)
        left = {state: len(following) for state, following in after.items()}
        won = {state for state, verdict in verdicts.items() if verdict == 1}
        todo = list(won)
        while todo:
            for state in before.get(todo.pop(), ()):
                left[state] -= 1
                if state not in won and (state[2] == prover or left[state] == 0):
                    won.add(state)
                    todo.append(state)
        return root in won

    def _reachable(self, root: State, prover: int, end: End) -> tuple[dict[State, set[State]], dict[State, int]]:
        """Return the positions after each position, and the verdict of each."""
        after: dict[State, set[State]] = {}
        verdicts: dict[State, int] = {}
        todo = [root]
        while todo:
            state = todo.pop()
            if state in verdicts:
                continue
            if len(verdicts) == MOST_POSITIONS:
                raise TooMany
            verdicts[state] = end(self._at(state))
            if verdicts[state] == 0:
                after[state] = {self._played(state, move) for move in self._moves(state, prover)}
                todo += after[state]
        return after, verdicts

    def _at(self, state: State) -> NaiveBoard:
        """Return a board with a position, which is there until the next call."""
        self._looked_at.colors[:], self._looked_at.ko_point = state[0], state[1]
        return self._looked_at

    def _moves(self, state: State, prover: int) -> list[int]:
        """Return the moves of a position: the side that proves takes no ko, the other one may do anything."""
        color = state[2]
        outcomes = self._at(state).outcomes(color)
        moves = [point for point, (_, _, lost) in outcomes.items() if point in self.region and lost != 1]
        if color != prover:
            return [*moves, PASS]
        return [
            move
            for move in moves
            if move != state[1] and not outcomes[move][2] and self._played(state, move)[1] == NO_POINT
        ]

    def _played(self, state: State, move: int) -> State:
        board, color = self._at(state), state[2]
        if move == PASS:
            return state[0], NO_POINT, opponent(color)
        board.ko_point = NO_POINT
        board.play(move, color)
        return bytes(board.colors), board.ko_point, opponent(color)
