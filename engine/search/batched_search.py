"""Searches many trees on boards of one size with one evaluator, for games that are played at the same time.

A `Search` fills a batch from one tree, a `BatchedSearch` from many trees, with one leaf of each or a few: virtual
losses distort no tree, and batches are as large as the number of games. Apart from that each tree is equal to that of a
`Search`, visit for visit. The caller assigns trees to games and starts the searches. With several workers one batch is
collected while others are evaluated:

    search.begin(tree, game, color, legal); search.start(tree, params, visits, seed, generator)
    over = search.collect(worker, trees)    # appends leaves; returns the trees whose search is over
    search.send(worker)                     # evaluates the batch in the background
    search.receive(worker)                  # waits for it and backs it up
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
from engine.search.advance import EVALUATING, FULL, GOING, back_up_rows, collect_rows
from engine.search.kernel_params import SCORE_TABLE, new_records, write_params
from engine.search.params import SearchParams
from engine.search.position import Root, new_scratch, refill
from engine.search.pruning import make_room, prune
from engine.search.reuse import node_after
from engine.search.root import drop_root_moves, root_position, root_priors, set_root_priors, shaped_priors
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
from engine.search.walk import plant
from engine.search.worker import Worker
from engine.symmetry import applicable
from engine.vertex import points

_KEY_SETS = ("superko", "passes_before", "seen", "seen_twice")
_KEYS_LOAD = 4
"""Slots of a set of keys for each key, so that the set is at most a quarter full."""
_LEAST_KEYS = 16


class EvaluationTime:
    """Measures the time during which at least one batch was under evaluation.

    seconds: total so far; the present period is added when it ends.
    """

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


class BatchedSearch:
    """Searches `count` trees of `nodes` nodes each, for games of one size and one set of rules.

    game: an example, for size and rules. most_moves: most moves of a game, passes included. with_rave: whether the
    trees have all-moves-as-first statistics, for evaluators that report first plays. seed: of the symmetries under
    which positions are evaluated; the root, too, is evaluated under one symmetry.
    roots, trees: a view of each tree's arrays, valid for the lifetime of this object. Not thread-safe.
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
        self._records = new_records(count)
        self._params = [SearchParams()] * count
        self._random: list[np.random.Generator | None] = [None] * count
        self._games: list[tuple[Game, int] | None] = [None] * count
        self._scratch = new_scratch(game.board, self.new_worker(1).evaluation.first_play.shape[1])
        self._threads = ThreadPoolExecutor(attributes.concurrent, thread_name_prefix="evaluate")
        self.busy = EvaluationTime()
        self.evaluations = 0

    def new_worker(self, capacity: int) -> Worker:
        """Allocate buffers for a batch of `capacity` leaves."""
        game = Game(*self._size, rules=self._rules)
        return Worker(capacity, game, has_details=self._has_details, trees=len(self._records))

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
        """Make the node of the position of `game` the root if the tree has it below its root; return whether it has."""
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
        """Drop a tree; the next `begin` starts a new one."""
        self._games[tree] = None

    def start(
        self, tree: int, params: SearchParams, visits: int, seed: int, generator: np.random.Generator | None = None
    ) -> None:
        """Start a search that ends when the root has `visits` visits, those of earlier searches included.

        seed: of the evaluator's random numbers. generator: of the noise at the root, which is mixed once.
        """
        self._params[tree], self._random[tree] = params, generator
        record = self._records[tree]
        record["visits"], record["evaluated"] = visits, 0
        record["seed"] = seed & 0x7FFFFFFF
        record["generator"] = 2 * record["seed"] + 1
        turns = params.random_symmetries and self._evaluator.attributes.has_symmetries
        record["symmetries"], record["symmetry_seed"] = len(applicable(*self._size)) if turns else 1, self._seed
        self._write_params(tree, 0.0)
        if self.trees[tree].nodes[ROOT]["stage"] == EXPANDED:
            self._prepare(tree)

    def _write_params(self, tree: int, expected_score: float) -> None:
        """Write the parameters for the kernels. expected_score: the root's, Black-positive."""
        record, params = self._records[tree], self._params[tree]
        write_params(record, params, self._area, expected_score, has_details=self._has_details)

    def _prepare(self, tree: int) -> None:
        """Center the score utility at the root's expected score, and apply temperature and noise to its priors."""
        each, params, generator = self.trees[tree], self._params[tree], self._random[tree]
        self._write_params(tree, float(each.nodes[ROOT]["score"]))
        if params.noise_fraction > 0 or params.root_policy_temperature != 1.0:
            assert generator is not None
            set_root_priors(each, shaped_priors(root_priors(each), params, generator))

    def visits(self, tree: int) -> int:
        """Return the visits of a tree's root."""
        return int(self.trees[tree].nodes[ROOT]["visits"])

    def collect(self, worker: Worker, trees: Sequence[int], leaves: int = 1) -> list[int]:
        """Append up to `leaves` leaves of each tree to a batch; return the trees whose search is over.

        The others have leaves in the batch now, and must not be collected from before these are received.
        """
        over: list[int] = []
        waiting, arrays = list(trees), worker.arrays
        while waiting:
            count = len(waiting)
            arrays.chosen[:count] = waiting
            shared = self._trees, self._roots, self._scratch, self._records, SCORE_TABLE
            collect_rows(*shared, leaves, arrays, count)
            status = arrays.status[:count].tolist()
            over += [tree for tree, each in zip(waiting, status, strict=True) if each not in (GOING, FULL)]
            waiting = [tree for tree, each in zip(waiting, status, strict=True) if each == FULL]
            for tree in waiting:
                make_room(self.trees[tree])
        return over

    def send(self, worker: Worker) -> None:
        """Start the evaluation of a batch, which must have at least one leaf."""
        worker.positions.rules = self._rules
        worker.state["state"] = EVALUATING
        self.evaluations += worker.rows
        worker.future = self._threads.submit(self._evaluate, worker)

    def _evaluate(self, worker: Worker) -> None:
        with self.busy:
            self._evaluator.evaluate(worker.positions, worker.rows, worker.evaluation)

    def receive(self, worker: Worker) -> None:
        """Wait until a batch is evaluated, back it up and empty it. Raises the errors of the evaluation."""
        future, rows, arrays = worker.future, worker.rows, worker.arrays
        if future is None:
            return
        future.result()
        worker.future = None
        back_up_rows(self._trees, self._scratch, self._records, SCORE_TABLE, arrays)
        for tree in arrays.owners[:rows][arrays.batch.length[:rows] == 0].tolist():
            self._prepare(tree)

    def close(self) -> None:
        """Stop the evaluation threads after their present batches."""
        self._threads.shutdown()


def _root(game: Game) -> Root:
    return root_position(game, game.to_play, (), (), None, None)


def _with_room(root: Root, moves: int) -> Root:
    """Return a root whose sets of keys have room for a game of `moves` moves, if its rules need them."""
    places = max(_LEAST_KEYS, 1 << (_KEYS_LOAD * (moves + 1) - 1).bit_length())
    is_simple = root.can_be_void
    needed = dict.fromkeys(_KEY_SETS, is_simple) | {"superko": not is_simple}
    sets: dict[str, Any] = {name: np.zeros(places if needed[name] else 1, np.uint64) for name in _KEY_SETS}
    return root._replace(**sets)


def _stacked(values: Any, count: int) -> Any:
    """Return a named tuple of arrays with room for `count` such tuples, all zero."""
    # np.zeros: the system provides memory only when it is first written.
    arrays = [np.asarray(value) for value in values]
    return type(values)(*(np.zeros((count, *array.shape), dtype=array.dtype) for array in arrays))
