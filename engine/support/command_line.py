"""Splits and joins command lines by the rules of the operating system."""

import os
import shlex
import subprocess
from collections.abc import Sequence


def startable(command: str, system: str = os.name) -> str | list[str]:
    """Return the arguments that start a command with `subprocess`. Raises ValueError if a quote is not closed."""
    # Windows passes the command line to the program as one text, and each program splits it by its own rules.
    return command if system == "nt" else shlex.split(command)


def joined(words: Sequence[str], system: str = os.name) -> str:
    """Join words to a command line, with quotes where needed."""
    return subprocess.list2cmdline(words) if system == "nt" else shlex.join(words)
