"""Parses commands and formats replies of GTP version 2. Does no I/O and knows no particular command.

The numbered steps are those of the standard's "preprocessing": (1) delete control characters except HT and LF, (2)
delete comments, (3) turn HT into a space, (4) drop blank lines.
"""

import re
from typing import NamedTuple

ENCODING = "utf-8"
"""Encoding of both streams. Commands are decoded with surrogateescape, so that file names in any other encoding reach
the file system unchanged."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_BLANK_LINES = re.compile(r"\n{2,}")
_INTERRUPT = re.compile(r"#\s*interrupt\b")
_BYTE_ORDER_MARK = "\ufeff"


class Command(NamedTuple):
    """One command line. id: as echoed in the reply, or "". rest: the argument text, for file names and JSON.

    line: its number in the session; 0 outside one.
    """

    id: str
    name: str
    args: list[str]
    rest: str = ""
    line: int = 0


def decode(line: bytes) -> str:
    """Decode a line of any encoding; undecodable bytes become surrogates."""
    return line.decode(ENCODING, "surrogateescape")


def encode(text: str) -> bytes:
    """Encode a reply."""
    return text.encode(ENCODING, "replace")


def is_interrupt(line: str) -> bool:
    """True if a raw line is GoGui's `# interrupt`, a comment that means "answer now"."""
    return _INTERRUPT.match(_CONTROL.sub("", line).strip()) is not None


def preprocess(line: str) -> str:
    """Remove control characters and comments from a raw line and replace tabs by spaces: steps 1 to 3."""
    # A byte order mark may precede the first line.
    text = _CONTROL.sub("", line.replace("\n", "").removeprefix(_BYTE_ORDER_MARK))
    return text.partition("#")[0].replace("\t", " ")


def parse_command(line: str) -> Command | None:
    """Parse a raw line; None for a blank line or a comment, which get no reply."""
    text = preprocess(line).strip(" ")
    identity, _, after = text.partition(" ")
    # `isdigit` alone accepts digits of other scripts.
    if not (identity.isascii() and identity.isdigit()):
        identity, after = "", text
    if not text:
        return None
    name, _, rest = after.strip(" ").partition(" ")
    args = [argument for argument in rest.split(" ") if argument]
    # GNU Go and KataGo echo the number, not its spelling: `007 name` is answered `=7 ...`.
    return Command(identity.lstrip("0") or identity[-1:], name, args, rest.strip(" "))


def format_reply(identity: str, text: str, ok: bool = True) -> str:
    """Format a reply with its closing blank line. Blank lines within the text are removed: they would end it."""
    return f"{'=' if ok else '?'}{identity} {clean_text(text)}\n\n"


def format_stream_start(identity: str) -> str:
    """Format the first line of a reply whose other lines follow one by one."""
    return f"={identity}\n"


def format_stream_end(last: str) -> str:
    """Format the last line of such a reply, if any, and the closing blank line."""
    return f"{last}\n\n" if last else "\n"


def clean_text(text: str) -> str:
    """Remove control characters, trailing spaces and blank lines from a reply."""
    printable = _CONTROL.sub("", text).replace("\t", " ")
    lines = "\n".join(line.rstrip(" ") for line in printable.split("\n"))
    return _BLANK_LINES.sub("\n", lines).rstrip("\n")
