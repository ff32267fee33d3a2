"""The command line of a scripted program that analyses."""

import shlex
import sys
from pathlib import Path


def analyst(*options: str) -> str:
    """Return the command of `fake_analyst.py` with options."""
    script = Path(__file__).with_name("fake_analyst.py")
    return shlex.join([sys.executable, "-E", "-S", str(script), *options])
