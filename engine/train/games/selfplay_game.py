"""One game of self-play: plans the search of each move, plays the move, ends the game and makes its samples.

Knows neither other games nor batches. A game has its own random generator, so that it does not depend on the games
beside it.
"""

from dataclasses import replace
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.color import BLACK, WHITE, for_color, opponent
from engine.game import Game
from engine.scoring import VOID, format_score
from engine.search.params import SearchParams
from engine.search.policy_target import root_moves
from engine.search.position import Root
from engine.search.tree import ROOT, Tree
from engine.train.data.samples import SampleWriter
from engine.train.data.targets import FinalResult
from engine.train.games.later_targets import Rows, for_side, later_targets
from engine.train.games.referee import Referee
from engine.train.games.selfplay_settings import SelfplaySettings
from engine.train.games.selfplay_starts import Kind, Starts, draw_game, draw_opening_moves
from engine.train.teaching.hints import Adviser, Exploration

Policy = NDArray[np.float32]
_SEEDS = 1 << 31
_NOT_POLICY = ("reply", "outcome", "score", "ownership")


class Effort(Enum):
    """How a move is chosen: by the policy alone, a quick or full search, the quicker search of a decided game, or by
    exploration outside of the search.
    """

    OPENING = "opening"
    QUICK = "quick"
    FULL = "full"
    DECIDED = "decided"
    FORCED = "forced"


class Plan(NamedTuple):
    """The search for a move. seed: of the evaluator's random numbers."""

    effort: Effort
    visits: int
    params: SearchParams
    seed: int


class Ply(NamedTuple):
    """One move of the game.

    target: the policy target, None unless the search was full. spread: the distribution of the search at temperature 1,
    None without a search. visits: of the root at the end of the search. found: its value and score, Black-positive.
    """

    color: int
    vertex: int
    effort: Effort
    target: Policy | None = None
    spread: Policy | None = None
    visits: int = 0
    found: tuple[float, float] | None = None


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
        generator: np.random.Generator,
        adviser: Adviser | None = None,
    ) -> None:
        self.number, self.generator = number, generator
        self.ending: Ending | None = None
        self._settings, self._side = settings, kind.side
        self.game = draw_game(settings, kind, starts, generator)
        self.first_ply = self.game.move_number
        self._opening_left = draw_opening_moves(settings, kind.side, generator)
        self._may_be_decided = bool(generator.random() >= settings.no_resign_share)
        self._exploration = Exploration(settings.exploration, generator, adviser, number)
        self.plies: list[Ply] = []
        self._hopeless = {BLACK: 0, WHITE: 0}
        self._resigned: int | None = None
        self._plain = settings.quick_search
        most_moves = settings.most_moves(kind.side)
        self._referee = Referee(self.game, most_moves, ends_settled=settings.ends_settled)
        self._end_if_over()

    @property
    def is_over(self) -> bool:
        """Whether the game has ended."""
        return self.ending is not None

    def plan(self) -> Plan | None:
        """Play due exploratory moves, and return the search for the next move; None if the game is over."""
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
            return Plan(Effort.QUICK, settings.quick_visits, self._plain, seed)
        params = replace(
            self._plain,
            adds_noise=True,
            noise_fraction=settings.noise_fraction,
            noise_concentration=settings.noise_concentration,
            forced_playouts=settings.forced_playouts,
            early_root_policy_temperature=0.0,
            root_policy_temperature=settings.root_temperature_at(self.game.move_number, self._side),
        )
        return Plan(Effort.FULL, settings.full_visits, params, seed)

    def avoid(self) -> NDArray[np.int16] | None:
        """Return the moves that the next search excludes at its root, see `Search.begin`."""
        return self._referee.pointless(self.game.to_play) if self._settings.avoids_settled else None

    def decide(self, plan: Plan, tree: Tree, root: Root) -> None:
        """Play the move of a finished search."""
        color, side, generator = self.game.to_play, self._side, self.generator
        found = root_moves(tree, root, plan.params)
        if plan.effort is Effort.OPENING:
            self._opening_left -= 1
            found = found.without_passes()
            self._play(Ply(color, found.choose(self._settings.opening_temperature, generator), plan.effort))
            return
        visits = int(tree.nodes[ROOT]["visits"])
        self._watch_for_resignation(color, (1 + for_color(float(tree.nodes[ROOT]["value"]), color)) / 2)
        temperature = self._settings.temperature_at(self.game.move_number, side)
        vertex = found.choose(temperature, generator)
        spread = found.spread(1.0, side, side)
        target = None
        if plan.effort is Effort.FULL and not self._is_decided:
            target = found.spread(temperature, side, side) if self._settings.tempers_targets else spread
        value_and_score = float(tree.nodes[ROOT]["value"]), float(tree.nodes[ROOT]["score"])
        self._play(Ply(color, vertex, plan.effort, target, spread, visits, value_and_score))

    def _watch_for_resignation(self, color: int, winrate: float) -> None:
        """Count the hopeless turns of a side, and note the first side that would resign.

        The game is played on, because only its end shows the score and the owners of all points.
        """
        settings = self._settings
        is_late = self.game.move_number >= settings.earliest_resignation(self._side)
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
        later = self._later()
        for index, ply in enumerate(self.plies):
            weight = self._settings.quick_weight if ply.effort is Effort.QUICK else float(ply.target is not None)
            if weight > 0:
                following = self.plies[index + 1] if index + 1 < len(self.plies) else None
                writer.add(
                    replayed,
                    ply.color,
                    ply.target,
                    game_hash=game_hash,
                    reply=following.spread if following is not None and following.color != ply.color else None,
                    weights=dict.fromkeys(_NOT_POLICY, weight),
                    later=None if later is None else for_side(later[index], ply.color),
                    **self.ending.result.targets(ply.color),
                )
                count += 1
            replayed.play(ply.color, ply.vertex, lenient=True)
        return count

    def _later(self) -> Rows | None:
        """Return the targets of the near future of all plies, None if they are not recorded."""
        if not self._settings.records_later:
            return None
        assert self.ending is not None
        return later_targets([ply.found for ply in self.plies], self.ending.result, self._side**2)

    def _start(self) -> Game:
        """Return the game before the first move of self-play."""
        game = self.game.copy()
        for _ in self.plies:
            game.undo()
        return game

    def summary(self) -> str:
        """Return a summary for the game's record: each effort with the numbers of its moves."""
        parts = []
        for effort in Effort:
            numbers = [self.first_ply + n for n, ply in enumerate(self.plies, 1) if ply.effort is effort]
            if numbers:
                parts.append(f"{effort.value}={','.join(map(str, numbers))}")
        return " ".join(parts)
