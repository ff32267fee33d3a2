"""What the vectors of matrix products hold, the instruction sets that multiply them, and which of them this CPU has."""

from engine.native.jit import has_private_means
from engine.native.processor import IS_X86, instruction_sets

ROUNDED = 32
"""Numbers in a vector of pairs of bf16, which AVX-512 multiplies."""
TILED = -32
"""Stands for the same pairs of bf16, multiplied by AMX; see `engine.nets.kernels.tiled_rows`."""
INTEGERS = -16
"""Stands for vectors of 16 int16, which AVX2 multiplies in pairs; negative, because 16 stands for floats."""
FUSED_INTEGERS = -17
"""Stands for the same vectors of 16 int16, whose pairs AVX-VNNI multiplies and adds to sums by one instruction."""
LONG_INTEGERS = -64
"""Stands for vectors of 32 int16, for which AVX-512 VNNI does the same."""
VECTORS_OF_INTEGERS = (INTEGERS, FUSED_INTEGERS, LONG_INTEGERS)
ALL_FUSED = (FUSED_INTEGERS, LONG_INTEGERS)
"""Those that one instruction multiplies and adds to sums."""
LANES_OF = {8: 8, 16: 16, ROUNDED: 16, INTEGERS: 8, FUSED_INTEGERS: 8, LONG_INTEGERS: 16, TILED: 16}
"""Lanes (floats in a vector) by the numbers in a vector of operands: float32, or pairs of bf16 or of int16."""
FEATURES = {8: "+avx2,+fma", 16: "+avx512f"} if IS_X86 else {8: ""}
"""Instruction sets of functions by the numbers in a vector of operands, beyond those of all kernels.

On ARM64 a vector of 8 floats is two registers of NEON: it has 32 of half the size of AVX2's 16, so the same blocks fit.
"""
FEATURES_OF_PRODUCTS = FEATURES | ({ROUNDED: "+avx512f,+avx512bw,+avx512dq,+avx512bf16"} if IS_X86 else {})
"""The same for functions on operands of matrix products, which may be bf16."""
_FUSED = ",+fast-dpwssd"
"""A mark without which LLVM takes `vpdpwssd` apart into the two instructions that it replaces: an addition alone delays
the next one less. But enough sums are computed side by side, so that what counts is the number of instructions."""
FEATURES_OF_INTEGERS = (
    {INTEGERS: FEATURES[8], LONG_INTEGERS: "+avx512f,+avx512bw,+avx512dq,+avx512vnni" + _FUSED} if IS_X86 else {}
)
"""The same for functions that make operands of int16, by `rounding_of` their vectors."""
FEATURES_OF_INTEGER_PRODUCTS = FEATURES_OF_INTEGERS | (
    {FUSED_INTEGERS: "+avx2,+fma,+avxvnni" + _FUSED} if IS_X86 else {}
)
"""The same for products of operands that are int16."""


def lanes_here() -> int:
    """Return the number of floats in the longest vectors of this CPU; 0 if the kernels do not support it."""
    found = set(instruction_sets()) if has_private_means() else set()
    if not IS_X86:
        return 8 if "neon" in found else 0
    if "avx512f" in found:
        return 16
    return 8 if {"avx2", "fma"} <= found else 0


def rounds_here() -> bool:
    """Return whether this CPU multiplies vectors of bf16."""
    return lanes_here() == LANES_OF[ROUNDED] and "avx512bf16" in instruction_sets()


def integers_here(lanes: int) -> int:
    """Return which of VECTORS_OF_INTEGERS, of as many lanes, this CPU multiplies fastest; 0 if none is worth it."""
    able = instruction_sets()
    if not IS_X86 or not 0 < lanes <= lanes_here():
        return 0
    if lanes == LANES_OF[LONG_INTEGERS]:
        return LONG_INTEGERS if "avx512vnni" in able else 0
    return FUSED_INTEGERS if "avxvnni" in able else INTEGERS
