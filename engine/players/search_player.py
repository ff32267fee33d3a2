"""One seat for everything that can choose a move: `genmove` on a game, within limits.

Players own the judgement around a search: which moves are safe to send to any server, when to
pass, when to resign, which stones are dead. They never change the game they are given.
"""

import threading
import time
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import hash_after, is_suicide, position_hash
from engine.board.layout import COLOR, HEAD
from engine.board.tactics import is_eye
from engine.color import BLACK, EMPTY, opponent
from engine.evaluators.base import Evaluator
from engine.evaluators.raw import RawNetwork
from engine.game import Game
from engine.rules import CHINESE_KGS
from engine.scoring import final_score
from engine.search.params import SearchParams
from engine.search.root import choose_child
from engine.search.search import Search
from engine.search.stoppers import EventStopper, SearchStats, SettledStopper, Stopper, TimeStopper, VisitStopper
from engine.search.tree import ROOT
from engine.vertex import PASS, points, policy_index

_SETTLED = 0.9
"""Mean ownership, with either side to move first, from which a point counts as decided."""
_SEEMS_SETTLED = 0.8
_DEAD = 0.5
"""Mean enemy ownership of a chain's points from which it counts as dead."""
_OWNERSHIP_SAMPLES = 512
"""Evaluations without which nothing is called settled."""
_JUDGE_MEMORY_MIB = 64
_WARM_UP_SIZE = 5
_WARM_UP_VISITS = 50
_NETWORK_JUDGE_VISITS = 64
"""Visits of each of the two searches that judge dead stones with a network, unless a move has fewer."""
_JUDGE_SHARE = 0.2
"""Part of a move's time that is kept for judging life and death where a pass may be due."""
_LATE_SHARE = 2
"""From half of the board's points on a pass may be due."""
_LEAST_SECONDS = 0.05
_EARLY_SHARE = 5
"""Before a fifth of the board's points is played nobody passes, so dead stones do not matter yet."""


@dataclass(frozen=True)
class Limits:
    """How much a player may think: visits at the root, seconds of wall time; None for no limit."""

    visits: int | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Decision:
    """A chosen move, and what the player thinks of the position from the mover's side.

    winrate in [0, 1], score_lead in points, visits of the search behind it.
    """

    vertex: int
    resign: bool = False
    winrate: float | None = None
    score_lead: float | None = None
    visits: int = 0


@dataclass(frozen=True)
class _Judgement:
    """Stones both players would call dead, and whether no point of the board is open any more."""

    dead: list[int]
    is_settled: bool


class Player(Protocol):
    """Chooses moves and judges finished games. `stop` may be called from any thread.

    network: what it judges positions by, to be asked between searches; None for a player without one.
    """

    name: str
    network: RawNetwork | None

    def genmove(self, game: Game, color: int, limits: Limits) -> Decision:
        """Return a legal move for `color`; the game is not changed."""

    def dead_stones(self, game: Game) -> list[list[int]]:
        """Return the dead chains of a finished game, each as its vertices."""

    def seki_stones(self, game: Game) -> list[list[int]]:
        """Return the chains that live in seki, each as its vertices."""

    def prepare(self, width: int, height: int) -> None:
        """Get ready for boards of this size in the background, and return at once."""

    def stop(self) -> None:
        """End a running `genmove` with the best move so far."""

    def new_game(self) -> None:
        """Forget what was learned about the last game."""

    def restart(self) -> None:
        """Start anew from the seed, as if just made: the same questions get the same answers."""

    def close(self) -> None:
        """Free threads and devices."""


class RandomPlayer:
    """Plays uniformly random legal moves that fill no one-point eye; judges no stone dead."""

    name = "random"
    network = None

    def __init__(self, seed: int = 1) -> None:
        self._seed = seed
        self._generator = np.random.default_rng(seed)

    def genmove(self, game: Game, color: int, limits: Limits) -> Decision:
        """Return a random sensible move, or a pass where there is none."""
        vertices = [vertex for vertex in safe_vertices(game, color) if not _fills_eye(game, color, vertex)]
        return Decision(int(self._generator.choice(vertices)) if vertices else PASS)

    def dead_stones(self, game: Game) -> list[list[int]]:
        """Return nothing."""
        return []

    def seki_stones(self, game: Game) -> list[list[int]]:
        """Return nothing."""
        return []

    def prepare(self, width: int, height: int) -> None:
        """Do nothing: every board is alike."""

    def stop(self) -> None:
        """Do nothing: moves come at once."""

    def new_game(self) -> None:
        """Do nothing: no memory."""

    def restart(self) -> None:
        """Draw the same moves again."""
        self._generator = np.random.default_rng(self._seed)

    def close(self) -> None:
        """Do nothing: no resources."""


class SearchPlayer:
    """Plays by tree search over an evaluator. network: the one below the evaluator, if there is one."""

    def __init__(
        self, evaluator: Evaluator, params: SearchParams, name: str = "Keima", network: RawNetwork | None = None
    ) -> None:
        self.name = name
        self.network = network
        self.params = params
        self._evaluator = evaluator
        self.search = Search(evaluator, params)
        self._judge = Search(evaluator, replace(params, max_memory_mib=_JUDGE_MEMORY_MIB, noise_fraction=0.0))
        self._stop = threading.Event()
        self._judged: tuple[tuple[object, ...], NDArray[np.float64]] | None = None
        self._bad_turns = {BLACK: 0, opponent(BLACK): 0}

    def genmove(self, game: Game, color: int, limits: Limits) -> Decision:
        """Search within the limits and return the move, a pass, or a resignation.

        Searching and judging together keep to `limits.seconds`.
        """
        self._stop.clear()
        deadline = None if limits.seconds is None else time.monotonic() + limits.seconds
        judgement: _Judgement | None = None
        if game.pass_ends_phase(color) or not game.rules.is_area:
            judgement = self._judge_game(game, _share(limits, deadline, _JUDGE_SHARE))
            if game.pass_ends_phase(color) and self._wins_as_it_stands(game, color, judgement):
                return Decision(PASS, winrate=1.0, score_lead=_for_color(final_score(game, judgement.dead), color))
        legal = safe_vertices(game, color)
        is_late = game.move_number > game.width * game.height // _LATE_SHARE
        self.search.begin(game, color, legal, judgement.dead if judgement else ())
        search_limits = _share(limits, deadline, 1 - _JUDGE_SHARE if is_late else 1.0)
        decision = self._decide(game, color, self._run(search_limits))
        if judgement is None and (decision.vertex == PASS or self._seems_settled()):
            judgement = self._judge_game(game, _share(limits, deadline, 0.5))
            if self._wins_as_it_stands(game, color, judgement) and (decision.vertex == PASS or judgement.is_settled):
                return replace(decision, vertex=PASS)
            if decision.vertex == PASS and judgement.dead:
                self.search.forget()
                self.search.begin(game, color, legal, judgement.dead)
                decision = self._decide(game, color, self._run(_share(limits, deadline, 1.0)))
        if self._wants_to_resign(game, color, decision, judgement):
            return replace(decision, resign=True)
        return decision

    def _run(self, limits: Limits) -> SearchStats:
        stoppers: list[Stopper] = [EventStopper(self._stop)]
        if limits.seconds is not None:
            stoppers += [TimeStopper(limits.seconds), SettledStopper(limits.seconds)]
        if limits.visits is not None:
            stoppers.append(VisitStopper(limits.visits))
        return self.search.run(stoppers, limits.visits)

    def _decide(self, game: Game, color: int, stats: SearchStats) -> Decision:
        tree = self.search.tree
        temperature = self.params.temperature if game.move_number < self.params.temperature_moves else 0.0
        child = choose_child(tree, temperature, self.search.generator)
        if child is None:
            vertex = int(tree.edge_vertex[ROOT, 0]) if tree.edges[ROOT] else PASS
            return Decision(vertex, visits=stats.visits)
        visits = int(tree.visits[child])
        winrate = (1 + _for_color(float(tree.value_sum[child]) / visits, color)) / 2
        lead = _for_color(float(tree.score_sum[child]) / visits, color)
        return Decision(int(tree.vertex[child]), False, winrate, lead, stats.visits)

    def _judge_game(self, game: Game, limits: Limits) -> _Judgement:
        """Judge life and death, whoever moves next, where the rules let the players agree on it."""
        is_early = game.move_number < game.width * game.height // _EARLY_SHARE
        if is_early:
            return _Judgement([], False)
        ownership = self.ownership(game, limits)
        may_agree = game.rules.friendly_pass or not game.rules.is_area
        dead = [vertex for chain in self._dead_chains(game, ownership) for vertex in chain] if may_agree else []
        return _Judgement(dead, bool(np.abs(ownership).min() > _SETTLED))

    def _wins_as_it_stands(self, game: Game, color: int, judgement: _Judgement) -> bool:
        """True if two passes now would win for `color`, however dead stones are judged."""
        wins_agreed = _for_color(final_score(game, judgement.dead), color) > 0
        return wins_agreed and (not game.rules.is_area or _for_color(final_score(game), color) > 0)

    def _seems_settled(self) -> bool:
        """True if the search, which moved first, saw every point decided; a cheap doubt before a judgement."""
        count = self.search.ownership_sum[-1]
        return count >= _OWNERSHIP_SAMPLES and bool(
            np.abs(self.search.ownership_sum[:-1] / count).min() > _SEEMS_SETTLED
        )

    def _wants_to_resign(self, game: Game, color: int, decision: Decision, judgement: _Judgement | None) -> bool:
        """True after enough hopeless turns in a row, late enough in the game, and not when a pass wins."""
        patience = game.width * game.height // 5 * (2 if game.handicap else 1)
        is_lost = decision.winrate is not None and decision.winrate < self.params.resign_threshold
        hopeless = is_lost and game.move_number >= patience
        self._bad_turns[color] = self._bad_turns[color] + 1 if hopeless else 0
        if self._bad_turns[color] < self.params.resign_turns:
            return False
        would_end = judgement is not None and game.pass_ends_phase(color)
        return not (would_end and judgement is not None and self._wins_as_it_stands(game, color, judgement))

    def ownership(self, game: Game, limits: Limits | None = None) -> NDArray[np.float64]:
        """Return the expected owner of each point, [area] in policy order, 1 Black, -1 White.

        The mean over the evaluations of two searches that play on without end, one with either side
        to move. limits: their seconds bound both together; their visits bound each where a network evaluates,
        and not where only many play-outs tell anything.
        """
        limits = limits or Limits()
        visits = self.params.judge_visits
        if not self._evaluator.attributes.has_first_play:
            visits = min(_NETWORK_JUDGE_VISITS, limits.visits or _NETWORK_JUDGE_VISITS)
        total = np.zeros(game.width * game.height)
        for color in (BLACK, opponent(BLACK)):
            self._judge.forget()
            self._judge.begin(game, color, safe_vertices(game, color))
            self._judge.play_on()
            stoppers: list[Stopper] = [EventStopper(self._stop)]
            if limits.seconds is not None:
                stoppers.append(TimeStopper(limits.seconds / 2))
            self._judge.run([*stoppers, VisitStopper(visits)], visits)
            total += self._judge.ownership_sum[:-1] / max(1.0, self._judge.ownership_sum[-1])
        return total / 2

    def dead_stones(self, game: Game) -> list[list[int]]:
        """Return the chains whose points the opponent is expected to own."""
        return self._dead_chains(game, self._final_ownership(game))

    def _final_ownership(self, game: Game) -> NDArray[np.float64]:
        """Return `ownership`, judged once a position: dead and seki stones rest on the same judgement."""
        position = (game.board.tobytes(), tuple(game.moves), game.rules, game.komi)
        if self._judged is None or self._judged[0] != position:
            self._stop.clear()
            ownership = self.ownership(game)
            if self._stop.is_set():
                return ownership
            self._judged = (position, ownership)
        return self._judged[1]

    def _dead_chains(self, game: Game, ownership: NDArray[np.float64]) -> list[list[int]]:
        dead = []
        for chain in chains(game):
            sign = 1 if game.color_at(chain[0]) == BLACK else -1
            owned = sign * np.mean([ownership[policy_index(v, game.width, game.height)] for v in chain])
            if owned < -_DEAD:
                dead.append(chain)
        return dead

    def seki_stones(self, game: Game) -> list[list[int]]:
        """Return the chains that are alive beside a point that is nobody's, with no territory of their own."""
        ownership = self._final_ownership(game)
        own = {v: ownership[policy_index(v, game.width, game.height)] for v in points(game.width, game.height)}
        stride = game.width + 1
        found = []
        for chain in chains(game):
            sign = 1 if game.color_at(chain[0]) == BLACK else -1
            if sign * np.mean([own[v] for v in chain]) < _DEAD:
                continue
            liberties = {v + step for v in chain for step in (-stride, -1, 1, stride)}
            empty = [v for v in liberties if game.color_at(v) == EMPTY]
            if empty and all(abs(own[v]) < _DEAD for v in empty):
                found.append(chain)
        return found

    def warm_up(self) -> None:
        """Compile or load every kernel that a game needs, by playing on a small board."""
        smallest, largest = (1, _WARM_UP_SIZE) if self.network is None else self.network.facts.board_sizes
        game = Game(min(max(_WARM_UP_SIZE, smallest), largest), rules=CHINESE_KGS)
        for color in (BLACK, opponent(BLACK)):
            game.play(color, self.genmove(game, color, Limits(visits=_WARM_UP_VISITS)).vertex)
        final_score(game, [vertex for chain in self.dead_stones(game) for vertex in chain])
        self.new_game()

    def prepare(self, width: int, height: int) -> None:
        """Have the network compiled for boards of this size, in the background."""
        if self.network is not None:
            self.network.prepare(width, height)

    def stop(self) -> None:
        """End a running search; `genmove` answers with the best move so far."""
        self._stop.set()

    def new_game(self) -> None:
        """Drop the tree and the memory of hopeless turns."""
        self.search.forget()
        self._judged = None
        self._bad_turns = dict.fromkeys(self._bad_turns, 0)

    def restart(self) -> None:
        """Forget the game, and draw random numbers from the seed again."""
        self.new_game()
        self.search.restart()
        self._judge.restart()

    def close(self) -> None:
        """Stop the search's and the evaluator's threads."""
        self.search.close()
        self._judge.close()
        self._evaluator.close()


def safe_vertices(game: Game, color: int) -> list[int]:
    """Return the points that are legal here and under the strictest rules any server applies.

    A move that only the rules in force allow (suicide, or a repeated position under simple ko) can
    lose a game or a connection elsewhere, so the engine never plays one of its own accord.
    """
    seen: set[int] | None = None
    safe = []
    for vertex in game.legal_vertices(color):
        if is_suicide(game.board, vertex, color):
            continue
        if game.ever_occupied[vertex]:
            if seen is None:
                seen = {int(position_hash(board)) for board in game.recent_boards(game.move_number + 1)}
            if int(hash_after(game.board, vertex, color)) in seen:
                continue
        safe.append(vertex)
    return safe


def chains(game: Game) -> list[list[int]]:
    """Return every chain on the board as its vertices, in policy order of their first stones."""
    board = game.board
    found: dict[int, list[int]] = {}
    for vertex in points(game.width, game.height):
        if board[COLOR, vertex] != EMPTY:
            found.setdefault(int(board[HEAD, vertex]), []).append(vertex)
    return list(found.values())


def _fills_eye(game: Game, color: int, vertex: int) -> bool:
    return bool(is_eye(game.board, vertex, color))


def _share(limits: Limits, deadline: float | None, share: float) -> Limits:
    """Return the limits with a share of the time that is left until a deadline, if there is one."""
    if deadline is None:
        return limits
    return replace(limits, seconds=max(_LEAST_SECONDS, share * (deadline - time.monotonic())))


def _for_color(black_positive: float, color: int) -> float:
    """Turn a Black-positive figure into the view of one color."""
    return black_positive if color == BLACK else -black_positive
