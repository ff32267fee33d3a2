"""Games as SGF: the game itself as the main line, the other ways as its variations; and the file that keeps them.

What the engine thinks of a position is the last line of its comment, and is read again.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from itertools import chain, count, takewhile
from pathlib import Path

from engine.apps.web.facts import Opinion
from engine.apps.web.line import Line
from engine.apps.web.settings import GameSettings, Sitting
from engine.color import BLACK, WHITE
from engine.errors import BadSgf
from engine.records.sgf import Record, lines_of_play, load_sgf
from engine.records.sgf_writer import Variation, write_game
from engine.support.files import write_atomically

MOST_WAYS = 100
"""Variations of a record that are read; a file may have thousands."""
_OPINION = re.compile(r"(?:^|\n)Black (?P<winrate>\d+\.\d)%(?:, (?P<lead>[+-]\d+\.\d))?$")


def read_ways(text: bytes) -> tuple[Record, list[Line]]:
    """Return the main line of a record, and all its ways that begin alike and can be played, the main one first.

    Raises BadSgf where the main line cannot be read or played.
    """
    record = load_sgf(text, name="the record")
    ways = [_line(record)]
    for line in lines_of_play(text, MOST_WAYS)[1:]:
        with suppress(BadSgf):
            other = load_sgf(line)
            if other.setups == record.setups:
                way = _line(other)
                way.began = max(_shared(way, known) for known in ways)
                way.go_to(0)  # a game keeps a board for each move that it shows
                if way.began < len(way.moves):
                    ways.append(way)
    return record, ways


def _line(record: Record) -> Line:
    """Return the main line of a record. Raises BadSgf."""
    line = Line(record.game())
    before = len(record.moves) - len(line.moves)  # stones set up after a move begin a new game
    for number, comment in record.comments.items():
        opinion = _OPINION.search(comment)
        if opinion is not None:
            lead = None if opinion["lead"] is None else float(opinion["lead"])
            line.opinions[number - before] = Opinion(float(opinion["winrate"]) / 100, lead)
        if note := comment[: opinion.start() if opinion else None]:
            line.notes[number - before] = note
    return line


def _comments(line: Line) -> dict[int, str]:
    """Return what is said of positions: by the record that they came from, and by the engine."""
    said = {number: [note] for number, note in line.notes.items()}
    for number, opinion in line.opinions.items():
        lead = "" if opinion.lead is None else f", {opinion.lead:+.1f}"
        said.setdefault(number, []).append(f"Black {opinion.winrate:.1%}{lead}")
    return {number: "\n".join(each) for number, each in said.items()}


def _shared(one: Line, other: Line) -> int:
    """Return how many moves two ways have in common."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one.moves, other.moves, strict=False)))


def write_ways(ways: Sequence[Line], settings: GameSettings, engine: str, began: datetime) -> str:
    """Return a game with its other ways, and what is said of positions. engine: the name of the one that plays."""
    game = ways[0]
    comments = _comments(game)
    names = {
        color: engine if who is Sitting.ENGINE else settings.people.get(color) or "Person"
        for color, who in settings.sittings.items()
    }
    return write_game(
        game.at(len(game.moves)),
        result=game.result,
        black=names[BLACK],
        white=names[WHITE],
        about={"DT": f"{began:%Y-%m-%d}"} if settings.about is None else settings.about,
        comment=comments.get(0, ""),
        move_comments=comments,
        variations=[Variation(way.moves, _comments(way)) for way in ways[1:]],
    )


class GameFile:
    """Where one game is saved: a file with a name of its own, made when there is something to save."""

    def __init__(self, folder: Path | None) -> None:
        """folder: None to save nothing."""
        self.began = datetime.now()
        self._folder = folder
        self._path: Path | None = None

    @property
    def name(self) -> str:
        """The name that the file has, if no other one has it."""
        return f"keima-{self.began:%Y%m%d-%H%M%S}.sgf"

    def save(self, text: str) -> None:
        """Write the game as it is now. Raises OSError."""
        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        if self._path is None:
            stem = self.name.removesuffix(".sgf")
            names = chain([self.name], (f"{stem}-{number}.sgf" for number in count(2)))
            self._path = next(path for path in map(self._folder.joinpath, names) if not path.exists())
        write_atomically(self._path, text)
