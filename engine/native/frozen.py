"""Where the frozen program (PyInstaller's) has its kernels, and whether they need numba.

On Linux with x86-64 they are linked into shared libraries when the program is built (`engine.native.linking`), and the
program has no numba and no LLVM. On other systems it has both, and files of numba's cache.
"""

import sys
from pathlib import Path
from platform import machine

from engine.support.installation import is_frozen

LINKS_KERNELS = sys.platform == "linux" and machine() == "x86_64"
"""Whether a program that is built here has its kernels linked."""
FOLDER = "kernels"
"""Folder with the kernels inside the frozen program."""
KEY_FILE = "KEY"
"""File in that folder with the hash of the sources that the kernels were compiled from."""
LEVELS = ("x86-64-v3", "x86-64-v2")
"""Processors that kernels are linked for, the best first. The second is the least that NumPy runs on."""


def frozen_directory() -> Path:
    """Return the folder of the frozen program's kernels."""
    return Path(getattr(sys, "_MEIPASS", ".")) / FOLDER


def library_name(level: str) -> str:
    """Return the name of the library of kernels for one of `LEVELS`."""
    return f"kernels-{level}.so"


def is_linked() -> bool:
    """Return whether kernels are taken from a shared library, so that numba is not needed."""
    return is_frozen() and (frozen_directory() / library_name(LEVELS[0])).is_file()
