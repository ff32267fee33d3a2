"""Measures whether quick passes over a game with remembered positions beat one long pass of as many visits without.

    python -m tests.passes --size 9 --positions 480 --visits 150 --passes 3 --out DIR

Each run is a stretch of a game, from records by the rule of `keima bench --quality`. It is analyzed position by
position as a review does it, without the tree of the last position: once with all visits, and in passes with equal
shares of them (`useEvalCache`, `evalCacheMinVisits`), forwards, or from the end to the beginning. Where the moves of
the last passes differ, a deep search of the same network values them. Intervals are of 95 %, by resampling runs. The
result is the same on every machine.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from engine.apps.quality.positions import Position, default_records, key_of, positions_of
from engine.apps.quality.reference import Reference
from engine.evaluators.cache import CachedEvaluator
from engine.evaluators.factory import Computing, open_network
from engine.game import Game
from engine.players.moves import safe_vertices
from engine.search.move_choice import choose_vertex
from engine.search.params import SearchParams
from engine.search.search import Search

_RESAMPLES = 4_000
_CACHE_MIB = 1024.0
_LEAST_MOVES = 5
"""Moves after which a run may begin."""


class Way(NamedTuple):
    """A way to analyze a run. least: minimum of visits of a remembered position, 0 to remember nothing."""

    passes: int
    least: int = 0
    is_backwards: bool = False

    def name(self, visits: int) -> str:
        """Return a name for the table."""
        order = ", backwards" if self.is_backwards else ""
        memory = f", remembering from {self.least}" if self.least else ""
        return f"{self.passes} x {visits // self.passes}{order}{memory}"


def runs_of(positions: Sequence[Position], length: int) -> Iterator[list[Position]]:
    """Yield the stretches of `length` positions that end with the given ones, komi and rules unchanged."""
    for last in positions:
        game, run = last.game, list[Position]()
        replayed = Game(game.width, game.height, rules=game.rules, komi=game.komi)
        for move in game.moves:
            if replayed.move_number >= max(_LEAST_MOVES, game.move_number - length + 1):
                run.append(Position(key_of(replayed), last.phase, replayed.copy()))
            replayed.play(*move)
        if len(run) == length - 1:
            yield [*run, last]


def moves_of(search: Search, way: Way, run: Sequence[Position], visits: int) -> list[int]:
    """Return the moves that the last pass chooses in the positions of a run."""
    search.params = replace(search.params, remembers=way.least > 0, remember_visits=max(1, way.least))
    search.memory.clear()
    search.restart()
    found, places = dict[int, int](), range(len(run))
    for _ in range(way.passes):
        for place in reversed(places) if way.is_backwards else places:
            game = run[place].game
            search.forget()
            search.begin(game, game.to_play, safe_vertices(game, game.to_play))
            search.run([], visits // way.passes)
            found[place] = choose_vertex(search.tree, search.root, search.params, 0.0, search.generator)
    return [found[place] for place in places]


def gains_of(reference: Reference, run: Sequence[Position], moves: Sequence[int], before: Sequence[int]) -> np.ndarray:
    """Return what moves gain beside others: [positions, 3], win rate, points, and 1 where they differ."""
    gains = np.zeros((len(run), 3))
    for row, position, mine, other in zip(gains, run, moves, before, strict=True):
        if mine != other:
            after, instead = reference.value(position, mine), reference.value(position, other)
            row[:] = after.winrate - instead.winrate, after.lead - instead.lead, 1.0
    return gains


def _interval(values: np.ndarray, digits: int) -> str:
    """Return the mean over [runs, positions] with its interval."""
    drawn = np.random.default_rng(1).integers(len(values), size=(_RESAMPLES, len(values)))
    low, high = np.percentile(values.mean(axis=1)[drawn].mean(axis=1), (2.5, 97.5))
    return f"{values.mean():+.{digits}f} ({low:+.{digits}f} to {high:+.{digits}f})"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--net", default="keima-t7c96")
    parser.add_argument("--size", type=int, default=9)
    parser.add_argument("--positions", type=int, default=480)
    parser.add_argument("--length", type=int, default=12, help="positions of a run")
    parser.add_argument("--visits", type=int, default=150, help="of a position in all passes together")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--least", type=int, nargs="*", default=[10, 25], help="minima of visits to be remembered")
    parser.add_argument("--reference-visits", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    evaluator = CachedEvaluator(open_network(asked.net, Computing()).evaluator, _CACHE_MIB)
    reference = Reference(evaluator, SearchParams(), asked.reference_visits, asked.net, asked.out)
    count = -(-asked.positions // asked.length)
    found = positions_of(default_records(), (asked.size, asked.size), 2 * count, evaluator)
    runs = list(runs_of(found, asked.length))[:count]
    ways = [Way(1), Way(asked.passes), *(Way(1, least, True) for least in asked.least)]
    ways += [Way(asked.passes, least, back) for least in asked.least for back in (False, True)]
    search = Search(evaluator, SearchParams(seed=1, max_memory_mib=16))
    gains = {way: list[np.ndarray]() for way in ways}
    for number, run in enumerate(runs, 1):
        moves = {way: moves_of(search, way, run, asked.visits) for way in ways}
        chosen = {each.key: {mine[place] for mine in moves.values()} for place, each in enumerate(run)}
        reference.judge([each for each in run if len(chosen[each.key]) > 1], chosen)
        for way, mine in moves.items():
            gains[way].append(gains_of(reference, run, mine, moves[ways[0]]))
        if number % 5 and number < len(runs):
            continue
        sys.stdout.write(f"{number * asked.length} positions, beside {ways[0].name(asked.visits)}:\n")
        for way in ways[1:]:
            winrate, points, other = np.moveaxis(np.array(gains[way]), -1, 0)
            sys.stdout.write(
                f"{way.name(asked.visits)}: gains {_interval(100 * winrate, 2)} % win rate, {_interval(points, 3)} "
                f"points; another move in {other.mean():.1%}\n"
            )
        sys.stdout.flush()
    search.close()
    evaluator.close()


if __name__ == "__main__":
    main()
