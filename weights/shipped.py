"""Paths of the networks that ship with Keima. Imports nothing heavy, because the command line needs them at once."""

import os
from pathlib import Path

SHIPPED_NETWORKS = Path(__file__).parent
"""Directory of the networks that ship with Keima; its README.md says how they were made."""
DEFAULT_NETWORK = SHIPPED_NETWORKS / "keima-t7c96.safetensors"
"""The network that is used without --net."""
NO_NETWORK = "none"
"""What --net says to play without a network."""


def network_named(net: str | None) -> str | None:
    """Return the file or folder that --net names: the default network's if it is not given, None for NO_NETWORK."""
    if net is None:
        return os.fspath(DEFAULT_NETWORK)
    return None if net == NO_NETWORK else net
