"""Writes files that survive a crash (atomically, or line by line) and locks folders for one process."""

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine.errors import GoError


@contextmanager
def claimed(folder: Path | None, failure: type[Exception] = GoError) -> Iterator[None]:
    """Create a folder if needed and lock it against other processes; None is not locked.

    The lock ends with the process, however that ends. Raises `failure` if another process has locked the folder.
    """
    if folder is None:
        yield
        return
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)
    # A lock of the system, not a file with a process id: it ends with the process, even after a crash.
    lock = FileLock(folder / ".lock", blocking=False)
    try:
        lock.acquire()
    except Timeout:
        raise failure(f"{folder}: another keima process is using this folder") from None
    try:
        yield
    finally:
        lock.release()


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a whole file or nothing: to a temporary name, synced, then renamed. Text is UTF-8.

    A link stays a link and its target is written; pipes and devices are written to directly. Raises OSError with the
    name of the file.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    # A rename would replace a pipe or device such as /dev/stdout by a file.
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    with draft_of(path) as draft:
        draft.write_bytes(data)


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """Yield a temporary name in the file's folder; after the block, that file is synced and replaces the target.

    After an error the target is unchanged. A link stays a link. Raises OSError with the name of the file, also for a
    pipe or a device.
    """
    require_regular(path)
    # Through a link, so that the link survives and its target is replaced.
    target = path.resolve()
    # In the same folder: only a rename within one file system is atomic.
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


def require_regular(path: Path) -> None:
    """Raise OSError if a path leads to something other than a regular file: a folder, a pipe, a device."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "Not a regular file", str(path))


def require_writable(path: Path) -> None:
    """Create the folder of a file and check that the file can be written later. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def append_line(path: Path, line: str) -> None:
    """Append a line to a file and wait until it is on disk. Raises OSError, also for a pipe or a device."""
    require_regular(path)
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
        file.flush()
        os.fsync(file.fileno())


def whole_lines(path: Path) -> list[str]:
    """Return the lines written by `append_line`, none if the file is missing; remove an incomplete last line.

    Raises GoError if they are not UTF-8.
    """
    if not path.exists():
        return []
    whole, _, torn = path.read_bytes().rpartition(b"\n")
    # The process was killed in the middle of a line: without its newline it was never acknowledged.
    if torn:
        write_atomically(path, whole + b"\n" if whole else b"")
    try:
        return whole.decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        line = whole.count(b"\n", 0, error.start) + 1
        raise GoError(f"{path}: line {line}: not UTF-8 text") from error


def read_object(path: Path, failure: type[Exception] = GoError) -> dict[str, Any]:
    """Return the JSON object in a file. Raises `failure`, with the name of the file, for anything else."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise failure(f"{path}: not valid JSON: {error}") from error
    if not isinstance(found, dict):
        raise failure(f"{path}: expected a JSON object, got {found!r}")
    return found
