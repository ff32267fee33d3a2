"""The means that numba documents for functions written as instructions, and what llvmlite lacks of them.

Others import numba's and llvmlite's names from here.
"""

from typing import Any

from llvmlite import ir
from numba import typeof, types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["Bfloat16", "cgutils", "compile_for", "intrinsic", "ir", "typeof", "types"]


class Bfloat16(ir.Type):  # type: ignore[misc]
    """LLVM's type of bf16, which llvmlite does not have."""

    def _to_string(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))

    def __hash__(self) -> int:
        return hash(type(self))


def compile_for(function: Any, features: str) -> None:
    """Let an LLVM function use instruction sets that its module is not compiled for, such as "+avx512f"."""
    # The `add` of llvmlite's own attributes refuses those that have a value.
    set.add(function.attributes, f'"target-features"="{features}"')
