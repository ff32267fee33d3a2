"""Measures what stopping a search early costs: how often a rule ends it, when, and what the move at the stop loses.

    python -m tests.early_stops --size 9 --positions 200 --visits 800 --out DIR

Each position is searched once, sequentially; the rules are asked on the way as if the visits were the time of a move. A
deep search of the same network values the moves at the stop and at the end, as `keima bench --quality` does. The result
is the same on every machine.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean

import numpy as np

from engine.apps.quality.positions import Position, default_records, positions_of
from engine.apps.quality.reference import Reference
from engine.apps.quality.statistics import Regrets, estimates
from engine.evaluation.evaluator import Evaluator
from engine.evaluators.cache import CachedEvaluator
from engine.evaluators.factory import Computing, open_network
from engine.players.moves import safe_vertices
from engine.search.move_choice import choose_vertex
from engine.search.params import SearchParams
from engine.search.position import Root
from engine.search.side_by_side import Extent, search_all
from engine.search.statistics import Statistics
from engine.search.stoppers import SearchStats, SettledStopper, is_decided
from engine.search.tree import Tree, visits_made

_LOOKS = 40
"""Number of times that the rules are asked in a search."""
_PARAMS = SearchParams()


def _stops_when_decided(stats: SearchStats, visits: int) -> bool:
    return is_decided(stats, visits, stats.elapsed)


def _stops_when_settled(stats: SearchStats, visits: int) -> bool:
    return SettledStopper(visits, share=_PARAMS.lcb_least_share).should_stop(stats)


RULES: dict[str, Callable[[SearchStats, int], bool]] = {
    "the second move cannot get more visits": _stops_when_decided,
    "no other move can be chosen": _stops_when_settled,
}


@dataclass
class Stops:
    """One rule's stops. moves, shares: by position, the move at the stop and the share of the visits used."""

    moves: dict[int, int] = field(default_factory=dict)
    shares: dict[int, float] = field(default_factory=dict)


def stops_of(evaluator: Evaluator, positions: Sequence[Position], visits: int) -> tuple[list[int], dict[str, Stops]]:
    """Return the moves at the end of the searches, and each rule's stops."""
    ends, found = dict[int, int](), {name: Stops() for name in RULES}
    readers = [Statistics() for _ in positions]

    def look(place: int, tree: Tree, root: Root) -> None:
        move = choose_vertex(tree, root, _PARAMS, 0.0, np.random.default_rng(0))
        stats = readers[place].of(tree, visits_made(tree), 0.0)
        stats = replace(stats, playouts=stats.visits, elapsed=float(stats.visits))
        ends[place] = move
        for name, rule in RULES.items():
            if place not in found[name].moves and (stats.visits >= visits or rule(stats, visits)):
                found[name].moves[place], found[name].shares[place] = move, min(1.0, stats.visits / visits)

    looks = [visits * turn // _LOOKS for turn in range(1, _LOOKS)]
    search_all(evaluator, [each.game for each in positions], _PARAMS, Extent(visits, stops=looks), safe_vertices, look)
    return [ends[place] for place in range(len(positions))], found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--net", default="keima-t7c96")
    parser.add_argument("--size", type=int, default=9)
    parser.add_argument("--positions", type=int, default=200)
    parser.add_argument("--visits", type=int, default=800)
    parser.add_argument("--reference-visits", type=int, default=2000)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    evaluator = CachedEvaluator(open_network(asked.net, Computing()).evaluator)
    reference = Reference(evaluator, _PARAMS, asked.reference_visits, asked.net, asked.out)
    positions = positions_of(default_records(), (asked.size, asked.size), asked.positions, evaluator)
    ends, found = stops_of(evaluator, positions, asked.visits)
    wanted = {each.key: {ends[place]} for place, each in enumerate(positions)}
    for stops in found.values():
        for place, move in stops.moves.items():
            wanted[positions[place].key].add(move)
    differing = [each for each in positions if len(wanted[each.key]) > 1]
    reference.judge(differing, wanted)
    for name, stops in found.items():
        lost = np.zeros((3, len(positions)))
        for place, each in enumerate(positions):
            if stops.moves[place] != ends[place]:
                at_end, at_stop = reference.value(each, ends[place]), reference.value(each, stops.moves[place])
                lost[:, place] = at_end.winrate - at_stop.winrate, at_end.lead - at_stop.lead, 1.0
        winrate, points, changed = estimates(Regrets(*lost)).values()
        sys.stdout.write(
            f"{name}: {fmean(stops.shares.values()):.1%} of the visits used; another move in {changed.mean:.1%} of "
            f"{len(positions)} positions; loses {100 * winrate.mean:.3f} % winrate ({100 * winrate.low:.3f} to "
            f"{100 * winrate.high:.3f}) and {points.mean:.4f} points ({points.low:.4f} to {points.high:.4f})\n"
        )


if __name__ == "__main__":
    main()
