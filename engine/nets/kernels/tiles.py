"""Matrix products by AMX: a tile is a register that holds a matrix, and one instruction multiplies two tiles.

A tile has 16 rows of 64 bytes. One instruction multiplies 32 channels in bf16, or 64 in int8, of 16 points by their
weights for 16 output channels, and adds the 8,192 or 16,384 products to sums in float32 or int32 (Intel Architecture
Instruction Set Extensions Programming Reference, chapter 3).
"""

import ctypes
import struct
import sys
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.native.instructions import ir
from engine.native.processor import BYTE_TILES, TILES, instruction_sets
from engine.nets.kernels.code import FLOAT_BYTES, Code, Value
from engine.nets.kernels.operands import lanes_here
from engine.nets.kernels.packing import bits_of_bf16
from engine.nets.spec import Array

TILE_ROWS = 16
"""Points in a tile of points, and channels in a tile of the result."""
TOGETHER = 2
"""Tiles of points, and of channels, in one product: 2 x 2 results and 2 + 2 operands fill the eight registers."""
POINTS = TOGETHER * TILE_ROWS
"""Points in one product."""
DEPTH = 32
"""Channels in a tile of points in bf16, and in the results of one product."""
FLOATS, BF16, UNSIGNED, SIGNED = range(4)
"""Formats of points in memory: float32, bf16, and bytes from 0 to 255 or from -128 to 127."""
IN_A_FLOAT = (1, 2, 4, 4)
"""Numbers of each format in the place of a float."""
_PRODUCTS = {BF16: "tdpbf16ps", UNSIGNED: "tdpbusd", SIGNED: "tdpbssd"}
"""The instruction that multiplies points of a format by weights: those of bytes are int8."""
FEATURES_OF_TILES = "+avx512bf16,+amx-tile,+amx-bf16,+amx-int8"
"""Instruction sets of functions on tiles, beyond those of all kernels."""
TILE_FLOATS = 256
"""Size of a tile in memory, in float32."""
_LINE_BYTES = 64
_PALETTE, _REGISTERS = 1, 8
_REQUEST_PERMISSION, _TILE_DATA = 0x1023, 18
_ARCH_PRCTL = 158
"""Linux system call on x86-64 by which a process asks for AMX, for all its threads, until it ends."""


@cache
def tiles_here() -> bool:
    """Return whether this CPU has AMX and the system allows this process to use it; False except on Linux."""
    if lanes_here() != TILE_ROWS or TILES not in instruction_sets() or sys.platform != "linux":
        return False
    call = ctypes.CDLL(None).syscall
    call.restype = ctypes.c_long
    return bool(call(*map(ctypes.c_long, (_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA))) == 0)


def multiplies_bytes() -> bool:
    """Return whether tiles can hold bytes, too."""
    return tiles_here() and BYTE_TILES in instruction_sets()


def in_tiles(matrix: Array) -> Array:
    """Return a matrix [parts, k, out] in bf16, as `in_order_of_tiles` does; k: a multiple of DEPTH."""
    return in_order_of_tiles(bits_of_bf16(matrix))


def in_order_of_tiles(numbers: NDArray[Any]) -> Array:
    """Return bits of bf16 or int8 [parts, k, out] in the order in which `convolve_points` reads them.

    k: whole tiles, of 16 floats. out: a multiple of DEPTH. Result: flat float32, n = 2 or 4 numbers in each, ordered by
    pairs of tiles of `out`, then parts, then tiles of k, then the two tiles of the pair, each [k / n, out, n of k].
    """
    parts, k, out = numbers.shape
    together = FLOAT_BYTES // numbers.itemsize
    depth = TILE_ROWS * together
    split = numbers.reshape(parts, k // depth, TILE_ROWS, together, out // DEPTH, TOGETHER, TILE_ROWS)
    return np.ascontiguousarray(split.transpose(4, 0, 1, 5, 2, 6, 3)).view(np.float32).ravel()


class Tiles:
    """Writes instructions on tiles."""

    def __init__(self, code: Code) -> None:
        self._code = code

    def _call(self, name: str, *operands: Value) -> None:
        self._code.call(f"llvm.x86.{name}", ir.VoidType(), *operands)

    def _bytes_at(self, pointer: Value) -> Value:
        return self._code.builder.bitcast(pointer, ir.IntType(8).as_pointer())

    def configure(self) -> None:
        """Give all tiles 16 rows of 64 bytes."""
        # A constant of the module, because the instruction reads its configuration from memory.
        module, name = self._code.builder.module, "keima.tiles"
        settings = module.globals.get(name)
        if settings is None:
            content = struct.pack("<BB14x8H16x8B8x", _PALETTE, 0, *[_LINE_BYTES] * 8, *[TILE_ROWS] * 8)
            kind = ir.ArrayType(ir.IntType(8), len(content))
            settings = ir.GlobalVariable(module, kind, name)
            settings.linkage, settings.global_constant = "internal", True
            settings.initializer = ir.Constant(kind, bytearray(content))
        self._call("ldtilecfg", self._bytes_at(settings))

    def release(self) -> None:
        """Clear all tiles, so that the system need not save them when it switches threads."""
        self._call("tilerelease")

    def zero(self, tile: int) -> None:
        self._call("tilezero", self._number(tile))

    def load(self, tile: int, pointer: Value, stride: Value) -> None:
        """Read a tile with rows `stride` floats apart."""
        self._call("tileloadd64", self._number(tile), self._bytes_at(pointer), self._code.times(stride, FLOAT_BYTES))

    def store(self, tile: int, pointer: Value, stride: Value) -> None:
        self._call("tilestored64", self._number(tile), self._bytes_at(pointer), self._code.times(stride, FLOAT_BYTES))

    def multiply(self, result: int, left: int, right: int, operands: int = BF16) -> None:
        """Add the products of two tiles to a tile of float32 or, of bytes, of int32. operands: format of `left`."""
        self._call(_PRODUCTS[operands], *map(self._number, (result, left, right)))

    @staticmethod
    def _number(tile: int) -> Any:
        return ir.IntType(8)(tile)
