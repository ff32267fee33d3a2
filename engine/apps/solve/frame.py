"""The region in which a problem is searched, and the frame: stones around it that let the problem decide the game.

Networks evaluate whole boards, and on an otherwise empty board no corner problem decides the game. A frame divides the
rest of the board: a wall around the problem with territory for the attacker (the side that surrounds the problem), and
territory for the defender on the far side. Their sizes are chosen so that the attacker is ahead if he owns everything
in the problem, and behind if he does not. The idea is LizGoban's tsumego frame (kaorahi), known from KaTrain.

The territory stays empty: the search does not play there, and networks have seen walls with territory behind them more
often than territory full of stones. Share solved by g170-b6c96: by its policy alone, of 1454 problems, 36 % without a
frame, 28 % with a stone on every second point of the territory, 39 % with empty territory; at 100 visits, of 150
problems, 57 % without a frame, 61 % with empty territory.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.color import BLACK, EMPTY, WHITE, for_color, opponent
from engine.game import Game
from engine.vertex import points

MARGIN = 2
"""Lines beyond the outermost stones that belong to the problem."""
LEAST_ROOM = 4
"""Lines that a frame needs on one side: the wall, the attacker's and the defender's border lines, one of territory."""
_ATTACKERS_LEAD = 5.0
"""Points by which the attacker is ahead if he owns the whole problem (LizGoban's offence_to_win)."""

Stones = NDArray[np.int8]
"""[height, width] colors."""


def stones_of(game: Game) -> Stones:
    """Return the stones on a game's board."""
    size = game.width, game.height
    return np.array([game.color_at(vertex) for vertex in points(*size)], dtype=np.int8).reshape(size[::-1])


class Box(NamedTuple):
    """A rectangle of a board: rows from top to bottom - 1, columns from left to right - 1."""

    top: int
    bottom: int
    left: int
    right: int

    def mask(self, height: int, width: int) -> NDArray[np.bool_]:
        """Return [height, width], True inside."""
        inside = np.zeros((height, width), dtype=np.bool_)
        inside[self.top : self.bottom, self.left : self.right] = True
        return inside


def local_box(stones: Stones, margin: int = MARGIN) -> Box:
    """Return the bounding box of the stones, enlarged by a margin; the whole board if there are no stones.

    A single line left between the box and the edge is added to the box: it has no room for a wall.
    """
    rows, columns = np.nonzero(stones)
    height, width = stones.shape
    if len(rows) == 0:
        return Box(0, height, 0, width)
    top, bottom = _grown(int(rows.min()), int(rows.max()), height, margin)
    left, right = _grown(int(columns.min()), int(columns.max()), width, margin)
    return Box(top, bottom, left, right)


def _grown(first: int, last: int, size: int, margin: int) -> tuple[int, int]:
    low, high = first - margin, last + 1 + margin
    return 0 if low <= 1 else low, size if high >= size - 1 else high


def attacker(stones: Stones, box: Box) -> int:
    """Return the color of the attacker: the one that lines from the open side of the board meet first most often.

    On a tie Black attacks.
    """
    height, width = stones.shape
    lines: list[Stones] = []
    if box.top > 0:
        lines += list(stones.T)
    if box.bottom < height:
        lines += list(stones.T[:, ::-1])
    if box.left > 0:
        lines += list(stones)
    if box.right < width:
        lines += list(stones[:, ::-1])
    first = [int(line[np.flatnonzero(line)[0]]) for line in lines if line.any()]
    return WHITE if first.count(WHITE) > first.count(BLACK) else BLACK


def frame(stones: Stones, box: Box, komi: float) -> Stones | None:
    """Return the stones of a frame around a box, EMPTY elsewhere; None if there is no room for one.

    komi: White's, included in the division of the territory.
    """
    rows, columns = stones.shape
    rooms = (rows - box.bottom, box.left, box.top, columns - box.right)
    turns = int(np.argmax(rooms))
    if rooms[turns] < LEAST_ROOM:
        return None
    # Turn the board so that the widest side lies at the bottom, where `_walls` puts the defender's territory:
    # a quarter turn counterclockwise takes the left side there.
    outside = np.rot90(~box.mask(rows, columns), turns)
    color = attacker(stones, box)
    attackers_komi = for_color(-komi, color)
    defenders = round((rows * columns + attackers_komi - _ATTACKERS_LEAD) / 2)
    width = outside.shape[1]
    defenders = min(max(defenders, 2 * width), (rooms[turns] - 2) * width)
    return np.rot90(_walls(outside, color, defenders), -turns)


def _walls(outside: NDArray[np.bool_], color: int, defenders: int) -> Stones:
    """Return the walls outside the problem; the defender owns the first `defenders` points from the bottom up.

    The attacker's wall surrounds the problem; where the two territories meet, each side has a line of stones.
    """
    height, width = outside.shape
    row, column = np.indices(outside.shape)
    from_the_border = (height - 1 - row) * width + column - defenders
    owner = np.where(from_the_border < 0, opponent(color), color)
    stands = (-width <= from_the_border) & (from_the_border < width)
    problem = np.pad(~outside, 1)
    for down in range(3):
        for across in range(3):
            stands |= problem[down : down + height, across : across + width]
    return np.where(outside & stands, owner, EMPTY).astype(np.int8)
