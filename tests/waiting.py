"""Waiting for what another thread or process brings about."""

import time
from collections.abc import Callable

PATIENCE = 120.0
"""Seconds after which what a test waits for counts as missing, on the slowest machine."""


def wait_until(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Return as soon as `condition` holds. Raises TimeoutError where it does not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds:g} s")
        time.sleep(0.002)
