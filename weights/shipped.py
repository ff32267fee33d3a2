"""Paths of the networks that ship with Keima. Imports nothing heavy, because the command line needs them at once."""

from pathlib import Path

SHIPPED_NETWORKS = Path(__file__).parent
"""Directory of the networks that ship with Keima; its README.md says how they were made."""
DEFAULT_NETWORK = SHIPPED_NETWORKS / "keima-t7c96.safetensors"
"""The network that is used without --net."""
