"""One game of self-play: plans the search of each move, plays the move, ends the game and makes its samples.

Knows neither other games nor batches. A game has its own random generator, so that it does not depend on the games
beside it.
"""

import math
from dataclasses import replace
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.color import BLACK, EMPTY, WHITE, for_color, opponent
from engine.game import Game
from engine.scoring import VOID, format_score
from engine.search.gumbel import GumbelRoot
from engine.search.params import SearchParams
from engine.search.policy_target import RootMoves, root_moves
from engine.search.position import Root
from engine.search.tree import ROOT, Tree
from engine.train.data.samples import SampleWriter
from engine.train.data.targets import FinalResult
from engine.train.games.later_targets import Rows, for_side, later_targets
from engine.train.games.referee import Referee
from engine.train.games.selfplay_settings import SelfplaySettings
from engine.train.games.selfplay_starts import Kind, Starts, draw_opening_moves, draw_start
from engine.train.games.surprise import Floats, drawn_copies, sample_weights, surprise, value_surprise
from engine.train.teaching.hints import Adviser, Exploration
from engine.vertex import PASS

Policy = NDArray[np.float32]
_SEEDS = 1 << 31
_NOT_POLICY = ("reply", "outcome", "score", "ownership")


class Effort(Enum):
    """How a move is chosen: by the policy alone, a quick or full search, the quicker search of a decided game, or by
    exploration outside of the search. HANDICAP and FORK: a stone and the first move by the policy, see `Start`.
    """

    OPENING = "opening"
    QUICK = "quick"
    FULL = "full"
    DECIDED = "decided"
    FORCED = "forced"
    HANDICAP = "handicap"
    FORK = "fork"


class Plan(NamedTuple):
    """The search for a move. seed: of the evaluator's random numbers. considered: see `BatchedSearch.start`."""

    effort: Effort
    visits: int
    params: SearchParams
    seed: int
    considered: int = 0


class Ply(NamedTuple):
    """One move of the game.

    target: the policy target, None unless the search was full. spread: the distribution of the search at temperature 1,
    None without a search. visits: of the root at the end of the search. found: its value and score, Black-positive.
    surprise: of the policy by a full or quick search, in nats. raw: the network's P(Black wins), P(White wins) and P(no
    result) of a searched position.
    """

    color: int
    vertex: int
    effort: Effort
    target: Policy | None = None
    spread: Policy | None = None
    visits: int = 0
    found: tuple[float, float] | None = None
    surprise: float = 0.0
    raw: tuple[float, float, float] | None = None


class Ending(NamedTuple):
    """The end of a game.

    decided: whether it was played out quickly because one side had lost. false_resign: whether the side that would have
    resigned first did not lose, in a game that was played on in full; None in other games.
    """

    result: FinalResult
    text: str
    decided: bool
    unfinished: bool
    false_resign: bool | None


class SelfplayGame:
    """A game in progress. number: seeds its random generator, together with the seed of the run."""

    def __init__(
        self,
        settings: SelfplaySettings,
        number: int,
        kind: Kind,
        starts: Starts,
        forks: Starts,
        generator: np.random.Generator,
        adviser: Adviser | None = None,
    ) -> None:
        self.number, self.generator = number, generator
        self.ending: Ending | None = None
        self._settings, self._side, self.doubling = settings, kind.side, kind.doubling
        start = draw_start(settings, kind, starts, forks, generator)
        self.game, self._fork_choices, self._handicap_left = start
        self.first_ply = self.game.move_number
        self._opening_left = draw_opening_moves(settings, kind.side, generator) if not self._fork_choices else 0
        self._may_be_decided = bool(generator.random() >= settings.no_resign_share)
        self._exploration = Exploration(settings.exploration, generator, adviser, number)
        self.plies: list[Ply] = []
        self._hopeless = {BLACK: 0, WHITE: 0}
        self._winrates: dict[int, list[float]] = {BLACK: [], WHITE: []}
        self._resigned: int | None = None
        self._plain = settings.quick_search
        most_moves = settings.most_moves(kind.side)
        self._referee = Referee(self.game, most_moves, ends_settled=settings.ends_settled and kind.rules.is_area)
        self._end_if_over()

    @property
    def is_over(self) -> bool:
        """Whether the game has ended."""
        return self.ending is not None

    def plan(self) -> Plan | None:
        """Play due exploratory moves, and return the search for the next move; None if the game is over."""
        if not self.is_over and (self._handicap_left or self._fork_choices):
            effort = Effort.HANDICAP if self._handicap_left else Effort.FORK
            return Plan(effort, 1, self._plain, int(self.generator.integers(_SEEDS)))
        while not self.is_over and self._opening_left == 0:
            forced = self._exploration.forced_move(self.game)
            if forced is None:
                break
            self._play(Ply(self.game.to_play, forced, Effort.FORCED))
        if self.is_over:
            return None
        settings, generator = self._settings, self.generator
        seed = int(generator.integers(_SEEDS))
        if self._opening_left > 0:
            return Plan(Effort.OPENING, 1, self._plain, seed)
        if self._is_decided:
            return Plan(Effort.DECIDED, min(settings.decided_visits, settings.quick_visits), self._plain, seed)
        # Playout-cap randomization (Wu 2019, section 3.1): many cheap moves finish games, a few make policy targets.
        if generator.random() >= settings.full_share:
            return Plan(Effort.QUICK, self._visits(settings.quick_visits), self._plain, seed)
        if settings.gumbel_moves:
            return Plan(Effort.FULL, self._visits(settings.full_visits), self._plain, seed, settings.gumbel_moves)
        params = replace(
            self._plain,
            adds_noise=True,
            noise_fraction=settings.noise_fraction,
            noise_concentration=settings.noise_concentration,
            forced_playouts=settings.forced_playouts,
            early_root_policy_temperature=0.0,
            root_policy_temperature=settings.root_temperature_at(self.game.move_number, self._side),
        )
        return Plan(Effort.FULL, self._visits(settings.full_visits), params, seed)

    def _visits(self, visits: int) -> int:
        """Return the visits of the side to move, which has more or fewer in an asymmetric game; KataGo's factors."""
        if self.doubling == 0:
            return visits
        ratio: float = 2.0 ** for_color(self.doubling, self.game.to_play)
        return max(2, round(visits * 2 * ratio / (ratio + 1)))

    def avoid(self) -> NDArray[np.int16] | None:
        """Return the moves that the next search excludes at its root, see `Search.begin`."""
        # Under territory rules such a move may cost a point, or be needed to capture in the clean-up phases.
        if not self._settings.avoids_settled or not self.game.rules.is_area:
            return None
        return self._referee.pointless(self.game.to_play)

    def decide(
        self,
        plan: Plan,
        tree: Tree,
        root: Root,
        policy: Policy | None = None,
        gumbel: GumbelRoot | None = None,
    ) -> None:
        """Play the move of a finished search. policy: the root's, needed for the surprise. gumbel: see `Plan`."""
        color, side, generator = self.game.to_play, self._side, self.generator
        found = root_moves(tree, root, plan.params)
        if plan.effort is Effort.HANDICAP:
            self._place_handicap(found.without_passes().choose(1.0, generator))
            return
        if plan.effort is Effort.FORK:
            choices, self._fork_choices = self._fork_choices, 0
            self._play(Ply(color, found.without_passes().favorite_of(choices, generator), plan.effort))
            return
        if plan.effort is Effort.OPENING:
            self._opening_left -= 1
            found = found.without_passes()
            self._play(Ply(color, found.choose(self._settings.opening_temperature, generator), plan.effort))
            return
        visits = int(tree.nodes[ROOT]["visits"])
        self._watch_for_resignation(color, (1 + for_color(float(tree.nodes[ROOT]["value"]), color)) / 2)
        temperature = self._settings.temperature_at(self.game.move_number, side)
        if gumbel is None:
            vertex, spread = found.choose(temperature, generator), found.spread(1.0, side, side)
        else:
            vertex, spread = gumbel.chosen_move(), RootMoves(*gumbel.target()).spread(1.0, side, side)
        target = None
        if plan.effort is Effort.FULL and not self._is_decided:
            tempers = self._settings.tempers_targets and gumbel is None
            target = found.spread(temperature, side, side) if tempers else spread
        surprised = plan.effort in (Effort.FULL, Effort.QUICK) and not self._is_decided
        amount = surprise(spread, policy) if policy is not None and surprised else 0.0
        value_and_score = float(tree.nodes[ROOT]["value"]), float(tree.nodes[ROOT]["score"])
        raw, void = (float(tree.nodes[ROOT][name]) for name in ("raw_value", "raw_no_result"))
        chances = (1 - void + raw) / 2, (1 - void - raw) / 2, void
        self._play(Ply(color, vertex, plan.effort, target, spread, visits, value_and_score, amount, chances))

    def _place_handicap(self, vertex: int) -> None:
        """Set up a handicap stone; White is to play after the last one, or if there is no point for another one."""
        self._handicap_left = 0 if vertex == PASS else self._handicap_left - 1
        stones = [] if vertex == PASS else [vertex]
        self.game.setup(stones, to_play=BLACK if self._handicap_left else WHITE)

    def _watch_for_resignation(self, color: int, winrate: float) -> None:
        """Count the hopeless turns of a side, and note the first side that would resign.

        The game is played on, because only its end shows the score and the owners of all points.
        """
        settings = self._settings
        is_late = self.game.move_number >= settings.earliest_resignation(self._side)
        if is_late:
            self._winrates[color].append(winrate)
        hopeless = is_late and winrate < settings.resign_threshold
        self._hopeless[color] = self._hopeless[color] + 1 if hopeless else 0
        if self._hopeless[color] >= settings.resign_turns:
            self._resigned = self._resigned or color

    @property
    def _is_decided(self) -> bool:
        return self._may_be_decided and self._resigned is not None

    def _play(self, ply: Ply) -> None:
        self.game.play(ply.color, ply.vertex)
        self.plies.append(ply)
        self._referee.watch()
        self._end_if_over()

    def _end_if_over(self) -> None:
        referee, resigned = self._referee, self._resigned
        if not referee.is_over:
            return
        result = referee.result()
        text = VOID if result.score is None else format_score(result.score)
        false_resign = None
        if resigned is not None and not self._is_decided:
            false_resign = result.winner != opponent(resigned)
        self.ending = Ending(result, text, self._is_decided, referee.unfinished, false_resign)

    def write_samples(self, writer: SampleWriter, game_hash: int) -> int:
        """Add the samples of a finished game, and return their number.

        The distribution of a search is the reply target of the move before it.
        """
        assert self.ending is not None
        # Replayed, because keeping every encoded position until the end would take far more memory than the moves.
        replayed = self._start()
        count = 0
        later, copies, surprises = self._later(), self._copies(game_hash), self._settings.weighs_surprise
        for index, ply in enumerate(self.plies):
            weight = self._settings.quick_weight if ply.effort is Effort.QUICK and not surprises else 1.0
            for _ in range(copies[index]):
                following = self.plies[index + 1] if index + 1 < len(self.plies) else None
                writer.add(
                    replayed,
                    ply.color,
                    ply.spread if surprises and ply.target is None else ply.target,
                    game_hash=game_hash,
                    reply=following.spread if following is not None and following.color != ply.color else None,
                    weights=dict.fromkeys(_NOT_POLICY, weight),
                    later=None if later is None else for_side(later[index], ply.color),
                    **self.ending.result.targets(ply.color),
                )
                count += 1
            replayed.play(ply.color, ply.vertex, lenient=True)
        return count

    def _copies(self, seed: int) -> list[int]:
        """Return how often the position before each ply is recorded."""
        settings = self._settings
        if not settings.weighs_surprise:
            weighs_quick = settings.quick_weight > 0
            return [int(ply.target is not None or (ply.effort is Effort.QUICK and weighs_quick)) for ply in self.plies]
        is_full = np.array([ply.target is not None for ply in self.plies], dtype=np.bool_)
        surprises = np.array([ply.surprise for ply in self.plies])
        share, value_share = settings.surprise_share, settings.value_surprise_share
        weights = sample_weights(
            is_full, surprises, share, self._value_surprises() if value_share else None, value_share
        )
        return [int(each) for each in drawn_copies(weights, np.random.default_rng(seed))]

    def _later(self) -> Rows | None:
        """Return the targets of the near future of all plies, None if they are not recorded."""
        return self._future() if self._settings.records_later else None

    def _future(self) -> Rows:
        """Return what came of each ply at three horizons, see `later_targets`."""
        assert self.ending is not None
        return later_targets([ply.found for ply in self.plies], self.ending.result, self._side**2)

    def _value_surprises(self) -> Floats:
        """Return the surprise of the network's value by the nearest future of each ply; 0 without a search."""
        nearest = self._future()[:, -1, :-1]  # without the score
        known = zip(nearest, self.plies, strict=True)
        return np.array([0.0 if ply.raw is None else value_surprise(row, ply.raw) for row, ply in known])

    def _start(self) -> Game:
        """Return the game before the first move of self-play."""
        game = self.game.copy()
        for _ in self.plies:
            game.undo()
        return game

    def notes(self) -> list[str]:
        """Return the lowest winrate of the winner in a game that was always to be played in full, if that is wanted.

        With a threshold above it, the winner would have resigned: the lowest bound of `resign_turns` turns in a row.
        """
        if not self._settings.notes_winrates or self._may_be_decided or self.ending is None:
            return []
        rates, turns = self._winrates.get(self.ending.result.winner or EMPTY, []), self._settings.resign_turns
        bounds = [max(rates[first : first + turns]) for first in range(len(rates) - turns + 1)]
        # Rounded down: with this number as the threshold, the winner must not resign.
        return [f"winner's lowest winrate {math.floor(1e6 * min(bounds)) / 1e6:.6f}"] if bounds else []

    def summary(self) -> str:
        """Return a summary for the game's record: each effort with the numbers of its moves."""
        parts = []
        for effort in Effort:
            numbers = [self.first_ply + n for n, ply in enumerate(self.plies, 1) if ply.effort is effort]
            if numbers:
                parts.append(f"{effort.value}={','.join(map(str, numbers))}")
        return " ".join(parts)
