"""The OpenMP threads of torch, in this process and in those that it starts. Does not import torch."""

import os

SPINS = "5000"
"""Iterations for which an OpenMP thread spins before it sleeps. Torch's default of many thousands takes the processor
from other threads, including its own: beside other work, two threads trained a 4x48 network at 30 samples/s with the
default and at 139 with this value."""


def limit_spinning() -> None:
    """Set how long OpenMP threads spin, unless the user has set it. Call this before torch is imported."""
    # OpenMP reads this variable only once, when torch is loaded.
    os.environ.setdefault("GOMP_SPINCOUNT", SPINS)
