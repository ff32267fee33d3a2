"""Reads and writes Keima's own network files: safetensors with the architecture in the metadata.

The single metadata entry `keima-net` is a JSON object: `version` of this format, `crc32` of the network and its arrays,
and `net`, the architecture (see `weights.architecture`) with encoder, board sizes and provenance. Every array is
float32 and named by its path. Nothing in a file is executed, and reading uses no more memory than the file's length
plus a header of at most MAX_HEADER bytes.
"""

import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from engine.nets.spec import Array, NetSpec, WeightsError, tensors, validate
from engine.support.files import write_atomically
from weights.architecture import from_json, to_json
from weights.bounds import check_shape

SUFFIX = ".safetensors"
METADATA_KEY = "keima-net"
VERSION = 1
# Longest header that is read, in bytes: enough for about a hundred thousand layers.
MAX_HEADER = 1 << 24
_LENGTH_BYTES = 8
_DTYPE = "F32"


def write(spec: NetSpec, path: str | os.PathLike[str]) -> None:
    """Write a network atomically.

    Raises WeightsError if the network is inconsistent, OSError if the file cannot be written.
    """
    write_atomically(Path(path), to_bytes(spec))


def to_bytes(spec: NetSpec) -> bytes:
    """Return the file of a network, identical for equal networks. Raises WeightsError if it is inconsistent."""
    arrays = {name: np.ascontiguousarray(array) for name, array in tensors(validate(_named(spec)))}
    net = to_json(spec)
    document = {"version": VERSION, "crc32": crc32_of(net, arrays), "net": net}
    return safetensors.numpy.save(arrays, {METADATA_KEY: _json_of(document)})


def read(path: str | os.PathLike[str]) -> NetSpec:
    """Read the network of a file. Raises WeightsError with file and fault, in one line."""
    name = os.fspath(path)
    try:
        _check_length(Path(path))
        with safetensors.safe_open(name, framework="numpy") as file:
            # Raises MemoryError where the arrays do not fit: safetensors would panic, or end the process.
            np.empty(Path(path).stat().st_size, np.uint8)
            return _read(file)
    except safetensors.SafetensorError as error:
        raise WeightsError(f"safetensors: {error}", file=name, damaged=True) from None
    except WeightsError as error:
        raise error.in_file(name) from None
    except OSError as error:
        raise WeightsError(f"cannot be read: {error.strerror or error}", file=name) from None


def _check_length(path: Path) -> None:
    """Raise WeightsError unless the declared header is small and lies within the file."""
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(_LENGTH_BYTES)
    if len(start) < _LENGTH_BYTES:
        expected = f"{_LENGTH_BYTES} bytes of header length"
        raise WeightsError("truncated", offset=0, expected=expected, got=len(start), damaged=True)
    declared = int.from_bytes(start, "little")
    limit = min(MAX_HEADER, size - _LENGTH_BYTES)
    # Checked before safetensors allocates the header.
    if declared > limit:
        expected = f"at most {limit} bytes"
        raise WeightsError("header too long", offset=0, expected=expected, got=declared, damaged=True)


def _read(file: Any) -> NetSpec:
    """Return the network of an open safetensors file."""
    document = _document(file.metadata() or {})
    unread = set(file.keys())

    def fetch(name: str, shape: tuple[int, ...]) -> Array:
        if name not in unread:
            raise WeightsError("missing tensor", layer=name, expected=list(shape))
        unread.remove(name)
        check_shape(shape, name)
        stored = file.get_slice(name)
        if stored.get_dtype() != _DTYPE:
            raise WeightsError("bad type", layer=name, expected=_DTYPE, got=stored.get_dtype())
        if tuple(stored.get_shape()) != shape:
            raise WeightsError("wrong shape", layer=name, expected=list(shape), got=stored.get_shape())
        array: Array = file.get_tensor(name)
        return array

    spec = _named(from_json(document["net"], fetch))
    # Extra arrays are an error: they would be lost when the network is written again.
    if unread:
        raise WeightsError("extra tensor", layer=min(unread))
    checksum = crc32_of(document["net"], dict(tensors(spec)))
    if document["crc32"] != checksum:
        raise WeightsError("wrong checksum", expected=document["crc32"], got=checksum, damaged=True)
    return spec


def _named(spec: NetSpec) -> NetSpec:
    """Return the network. Raises WeightsError if its name is not printable."""
    if not spec.name.isprintable():
        raise WeightsError("bad value", layer="name", expected="printable characters", got=ascii(spec.name))
    return spec


def _document(metadata: Mapping[str, str]) -> dict[str, Any]:
    """Return the JSON object of the metadata, which must have the supported version."""
    if METADATA_KEY not in metadata:
        raise WeightsError("not a Keima network", layer="metadata", expected=METADATA_KEY, got=sorted(metadata)[:5])
    try:
        document = json.loads(metadata[METADATA_KEY])
    except (ValueError, RecursionError) as error:
        raise WeightsError(f"metadata: not valid JSON: {error}", layer="metadata") from None
    if not isinstance(document, dict) or type(document.get("version")) is not int:
        raise WeightsError("no format version", layer="metadata", expected=VERSION)
    if document["version"] != VERSION:
        raise WeightsError("unknown format version", layer="metadata", expected=VERSION, got=document["version"])
    if document.keys() != {"version", "crc32", "net"}:
        raise WeightsError(
            "wrong entries", layer="metadata", expected="crc32 net version", got=" ".join(sorted(document)[:5])
        )
    return document


def _json_of(value: object) -> str:
    """Return an architecture as JSON. Raises WeightsError on NaN or infinity, for which JSON has no word."""
    try:
        return json.dumps(value, sort_keys=True, allow_nan=False)
    except ValueError:
        raise WeightsError("a number is not finite", layer="metadata") from None


def crc32_of(net: object, arrays: Mapping[str, Array]) -> int:
    """Return the CRC-32 of the architecture and of all arrays, in the order of their names."""
    checksum = zlib.crc32(_json_of(net).encode())
    for name in sorted(arrays):
        checksum = zlib.crc32(np.ascontiguousarray(arrays[name]).data, checksum)
    return checksum


def looks_native(start: bytes) -> bool:
    """True if a file that starts like this may be Keima's: a header length, then an object with the network's key."""
    return (
        len(start) > _LENGTH_BYTES
        and int.from_bytes(start[:_LENGTH_BYTES], "little") > 1
        and start.startswith(b"{", _LENGTH_BYTES)
        and METADATA_KEY.encode() in start
    )
