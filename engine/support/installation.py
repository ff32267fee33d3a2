"""Finds where this program is installed, how to start it again, and where it may keep cached data."""

import os
import sys
from pathlib import Path

from engine.support.command_line import joined

_NAME = "keima"


def installed_program() -> list[str]:
    """Return the command for other programs' configurations: the script `keima` beside Python, else `this_program`."""
    script = Path(sys.executable).absolute().parent / ("keima.exe" if os.name == "nt" else "keima")
    return [str(script)] if script.exists() and not _is_frozen() else this_program()


def this_program() -> list[str]:
    """Return the command that starts the same code again, with absolute paths."""
    python = str(Path(sys.executable).absolute())
    if _is_frozen():
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


def _is_frozen() -> bool:
    return bool(getattr(sys, "frozen", False))


def user_cache() -> Path | None:
    """Return the folder for this user's cached data, or None if the user has no home."""
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
