"""Searches positions side by side, one tree for each, so that their leaves fill the evaluator's batches."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from engine.evaluation.evaluator import Attributes, Evaluator
from engine.game import Game
from engine.search.batched_search import BatchedDriver, BatchedSearch, Group, Kept
from engine.search.params import SearchParams
from engine.search.position import Root
from engine.search.tree import Tree, bytes_per_node

OnEnd = Callable[[int, Tree, Root], None]
"""Called with the place of a game and its searched tree."""
Legal = Callable[[Game, int], Collection[int]]
"""Returns the vertices that a search of a game may play for a color, besides passing."""
_ROWS = 32
"""Leaves of a batch: more gain nothing on a CPU."""
_LEAST_GROUPS = 2
_SPARE_NODES = 64
_MEMORY_MIB = 1024


def searches_at_once(attributes: Attributes, leaves: int = 1) -> int:
    """Return how many searches with `leaves` positions in flight fill the batches of an evaluator."""
    return _groups(attributes) * max(1, min(attributes.max_batch, _ROWS) // leaves)


def _groups(attributes: Attributes) -> int:
    return max(_LEAST_GROUPS, attributes.concurrent)


@dataclass(frozen=True)
class Extent:
    """How far each position is searched.

    visits: of each search. leaves: positions of a tree in flight at the same time; with 1, each search is sequential.
    seed: of the symmetries under which positions are evaluated. stops: fewer visits, ascending, after which the end is
    reported, too. ownership: whether the trees keep the ownership of each node.
    """

    visits: int
    leaves: int = 1
    seed: int = 1
    stops: Sequence[int] = ()
    ownership: bool = False


def search_all(
    evaluator: Evaluator,
    games: Sequence[Game],
    params: SearchParams,
    extent: Extent,
    legal: Legal,
    on_end: OnEnd,
    is_over: Callable[[], bool] = lambda: False,
) -> None:
    """Search games of one board size and one set of rules, and call `on_end` after each.

    is_over: asked again and again; once true, the searches that have not ended are given up. A tree is the same in
    every run, whatever the machine does.
    """
    if not games:
        return
    visits, leaves, seed = extent.visits, extent.leaves, extent.seed
    attributes, area = evaluator.attributes, games[0].width * games[0].height
    groups = _groups(attributes)
    nodes, rave = visits + leaves + _SPARE_NODES, params.rave_bias > 0 and attributes.has_first_play
    room = (_MEMORY_MIB << 20) // (nodes * bytes_per_node(area, rave=rave, ownership=extent.ownership))
    count = max(groups, min(searches_at_once(attributes, leaves), len(games), room))
    most_moves = max(game.move_number for game in games) + 1
    search = BatchedSearch(
        evaluator,
        games[0],
        count,
        nodes,
        most_moves=most_moves,
        kept=Kept(rave, extent.ownership),
        seed=seed,
    )
    places, ends = dict[int, int](), dict[int, Iterator[int]]()
    waiting = iter(range(len(games)))

    def start(tree: int) -> None:
        place = next(waiting, None)
        if place is not None:
            game, places[tree], ends[tree] = games[place], place, iter((*extent.stops, visits))
            search.forget(tree)
            search.begin(tree, game, game.to_play, legal(game, game.to_play))
            search.start(tree, params, next(ends[tree]), seed, np.random.default_rng([seed, place]))

    def end(tree: int) -> None:
        on_end(places[tree], search.trees[tree], search.roots[tree])
        following = next(ends[tree], None)
        if following is None:
            start(tree)
        else:
            search.start(tree, params, following, seed)

    trees = [range(first, count, groups) for first in range(groups)]
    with closing(BatchedDriver([Group(search, each, end, leaves) for each in trees])) as driver:
        for tree in range(count):
            start(tree)
        driver.run(is_over)
