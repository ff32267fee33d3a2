"""Checks files of NumPy arrays (.npz) before anything is unpacked. Nothing in them is unpickled."""

import math
import tokenize
import zipfile
import zlib
from typing import Any

import numpy as np

DAMAGED_NPZ = (
    OSError,
    EOFError,
    ValueError,
    TypeError,
    AttributeError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
    tokenize.TokenError,
)
"""Errors that reading a damaged file of arrays may raise, depending on where the damage is."""


def declared_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> tuple[tuple[int, ...], "np.dtype[Any]", int]:
    """Return shape and type of an array as its header declares them, and the length of such a file in bytes.

    A file of another length is damaged, and reading it would allocate what it declares. Raises one of `DAMAGED_NPZ`.
    """
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(file)
        return shape, dtype, file.tell() + dtype.itemsize * math.prod(shape)
