"""The search loop: collect a batch of leaves, evaluate it while the next is collected, back it up.

Owns the tree and its reuse from move to move. Knows of evaluators only their interface.
"""

import time
from collections.abc import Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

import numpy as np

from engine.board.area import new_scratch
from engine.evaluators.base import HISTORY, Evaluation, Evaluator, PositionBatch
from engine.game import Game, Move
from engine.search.kernels import Batch, Weights, back_up, collect, reopen, two_most_visited
from engine.search.params import SearchParams
from engine.search.position import MAX_DEPTH, Root, Scratch
from engine.search.root import add_noise, root_position, root_priors, set_root_priors
from engine.search.stoppers import SearchStats, Stopper
from engine.search.tree import (
    EXPANDED,
    NEW,
    NO_NODE,
    ROOT,
    SIZE,
    TERMINAL_PLAYOUTS,
    Tree,
    add_node,
    bytes_per_node,
    child_nodes,
    keep_subtree,
    new_tree,
)
from engine.symmetry import applicable

_MIN_NODES = 1024
_MEBIBYTE = 1 << 20
_NEVER_ENDING = -1_000_000
_IDLE_STEPS = 2
"""Steps in a row without any progress after which the tree is full or the visits are reached."""


class _Slot:
    """One batch in flight: its positions, its evaluation, and the future of the latter."""

    def __init__(self, capacity: int, game: Game) -> None:
        self.positions = PositionBatch(capacity, game.width, game.height)
        self.evaluation = Evaluation(capacity, game.width, game.height)
        self.rows = 0
        self.future: Future[None] | None = None
        shared = {name: getattr(self.positions, name) for name in Batch._fields if name != "leaf"}
        self.batch = Batch(**shared, leaf=np.zeros(capacity, dtype=np.int32))


class Search:
    """A tree over one evaluator. Not thread-safe; a stopper is the way to end `run` from outside."""

    def __init__(self, evaluator: Evaluator, params: SearchParams) -> None:
        self.params = params
        self._evaluator = evaluator
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="evaluate")
        self._generator = np.random.default_rng(params.seed)
        self._shape: tuple[int, int] | None = None
        self._game: Game | None = None
        self._batch_size = params.batch_size or evaluator.attributes.preferred_batch
        self._batch_size = min(self._batch_size, evaluator.attributes.max_batch)
        self._clean_priors: tuple[np.ndarray, np.ndarray] | None = None
        self._searches = 0
        self._best_two = np.zeros(2, dtype=np.int64)

    def begin(self, game: Game, color: int, legal: Collection[int], dead: Collection[int] = ()) -> None:
        """Take up a position: keep the subtree it has in the present tree, or start a new one.

        legal: the points that may be played at the root. dead: stones that count as dead when the
        game ends within the tree; used under territory rules.
        """
        if self._shape != (game.width, game.height):
            self._allocate(game)
        self.root: Root = root_position(game, color, legal, dead)
        if not self._reuse(game, color):
            self.tree.counters[:] = 0
            add_node(self.tree, NO_NODE, 0, color)
        self.tree.counters[TERMINAL_PLAYOUTS] = 0
        self._game, self._rules = game.copy(), game.rules
        self.ownership_sum[:] = 0
        self._clean_priors = None

    def play_on(self) -> None:
        """Let no number of passes end the game in this position's tree: for judging life and death."""
        self.root = self.root._replace(passes=_NEVER_ENDING, remembers_passes=False)

    def _allocate(self, game: Game) -> None:
        area, rave = game.width * game.height, self._has_rave()
        node_bytes = bytes_per_node(area, rave=rave) + np.dtype(np.int32).itemsize
        capacity = max(_MIN_NODES, self.params.max_memory_mib * _MEBIBYTE // node_bytes)
        self.tree: Tree = new_tree(capacity, area, rave=rave)
        self._renamed = np.empty(capacity, dtype=np.int32)
        self._slots = [_Slot(self._batch_size, game) for _ in range(2)]
        board = game.board
        n = board.shape[1]
        self._scratch = Scratch(
            board=board.copy(),
            path_vertex=np.zeros(MAX_DEPTH, dtype=np.int16),
            path_hash=np.zeros(MAX_DEPTH, dtype=np.uint64),
            path_ko=np.zeros(MAX_DEPTH, dtype=np.int16),
            path_key=np.zeros(MAX_DEPTH, dtype=np.uint64),
            path_colors=np.zeros((HISTORY, n), dtype=np.int8),
            occupied=np.zeros(n, dtype=np.bool_),
            area=new_scratch(board),
            owner=np.zeros(n, dtype=np.int8),
            life=np.zeros(n, dtype=np.int8),
            groups=np.zeros(3, dtype=np.int64),
            amaf=np.zeros(self._slots[0].evaluation.first_play.shape[1], dtype=np.int8),
        )
        self._order = np.empty(area + 1, dtype=np.int32)
        self.ownership_sum = np.zeros(area + 1, dtype=np.float64)
        self._shape, self._game = (game.width, game.height), None

    def _has_rave(self) -> bool:
        return self.params.rave_bias > 0 and self._evaluator.attributes.has_first_play

    def _reuse(self, game: Game, color: int) -> bool:
        """Move the root to the position of `game` if the tree holds it; return whether it does."""
        old = self._game
        if old is None or not _continues(old, game):
            return False
        node = ROOT
        for move in game.moves[len(old.moves) :]:
            node = self._child(node, move)
            if node == NO_NODE:
                return False
        if self.tree.stage[node] != EXPANDED or self.tree.to_play[node] != color:
            return False
        self._restore_priors()
        if node != ROOT:
            keep_subtree(self.tree, node, self._renamed)
        edges = self.tree.edge_vertex[ROOT, : self.tree.edges[ROOT]]
        return int(np.count_nonzero(self.root.legal)) == len(edges)

    def _child(self, node: int, move: Move) -> int:
        if self.tree.to_play[node] != move.color:
            return NO_NODE
        children = child_nodes(self.tree, node)
        return next((child for child in children if self.tree.vertex[child] == move.vertex), NO_NODE)

    def forget(self) -> None:
        """Drop the tree: the next position starts a new one."""
        self._game = None

    def restart(self) -> None:
        """Drop the tree and draw random numbers from the seed again."""
        self.forget()
        self._searches = 0
        self._generator = np.random.default_rng(self.params.seed)

    def run(self, stoppers: Sequence[Stopper], max_visits: int | None = None) -> SearchStats:
        """Search until a stopper says so, or no playout is possible; return the final figures.

        Stoppers are asked from the second visit on: a move always has an evaluation behind it.
        max_visits: never collect more leaves than the root lacks to this number.
        """
        self._searches += 1
        self._evaluated = 0
        start, visits_before, idle = time.monotonic(), self._visits(), 0
        weights = self._weights((self.params.seed * 1_000_003 + self._searches * 1_000_000_007) & 0x7FFFFFFF)
        noise_due = self.params.noise_fraction > 0
        try:
            if self.tree.stage[ROOT] == NEW:
                self._evaluate_root(weights)
            while idle < _IDLE_STEPS:
                stats = self._stats(start, visits_before)
                if stats.visits > 1 and any(stopper.should_stop(stats) for stopper in stoppers):
                    break
                if noise_due and self.tree.stage[ROOT] == EXPANDED:
                    self._mix_noise()
                    noise_due = False
                idle = 0 if self._step(weights, max_visits) else idle + 1
            self._finish(self._slots[1])
        except BaseException:
            self._abandon()
            raise
        return self._stats(start, visits_before)

    def _evaluate_root(self, weights: Weights) -> None:
        """Give a new root the mean of its evaluations under several symmetries, as one visit."""
        slot = self._slots[0]
        count = min(self.params.root_symmetries, len(applicable(slot.positions.width, slot.positions.height)))
        count = min(count, slot.positions.capacity)
        if count <= 1 or not self._evaluator.attributes.has_symmetries:
            return
        slot.rows = int(collect(self.tree, self.root, self._scratch, slot.batch, weights, 1, self._evaluated))
        self._evaluated += slot.rows
        slot.positions.rules = self._rules
        slot.positions.repeat_first(count)
        slot.positions.symmetry[:count] = np.arange(count)
        try:
            slot.future = self._worker.submit(self._evaluator.evaluate, slot.positions, count, slot.evaluation)
            wait([slot.future])
        finally:
            slot.positions.symmetry[:count] = 0
        slot.evaluation.average_into_first(count)
        self._finish(slot)

    def _step(self, weights: Weights, max_visits: int | None) -> bool:
        """Collect a batch and send it off, then back up the batch before; return whether anything came of it."""
        slot, in_flight = self._slots
        wanted = self._wanted(max_visits, in_flight)
        ended = int(self.tree.counters[TERMINAL_PLAYOUTS])
        slot.rows = 0
        if wanted:
            slot.rows = int(collect(self.tree, self.root, self._scratch, slot.batch, weights, wanted, self._evaluated))
        if slot.rows:
            self._evaluated += slot.rows
            slot.positions.rules = self._rules
            slot.future = self._worker.submit(self._evaluator.evaluate, slot.positions, slot.rows, slot.evaluation)
        was_in_flight = self._finish(in_flight)
        self._slots.reverse()
        return slot.rows > 0 or was_in_flight or int(self.tree.counters[TERMINAL_PLAYOUTS]) > ended

    def _wanted(self, max_visits: int | None, in_flight: _Slot) -> int:
        if max_visits is None:
            return self._batch_size
        waiting = in_flight.rows if in_flight.future is not None else 0
        return max(0, min(self._batch_size, max_visits - self._visits() - waiting))

    def _finish(self, slot: _Slot) -> bool:
        """Wait for a batch's evaluation, if one is under way, and back it up; return whether one was."""
        if slot.future is None:
            return False
        slot.future.result()
        slot.future = None
        out = slot.evaluation
        back_up(
            self.tree,
            slot.batch,
            slot.rows,
            out.policy,
            out.value,
            out.score,
            out.ownership,
            out.first_play,
            slot.positions.width,
            self._order,
            self._scratch.amaf,
            self.ownership_sum,
        )
        return True

    def _abandon(self) -> None:
        """Give up the batches in flight after a failure: their leaves are new again."""
        for slot in self._slots:
            if slot.future is not None:
                wait([slot.future])
                slot.future = None
                reopen(self.tree, slot.batch, slot.rows)

    def _weights(self, seed: int) -> Weights:
        p = self.params
        return Weights(p.c_puct, p.fpu_reduction, p.virtual_loss, p.rave_bias, p.rave_prior, seed)

    def _visits(self) -> int:
        return int(self.tree.visits[ROOT])

    def _stats(self, start: float, visits_before: int) -> SearchStats:
        two_most_visited(self.tree, self._best_two)
        total = self._visits()
        return SearchStats(
            visits=total,
            playouts=total - visits_before,
            elapsed=time.monotonic() - start,
            best_visits=int(self._best_two[0]),
            second_visits=int(self._best_two[1]),
        )

    def _mix_noise(self) -> None:
        """Mix noise into the root's own priors, never into priors that already hold noise."""
        self._restore_priors()
        count = int(self.tree.edges[ROOT])
        self._clean_priors = (self.tree.edge_vertex[ROOT, :count].copy(), root_priors(self.tree))
        add_noise(self.tree, self.params, self._generator)

    def _restore_priors(self) -> None:
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
        """Stop the evaluation thread."""
        self._worker.shutdown()


def _continues(old: Game, new: Game) -> bool:
    """True if `new` is `old` with zero or more moves added and nothing else changed."""
    return (
        (old.width, old.height, old.komi, old.rules) == (new.width, new.height, new.komi, new.rules)
        and (old.setup_black, old.setup_white) == (new.setup_black, new.setup_white)
        and new.moves[: len(old.moves)] == old.moves
    )
