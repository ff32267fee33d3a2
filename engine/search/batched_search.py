"""Searches many trees on boards of one size with one evaluator, for games that are played at the same time.

A `Search` fills a batch from one tree, a `BatchedSearch` from many trees, with one leaf of each or a few: virtual
losses distort no tree, and batches are as large as the number of games. Apart from that, and from what
`engine.search.refresh` recomputes in a kept tree, each tree is equal to that of a `Search`, visit for visit. The caller
assigns trees to games and starts the searches. Groups of trees have a worker each, so that one batch is collected while
others are evaluated:

    search.begin(tree, game, color, legal); search.start(tree, params, visits, seed, generator)
    driver = BatchedDriver([Group(search, trees, on_end), Group(search, others, on_end)])
    driver.run(is_over)     # calls on_end(tree) after each search, which may start the next one
"""

import threading
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import wait
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.native.closures import FAILED
from engine.search.advance import CONTROL, EVALUATING, FULL, GO_ON, GOING, OVER, REACHED, collect_rows, finish_batch
from engine.search.driver import Step, WorkerThreads, argument, step
from engine.search.gumbel import GumbelRoot
from engine.search.kernel_params import SCORE_TABLE, Params, new_records, write_params
from engine.search.params import SearchParams
from engine.search.position import KEY_SETS, Root, new_scratch, refill
from engine.search.pruning import make_room, prune
from engine.search.reuse import node_after
from engine.search.root import (
    drop_root_moves,
    root_position,
    root_priors,
    root_temperature,
    set_root_priors,
    shaped_priors,
    shapes_priors,
)
from engine.search.root_evaluation import evaluate_root, root_symmetries
from engine.search.tree import (
    EXPANDED,
    NEW,
    NO_NODE,
    ROOT,
    SHARED_PLAYOUTS,
    TERMINAL_PLAYOUTS,
    Tree,
    clear,
    new_tree,
)
from engine.search.walk import plant
from engine.search.worker import Worker
from engine.symmetry import COUNT, applicable
from engine.vertex import points, policy_index

_KEYS_LOAD = 4
"""Slots of a set of keys for each key, so that the set is at most a quarter full."""
_LEAST_KEYS = 16


class Kept(NamedTuple):
    """What trees keep of each node besides its values.

    rave: all-moves-as-first, from evaluators that report first plays. ownership: of its own evaluation.
    """

    rave: bool = False
    ownership: bool = False


class BatchedSearch:
    """Searches `count` trees of `nodes` nodes each, for games of one size and one set of rules.

    game: an example, for size and rules. most_moves: most moves of a game, passes included. kept: what the trees keep
    of each node besides its values. seed: of the symmetries under which positions are evaluated. doubling: Black's
    advantage in playouts of which networks know, as a logarithm to base 2.
    roots, trees: a view of each tree's arrays, valid for the lifetime of this object. is_searching: by tree, whether a
    search was started and has not ended. busy_seconds: time in which a batch was under evaluation. Not thread-safe,
    except `evaluate`.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        game: Game,
        count: int,
        nodes: int,
        *,
        most_moves: int,
        kept: Kept = Kept(),  # noqa: B008 - an immutable tuple
        seed: int = 1,
        doubling: float = 0.0,
    ) -> None:
        self._evaluator, self._seed, self._doubling = evaluator, seed, doubling
        self._size, self._rules = (game.width, game.height), game.rules
        self._area, self._points = game.width * game.height, points(game.width, game.height)
        attributes = evaluator.attributes
        self._has_details = attributes.has_details
        template = new_tree(nodes, self._area, rave=kept.rave and attributes.has_first_play, ownership=kept.ownership)
        self._trees = _stacked(template, count)
        self.trees = [Tree(*(array[each] for array in self._trees)) for each in range(count)]
        self._roots = _stacked(_with_room(_root(game), most_moves), count)
        self.roots: list[Root] = [_root(game)] * count
        self._records = new_records(count)
        self._params = [SearchParams()] * count
        self._random: list[np.random.Generator | None] = [None] * count
        self._games: list[tuple[Game, int] | None] = [None] * count
        self._policies: list[tuple[NDArray[np.int64], NDArray[np.float64]] | None] = [None] * count
        self._considered = [0] * count
        self.gumbel: list[GumbelRoot | None] = [None] * count
        self._scratch = new_scratch(game.board, self.new_worker(1).evaluation.first_play.shape[1])
        self._arguments = argument(self._trees), argument(self._roots), argument(self._scratch)
        self.is_searching = [False] * count
        self._root_worker: Worker | None = None
        self.busy_seconds = 0.0
        self._calls, self._last_change, self._lock = 0, 0.0, threading.Lock()

    def new_worker(self, capacity: int, number: int = 0) -> Worker:
        """Allocate buffers for a batch of `capacity` leaves."""
        game = Game(*self._size, rules=self._rules)
        worker = Worker(capacity, game, has_details=self._has_details, number=number, trees=len(self._records))
        worker.positions.rules, worker.positions.playout_doubling = self._rules, self._doubling
        return worker

    def steps(self, worker: Worker, control: NDArray[np.void], leaves: int) -> tuple[Step, Step]:
        """Return a worker's `finish_batch` and `collect_rows`."""
        trees, roots, scratch = self._arguments
        arrays, shared = argument(worker.arrays), (scratch, self._records, SCORE_TABLE)
        finish = step(finish_batch, trees, *shared, control, arrays)
        return finish, step(collect_rows, trees, roots, *shared, leaves, arrays)

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
            raise ValueError(f"this search is for {self._size[0]}x{self._size[1]} games under {self._rules.to_json()}")
        root = root_position(game, color, self._points if legal is None else legal, (), None, avoid)
        self.roots[tree], self._policies[tree] = root, None
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
            if name in KEY_SETS:
                if len(value) > len(stack[tree]):
                    raise ValueError(f"{len(value)} places of {name} exceed {len(stack[tree])}: too long a game")
                refill(stack[tree], value)
            else:
                stack[tree] = value

    def _reuse(self, tree: int, game: Game, color: int, root: Root) -> bool:
        """Make the node of the position of `game` the root if the tree has it below its root; return whether it has."""
        last = self._games[tree]
        if last is None or last[0] is not game:
            return False
        each = self.trees[tree]
        node = node_after(each, game.moves[last[1] :], color)
        if node in (NO_NODE, ROOT) or int(np.count_nonzero(root.legal)) != int(each.nodes[node]["edges"]):
            return False
        prune(each, node, freed_share=self._params[tree].subtree_value_bias_free_share)
        return True

    def forget(self, tree: int) -> None:
        """Drop a tree; the next `begin` starts a new one."""
        self._games[tree] = None

    # More than 8 parameters with `self`: what differs between the searches of one game.
    def start(
        self,
        tree: int,
        params: SearchParams,
        visits: int,
        seed: int,
        generator: np.random.Generator | None = None,
        considered: int = 0,
    ) -> None:
        """Start a search that ends when the root has `visits` visits, those of earlier searches included.

        seed: of the evaluator's random numbers. generator: of the noise at the root, which the first search after
        `begin` mixes in, once for all. considered: moves of the root that are compared by sequential halving (`gumbel`
        has the result), in a tree that `forget` cleared and whose group has one leaf in a batch; 0 for PUCT.
        """
        self._considered[tree], self.gumbel[tree] = considered, None
        self._params[tree], self._random[tree], self.is_searching[tree] = params, generator, True
        record = self._records[tree]
        record["visits"], record["evaluated"] = visits, 0
        record["seed"] = seed & 0x7FFFFFFF
        record["generator"] = 2 * record["seed"] + 1
        turns = params.random_symmetries and self._evaluator.attributes.has_symmetries
        record["symmetries"], record["symmetry_seed"] = len(applicable(*self._size)) if turns else 1, self._seed
        self._write_params(tree, 0.0)
        if params.root_symmetries > 1 and self.trees[tree].nodes[ROOT]["stage"] == NEW:
            self._evaluate_root(tree, seed)
        if self.trees[tree].nodes[ROOT]["stage"] == EXPANDED:
            self.prepare(tree)

    def _evaluate_root(self, tree: int, seed: int) -> None:
        """Evaluate a new root under several symmetries, in a call of its own; their mean counts as one visit."""
        if self._root_worker is None:
            self._root_worker = self.new_worker(min(COUNT, self._evaluator.attributes.max_batch))
        worker, root = self._root_worker, self.roots[tree]
        # By the position, so that not all roots are evaluated under the same few symmetries.
        generator = np.random.default_rng([seed, int(root.hashes[0])])
        turned = root_symmetries(self._params[tree], self._evaluator.attributes, worker.positions, generator)
        params = Params(self._records[tree], SCORE_TABLE)
        evaluate_root(self._evaluator.evaluate, self.trees[tree], root, self._scratch, worker, params, turned)

    def _write_params(self, tree: int, expected_score: float) -> None:
        """Write the parameters for the kernels. expected_score: the root's, Black-positive."""
        record, params = self._records[tree], self._params[tree]
        write_params(record, params, self._area, expected_score, has_details=self._has_details)

    def prepare(self, tree: int) -> None:
        """Center the score utility at the root's expected score, and apply temperature and noise to its priors."""
        each, params, generator = self.trees[tree], self._params[tree], self._random[tree]
        self._write_params(tree, float(each.nodes[ROOT]["score"]))
        temperature = root_temperature(params, self.roots[tree].number, self._area)
        if self._considered[tree]:
            assert generator is not None
            playouts = int(self._records[tree]["visits"]) - 1
            considered = self._considered[tree]
            self.gumbel[tree] = GumbelRoot(each, self.roots[tree], params, considered, playouts, generator)
        elif self._policies[tree] is None and shapes_priors(params, temperature):
            assert generator is not None
            self._policies[tree] = self._edges(tree)
            set_root_priors(each, shaped_priors(root_priors(each), params, temperature, generator))

    def _edges(self, tree: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the policy indices and the priors of a root's edges."""
        priors = root_priors(self.trees[tree])
        vertices = self.trees[tree].edge_vertex[ROOT, : len(priors)].tolist()
        return np.array([policy_index(each, *self._size) for each in vertices], dtype=np.int64), priors

    def policy(self, tree: int) -> NDArray[np.float32]:
        """Return the evaluator's policy at the root, before temperature and noise: [area + 1]."""
        indices, priors = self._policies[tree] or self._edges(tree)
        policy = np.zeros(self._area + 1, dtype=np.float32)
        policy[indices] = priors
        return policy

    def choose_root_move(self, tree: int) -> None:
        """Let a search by sequential halving make one playout, which begins with the move whose turn it is."""
        gumbel = self.gumbel[tree]
        if gumbel is None:
            return
        # Without this limit, playouts that end the game would be followed by others from the same move.
        self._records[tree]["visits"] = min(int(self.trees[tree].nodes[ROOT]["visits"]), gumbel.playouts) + 1
        avoid, color = self._roots.avoid[tree], self.roots[tree].color
        avoid[color] = 1
        avoid[color, gumbel.next_move()] = 0
        self._roots.avoid_depth[tree] = 1

    def is_reached(self, tree: int) -> bool:
        """Return whether a tree has the visits of the whole search, not only those of `choose_root_move`."""
        gumbel = self.gumbel[tree]
        return gumbel is None or int(self.trees[tree].nodes[ROOT]["visits"]) > gumbel.playouts

    def make_room(self, tree: int) -> None:
        """Drop the least visited nodes of a full tree."""
        make_room(self.trees[tree], self._params[tree].subtree_value_bias_free_share)

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Evaluate a batch, and measure the time."""
        self._count_calls(1)
        try:
            self._evaluator.evaluate(positions, count, out)
        finally:
            self._count_calls(-1)

    def _count_calls(self, change: int) -> None:
        with self._lock:
            now = time.perf_counter()
            self.busy_seconds += now - self._last_change if self._calls else 0.0
            self._calls, self._last_change = self._calls + change, now


class Group(NamedTuple):
    """Trees of a search whose leaves fill the batches of one worker.

    on_end: called with each tree whose search has ended; may start the next search. leaves: most of a tree in a batch.
    """

    search: BatchedSearch
    trees: Sequence[int]
    on_end: Callable[[int], None]
    leaves: int = 1

    def searching(self) -> list[int]:
        """Return the trees whose search has not ended."""
        return [tree for tree in self.trees if self.search.is_searching[tree]]


class BatchedDriver(WorkerThreads):
    """Searches groups of trees, of one or several searches. The groups take turns, so that they do the same every time.

    rows: number of leaves that were evaluated.
    """

    def __init__(self, groups: Sequence[Group]) -> None:
        control = np.zeros(1, dtype=CONTROL)
        control["is_in_turn"] = 1
        workers = [each.search.new_worker(each.leaves * len(each.trees), number) for number, each in enumerate(groups)]
        super().__init__(workers, control)
        self._groups = groups
        self._steps = [
            each.search.steps(worker, control, each.leaves) for each, worker in zip(groups, workers, strict=True)
        ]

    def run(self, is_over: Callable[[], bool]) -> None:
        """Search until `is_over` or until no search is left; no evaluation is in flight afterwards.

        is_over: called before each turn of the first group, in any thread. Raises the errors of `is_over`, `on_end` and
        the evaluations.
        """
        control = self._control[0]
        control["stop"], control["turn"], control["workers"] = 0, 0, len(self._groups)
        running = [
            self._threads.submit(
                self._run_in_python, worker, group.search.evaluate, partial(self._advance, number, is_over)
            )
            for number, (group, worker) in enumerate(zip(self._groups, self._workers, strict=True))
        ]
        try:
            wait(running)
        finally:
            # After an interrupt, too, the workers back up their batches, because the searches may go on later.
            control["workers"] = 0
            wait(running)
        for future in running:
            future.result()

    def _advance(self, number: int, is_over: Callable[[], bool], answered: int) -> int:
        """Back up a group's batch and collect the next one, while the lock is held."""
        group, control, (finish, collect) = self._groups[number], self._control[0], self._steps[number]
        worker, arrays = self._workers[number], self._workers[number].arrays
        rows = worker.rows
        found = finish(answered)
        if found not in (GO_ON, OVER):
            return found
        if worker.rows < rows:
            for tree in arrays.owners[:rows][arrays.batch.length[:rows] == 0].tolist():
                group.search.prepare(tree)
        control["turn"] = (number + 1) % len(self._groups)
        if number == 0 and found == GO_ON and (is_over() or not any(each.searching() for each in self._groups)):
            control["workers"] = 0
            return OVER
        return found if found == OVER else _collect(group, worker, collect)


def _collect(group: Group, worker: Worker, collect: Step) -> int:
    """Collect leaves of all trees of a group, also for searches that start here; return as `start_batch`."""
    search, arrays, waiting = group.search, worker.arrays, group.searching()
    while waiting:
        count = len(waiting)
        arrays.chosen[:count] = waiting
        for tree in waiting:
            search.choose_root_move(tree)
        if collect(count) == FAILED:
            return FAILED
        status = dict(zip(waiting, arrays.status[:count].tolist(), strict=True))
        for tree in waiting:
            if status[tree] == FULL:
                search.make_room(tree)
            elif status[tree] != GOING and (status[tree] != REACHED or search.is_reached(tree)):
                search.is_searching[tree] = False
                group.on_end(tree)
        waiting = [tree for tree in waiting if status[tree] != GOING and search.is_searching[tree]]
    if worker.rows == 0:
        return GO_ON
    worker.state["state"] = EVALUATING
    return worker.rows


def _root(game: Game) -> Root:
    return root_position(game, game.to_play, (), (), None, None)


def _with_room(root: Root, moves: int) -> Root:
    """Return a root whose sets of keys have room for a game of `moves` moves, if its rules need them."""
    places = max(_LEAST_KEYS, 1 << (_KEYS_LOAD * (moves + 1) - 1).bit_length())
    is_simple = root.can_be_void
    needed = dict.fromkeys(KEY_SETS, is_simple) | {"superko": not is_simple, "shapes": False}
    sets: dict[str, Any] = {name: np.zeros(places if needed[name] else 1, np.uint64) for name in KEY_SETS}
    return root._replace(**sets)


def _stacked(values: Any, count: int) -> Any:
    """Return a named tuple of arrays with room for `count` such tuples, all zero."""
    # np.zeros: the system provides memory only when it is first written.
    arrays = [np.asarray(value) for value in values]
    return type(values)(*(np.zeros((count, *array.shape), dtype=array.dtype) for array in arrays))
