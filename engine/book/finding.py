"""Finds the file of a book by its path or name, and checks its first line. Imports nothing heavy, for early replies."""

import os
from pathlib import Path

from engine.errors import GoError
from weights.shipped import SHIPPED_NETWORKS

SUFFIX = ".book"
MAGIC = b"keima-book "
VERSION = 1
FIRST_LINE = MAGIC + b"%d\n" % VERSION


class BookError(GoError):
    """A book that cannot be read; the message names file, what was expected, and what was found."""


def find_book(path: str | os.PathLike[str]) -> Path:
    """Return the file of a book: the file itself, or the one that ships with Keima. Raises GoError."""
    place = Path(path)
    if place.exists():
        return place
    shipped = SHIPPED_NETWORKS / (place.name + SUFFIX)
    if place.name == os.fspath(path) and shipped.is_file():
        return shipped
    names = ", ".join(sorted(each.stem for each in SHIPPED_NETWORKS.glob(f"*{SUFFIX}")))
    raise GoError(f"{os.fspath(path)}: no such book; books that ship with Keima: {names or 'none'}")


def require_book(path: str | os.PathLike[str]) -> None:
    """Raise GoError if there is no such book, BookError if its file does not begin as one, OSError. Reads one line."""
    with find_book(path).open("rb") as file:
        require_first_line(os.fspath(path), file.read(2 * len(FIRST_LINE)))


def require_first_line(name: str, content: bytes) -> None:
    """Raise BookError unless the content of a file begins with the first line of a book."""
    if not content.startswith(FIRST_LINE):
        is_other = content.startswith(MAGIC)
        got = content.partition(b"\n")[0][:40] if is_other else content[: len(FIRST_LINE)]
        raise BookError(f"{name}: expected a book that begins with {FIRST_LINE!r}, got {got!r}")
