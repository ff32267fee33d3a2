"""Matches between two evaluators, with many games at once in one process, for the gate and for ratings.

Every opening is played twice with colors exchanged. Results are yielded as games end, so that a sequential test can
stop the match. Each side has its own search trees, which it keeps from move to move.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from engine.color import BLACK, EMPTY, WHITE, color_letter, for_color, opponent
from engine.encoders.game_positions import write_position
from engine.errors import GoError
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.records.sgf_writer import write_game
from engine.rules import parse_rules
from engine.scoring import VOID, format_score
from engine.search.batched_search import BatchedDriver, BatchedSearch, Group, Kept
from engine.search.move_choice import choose_vertex
from engine.search.params import ROLLOUT_PARAMS, SearchParams
from engine.search.policy_target import tempered
from engine.search.tree import ROOT
from engine.train.games.referee import Referee
from engine.train.games.selfplay_settings import SelfplaySettings
from engine.vertex import from_policy_index

FIRST, SECOND = range(2)
_SEEDS = 1 << 31
_NODES_PER_VISIT, _SPARE_NODES = 2, 64
_LEAST_CALLS = 2


@dataclass(frozen=True)
class ArenaSettings:
    """Settings of a match.

    size, rules, komi: of every game; komi None for a fair one. games_at_once: their leaves fill a batch.
    opening_moves: drawn from one evaluator's policy at temperature 1; the evaluators alternate between openings.
    temperature: of the choice of moves for the first `temperature_moves` moves, then 0.
    resign_threshold, resign_turns: a side resigns after this many own turns in a row with a winrate below the
        threshold; 0 for never.
    longest: maximum moves of a game, as a multiple of the board's points; then it is counted as it stands.
    """

    size: int = 9
    rules: str = "tromp-taylor"
    komi: float | None = None
    games_at_once: int = 32
    opening_moves: int = 6
    temperature: float = 0.5
    temperature_moves: int = 12
    resign_threshold: float = 0.02
    resign_turns: int = 3
    longest: float = 3.0
    seed: int = 1

    @property
    def fair_komi(self) -> float:
        """The komi of the games."""
        return SelfplaySettings(komi=self.komi).mean_komi(self.size)


@dataclass(frozen=True)
class ArenaPlayer:
    """One side: its evaluator, visits per move, and search parameters; None for the evaluator's defaults."""

    evaluator: Evaluator
    visits: int
    params: SearchParams | None = None
    name: str = ""

    @property
    def search(self) -> SearchParams:
        """The parameters of its searches."""
        plays_out = self.evaluator.attributes.has_first_play
        params = self.params or (ROLLOUT_PARAMS if plays_out else SearchParams())
        return replace(params, prunes_symmetric_moves=False)


@dataclass(frozen=True)
class GameResult:
    """One finished game.

    number: games 2k and 2k + 1 have the same opening; the first player has Black in even games. points: of the first
    player, 1, 0.5 or 0. winner: color, EMPTY for a draw or no result. score: Black-positive, None for a resignation or
    no result. record: SGF on one line.
    """

    number: int
    first_is_black: bool
    points: float
    winner: int
    score: float | None
    moves: int
    text: str
    record: str


def arena(
    settings: ArenaSettings, first: ArenaPlayer, second: ArenaPlayer, games: int
) -> Generator[GameResult, None, None]:
    """Play games 0 to games - 1 and yield each result as the game ends; closing the generator stops the match.

    Equal settings and evaluators give equal games. Raises GoError on rules that score territory.
    """
    if not parse_rules(settings.rules).is_area:
        raise GoError(f"rules {settings.rules!r}: expected rules that score area")
    with closing(_Arena(settings, (first, second), games)) as match:
        yield from match.play()


def draw_openings(settings: ArenaSettings, evaluators: Sequence[Evaluator], count: int) -> list[Game]:
    """Return games after opening moves drawn from the policies of alternating evaluators, without passes."""
    games = [Game(settings.size, rules=parse_rules(settings.rules), komi=settings.fair_komi) for _ in range(count)]
    generators = [np.random.default_rng([settings.seed, number]) for number in range(count)]
    for turn, evaluator in enumerate(evaluators):
        mine = range(turn, count, len(evaluators))
        room = evaluator.attributes.max_batch
        for begin in range(0, len(mine), room):
            _draw_moves(settings, evaluator, [(games[each], generators[each]) for each in mine[begin : begin + room]])
    return games


def _draw_moves(
    settings: ArenaSettings, evaluator: Evaluator, games: Sequence[tuple[Game, np.random.Generator]]
) -> None:
    size = settings.size
    positions, out = PositionBatch(len(games), size, size), Evaluation(len(games), size, size)
    for _ in range(settings.opening_moves):
        for row, (game, _) in enumerate(games):
            write_position(game, game.to_play, positions, row)
        evaluator.evaluate(positions, len(games), out)
        for row, (game, generator) in enumerate(games):
            policy = out.policy[row].astype(np.float64)
            policy[-1] = 0.0  # an opening has no passes
            if policy.any():
                index = int(generator.choice(len(policy), p=tempered(policy, 1.0)))
                game.play(game.to_play, from_policy_index(index, size, size))


class _GameInProgress:
    """A game in progress."""

    def __init__(self, settings: ArenaSettings, number: int, game: Game) -> None:
        self.number, self.game = number, game
        self.generator = np.random.default_rng([settings.seed, number // 2, number % 2])
        self.referee = Referee(game, max(1, round(settings.longest * settings.size**2)), ends_settled=True)
        self.hopeless = {BLACK: 0, WHITE: 0}
        self.resigned: int | None = None

    @property
    def is_over(self) -> bool:
        return self.referee.is_over or self.resigned is not None

    @property
    def first_is_black(self) -> bool:
        return self.number % 2 == 0

    def side(self) -> int:
        """Return the player to move, FIRST or SECOND."""
        return FIRST if (self.game.to_play == BLACK) == self.first_is_black else SECOND


class _Arena:
    def __init__(self, settings: ArenaSettings, players: tuple[ArenaPlayer, ArenaPlayer], games: int) -> None:
        self._settings, self._players, self._games = settings, players, games
        self._openings = draw_openings(settings, [player.evaluator for player in players], -(-games // 2))
        self._next = 0
        count = max(1, min(settings.games_at_once, games))
        self._searches = [self._new_search(player, count) for player in players]
        room = min(player.evaluator.attributes.max_batch for player in players)
        # At least two groups: one's moves are played while the other's leaves are evaluated.
        groups = min(count, max(_LEAST_CALLS, -(-count // room)))
        of_group = [range(first, count, groups) for first in range(groups)]
        self._trees = [tree for trees in of_group for tree in trees]
        sides = list(enumerate(self._searches))
        self._driver = BatchedDriver(
            [Group(search, trees, partial(self._move, side)) for trees in of_group for side, search in sides]
        )
        self._playing: dict[int, _GameInProgress] = {}
        self._finished: list[GameResult] = []

    def _new_search(self, player: ArenaPlayer, count: int) -> BatchedSearch:
        settings = self._settings
        game = Game(settings.size, rules=parse_rules(settings.rules))
        nodes, rave = _NODES_PER_VISIT * player.visits + _SPARE_NODES, player.search.rave_bias > 0
        most_moves = max(1, round(settings.longest * settings.size**2))
        return BatchedSearch(
            player.evaluator, game, count, nodes, most_moves=most_moves, kept=Kept(rave), seed=settings.seed
        )

    def play(self) -> Iterator[GameResult]:
        """Play all games and yield each result."""
        for tree in self._trees:
            self._start_game(tree)
        while self._playing or self._finished:
            self._driver.run(lambda: bool(self._finished))
            while self._finished:
                yield self._finished.pop(0)

    def _start_game(self, tree: int) -> None:
        """Start the next game in a tree, if there is one."""
        while self._next < self._games:
            number, self._next = self._next, self._next + 1
            current = _GameInProgress(self._settings, number, self._openings[number // 2].copy())
            if not current.is_over:
                self._playing[tree] = current
                self._search(tree)
                return
            self._finish(current)

    def _search(self, tree: int) -> None:
        """Start the search for the side to move."""
        current = self._playing[tree]
        game, side = current.game, current.side()
        player, search = self._players[side], self._searches[side]
        search.begin(tree, game, game.to_play, avoid=current.referee.pointless(game.to_play))
        seed = int(current.generator.integers(_SEEDS))
        search.start(tree, player.search, player.visits, seed, current.generator)

    def _move(self, side: int, tree: int) -> None:
        """Play the move of a finished search or resign; then start the next search or the next game."""
        current, settings = self._playing[tree], self._settings
        game, search = current.game, self._searches[side]
        color, root = game.to_play, search.trees[tree].nodes[ROOT]
        hopeless = (1 + for_color(float(root["value"]), color)) / 2 < settings.resign_threshold
        current.hopeless[color] = current.hopeless[color] + 1 if hopeless else 0
        if hopeless and current.hopeless[color] >= settings.resign_turns:
            current.resigned = color
        else:
            temperature = settings.temperature if game.move_number < settings.temperature_moves else 0.0
            params = self._players[side].search
            game.play(
                color, choose_vertex(search.trees[tree], search.roots[tree], params, temperature, current.generator)
            )
            current.referee.watch()
        if current.is_over:
            del self._playing[tree]
            self._finish(current)
            self._start_game(tree)
        else:
            self._search(tree)

    def _finish(self, current: _GameInProgress) -> None:
        game, score = current.game, None
        if current.resigned is not None:
            winner, text = opponent(current.resigned), f"{color_letter(opponent(current.resigned))}+R"
        else:
            result = current.referee.result()
            score, winner = result.score, EMPTY if result.winner is None else result.winner
            text = VOID if score is None else format_score(score)
        own = BLACK if current.first_is_black else WHITE
        points = 0.5 if winner == EMPTY else float(winner == own)
        names = [player.name for player in self._players]
        black, white = names if current.first_is_black else names[::-1]
        record = write_game(game, result=text, black=black, white=white, round_name=str(current.number))
        moves, flat = game.move_number, " ".join(record.split())
        self._finished.append(
            GameResult(current.number, current.first_is_black, points, winner, score, moves, text, flat)
        )

    def close(self) -> None:
        """Stop the searches' threads."""
        self._driver.close()
