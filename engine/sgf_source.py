"""The bytes of game records: files, encodings, and the main line cut out of the rest.

Owns the bounds that keep a hostile file harmless. Knows no property but CA; what the others mean is
`engine.sgf`'s.
"""

import bz2
import codecs
import re
from collections.abc import Iterator
from pathlib import Path

from sgfmill import sgf_grammar

from engine.errors import BadSgf

MAX_BYTES = 64 << 20
MAX_NODES = 10_000
"""A game keeps one board for each move, so this bounds its memory to about 100 MiB."""
_MAX_TOKENS = 500_000
_MAX_LINE = 1 << 20

_START = re.compile(rb"\(\s*;")
_START_OF_NIHON_KIIN = re.compile(rb"\(\s*(?=[A-Z]{2}\[)")
"""The Nihon Ki-in leaves out the first semicolon."""
_SCAN = re.compile(rb"\[[^\\\]]*(?:\\.[^\\\]]*)*\]|[();]", re.DOTALL)
_CHARSET = re.compile(rb"CA\s*\[([^\]]{1,40})\]")
_SAFE_CODECS = re.compile(r"utf-?8|ascii|iso8859|latin|cp\d|gb|big5|euc|shift|iso2022|koi8|mac|hz|johab|tis")


def iterate_sgfl(path: Path | str) -> Iterator[bytes]:
    """Yield the SGF texts of a file that holds one game a line, packed with bzip2 or not.

    Raises BadSgf on a line longer than 1 MiB or a file that cannot be read.
    """
    try:
        with bz2.open(path, "rb") if str(path).endswith(".bz2") else Path(path).open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(_MAX_LINE + 1), b""), 1):
                if len(line) > _MAX_LINE:
                    raise BadSgf(f"{path}: line {number}: longer than {_MAX_LINE} bytes")
                if line.strip():
                    yield line
    except (OSError, EOFError) as error:
        raise BadSgf(f"{path}: cannot be read: {error}") from error


def read_file(path: Path) -> bytes:
    """Return the bytes of a file. Raises BadSgf where it is absent, unreadable or too large."""
    try:
        if not path.is_file():
            raise BadSgf(f"{path}: no such file")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, BadSgf):
            raise
        raise BadSgf(f"{path}: cannot be read: {error}") from error
    if len(data) > MAX_BYTES:
        raise BadSgf(f"{path}: larger than {MAX_BYTES >> 20} MiB")
    return data


def read_nodes(data: bytes, name: str) -> tuple[list[dict[str, list[bytes]]], list[str]]:
    """Return the property maps of the first game's main line, values in UTF-8, and warnings.

    name: what messages call the text. Raises BadSgf.
    """
    if len(data) > MAX_BYTES:
        raise BadSgf(f"{name}: larger than {MAX_BYTES >> 20} MiB")
    warnings: list[str] = []
    main_line = _main_line(_to_utf8(data, warnings), name, warnings)
    try:
        tree = sgf_grammar.parse_sgf_game(main_line)
        return list(sgf_grammar.main_sequence_iter(tree)), warnings
    except (ValueError, RecursionError) as error:
        # sgfmill does not say where; its tokenizer does: it stops at what it does not understand.
        stopped = sgf_grammar.tokenise(main_line)[1]
        line = main_line.count(b"\n", 0, stopped) + 1
        raise BadSgf(f"{name}: line {line}: no valid SGF: {error}") from error


def _to_utf8(data: bytes, warnings: list[str]) -> bytes:
    """Return the text as UTF-8, whatever encoding it is in: mark, CA, or the most likely one.

    The whole text is converted before it is parsed, for in Shift_JIS, Big5 and GBK a character may
    end in the byte of "\\" or "]".
    """
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")):
        if data.startswith(mark):
            return data.decode(encoding, "replace").encode("utf-8")
    if data.isascii() and b"\x1b" not in data and b"~{" not in data:
        return data
    if data.startswith(codecs.BOM_UTF8):
        return data
    match = _CHARSET.search(data, 0, 4096)
    if match:
        declared = match.group(1).decode("latin-1").strip()
        try:
            codec = codecs.lookup(declared).name
            if _SAFE_CODECS.match(codec):
                return data.decode(codec).encode("utf-8")
            warnings.append(f"CA[{declared}]: unusable encoding, guessed another")
        except (LookupError, UnicodeError, ValueError):
            warnings.append(f"CA[{declared}]: the text is not in this encoding, guessed another")
    return data.decode(_likely_encoding(data), "replace").encode("utf-8")


def _likely_encoding(data: bytes) -> str:
    """Return "utf-8", "gb18030" or "latin-1".

    Latin text has single high bytes between ASCII letters; Chinese has pairs of them.
    """
    for encoding in ("utf-8", "gb18030"):
        if encoding == "gb18030" and any(len(run) % 2 for run in re.findall(rb"[\x80-\xff]+", data)):
            continue
        try:
            data.decode(encoding)
        except UnicodeError:
            continue
        return encoding
    return "latin-1"


def _main_line(data: bytes, name: str, warnings: list[str]) -> bytes:
    """Return the first game without its variations: all up to the first ")", and the ones missing.

    The leftmost leaf is the first to be closed, so nothing after it needs to be parsed, or held in
    memory. A game cut off between two moves is closed. Raises BadSgf where there is no game, or too
    much of one.
    """
    start = _START.search(data) or _START_OF_NIHON_KIIN.search(data)
    if not start:
        raise BadSgf(f"{name}: no SGF data found")
    depth, nodes, end = 1, 0, len(data)
    for tokens, match in enumerate(_SCAN.finditer(data, start.end())):
        token = match.group()
        if token == b"(":
            depth += 1
        elif token == b";":
            nodes += 1
        elif token == b")":
            end = match.start()
            break
        if nodes > MAX_NODES or tokens > _MAX_TOKENS:
            line = data.count(b"\n", 0, match.start()) + 1
            raise BadSgf(f"{name}: line {line}: more than {MAX_NODES} moves or {_MAX_TOKENS} values")
    else:
        warnings.append("the record is cut off: no closing parenthesis")
    lines_before = b"\n" * data.count(b"\n", 0, start.start())
    return lines_before + b"(;" + data[start.end() : end] + b")" * depth
