"""Keeps the arrays of a large network in an unnamed file: they take no memory once a backend has packed them.

A backend packs the weights in a form of its own for each board size, and needs the arrays again for the next size only.
"""

import logging
import mmap
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np

from engine.nets.spec import Array, NetSpec, parameters, tensors
from weights.architecture import from_json, to_json

_LOG = logging.getLogger(__name__)
LARGE = 64 * 2**20
"""Bytes of the arrays from which a network is worth a file."""
_LINE = 64
"""Bytes at whose multiples an array begins."""


def in_file(spec: NetSpec, folder: Path | None) -> NetSpec:
    """Return a network whose arrays are read-only maps of a file if it is large, else the network as it is.

    folder: directory of the unnamed file; None to keep the arrays in memory. They stay there if the file has no room.
    """
    if folder is None or 4 * parameters(spec) < LARGE:
        return spec
    places = dict[str, int]()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with TemporaryFile(dir=folder) as file:
            for name, array in tensors(spec):
                places[name] = file.tell() // array.itemsize
                file.write(np.ascontiguousarray(array).data)
                file.write(bytes(-file.tell() % _LINE))
            file.flush()
            content = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.float32)
    except (OSError, ValueError) as error:
        _LOG.info("network %s stays in memory: %s", spec.name, error)
        return spec

    def mapped(name: str, shape: tuple[int, ...]) -> Array:
        return content[places[name] :][: int(np.prod(shape))].reshape(shape)

    return from_json(to_json(spec), mapped)


def free_pages(spec: NetSpec) -> None:
    """Give back the memory of arrays that are in a file: the next use reads it again."""
    # One file has them all.
    base: object = next(tensors(spec))[1]
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, memoryview):
        base = base.obj
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)
