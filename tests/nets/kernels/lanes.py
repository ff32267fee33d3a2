"""The vectors and tiles that the kernels of networks can be tested with on this machine."""

import pytest

from engine.native.processor import IS_X86, instruction_sets
from engine.nets.kernels.operands import (
    FUSED_INTEGERS,
    INTEGERS,
    LONG_INTEGERS,
    ROUNDED,
    TILED,
    integers_here,
    lanes_here,
    rounds_here,
)
from engine.nets.kernels.tiles import multiplies_bytes, tiles_here
from engine.nets.kernels.vectors import WIDEST_PANEL

LANES = [lanes for lanes in WIDEST_PANEL if lanes <= lanes_here()]
NUMBERS = [*LANES, *([ROUNDED] if rounds_here() else [])]
"""Operands in a vector, see `engine.nets.kernels.code.Code`."""
OF_INTEGERS = [
    *([INTEGERS] if IS_X86 and LANES else []),
    *([FUSED_INTEGERS] if IS_X86 and LANES and "avxvnni" in instruction_sets() else []),
    *([LONG_INTEGERS] if integers_here(16) == LONG_INTEGERS else []),
]
"""The same where they are int16."""
OF_TRANSFORMERS = [*NUMBERS, *OF_INTEGERS, *([TILED] if tiles_here() else [])]
"""The same in the blocks of transformers."""
needs_lanes = pytest.mark.skipif(not LANES, reason="kernels are not compiled here, or the CPU has no AVX2")
needs_rounding = pytest.mark.skipif(not rounds_here(), reason="kernels are not compiled here, or the CPU has no bf16")
needs_integers = pytest.mark.skipif(INTEGERS not in OF_TRANSFORMERS, reason="kernels are not compiled here, or not x86")
needs_tiles = pytest.mark.skipif(not tiles_here(), reason="kernels are not compiled here, or the CPU has no AMX")
needs_byte_tiles = pytest.mark.skipif(not multiplies_bytes(), reason="kernels are not compiled here, or no AMX of int8")
