"""A target that errs on purpose, in a way that each case names, for the tests of the watch itself."""

import os
import random
import time

from tests.fuzz.target import Target

FAULTS = {3: "crash", 5: "hang", 7: "raise", 9: "slow", 11: "grow"}
"""What goes wrong, by the first byte of a case."""
_kept: list[bytes] = []


def make(generator: random.Random) -> bytes:
    """Return a byte that says what goes wrong."""
    return bytes([generator.choice([0, 1, *FAULTS])])


def check(data: bytes) -> int:
    """Err as the first byte says."""
    match FAULTS.get(data[0]) if data else None:
        case "crash":
            os.abort()
        case "hang":
            time.sleep(3600)
        case "raise":
            raise ValueError("a check has failed")
        case "slow":
            time.sleep(1.2)
        case "grow":
            _kept.append(b"x" * (64 << 20))
    return 1


TARGET = Target(make, check, "bytes", memory=32.0, seconds=1.0)
