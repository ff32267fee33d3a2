"""Hostile game records, through `loadsgf`, `keima draw` and the page: read, or refused in one line."""

import random
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from click.testing import CliRunner

from engine.errors import BadSgf
from engine.game import Move
from engine.records.sgf import load_sgf
from engine.records.sgf_editor import RecordEditor
from engine.vertex import points
from gtp.commands import HANDLERS
from gtp.protocol import parse_command
from gtp.session import answer
from gtp.state import GtpState, SessionConfig
from keima import main
from tests.fuzz.page import Page, page
from tests.fuzz.target import Target

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ROOT = (
    *(
        "GM[1]",
        "FF[4]",
        "CA[UTF-8]",
        "CA[gb2312]",
        "CA[utf-7]",
        "CA[rot13]",
        "CA[\\]]",
        "KM[7.5]",
        "KM[1e999]",
        "KM[375]",
    ),
    *("HA[2]", "HA[-1]", "HA[999999999999]", "RU[Japanese]", "RU[x]", "RE[B+R]", "RE[W+1e400]", "PL[W]", "PL[x]"),
    *("AB[aa:cc]", "AB[aa:zz]", "AW[bb][bc]", "AB[aa]AW[aa]", "AE[aa:ss]", "TM[9e99]", "OT[x]", "C[\\]\\\\]", "SZ[]"),
)
_MOVE = (
    "C[x]",
    "C[Black 55.5%, +1.5]",
    "C[Black 99999999999.9%]",
    "LB[aa:1]",
    "KO[]",
    "MN[5]",
    "AB[dd]",
    "AE[dd]",
    "PL[B]",
)
_SIZES = ("5", "9", "19", "25", "1", "2", "52", "0", "-1", "19:5", "25:2", "9:", "x", "1e1", "9" * 50)


def make(generator: random.Random) -> bytes:
    """Return a record that is deep, wide, long or odd, or all of it."""
    size = generator.choice(_SIZES)
    root = f"(;SZ[{size}]" + "".join(generator.sample(_ROOT, generator.randrange(6)))
    kind = generator.randrange(6)
    if kind == 0:
        depth = generator.choice((1, 50, 2000, 20_000))
        text = root + f"(;B[{_point(generator)}]" * depth + ")" * generator.choice((depth, depth, 0)) + ")"
    elif kind == 1:
        count = generator.choice((3, 100, 3000))
        text = root + "".join(f"(;B[{_point(generator)}];W[{_point(generator)}])" for _ in range(count)) + ")"
    elif kind == 2:
        text = root + "".join(_node(generator) for _ in range(generator.choice((5, 300, 3000, 12_000)))) + ")"
    elif kind == 3:
        text = root + _tree(generator, generator.choice((3, 6, 9))) + ")"
    elif kind == 4:
        filler = generator.choice(("\\", "]", "[", "(", ";", "é", "x", "\\\n", "9", " "))
        text = root + f";B[aa]C[{filler * generator.choice((10, 1000, 200_000))}];W[bb])"
    else:
        text = root + "".join(_node(generator) for _ in range(30)) + ")" + generator.choice(("", "(;B[aa])", ")", "x"))
    return text.encode(generator.choice(("utf-8", "utf-8", "latin-1", "utf-16")), "replace")


def _point(generator: random.Random) -> str:
    if generator.random() < 0.05:
        return generator.choice(("", "tt", "zz", "a", "aaa", "1", "ZZ", "[", "a:"))
    return generator.choice(_LETTERS[:9]) + generator.choice(_LETTERS[:9])


def _node(generator: random.Random) -> str:
    moves = f";{generator.choice('BWBWBWX')}[{_point(generator)}]"
    return moves + (generator.choice(_MOVE) if generator.random() < 0.1 else "")


def _tree(generator: random.Random, depth: int) -> str:
    if depth == 0:
        return _node(generator)
    branches = "".join(f"({_tree(generator, depth - 1)})" for _ in range(generator.choice((1, 2, 2))))
    return _node(generator) + branches


def check(data: bytes) -> int:
    """Open a record everywhere."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "game.sgf"
        path.write_bytes(data)
        _load(path)
        _draw(path)
    _annotate(data)
    _show(data, page())
    return 1


def _annotate(data: bytes) -> None:
    """Annotate a record that can be read: moves, setup and markup stay, and the comment and the variation are there."""
    try:
        record = load_sgf(data)
    except BadSgf:
        return
    editor = RecordEditor(data, record)
    if record.moves:
        editor.comment(len(record.moves), "a ] comment \\")
        editor.add_variation(1, [record.moves[0]], "better")
    again = load_sgf(editor.text().encode())
    kept = [(each.moves, {setup.after for setup in each.setups}, each.markup) for each in (record, again)]
    assert kept[0] == kept[1], "the annotated record differs"
    last = max((number for number, step in enumerate(record.steps, 1) if isinstance(step, Move)), default=None)
    assert last is None or again.comments[last].endswith("a ] comment \\")


def _ask(state: GtpState, line: str) -> str:
    written: list[str] = []
    command = parse_command(line)
    assert command is not None
    answer(state, command, written.append)
    reply = "".join(written)
    assert "internal error" not in reply, f"{line}: {reply}"
    return reply


def _load(path: Path) -> None:
    """Load a record by GTP; if it can be loaded, what is printed of it has the same stones."""
    state = GtpState(SessionConfig(width=9, height=9), _no_player, HANDLERS)
    if not _ask(state, f"loadsgf {path}").startswith("="):
        return
    assert _ask(state, "showboard").startswith("=")
    stones = [state.game.color_at(each) for each in points(state.width, state.height)]
    path.write_text(_ask(state, "printsgf")[2:], encoding="utf-8")
    assert _ask(state, f"loadsgf {path}").startswith("="), "what printsgf wrote cannot be loaded"
    assert stones == [state.game.color_at(each) for each in points(state.width, state.height)]


def _no_player(width: int, height: int) -> "object":
    raise AssertionError("no player is needed")


def _draw(path: Path) -> None:
    """Draw a record: a picture that is XML, or one line of error."""
    result = CliRunner().invoke(main, ["draw", str(path), "-"])
    if result.exit_code == 0:
        ElementTree.fromstring(result.stdout)
        return
    assert isinstance(result.exception, SystemExit), f"draw raised {result.exception!r}"
    assert "Traceback" not in result.stderr


def _show(data: bytes, at: Page) -> None:
    """Open a record on the page; what it shows is JSON, and what it saves can be opened again."""
    status, content = at.ask("POST", "/game.sgf", data)
    if status != 200:
        assert status in (400, 413) and "error" in content, (status, content)
        return
    at.event()
    status, saved = at.ask("GET", "/game.sgf")
    assert status == 200
    status, content = at.ask("POST", "/game.sgf", saved["text"].encode())
    assert status == 200, f"what the page saved cannot be opened: {content}"


TARGET = Target(
    make,
    check,
    "records",
    words=[b"(;", b")", b";B[", b";W[aa]", b"AB[aa:zz]", b"SZ[", b"CA[", b"C[", b"]", b"\\", b"Black 50.0%", b"PL[W]"],
    memory=512.0,
)
