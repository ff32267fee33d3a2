"""Finds where this program is installed, how to start it again, and where it may keep cached data."""

import logging
import os
import stat
import sys
import tempfile
from functools import cache
from pathlib import Path

from engine.support.command_line import joined

_NAME = "keima"
_LOG = logging.getLogger(__name__)
MEASURES = "KEIMA_MEASURES"
"""Variable of the environment: "0" keeps a GTP session from measuring backends in the opponent's time."""


def installed_program() -> list[str]:
    """Return the command for other programs' configurations: the script `keima` beside Python, else `this_program`."""
    script = Path(sys.executable).absolute().parent / ("keima.exe" if os.name == "nt" else "keima")
    return [str(script)] if script.exists() and not is_frozen() else this_program()


def this_program() -> list[str]:
    """Return the command that starts the same code again, with absolute paths."""
    python = str(Path(sys.executable).absolute())
    if is_frozen():
        return [python]
    home = Path(__file__).absolute().parents[2]
    in_checkout = home / "keima.py"
    return [python, str(in_checkout if in_checkout.exists() else home)]  # in a wheel, `home` is the package keima


def with_own_path(command: str) -> str:
    """Return a command line with the program `keima` replaced by the one that runs; other programs are left alone.

    The shell may know no `keima`, or another version than the one that the user started.
    """
    name, space, rest = command.lstrip().partition(" ")
    return joined(this_program()) + space + rest if name in (_NAME, f"{_NAME}.exe") else command


def is_frozen() -> bool:
    """Return whether this is the PyInstaller binary."""
    return bool(getattr(sys, "frozen", False))


def user_cache() -> Path | None:
    """Return the folder for this user's cached data, or None if there is none that others cannot change.

    None also where the user has no home. The first call says in one line on stderr which folder is refused, and why.
    """
    folder = _chosen_cache()
    return folder if folder is not None and is_private(folder) else None


@cache
def is_private(folder: Path) -> bool:
    """Return whether only this user and root can change a folder; if not, say so in one line, once per process.

    Cached data holds machine code, which runs when it is loaded. A folder that does not exist is judged by the nearest
    one above it, where others may write if its sticky bit keeps them from replacing what is not theirs, as in /tmp.
    """
    if os.name != "posix":
        return True
    try:
        existing = next(each for each in (folder, *folder.parents) if each.exists())
        status = existing.stat()
    except (OSError, StopIteration):
        return True  # it cannot be written either, which is reported when that is tried
    is_shared = existing != folder and status.st_mode & stat.S_ISVTX
    if not is_trusted(status):
        reason = "belongs to another user"
    elif status.st_mode & stat.S_IWOTH and not is_shared:
        reason = "can be written by other users"
    else:
        return True
    _LOG.warning("nothing is cached in %s: %s %s", folder, existing, reason)
    return False


def is_trusted(status: os.stat_result) -> bool:
    """Return whether a file or folder belongs to this user or to root."""
    return os.name != "posix" or status.st_uid in (0, os.geteuid())


def make_private(folder: Path) -> None:
    """Create a folder that only this user can open, or make it one. Raises OSError, also if it is somebody else's."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    if os.name == "posix" and stat.S_IMODE(folder.stat().st_mode) != 0o700:
        folder.chmod(0o700)


def make_writable(folder: Path) -> None:
    """Create a folder as `make_private` does, and check that files can be made in it. Raises OSError."""
    make_private(folder)
    tempfile.TemporaryFile(dir=folder).close()


def _chosen_cache() -> Path | None:
    """Return the folder that KEIMA_CACHE names, or the system's usual one, existing or not; None without a home."""
    chosen = os.environ.get("KEIMA_CACHE")
    if chosen:
        return Path(chosen).absolute()
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home) / "keima"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "keima"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "keima"
