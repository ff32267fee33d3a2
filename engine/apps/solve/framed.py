"""Frames the problem on the board of a game, for analyses: stones around it, and the points that may be played."""

from dataclasses import dataclass

from engine.apps.solve.frame import frame, local_box, stones_of
from engine.board.layout import COLOR
from engine.color import BLACK, EMPTY, WHITE
from engine.errors import GoError, IllegalMove
from engine.game import Game
from engine.vertex import PASS, points, row_column

_ENDLESS = 1 << 30
"""Depth up to which the rest of the board is not played."""


@dataclass(frozen=True)
class FramedGame:
    """A problem with its frame.

    region: the points of the problem, which both sides may play. added: (color, vertex) of the frame's stones.
    """

    game: Game
    region: tuple[int, ...]
    added: tuple[tuple[int, int], ...]

    @property
    def avoided(self) -> dict[int, dict[int, int]]:
        """The points outside the region by color and vertex, each with the depth below which it is not played.

        A pass is excluded as the first move only: a problem asks where to play, and its answer may be that the opponent
        need not reply.
        """
        outside = set(points(self.game.width, self.game.height)) - set(self.region)
        return {color: dict.fromkeys(outside, _ENDLESS) | {PASS: 1} for color in (BLACK, WHITE)}


def framed(game: Game, color: int) -> FramedGame:
    """Return the position as a problem with a frame; `color` is to move. Its past moves are dropped.

    The problem is the rectangle of all stones and two lines around. Raises GoError if the board is empty, or the stones
    leave no room for a frame.
    """
    size = game.width, game.height
    stones = stones_of(game)
    box = local_box(stones)
    around = frame(stones, box, game.komi) if stones.any() else None
    if around is None:
        raise GoError(
            "no room for a frame: a problem's stones lie in a corner or on a side, four lines from another side"
        )
    whole = stones + around
    posed = Game(*size, rules=game.rules, komi=game.komi)
    by_color = {
        each: [vertex for vertex in points(*size) if whole[row_column(vertex, size[0])] == each] for each in (1, 2)
    }
    try:
        posed.setup(by_color[BLACK], by_color[WHITE], color)
    except IllegalMove as error:
        raise GoError(f"the framed position is not legal: {error}") from error
    inside = box.mask(*size[::-1])
    region = tuple(vertex for vertex in points(*size) if inside[row_column(vertex, size[0])])
    added = tuple(
        (int(posed.board[COLOR, vertex]), vertex)
        for vertex in points(*size)
        if game.color_at(vertex) == EMPTY and posed.color_at(vertex) != EMPTY
    )
    return FramedGame(posed, region, added)
