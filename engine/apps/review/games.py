"""Finds the records to review and prepares each game: its rules, its positions, the names of its files."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.color import BLACK, WHITE
from engine.errors import GoError
from engine.game import Game
from engine.records.sgf import Record, load_sgf
from engine.records.sgf_source import is_source, iterate_records, read_file
from engine.records.sgf_writer import format_ru
from engine.rules import Rules, parse_rules, rules_name

_RESERVED = {"index", "settings", "ranks"}
"""Names of files in the folder of a review that are not a game's."""
_NO_TEXT = re.compile("[\udc80-\udcff]")
_LONGEST = 200
"""Bytes of a file's name without what is added to it; most file systems allow 255."""
_ASSUMED_RULES = "chinese"
"""For records without rules: dead stones need not be captured, as players leave them."""


@dataclass(frozen=True, eq=False)
class ReviewGame:
    """A game to review.

    id: the path of its record, relative to the folder that was given. stem: path of its files in the folder of the
    review, without suffix; no other game has it. data: the bytes of the record. rules, komi: the record's, or assumed.
    """

    id: str
    stem: str
    data: bytes
    record: Record
    rules: Rules
    komi: float

    @property
    def sha256(self) -> str:
        """Hash of the record."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def name(self) -> dict[int, str]:
        """The players' names by color."""
        return {BLACK: self.record.black or "Black", WHITE: self.record.white or "White"}

    @property
    def rank(self) -> dict[int, str]:
        """The players' ranks by color, "" where the record has none."""
        return {BLACK: self.record.about.get("BR", ""), WHITE: self.record.about.get("WR", "")}

    @property
    def rules_name(self) -> str:
        """The name of the rules, or their description where they have none."""
        return rules_name(self.rules) or format_ru(self.rules)

    @property
    def assumed(self) -> tuple[str, ...]:
        """The names of what the record does not say."""
        missing = {"rules": self.record.rules is None, "komi": self.record.komi is None}
        return tuple(name for name, is_missing in missing.items() if is_missing)

    def positions(self) -> Iterator[Game]:
        """Yield the game before each move and at its end. It is one game that changes."""
        return self.record.positions(rules=self.rules, komi=self.komi)

    def colors_of(self, player: str | None) -> tuple[int, ...]:
        """Return the colors to report on: all without a player, else those that the player has."""
        return tuple(color for color, name in self.name.items() if player is None or same_name(name, player))


def same_name(one: str, other: str) -> bool:
    """True if two names are the same but for case and spaces around them."""
    return one.strip().casefold() == other.strip().casefold()


def find_games(sources: Sequence[Path], out: Path, broken: Callable[[str], None]) -> list[ReviewGame]:
    """Load all games of the files and folders that `engine.records.sgf_source.iterate_records` reads.

    out: the folder of the review, whose own records are left out. broken: called with one line for each file that
    cannot be read. Raises GoError for a source in that folder, where the review would replace it.
    """
    games: list[ReviewGame] = []
    ids, stems = _Names(()), _Names(_RESERVED)
    for name, path in _files(sources, out):
        stem = _short(str(Path(name).with_suffix("")))
        for label, data in iterate_records([path], lambda error: broken(" ".join(str(error).split()))):
            number = label.removeprefix(path.name)  # of one of several games
            try:
                game = _game_of(ids.unused(name + number, Path(name).suffix + number), f"{path}{number}", data)
                games.append(ReviewGame(**(vars(game) | {"stem": stems.unused(stem)})))
            except GoError as error:
                broken(" ".join(str(error).split()))
    return games


def load_game(name: str, path: Path) -> ReviewGame:
    """Load the first game of a file and play it once. Raises GoError for what cannot be read or played."""
    return _game_of(name, str(path), read_file(path))


def _game_of(name: str, called: str, data: bytes) -> ReviewGame:
    """Return the game of a record. called: its name in messages. Raises GoError if it cannot be read or played."""
    record = load_sgf(data, name=called)
    komi = record.usual_komi if record.komi is None else record.komi
    rules = record.rules or parse_rules(_ASSUMED_RULES)
    game = ReviewGame(name, str(Path(name).with_suffix("")), data, record, rules, komi)
    for _ in game.positions():  # raises BadSgf at a move that cannot be played
        pass
    return game


def _files(sources: Iterable[Path], out: Path) -> Iterator[tuple[str, Path]]:
    """Yield (name relative to the source, path) of every record, in a fixed order, each file once."""
    seen, own = set(), out.resolve()
    for source in sources:
        if own in (source.resolve(), *source.resolve().parents):
            raise GoError(f"{source}: the review's own files would replace records in {out}: choose another --out")
        found = sorted(source.rglob("*")) if source.is_dir() else [source]
        for path in found:
            real = path.resolve()
            if source.is_dir() and (not is_source(path) or own in real.parents):
                continue
            if real not in seen:
                seen.add(real)
                name = (path.relative_to(source) if source.is_dir() else Path(path.name)).as_posix()
                # Bytes that are no UTF-8, as in the names of old archives, are in no page and no file.
                yield _NO_TEXT.sub(lambda byte: f"_x{ord(byte[0]) - 0xDC00:02x}", name), path


def _short(stem: str) -> str:
    """Return a path whose names leave room for a number and the name of a draft."""
    return "/".join(part.encode("utf-8")[:_LONGEST].decode("utf-8", "ignore") for part in stem.split("/"))


class _Names:
    """Names that are taken; they ignore case."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        # A file of thousands of games gives as many the same name.
        self._numbers: dict[str, int] = {}

    def unused(self, name: str, suffix: str = "") -> str:
        """Return a name that is not taken, with a number before its suffix if needed, and take it."""
        stem, free = name.removesuffix(suffix), name
        number = self._numbers.get(name.casefold(), 1)
        while free.casefold() in self._taken:
            number += 1
            free = f"{stem}-{number}{suffix}"
        self._numbers[name.casefold()] = number
        self._taken.add(free.casefold())
        return free
