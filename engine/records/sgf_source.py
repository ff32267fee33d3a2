"""Finds game records in files and archives, decodes them, and cuts out their main lines.

Owns the limits that make hostile files harmless. Interprets no property but CA; the others belong to
`engine.records.sgf`.
"""

import bz2
import codecs
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from enum import Enum
from pathlib import Path
from typing import IO

from sgfmill import sgf_grammar

from engine.errors import BadSgf

MAX_BYTES = 64 << 20
MAX_NODES = 10_000
"""A game stores one board for each move, so this limits its memory to about 100 MiB."""
_MAX_TOKENS = 500_000
_MAX_LINE = 1 << 20


class _Kind(Enum):
    """What a file with records holds, by the end of its name."""

    GAMES = (".sgf",)
    LINES = (".sgfl", ".sgfl.bz2")
    ZIP = (".zip",)
    TAR = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")


_Members = Iterator[tuple[str, IO[bytes]]]
_BAD_ARCHIVE = (
    *(OSError, EOFError, RuntimeError, NotImplementedError, ValueError),  # encrypted, unknown method, damaged
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError),
)

_START = re.compile(rb"\(\s*;")
# The Nihon Ki-in omits the first semicolon.
_START_OF_NIHON_KIIN = re.compile(rb"\(\s*(?=[A-Z]{2}\[)")
# A value, or the rest of a text that never closes it. Possessive quantifiers scan it once: with backtracking, a hostile
# text would cost time quadratic in its length.
_VALUE = rb"\[[^\\\]]*+(?:\\.[^\\\]]*+)*+(?:\]|\\?\Z)"
_SCAN = re.compile(_VALUE + rb"|[();]", re.DOTALL)
_SCAN_GAMES = re.compile(_VALUE + rb"|\(\s*;|[()]", re.DOTALL)
_ROOT = b"(;"
_MOVE = re.compile(rb";\s*[BW]\s*\[")
_CHARSET = re.compile(rb"CA\s*\[([^\]]{1,40})\]")
# Programs write these supersets under the names of the smaller encodings.
_SUPERSETS = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "cp950",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "iso8859-1": "cp1252",
}
# Share of the non-ASCII characters that may be damaged in a text decoded by its declared encoding, and in UTF-8 that
# nothing declares: in a short record one is more than a twentieth. Of texts in other encodings nearly all are.
_DAMAGED_SHARE, _DAMAGED_SHARE_GUESSED = 0.05, 0.2
_WIDE = re.compile("[\u3000-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff01-\uff60]+")
# Half-width katakana do not occur in records, but bytes of other encodings look like them.
_HALF_WIDTH = re.compile("[\uff61-\uff9f]")
_SAFE_CODECS = re.compile(r"utf-?8|ascii|iso8859|latin|cp\d|gb|big5|euc|shift|iso2022|koi8|mac|hz|johab|tis")


def iterate_sgfl(path: Path | str) -> Iterator[bytes]:
    """Yield the SGF texts of a file with one game a line, plain or compressed with bzip2.

    Raises BadSgf for a line longer than 1 MiB or a file that cannot be read.
    """
    for _, line in _lines_of(Path(path)):
        yield line


def _lines_of(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as file:
            yield from _lines(file, str(path))
    except OSError as error:
        raise BadSgf(f"{path}: cannot be read: {error}") from error


def _lines(file: IO[bytes], name: str) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that hold a game, with their numbers in the file. name: for messages; `.bz2` is unpacked."""
    try:
        with bz2.BZ2File(file) if name.lower().endswith(".bz2") else nullcontext(file) as text:
            for number, line in enumerate(iter(lambda: text.readline(_MAX_LINE + 1), b""), 1):
                if len(line) > _MAX_LINE:
                    raise BadSgf(f"{name}: line {number}: longer than {_MAX_LINE} bytes")
                if line.strip():
                    yield number, line
    except (OSError, EOFError) as error:
        raise BadSgf(f"{name}: cannot be read: {error}") from error


def iterate_records(
    sources: Iterable[Path], broken: Callable[[BadSgf], None] | None = None
) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the text of every game record, in the order of the sources; folders are sorted.

    sources: SGF files with one or several games; files with one game a line (.sgfl, .sgfl.bz2); archives of such files
    (.zip, .tar, .tar.gz, .tgz, .tar.bz2, .tar.xz); folders with any of these. Nothing is unpacked to disk.
    broken: called with the error of every file that cannot be read, which is then skipped; without it, BadSgf is
    raised.
    """
    for source in sources:
        # Sorted, because the order of a folder differs between systems.
        for path in sorted(filter(is_source, source.rglob("*"))) if source.is_dir() else [source]:
            try:
                match _kind(path.name):
                    case _Kind.LINES:
                        yield from _numbered(path.name, _lines_of(path))
                    case _Kind.ZIP:
                        yield from _members(path, _zip_members, broken)
                    case _Kind.TAR:
                        yield from _members(path, _tar_members, broken)
                    case _:
                        yield from _games(path.name, read_file(path))
            except BadSgf as error:
                if broken is None:
                    raise
                broken(error)


def is_source(path: Path) -> bool:
    """Return whether a file in a folder is one that `iterate_records` reads there."""
    return _kind(path.name) is not None and path.is_file()


def _kind(name: str) -> _Kind | None:
    return next((kind for kind in _Kind if name.lower().endswith(kind.value)), None)


def _numbered(name: str, lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[str, bytes]]:
    return ((f"{name}:{number:06d}", line) for number, line in lines)


def _members(
    path: Path, open_members: Callable[[Path], _Members], broken: Callable[[BadSgf], None] | None
) -> Iterator[tuple[str, bytes]]:
    """Yield the records of an archive. Raises BadSgf if the archive itself cannot be read."""
    try:
        for member, file in open_members(path):
            name = f"{path.name}/{member}"
            try:
                match _kind(member):
                    case _Kind.LINES:
                        yield from _numbered(name, _lines(file, name))
                    case _Kind.GAMES:
                        yield from _games(name, _all_of(file, name))
            except BadSgf as error:
                if broken is None:
                    raise
                broken(error)
    except BadSgf:
        raise
    except _BAD_ARCHIVE as error:
        raise BadSgf(f"{path}: cannot be read: {error}") from error


def _zip_members(path: Path) -> _Members:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if not member.is_dir():
                with archive.open(member) as file:
                    yield member.filename, file


def _tar_members(path: Path) -> _Members:
    # "r|" reads the archive as a stream, without seeking back, so a compressed one is unpacked only once.
    with tarfile.open(path, "r|*") as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None:
                yield member.name, file


def _games(name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the games of an SGF file: the whole file if it has one game, else each from "(" to ")", in UTF-8."""
    starts, depth = [], 0
    text = _to_utf8(data, [])
    for match in _SCAN_GAMES.finditer(text) if text.count(b"(") > 1 else ():
        token = match.group()
        if token == b")":
            depth = max(depth - 1, 0)
        elif token[:1] == b"(":
            if depth == 0 and token != b"(":
                starts.append(match.start())
            depth += bool(depth or token != b"(")
    if len(starts) < 2:
        yield name, data
        return
    mark = b"" if text == data else codecs.BOM_UTF8
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(text)], strict=True), 1):
        yield f"{name}#{number}", mark + text[start:end]


def read_file(path: Path) -> bytes:
    """Return the bytes of a file. Raises BadSgf if it is missing, unreadable or too large."""
    try:
        if not path.is_file():
            raise BadSgf(f"{path}: {_what_else(path)}")
        with path.open("rb") as file:
            return _all_of(file, str(path))
    except BadSgf:
        raise
    except (OSError, ValueError) as error:
        raise BadSgf(f"{path}: cannot be read: {error}") from error


def read_first(path: Path) -> bytes:
    """Return a text whose first game is that of a file, a file with one game a line or an archive. Raises BadSgf."""
    if not is_packed(path):
        return read_file(path)
    for _, data in iterate_records([path]):
        return data
    raise BadSgf(f"{path}: no SGF data found")


def is_packed(path: Path) -> bool:
    """Return whether a file is an archive or has one game a line, by its name."""
    return _kind(path.name) not in (None, _Kind.GAMES) and path.is_file()


def _all_of(file: IO[bytes], name: str) -> bytes:
    data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise BadSgf(f"{name}: larger than {MAX_BYTES >> 20} MiB")
    return data


def _what_else(path: Path) -> str:
    """Say what a path leads to that is no regular file."""
    if path.is_dir():
        return "a folder, not a file"
    return "not a regular file" if path.exists() else "no such file"


def read_nodes(data: bytes, name: str) -> tuple[list[dict[str, list[bytes]]], list[str]]:
    """Return the property maps of the first game's main line, with values in UTF-8, and warnings.

    name: used in messages. Raises BadSgf.
    """
    if len(data) > MAX_BYTES:
        raise BadSgf(f"{name}: larger than {MAX_BYTES >> 20} MiB")
    warnings: list[str] = []
    main_line = _main_line(_to_utf8(data, warnings), name, warnings)
    try:
        tree = sgf_grammar.parse_sgf_game(main_line)
        return list(sgf_grammar.main_sequence_iter(tree)), warnings
    except (ValueError, RecursionError) as error:
        # sgfmill's error has no position; its tokenizer stops at the place that it cannot parse.
        stopped = sgf_grammar.tokenise(main_line)[1]
        line = main_line.count(b"\n", 0, stopped) + 1
        raise BadSgf(f"{name}: line {line}: not valid SGF: {error}") from error


def read_tree(data: bytes, name: str) -> sgf_grammar.Coarse_game_tree:
    """Return the first game with its variations as sgfmill's tree of node sequences, values in UTF-8.

    A tree of more than MAX_NODES nodes, or one that ends in the middle or turns into something else, is cut off there:
    what comes before is read. name: used in messages. Raises BadSgf if there is no game.
    """
    text = _to_utf8(data, [])
    start = _start_of_game(text, name)
    game = _closed_tree(text, start.end(), len(text))
    try:
        return sgf_grammar.parse_sgf_game(game)
    except ValueError:
        # The tokenizer stops at what it does not understand; the nodes before that place can be read.
        stopped = start.end() + max(sgf_grammar.tokenise(game)[1] - len(_ROOT), 0)
    try:
        return sgf_grammar.parse_sgf_game(_closed_tree(text, start.end(), stopped))
    except ValueError as error:
        raise BadSgf(f"{name}: no valid SGF: {error}") from error


def count_lines(data: bytes, name: str) -> int:
    """Return how many lines of play the first game has, variations among them, also those that cannot be read.

    name: used in messages. Raises BadSgf if there is no game.
    """
    text = _to_utf8(data, [])
    depth, lines, is_leaf = 1, 0, True
    for match in _SCAN.finditer(text, _start_of_game(text, name).end()):
        token = match.group()
        if token == b")":
            lines += is_leaf
            depth -= 1
        elif token == b"(":
            depth += 1
        if token in (b"(", b")", b";"):
            is_leaf = token == b";"
        if depth == 0:
            return lines
    return lines + is_leaf


def count_games(data: bytes) -> int:
    """Return how many games a record has: one if it has none that can be told apart."""
    return sum(1 for _ in _games("", data))


def _closed_tree(text: bytes, start: int, end: int) -> bytes:
    """Return the game tree whose first node begins at `start`, cut off at `end` or a limit, with all parentheses."""
    depth, nodes, empty = 1, 0, -1
    for tokens, match in enumerate(_SCAN.finditer(text, start, end)):
        token = match.group()
        nodes += token == b";"
        if (token == b")" and depth == 1) or nodes > MAX_NODES or tokens > _MAX_TOKENS:
            end = match.start()
            break
        depth += (token == b"(") - (token == b")")
        empty = match.start() if token == b"(" else -1
    if empty >= 0:  # a variation that was cut off before its first node
        return _ROOT + text[start:empty] + b")" * (depth - 1)
    return _ROOT + text[start:end] + b")" * depth


def _next_node(data: bytes, start: int) -> int:
    """Return where the next parenthesis or node begins, the end if none does."""
    found = (match.start() for match in _SCAN.finditer(data, start) if match.group() in (b"(", b")", b";"))
    return next(found, len(data))


def _start_of_game(data: bytes, name: str) -> re.Match[bytes]:
    start = _START.search(data) or _START_OF_NIHON_KIIN.search(data)
    if not start:
        raise BadSgf(f"{name}: no SGF data found")
    return start


def _to_utf8(data: bytes, warnings: list[str]) -> bytes:
    r"""Convert a text to UTF-8. Its encoding is that of its byte order mark or CA, else the most likely one.

    The whole text is converted before it is parsed, because in Shift_JIS, Big5 and GBK a character may end in the byte
    of "\\" or "]".
    """
    # Before anything else: UTF-16 text is full of zero bytes, which the other tests misread.
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")):
        if data.startswith(mark):
            return data.decode(encoding, "replace").encode("utf-8")
    # ESC and "~{" begin ISO-2022 and HZ text, which is ASCII only in its bytes.
    if data.isascii() and b"\x1b" not in data and b"~{" not in data:
        return data
    if data.startswith(codecs.BOM_UTF8):
        return data
    declared = _declared_codec(data, warnings)
    if declared:
        text = data.decode(declared, "replace")
        if _damaged_share(text) <= _DAMAGED_SHARE:
            return text.encode("utf-8")
    likely = _likely_encoding(data)
    if declared and likely != declared:
        warnings.append(f"CA: the text is not in {declared}, guessed another encoding")
    return data.decode(likely, "replace").encode("utf-8")


def _declared_codec(data: bytes, warnings: list[str]) -> str | None:
    """Return the codec that CA declares, or its superset; None if it names no usable one."""
    # CA belongs to the root, near the start; a later one would be in a comment.
    match = _CHARSET.search(data, 0, 4096)
    if not match:
        return None
    declared = match.group(1).decode("latin-1").strip()
    with suppress(LookupError, ValueError):
        codec = codecs.lookup(declared).name
        # Python also has codecs such as rot13 and zip, which are no text encodings.
        if _SAFE_CODECS.match(codec):
            return _SUPERSETS.get(codec, codec)
    warnings.append(f"CA[{declared}]: unusable encoding, guessed another")
    return None


def _likely_encoding(data: bytes) -> str:
    """Guess the encoding: "utf-8", "gb18030", "cp932" or "latin-1"."""
    for plain, encoding in (("utf-8", "utf-8"), ("gb2312", "gb18030")):
        with suppress(UnicodeError):
            data.decode(plain)
            return encoding
    if _damaged_share(data.decode("utf-8", "replace")) <= _DAMAGED_SHARE_GUESSED:
        return "utf-8"
    return next((encoding for encoding in ("cp932", "gb18030") if _reads_well(data, encoding)), "latin-1")


def _damaged_share(text: str) -> float:
    """Return the share of the characters beyond ASCII that stand for bytes that could not be decoded."""
    return text.count("\ufffd") / max(1, sum(each > "\x7f" for each in text))


def _reads_well(data: bytes, encoding: str) -> bool:
    """True if the wide characters of the decoded text stand together, as in words.

    Latin text has single high bytes between ASCII letters; decoded this way, they would become isolated wide
    characters.
    """
    try:
        text = data.decode(encoding)
    except UnicodeError:
        return False
    together = sum(len(run) for run in _WIDE.findall(text) if len(run) > 1)
    return not _HALF_WIDTH.search(text) and 2 * together >= sum(each > "\x7f" for each in text)


def _main_line(data: bytes, name: str, warnings: list[str]) -> bytes:
    """Return the first game without its variations: everything up to the first ")", plus the missing ones.

    The leftmost leaf is closed first, so nothing after it has to be parsed or kept in memory. A game that is cut off
    between two moves is closed. Raises BadSgf if there is no game, if it is too large, or if its moves follow a ")"
    that was meant as text.
    """
    start = _start_of_game(data, name)
    depth, nodes, end = 1, 0, len(data)
    for tokens, match in enumerate(_SCAN.finditer(data, start.end())):
        token = match.group()
        if token == b"(":
            depth += 1
        elif token == b";":
            nodes += 1
        elif token == b")":
            end = match.start()
            if depth == 1 and _MOVE.match(data, _next_node(data, match.end())):
                if nodes > 0:
                    warnings.append("moves after the end of the game are ignored")
                    break
                line = data.count(b"\n", 0, end) + 1
                raise BadSgf(
                    f'{name}: line {line}: the game ends without a move, and moves follow: is a "]" not escaped?'
                )
            break
        if nodes > MAX_NODES or tokens > _MAX_TOKENS:
            line = data.count(b"\n", 0, match.start()) + 1
            raise BadSgf(f"{name}: line {line}: more than {MAX_NODES} moves or {_MAX_TOKENS} values")
    else:
        warnings.append("the record is cut off: no closing parenthesis")
    # Keeps the line numbers of later error messages right.
    lines_before = b"\n" * data.count(b"\n", 0, start.start())
    return lines_before + _ROOT + data[start.end() : end] + b")" * depth
