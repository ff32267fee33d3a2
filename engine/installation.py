"""Where this program is installed, for those who are to start it again."""

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
    return [str(Path(sys.executable).absolute()), str(Path(__file__).absolute().parents[1] / "keima.py")]
