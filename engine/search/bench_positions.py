"""Positions for benchmarks: the same in every run, and the same for other programs."""

from typing import NamedTuple

import numpy as np

from engine.color import BLACK, WHITE
from engine.encoders.game_positions import write_position
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.vertex import PASS, parse_sgf, points

_GAMES = {
    (9, 9): "ffdddfgcfdfcgdedcecdbeegfgefehfedggebceehgfhghcccbbdaddhfibbabache",
    (19, 19): (
        "cdqdpqoddpqoedfcecopoqnpmqcqmpdqfpepeoeqfngqqlmolonqnrorlrmnppnsmrpoqqqjlnmmooonnopmpkpjokojnkqkplmillmlmklm"
        "kmnnklqmrllkljlikjjchcrpomrnpnrqrrsrrssosmsqnlkihekepcocdjcnobnbpbpdqcrbcoborcrdsbrajfhbgbibkflflgleclqnqaoa"
        "jijhihkgjgkhgphqhpgciqiihh"
    ),
}
"""Games of a small network against itself, with moves drawn from its policy, as SGF letters, Black first."""
_PARTS = (0.0, 0.25, 0.5, 0.75)
"""Shares of the game that have been played in the positions to search."""
_DEPTH = 5
"""Moves from a searched position to the first that is evaluated: the depth of half a second on 9x9, or one less."""


class Searched(NamedTuple):
    """A position to search. game: its stones as setup, without history. reply: the move that was played there."""

    game: Game
    reply: int


def searched_positions(width: int, height: int) -> list[Searched]:
    """Return the empty board and middle games; on sizes without a stored game, these are of random moves."""
    vertices, found = _recorded(width, height), []
    for part in _PARTS:
        before = Game(width, height)
        count = int(part * (len(vertices) - 1))
        for vertex in vertices[:count]:
            before.play(before.to_play, vertex)
        stones = {color: [p for p in points(width, height) if before.color_at(p) == color] for color in (BLACK, WHITE)}
        game = Game(width, height)
        game.setup(stones[BLACK], stones[WHITE], before.to_play)
        found.append(Searched(game, vertices[count]))
    return found


def _recorded(width: int, height: int) -> list[int]:
    """Return the moves of the stored game for a board size, or of a random one."""
    text = _GAMES.get((width, height))
    if text is None:
        game = middle_game(width, height, width * height // 2, np.random.default_rng(1))
        return [move.vertex for move in game.moves] or [PASS]
    return [parse_sgf(text[index : index + 2], width, height) for index in range(0, len(text), 2)]


def middle_game(width: int, height: int, moves: int, generator: np.random.Generator) -> Game:
    """Return a game after random legal moves."""
    game = Game(width, height)
    for _ in range(moves):
        game.play(game.to_play, int(generator.choice(game.legal_vertices())))
    return game


def positions_to_evaluate(count: int, width: int, height: int) -> PositionBatch:
    """Return positions as a search of `searched_positions` evaluates them: each of these in turn, some moves later."""
    # A playout from late in a game is shorter: on 9x9 from 45 us to 31. Positions of the first moves alone made the
    # evaluator look up to a tenth slower than it is in a search.
    positions, vertices = PositionBatch(count, width, height), _recorded(width, height)
    searched = searched_positions(width, height)
    for row in range(count):
        part, later = row % len(searched), _DEPTH + row // len(searched)
        game, first = searched[part].game.copy(), int(_PARTS[part] * (len(vertices) - 1))
        for vertex in vertices[first : first + later]:
            game.play(game.to_play, vertex)
        write_position(game, game.to_play, positions, row)
    positions.seeds[:] = np.arange(1, count + 1)
    return positions
