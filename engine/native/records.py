"""Named tuples of arrays in kernels: all fields are indexed by one call, not copied by hand."""

from typing import Any, TypeVar

import numpy as np

from engine.native.instructions import overload, types

T = TypeVar("T", bound=tuple[Any, ...])


def each_at(values: T, index: int | slice) -> T:
    """Return a named tuple with `array[index]` for each of its arrays; other fields stay. For kernels and Python."""
    return type(values)(*(each[index] if isinstance(each, np.ndarray) else each for each in values))


@overload(each_at, strict=False)  # type: ignore[untyped-decorator]
def _each_at(values: Any, index: Any) -> Any:
    if not isinstance(values, types.BaseNamedTuple):
        return None
    # numba cannot loop over fields of different types, so the source of the function has an expression for each.
    parts = (f"values[{i}]" + "[index]" * isinstance(kind, types.Array) for i, kind in enumerate(values))
    names: dict[str, Any] = {"kind_of_tuple": values.instance_class}
    exec(f"def each_at(values, index):\n    return kind_of_tuple({', '.join(parts)})", names)
    return names["each_at"]
