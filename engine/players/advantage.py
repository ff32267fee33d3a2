"""The advantage in playouts that is a network's input in an unequal game, adapted as the game goes on (KataGo).

The weaker side of a handicap game plays as if it made more playouts than its opponent, so that it expects mistakes. A
network must be trained with this input.
"""

from dataclasses import replace

from engine.board.layout import COLOR
from engine.color import BLACK, WHITE
from engine.game import Game
from engine.search.params import SearchParams
from engine.search.play_params import BLACK as OF_BLACK
from engine.search.play_params import WHITE as OF_WHITE
from engine.vertex import points

# Points that a stone of the handicap beyond the first is worth, and a fair komi, as KataGo has them.
_AREA_STONE, _TERRITORY_STONE, _FAIR_KOMI = 15.0, 14.0, 7.0
# A small board gives a lead of points more weight: the exponent of 361 points over the board's.
_SIZE_EXPONENT = 0.75
# Points on 19x19, and on any board, from which on a game is unequal.
_UNEQUAL_POINTS, _LEAST_POINTS = 4.0, 2.0
_STEP, _MOST = 0.125, 2.75
_SMALLEST_SIDE = 8
# The advantage rises while the weaker side's expected result is below the first, and falls above the second.
_HOPELESS, _HOPEFUL = -0.9, -0.5


def black_lead_at_start(game: Game) -> float:
    """Return the points by which Black is ahead at the start, by handicap stones and komi."""
    if not game.handicap:
        return _FAIR_KOMI - game.komi
    stone = _AREA_STONE if game.rules.is_area else _TERRITORY_STONE
    return stone * (game.handicap - 1) + _FAIR_KOMI - game.komi - game.rules.handicap_bonus.points(game.handicap)


class DynamicAdvantage:
    """Keeps the advantage of one game, by the results that the searches of its moves expected."""

    def __init__(self) -> None:
        self.new_game()

    def new_game(self) -> None:
        """Forget the game."""
        self._of_white = 0.0
        self._expected: tuple[int, float] | None = None

    def record(self, game: Game, black_value: float) -> None:
        """Record the result that a search of the present position expects, from -1 to 1."""
        self._expected = (game.move_number, -black_value)

    def of(self, game: Game, color: int, params: SearchParams) -> float:
        """Return the advantage for a search in which `color` is to move at the root; adapts it to the last result."""
        lead = black_lead_at_start(game)
        size = (361 / (game.width * game.height)) ** _SIZE_EXPONENT
        least = max(_UNEQUAL_POINTS / size, _LEAST_POINTS)
        if abs(lead) < least or min(game.width, game.height) < _SMALLEST_SIDE:
            self._of_white = 0.0
        else:
            sign = 1.0 if lead >= 0 else -1.0  # 1.0 where White is the weaker side
            most = round(min(_MOST, params.doubling_per_lead * (abs(lead) - least) * size) / _STEP) * _STEP
            self._of_white = sign * self._adapted(game, sign, most)
        return self._of_white if color == WHITE else -self._of_white

    def params_of_move(self, params: SearchParams, game: Game, color: int) -> SearchParams:
        """Return the parameters for searching a move of `color`, with the fixed or the dynamic advantage."""
        advantage = params.doubling_of(color, color)
        if params.doubling_per_lead > 0.0:
            advantage = self.of(game, color, params)
        if advantage == 0.0:
            return params
        # With its owner, so that a search in the opponent's time keeps the tree.
        owner = OF_BLACK if color == BLACK else OF_WHITE
        return replace(params, playout_doubling_advantage=advantage, playout_doubling_color=owner)

    def _adapted(self, game: Game, sign: float, most: float) -> float:
        """Return the weaker side's advantage after the last result, at most `most`. sign: -1.0 if it is Black's."""
        last = self._expected
        has_white = any(game.board[COLOR, each] == WHITE for each in points(game.width, game.height))
        if last is None or last[0] > game.move_number or not has_white:
            return most
        present, result = sign * self._of_white, sign * last[1]
        if result < _HOPELESS:
            present += _STEP
        elif result > _HOPEFUL:
            present -= _STEP
        return min(max(present, 0.0), most)
