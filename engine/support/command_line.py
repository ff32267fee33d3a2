"""Splits and joins command lines in the way of the operating system."""

import os
import shlex
import subprocess
from collections.abc import Sequence


def startable(command: str, system: str = os.name) -> str | list[str]:
    """Return what `subprocess` needs to start a command; on Windows, where programs split it themselves, the text.

    Raises ValueError if a quote is not closed.
    """
    # Windows hands programs one text and has no single way to split it.
    return command if system == "nt" else shlex.split(command)


def joined(words: Sequence[str], system: str = os.name) -> str:
    """Join words to a command line, quoted where the system needs it."""
    return subprocess.list2cmdline(words) if system == "nt" else shlex.join(words)
