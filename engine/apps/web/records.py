"""Writes and reads game sessions as SGF: the game as main line, other lines of play as variations.

The engine's estimate of a position and its best variation are the last line of its comment, so that they survive saving
and opening.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import chain, count, takewhile
from pathlib import Path

from engine.apps.web.line import Line
from engine.apps.web.settings import GameSettings, PlayerKind
from engine.apps.web.snapshot import Estimate
from engine.color import BLACK, WHITE
from engine.errors import BadVertex, IllegalMove
from engine.game import Game, Move
from engine.records.sgf import Record, load_sgf, load_variations
from engine.records.sgf_writer import Variation, write_game
from engine.rules import Rules
from engine.support.files import write_atomically
from engine.vertex import format_vertex, parse_vertex

MOST_VARIATIONS = 100
"""Lines read from a record, the main line included; a file may have thousands."""
MOST_BEST = 12
"""Moves of the best variation that are saved and shown at a mistake."""
# The digits are bounded because comments come from other programs, too: a number of 400 digits would be infinite.
_ESTIMATE = re.compile(
    r"(?:^|\n)Black (?P<winrate>(?:\d{1,2}\.\d|100\.0))%(?:, (?P<lead>[+-]\d{1,4}\.\d))?"
    r"(?:; best (?P<best>(?:[A-Z]\d{1,2}|pass)(?: (?:[A-Z]\d{1,2}|pass)){0,99}))?\Z"
)


def read_variations(text: bytes, rules: Rules) -> tuple[Record, list[Line]]:
    """Return a record and its lines of play: the main line at its end, each variation at its first position.

    rules: of the game if the record names none.
    A variation is left out if it sets up other stones than the main line, cannot be played, or is part of another
    line. Raises BadSgf if the main line cannot be read or played.
    """
    record = load_sgf(text, name="the record")
    game = record.game(rules=record.rules or rules)
    before = len(record.moves) - len(game.moves)  # stones set up after a move begin a new game
    lines = [Line(game.copy())]
    _add_comments(lines[0], record, before)
    start = game.copy()
    while start.move_number:
        start.undo()
    tree: dict[tuple[int, Move], int] = {}
    _add_moves(tree, game.moves)
    for variation in load_variations(text, record, MOST_VARIATIONS - 1):
        moves = list(variation.moves[before:])
        if variation.setups != record.setups or not _play_instead(game, moves):
            continue
        began = _add_moves(tree, moves)
        if began < len(moves):
            lines.append(Line(start.copy(), began, moves))
            _add_comments(lines[-1], variation, before)
    return record, lines


def _play_instead(game: Game, moves: list[Move]) -> bool:
    """Bring a game from one line to the end of another; return False if a move is illegal.

    Undoes and plays only the moves that the lines do not share.
    """
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(game.moves, moves, strict=False)))
    while game.move_number > shared:
        game.undo()
    try:
        for color, vertex in moves[shared:]:
            game.play(color, vertex, lenient=True)
    except IllegalMove:
        return False
    return True


def _add_moves(tree: dict[tuple[int, Move], int], moves: list[Move]) -> int:
    """Add a line to a tree of moves, which maps (node, move) to the next node; return the number of known moves."""
    node, known = 0, 0
    for move in moves:
        known += (node, move) in tree
        node = tree.setdefault((node, move), len(tree) + 1)
    return known


def _add_comments(line: Line, record: Record, before: int) -> None:
    """Split a record's comments into the engine's estimates and other notes, and copy both into a line."""
    for number, comment in record.comments.items():
        estimate = _ESTIMATE.search(comment)
        if estimate is not None:
            lead = None if estimate["lead"] is None else float(estimate["lead"])
            best = _vertices(estimate["best"] or "", line.game)
            line.estimates[number - before] = Estimate(float(estimate["winrate"]) / 100, lead, best)
        if note := comment[: estimate.start() if estimate else None]:
            line.notes[number - before] = note


def _vertices(text: str, game: Game) -> tuple[int, ...]:
    """Return the moves of a variation, none if one of them is not on the board."""
    try:
        return tuple(parse_vertex(word, game.width, game.height) for word in text.split())
    except BadVertex:
        return ()


def _comments(line: Line) -> dict[int, str]:
    """Return a comment for each position: the record's note, then the engine's estimate."""
    said = {number: [note] for number, note in line.notes.items()}
    for number, estimate in line.estimates.items():
        lead = "" if estimate.lead is None else f", {estimate.lead:+.1f}"
        moves = [format_vertex(each, line.game.width, line.game.height) for each in estimate.variation[:MOST_BEST]]
        best = f"; best {' '.join(moves)}" if moves else ""
        said.setdefault(number, []).append(f"Black {estimate.winrate:.1%}{lead}{best}")
    return {number: "\n".join(each) for number, each in said.items()}


def write_variations(variations: Sequence[Line], settings: GameSettings, engine: str, began: datetime) -> str:
    """Return the SGF text of all lines with comments. variations: first the game itself. engine: its name."""
    game = variations[0]
    comments = _comments(game)
    names = {
        color: engine if who is PlayerKind.ENGINE else settings.people.get(color) or "Person"
        for color, who in settings.players.items()
    }
    return write_game(
        game.at(len(game.moves)),
        result=game.result,
        black=names[BLACK],
        white=names[WHITE],
        about={"DT": f"{began:%Y-%m-%d}"} if settings.about is None else settings.about,
        comment=comments.get(0, ""),
        move_comments=comments,
        variations=[Variation(line.moves, _comments(line)) for line in variations[1:]],
    )


class GameFile:
    """The file of one game, created by the first `save` under a name that no other file has."""

    def __init__(self, folder: Path | None) -> None:
        """folder: None to save nothing."""
        self.began = datetime.now()
        self._folder = folder
        self._path: Path | None = None

    @property
    def name(self) -> str:
        """The preferred name of the file; `save` adds a number if it is taken."""
        return f"keima-{self.began:%Y%m%d-%H%M%S}.sgf"

    def save(self, text: str) -> None:
        """Write the SGF text of the game. Raises OSError."""
        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        if self._path is None:
            stem = self.name.removesuffix(".sgf")
            names = chain([self.name], (f"{stem}-{number}.sgf" for number in count(2)))
            self._path = next(path for path in map(self._folder.joinpath, names) if not path.exists())
        write_atomically(self._path, text)
