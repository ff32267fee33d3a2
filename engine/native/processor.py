"""The instruction sets of the processor, and those that kernels are compiled for.

Kernels are compiled for the level x86-64-v3 on x86-64 with AVX2, and for what all processors have on ARM64, not for the
processor at hand, so that one set of compiled kernels in the binary serves every recent computer.
"""

import os
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from platform import machine

from engine.native.frozen import LEVELS, is_linked

IS_X86 = machine().lower() in ("x86_64", "amd64")
IS_ARM64 = machine().lower() in ("aarch64", "arm64")
DISABLED = "KEIMA_DISABLE_CPU_FEATURES"
"""Name of the environment's variable with instruction sets that are not used."""
BYTE_PRODUCTS = frozenset({"avx512vnni", "avxvnni"})
"""Instruction sets that multiply bytes and add the products; int8 inference needs one of them."""
TILES = "amx-bf16"
"""The instruction set that multiplies matrices of bf16 (AMX)."""
BYTE_TILES = "amx-int8"
"""The same for matrices of bytes."""
_REPORTED = (
    "avx2",
    "fma",
    "avx512f",
    "avx512vnni",
    "avxvnni",
    "avx512bf16",
    "amx-tile",
    "amx-bf16",
    "amx-int8",
    "neon",
    "sve",
)
_LLVM_NAMES = {
    "abm": "lzcnt",
    "avx512_vnni": "avx512vnni",
    "avx512_bf16": "avx512bf16",
    "avx_vnni": "avxvnni",
    "amx_tile": "amx-tile",
    "amx_bf16": "amx-bf16",
    "amx_int8": "amx-int8",
}
"""Names of instruction sets that Linux writes in another way."""
_V3_NEEDS = ("avx2", "bmi2", "fma", "lzcnt", "movbe")
_V3_FEATURES = (
    "+64bit,+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,"
    "+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+xsave"
)


def choose_processor() -> None:
    """Set numba's target to what recent machines have, if this one has it, too, unless the user chose one.

    Must be called before numba is imported.
    """
    if is_linked() or "NUMBA_CPU_NAME" in os.environ:
        return
    if IS_ARM64:
        os.environ["NUMBA_CPU_NAME"], os.environ["NUMBA_CPU_FEATURES"] = "generic", "+neon"
    elif has_level(LEVELS[0]):
        os.environ["NUMBA_CPU_NAME"], os.environ["NUMBA_CPU_FEATURES"] = LEVELS[0], _V3_FEATURES


def instruction_sets() -> list[str]:
    """Return those instruction sets of the processor that networks may be computed with."""
    hidden = disabled_instruction_sets()
    return [name for name in _REPORTED if name in _features() and name not in hidden]


def disabled_instruction_sets() -> list[str]:
    """Return those that the processor has, but that the environment's KEIMA_DISABLE_CPU_FEATURES names or matches.

    For measuring what a processor without them would do, or where one does not work, as on some virtual machines.
    """
    patterns = os.environ.get(DISABLED, "").replace(",", " ").split()
    return [name for name in _REPORTED if name in _features() and any(fnmatchcase(name, each) for each in patterns)]


def has_level(level: str) -> bool:
    """Return whether the processor has the instruction sets of one of `LEVELS`."""
    return level != LEVELS[0] or _features().issuperset(_V3_NEEDS)


@cache
def _features() -> frozenset[str]:
    """Return the processor's instruction sets by the names that LLVM has for them."""
    if is_linked():
        return _features_by_system()
    from llvmlite import binding  # here, because the frozen program may have none

    found = {name for name, is_there in binding.get_host_cpu_features().items() if is_there}
    # Every ARM64 processor has it, and LLVM does not know what an Apple has (it returns nothing under macOS).
    return frozenset(found | {"neon"} if IS_ARM64 else found)


def _features_by_system() -> frozenset[str]:
    """Return the instruction sets that Linux lists."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), [])
    return frozenset(_LLVM_NAMES.get(flag, flag) for flag in flags)
