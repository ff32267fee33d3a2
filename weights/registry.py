"""Every network format by what its files start with, and the one `load` that chooses."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from engine.nets.spec import NetSpec, WeightsError
from weights import native

_SNIFFED = 64


@dataclass(frozen=True)
class Format:
    """One file format: recognized by its first bytes, whatever the file's name."""

    name: str
    recognizes: Callable[[bytes], bool]
    read: Callable[[str | os.PathLike[str]], NetSpec]


FORMATS: tuple[Format, ...] = (Format("Keima network (safetensors)", native.looks_native, native.read),)


def format_of(path: str | os.PathLike[str]) -> Format:
    """Return the format of a file. Raises WeightsError on a file of no known format."""
    try:
        with Path(path).open("rb") as file:
            start = file.read(_SNIFFED)
    except OSError as error:
        raise WeightsError(f"cannot be read: {error.strerror or error}", file=os.fspath(path)) from None
    for each in FORMATS:
        if each.recognizes(start):
            return each
    known = " or ".join(each.name for each in FORMATS)
    shown = f"bytes {start[:12].hex(' ')}" if start else "an empty file"
    raise WeightsError("no known network format", file=os.fspath(path), offset=0, expected=known, got=shown)


def load(path: str | os.PathLike[str]) -> NetSpec:
    """Return the network of a file of any known format. Raises WeightsError."""
    return format_of(path).read(path)
