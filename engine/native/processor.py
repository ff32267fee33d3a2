"""The instruction sets of the processor, and those that kernels are compiled for.

On x86-64 with AVX2, kernels are compiled for the level x86-64-v3 and not for the processor at hand, so that one set of
compiled kernels in the binary serves every recent computer.
"""

import os
from platform import machine

from llvmlite import binding

IS_X86 = machine().lower() in ("x86_64", "amd64")
BYTE_PRODUCTS = frozenset({"avx512vnni", "avxvnni"})
"""Instruction sets that multiply bytes and add the products; int8 inference needs one of them."""
TILES = "amx-bf16"
"""The instruction set that multiplies matrices of bf16 (AMX)."""
_REPORTED = ("avx2", "fma", "avx512f", "avx512vnni", "avxvnni", "avx512bf16", "amx-tile", "amx-bf16", "neon", "sve")
_V3_NEEDS = ("avx2", "bmi2", "fma", "lzcnt", "movbe")
_V3_FEATURES = (
    "+64bit,+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,"
    "+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+xsave"
)


def choose_processor() -> None:
    """Set numba's target to x86-64-v3 if this machine supports it, unless the user chose one.

    Must be called before numba is imported.
    """
    if "NUMBA_CPU_NAME" in os.environ:
        return
    features = binding.get_host_cpu_features()
    if all(features.get(name) for name in _V3_NEEDS):
        os.environ["NUMBA_CPU_NAME"] = "x86-64-v3"
        os.environ["NUMBA_CPU_FEATURES"] = _V3_FEATURES


def instruction_sets() -> list[str]:
    """Return those instruction sets of the processor that matter for the speed of networks."""
    features = binding.get_host_cpu_features()
    return [name for name in _REPORTED if features.get(name)]
