"""Games of the best set against the default, in chunks that can be played anywhere and in any order."""

from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple

from engine.evaluation.evaluator import Evaluator
from engine.search.params import SearchParams
from engine.train.games.arena import ArenaPlayer, ArenaSettings, arena

GAMES = 40
"""Games of a chunk; even, because each opening is played with both colors."""


class Chunk(NamedTuple):
    """Games `number` * GAMES and following. side: of the board. games: at most GAMES, an even number."""

    side: int
    visits: int
    number: int
    games: int
    seed: int


def chunks_of(side: int, visits: int, games: int, seed: int) -> Iterator[Chunk]:
    """Yield the chunks of a match."""
    for number in range(-(-games // GAMES)):
        yield Chunk(side, visits, number, min(GAMES, games - number * GAMES), seed)


def play_chunk(evaluator: Evaluator, chunk: Chunk, tuned: SearchParams, default: SearchParams) -> list[float]:
    """Return the points of the tuned search in each game, 1, 0.5 or 0, in the order of the games' numbers.

    The openings are drawn from the evaluator's policy by seed and number of the chunk: equal chunks are equal games.
    """
    settings = ArenaSettings(size=chunk.side, seed=chunk.seed + chunk.number, games_at_once=GAMES)
    first, second = (ArenaPlayer(evaluator, chunk.visits, params) for params in (tuned, default))
    with closing(arena(settings, first, second, chunk.games)) as results:
        points = {each.number: each.points for each in results}
    return [points[number] for number in range(chunk.games)]
