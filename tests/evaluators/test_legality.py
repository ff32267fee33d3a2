"""Which moves a position offers: all points at once say what the game says of each."""

import pytest

from engine.board.facts import BANNED
from engine.board.layout import COLOR
from engine.color import BLACK, WHITE
from engine.rules import PRESETS, Ko
from engine.vertex import points
from tests.positions import random_game


@pytest.mark.parametrize("name", sorted(PRESETS))
@pytest.mark.parametrize("encore", [False, True])
def test_every_point_is_as_legal_as_the_game_says(name: str, encore: bool) -> None:
    banned, stones = 0, 0
    for seed in range(12):
        game = random_game(seed, 3 + seed % 3, 4, moves=70, rules=PRESETS[name])
        game.encore = encore
        while game.moves:
            for color in (BLACK, WHITE):
                reasons = [game.legality(color, vertex) for vertex in points(game.width, game.height)]
                legal, marks, _ = game.legal_arrays(color)
                assert legal.tolist() == [reason is None for reason in reasons] + [True]
                if game.phase == 0:
                    seen = [bool(marks[vertex] & BANNED) for vertex in points(game.width, game.height)]
                    assert seen == [reason == "superko" for reason in reasons]
                    banned += sum(seen)
            stones += int((game.board[COLOR] == BLACK).sum())
            game.undo()
    assert stones > 0
    assert (banned > 0) == (PRESETS[name].ko is not Ko.SIMPLE)
