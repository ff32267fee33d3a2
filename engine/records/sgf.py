"""Reads the main line of an SGF file, and its variations, as data.

Owns the meaning of the properties of a Go record; sgfmill parses the grammar. Does not read further games of a
collection, and does not check moves: `Record.game` does so by playing them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path

from sgfmill import sgf_grammar

from engine.color import BLACK, EMPTY, WHITE, color_letter
from engine.errors import BadRules, BadSgf, BadVertex, IllegalMove
from engine.game import DEFAULT_KOMI, HANDICAP_KOMI, Game, Move
from engine.records.markup import ABOUT, Markup, MarkupReader
from engine.records.setup import Setup, Step, set_up
from engine.records.sgf_source import iterate_sgfl, read_first, read_nodes, read_tree
from engine.rules import MOST_KOMI, TROMP_TAYLOR, Rules, parse_rules
from engine.vertex import MAX_SIZE, format_sgf, parse_sgf, point_at, row_column

_RECTANGLE_MARK = ":"
# Limit of setup stones in one record: each value of AB, AW or AE may be a rectangle of the whole board.
_MOST_STONES = 100_000
# Limit of places where stones are set up: each begins a new game from the whole position.
_MOST_SETUPS = 1_000
_SETUP_COLORS = {"AB": BLACK, "AW": WHITE, "AE": EMPTY}
_MOVE_COLORS = {"B": BLACK, "W": WHITE}
# Fox writes komi under Chinese rules in hundredths of stones, that is half of the points.
_FOX_KOMI = {275.0: 5.5, 325.0: 6.5, 375.0: 7.5}

__all__ = ["Record", "iterate_sgfl", "load_sgf", "load_variations"]


@dataclass(frozen=True)
class Record:
    """The main line of one game record.

    name: used in messages, usually the file name. start: the setup of the first node. steps: moves and the setups of
    later nodes. komi, handicap, rules: None if the record has no value that can be understood. about: date, event,
    ranks and so on, by SGF property. comments, markup: by the number of steps before the position that they are about.
    warnings: values that were ignored or read differently from their literal meaning.
    """

    name: str
    width: int
    height: int
    start: Setup | None = None
    steps: tuple[Step, ...] = ()
    komi: float | None = None
    handicap: int | None = None
    rules: Rules | None = None
    result: str = ""
    black: str = ""
    white: str = ""
    about: Mapping[str, str] = field(default_factory=dict)
    comments: Mapping[int, str] = field(default_factory=dict)
    markup: Mapping[int, Markup] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @cached_property
    def moves(self) -> tuple[Move, ...]:
        """The moves, in their order."""
        return tuple(step for step in self.steps if isinstance(step, Move))

    @cached_property
    def setups(self) -> tuple[Setup, ...]:
        """The places where stones are set up, in their order."""
        first = () if self.start is None else (self.start,)
        return first + tuple(step for step in self.steps if isinstance(step, Setup))

    @property
    def is_handicap_game(self) -> bool:
        """Whether Black has handicap stones: HA says so, or the first node sets up two black stones or more alone."""
        colors = [] if self.start is None else [color for _, color in self.start.stones]
        return (self.handicap or 0) > 1 or (len(colors) > 1 and set(colors) == {BLACK})

    @property
    def usual_komi(self) -> float:
        """The komi where the record does not say: half a point in a handicap game."""
        return HANDICAP_KOMI if self.is_handicap_game else DEFAULT_KOMI

    def first_game(self, *, rules: Rules | None = None, komi: float | None = None) -> Game:
        """Return the game of the first node, before all steps. rules, komi: as in `game`. Raises BadSgf."""
        return replace(self, steps=self.moves).game(1, rules=rules, komi=komi)

    def game(self, move_number: int | None = None, *, rules: Rules | None = None, komi: float | None = None) -> Game:
        """Return the game before move `move_number` (1: only the setup), or at its end.

        rules, komi: override those of the record. Superko and multi-stone suicide are accepted, as controllers do.
        Setup stones after a move start a new game from the changed position, so `Game.moves` holds only the moves after
        them.
        Raises BadSgf with the move that cannot be played.
        """
        if move_number is not None and move_number < 1:
            raise BadSgf(f"{self.name}: there is no move {move_number}, the first is move 1")
        count = len(self.moves) if move_number is None else min(move_number - 1, len(self.moves))
        return next(islice(self.positions(rules=rules, komi=komi), count, None))

    def positions(self, *, rules: Rules | None = None, komi: float | None = None) -> Iterator[Game]:
        """Yield the game before each move and at its end. It is one game that changes, see `game`."""
        given_rules = rules or self.rules or TROMP_TAYLOR
        given_komi = next(each for each in (komi, self.komi, self.usual_komi) if each is not None)
        game = Game(self.width, self.height, rules=given_rules, komi=given_komi)
        # A record without setup may begin with White's move.
        if self.moves and self.moves[0].color == WHITE and all(setup.after > 0 for setup in self.setups):
            game.setup([], to_play=WHITE)
        pending = iter(self.setups)
        setup = next(pending, None)
        for number in range(len(self.moves) + 1):
            while setup is not None and setup.after == number:
                game = self._set_up(game, setup)
                setup = next(pending, None)
            yield game
            if number < len(self.moves):
                self._play(game, number)

    def _play(self, game: Game, index: int) -> None:
        color, vertex = self.moves[index]
        try:
            # Records of other rules contain superko violations and suicides.
            game.play(color, vertex, lenient=True)
        except IllegalMove as error:
            move = f"{color_letter(color)}[{format_sgf(vertex, self.width)}]"
            raise BadSgf(f"{self.name}: move {index + 1}: {move}: illegal move {error}") from error

    def _set_up(self, game: Game, setup: Setup) -> Game:
        next_color = self.moves[setup.after].color if setup.after < len(self.moves) else None
        try:
            return set_up(game, setup, next_color)
        except IllegalMove as error:
            raise BadSgf(f"{self.name}: setup after move {setup.after}: AB/AW: {error}") from error


def load_sgf(source: Path | str | bytes, *, name: str | None = None) -> Record:
    """Read the first game of an SGF file, given as bytes or by its path, which may be any file of `read_first`.

    Raises BadSgf with file, place and property, in one line.
    """
    data = source if isinstance(source, bytes) else read_first(Path(source))
    called = name or ("SGF" if isinstance(source, bytes) else str(source))
    nodes, warnings = read_nodes(data, called)
    return _Reader(called, warnings).read(nodes)


def load_variations(data: bytes, main: Record, most: int) -> list[Record]:
    """Return up to `most` lines of play of the first game besides its main line, in the order of the file.

    main: the record that `load_sgf` made of the same bytes; a variation differs from it in steps, comments and markup.
    A line with a value that cannot be read is left out, and all are left out where the tree is not valid SGF. Takes
    time linear in the size of the file, apart from the copies of shared moves.
    """
    reader = _Reader(main.name, [], (main.width, main.height))
    found: list[Record] = []
    try:
        waiting = [(read_tree(data, main.name), reader.mark())]
    except BadSgf:
        return found
    is_main = True
    while waiting and len(found) < most:
        tree, mark = waiting.pop()
        reader.return_to(mark)
        try:
            for node in tree.sequence:
                reader.read_node(node)
        except BadSgf:
            continue
        if tree.children:
            waiting += [(child, reader.mark()) for child in reversed(tree.children)]
        elif not is_main:
            found.append(
                replace(
                    main,
                    start=reader.start,
                    steps=reader.steps,
                    comments=reader.comments,
                    markup=reader.markup,
                    result="",
                )
            )
        is_main &= bool(tree.children)
    return found


class _Reader:
    """Collects the contents of one record, node by node, for one call of `load_sgf`."""

    def __init__(self, name: str, warnings: list[str], size: tuple[int, int] = (0, 0)) -> None:
        self._name = name
        self._warnings = warnings
        self.start: Setup | None = None
        self._is_first = True
        self._steps: list[Step] = []
        self._moves: list[Move] = []
        self._comments: list[tuple[int, str]] = []
        self._markup: list[tuple[int, Markup]] = []
        self._width, self._height = size
        self._markup_reader = MarkupReader(*size)
        self._stones = 0

    def read(self, nodes: list[dict[str, list[bytes]]]) -> Record:
        """Return the record of a main line, given from the root."""
        root = nodes[0]
        game = _text(root, "GM") or "1"
        if game != "1":
            raise BadSgf(f"{self._name}: root: GM[{_short(game)}]: not a game of Go")
        self._read_size(_text(root, "SZ"))
        self._markup_reader = MarkupReader(self._width, self._height)
        for node in nodes:
            self.read_node(node)
        info: dict[str, list[bytes]] = {}
        for node in nodes:
            for key in ("KM", "HA", "RU", "RE", "PB", "PW", *ABOUT):
                if key in node:
                    info.setdefault(key, node[key])
        return Record(
            name=self._name,
            width=self._width,
            height=self._height,
            start=self.start,
            steps=self.steps,
            komi=self._read_komi(_text(info, "KM"), is_exact=_text(root, "AP").startswith("Keima:")),
            handicap=self._read_handicap(_text(info, "HA")),
            rules=self._read_rules(_text(info, "RU")),
            result=_text(info, "RE"),
            black=_text(info, "PB"),
            white=_text(info, "PW"),
            about={key: text for key in ABOUT if (text := _text(info, key))},
            comments=self.comments,
            markup=self.markup,
            warnings=tuple(self._warnings),
        )

    @property
    def steps(self) -> tuple[Step, ...]:
        """The moves and setups of the nodes read so far, without the setup of the first node."""
        return tuple(self._steps)

    @property
    def comments(self) -> dict[int, str]:
        """The comments of the nodes read so far, by the number of steps before; several nodes may share a position."""
        by_number = dict(self._comments)
        if len(by_number) == len(self._comments):
            return by_number
        texts: dict[int, list[str]] = {}
        for number, text in self._comments:
            texts.setdefault(number, []).append(text)
        return {number: "\n".join(filter(None, each)) for number, each in texts.items()}

    @property
    def markup(self) -> dict[int, Markup]:
        """The markup of the nodes read so far, by the number of steps before."""
        by_number: dict[int, Markup] = {}
        for number, markup in self._markup:
            by_number[number] = by_number[number].joined(markup) if number in by_number else markup
        return by_number

    def mark(self) -> tuple[int, int, int, int, int]:
        """Return what `return_to` needs to forget the nodes read after this call."""
        return len(self._steps), len(self._moves), len(self._comments), len(self._markup), self._stones

    def return_to(self, mark: tuple[int, int, int, int, int]) -> None:
        """Forget the nodes read since a mark was taken: a variation begins there."""
        steps, moves, comments, markup, self._stones = mark
        del self._steps[steps:], self._moves[moves:], self._comments[comments:], self._markup[markup:]

    def read_node(self, node: dict[str, list[bytes]]) -> None:
        """Read setup stones, moves, markup and the comment of one node."""
        self._read_setup(node)
        for key in node:
            if key in _MOVE_COLORS:
                self._read_move(key, node[key])
        if "C" in node:
            self._comments.append((len(self._steps), _decode(node["C"][0], sgf_grammar.text_value).strip()))
        if markup := self._markup_reader.read(node):
            self._markup.append((len(self._steps), markup))
        self._is_first = False

    def _read_size(self, text: str) -> None:
        sides = [side.strip() for side in (text or "19").split(_RECTANGLE_MARK)]
        if len(sides) > 2 or not all(side.isascii() and side.isdigit() and len(side) < 4 for side in sides):
            raise BadSgf(f"{self._name}: root: SZ[{_short(text)}]: expected a board size such as 19 or 13:9")
        self._width, self._height = int(sides[0]), int(sides[-1])
        if not (1 <= self._width <= MAX_SIZE and 1 <= self._height <= MAX_SIZE):
            raise BadSgf(f"{self._name}: root: SZ[{_short(text)}]: expected a size from 1x1 to {MAX_SIZE}x{MAX_SIZE}")

    def _read_move(self, key: str, values: list[bytes]) -> None:
        place = f"{self._name}: move {len(self._moves) + 1}"
        if len(values) != 1:
            raise BadSgf(f"{place}: {key}: {len(values)} moves in one node")
        text = _decode(values[0]).strip()
        move = Move(_MOVE_COLORS[key], self._read_vertex(place, key, text))
        self._moves.append(move)
        self._steps.append(move)

    def _read_vertex(self, place: str, key: str, text: str) -> int:
        try:
            return parse_sgf(text, self._width, self._height)
        except BadVertex as error:
            raise BadSgf(f"{place}: {key}[{_short(text)}]: {_short(str(error), 120)}") from error

    def _read_setup(self, node: dict[str, list[bytes]]) -> None:
        stones = []
        for key in node:
            if key in _SETUP_COLORS:
                for value in node[key]:
                    vertices = self._read_points(key, _decode(value).strip())
                    stones += [(vertex, _SETUP_COLORS[key]) for vertex in vertices]
        # In a node with a move, PL can only mean the player after that move.
        to_play = None if node.keys() & _MOVE_COLORS.keys() else self._read_player(_text(node, "PL"))
        changes_player = to_play is not None and (not self._moves or to_play == self._moves[-1].color)
        if stones or changes_player:
            if len(self._steps) - len(self._moves) >= _MOST_SETUPS:
                raise BadSgf(f"{self._name}: setup after move {len(self._moves)}: more than {_MOST_SETUPS} setups")
            setup = Setup(len(self._moves), tuple(stones), to_play)
            if self._is_first:
                self.start = setup
            else:
                self._steps.append(setup)

    def _read_points(self, key: str, text: str) -> list[int]:
        """Return the points of one value: a point, a rectangle such as aa:cc, or none."""
        place = f"{self._name}: setup after move {len(self._moves)}"
        corners = [self._read_vertex(place, key, corner) for corner in text.split(_RECTANGLE_MARK)]
        if not all(corners) or len(corners) > 2:
            if text == "":
                return []
            raise BadSgf(f"{place}: {key}[{_short(text)}]: expected a point")
        (top, left), (bottom, right) = (row_column(corner, self._width) for corner in (corners[0], corners[-1]))
        rows, columns = (range(min(ends), max(ends) + 1) for ends in ((top, bottom), (left, right)))
        self._stones += len(rows) * len(columns)
        if self._stones > _MOST_STONES:
            raise BadSgf(f"{place}: {key}: more than {_MOST_STONES} stones set up in all")
        return [point_at(row, column, self._width) for row in rows for column in columns]

    def _read_player(self, text: str) -> int | None:
        first = text[:1].upper()
        if first in ("B", "1"):
            return BLACK
        if first in ("W", "2"):
            return WHITE
        if text:
            self._warnings.append(f"PL[{_short(text)}]: ignored")
        return None

    def _read_komi(self, text: str, *, is_exact: bool) -> float | None:
        if not text:
            return None
        try:
            komi = float(text.replace(",", "."))
        except ValueError:
            komi = float("nan")
        read, most = komi, MOST_KOMI
        if not is_exact:
            # Larger values that are multiples of 5 are hundredths of points, such as 650 for 6.5.
            read = _FOX_KOMI.get(komi, komi / 100 if komi >= 350 and komi % 5 == 0 else komi)
            most = min(self._width * self._height, MOST_KOMI)
        if not abs(read) <= most:
            self._warnings.append(f"KM[{_short(text)}]: ignored")
            return None
        if read != komi:
            self._warnings.append(f"KM[{_short(text)}]: read as {read:g}")
        return read

    def _read_handicap(self, text: str) -> int | None:
        if text.isascii() and text.isdigit() and len(text) < 4:
            handicap = int(text)
            if handicap > 1 and self._moves and self._moves[0].color == WHITE and not self._begins_with_black_stones():
                self._warnings.append(f"HA[{handicap}]: the {handicap} handicap stones are not in the record")
            return handicap
        if text:
            self._warnings.append(f"HA[{_short(text)}]: ignored")
        return None

    def _begins_with_black_stones(self) -> bool:
        setups = [self.start, *(step for step in self._steps if isinstance(step, Setup))]
        return any(setup and setup.after == 0 and any(color == BLACK for _, color in setup.stones) for setup in setups)

    def _read_rules(self, text: str) -> Rules | None:
        if not text:
            return None
        try:
            return parse_rules(text)
        except BadRules:
            self._warnings.append(f"RU[{_short(text)}]: unknown rules")
            return None


def _decode(value: bytes, unescaped: Callable[[bytes], bytes] = sgf_grammar.simpletext_value) -> str:
    return unescaped(value).decode("utf-8", "replace")


def _text(properties: dict[str, list[bytes]], key: str) -> str:
    """Return the first value of a property as text, "" if it is missing."""
    return _decode(properties[key][0]).strip() if key in properties else ""


def _short(text: str, limit: int = 30) -> str:
    """Shorten untrusted text and replace control characters, for a one-line message."""
    clean = "".join(c if c.isprintable() else "?" for c in text)
    return clean if len(clean) <= limit else clean[:limit] + "..."
