"""Recognizes every network format by the first bytes of a file, and loads it."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from engine.nets.spec import NetSpec, WeightsError
from weights import katago, katago_checkpoint, keras, leela, native
from weights.token_reader import GZIP_MAGIC, is_cut, unpacked_start
from weights.torch_file import looks_torch

_SNIFFED = 4096


@dataclass(frozen=True)
class Format:
    """A file format that is recognized by its first bytes.

    packed: files may be gzipped; the bytes are then the unpacked ones.
    """

    name: str
    recognizes: Callable[[bytes], bool]
    read: Callable[[str | os.PathLike[str]], NetSpec]
    packed: bool = False


FORMATS: tuple[Format, ...] = (
    Format("Keima network (safetensors)", native.looks_native, native.read),
    Format("KataGo checkpoint (ckpt)", looks_torch, katago_checkpoint.read),
    Format("Keras network (npz)", keras.looks_keras, keras.read),
    Format("Leela Zero network", leela.looks_leela, leela.read, packed=True),
    Format("KataGo network", katago.looks_katago, katago.read, packed=True),
)


def format_of(path: str | os.PathLike[str]) -> Format:
    """Return the format of a file. Raises WeightsError if it is unknown."""
    try:
        with Path(path).open("rb") as file:
            start = file.read(_SNIFFED)
    except OSError as error:
        raise WeightsError(f"cannot be read: {error.strerror or error}", file=os.fspath(path)) from None
    gzipped = start.startswith(GZIP_MAGIC)
    unpacked = unpacked_start(start)
    for each in FORMATS:
        if (each.packed or not gzipped) and each.recognizes(unpacked):
            return each
    if gzipped and len(start) < _SNIFFED and is_cut(start):
        place = {"file": os.fspath(path), "layer": "start", "offset": len(start)}
        found = {"expected": "the end of the gzip data", "got": "the end of the file"}
        raise WeightsError("truncated", **place, **found, damaged=True)  # type: ignore[arg-type]
    known = " or ".join(each.name for each in FORMATS)
    shown = f"bytes {start[:12].hex(' ')}" if start else "an empty file"
    raise WeightsError("unknown network format", file=os.fspath(path), offset=0, expected=known, got=shown)


def load(path: str | os.PathLike[str]) -> NetSpec:
    """Read a network of any known format. Raises WeightsError, also where memory does not suffice."""
    try:
        return format_of(path).read(path)
    except WeightsError as error:
        if not error.damaged:
            raise
        raise error.in_file(os.fspath(path), Path(path).stat().st_size) from None
    except MemoryError:
        size = Path(path).stat().st_size
        raise WeightsError(f"not enough memory to read this network of {size:,} bytes", file=os.fspath(path)) from None
