"""Describes the machine and the library versions, for reports of measurements."""

import os
import platform
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from engine import __version__
from engine.native.processor import disabled_instruction_sets, instruction_sets

VERSIONS_OF = ("numpy", "numba", "llvmlite", "openvino", "torch")


def machine() -> dict[str, Any]:
    """Return the operating system, the processor, its cores and instruction sets."""
    return {
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "instruction_sets": instruction_sets(),
        "disabled_instruction_sets": disabled_instruction_sets(),
    }


@cache
def processor_name() -> str:
    """Return the name of the processor as its maker writes it, where it is known."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    if sys.platform == "darwin":
        # Python has only the architecture's name there.
        with suppress(OSError, subprocess.SubprocessError):
            asked = ["sysctl", "-n", "machdep.cpu.brand_string"]
            return subprocess.run(asked, check=True, capture_output=True, text=True, timeout=5).stdout.strip()
    return platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    """Return the versions of Keima, Python and the installed libraries that speed depends on."""
    found = {"keima": __version__, "python": platform.python_version()}
    for name in VERSIONS_OF:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
