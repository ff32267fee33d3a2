"""Where this program is installed, for those who are to start it again, and where it may keep what it found out."""

import os
import sys
from pathlib import Path


def installed_program() -> list[str]:
    """Return the command that starts this installation: the frozen program, the script `keima`, or Python with it.

    The paths are absolute; a virtual environment's own script stands for it.
    """
    if getattr(sys, "frozen", False):
        return [str(Path(sys.executable).absolute())]
    script = Path(sys.executable).absolute().parent / ("keima.exe" if os.name == "nt" else "keima")
    if script.exists():
        return [str(script)]
    return [str(Path(sys.executable).absolute()), str(Path(__file__).absolute().parents[2] / "keima.py")]


def user_cache() -> Path | None:
    """Return the folder for this user's cached data, or None where the user has no home."""
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
