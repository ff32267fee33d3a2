"""Large blocks that are freed go back to the system."""

import platform
import subprocess
import sys

import pytest

from engine.support.memory import LARGE

SCRIPT = """
import ctypes, sys
from pathlib import Path
import numpy as np
from engine.support.memory import return_large_blocks

def mapped():
    class Info(ctypes.Structure):
        _fields_ = [(f"field{index}", ctypes.c_size_t) for index in range(10)]
    report = ctypes.CDLL(None).mallinfo2
    report.restype = Info
    return report().field4

if sys.argv[1] == "bounded":
    assert return_large_blocks()
large = np.empty(24 << 20, dtype=np.uint8)
del large
before = mapped()
kept = np.empty(int(sys.argv[2]), dtype=np.uint8)
print(mapped() - before)
"""


def mapped_bytes(mode: str, size: int) -> int:
    """Return the bytes that a block of a size takes outside of the heap once a larger block was freed."""
    command = [sys.executable, "-c", SCRIPT, mode, str(size)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="mallopt and mallinfo2 are glibc's")
def test_large_blocks_lie_outside_of_the_heap_whatever_was_freed_before() -> None:
    assert mapped_bytes("bounded", 4 * LARGE) >= 4 * LARGE
    assert mapped_bytes("bounded", LARGE // 4) == 0
    assert mapped_bytes("as it is", 4 * LARGE) == 0
