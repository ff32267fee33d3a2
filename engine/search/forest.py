"""Many trees on boards of one size over one evaluator: the searches of games that are played at the same time.

A `Search` fills a batch from one tree. A forest fills it from many, one leaf of each or a few, so that no virtual
loss distorts a search and a batch is as large as there are games. It is a `Search` in all else: the same walks,
the same figures, visit for visit. Which tree belongs to which game, and when a search begins, is the caller's to
say; he keeps several slots going, so that one batch is collected while others are evaluated:

    forest.begin(tree, game, color, legal); forest.search(tree, params, visits, seed, generator)
    over = forest.collect(slot, trees)      # appends leaves; returns the trees whose search is over
    forest.send(slot)                       # has the slot evaluated in the background
    forest.receive(slot)                    # waits for it and brings the answers into the trees
"""

import threading
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.evaluation.evaluator import Evaluator
from engine.game import Game
from engine.search.expansion import new_sorting
from engine.search.forest_kernels import DONE, FULL, Searches, back_up_forest, collect_forest, refill
from engine.search.numbers import exploration_of, values_of
from engine.search.params import SearchParams
from engine.search.position import MAX_DEPTH, Root, new_scratch
from engine.search.pruning import make_room, prune
from engine.search.reuse import node_after
from engine.search.root import drop_root_moves, root_position, root_priors, set_root_priors, shaped_priors
from engine.search.slot import Slot
from engine.search.tree import (
    EXPANDED,
    NO_NODE,
    ROOT,
    SHARED_PLAYOUTS,
    TERMINAL_PLAYOUTS,
    Tree,
    clear,
    new_tree,
)
from engine.search.values import Values
from engine.search.walk import Conduct, plant
from engine.vertex import points

_KEY_SETS = ("superko", "passes_before", "seen", "seen_twice")
_KEYS_LOAD = 4
"""Places of a set of keys for each of them."""
_LEAST_KEYS = 16


class BusyTime:
    """How long at least one call was being evaluated. seconds: so far, those of finished calls alone."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._calls, self._since = 0, 0.0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            if self._calls == 0:
                self._since = time.perf_counter()
            self._calls += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._calls -= 1
            if self._calls == 0:
                self.seconds += time.perf_counter() - self._since


class ForestSlot(Slot):
    """A batch of leaves of many trees. owners: [capacity] int64, the tree of each row. capacity: its rows."""

    def __init__(self, capacity: int, game: Game, *, has_details: bool) -> None:
        super().__init__(capacity, game, has_details=has_details)
        self.capacity = capacity
        self.owners = np.zeros(capacity, dtype=np.int64)


class Forest:
    """So many trees of so many nodes each, for games of one size and one set of rules.

    game: one of them; size and rules count. most_moves: of a game, passes included. with_rave: whether the trees
    hold all-moves-as-first statistics, for evaluators that report first plays. seed: of the symmetries under
    which positions are seen. The root is seen under one symmetry, as every other position.
    Not thread-safe. roots, trees: views of each tree, which stay.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        game: Game,
        count: int,
        nodes: int,
        *,
        most_moves: int,
        with_rave: bool = False,
        seed: int = 1,
    ) -> None:
        self._evaluator, self._seed = evaluator, seed
        self._size, self._rules = (game.width, game.height), game.rules
        self._area, self._points = game.width * game.height, points(game.width, game.height)
        attributes = evaluator.attributes
        self._has_details = attributes.has_details
        template = new_tree(nodes, self._area, rave=with_rave and attributes.has_first_play, ownership=False)
        self._trees = _stacked(template, count)
        self.trees = [Tree(*(array[each] for array in self._trees)) for each in range(count)]
        self._roots = _stacked(_with_room(_root(game), most_moves), count)
        self.roots: list[Root] = [_root(game)] * count
        self._searches = _new_searches(count, self._values(SearchParams(), 0.0))
        self._generators = np.ones((count, 1), dtype=np.uint64)
        self._params = [SearchParams()] * count
        self._optimism = np.zeros((2, count), dtype=np.float32)
        self._symmetric = np.zeros(count, dtype=np.bool_)
        self._random: list[np.random.Generator | None] = [None] * count
        self._games: list[tuple[Game, int] | None] = [None] * count
        slot = self.new_slot(1)
        self._scratch = new_scratch(game.board, slot.evaluation.first_play.shape[1])
        self._sorting = new_sorting(self._area + 1)
        self._moves = np.empty(MAX_DEPTH, dtype=np.int16)
        self._evaluations = np.zeros(1, dtype=np.float64)
        self._workers = ThreadPoolExecutor(attributes.concurrent, thread_name_prefix="evaluate")
        self.busy = BusyTime()
        self.evaluations = 0

    def new_slot(self, capacity: int) -> ForestSlot:
        """Return memory for a batch of so many leaves."""
        return ForestSlot(capacity, Game(*self._size, rules=self._rules), has_details=self._has_details)

    def begin(
        self,
        tree: int,
        game: Game,
        color: int,
        legal: Collection[int] | None = None,
        *,
        avoid: NDArray[np.int16] | None = None,
    ) -> None:
        """Take up a position: keep the subtree it has in the present tree, or start a new one.

        game: may be the object of the last call, with moves added and nothing taken back; only then is a subtree
        kept. legal, avoid: as in `Search.begin`, legal None for every point.
        Raises ValueError on a game of another size, other rules or too many moves.
        """
        if (game.width, game.height) != self._size or game.rules != self._rules:
            raise ValueError(f"this forest is for {self._size[0]}x{self._size[1]} games under {self._rules.to_json()}")
        root = root_position(game, color, self._points if legal is None else legal, (), None, avoid)
        self.roots[tree] = root
        self._write_root(tree, root)
        each = self.trees[tree]
        if not self._reuse(tree, game, color, root):
            clear(each)
            plant(each, root)
        else:
            drop_root_moves(each, root.avoid[color])
        each.counters[[TERMINAL_PLAYOUTS, SHARED_PLAYOUTS]] = 0
        self._games[tree] = (game, game.move_number)

    def _write_root(self, tree: int, root: Root) -> None:
        value: Any
        for name, stack, value in zip(Root._fields, self._roots, root, strict=True):
            if name in _KEY_SETS:
                if len(value) > len(stack[tree]):
                    raise ValueError(f"{len(value)} places of {name} exceed {len(stack[tree])}: too long a game")
                refill(stack[tree], value)
            else:
                stack[tree] = value

    def _reuse(self, tree: int, game: Game, color: int, root: Root) -> bool:
        """Move the root to the position of `game` if the tree holds it below its root; return whether it does."""
        last = self._games[tree]
        if last is None or last[0] is not game:
            return False
        each = self.trees[tree]
        node = node_after(each, game.moves[last[1] :], color)
        if node in (NO_NODE, ROOT) or int(np.count_nonzero(root.legal)) != int(each.nodes[node]["edges"]):
            return False
        prune(each, node)
        return True

    def forget(self, tree: int) -> None:
        """Drop a tree: its next position starts a new one."""
        self._games[tree] = None

    def search(
        self, tree: int, params: SearchParams, visits: int, seed: int, generator: np.random.Generator | None = None
    ) -> None:
        """Begin a search that ends when the root has so many visits, those of earlier searches included.

        seed: of the evaluator's random numbers. generator: of the noise at the root, which is mixed once.
        """
        self._params[tree], self._random[tree] = params, generator
        self._searches.visits[tree] = visits
        self._searches.evaluated[tree] = 0
        seed &= 0x7FFFFFFF
        self._searches.conduct.seed[tree] = seed
        self._generators[tree, 0] = 2 * seed + 1
        self._optimism[:, tree] = params.policy_optimism, params.root_policy_optimism
        self._symmetric[tree] = params.random_symmetries
        _put(self._searches.exploration, tree, exploration_of(params))
        self._set_values(tree, 0.0)
        if self.trees[tree].nodes[ROOT]["stage"] == EXPANDED:
            self._prepare(tree)

    def _values(self, params: SearchParams, expected_score: float) -> Values:
        return values_of(params, self._area, expected_score, has_details=self._has_details)

    def _set_values(self, tree: int, expected_score: float) -> None:
        """Take over how nodes are valued, for a root of this expected score, Black-positive."""
        params = self._params[tree]
        values = self._values(params, expected_score)
        _put(self._searches.values, tree, values)
        self._searches.conduct.shares_nodes[tree] = params.shares_nodes
        weight = params.uncertainty_max_weight if values.uncertainty_coefficient > 0 else 1.0
        self._searches.conduct.terminal_weight[tree] = weight

    def _prepare(self, tree: int) -> None:
        """Value nodes around what the root is expected to score, and shape its priors."""
        each, params, generator = self.trees[tree], self._params[tree], self._random[tree]
        self._set_values(tree, float(each.nodes[ROOT]["score"]))
        if params.noise_fraction > 0 or params.root_policy_temperature != 1.0:
            assert generator is not None
            set_root_priors(each, shaped_priors(root_priors(each), params, generator))

    def visits(self, tree: int) -> int:
        """Return the visits of a tree's root."""
        return int(self.trees[tree].nodes[ROOT]["visits"])

    def collect(self, slot: ForestSlot, trees: Sequence[int], leaves: int = 1) -> list[int]:
        """Append up to `leaves` leaves of each tree to a slot; return the trees whose search is over.

        The others have leaves in the slot now, and must not be collected from before these are received.
        """
        over: list[int] = []
        chosen = np.asarray(trees, dtype=np.int64)
        while len(chosen):
            status = np.empty(len(chosen), dtype=np.int8)
            slot.rows = int(
                collect_forest(
                    self._trees,
                    self._roots,
                    self._searches,
                    self._scratch,
                    self._generators,
                    slot.batch,
                    slot.rows,
                    chosen,
                    len(chosen),
                    leaves,
                    status,
                    slot.owners,
                )
            )
            over += chosen[status == DONE].tolist()
            chosen = chosen[status == FULL]
            for tree in chosen.tolist():
                make_room(self.trees[tree])
        return over

    def send(self, slot: ForestSlot) -> None:
        """Begin to evaluate a slot's leaves, of which there is at least one."""
        positions, rows = slot.positions, slot.rows
        owners, is_root = slot.owners[:rows], slot.batch.length[:rows] == 0
        positions.symmetry[:rows] = 0
        if self._evaluator.attributes.has_symmetries:
            slot.draw_symmetries(rows, self._seed)
            positions.symmetry[:rows] *= self._symmetric[owners]
        positions.rules = self._rules
        positions.optimism[:rows] = self._optimism[is_root.astype(np.int64), owners]
        self.evaluations += rows
        slot.future = self._workers.submit(self._evaluate, slot)

    def _evaluate(self, slot: ForestSlot) -> None:
        with self.busy:
            self._evaluator.evaluate(slot.positions, slot.rows, slot.evaluation)

    def receive(self, slot: ForestSlot) -> None:
        """Wait until a slot is evaluated, bring the answers into the trees and empty it. Raises what evaluating did."""
        future, rows = slot.future, slot.rows
        if future is None:
            return
        future.result()
        back_up_forest(
            self._trees,
            self._searches,
            slot.batch,
            rows,
            slot.owners,
            slot.answers,
            self._size[0],
            self._sorting,
            self._scratch.work,
            self._scratch.amaf,
            self._moves,
            self._evaluations,
        )
        for tree in slot.owners[:rows][slot.batch.length[:rows] == 0].tolist():
            self._prepare(tree)
        slot.future, slot.rows = None, 0

    def close(self) -> None:
        """Stop the evaluation threads once they have finished what they do."""
        self._workers.shutdown()


def _root(game: Game) -> Root:
    return root_position(game, game.to_play, (), (), None, None)


def _with_room(root: Root, moves: int) -> Root:
    """Return a root whose sets of keys hold those of a game of so many moves, where its rules need them."""
    places = max(_LEAST_KEYS, 1 << (_KEYS_LOAD * (moves + 1) - 1).bit_length())
    is_simple = root.can_be_void
    needed = dict.fromkeys(_KEY_SETS, is_simple) | {"superko": not is_simple}
    sets: dict[str, Any] = {name: np.zeros(places if needed[name] else 1, np.uint64) for name in _KEY_SETS}
    return root._replace(**sets)


def _stacked(values: Any, count: int) -> Any:
    """Return the same named tuple with arrays of `count` such values, all zero; memory is taken as it is used."""
    arrays = [np.asarray(value) for value in values]
    return type(values)(*(np.zeros((count, *array.shape), dtype=array.dtype) for array in arrays))


def _put(stack: Any, tree: int, values: Any) -> None:
    """Write the numbers of one tree into the arrays of all; those that all share stay."""
    for array, value in zip(stack, values, strict=True):
        if array.ndim == 1:
            array[tree] = value


def _new_searches(count: int, values: Values) -> Searches:
    numbers = values._replace(score_table=np.zeros((0, 0), dtype=np.float32))
    return Searches(
        exploration=_stacked(exploration_of(SearchParams()), count),
        values=_stacked(numbers, count),
        conduct=Conduct(*(np.zeros(count, dtype=kind) for kind in (np.bool_, np.float64, np.int64, np.float64))),  # type: ignore[arg-type]
        score_table=values.score_table,
        visits=np.zeros(count, dtype=np.int64),
        evaluated=np.zeros(count, dtype=np.int64),
    )
