"""The header of a file of remembered positions. Imports nothing heavy: a session checks its file before it starts."""

import struct
from pathlib import Path

from engine.errors import GoError

MAGIC, VERSION = b"keima evaluations", 1
HEADER = struct.Struct("<17sII32s")
"""The magic, the version, the number of entries, and BLAKE2b of the rest."""


def read_header(path: Path, data: bytes) -> tuple[int, bytes]:
    """Return the number of entries and the checksum. data: the file, or its beginning. Raises GoError."""
    if len(data) < HEADER.size or not data.startswith(MAGIC):
        raise damaged(path, f"a file of remembered positions, which begins with {MAGIC!r}", repr(data[: len(MAGIC)]))
    _, version, count, checksum = HEADER.unpack_from(data)
    if version != VERSION:
        raise damaged(path, f"version {VERSION}", str(version))
    return count, checksum


def damaged(path: Path, expected: str, got: str) -> GoError:
    """Return the error of a file that is not what a session has written."""
    return GoError(f"{path}: expected {expected}, got {got}")


def require_usable_file(path: Path) -> None:
    """Raise GoError if a file has another header, or if it is not there and its folder is not, either; OSError."""
    if not path.parent.is_dir():
        raise GoError(f"{path}: expected a file in a folder that exists, got no folder {path.parent}")
    if path.exists():
        with path.open("rb") as file:
            read_header(path, file.read(HEADER.size))
