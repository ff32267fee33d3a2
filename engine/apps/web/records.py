"""Writes and reads game sessions as SGF: the game as main line, other lines of play as variations.

The engine's estimate of a position and its best variation are the last line of its comment, so that they survive saving
and opening.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from itertools import chain, count
from pathlib import Path

from engine.apps.web.settings import GameSettings, PlayerKind, offered_name
from engine.apps.web.snapshot import Estimate, Notice
from engine.apps.web.tree import GameTree, Node
from engine.color import BLACK, WHITE
from engine.errors import BadVertex, IllegalMove
from engine.game import Game
from engine.match.clock import overtime_text
from engine.records.markup import Markup
from engine.records.setup import Setup
from engine.records.sgf import Record, load_sgf, load_variations
from engine.records.sgf_source import count_games, count_lines
from engine.records.sgf_writer import Variation, write_game
from engine.rules import Rules
from engine.support.files import write_atomically
from engine.vertex import format_vertex, parse_vertex

MOST_VARIATIONS = 1000
"""Lines read from a record, the main line included; a file may have thousands."""
MOST_BEST = 12
"""Moves of the best variation that are saved and shown at a mistake."""
# The digits are bounded because comments come from other programs, too: a number of 400 digits would be infinite.
_ESTIMATE = re.compile(
    r"(?:^|\n)Black (?P<winrate>(?:\d{1,2}\.\d|100\.0))%(?:, (?P<lead>[+-]\d{1,4}\.\d))?"
    r"(?:; (?P<visits>\d{1,12}) visits)?"
    r"(?:; best (?P<best>(?:[A-Z]\d{1,2}|pass)(?: (?:[A-Z]\d{1,2}|pass)){0,99}))?\Z"
)


def read_tree(text: bytes, rules: Rules, komi: float | None = None) -> tuple[Record, GameTree, Notice]:
    """Return a record, its tree, shown at the end of the game, and how it was read.

    rules, komi: of the game if the record names none; without komi the usual one.
    A variation is left out if it cannot be read or played or exceeds a limit.
    Raises BadSgf if the main line cannot be read or played.
    """
    record = load_sgf(text, name="the record")
    lines = [record, *load_variations(text, record, MOST_VARIATIONS - 1)]
    left_out = max(0, count_lines(text, record.name) - len(lines))
    handicap = _setup_of_second_node(lines)
    first = 0 if handicap is None else 1
    start = replace(record, start=handicap or record.start).first_game(
        rules=record.rules or rules, komi=komi if record.komi is None else record.komi
    )
    try:
        tree = GameTree(start, record.steps[first:])
    except IllegalMove:
        record.game()  # raises BadSgf, which names the move
        raise
    for line in lines:
        try:
            _annotate(tree.add_line(line.steps[first:]).path(), line, first, tree.game)
        except IllegalMove:
            left_out += 1
    tree.end = tree.game_end
    tree.go_to(tree.end.number)
    assumed_rules = "" if record.rules else offered_name(tree.game.rules)
    assumed_komi = tree.game.komi if record.komi is None else None
    return record, tree, Notice(assumed_rules, assumed_komi, left_out, count_games(text) - 1)


def _setup_of_second_node(lines: list[Record]) -> Setup | None:
    """Return the setup with which all lines begin on an empty board without text, None if there is none.

    Some programs write a handicap this way.
    """
    main = lines[0]
    setup = main.steps[0] if main.steps else None
    if not isinstance(setup, Setup) or main.start is not None or 0 in main.comments or 0 in main.markup:
        return None
    return setup if all(line.steps[:1] == (setup,) for line in lines) else None


def _annotate(line: Iterable[Node], record: Record, before: int, game: Game) -> None:
    """Copy a record's comments and markup to the positions of its line.

    Comments are split into the engine's estimates and other notes. game: any position on this board.
    """
    for node in line:
        comment = record.comments.get(node.number + before, "")
        estimate = _ESTIMATE.search(comment)
        if estimate is not None:
            lead = None if estimate["lead"] is None else float(estimate["lead"])
            best = _vertices(estimate["best"] or "", game)
            node.estimate = Estimate(float(estimate["winrate"]) / 100, lead, best, int(estimate["visits"] or 0))
        node.note = comment[: estimate.start() if estimate else None] or node.note
        markup = record.markup.get(node.number + before, Markup())
        node.symbols, node.labels = dict(markup.symbols) or node.symbols, dict(markup.labels) or node.labels
        node.others = dict(markup.others) or node.others


def _vertices(text: str, game: Game) -> tuple[int, ...]:
    """Return the moves of a variation, none if one of them is not on the board."""
    try:
        return tuple(parse_vertex(word, game.width, game.height) for word in text.split())
    except BadVertex:
        return ()


def _comment(node: Node, game: Game) -> str:
    """Return the comment of a position: the record's note, then the engine's estimate."""
    said = [node.note] if node.note else []
    if (estimate := node.estimate) is not None:
        lead = "" if estimate.lead is None else f", {estimate.lead:+.1f}"
        moves = [format_vertex(each, game.width, game.height) for each in estimate.variation[:MOST_BEST]]
        best = f"; best {' '.join(moves)}" if moves else ""
        visits = f"; {estimate.visits} visits" if estimate.visits else ""
        said.append(f"Black {estimate.winrate:.1%}{lead}{visits}{best}")
    return "\n".join(said)


def _line(end: Node, game: Game) -> Variation:
    """Return a line as the writer of records takes it."""
    nodes = end.path()
    comments = {node.number: text for node in nodes if (text := _comment(node, game))}
    markup = {node.number: Markup(node.symbols, node.labels, node.others) for node in nodes}
    return Variation([node.step for node in nodes if node.step is not None], comments, markup)


def write_tree(tree: GameTree, settings: GameSettings, engine: str, info: dict[str, str]) -> str:
    """Return the SGF text of a game and its variations. engine: its name. info: see `Snapshot`."""
    end = tree.game_end
    unnamed = {PlayerKind.ENGINE: engine, PlayerKind.PERSON: "" if settings.is_record else "Person"}
    names = {color: settings.people.get(color) or unnamed[who] for color, who in settings.players.items()}
    game, *variations = (_line(each, tree.game) for each in tree.ends())
    return write_game(
        tree.at_node(tree.root),
        steps=game.steps,
        result=end.result or (end.count.score if end.count is not None else None),
        black=names[BLACK],
        white=names[WHITE],
        about={key: text for key, text in info.items() if key not in ("PB", "PW")},
        comment=game.comments.get(0, ""),
        move_comments=game.comments,
        markup=game.markup,
        main_time=None if settings.clock is None else settings.clock.main,
        overtime="" if settings.clock is None else overtime_text(settings.clock),
        variations=variations,
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
