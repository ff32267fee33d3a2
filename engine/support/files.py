"""Writes files that survive a crash (atomically, or line by line) and locks folders for one process."""

import errno
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

from engine.errors import GoError

_LOCK = ".lock"
# Longer than `is_claimed` holds a lock, so that a question does not refuse a command.
_LOCK_SECONDS = 0.3


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
    lock = FileLock(folder / _LOCK, timeout=_LOCK_SECONDS)
    try:
        lock.acquire()
    except Timeout:
        raise failure(f"{folder}: another keima process is using this folder") from None
    try:
        yield
    finally:
        lock.release()


def is_claimed(folder: Path) -> bool:
    """Return whether a process has locked a folder by `claimed`. Creates nothing."""
    from filelock import FileLock, Timeout

    if not (folder / _LOCK).exists():
        return False
    try:
        with FileLock(folder / _LOCK, blocking=False):
            return False
    except Timeout:
        return True
    except OSError:
        return _is_locked(folder / _LOCK)


def _is_locked(path: Path) -> bool:
    """Return whether a lock that this process may not write, such as another user's, is held, as far as it can see."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    return False


def unused(path: Path) -> Path:
    """Return the path, or the first beside it that is not there: NAME-2, NAME-3."""
    others = (path.with_stem(f"{path.stem}-{number}") for number in count(2))
    return path if not path.exists() else next(each for each in others if not each.exists())


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
    with naming(path):
        try:
            yield draft
            with draft.open("r+b") as file:
                os.fsync(file.fileno())
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Give an OSError of the block the name of a file: that of a write, such as on a full disk, has none."""
    try:
        yield
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


def append_line(path: Path, line: str, *, waits: bool = True) -> None:
    """Append a line to a file. Raises OSError, also for a pipe or a device.

    waits: until the line, and all before it, are on disk. Without, the end of the process loses nothing, but the
    machine's end may. An incomplete last line is replaced: a process was killed while it wrote that.
    """
    require_regular(path)
    with naming(path), path.open("a+b") as file:
        _drop_torn_line(file)
        file.write(line.encode("utf-8") + b"\n")
        file.flush()
        if waits:
            os.fsync(file.fileno())


def _drop_torn_line(file: BinaryIO) -> None:
    """Truncate a file after its last newline."""
    if file.seek(0, os.SEEK_END) == 0:
        return
    file.seek(-1, os.SEEK_END)
    if file.read(1) != b"\n":
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)


def iterate_lines(path: Path) -> Iterator[str]:
    """Yield the lines written by `append_line`, none if the file is missing; leave out an incomplete last line.

    Changes nothing, so that a file can be read while another process appends to it. Raises GoError if they are not
    UTF-8.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            # Without its newline a line was never acknowledged: its process was killed, or is writing it now.
            if not line.endswith(b"\n"):
                return
            try:
                yield line.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise GoError(f"{path}: line {number}: not UTF-8 text") from error


def whole_lines(path: Path) -> list[str]:
    """Return what `iterate_lines` yields."""
    return [*iterate_lines(path)]


def digest_of(path: Path) -> str:
    """Return 16 hexadecimal digits that identify a file's contents (SHA-256). Raises OSError."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()[:16]


def read_object(path: Path, failure: type[Exception] = GoError) -> dict[str, Any]:
    """Return the JSON object in a file. Raises `failure`, with the name of the file, for anything else."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise failure(f"{path}: not valid JSON: {error}") from error
    if not isinstance(found, dict):
        raise failure(f"{path}: expected a JSON object, got {found!r}")
    return found
