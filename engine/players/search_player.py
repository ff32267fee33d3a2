"""The searching player: assigns time to searches and judgements, and turns their results into decisions."""

import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numpy as np

from engine.color import BLACK, WHITE, for_color, opponent
from engine.evaluation.evaluator import Evaluator
from engine.evaluators.cache import CachedEvaluator
from engine.evaluators.raw import RawNetwork
from engine.game import Game
from engine.players.advantage import DynamicAdvantage
from engine.players.base import AnalysisRequest, Avoided, Decision, Limits, Watch, all_but
from engine.players.effort import fewer_playouts, fitted
from engine.players.judge import Judge, Judgement, counts_as_it_stands, dead_chains, enclosed_chains, seki_chains
from engine.players.moves import chains, safe_vertices
from engine.players.passing import (
    agreed_dead,
    agreed_score,
    dead_matter,
    gains,
    gains_anything,
    is_late,
    is_settled,
    nothing_is_left,
    wins_as_it_stands,
)
from engine.players.resignation import Resigner
from engine.players.sharing import RunningSearches
from engine.players.timer import Timer
from engine.players.weaker_play import draw_vertex, params_as_people, params_at_level, resigning_at_level
from engine.rules import CHINESE_KGS
from engine.scoring import final_score
from engine.search.analysis import Wanted, snapshot
from engine.search.avoided import avoid_table
from engine.search.move_choice import choose_vertex, draws, temperature_at
from engine.search.params import SearchParams
from engine.search.pruning import make_room
from engine.search.search import Search
from engine.search.stoppers import (
    EventStopper,
    PlannedStopper,
    SearchStats,
    SettledStopper,
    Stopper,
    TimeStopper,
    VisitStopper,
)
from engine.search.tree import NO_NODE, ROOT, Tree, links_of
from engine.search.tree_ownership import tree_ownership
from engine.settings.levels import Level, people_of
from engine.vertex import PASS, points

# A judgement is started only if the search has seen every point decided to this share of the judge's threshold.
_SEEMS_SHARE = 0.9
# Visits that this needs: each visit is one evaluation of a network, or a single playout.
_OWNERSHIP_VISITS = 16
_ROLLOUT_VISITS = 512
_WARM_UP_SIZE = 5
_WARM_UP_VISITS = 2
# Share of a move's time that is reserved for judging life and death when a pass may be due.
_JUDGE_SHARE = 0.2
# Winrate that a move may lose against a pass and still be preferred because it takes a point.
_PRICE_OF_A_GAIN = 0.02
# Under territory rules, a move must seem better than a pass by this many points; a useful move wins at least one.
_WORTH_A_MOVE = 0.25
# And by this much in value (1 is a win, -1 a loss): half a point is worth a try.
_WORTH_IN_VALUE = 0.04
# Moves with fewer visits are not compared with a pass.
_KNOWN_VISITS = 4
# Searches shorter than this many seconds are not used to estimate the speed.
_SPEED_SECONDS = 0.1


class SearchPlayer:
    """Plays by tree search with an evaluator.

    network: the one inside `evaluator`, if any. human: a human network beside it, whose part `HumanParams` describe.
    shared: the searches of all players that have the evaluator, which then stays open, with its cache, when one of them
    is closed; None if no other player has it.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        params: SearchParams,
        name: str = "Keima",
        network: RawNetwork | None = None,
        shared: RunningSearches | None = None,
        human: RawNetwork | None = None,
    ) -> None:
        self.name = name
        self.network, self.human = network, human
        self.params = self._last_params = params
        self.evaluator = evaluator
        self._owns_evaluator, self._running = shared is None, shared or RunningSearches()
        self._stop = threading.Event()
        self.search = Search(evaluator, params, self._running, None if human is None else human.evaluator)
        self.judge = Judge(evaluator, params, self._stop)
        self._resigner = Resigner()
        self._advantage = DynamicAdvantage()
        self._speed = 0.0
        self._ownership_visits = _ROLLOUT_VISITS if evaluator.attributes.has_first_play else _OWNERSHIP_VISITS

    def genmove(
        self, game: Game, color: int, limits: Limits, watch: Watch | None = None, avoided: Avoided | None = None
    ) -> Decision:
        """Search within the limits and return a move, a pass or a resignation.

        Searching and judging together keep to the seconds of the limits. With moves to avoid, the search alone decides.
        """
        self._stop.clear()
        limits = fitted(limits, game, self.params)
        params = replace(self.params, anti_mirror=self.params.genmove_anti_mirror)
        self.search.params = self._last_params = self._advantage.params_of_move(
            fewer_playouts(params, game), game, color
        )
        try:
            return self._genmove(game, color, limits, watch, avoided)
        finally:
            self.search.params = self.params

    def _genmove(
        self, game: Game, color: int, limits: Limits, watch: Watch | None, avoided: Avoided | None
    ) -> Decision:
        timer = Timer(limits, self._speed)
        if limits.level is not None:
            self.search.forget()  # the kept tree would show more than the visits of the level
        # Avoided moves come from a controller's request, which wants the search's answer even where a pass is due.
        if avoided:
            self._begin(game, color, avoided=avoided)
            return self._decide(game, color, self._run_move(limits, watch))
        judgement = self._judge_first(game, color, timer)
        if judgement is not None and game.pass_ends_phase(color) and nothing_is_left(game, color, judgement):
            return self._final_pass(game, color, judgement)
        dead = agreed_dead(game, judgement) if judgement else ()
        self._begin(game, color, dead)
        share = 1 - self._judging_share(limits) if judgement is None and is_late(game) else 1.0
        with self._weakened(limits, game):
            decision = self._decide(game, color, self._run_move(timer.rest(share), watch), limits.level)
        may_pass = not timer.in_hurry and (decision.vertex == PASS or self._seems_settled(game))
        if judgement is None and may_pass:
            judgement = self.judge.judge(game, timer.rest(0.5))
        if judgement is not None:
            decision = self._consider_passing(game, color, decision, judgement, timer, watch)
        params = resigning_at_level(self.params, limits.level)
        if self._resigner.gives_up(game, color, decision, params, judgement):
            return replace(decision, resign=True)
        return decision

    @contextmanager
    def _weakened(self, limits: Limits, game: Game) -> Iterator[None]:
        """Search with the parameters of the limits' level while the block runs."""
        if limits.level is not None:
            params = params_at_level(self._last_params, limits.level)
            if self.human is not None and limits.rank:
                people = people_of(limits.rank, self.human.facts.people, game.width, game.height)
                params = params_as_people(params, limits.level, people)
            self.search.params = params
        try:
            yield
        finally:
            self.search.params = self._last_params

    def _judge_first(self, game: Game, color: int, timer: Timer) -> Judgement | None:
        """Judge life and death before the search if its result may depend on it, whoever moves next."""
        if timer.in_hurry or not (game.pass_ends_phase(color) or dead_matter(game, color)):
            return None
        return self.judge.judge(game, timer.rest(_JUDGE_SHARE))

    def _judging_share(self, limits: Limits) -> float:
        """Return the share of a move's time to reserve for a judgement after the search."""
        if not limits.seconds or not self._speed:
            return _JUDGE_SHARE
        return min(_JUDGE_SHARE, self.judge.effort(limits) / self._speed / limits.seconds)

    def _final_pass(self, game: Game, color: int, judgement: Judgement) -> Decision:
        lead = for_color(agreed_score(game, judgement), color)
        return Decision(PASS, winrate=0.5 if lead == 0 else float(lead > 0), score_lead=lead)

    def _consider_passing(
        self, game: Game, color: int, decision: Decision, judgement: Judgement, timer: Timer, watch: Watch | None
    ) -> Decision:
        """Replace the decision by a pass if nothing is left to play for, and a pass that gives something away by a
        move."""
        if nothing_is_left(game, color, judgement):
            return replace(self._final_pass(game, color, judgement), visits=decision.visits)
        if self._only_fills(game, color, judgement):
            return replace(decision, vertex=PASS)
        if decision.vertex != PASS:
            return decision
        if gains_anything(game, color, judgement):
            return self._instead_of_passing(game, color, decision, judgement, timer, watch)
        dead = agreed_dead(game, judgement)
        if dead and not wins_as_it_stands(game, color, judgement):
            self.search.forget()
            self._begin(game, color, dead)
            return self._decide(game, color, self._run_move(timer.rest(), watch))
        return decision

    def _only_fills(self, game: Game, color: int, judgement: Judgement) -> bool:
        """True if, under territory rules, no move gains anything, whether the opponent plays on after a pass or not.

        Such moves lie in territory or between the colors; at the end of a game they look like an insult.
        """
        if game.rules.is_area:
            return False
        visited = {move: self.search.tree.nodes[node] for move, node in after_moves(self.search.tree)}
        known = {move: node for move, node in visited.items() if node["visits"] >= _KNOWN_VISITS}
        # Without visits for a pass there is nothing to compare moves with.
        if PASS not in known:
            return False
        counted = for_color(agreed_score(game, judgement), color)
        for field, as_counted, worth in (
            ("lead", counted, _WORTH_A_MOVE),
            ("value", np.sign(counted), _WORTH_IN_VALUE),
        ):
            # Compare each move with the pass, once in points and once in value.
            figures = {move: for_color(float(node[field]), color) for move, node in known.items()}
            # If the opponent passes too, the count decides; if not, the searched value: the worse of both counts.
            after_pass = min(figures.pop(PASS), as_counted)
            if after_pass < max(figures.values(), default=after_pass) - worth:
                return False
        return True

    def _instead_of_passing(
        self, game: Game, color: int, decision: Decision, judgement: Judgement, timer: Timer, watch: Watch | None
    ) -> Decision:
        """Return the best move that gains something, or the pass if that move costs too much."""
        moves = gains(game, color, judgement)
        avoided = all_but(moves, 1, game.width, game.height) if moves else {PASS: 1}
        self._begin(game, color, agreed_dead(game, judgement), {color: avoided})
        other = self._decide(game, color, self._run_move(timer.rest(), watch))
        if other.vertex == PASS or other.winrate is None or decision.winrate is None:
            return decision
        # A gain of a point must not cost the game.
        return other if other.winrate > decision.winrate - _PRICE_OF_A_GAIN else decision

    def _begin(self, game: Game, color: int, dead: Collection[int] = (), avoided: Avoided | None = None) -> None:
        avoid = avoid_table(avoided or {}, game.board.shape[1])
        self.search.begin(game, color, safe_vertices(game, color), dead, avoid=avoid)

    def _run_move(self, limits: Limits, watch: Watch | None) -> SearchStats:
        """Search for a move to play, stopping as early as its choice is settled."""
        stoppers: list[Stopper] = []
        if limits.most_seconds is not None and limits.seconds is not None:
            stoppers.append(PlannedStopper(limits.seconds, limits.most_seconds, self._speed, is_kept=limits.is_kept))
        elif limits.seconds is not None and self.params.stops_early and not draws(self.params, self.human is not None):
            share = self.params.lcb_least_share if self.params.lcb_stdevs > 0 and self.params.uses_lcb else 1.0
            stoppers.append(SettledStopper(limits.seconds, self._speed, share))
        return self._run(limits, watch, stoppers)

    def _run(self, limits: Limits, watch: Watch | None, stoppers: Sequence[Stopper] = ()) -> SearchStats:
        """Search within the limits, until the stoppers or `stop` end it."""
        bounds: list[Stopper] = [EventStopper(self._stop), *stoppers]
        if limits.bound is not None:
            bounds.append(TimeStopper(limits.bound))
        if limits.visits is not None:
            bounds.append(VisitStopper(limits.visits))
        callback = None if watch is None else partial(watch, self.search)
        # Visits are given to the search too, so that its last batch does not exceed them.
        with self._running.one_more():
            stats = self.search.run(bounds, limits.visits, callback)
        # The measured speed decides how much time later judgements and stoppers may take.
        if stats.elapsed > _SPEED_SECONDS:
            self._speed = stats.playouts / stats.elapsed
        return stats

    def _decide(self, game: Game, color: int, stats: SearchStats, level: Level | None = None) -> Decision:
        """Return the chosen move with the values of the position after it, or of the root if that was not searched."""
        search = self.search
        temperature = temperature_at(self.params, game.move_number, game.width * game.height)
        human, has_score = search.human_evaluation, self.evaluator.attributes.has_score
        vertex = choose_vertex(search.tree, search.root, self.params, temperature, search.generator, human)
        if level is not None and level.temperature > 0.0:
            vertex = draw_vertex(search.tree, search.root, level, vertex, search.generator, human, has_score=has_score)
        # The values after the move include the search below it alone; the root's are an average over all moves.
        after = after_move(search.tree, vertex)
        node = ROOT if after == NO_NODE else after
        self._advantage.record(game, float(search.tree.nodes[ROOT]["value"]))
        figures = search.tree.nodes[node]
        winrate = (1 + for_color(float(figures["value"]), color)) / 2
        lead = for_color(float(figures["lead"]), color) if has_score else None
        return Decision(vertex, False, winrate, lead, stats.visits)

    def _seems_settled(self, game: Game) -> bool:
        """True if the search saw every point decided: a cheap test before a judgement."""
        if not is_late(game) or self.search.tree.nodes[ROOT]["visits"] < self._ownership_visits:
            return False
        ownership, _ = tree_ownership(self.search.tree, ROOT)
        return bool(np.abs(ownership).min() > _SEEMS_SHARE * self.judge.sure)

    def analyze(self, game: Game, color: int, request: AnalysisRequest, watch: Watch) -> None:
        """Search for `color` until `stop` or the request's limits and keep the tree; plays nothing."""
        self._stop.clear()
        # Only for this analysis: the noise would weaken moves that are played, and the limit is one of moves.
        own = {"wide_root_noise": request.wide_root_noise, "ignores_past": request.ignores_past, "max_playouts": 0}
        self.search.params = replace(self.params, **own)  # type: ignore[arg-type]
        self.search.doubts_counts = True
        try:
            avoid, dead = avoid_table(request.avoided, game.board.shape[1]), self._dead(game, color)
            # Not only those that are safe to play: an analysis plays nothing.
            self.search.begin(game, color, game.legal_vertices(color), dead, avoid=avoid)
            self._run(request.limits, watch)
        finally:
            self.search.params = self.params
            self.search.doubts_counts = False

    def ponder(self, game: Game) -> None:
        """Search for the side to move until `stop` or the limit of pondering, and keep the tree."""
        self._stop.clear()
        if game.is_over:
            return
        limits = Limits(self.params.ponder_visits or None, self.params.ponder_seconds or None)
        self.search.params = replace(self._last_params, max_playouts=self.params.ponder_playouts)
        try:
            color, dead = game.to_play, self._dead(game, game.to_play)
            self.search.begin(game, color, safe_vertices(game, color), dead, side=opponent(color))
            self._run(limits, None)
        finally:
            self.search.params = self.params

    def _dead(self, game: Game, color: int) -> list[int]:
        """Return the dead stones for a search that must begin at once."""
        return agreed_dead(game, self.judge.glance(game)) if dead_matter(game, color) else []

    def dead_stones(self, game: Game, limits: Limits | None = None) -> list[list[int]]:
        """Return the chains whose points the opponent is expected to own or, by the rules, owns."""
        if counts_as_it_stands(game):
            return enclosed_chains(game)
        return dead_chains(game, self.judge.final_ownership(game, limits))

    def seki_stones(self, game: Game) -> list[list[int]]:
        """Return the living chains beside neutral points, without territory of their own."""
        return seki_chains(game, self.judge.final_ownership(game))

    def expected_score(self, game: Game) -> float | None:
        """Return the expected final score, or None if only counting is left."""
        if game.is_over:
            return None
        judgement = self.judge.final_judgement(game)
        if is_settled(game, judgement):
            return None
        self._stop.clear()
        self._begin(game, game.to_play, agreed_dead(game, judgement))
        self._run(Limits(visits=self.judge.effort(Limits())), None)
        return float(self.search.tree.nodes[ROOT]["lead"])

    def warm_up(self, width: int, height: int) -> None:
        """Compile or load every kernel that a game needs, by playing its first moves.

        Networks are compiled for each board size, so the moves are played on a board of this size or the nearest size
        that the network supports. Without a network, a small board takes the least time.
        """
        smallest, largest = (_WARM_UP_SIZE, _WARM_UP_SIZE) if self.network is None else self.network.facts.board_sizes
        game = _begun_game(*(min(max(side, smallest), largest) for side in (width, height)))
        self.prepare(game.width, game.height)
        for color in (BLACK, WHITE):
            game.play(color, self.genmove(game, color, Limits(visits=_WARM_UP_VISITS)).vertex)
        snapshot(self.search, Wanted(ownership=True), BLACK)
        self.analyze(game, BLACK, AnalysisRequest(), self._stop_soon)
        self._stop.clear()
        judgement = self.judge.judge(game, Limits(visits=_WARM_UP_VISITS))
        gains(game, BLACK, judgement)
        final_score(game, [vertex for chain in chains(game) for vertex in chain])
        # A full tree must not wait for a compiler in the middle of a move.
        make_room(self.search.tree, self.search.params.subtree_value_bias_free_share)
        self.clear_cache()
        self.new_game()

    def _stop_soon(self, search: Search, stats: SearchStats) -> None:
        """Stop a search in the middle, with evaluations under way."""
        if stats.playouts > _WARM_UP_VISITS:
            self.stop()

    def prepare(self, width: int, height: int) -> None:
        """Compile the network for boards of this size, in the background."""
        for network in (self.network, self.human):
            if network is not None:
                network.prepare(width, height)

    def stop(self) -> None:
        """Stop a running search; `genmove` returns its best move so far."""
        self._stop.set()

    def set_params(self, params: SearchParams) -> None:
        """Use other parameters from the next search on; the tree is dropped."""
        self.params = self.search.params = self._last_params = params
        self.search.forget()
        self.judge.set_params(params)

    def clear_cache(self) -> None:
        """Drop the tree, the judgement, cached evaluations and what searches remember."""
        self.search.forget()
        self.search.memory.clear()
        self.judge.forget()
        for evaluator in (self.evaluator, self.human and self.human.evaluator):
            if self._owns_evaluator and isinstance(evaluator, CachedEvaluator):
                evaluator.clear()

    def new_game(self) -> None:
        """Drop the tree and the record of hopeless turns."""
        self.search.forget()
        self.judge.forget()
        self._resigner.new_game()
        self._advantage.new_game()
        self._speed = 0.0

    def restart(self) -> None:
        """Forget the game and reset the random numbers to the seed."""
        self.new_game()
        self.search.restart()
        self.judge.restart()

    def close(self) -> None:
        """Stop the threads of the search, and the evaluator if no other player has it."""
        self.search.close()
        self.search.memory.close()
        self.judge.close()
        if self._owns_evaluator:
            self.evaluator.close()
            if self.human is not None:
                self.human.evaluator.close()


def _begun_game(width: int, height: int) -> Game:
    """Return a game with a capture and a pass: they need kernels that opening moves do not."""
    game = Game(width, height, rules=CHINESE_KGS)
    corner, beside, *others = points(width, height)
    for color, vertex in ((BLACK, corner), (WHITE, beside), (BLACK, PASS), (WHITE, others[width - 2])):
        game.play(color, vertex)
    return game


def after_moves(tree: Tree) -> Iterator[tuple[int, int]]:
    """Yield each visited move at the root, and the node after it."""
    links = links_of(tree, ROOT)
    for link, vertex in zip(links, tree.edge_vertex[ROOT, : len(links)].tolist(), strict=True):
        node = int(tree.links[link]["child"])
        if node != NO_NODE and tree.nodes[node]["visits"] > 0:
            yield vertex, node


def after_move(tree: Tree, vertex: int) -> int:
    """Return the node after a move at the root, NO_NODE if it was not visited."""
    return next((node for move, node in after_moves(tree) if move == vertex), NO_NODE)
