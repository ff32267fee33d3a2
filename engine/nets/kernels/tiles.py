"""Matrix products of bf16 by AMX: a tile is a register that holds a matrix, and one instruction multiplies two tiles.

A tile has 16 rows of 64 bytes. One instruction multiplies 32 channels of 16 points by their weights for 16 output
channels and adds the 8,192 products to sums in float32 (Intel Architecture Instruction Set Extensions Programming
Reference, chapter 3). g170-b6c96 on one core of a Granite Rapids takes 469 us a position on 19x19 at batch 2, where
OpenVINO's bf16 takes 540 at batch 8.
"""

import ctypes
import struct
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from engine.native.instructions import ir
from engine.native.processor import IS_X86, TILES, instruction_sets
from engine.nets.kernels.code import (
    ACTIVATIONS,
    FLOAT_BYTES,
    INTEGER,
    Code,
    InMemory,
    InWeights,
    Value,
    lanes_here,
    vector_intrinsic,
)
from engine.nets.kernels.packing import bits_of_bf16
from engine.nets.spec import Activation, Array

TILE_ROWS = 16
"""Points in a tile of points, and channels in a tile of the result."""
TOGETHER = 2
"""Tiles of points, and of channels, in one product: 2 x 2 results and 2 + 2 operands fill the eight registers."""
POINTS = TOGETHER * TILE_ROWS
"""Points in one product."""
DEPTH = 32
"""Channels in a tile of points, and in the results of one product."""
SUMS = 2 * POINTS * DEPTH
"""Floats of two products: the one that is computed and the one before it, which is finished meanwhile."""
FEATURES_OF_TILES = "+avx512bf16,+amx-tile,+amx-bf16"
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


def in_tiles(matrix: Array) -> Array:
    """Return a matrix [parts, k, out] in bf16, in the order in which `convolve_points` reads it.

    k and out: multiples of DEPTH. Result: flat float32, two bf16 numbers in each, ordered by pairs of tiles of `out`,
    then parts, then tiles of k, then the two tiles of the pair, each [k / 2, out, 2 of k].
    """
    parts, k, out = matrix.shape
    split = bits_of_bf16(matrix).reshape(parts, k // DEPTH, TILE_ROWS, 2, out // DEPTH, TOGETHER, TILE_ROWS)
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

    def multiply(self, result: int, left: int, right: int) -> None:
        """Add the products of two tiles of bf16 to a tile of float32."""
        self._call("tdpbf16ps", *map(self._number, (result, left, right)))

    def store_rounded(self, vector: Value, pointer: Value) -> None:
        """Write a vector as bf16 to a pointer."""
        rounded = self._code.rounded_vector(vector)
        stored = self._code.builder.store(rounded, self._code.builder.bitcast(pointer, rounded.type.as_pointer()))
        stored.align = FLOAT_BYTES

    @staticmethod
    def _number(tile: int) -> Any:
        return ir.IntType(8)(tile)


class TiledConvolution(NamedTuple):
    """For each point p: sum over parts q of left[p + q] . right[q], finished as in `vectors.FinishedRow`.

    groups: number of groups of POINTS points. left: point p of part q, in bf16, begins at p * left_stride +
    q * part_stride and has depth * DEPTH numbers. right: the result of `in_tiles`, with pairs * DEPTH numbers a point.
    places: int32; the results of point p are written to point places[p] of old, raw and post or, if that is negative
    (a border point), to the point `spare`, which nobody reads. sums: SUMS floats of working memory. rounded: 1 to write
    `post` in bf16, else 0.
    """

    activation: int
    groups: int
    left: InMemory
    left_stride: int
    parts: int
    part_stride: int
    depth: int
    right: InWeights
    pairs: int
    sums: InMemory
    places: InWeights
    spare: int
    vector: InMemory
    old: InMemory
    old_stride: int
    raw: InMemory
    raw_stride: int
    norm: InWeights
    post: InMemory
    post_stride: int
    rounded: int


def _convolve_points(code: Code, convolution: TiledConvolution) -> None:
    """Write the instructions of a `TiledConvolution`, once for each activation and precision of `post`."""
    writer = _ConvolutionWriter(code, convolution)
    writer.tiles.configure()
    for index, kind in enumerate(ACTIVATIONS):
        for is_rounded in (False, True):
            with code.when_equal(convolution.activation, index), code.when_equal(convolution.rounded, int(is_rounded)):
                writer.write(kind, is_rounded)
    writer.tiles.release()


class _ConvolutionWriter:
    """Writes the loops of a `TiledConvolution`.

    A CPU multiplies tiles and computes on vectors at the same time. So the results of a product are finished between
    the instructions that multiply the next one: `at_once` points of the previous product after each step.
    """

    def __init__(self, code: Code, given: TiledConvolution) -> None:
        self.tiles, self._code, self._given = Tiles(code), code, given
        builder = code.builder
        self._steps = code.times(given.parts, given.depth)
        # Rounded up, so that all points are finished when the steps end.
        self._at_once = builder.sdiv(builder.add(self._steps, INTEGER(POINTS - 1)), self._steps)
        self._below = code.times(given.left_stride, TILE_ROWS)

    def write(self, kind: Activation, is_rounded: bool) -> None:
        """Write the loops for one activation and precision of `post`."""
        code, builder, given = self._code, self._code.builder, self._given
        # The last product: its first point and channel, how many of its points are to be finished, and how many are.
        first, channel, waiting, done = (code.whole(0) for _ in range(4))
        # Which half of `sums` has its results; those of the next product go into the other.
        there, here = code.whole(0), code.whole(POINTS * DEPTH)

        def finish(start: Value, end: Value) -> None:
            """Finish points of the last product."""
            self._finish(start, end, [first, channel, there], kind, is_rounded)

        with code.loop(given.groups) as group, code.loop(given.pairs) as pair:
            for tile in range(TOGETHER * TOGETHER):
                self.tiles.zero(tile)
            builder.store(INTEGER(0), done)
            lines = code.at(given.left, code.times(code.times(group, POINTS), given.left_stride))
            block = code.at(given.right, code.times(code.times(pair, self._steps), TOGETHER * TILE_FLOATS))
            with code.loop(given.parts) as part, code.loop(given.depth) as index:
                self._multiply(lines, block, part, index)
                start, most = builder.load(done), builder.load(waiting)
                end = builder.add(start, self._at_once)
                end = builder.select(builder.icmp_signed("<", end, most), end, most)
                finish(start, end)
                builder.store(end, done)
            results = builder.load(here)
            self._store_sums(results)
            builder.store(builder.load(there), here)
            builder.store(results, there)
            builder.store(code.times(group, POINTS), first)
            builder.store(code.times(pair, DEPTH), channel)
            builder.store(INTEGER(POINTS), waiting)
        finish(INTEGER(0), builder.load(waiting))

    def _multiply(self, lines: Value, block: Value, part: Value, index: Value) -> None:
        """Add the products of one part and one depth to the tiles 0 to 3; tiles 4 to 7 hold the operands."""
        code, given = self._code, self._given
        rows, columns = range(4, 4 + TOGETHER), range(6, 6 + TOGETHER)
        source = code.builder.add(code.times(part, given.depth), index)
        source = code.at(block, code.times(source, TOGETHER * TILE_FLOATS))
        for column, tile in enumerate(columns):
            self.tiles.load(tile, code.at(source, INTEGER(column * TILE_FLOATS)), INTEGER(TILE_ROWS))
        points = code.at(lines, code.times(part, given.part_stride), code.times(index, DEPTH // 2))
        for row, tile in enumerate(rows):
            self.tiles.load(tile, code.at(points, code.times(self._below, row)), given.left_stride)
            for column, result in zip(columns, _RESULTS[row], strict=True):
                self.tiles.multiply(result, tile, column)

    def _store_sums(self, half: Value) -> None:
        """Write the tiles 0 to 3 to a half of `sums`, as [POINTS, DEPTH]."""
        for row, line in enumerate(_RESULTS):
            for column, tile in enumerate(line):
                place = INTEGER(row * TILE_ROWS * DEPTH + column * TILE_ROWS)
                self.tiles.store(tile, self._code.at(self._given.sums, half, place), INTEGER(DEPTH))

    def _finish(self, start: Value, end: Value, product: Sequence[Value], kind: Activation, is_rounded: bool) -> None:
        """Finish points start..end-1 of a product: pointers to its first point, first channel and half of `sums`."""
        code, builder, given = self._code, self._code.builder, self._given
        first, channel, there = product
        begin, half_begin = builder.load(channel), builder.lshr(builder.load(channel), INTEGER(1))
        point = code.at(given.places, builder.load(first))
        factors, lines = code.at(given.norm, begin), code.at(given.sums, builder.load(there))
        size = code.times(given.pairs, DEPTH)
        numbers = [
            [code.load(code.at(factors, code.times(size, part), INTEGER(place))) for part in range(3)]
            for place in (0, TILE_ROWS)
        ]
        added = [
            builder.fadd(bias, code.load(code.at(given.vector, begin, INTEGER(TILE_ROWS * half))))
            for half, (bias, _, _) in enumerate(numbers)
        ]
        with code.loop_between(start, end) as index:
            place = code.load_whole(code.at(point, index))
            place = builder.select(builder.icmp_signed("<", place, INTEGER(0)), given.spare, place)
            line = code.at(lines, code.times(index, DEPTH))
            olds = code.at(given.old, begin, code.times(place, given.old_stride))
            raws = code.at(given.raw, begin, code.times(place, given.raw_stride))
            posts = code.at(given.post, half_begin if is_rounded else begin, code.times(place, given.post_stride))
            for half, (_, scale, shift) in enumerate(numbers):
                further = INTEGER(TILE_ROWS * half)
                number, before = code.load(code.at(line, further)), code.load(code.at(olds, further))
                number, activated = code.finish(number, before, added[half], scale, shift, kind)
                code.store(number, code.at(raws, further))
                if is_rounded:
                    self.tiles.store_rounded(activated, code.at(posts, INTEGER(TILE_ROWS // 2 * half)))
                else:
                    code.store(activated, code.at(posts, further))


_RESULTS = [[TOGETHER * row + column for column in range(TOGETHER)] for row in range(TOGETHER)]
"""The tiles of the results: row by row of tiles of points, column by column of tiles of channels."""


class RoundedRow(NamedTuple):
    """A row of points in float32, and where to write it in bf16."""

    points: InMemory
    points_stride: int
    columns: int
    channels: int
    out: InMemory
    out_stride: int


def _round_row(code: Code, row: RoundedRow) -> None:
    """Write the instructions of a `RoundedRow`."""
    tiles = Tiles(code)
    with code.loop(row.columns) as column, code.loop(row.channels, TILE_ROWS) as channel:
        place = code.at(row.out, code.times(column, row.out_stride), code.builder.lshr(channel, INTEGER(1)))
        tiles.store_rounded(code.load(code.at(row.points, code.times(column, row.points_stride), channel)), place)


_FEATURES = {TILE_ROWS: FEATURES_OF_TILES} if IS_X86 else {}
convolve_points = vector_intrinsic(_convolve_points, _FEATURES)
round_row = vector_intrinsic(_round_row, _FEATURES)
