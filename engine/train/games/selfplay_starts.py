"""Draws the start of self-play games: board size, rules, komi and position.

Everything is drawn from the game's own random generator, so that a game does not depend on the games beside it.
"""

from collections.abc import Collection, MutableSequence, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from engine.errors import BadSgf, GoError
from engine.game import Game
from engine.records.sgf import Record, load_sgf
from engine.records.sgf_source import iterate_records
from engine.rules import Rules, parse_rules
from engine.train.data.held_out import is_held_out
from engine.train.games.selfplay_settings import SelfplaySettings
from engine.vertex import PASS

# Share of a record's moves after which no game starts, because there is little left to learn.
_LATEST = 0.8
_TRIES = 8
# KataGo (cpp/configs/training): 0.04 of 0.05 forks are early, after 0.025 moves a point of the board on average; the
# move is the best of 3 to 12 random ones, of 3 to 36 in later forks.
_EARLY_FORKS, _EARLY_MOVES = 0.8, 0.025
_FORK_CHOICES = (3, 12, 36)


# Most handicap stones as a share of the board's points: with more, a small board is decided, or has no liberty left.
_MOST_HANDICAP = 1 / 3


class Kind(tuple[int, str, float]):
    """What all games of one search share: (side, rules as text, Black's advantage in playouts, see `doubling`)."""

    @property
    def side(self) -> int:
        """The side of the board."""
        return self[0]

    @property
    def rules(self) -> Rules:
        """The rules."""
        return parse_rules(self[1])

    @property
    def doubling(self) -> float:
        """Black's visits divided by White's, as a logarithm to base 2."""
        return self[2]

    def new_game(self, komi: float) -> Game:
        """Return a game at its start; under rules that score territory, with clean-up phases."""
        return Game(self.side, rules=self.rules, komi=komi, encore=not self.rules.is_area)


def generator_of(seed: int, number: int) -> np.random.Generator:
    """Return the random generator of one game."""
    return np.random.default_rng([seed, number])


def draw_kind(settings: SelfplaySettings, generator: np.random.Generator) -> Kind:
    """Draw the board size and the rules of a game."""
    weights = np.array(settings.size_weights or [1.0] * len(settings.sizes))
    side = int(generator.choice(settings.sizes, p=weights / weights.sum()))
    rules, doubling = settings.rules[int(generator.integers(len(settings.rules)))], 0.0
    if settings.asymmetric_share > 0 and generator.random() < settings.asymmetric_share:
        doubling = settings.doubling * float(generator.choice((1, -1)))
    return Kind((side, rules, doubling))


class GameQueue:
    """Hands out the numbers of the games of each kind, in ascending order and each once.

    kinds: all kinds of games. Queues in several processes can share counters and a lock; then no two of them hand
    out the same number.
    """

    def __init__(
        self,
        settings: SelfplaySettings,
        seed: int,
        games: int | None,
        done: Collection[int],
        counters: MutableSequence[int] | None = None,
        lock: AbstractContextManager[Any] | None = None,
    ) -> None:
        """games: the number of games, None for no end. done: numbers to skip. counters: for each kind, initially 0."""
        weights = settings.size_weights or (1.0,) * len(settings.sizes)
        sides = [side for side, weight in zip(settings.sizes, weights, strict=True) if weight > 0]
        # Without kinds that are never drawn: an endless run would look for their next game forever.
        unequal = [settings.doubling, -settings.doubling] if settings.asymmetric_share > 0 else []
        doublings = unequal if settings.asymmetric_share == 1 else [0.0, *unequal]
        kinds = product(sides, settings.rules, doublings)
        self.kinds = list(dict.fromkeys(Kind(each) for each in kinds))
        self._settings, self._seed, self._games, self._done = settings, seed, games, done
        self._counters = [0] * len(self.kinds) if counters is None else counters
        self._lock = lock or nullcontext()

    def first(self, kind: Kind) -> int | None:
        """Return the number of the next game of a kind without taking it; None if there is none."""
        with self._lock:
            return self._found(self.kinds.index(kind))

    def take(self, kind: Kind) -> int | None:
        """Take the number of the next game of a kind, None if there is none."""
        place = self.kinds.index(kind)
        with self._lock:
            number = self._found(place)
            if number is not None:
                self._counters[place] = number + 1
            return number

    # The kind of a game follows from its number alone, so each kind scans the numbers and needs no list of them.
    def _found(self, place: int) -> int | None:
        number = self._counters[place]
        while self._games is None or number < self._games:
            self._counters[place] = number
            if number not in self._done and self._kind(number) == self.kinds[place]:
                return number
            number += 1
        return None

    def _kind(self, number: int) -> Kind:
        return draw_kind(self._settings, generator_of(self._seed, number))


def draw_komi(settings: SelfplaySettings, side: int, generator: np.random.Generator) -> float:
    """Draw the komi of a game in half points, bounded by the number of points of the board."""
    is_wide = generator.random() < settings.komi_wide_share
    stdev = settings.wide_stdev(side) if is_wide else settings.komi_stdev
    komi = round(2 * generator.normal(settings.mean_komi(side), stdev)) / 2
    return float(np.clip(komi, -side * side, side * side))


class Starts:
    """The records from which games start, without held-out games. Raises GoError if none can be read."""

    def __init__(self, sources: Sequence[str]) -> None:
        self._records: dict[int, list[Record]] = {}
        unreadable = held_out = 0
        for name, data in iterate_records(map(Path, sources)):
            if is_held_out(data):
                held_out += 1
                continue
            try:
                record = load_sgf(data, name=name)
            except BadSgf:
                unreadable += 1
                continue
            if record.width == record.height:
                self._records.setdefault(record.width, []).append(record)
        if sources and not self._records:
            raise GoError(
                f"starts: no record of a square board in {' '.join(sources)}, {unreadable} unreadable, "
                f"{held_out} held out"
            )

    def draw(self, kind: Kind, komi: float, generator: np.random.Generator, moves: float | None = None) -> Game | None:
        """Return a game at a random position of a random record, or None if there is none for this board size.

        moves: the mean number of its moves, exponentially distributed; None for all alike but the last ones.
        """
        records = self._records.get(kind.side, [])
        for _ in range(_TRIES if records else 0):
            record = records[int(generator.integers(len(records)))]
            last = int(_LATEST * len(record.moves))
            number = int(generator.integers(last + 1)) if moves is None else int(generator.exponential(moves))
            try:
                game = record.game(1 + min(number, last), rules=kind.rules, komi=komi)
            except BadSgf:
                # The record may be illegal under these rules; another one is drawn.
                continue
            if not kind.rules.is_area:
                if any(move.vertex == PASS for move in game.moves):
                    continue
                game.encore = True
            if not game.is_over:
                return game
        return None


class Start(NamedTuple):
    """The start of a game. fork_choices: random moves of which the policy's favorite comes first, 0 for no such move.

    handicap: stones that the policy places before the first move.
    """

    game: Game
    fork_choices: int = 0
    handicap: int = 0


def draw_start(
    settings: SelfplaySettings, kind: Kind, starts: Starts, forks: Starts, generator: np.random.Generator
) -> Start:
    """Draw how a game starts: as a fork of an earlier game, with a handicap, or plainly."""
    if settings.fork_share > 0 and generator.random() < settings.fork_share:
        is_early = generator.random() < _EARLY_FORKS
        least, early, late = _FORK_CHOICES
        choices = int(generator.integers(least, (early if is_early else late) + 1))
        moves = _EARLY_MOVES * kind.side**2 if is_early else None
        game = forks.draw(kind, draw_komi(settings, kind.side, generator), generator, moves)
        if game is not None:
            return Start(game, fork_choices=choices)
    if settings.handicap_share > 0 and generator.random() < settings.handicap_share:
        most = min(settings.handicap_stones, max(1, int(_MOST_HANDICAP * kind.side**2)))
        stones, komi = int(generator.integers(1, most + 1)), draw_komi(settings, kind.side, generator)
        if generator.random() < settings.handicap_fair_share:
            # Komi is half the worth of the first move, so a stone is worth twice as much; the first is Black's move.
            komi = min(komi + 2 * (stones - 1) * settings.mean_komi(kind.side), float(kind.side**2))
        return Start(kind.new_game(round(2 * komi) / 2), handicap=stones)
    return Start(draw_game(settings, kind, starts, generator))


def draw_game(settings: SelfplaySettings, kind: Kind, starts: Starts, generator: np.random.Generator) -> Game:
    """Draw the initial position of a game."""
    komi = draw_komi(settings, kind.side, generator)
    game = None
    if generator.random() < settings.starts_share:
        game = starts.draw(kind, komi, generator)
    return game or kind.new_game(komi)


def draw_opening_moves(settings: SelfplaySettings, side: int, generator: np.random.Generator) -> int:
    """Draw the number of opening moves that are played by the policy alone."""
    return int(generator.exponential(settings.opening_share * side * side))
