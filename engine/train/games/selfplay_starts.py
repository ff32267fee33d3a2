"""How the games of self-play begin: which board, rules and komi, and from which position.

All of it is drawn from the game's own random numbers, so that a game is the same in whatever company it is played.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from engine.errors import BadSgf, GoError
from engine.game import Game
from engine.rules import Rules, parse_rules
from engine.sgf import Record, iterate_sgfl, load_sgf
from engine.sgf_source import read_file
from engine.train.games.selfplay_settings import SelfplaySettings

_COLLECTIONS = (".sgfl", ".sgfl.bz2")
_LATEST = 0.8
"""Share of a record's moves after which no game starts: there is little left to learn."""
_TRIES = 8


class Kind(tuple[int, str]):
    """What the games of one forest have in common: (side of the board, rules as text)."""

    @property
    def side(self) -> int:
        """Side of the board."""
        return self[0]

    @property
    def rules(self) -> Rules:
        """The rules in force."""
        return parse_rules(self[1])


def generator_of(seed: int, number: int) -> np.random.Generator:
    """Return the random numbers of one game."""
    return np.random.default_rng([seed, number])


def draw_kind(settings: SelfplaySettings, generator: np.random.Generator) -> Kind:
    """Return the board and the rules of a game."""
    weights = np.array(settings.size_weights or [1.0] * len(settings.sizes))
    side = int(generator.choice(settings.sizes, p=weights / weights.sum()))
    return Kind((side, settings.rules[int(generator.integers(len(settings.rules)))]))


def draw_komi(settings: SelfplaySettings, side: int, generator: np.random.Generator) -> float:
    """Return the komi of a game, in half points; never more than the board has points."""
    is_wide = generator.random() < settings.komi_wide_share
    stdev = settings.wide_stdev(side) if is_wide else settings.komi_stdev
    komi = round(2 * generator.normal(settings.mean_komi(side), stdev)) / 2
    return float(np.clip(komi, -side * side, side * side))


class Starts:
    """The records that games start from. Raises GoError where there is none that can be read."""

    def __init__(self, sources: Sequence[str]) -> None:
        self._records: dict[int, list[Record]] = {}
        unreadable = 0
        for name, data in _texts(sources):
            try:
                record = load_sgf(data, name=name)
            except BadSgf:
                unreadable += 1
                continue
            if record.width == record.height:
                self._records.setdefault(record.width, []).append(record)
        if sources and not self._records:
            raise GoError(f"starts: no record of a square board in {' '.join(sources)}, {unreadable} unreadable")

    def draw(self, kind: Kind, komi: float, generator: np.random.Generator) -> Game | None:
        """Return a game at a random position of a random record, or None where there is none for such boards."""
        records = self._records.get(kind.side, [])
        for _ in range(_TRIES if records else 0):
            record = records[int(generator.integers(len(records)))]
            last = int(_LATEST * len(record.moves))
            try:
                game = record.game(1 + int(generator.integers(last + 1)), rules=kind.rules, komi=komi)
            except BadSgf:
                continue
            if not game.is_over:
                return game
        return None


def draw_game(settings: SelfplaySettings, kind: Kind, starts: Starts, generator: np.random.Generator) -> Game:
    """Return a game as it stands before self-play takes over."""
    komi = draw_komi(settings, kind.side, generator)
    game = None
    if generator.random() < settings.starts_share:
        game = starts.draw(kind, komi, generator)
    return game or Game(kind.side, rules=kind.rules, komi=komi)


def draw_opening_moves(settings: SelfplaySettings, side: int, generator: np.random.Generator) -> int:
    """Return how many moves are to be drawn from the policy."""
    return int(generator.exponential(settings.opening_share * side * side))


def _texts(sources: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield name and text of every record. Raises GoError where a source cannot be read."""
    for source in map(Path, sources):
        paths = sorted(source.rglob("*")) if source.is_dir() else [source]
        for path in paths:
            if path.name.endswith(_COLLECTIONS):
                yield from ((f"{path.name}:{line}", text) for line, text in enumerate(iterate_sgfl(path), 1))
            elif path.suffix == ".sgf" or not source.is_dir():
                yield path.name, read_file(path)
