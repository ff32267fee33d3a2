"""A search: one tree, kept from move to move, over one evaluator.

Owns the tree, its reuse and its bounded memory. Knows of evaluators only their interface, and leaves the searching to
`engine.search.driver`.
"""

import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.color import for_color
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.search.backup import back_up, reopen
from engine.search.driver import Driver, worker_count
from engine.search.figures import Figures
from engine.search.kernel_params import NO_LIMIT, SCORE_TABLE, Params, new_records, write_params
from engine.search.params import SearchParams
from engine.search.position import Root, new_scratch
from engine.search.pruning import prune
from engine.search.reuse import continues, node_after, same_bounds, same_dead
from engine.search.root import (
    drop_root_moves,
    mirrored_moves,
    root_position,
    root_priors,
    set_root_priors,
    shaped_priors,
)
from engine.search.stoppers import SearchStats, Stopper
from engine.search.throughput import Load, Throughput
from engine.search.tree import (
    EXPANDED,
    NEW,
    NO_NODE,
    ROOT,
    SHARED_PLAYOUTS,
    SIZE,
    TERMINAL_PLAYOUTS,
    Tree,
    bytes_per_node,
    clear,
    new_tree,
)
from engine.search.walk import collect, plant
from engine.search.worker import Worker
from engine.symmetry import applicable

_MIN_NODES = 1024
_MEBIBYTE = 1 << 20
_NEVER_ENDING = -1_000_000
_LARGEST_BATCH = 64
_DOUBT = 3.0
"""Points: smaller differences are left to the count, which is exact where all is settled."""

Watch = Callable[[SearchStats], None]


class Search:
    """A tree over one evaluator. Not thread-safe; a stopper is the way to end `run` from outside.

    params may be replaced between searches. sharing: asked now and then how many searches share the evaluator.
    mirrored: root moves that are not searched because they mirror another one, each with that one. root_evaluation:
    row 0 is what the evaluator said of the last root that was new. driver, workers: those of the present board size.
    doubts_counts: whether by territory rules the evaluator is believed rather than a
    count within the tree that differs much from it: for an analysis, in which stones that nobody bothered to capture
    must not count as alive. A move that is to be played is found by counts.
    """

    def __init__(self, evaluator: Evaluator, params: SearchParams, sharing: Callable[[], int] | None = None) -> None:
        self.params = params
        self.root_evaluation: Evaluation | None = None
        self._sharing = sharing or _alone
        self._evaluator = evaluator
        self._is_repeatable = False
        self._seed = params.seed or int(np.random.SeedSequence().generate_state(1)[0])
        self._generator = np.random.default_rng(self._seed)
        self._shape: tuple[int, int] | None = None
        self.driver: Driver
        self.ownership_sum: NDArray[np.float64]
        self._memory = params.max_memory_mib
        self._game: Game | None = None
        self._clean_priors: tuple[NDArray[np.int16], NDArray[np.float64]] | None = None
        self._searches = 0
        self.mirrored: dict[int, int] = {}
        self.doubts_counts = self._has_doubted = False

    def begin(
        self,
        game: Game,
        color: int,
        legal: Collection[int],
        dead: Collection[int] = (),
        *,
        region: Collection[int] | None = None,
        avoid: NDArray[np.int16] | None = None,
    ) -> None:
        """Take up a position: keep the subtree it has in the present tree, or start a new one.

        legal: the points that may be played at the root. dead: stones that count as dead when the
        game ends within the tree. region: the points that may be played anywhere in the tree, None
        for all. avoid: [3, n] int16 by color and vertex, the depth below which a move must not be
        played, the root's being 0.
        """
        if self._shape != (game.width, game.height) or self._memory != self.params.max_memory_mib:
            self._allocate(game)
        if self._has_doubted != self.doubts_counts and not game.rules.is_area:
            self.forget()
        self._has_doubted = self.doubts_counts
        self.driver.wait()
        self._restore_priors()
        self.mirrored = mirrored_moves(game, color, legal) if self._prunes_mirrors(avoid) else {}
        searched = [vertex for vertex in legal if vertex not in self.mirrored]
        before = self.root if self._game is not None else None
        self.root: Root = root_position(game, color, searched, dead, region, avoid)
        if before is None or not self._may_keep(before, game, color) or not self._reuse(game, color):
            clear(self.tree)
            plant(self.tree, self.root)
        elif self.tree.nodes[ROOT]["stage"] == EXPANDED:
            drop_root_moves(self.tree, self.root.avoid[color])
        self.tree.counters[[TERMINAL_PLAYOUTS, SHARED_PLAYOUTS]] = 0
        self._game, self._rules = game.copy(), game.rules
        self.ownership_sum[:] = 0

    def _may_keep(self, before: Root, game: Game, color: int) -> bool:
        # By territory rules passes deep in the tree count the dead stones, too; by area rules they are captured there.
        ends_matter = not game.rules.is_area or game.pass_ends_phase(color)
        counts_alike = same_dead(before, self.root) or not ends_matter
        return counts_alike and same_bounds(before, self.root)

    def _prunes_mirrors(self, avoid: NDArray[np.int16] | None) -> bool:
        return self.params.prunes_symmetric_moves and avoid is None

    def play_on(self) -> None:
        """Let no number of passes end the game in this position's tree: for judging life and death."""
        self.root = self.root._replace(passes=_NEVER_ENDING, remembers_passes=False)

    def _allocate(self, game: Game) -> None:
        if self._shape is not None:
            self.driver.wait()
            self.driver.close()
        game_size = (game.width, game.height)
        area, rave = game.width * game.height, self._has_rave()
        attributes = self._evaluator.attributes
        has_ownership, has_details = attributes.has_ownership, attributes.has_details
        node_bytes = bytes_per_node(area, rave=rave, ownership=has_ownership)
        capacity = max(_MIN_NODES, self.params.max_memory_mib * _MEBIBYTE // node_bytes)
        self.tree: Tree = new_tree(capacity, area, rave=rave, ownership=has_ownership)
        capacity = min(attributes.max_batch, max(_LARGEST_BATCH, self.params.batch_size, len(applicable(*game_size))))
        count = worker_count(self._evaluator)
        self.workers = [Worker(capacity, game, has_details=has_details, number=number) for number in range(count)]
        self._scratch = new_scratch(game.board, self.workers[0].evaluation.first_play.shape[1])
        self._records = new_records(1)
        self.driver = Driver(self._evaluator, _as_only_one(self.tree), self._scratch, self._records, self.workers)
        self.ownership_sum = self._scratch.ownership_sum
        self._shape, self._memory = game_size, self.params.max_memory_mib
        self._game = self._clean_priors = None

    def _has_rave(self) -> bool:
        return self.params.rave_bias > 0 and self._evaluator.attributes.has_first_play

    def _reuse(self, game: Game, color: int) -> bool:
        """Move the root to the position of `game` if the tree holds it; return whether it does."""
        old = self._game
        if old is None or not continues(old, game):
            return False
        node = node_after(self.tree, game.moves[len(old.moves) :], color)
        if node == NO_NODE:
            return False
        if node != ROOT:
            prune(self.tree, node)
        return int(np.count_nonzero(self.root.legal)) == int(self.tree.nodes[ROOT]["edges"])

    def forget(self) -> None:
        """Drop the tree: the next position starts a new one."""
        self._game = None

    def restart(self) -> None:
        """Drop the tree and draw random numbers from the seed again, from 1 if that was to differ every time."""
        self.forget()
        self._searches = 0
        self._seed, self._is_repeatable = self.params.seed or 1, self.params.seed == 0
        self._generator = np.random.default_rng(self._seed)

    def run(
        self, stoppers: Sequence[Stopper], max_visits: int | None = None, watch: Watch | None = None
    ) -> SearchStats:
        """Search until a stopper says so, or no playout is possible; return the final figures.

        Stoppers are asked from the first visit on: a move always has an evaluation behind it. A stop does not
        wait for evaluations that are under way. With a seed, a search that `max_visits` ends is the same every time.
        max_visits: never collect more leaves than the root lacks to this number.
        watch: called with the figures now and then, and at the end; may read the tree, which nobody changes meanwhile.
        """
        self._searches += 1
        self._start, self._visits_before = time.monotonic(), self._visits()
        self._figures = Figures()
        self._records["visits"] = NO_LIMIT if max_visits is None else max_visits
        self._records["evaluated"] = 0
        is_in_turn = (self.params.seed != 0 or self._is_repeatable) and max_visits is not None

        def is_over() -> bool:
            stats = self._stats()
            if watch is not None:
                watch(stats)
            return stats.visits > 0 and any(stopper.should_stop(stats) for stopper in stoppers)

        try:
            self.driver.wait()
            if self.tree.nodes[ROOT]["stage"] == NEW:
                self._evaluate_root()
            self._prepare()
            if not is_over():
                for worker in self.workers:
                    self._write_common(worker)
                load = self._load_of(max_visits, is_in_turn=is_in_turn)
                if not self.driver.run(_as_only_one(self.root), load, is_over, is_in_turn=is_in_turn):
                    is_over()  # for whoever watches
        finally:
            self.driver.stop()
        return self._stats()

    def _load_of(self, max_visits: int | None, *, is_in_turn: bool) -> Callable[[], Load]:
        """Return what chooses workers and rows: fixed for a repeatable search, else by measured speed and sharing."""
        driver, workers, attributes = self.driver, len(self.workers), self._evaluator.attributes
        if self.params.batch_size > 0:
            fixed: Load | None = Load(workers, self.params.batch_size)
        elif attributes.has_first_play:
            # Playouts are so cheap and so noisy that nothing is lost by picking many positions at once.
            fixed = Load(workers, attributes.preferred_batch)
        elif max_visits is not None:
            # Nothing is measured, so that a search in turn is the same every time.
            fixed = Throughput(attributes, most=_LARGEST_BATCH).load(max_visits, timed=False)
        else:
            fixed = None

        def load() -> Load:
            found = fixed or driver.throughput.load(self._visits())
            if fixed is None and driver.is_native:
                # A worker has a core to itself, which would be idle without it.
                found = Load(workers, found.batch)
            sharing = 1 if is_in_turn else self._sharing()
            if sharing == 1:
                return found
            if driver.is_native:
                return Load(max(1, found.calls // sharing), found.batch)
            # Other searches fill the evaluator while this one waits for its only call.
            share = attributes.concurrent * attributes.preferred_batch // sharing
            return Load(1, max(1, min(found.calls * found.batch, share)))

        return load

    def _write_common(self, worker: Worker) -> None:
        """Write what all positions of a worker's batch have in common."""
        positions, advantage = worker.positions, self.params.playout_doubling_advantage
        positions.rules = self._rules
        positions.playout_doubling = for_color(advantage, self.root.color)

    def _evaluate_root(self) -> None:
        """Give a new root the mean of its evaluations under several random symmetries, as one visit."""
        self._write_params(0.0)
        worker, params = self.workers[0], Params(self._records[0], SCORE_TABLE)
        batch, positions, out = worker.arrays.batch, worker.positions, worker.evaluation
        self._write_common(worker)
        rows = collect(self.tree, self.root, self._scratch, batch, params, 1)
        try:
            symmetries = self._root_symmetries(positions)
            count = len(symmetries)
            positions.repeat_first(count)
            positions.symmetry[:count] = symmetries
            self._evaluator.evaluate(positions, count, out)
        except BaseException:
            reopen(self.tree, batch, rows)
            raise
        out.average_into_first(count)
        self.root_evaluation = out.first_row(positions.width, positions.height)
        back_up(self.tree, batch, worker.arrays.answers, params, self._scratch, rows)

    def _root_symmetries(self, positions: PositionBatch) -> list[int]:
        """Return the symmetries to see the root under."""
        every = len(applicable(positions.width, positions.height))
        count = min(self.params.root_symmetries, every, positions.capacity)
        if not self._evaluator.attributes.has_symmetries or (count == 1 and not self.params.random_symmetries):
            return [0]
        return [int(each) for each in self._generator.permutation(every)[:count]]

    def _prepare(self) -> None:
        """Value nodes around what the root is expected to score, and shape the root's priors."""
        root = self.tree.nodes[ROOT]
        self._write_params(float(root["score"]))
        params = self.params
        if root["stage"] == EXPANDED and (params.noise_fraction > 0 or params.root_policy_temperature != 1.0):
            self._restore_priors()
            count, priors = int(root["edges"]), root_priors(self.tree)
            self._clean_priors = (self.tree.edge_vertex[ROOT, :count].copy(), priors)
            set_root_priors(self.tree, shaped_priors(priors, params, self._generator))

    def _write_params(self, expected_score: float) -> None:
        """Take over the parameters, for a root of this expected score, Black-positive."""
        area, attributes, record = self.tree.edge_vertex.shape[1] - 1, self._evaluator.attributes, self._records[0]
        write_params(record, self.params, area, expected_score, has_details=attributes.has_details)
        record["seed"] = (self._seed * 1_000_003 + self._searches * 1_000_000_007) & 0x7FFFFFFF
        record["generator"] = 2 * record["seed"] + 1
        turns = self.params.random_symmetries and attributes.has_symmetries
        assert self._shape is not None
        record["symmetries"], record["symmetry_seed"] = len(applicable(*self._shape)) if turns else 1, self._seed
        knows_dead = attributes.has_score and not attributes.has_first_play
        record["doubt"] = _DOUBT if self.doubts_counts and knows_dead and not self.root.is_area else 0.0

    def _visits(self) -> int:
        return int(self.tree.nodes[ROOT]["visits"])

    def _stats(self) -> SearchStats:
        playouts = self._visits() - self._visits_before
        return self._figures.of(self.tree, playouts, time.monotonic() - self._start)

    def _restore_priors(self) -> None:
        """Take noise and temperature out of the root's priors."""
        if self._clean_priors is None:
            return
        by_vertex = dict(zip(self._clean_priors[0].tolist(), self._clean_priors[1].tolist(), strict=True))
        vertices = self.tree.edge_vertex[ROOT, : len(by_vertex)].tolist()
        set_root_priors(self.tree, np.array([by_vertex[vertex] for vertex in vertices]))
        self._clean_priors = None

    @property
    def generator(self) -> np.random.Generator:
        """The random numbers of this search, for choices at the root."""
        return self._generator

    def size(self) -> int:
        """Return the nodes in use."""
        return int(self.tree.counters[SIZE])

    def close(self) -> None:
        """Stop the threads."""
        if self._shape is not None:
            self.driver.close()


def _alone() -> int:
    """Share the evaluator with nobody."""
    return 1


def _as_only_one(value: Any) -> Any:
    """Return a tuple of arrays and numbers with one more axis in front."""
    return type(value)(*(np.asarray(each)[None] for each in value))
