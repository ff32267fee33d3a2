"""A search with one evaluator: one tree, reused from move to move, with bounded memory.

`engine.search.driver` runs the workers; this module prepares positions and parameters.
"""

import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.color import BLACK
from engine.encoders.human import human_metadata
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator
from engine.game import Game
from engine.search.driver import PATIENT_SECONDS, POLL_SECONDS, Driver, worker_count
from engine.search.expansion import temper, write_human_priors
from engine.search.human import WithHumanPolicy
from engine.search.kernel_params import NO_LIMIT, SCORE_TABLE, Params, new_records, score_center, write_params
from engine.search.memory import Memory, write_memory
from engine.search.mirror import Mirror, find_mirror, write_mirror
from engine.search.params import SearchParams
from engine.search.position import Root, new_scratch
from engine.search.pruning import prune
from engine.search.refresh import recompute_root, recompute_tree, tolerance_of
from engine.search.reuse import continues, may_keep, node_after
from engine.search.root import (
    as_only_one,
    drop_root_moves,
    mirrored_moves,
    root_position,
    root_priors,
    root_temperature,
    set_root_priors,
    shaped_priors,
    shapes_priors,
    stored_root,
    with_shapes,
    without_past,
)
from engine.search.root_evaluation import evaluate_root, root_symmetries, turn_first_row
from engine.search.statistics import Statistics
from engine.search.stoppers import SearchStats, Stopper, waits
from engine.search.throughput import LARGEST_BATCH, Load, load_of_visits
from engine.search.tree import (
    EXPANDED,
    NEW,
    NO_NODE,
    ROOT,
    SHARED_PLAYOUTS,
    SIZE,
    TERMINAL_PLAYOUTS,
    WEIGHTLESS_PLAYOUTS,
    Tree,
    bytes_per_node,
    clear,
    new_tree,
    visits_made,
)
from engine.search.walk import plant, write_root
from engine.search.worker import Worker
from engine.symmetry import applicable

_MIN_NODES = 1024
_MEBIBYTE = 1 << 20
_NEVER_ENDING = -1_000_000
_NATIVE_PLAYOUTS = 4
"""Playouts of a worker's batch without Python: with two workers 6 % more visits/s on 9x9 than one, 2 % on 19x19."""
_DOUBT = 3.0
"""Points by which a score must differ from the evaluator's expectation to be doubted: in settled positions the score is
exact, and the evaluator is not."""

Watch = Callable[[SearchStats], None]


class Search:
    """A search tree with one evaluator. Not thread-safe; use a stopper to end `run` from another thread.

    params: may be replaced between searches. sharing: called repeatedly; returns the number of searches that share the
    evaluator. mirrored: root moves that are not searched because they mirror another move, each with that move.
    root_evaluation: row 0 is the evaluation of the last new root; human_evaluation: that of the present root by
    `human`, None without it, or if it needs a profile and the parameters have none. driver, workers: those of the
    present board size. memory: see `SearchParams.remembers`. doubts_counts: under territory rules, use the evaluator's
    expectation instead of a score in the tree that differs much from it. For analyses, in which dead stones that were
    not captured must not count as alive; a move to play is chosen by scores.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        params: SearchParams,
        sharing: Callable[[], int] | None = None,
        human: Evaluator | None = None,
    ) -> None:
        self.params = params
        self.root_evaluation: Evaluation | None = None
        self.human_evaluation: Evaluation | None = None
        self._human = human
        self._sharing = sharing or _alone
        self._main = self._evaluator = evaluator
        self._seed = params.seed or int(np.random.SeedSequence().generate_state(1)[0])
        self._generator = np.random.default_rng(self._seed)
        self._shape: tuple[int, int] | None = None
        self.driver: Driver
        self.ownership_sum: NDArray[np.float64]
        self._allocated: tuple[int, bool, bool]
        self._game: Game | None = None
        self._clean_priors: tuple[NDArray[np.int16], NDArray[np.float64]] | None = None
        self._searches, self._is_repeatable = 0, False
        self.mirrored: dict[int, int] = {}
        self.doubts_counts = self._has_doubted = self._ignored_past = self._passes_on = self._has_dropped = False
        self._doubling, self._mirror, self.memory, self._center = 0.0, Mirror(), Memory(), 0.0
        self._stored: Any = None
        self._written: tuple[SearchParams, Mirror] | None = None

    def begin(
        self,
        game: Game,
        color: int,
        legal: Collection[int],
        dead: Collection[int] = (),
        *,
        region: Collection[int] | None = None,
        avoid: NDArray[np.int16] | None = None,
        side: int | None = None,
    ) -> None:
        """Set the position to search: reuse its subtree of the present tree, or start a new tree.

        legal: points to search at the root. dead: stones that count as dead when the game ends in the tree. region:
        points that may be played anywhere in the tree, None for all. avoid: [3, n] int16, by color and vertex the depth
        below which a move must not be played; the root has depth 0. side: whose next move the tree serves, by default
        that of `color`.
        """
        evaluator, side = self._evaluator_of_tree(), side or color
        is_same = self._shape == (game.width, game.height) and evaluator is self._evaluator
        if not is_same or self._allocated != self._arrays():
            self._evaluator = evaluator
            self._allocate(game)
        # The scores of finished games in the tree depend on it.
        if self._has_doubted != self.doubts_counts and not game.rules.is_area:
            self.forget()
        self._has_doubted = self.doubts_counts
        self._passes_on = self.params.conservative_pass and game.pass_ends_phase(color)
        doubling = self.params.doubling_of(color, BLACK)
        turned = self._game is not None and self._differs_by_side(color, side)
        mirror = find_mirror(game, color) if self.params.anti_mirror else Mirror()
        if self._passes_on or turned or doubling != self._doubling or mirror.color != self._mirror.color:
            self.forget()
        self._doubling, self._mirror = doubling, mirror
        # Evaluations that were given up may still write into the workers' batches.
        self.driver.wait()
        self._restore_priors()
        prunes = self.params.prunes_symmetric_moves and avoid is None
        self.mirrored = mirrored_moves(game, color, legal) if prunes else {}
        searched = [vertex for vertex in legal if vertex not in self.mirrored]
        self._drop_evaluations_of_the_past(game)
        before = self.root if self._game is not None else None
        self.root: Root = root_position(game, color, searched, dead, region, avoid)
        if self.params.ignores_past:
            self.root = without_past(self.root)
        if self.params.repeated_shape_penalty != 0.0:
            self.root = with_shapes(self.root, game, side, self.params.repeated_shape_penalty)
        self.human_evaluation, self._has_dropped = None, False
        if before is None or not may_keep(before, self.root, game, color) or not self._reuse(game, color):
            clear(self.tree)
            plant(self.tree, self.root)
        elif self.tree.nodes[ROOT]["stage"] == EXPANDED:
            self._has_dropped = drop_root_moves(self.tree, self.root.avoid[color])
        self.tree.counters[[TERMINAL_PLAYOUTS, SHARED_PLAYOUTS, WEIGHTLESS_PLAYOUTS]] = 0
        self._game, self._rules, self._is_whole = game.copy(), game.rules, avoid is None and region is None
        self.ownership_sum[:] = 0

    def _human_in_use(self) -> Evaluator | None:
        """Return the human network's evaluator if it can be used."""
        human = self._human
        return None if human is None or (human.attributes.needs_profile and not self.params.human_profile) else human

    def _evaluator_of_tree(self) -> Evaluator:
        """Return the evaluator of the tree's positions, with a human policy if moves in the tree are chosen by it."""
        human = self._human_in_use()
        if human is None or not self.params.explores_as_human_in_tree:
            return self._main
        return self._evaluator if self._evaluator is not self._main else WithHumanPolicy(self._main, human)

    def _differs_by_side(self, color: int, side: int) -> bool:
        """Return whether the tree serves another side to move or, by its shapes, another `side` of `begin`."""
        explores = self._human_in_use() is not None and self.params.explores_as_human and color != self.root.color
        return explores or (self.params.repeated_shape_penalty != 0.0 and side != self.root.shape_color)

    def _drop_evaluations_of_the_past(self, game: Game) -> None:
        """Forget the tree if its evaluations know moves before this root that must be ignored, or ignored others."""
        is_same = self._game is not None and self._game.move_number == game.move_number
        if self._ignored_past != self.params.ignores_past or (self._ignored_past and not is_same):
            self.forget()
        self._ignored_past = self.params.ignores_past

    def play_on(self) -> None:
        """Let no number of passes end the game in this position's tree, for judging life and death."""
        self.root = self.root._replace(passes=_NEVER_ENDING, remembers_passes=False, may_settle=False)

    def _allocate(self, game: Game) -> None:
        if self._shape is not None:
            self.driver.wait()
            self.driver.close()
        game_size = (game.width, game.height)
        area, rave, human = game.width * game.height, self._arrays()[-1], self._human is not None
        attributes = self._evaluator.attributes
        has_ownership, has_details = attributes.has_ownership, attributes.has_details
        node_bytes = bytes_per_node(area, rave=rave, ownership=has_ownership, human=human)
        capacity = max(_MIN_NODES, self.params.max_memory_mib * _MEBIBYTE // node_bytes)
        tree = new_tree(capacity, area, rave=rave, ownership=has_ownership, human=human)
        self.tree: Tree = self.memory.used_by(tree, self.params)
        capacity = min(attributes.max_batch, max(LARGEST_BATCH, self.params.batch_size, len(applicable(*game_size))))
        self.workers = [
            Worker(capacity, game, has_details=has_details, number=number, has_human=self._evaluator is not self._main)
            for number in range(worker_count(self._evaluator))
        ]
        # One for each worker: a common one moves between the cores' caches, and selection and backup of a visit without
        # a network took 0.8 us more (9x9, two threads).
        vertices = self.workers[0].evaluation.first_play.shape[1]
        scratches = [new_scratch(game.board, vertices) for _ in self.workers]
        self._scratch = scratches[0]
        scratches = [each._replace(ownership_sum=self._scratch.ownership_sum) for each in scratches]
        self._records = new_records(1)
        self.driver = Driver(self._evaluator, as_only_one(self.tree), scratches, self._records, self.workers)
        self.ownership_sum = self._scratch.ownership_sum
        self._shape, self._allocated = game_size, self._arrays()
        self._game = self._clean_priors = self._stored = self._written = None

    def _arrays(self) -> tuple[int, bool, bool]:
        has_rave = self.params.rave_bias > 0 and self._evaluator.attributes.has_first_play
        return self.params.max_memory_mib, self.params.remembers, has_rave

    def _reuse(self, game: Game, color: int) -> bool:
        """Make the node of the position of `game` the root, if the tree has it; return whether it has."""
        old = self._game
        if old is None or not continues(old, game):
            return False
        node = node_after(self.tree, game.moves[len(old.moves) :], color)
        if node == NO_NODE:
            return False
        if node != ROOT:
            prune(self.tree, node, freed_share=self.params.subtree_value_bias_free_share)
        return int(np.count_nonzero(self.root.legal)) == int(self.tree.nodes[ROOT]["edges"])

    def forget(self) -> None:
        """Drop the tree; the next `begin` starts a new one."""
        self._game = None

    def restart(self) -> None:
        """Drop the tree and restart the random numbers from `params.seed`, or from 1 if that is 0."""
        self.forget()
        self._searches = 0
        self._seed, self._is_repeatable = self.params.seed or 1, self.params.seed == 0
        self._generator = np.random.default_rng(self._seed)

    def run(
        self, stoppers: Sequence[Stopper], max_visits: int | None = None, watch: Watch | None = None
    ) -> SearchStats:
        """Search until a stopper ends the search or no playout is possible; return the final statistics.

        Stoppers are asked after the first visit, so that a move always has an evaluation. A stop does not wait for
        evaluations in flight. With a seed, a search that `max_visits` ends gives the same result every time.
        max_visits: number of root visits, those in flight included, that the search does not exceed.
        watch: called repeatedly with the statistics, and at the end; may read the tree, which is locked meanwhile.
        """
        self._searches += 1
        self._start, self._visits_before = time.monotonic(), self._visits()
        self._statistics = Statistics()
        if self.params.max_playouts > 0:
            max_visits = min(NO_LIMIT if max_visits is None else max_visits, self._visits() + self.params.max_playouts)
        self._records["visits"] = NO_LIMIT if max_visits is None else min(max_visits, NO_LIMIT)
        self._records["evaluated"] = 0
        is_in_turn = (self.params.seed != 0 or self._is_repeatable) and max_visits is not None
        # The all-moves-as-first value of a move outweighs its virtual loss, so that walks in flight meet often.
        self._records["skips_pending"] = self._evaluator.attributes.has_first_play and not is_in_turn

        def is_over() -> bool:
            stats = self._stats()
            if watch is not None:
                watch(stats)
            return stats.visits > 0 and any(stopper.should_stop(stats) for stopper in stoppers)

        try:
            self.driver.wait()
            if self.tree.nodes[ROOT]["stage"] == NEW:
                self._evaluate_root()
            if self.human_evaluation is None:
                self._evaluate_as_human()
            self._prepare()
            if not is_over():
                for worker in self.workers:
                    self._write_common(worker)
                load = self._load_of(max_visits, is_in_turn=is_in_turn)
                # Each look takes the lock of the tree and Python's, for which short searches side by side would wait.
                is_patient = watch is None and max_visits is not None and all(map(waits, stoppers))
                poll = PATIENT_SECONDS if is_patient else POLL_SECONDS
                self._stored = stored_root(self.root, self._stored)
                if not self.driver.run(self._stored, load, is_over, is_in_turn=is_in_turn, poll_seconds=poll):
                    is_over()  # so that `watch` also gets the final statistics
        finally:
            self.driver.stop()
        self.memory.take(self.tree, self.params, keeps_root=self._is_whole)
        return self._stats()

    def _load_of(self, max_visits: int | None, *, is_in_turn: bool) -> Callable[[], Load]:
        """Return a function that chooses workers and rows: fixed for a repeatable search, else by measured speed."""
        driver, workers, attributes = self.driver, len(self.workers), self._evaluator.attributes
        # Without measurements, so that a search with a seed is the same every time.
        is_fixed = max_visits is not None or self.params.batch_size > 0 or attributes.has_first_play
        fixed = load_of_visits(attributes, self.params, max_visits or 1) if is_fixed else None
        if attributes.has_first_play and not is_in_turn and self.params.batch_size == 0:
            # Without Python, the playouts of a batch share a turn at the lock and a backup of the upper nodes.
            fixed = Load(workers, _NATIVE_PLAYOUTS if driver.is_native else attributes.preferred_batch)

        def load() -> Load:
            found = fixed or driver.throughput.load(self._visits())
            if fixed is None and driver.is_native:
                # Each worker has a core, which would be idle without it.
                found = Load(workers, found.batch)
            sharing = 1 if is_in_turn else self._sharing()
            if sharing == 1:
                return found
            if driver.is_native:
                return Load(max(1, found.calls // sharing), found.batch)
            # One call is enough: other searches keep the evaluator busy while this one waits for it.
            share = attributes.concurrent * attributes.preferred_batch // sharing
            return Load(1, max(1, min(found.calls * found.batch, share)))

        return load

    def _write_common(self, worker: Worker) -> None:
        """Write the values that all positions of a worker's batch share."""
        positions, params = worker.positions, self.params
        positions.rules = self._rules
        positions.playout_doubling = self._doubling
        size = positions.width, positions.height
        positions.metadata = human_metadata(params.human_profile, *size) if params.human_profile else None

    def _evaluate_root(self) -> None:
        """Evaluate a new root under several random symmetries; their mean counts as one visit."""
        self._write_params(0.0)
        worker, params = self.workers[0], Params(self._records[0], SCORE_TABLE)
        self._write_common(worker)
        turned = root_symmetries(self.params, self._evaluator.attributes, worker.positions, self._generator)
        tree, root, scratch = self.tree, self.root, self._scratch
        evaluate = self.driver.evaluate_first
        evaluate_root(evaluate, tree, root, scratch, worker, params, turned, hides_past=self._passes_on)
        # Only now: the backup applies the temperature to the policy.
        self.root_evaluation = worker.evaluation.first_row(worker.positions.width, worker.positions.height)

    def _evaluate_as_human(self) -> None:
        """Evaluate the root by the human network, if it can be used, and store its priors."""
        human, worker = self._human_in_use(), self.workers[0]
        if human is None:
            return
        positions = worker.positions
        self._write_params(float(self.tree.nodes[ROOT]["score"]))
        self._write_common(worker)
        write_root(self.root, self._scratch, worker.arrays.batch, self._records[0])
        turned = root_symmetries(self.params, human.attributes, positions, self._generator)
        turn_first_row(positions, turned)
        out = Evaluation(len(turned), positions.width, positions.height)
        human.evaluate(positions, len(turned), out)
        out.average_into_first(len(turned))
        temperature = self.params.policy_temperature * self.params.human_root_temperature
        if temperature != 1.0:
            temper(out.policy[0], temperature)
        self.human_evaluation = out.first_row(positions.width, positions.height)
        write_human_priors(self.tree, ROOT, self.human_evaluation.policy[0], positions.width)

    def _prepare(self) -> None:
        """Center the score utility at the root's expected score, and apply temperature and noise to its priors."""
        root, params = self.tree.nodes[ROOT], self.params
        self._write_params(float(root["score"]))
        self._refresh()
        temperature = root_temperature(params, self.root.number, self.tree.edge_vertex.shape[1] - 1)
        if root["stage"] == EXPANDED and shapes_priors(params, temperature):
            self._restore_priors()
            count, priors = int(root["edges"]), root_priors(self.tree)
            self._clean_priors = (self.tree.edge_vertex[ROOT, :count].copy(), priors)
            set_root_priors(self.tree, shaped_priors(priors, params, temperature, self._generator))

    def _refresh(self) -> None:
        """Recompute what dropped moves and the new center of the score utility change in a kept tree."""
        params, work, size = Params(self._records[0], SCORE_TABLE), self._scratch.work, self.size()
        if self._has_dropped:
            recompute_root(self.tree, params, work)
            self._write_params(float(self.tree.nodes[ROOT]["score"]))
            self._has_dropped = False
        center = float(self._records[0]["score_center"])
        if size == 1 or abs(center - self._center) > tolerance_of(size):
            recompute_tree(self.tree, params, work)
            self._center = center

    def _write_params(self, expected_score: float) -> None:
        """Write the parameters for the kernels. expected_score: the root's, Black-positive."""
        area, attributes, record = self.tree.edge_vertex.shape[1] - 1, self._evaluator.attributes, self._records[0]
        if self._written is None or self._written[0] is not self.params or self._written[1] != self._mirror:
            write_params(record, self.params, area, has_details=attributes.has_details)
            write_mirror(record, self._mirror)
            self._written = self.params, self._mirror
        record["score_center"] = score_center(expected_score, float(record["root_of_area"]), self.params)
        values = self._rules, self.root, self._doubling
        write_memory(record, self.params, self.memory.network, *values, doubts=self._has_doubted)
        # Each search of a game needs other random numbers, and the same ones in every run with this seed.
        record["seed"] = (self._seed * 1_000_003 + self._searches * 1_000_000_007) & 0x7FFFFFFF
        record["generator"] = 2 * record["seed"] + 1
        record["skips_past"] = self._human is None and not attributes.reads_past
        turns = self.params.random_symmetries and attributes.has_symmetries
        assert self._shape is not None
        record["symmetries"], record["symmetry_seed"] = len(applicable(*self._shape)) if turns else 1, self._seed
        knows_dead = attributes.has_score and not attributes.has_first_play
        record["doubt"] = _DOUBT if self.doubts_counts and knows_dead and not self.root.is_area else 0.0

    def _visits(self) -> int:
        return int(visits_made(self.tree))

    def _stats(self) -> SearchStats:
        return self._statistics.of(self.tree, self._visits_before, time.monotonic() - self._start)

    def _restore_priors(self) -> None:
        """Restore the root's priors without noise and temperature."""
        if self._clean_priors is None:
            return
        by_vertex = dict(zip(self._clean_priors[0].tolist(), self._clean_priors[1].tolist(), strict=True))
        vertices = self.tree.edge_vertex[ROOT, : len(by_vertex)].tolist()
        set_root_priors(self.tree, np.array([by_vertex[vertex] for vertex in vertices]))
        self._clean_priors = None

    @property
    def generator(self) -> np.random.Generator:
        """The random generator of this search, for choices at the root."""
        return self._generator

    def size(self) -> int:
        """Return the number of nodes in use."""
        return int(self.tree.counters[SIZE])

    def close(self) -> None:
        """Stop the threads."""
        if self._shape is not None:
            self.driver.close()


def _alone() -> int:
    """Return 1: the search does not share its evaluator."""
    return 1
