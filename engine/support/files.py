"""Files that outlive a crash: written whole or not at all, or a line at a time; and folders that one process fills."""

import errno
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine.errors import GoError


@contextmanager
def claimed(folder: Path | None, failure: type[Exception] = GoError) -> Iterator[None]:
    """Make a folder where there is none, and let no other process claim it meanwhile; None is not claimed.

    The claim ends with the process that made it, however that ends. Raises `failure` where another has claimed it.
    """
    if folder is None:
        yield
        return
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock", blocking=False)
    try:
        lock.acquire()
    except Timeout:
        raise failure(f"{folder}: another keima is at work in this folder") from None
    try:
        yield
    finally:
        lock.release()


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a whole file or none: under another name, synced, then renamed. Text is UTF-8.

    A link stays one, its target is written; what is no file, a pipe or a device, is written to. Raises OSError, which
    names the file.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    with draft_of(path) as draft:
        draft.write_bytes(data)


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """Lend another name in a file's folder; what was written under it then takes the file's place, synced.

    After an error the file stays as it was. A link stays one. Raises OSError, which names the file.
    """
    target = path.resolve()
    draft = target.with_name(f".{target.name}.{os.urandom(4).hex()}.part")
    try:
        try:
            yield draft
            with draft.open("r+b") as file:
                os.fsync(file.fileno())
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def require_writable(path: Path) -> None:
    """Make the folder of a file that is to be written later, and see that it can be. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def append_line(path: Path, line: str) -> None:
    """Add a line to a file and wait until the disk has it."""
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
        file.flush()
        os.fsync(file.fileno())


def whole_lines(path: Path) -> list[str]:
    """Return the lines of a file that `append_line` wrote, none if it is absent, and cut off a torn last one.

    Raises GoError where they are not in UTF-8.
    """
    if not path.exists():
        return []
    whole, _, torn = path.read_bytes().rpartition(b"\n")
    if torn:
        write_atomically(path, whole + b"\n" if whole else b"")
    try:
        return whole.decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        line = whole.count(b"\n", 0, error.start) + 1
        raise GoError(f"{path}: line {line}: no text in UTF-8") from error


def read_object(path: Path, failure: type[Exception] = GoError) -> dict[str, Any]:
    """Return the JSON object that a file holds. Raises `failure`, naming the file, if it holds anything else."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise failure(f"{path}: no valid JSON: {error}") from error
    if not isinstance(found, dict):
        raise failure(f"{path}: expected a JSON object, got {found!r}")
    return found


def require_same_settings(path: Path, wanted: Mapping[str, Any]) -> None:
    """Raise GoError, naming file and setting, unless a JSON object in a file has all the wanted settings."""
    found = read_object(path)
    for name, value in wanted.items():
        if found.get(name) != value:
            raise GoError(f"{path}: {name} was {found.get(name)!r} there and is {value!r} now; use another folder")
