"""What the figures were measured on."""

import os
import platform
from importlib import metadata
from typing import Any

from engine import __version__
from engine.native.processor import instruction_sets

VERSIONS_OF = ("numpy", "numba", "llvmlite", "openvino", "torch")


def machine() -> dict[str, Any]:
    """Return the system, the processor and what it can do."""
    return {
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "instruction_sets": instruction_sets(),
    }


def versions() -> dict[str, str]:
    """Return the versions of Keima, of Python and of the libraries that speed depends on, those that are there."""
    found = {"keima": __version__, "python": platform.python_version()}
    for name in VERSIONS_OF:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
