"""Names of the types that numba gives to values, found without numba. Linked kernels are named by them."""

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np


def kind_of(value: Any) -> Any:
    """Return a key that determines numba's type of a value; asking numba for the type itself takes longer."""
    if isinstance(value, np.ndarray):
        flags = value.flags
        return value.dtype, value.ndim, flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.aligned
    if isinstance(value, tuple):
        return (type(value), *map(kind_of, value))
    return (np.void, value.dtype) if isinstance(value, np.void) else type(value)


def type_name(value: Any) -> str:
    """Return the name of numba's type of a value. Raises TypeError for a value that no kernel takes."""
    if isinstance(value, np.ndarray):
        layout = "C" if value.flags.c_contiguous else "F" if value.flags.f_contiguous else "A"
        return array_name(value.dtype, value.ndim, layout, is_writable=value.flags.writeable)
    if isinstance(value, tuple):
        return tuple_name(type(value), map(type_name, value))
    if value is None:
        return "none"
    if isinstance(value, np.generic):
        return dtype_name(value.dtype)
    if isinstance(value, bool | int | float):
        return dtype_name(np.dtype(type(value)))
    raise TypeError(f"no kernel takes a {type(value).__name__}")


def array_name(dtype: np.dtype[Any], dimensions: int, layout: str, *, is_writable: bool) -> str:
    """Return the name of an array's type. layout: C, F, or A for any other."""
    return f"{dtype_name(dtype)}[{dimensions}{layout}{'' if is_writable else ' readonly'}]"


def tuple_name(kind: type, parts: Iterable[str]) -> str:
    """Return the name of the type of a tuple, or of the named tuple `kind`, of parts whose types have these names."""
    return f"{'' if kind is tuple else f'{kind.__module__}.{kind.__qualname__}'}({','.join(parts)})"


def dtype_name(dtype: np.dtype[Any]) -> str:
    """Return the name of the type of an element: NumPy's own, or the fields of a record with their offsets."""
    if dtype.subdtype is not None:
        element, shape = dtype.subdtype
        return f"{dtype_name(element)}{shape}"
    if dtype.fields is None:
        return dtype.name
    fields = (f"{name}:{dtype_name(field[0])}@{field[1]}" for name, field in dtype.fields.items())
    return f"{{{','.join(fields)};{dtype.itemsize}}}"


def symbol(module: str, name: str, arguments: Iterable[str]) -> str:
    """Return the name in the library of the code of a function for arguments whose types have these names.

    name: the qualified name of the function in its module.
    """
    called = f"{module}.{name}({','.join(arguments)})"
    return f"keima_{hashlib.sha256(called.encode()).hexdigest()[:24]}"
