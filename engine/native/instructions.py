"""Names of numba and llvmlite for functions written as LLVM instructions, and two things that llvmlite lacks.

Placeholders where kernels are linked and nothing is compiled.
"""

from typing import TYPE_CHECKING, Any

from engine.native.frozen import is_linked

if TYPE_CHECKING or not is_linked():
    from llvmlite import binding, ir
    from numba import typeof, types
    from numba.core import cgutils
    from numba.extending import intrinsic, overload

    # Reads the instructions that functions have as text; numba needs none.
    binding.initialize_native_asmparser()
else:
    from engine.native.placeholders import cgutils, intrinsic, ir, overload, typeof, types

__all__ = ["Bfloat16", "cgutils", "compile_for", "intrinsic", "ir", "overload", "typeof", "types"]


class Bfloat16(ir.Type):  # type: ignore[misc]
    """LLVM's type `bfloat`, which llvmlite does not have."""

    def _to_string(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))

    def __hash__(self) -> int:
        return hash(type(self))


def compile_for(function: Any, features: str) -> None:
    """Let an LLVM function use instruction sets that its module is not compiled for, such as "+avx512f"."""
    # `set.add`, because the `add` of llvmlite's attribute set rejects attributes with a value.
    set.add(function.attributes, f'"target-features"="{features}"')
