"""Finds the records to review and prepares each game: its rules, its positions, the names of its files."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from engine.color import BLACK, WHITE
from engine.errors import GoError
from engine.game import Game
from engine.records.sgf import Record, load_sgf
from engine.records.sgf_source import is_source, iterate_records, read_first
from engine.records.sgf_writer import format_ru
from engine.rules import Rules, parse_rules, rules_name
from engine.support.run_folder import parsed_lines

GAMES_FILE = "games.jsonl"
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

    id: the path of its record, relative to the folder that was given, with a number if another game of the review has
    it; a game keeps it in later reviews. stem: path of its files in the folder of the review, without suffix; no other
    game has it. data: the bytes of the record. rules, komi: the record's, or assumed. file: absolute path of the
    record, with its number among several games; "" if it is not known.
    """

    id: str
    stem: str
    data: bytes
    record: Record
    rules: Rules
    komi: float
    file: str = ""

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


@dataclass(frozen=True)
class StoredGame:
    """A game of an earlier command in the same folder, see `ReviewGame`. stem, file: "" if they were not stored."""

    id: str
    sha256: str
    stem: str = ""
    file: str = ""


def stored_games(out: Path) -> dict[str, StoredGame]:
    """Return the games that the folder of a review has, by id. Raises GoError for a line that is none."""

    def parse(line: Mapping[str, str]) -> StoredGame:
        return StoredGame(line["id"], line["sha256"], line.get("stem", ""), line.get("file", ""))

    return {each.id: each for each in parsed_lines(out / GAMES_FILE, parse, "record of a review")}


def find_games(sources: Sequence[Path], out: Path, broken: Callable[[str], None]) -> list[ReviewGame]:
    """Load all games of the files and folders that `engine.records.sgf_source.iterate_records` reads.

    out: the folder of the review, whose own records are left out; games that it has keep their ids. broken: called with
    one line for each file that cannot be read. Raises GoError for a source in that folder, where the review would
    replace it, and for a file that has changed since it was reviewed.
    """
    games: list[ReviewGame] = []
    suffixes: list[str] = []
    for name, path in _files(sources, out):
        for label, data in iterate_records([path], lambda error: broken(" ".join(str(error).split()))):
            number = label.removeprefix(path.name)  # of one of several games
            try:
                game = _game_of(name + number, f"{path}{number}", data)
                stem = _short(str(Path(name).with_suffix("")))
                games.append(replace(game, stem=stem, file=f"{path.resolve()}{number}"))
                suffixes.append(Path(name).suffix + number)
            except GoError as error:
                broken(" ".join(str(error).split()))
    return _named(games, suffixes, stored_games(out), out)


def _named(
    games: Sequence[ReviewGame], suffixes: Sequence[str], stored: Mapping[str, StoredGame], out: Path
) -> list[ReviewGame]:
    """Return games with ids and stems: those that they were stored with, others for new games."""
    found = _found_again(games, stored)
    missing = set(stored) - set(found.values())
    by_file = {stored[each].file: each for each in missing}
    ids = _Names(each.casefold() for each in stored)
    named = []
    for place, (game, suffix) in enumerate(zip(games, suffixes, strict=True)):
        if place in found:
            named.append(replace(game, id=found[place]))
            continue
        # Folders of earlier versions do not say which file a game is from: there the name tells.
        unknown = game.id in missing and not stored[game.id].file
        if game.file in by_file or unknown:
            changed = by_file.get(game.file, game.id)
            raise GoError(f"{changed} has changed since it was reviewed in {out}; use another folder")
        named.append(replace(game, id=ids.unused(game.id, suffix)))
    return _with_stems(named, stored)


def _with_stems(games: Sequence[ReviewGame], stored: Mapping[str, StoredGame]) -> list[ReviewGame]:
    """Return games, which have their ids, with the stems that they were stored with, others for new games."""
    stems = _Names({*_RESERVED, *(each.stem.casefold() for each in stored.values())})
    places, found = {game.id: place for place, game in enumerate(games)}, list(games)
    # Games without a stored stem had theirs in the order of the first review; so have those that are not here now.
    for each in stored.values():
        stem = each.stem or stems.unused(_short(str(Path(each.id).with_suffix(""))))
        if each.id in places:
            found[places[each.id]] = replace(found[places[each.id]], stem=stem)
    for place, game in enumerate(games):
        if game.id not in stored:
            found[place] = replace(game, stem=stems.unused(game.stem))
    return found


def _found_again(games: Sequence[ReviewGame], stored: Mapping[str, StoredGame]) -> dict[int, str]:
    """Return which games are stored, as (place among the games: id): their records are the same, wherever they lie."""
    left: dict[str, list[StoredGame]] = {}
    for each in stored.values():
        left.setdefault(each.sha256, []).append(each)
    found: dict[int, str] = {}
    # Of copies each keeps its own id if it still has its place or its name.
    for is_same in (
        lambda game, other: game.file == other.file,
        lambda game, other: game.id == other.id,
        lambda game, other: True,
    ):
        for place, game in enumerate(games):
            others = left.get(game.sha256, []) if place not in found else []
            same = next((each for each in others if is_same(game, each)), None)
            if same is not None:
                found[place] = same.id
                others.remove(same)
    return found


def load_game(name: str, path: Path) -> ReviewGame:
    """Load the first game of a file and play it once. Raises GoError for what cannot be read or played."""
    return _game_of(name, str(path), read_first(path))


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
    """Names that are taken, in lower case; they ignore case."""

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
