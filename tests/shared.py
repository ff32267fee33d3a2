"""Where the reference material lies that is too large or not licensed to be part of the project."""

import os
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("KEIMA_SHARED", _ROOT.parent / "shared"))


def require_shared(name: str) -> Path:
    """Return the path of a shared file or folder, or skip the running test where it is absent."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{path} is absent; set KEIMA_SHARED to the folder that holds {name}")
    return path
