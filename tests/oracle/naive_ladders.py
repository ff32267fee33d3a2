"""Ladders by plain search: the yardstick for `engine.board.ladders`, without its bounds and orderings.

Only what changes answers is kept of KataGo's reader: ko at the defender's turn is an escape, two
kos are a capture, and reading too deep is one.
"""

from engine.color import EMPTY, opponent
from engine.vertex import NO_POINT
from tests.oracle.naive_board import NaiveBoard


class GaveUp(Exception):
    """The search grew too large for a slow twin."""


class NaiveLadders:
    """Reads ladders on one board; `budget` moves may be played for each chain."""

    def __init__(self, board: NaiveBoard, budget: int = 3_000) -> None:
        self._board = board
        self._budget = budget
        self._left = budget

    def find(self) -> tuple[set[int], dict[int, set[int]]]:
        """Return the stones of chains in a ladder, and by color the moves that start working ladders.

        Raises GaveUp.
        """
        laddered: set[int] = set()
        working: dict[int, set[int]] = {1: set(), 2: set()}
        for color, stones, liberties in list(self._board.chains()):
            stone = min(stones)
            self._left = self._budget
            if len(liberties) == 1:
                if self._captured(stone, defends=True):
                    laddered |= stones
            elif len(liberties) == 2:
                for move in sorted(liberties):
                    if self._works(stone, move, opponent(color), defends=False, depth=-1):
                        laddered |= stones
                        working[color].add(move)
        return laddered, working

    def _captured(self, stone: int, defends: bool, depth: int = 0) -> bool:
        """True if the attacker takes the chain of a stone; the defender moves first if `defends`."""
        board = self._board
        color = board.colors[stone]
        stones, liberties = board.chain(stone)
        if depth > len(board.points) * 3 // 2:
            return True
        if depth == 0:
            # The defender, who begins, may retake a ko at once: he has a threat somewhere.
            ko, board.ko_point = board.ko_point, NO_POINT
            captured = self._captured(stone, defends, depth + 1)
            board.ko_point = ko
            return captured
        if not defends:
            if len(liberties) <= 1:
                return True
            if len(liberties) == 2 and self._is_double_ko(stones, liberties):
                return True
            return len(liberties) == 2 and any(
                self._works(stone, move, opponent(color), False, depth) for move in sorted(liberties)
            )
        # A ko on the board at the defender's turn counts as an escape: the outcome hangs on threats.
        if len(liberties) >= 2 or board.ko_point != NO_POINT:
            return False
        saving = set(liberties)
        for attacker in {n for s in stones for n in board.neighbors[s] if board.colors[n] == opponent(color)}:
            free = board.chain(attacker)[1]
            saving |= free if len(free) == 1 else set()
        return not any(self._works(stone, move, color, True, depth) for move in sorted(saving))

    def _is_double_ko(self, stones: set[int], liberties: set[int]) -> bool:
        """True where KataGo takes a chain for captured because the attacker can always take a ko.

        Both liberties have no empty neighbor, the attacker would take a ko at each of them, neither
        gives the defender more than two liberties, and no attacker next to the chain is in atari.
        """
        board = self._board
        color = board.colors[next(iter(stones))]
        if any(board.colors[n] == EMPTY for liberty in liberties for n in board.neighbors[liberty]):
            return False
        return (
            all(self._takes_ko(liberty, color) for liberty in liberties)
            and all(self._liberties_after(liberty, color) <= 2 for liberty in liberties)
            and not any(
                board.colors[n] == opponent(color) and len(board.chain(n)[1]) == 1
                for stone in stones
                for n in board.neighbors[stone]
            )
        )

    def _takes_ko(self, point: int, defender: int) -> bool:
        near = self._board.neighbors[point]
        if any(self._board.colors[n] != defender for n in near):
            return False
        in_atari = [n for n in near if len(self._board.chain(n)[1]) == 1]
        return len(in_atari) == 1 and len(self._board.chain(in_atari[0])[0]) == 1

    def _liberties_after(self, point: int, color: int) -> int:
        board = self._board
        before, ko = bytes(board.colors), board.ko_point
        board.place(point, color)
        count = len(board.chain(point)[1]) if board.colors[point] == color else 0
        board.colors[:] = before
        board.ko_point = ko
        return count

    def _works(self, stone: int, move: int, color: int, defends: bool, depth: int = 0) -> bool:
        """True if a move serves the side that plays it: the attacker captures, the defender gets away."""
        board = self._board
        if move == board.ko_point or board.colors[move] != EMPTY:
            return False
        self._left -= 1
        if self._left < 0:
            raise GaveUp
        before, ko = bytes(board.colors), board.ko_point
        _, lost = board.play(move, color)
        served = not lost and self._captured(stone, not defends, depth + 1) != defends
        board.colors[:] = before
        board.ko_point = ko
        return served
