"""The command line of a scripted program that analyses."""

import sys
from pathlib import Path

from engine.support.command_line import joined


def analyst(*options: str) -> str:
    """Return the command of `fake_analyst.py` with options."""
    script = Path(__file__).with_name("fake_analyst.py")
    return joined([sys.executable, "-E", "-S", str(script), *options])
