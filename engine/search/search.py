"""The search loop: collect batches of leaves while others are evaluated, back them up.

Owns the tree, its reuse from move to move and its bounded memory. Knows of evaluators only their interface.
"""

import time
from collections.abc import Callable, Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.color import BLACK
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator, native
from engine.game import Game
from engine.search.backup import back_up, reopen
from engine.search.expansion import new_sorting
from engine.search.figures import Figures
from engine.search.in_flight import InFlight
from engine.search.numbers import exploration_of, values_of
from engine.search.params import SearchParams
from engine.search.position import MAX_DEPTH, Root, new_scratch
from engine.search.pruning import make_room, prune
from engine.search.pump import IDLE_STEPS, Pump
from engine.search.reuse import continues, node_after, same_bounds, same_dead
from engine.search.root import (
    drop_root_moves,
    mirrored_moves,
    root_position,
    root_priors,
    set_root_priors,
    shaped_priors,
)
from engine.search.slot import Slot
from engine.search.stoppers import SearchStats, Stopper
from engine.search.throughput import Load, Pace, Throughput, repeatable_load
from engine.search.tree import (
    EXPANDED,
    IS_FULL,
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
    playouts_without_evaluation,
)
from engine.search.walk import Conduct, collect, plant
from engine.symmetry import applicable

_MIN_NODES = 1024
_MEBIBYTE = 1 << 20
_NEVER_ENDING = -1_000_000
_PATIENCE = 0.01
"""Seconds that the loop waits for an evaluation before it asks the stoppers again."""
_LARGEST_BATCH = 64
_DOUBT = 3.0
"""Points: smaller differences are left to the count, which is exact where all is settled."""

Watch = Callable[[SearchStats], None]


class Search:
    """A tree over one evaluator. Not thread-safe; a stopper is the way to end `run` from outside.

    params may be replaced between searches. share: asked before each batch how many positions this search may have
    evaluated at a time, None if it has the evaluator for itself. mirrored: root moves that are not
    searched because they mirror another one, each with that one. root_evaluation: row 0 is what the evaluator said
    of the last root that was new. pump: what searches where time alone ends a search and the evaluator has programs.
    doubts_counts: whether by territory rules the evaluator is believed rather than a
    count within the tree that differs much from it: for an analysis, in which stones that nobody bothered to capture
    must not count as alive. A move that is to be played is found by counts.
    """

    def __init__(
        self, evaluator: Evaluator, params: SearchParams, share: Callable[[], int | None] | None = None
    ) -> None:
        self.params = params
        self.root_evaluation: Evaluation | None = None
        self._share = share or _everything
        self._evaluator = evaluator
        self._in_flight, self._native = InFlight(evaluator), native(evaluator)
        self.pump: Pump | None = None
        self._seed = params.seed or int(np.random.SeedSequence().generate_state(1)[0])
        self._generator = np.random.default_rng(self._seed)
        self._shape: tuple[int, int] | None = None
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
        self._settle()
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
        self._settle()
        game_size = (game.width, game.height)
        area, rave = game.width * game.height, self._has_rave()
        attributes = self._evaluator.attributes
        has_ownership, has_details = attributes.has_ownership, attributes.has_details
        node_bytes = bytes_per_node(area, rave=rave, ownership=has_ownership)
        capacity = max(_MIN_NODES, self.params.max_memory_mib * _MEBIBYTE // node_bytes)
        self.tree: Tree = new_tree(capacity, area, rave=rave, ownership=has_ownership)
        self._throughput = Throughput(attributes, most=_LARGEST_BATCH)
        capacity = min(attributes.max_batch, max(_LARGEST_BATCH, self.params.batch_size, len(applicable(*game_size))))
        slots = attributes.concurrent + 1
        self._slots = [Slot(capacity, game, has_details=has_details) for _ in range(slots)]
        if self._native is not None:
            if self.pump is not None:
                self.pump.close()
            self.pump = Pump(self._native, self._slots)
        self._scratch = new_scratch(game.board, self._slots[0].evaluation.first_play.shape[1])
        self._sorting = new_sorting(area + 1)
        self._moves = np.empty(MAX_DEPTH, dtype=np.int16)
        self.ownership_sum = np.zeros(area + 1, dtype=np.float64)
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
        self._seed = self.params.seed or 1
        self._generator = np.random.default_rng(self._seed)

    def run(
        self, stoppers: Sequence[Stopper], max_visits: int | None = None, watch: Watch | None = None
    ) -> SearchStats:
        """Search until a stopper says so, or no playout is possible; return the final figures.

        Stoppers are asked from the first visit on: a move always has an evaluation behind it. A stop does not
        wait for evaluations that are under way.
        max_visits: never collect more leaves than the root lacks to this number.
        watch: called with the figures now and then, in this thread; may read the tree, which nobody changes meanwhile.
        """
        self._searches += 1
        self._start, self._visits_before = time.monotonic(), self._visits()
        self._figures = Figures()
        self._pace = Pace(self._throughput)
        self._evaluated = 0
        attributes, batch = self._evaluator.attributes, self.params.batch_size
        self._fixed_load = repeatable_load(attributes, batch, max_visits, most=_LARGEST_BATCH)
        try:
            self._settle()
            if self.tree.nodes[ROOT]["stage"] == NEW:
                self._evaluate_root()
            self._prepare()
            if max_visits is not None or not self._pump_along(stoppers, watch):
                self._loop(stoppers, max_visits, watch)
        finally:
            self._abandon()
        return self._stats()

    def _loop(self, stoppers: Sequence[Stopper], max_visits: int | None, watch: Watch | None) -> None:
        idle = 0
        while idle < IDLE_STEPS:
            stats = self._stats()
            if watch is not None:
                watch(stats)
            if _is_over(stoppers, stats):
                return
            if self.tree.counters[IS_FULL] and not self._in_flight:
                make_room(self.tree)
            progressed = self._fill(max_visits)
            if self._in_flight:
                if not self._await(stoppers):
                    return
                self._back_up(self._in_flight.receive())
                progressed = True
            idle = 0 if progressed else idle + 1

    def _pump_along(self, stoppers: Sequence[Stopper], watch: Watch | None) -> bool:
        """Search without Python until it is over; return False if there is no way, or the evaluator is shared."""
        pump, params = self.pump, self.params
        if pump is None or self._share() is not None:
            return False
        for slot in self._slots:
            self._set_up(slot, slot.positions.capacity, params.policy_optimism)
        numbers = self._exploration, self._values, self._conduct
        backing = self._sorting, self._moves, self.ownership_sum
        seed = self._seed if params.random_symmetries and self._evaluator.attributes.has_symmetries else None
        if not pump.prepare(self.tree, self.root, self._scratch, *numbers, backing, seed=seed, batch=params.batch_size):
            return False

        def is_over() -> bool:
            stats = self._stats()
            if watch is not None:
                watch(stats)
            return _is_over(stoppers, stats) or self._share() is not None

        pump.run(is_over)
        self._abandon()
        return self._share() is None

    def _fill(self, max_visits: int | None) -> bool:
        """Collect batches for the free slots and send them off; return whether anything came of it."""
        counters, before = self.tree.counters, playouts_without_evaluation(self.tree.counters)
        load = self._load()
        found = 0
        while len(self._in_flight) < load.calls and not counters[IS_FULL]:
            wanted = load.batch
            if max_visits is not None:
                wanted = min(wanted, max_visits - self._visits() - self._in_flight.rows)
            if wanted <= 0:
                break
            slot = next(each for each in self._slots if each not in self._in_flight)
            rows = self._collect(slot, wanted)
            if rows:
                self._send(slot, rows)
                found += rows
            if rows < wanted:
                break
        return found > 0 or playouts_without_evaluation(self.tree.counters) > before

    def _load(self) -> Load:
        """Return the load of the next batch."""
        load = self._fixed_load or self._throughput.load(self._visits())
        most = self._share()
        # Other searches fill the evaluator while this one waits for its only call.
        return load if most is None else Load(1, max(1, min(load.calls * load.batch, most)))

    def _collect(self, slot: Slot, wanted: int) -> int:
        slot.finish()
        numbers = self._exploration, self._values, self._conduct
        slot.rows = int(collect(self.tree, self.root, self._scratch, slot.batch, *numbers, self._evaluated, wanted))
        self._evaluated += slot.rows
        return slot.rows

    def _send(self, slot: Slot, rows: int) -> None:
        """Start the evaluation of a slot's rows."""
        slot.positions.symmetry[:rows] = 0
        if self.params.random_symmetries and self._evaluator.attributes.has_symmetries:
            slot.draw_symmetries(rows, self._seed)
        self._ask(slot, rows, self.params.policy_optimism)
        slot.company = len(self._in_flight)

    def _ask(self, slot: Slot, count: int, optimism: float) -> None:
        """Have rows 0..count-1 of a slot evaluated, whose positions and symmetries are written."""
        self._set_up(slot, count, optimism)
        # A search that shares its evaluator has nothing to do meanwhile.
        self._in_flight.send(slot, count, waits=self._share() is not None)

    def _set_up(self, slot: Slot, count: int, optimism: float) -> None:
        """Write what rows 0..count-1 of a slot have in common."""
        positions, advantage = slot.positions, self.params.playout_doubling_advantage
        positions.rules = self._rules
        positions.playout_doubling = advantage if self.root.color == BLACK else -advantage
        positions.optimism[:count] = optimism

    def _await(self, stoppers: Sequence[Stopper]) -> bool:
        """Wait for the oldest evaluation; return False if the search is to end before."""
        while not self._in_flight.wait(_PATIENCE):
            if _is_over(stoppers, self._stats()):
                return False
        return True

    def _evaluate_root(self) -> None:
        """Give a new root the mean of its evaluations under several random symmetries, as one visit."""
        slot = self._slots[0]
        self._set_numbers(0.0)
        self._collect(slot, 1)
        symmetries = self._root_symmetries(slot)
        count = len(symmetries)
        slot.positions.repeat_first(count)
        slot.positions.symmetry[:count] = symmetries
        self._ask(slot, count, self.params.root_policy_optimism)
        slot.company = 0
        self._in_flight.receive()
        slot.evaluation.average_into_first(count)
        self.root_evaluation = slot.evaluation.first_row(slot.positions.width, slot.positions.height)
        self._back_up(slot)

    def _root_symmetries(self, slot: Slot) -> list[int]:
        """Return the symmetries to see the root under."""
        every = len(applicable(slot.positions.width, slot.positions.height))
        count = min(self.params.root_symmetries, every, slot.positions.capacity)
        if not self._evaluator.attributes.has_symmetries or (count == 1 and not self.params.random_symmetries):
            return [0]
        return [int(each) for each in self._generator.permutation(every)[:count]]

    def _prepare(self) -> None:
        """Set the numbers of this search, and the root's priors."""
        root = self.tree.nodes[ROOT]
        self._set_numbers(float(root["score"]))
        params = self.params
        if root["stage"] == EXPANDED and (params.noise_fraction > 0 or params.root_policy_temperature != 1.0):
            self._restore_priors()
            count, priors = int(root["edges"]), root_priors(self.tree)
            self._clean_priors = (self.tree.edge_vertex[ROOT, :count].copy(), priors)
            set_root_priors(self.tree, shaped_priors(priors, params, self._generator))

    def _set_numbers(self, expected_score: float) -> None:
        """Take over the parameters, for a root of this expected score, Black-positive."""
        area, has_details = self.tree.edge_vertex.shape[1] - 1, self._evaluator.attributes.has_details
        self._exploration = exploration_of(self.params)
        self._values = values_of(self.params, area, expected_score, has_details=has_details)
        seed = (self._seed * 1_000_003 + self._searches * 1_000_000_007) & 0x7FFFFFFF
        self._scratch.generator[0] = 2 * seed + 1
        weight = self.params.uncertainty_max_weight if self._values.uncertainty_coefficient > 0 else 1.0
        attributes = self._evaluator.attributes
        knows_dead = attributes.has_score and not attributes.has_first_play
        doubt = _DOUBT if self.doubts_counts and knows_dead and not self.root.is_area else 0.0
        self._conduct = Conduct(self.params.shares_nodes, weight, seed, doubt)

    def _back_up(self, slot: Slot) -> None:
        """Bring the evaluations of a slot, which are there, into the tree."""
        self._pace.count(Load(slot.company, slot.rows))
        back_up(
            self.tree,
            slot.batch,
            slot.answers,
            self._values,
            slot.positions.width,
            self._sorting,
            self._scratch.work,
            self._scratch.amaf,
            self._moves,
            self.ownership_sum,
            slot.rows,
        )

    def _abandon(self) -> None:
        """Give up the batches in flight: their leaves are new again, their slots busy until the evaluator is done."""
        for slot in (*self._in_flight.give_up(), *(self.pump.stop() if self.pump is not None else ())):
            reopen(self.tree, slot.batch, slot.rows)

    def _settle(self) -> None:
        """Wait until no evaluation that was given up is under way."""
        for slot in self._slots if self._shape is not None else ():
            slot.finish()

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
        """Stop the evaluation threads."""
        self._in_flight.close()
        if self.pump is not None:
            self.pump.close()


def _everything() -> None:
    """Share the evaluator with nobody."""


def _is_over(stoppers: Sequence[Stopper], stats: SearchStats) -> bool:
    return stats.visits > 0 and any(stopper.should_stop(stats) for stopper in stoppers)
