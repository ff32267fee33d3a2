"""The three states of a point and the two players. Every color in Keima is one of these integers."""

from typing import Protocol, TypeVar


class Negatable(Protocol):
    """A number or an array of numbers."""

    def __neg__(self: "Figure") -> "Figure": ...


Figure = TypeVar("Figure", bound=Negatable)

EMPTY = 0
BLACK = 1
WHITE = 2
WALL = 3
"""Color of the border around the board in kernels; never shown to a user."""


def opponent(color: int) -> int:
    """Return the other player."""
    # BLACK and WHITE are 1 and 2, so kernels find the opponent without a branch.
    return 3 - color


def color_name(color: int) -> str:
    """Return "black" or "white"."""
    return "black" if color == BLACK else "white"


def color_letter(color: int) -> str:
    """Return "B" or "W"."""
    return "B" if color == BLACK else "W"


def for_color(black_positive: Figure, color: int) -> Figure:
    """Convert a Black-positive value, or an array of them, to a color's view, and back (its own inverse)."""
    return black_positive if color == BLACK else -black_positive


def winrate_for_color(black_winrate: float, color: int) -> float:
    """Convert Black's win rate in [0, 1] to a color's, and back: `for_color` for a scale whose middle is 0.5."""
    return black_winrate if color == BLACK else 1 - black_winrate
