"""Stands for the names of numba and llvmlite where kernels are linked and nothing is compiled.

Modules with instructions use these names when they are imported; no instruction is written then.
"""

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class _Placeholder:
    """Answers every use with itself."""

    def __getattr__(self, name: str) -> "_Placeholder":
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: object, **__: object) -> "_Placeholder":
        return self

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return ()


def intrinsic(function: F) -> F:
    """Return a function that only linked kernels call, inlined there."""
    return function


def overload(*_: object, **__: object) -> Callable[[F], F]:
    """Return a decorator that does nothing."""
    return lambda function: function


cgutils = ir = types = typeof = _Placeholder()
