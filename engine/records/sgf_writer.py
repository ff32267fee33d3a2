"""Writes a game as SGF text, with comments, markup, variations, and stones set up between moves."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sgfmill import sgf_grammar

from engine import __version__
from engine.color import BLACK, EMPTY, WHITE, color_letter
from engine.game import Game, Move
from engine.records.markup import Markup, markup_properties
from engine.records.setup import Setup, Step
from engine.rules import Rules, preset_name
from engine.vertex import format_sgf

_SGF_NAMES = {
    "tromp-taylor": "Tromp-Taylor",
    "chinese": "Chinese",
    "japanese": "Japanese",
    "aga": "AGA",
    "new-zealand": "NZ",
}
_SETUP_KEYS = {BLACK: "AB", WHITE: "AW", EMPTY: "AE"}


class Variation(NamedTuple):
    """Another line of a game: all its steps from the start, comments and markup by the number of a step, from 1."""

    steps: Sequence[Step]
    comments: Mapping[int, str]
    markup: Mapping[int, Markup] = {}


# More than 8 parameters: keyword arguments with defaults, of which a caller names the few that matter to it.
def write_game(
    game: Game,
    *,
    result: str | None = None,
    black: str = "",
    white: str = "",
    comment: str = "",
    main_time: float | None = None,
    overtime: str = "",
    date: str = "",
    event: str = "",
    round_name: str = "",
    steps: Sequence[Step] | None = None,
    about: Mapping[str, str] | None = None,
    move_comments: Mapping[int, str] | None = None,
    markup: Mapping[int, Markup] | None = None,
    variations: Sequence[Variation] = (),
) -> str:
    """Return a game as FF[4] SGF text; write it to a file as UTF-8.

    steps: the main line, if it has stones set up between its moves; `game` is then at its first position. None: the
    moves of the game. main_time: seconds. about, markup: as in `Record`. move_comments: by the number of a step, from
    1.
    """
    root: dict[str, list[bytes]] = {"GM": [b"1"], "FF": [b"4"], "CA": [b"UTF-8"]}
    texts = {
        "AP": f"Keima:{__version__}",
        "KM": f"{game.komi:g}",
        "RU": format_ru(game.rules),
        "PB": black,
        "PW": white,
        "RE": result or "",
        "TM": "" if main_time is None else f"{main_time:g}",
        "OT": overtime,
        "DT": date,
        "EV": event,
        "RO": round_name,
        "C": comment,
    }
    square = game.width == game.height
    root["SZ"] = [str(game.width).encode() if square else f"{game.width}:{game.height}".encode()]
    present = {**(about or {}), **{key: text for key, text in texts.items() if text}}
    root |= {key: [_encode(text)] for key, text in present.items()}
    # HA may only say what the setup shows: two or more black stones and no white one.
    if len(game.setup_black) >= 2 and not game.setup_white:
        root["HA"] = [str(len(game.setup_black)).encode()]
    for key, stones in (("AB", game.setup_black), ("AW", game.setup_white)):
        if stones:
            root[key] = [format_sgf(vertex, game.width).encode() for vertex in sorted(stones)]
    line = game.moves if steps is None else steps
    first = line[0].color if line and isinstance(line[0], Move) else game.to_play
    if game.setup_black or game.setup_white or first == WHITE:
        # Without PL, readers assume that Black moves first, or White after a handicap.
        root["PL"] = [color_letter(first).encode()]
    root |= markup_properties((markup or {}).get(0, Markup()), game.width)
    tree = sgf_grammar.Coarse_game_tree()
    tree.sequence = [root]
    _grow(tree, [Variation(line, move_comments or {}, markup or {}), *variations], game.width)
    text: bytes = sgf_grammar.serialise_game_tree(tree)
    return text.decode("utf-8")


def _grow(root: "sgf_grammar.Coarse_game_tree", lines: Sequence[Variation], width: int) -> None:
    """Append the steps of all lines to the root; the first line is the main one.

    Where the first line ends and others continue, it becomes an empty node, so that it stays the main line.
    """
    waiting = [(root, lines, 0)]
    while waiting:
        tree, lines, shared = waiting.pop()
        while True:
            # Lines with the same next step share its node.
            ways: dict[Step, list[Variation]] = {}
            for line in lines:
                if len(line.steps) > shared:
                    ways.setdefault(line.steps[shared], []).append(line)
            has_ended = len(lines[0].steps) == shared and bool(ways)
            shared += 1
            if len(ways) != 1 or has_ended:
                break
            [(step, lines)] = ways.items()
            tree.sequence.append(_node(step, lines, shared, width))
        if has_ended:
            end = sgf_grammar.Coarse_game_tree()
            end.sequence = [{}]
            tree.children.append(end)
        for step, following in ways.items():
            branch = sgf_grammar.Coarse_game_tree()
            branch.sequence = [_node(step, following, shared, width)]
            tree.children.append(branch)
            waiting.append((branch, following, shared))


def _node(step: Step, lines: Sequence[Variation], number: int, width: int) -> dict[str, list[bytes]]:
    """Return the properties of a step, with the comment and the markup of the first line that has one."""
    node = _setup(step, width) if isinstance(step, Setup) else _move(step, width)
    comment = next((line.comments[number] for line in lines if line.comments.get(number)), None)
    markup = next((line.markup[number] for line in lines if line.markup.get(number)), Markup())
    return node | ({"C": [_encode(comment)]} if comment else {}) | markup_properties(markup, width)


def _move(move: Move, width: int) -> dict[str, list[bytes]]:
    return {color_letter(move.color): [format_sgf(move.vertex, width).encode()]}


def _setup(setup: Setup, width: int) -> dict[str, list[bytes]]:
    """Return the properties of a setup; of several stones at a point, the last one counts."""
    node: dict[str, list[bytes]] = {}
    for vertex, color in dict(setup.stones).items():
        node.setdefault(_SETUP_KEYS[color], []).append(format_sgf(vertex, width).encode())
    if setup.to_play is not None:
        node["PL"] = [color_letter(setup.to_play).encode()]
    return node


def format_ru(rules: Rules) -> str:
    """Return the RU value of a rule set: a name that other programs know, or KataGo's long form."""
    name = preset_name(rules)
    return _SGF_NAMES[name] if name in _SGF_NAMES else rules.to_long_form()


def _encode(text: str) -> bytes:
    """Encode and escape a property value; what UTF-8 cannot represent becomes "?"."""
    return bytes(sgf_grammar.escape_text(text.encode("utf-8", "replace")))
