"""A command line as one text: how it is started, and how it is written from words."""

import os
import shlex
import subprocess
from collections.abc import Sequence


def startable(command: str, system: str = os.name) -> str | list[str]:
    """Return what `subprocess` starts a command by; on Windows, where programs split it, the text itself.

    Raises ValueError where a quote is not closed.
    """
    return command if system == "nt" else shlex.split(command)


def joined(words: Sequence[str], system: str = os.name) -> str:
    """Return the command line of words, with quotes where the system needs them."""
    return subprocess.list2cmdline(words) if system == "nt" else shlex.join(words)
