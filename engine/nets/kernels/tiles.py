"""Products of matrices of bf16 by AMX: a CPU's registers that hold tiles, and its instruction that multiplies them.

A tile has 16 rows of 64 bytes. One instruction multiplies 32 channels of 16 points by their weights for 16 channels of
the result and adds the 8,192 products to sums in float32 (Intel Architecture Instruction Set Extensions Programming
Reference, chapter 3).
"""

import ctypes
import struct
import sys
from functools import cache
from typing import Any

import numpy as np

from engine.native.instructions import Bfloat16, ir
from engine.native.processor import TILES, instruction_sets
from engine.nets.kernels.code import ACTIVATIONS, FLOAT_BYTES, INTEGER, Code, Value, lanes_here, vector_intrinsic
from engine.nets.spec import Activation, Array

TILE_ROWS = 16
"""Points of a tile of points, and channels of a tile of the result."""
TOGETHER = 2
"""Tiles of points, and of channels, that one product makes a result of: four tiles, of eight that there are."""
POINTS = TOGETHER * TILE_ROWS
"""Points of one product."""
DEPTH = 32
"""Channels of a tile of points, and of the results of one product."""
SUMS = 2 * POINTS * DEPTH
"""Floats of the results of the last product and of the one before it."""
_TILE_FLOATS = 256
"""Places of float32 that a tile takes in memory."""
_LINE_BYTES = 64
_PALETTE, _REGISTERS = 1, 8
_REQUEST_PERMISSION, _TILE_DATA = 0x1023, 18
_ARCH_PRCTL = 158
"""The system call of Linux on x86-64 that a process asks for AMX by, for all its threads and for good."""


@cache
def tiles_here() -> bool:
    """Return whether this CPU has AMX and this system lets the process use it. Asks Linux; others are not known to."""
    if lanes_here() != TILE_ROWS or TILES not in instruction_sets() or sys.platform != "linux":
        return False
    call = ctypes.CDLL(None).syscall
    call.restype = ctypes.c_long
    return bool(call(*map(ctypes.c_long, (_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA))) == 0)


def in_tiles(matrix: Array) -> Array:
    """Return a matrix [parts, k, out], k and out whole numbers of DEPTH, in bf16 as `convolve_points` reads it.

    Two numbers lie in the place of a float: by pairs of tiles of `out`, then parts, then tiles of k, then the two of
    the pair, [k / 2, out, 2 of k].
    """
    parts, k, out = matrix.shape
    bits = np.ascontiguousarray(matrix, dtype=np.float32).view(np.uint32)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)  # to the next, halves to even
    split = rounded.reshape(parts, k // DEPTH, TILE_ROWS, 2, out // DEPTH, TOGETHER, TILE_ROWS)
    return np.ascontiguousarray(split.transpose(4, 0, 1, 5, 2, 6, 3)).view(np.float32).ravel()


class _Tiles:
    """Writes instructions on tiles."""

    def __init__(self, code: Code) -> None:
        self._code = code

    def _call(self, name: str, *operands: Value) -> None:
        self._code.call(f"llvm.x86.{name}", ir.VoidType(), *operands)

    def _bytes_at(self, pointer: Value) -> Value:
        return self._code.builder.bitcast(pointer, ir.IntType(8).as_pointer())

    def configure(self) -> None:
        """Make all tiles 16 rows of 64 bytes."""
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
        """Forget all tiles, so that the system has none to keep for this thread."""
        self._call("tilerelease")

    def zero(self, tile: int) -> None:
        self._call("tilezero", self._number(tile))

    def load(self, tile: int, pointer: Value, stride: Value) -> None:
        """Read a tile, the rows of which lie so many floats apart."""
        self._call("tileloadd64", self._number(tile), self._bytes_at(pointer), self._code.times(stride, FLOAT_BYTES))

    def store(self, tile: int, pointer: Value, stride: Value) -> None:
        self._call("tilestored64", self._number(tile), self._bytes_at(pointer), self._code.times(stride, FLOAT_BYTES))

    def multiply(self, result: int, left: int, right: int) -> None:
        """Add the products of two tiles of bf16 to a tile of float32."""
        self._call("tdpbf16ps", *map(self._number, (result, left, right)))

    def store_rounded(self, vector: Value, pointer: Value) -> None:
        """Write a vector as bf16 to where a pointer shows."""
        kind = ir.VectorType(Bfloat16(), TILE_ROWS)
        rounded = self._code.call("llvm.x86.avx512bf16.cvtneps2bf16.512", kind, vector)
        stored = self._code.builder.store(rounded, self._code.builder.bitcast(pointer, kind.as_pointer()))
        stored.align = FLOAT_BYTES

    @staticmethod
    def _number(tile: int) -> Any:
        return ir.IntType(8)(tile)


def _convolve_points(
    code: Code,
    activation: Value,
    groups: Value,
    left: Value,
    left_stride: Value,
    parts: Value,
    part_stride: Value,
    depth: Value,
    right: Value,
    pairs: Value,
    sums: Value,
    places: Value,
    spare: Value,
    vector: Value,
    old: Value,
    old_stride: Value,
    raw: Value,
    raw_stride: Value,
    norm: Value,
    post: Value,
    post_stride: Value,
    rounded: Value,
) -> None:
    """For points p: sum over parts q of left[p + q] . right[q], finished as by `vectors.finish_row`.

    So many groups of POINTS points, places and strides in floats: point p of part q, in bf16, begins at p * left_stride
    + q * part_stride and has `depth` times DEPTH numbers; right as `in_tiles` returns it, with `pairs` times DEPTH
    numbers a point. The results of point p belong to point places[p] (int32) of old, raw and post; where that is
    negative, they are thrown away, to the point `spare`. sums: SUMS floats. rounded: 1 to write `post` in bf16, else 0.

    The processor multiplies and finishes at a time: what was multiplied last is finished between the instructions
    that multiply the next.
    """
    builder, write = code.builder, _Tiles(code)
    steps = code.times(parts, depth)
    # So many points are finished in a step that all are when the steps end.
    at_once = builder.sdiv(builder.add(steps, INTEGER(POINTS - 1)), steps)
    in_tile = [[TOGETHER * row + column for column in range(TOGETHER)] for row in range(TOGETHER)]
    rows, columns = range(4, 4 + TOGETHER), range(6, 6 + TOGETHER)
    below = code.times(left_stride, TILE_ROWS)

    def convolve(kind: Activation, is_rounded: bool) -> None:
        """Write it all for an activation."""
        # What was multiplied last: its first point and channel, how many of its points are to be finished and how many
        # are, and in which half of `sums` it lies; the next results go into the other.
        first, channel, waiting, done = (code.whole(0) for _ in range(4))
        there, here = code.whole(0), code.whole(POINTS * DEPTH)

        def finish(start: Value, end: Value) -> None:
            """Finish points of what was multiplied last."""
            begin, half_begin = builder.load(channel), builder.lshr(builder.load(channel), INTEGER(1))
            point = code.at(places, builder.load(first))
            factors, lines = code.at(norm, begin), code.at(sums, builder.load(there))
            size = code.times(pairs, DEPTH)
            numbers = [
                [code.load(code.at(factors, code.times(size, part), INTEGER(place))) for part in range(3)]
                for place in (0, TILE_ROWS)
            ]
            added = [
                builder.fadd(bias, code.load(code.at(vector, begin, INTEGER(TILE_ROWS * half))))
                for half, (bias, _, _) in enumerate(numbers)
            ]
            with code.loop_between(start, end) as index:
                place = code.load_whole(code.at(point, index))
                place = builder.select(builder.icmp_signed("<", place, INTEGER(0)), spare, place)
                line = code.at(lines, code.times(index, DEPTH))
                olds = code.at(old, begin, code.times(place, old_stride))
                raws = code.at(raw, begin, code.times(place, raw_stride))
                posts = code.at(post, half_begin if is_rounded else begin, code.times(place, post_stride))
                for half, (_, scale, shift) in enumerate(numbers):
                    further = INTEGER(TILE_ROWS * half)
                    number, before = code.load(code.at(line, further)), code.load(code.at(olds, further))
                    number, activated = code.finish(number, before, added[half], scale, shift, kind)
                    code.store(number, code.at(raws, further))
                    if is_rounded:
                        write.store_rounded(activated, code.at(posts, INTEGER(TILE_ROWS // 2 * half)))
                    else:
                        code.store(activated, code.at(posts, further))

        with code.loop(groups) as group, code.loop(pairs) as pair:
            for tile in range(TOGETHER * TOGETHER):
                write.zero(tile)
            builder.store(INTEGER(0), done)
            lines = code.at(left, code.times(code.times(group, POINTS), left_stride))
            block = code.at(right, code.times(code.times(pair, steps), TOGETHER * _TILE_FLOATS))
            with code.loop(parts) as part, code.loop(depth) as index:
                source = builder.add(code.times(part, depth), index)
                source = code.at(block, code.times(source, TOGETHER * _TILE_FLOATS))
                for column, tile in enumerate(columns):
                    write.load(tile, code.at(source, INTEGER(column * _TILE_FLOATS)), INTEGER(TILE_ROWS))
                points = code.at(lines, code.times(part, part_stride), code.times(index, DEPTH // 2))
                for row, tile in enumerate(rows):
                    write.load(tile, code.at(points, code.times(below, row)), left_stride)
                    for column, result in zip(columns, in_tile[row], strict=True):
                        write.multiply(result, tile, column)
                start, most = builder.load(done), builder.load(waiting)
                end = builder.add(start, at_once)
                end = builder.select(builder.icmp_signed("<", end, most), end, most)
                finish(start, end)
                builder.store(end, done)
            results = builder.load(here)
            for row, line in enumerate(in_tile):
                for column, tile in enumerate(line):
                    place = INTEGER(row * TILE_ROWS * DEPTH + column * TILE_ROWS)
                    write.store(tile, code.at(sums, results, place), INTEGER(DEPTH))
            builder.store(builder.load(there), here)
            builder.store(results, there)
            builder.store(code.times(group, POINTS), first)
            builder.store(code.times(pair, DEPTH), channel)
            builder.store(INTEGER(POINTS), waiting)
        finish(INTEGER(0), builder.load(waiting))

    write.configure()
    for place, kind in enumerate(ACTIVATIONS):
        for is_rounded in (False, True):
            with code.when_equal(activation, place), code.when_equal(rounded, int(is_rounded)):
                convolve(kind, is_rounded)
    write.release()


def _round_row(
    code: Code,
    points: Value,
    points_stride: Value,
    columns: Value,
    channels: Value,
    out: Value,
    out_stride: Value,
) -> None:
    """Write a row of points in bf16."""
    write = _Tiles(code)
    with code.loop(columns) as column, code.loop(channels, TILE_ROWS) as channel:
        place = code.at(out, code.times(column, out_stride), code.builder.lshr(channel, INTEGER(1)))
        write.store_rounded(code.load(code.at(points, code.times(column, points_stride), channel)), place)


_FEATURES = {TILE_ROWS: "+avx512bf16,+amx-tile,+amx-bf16"}
convolve_points = vector_intrinsic(_convolve_points, arrays=9, features=_FEATURES)
round_row = vector_intrinsic(_round_row, arrays=2, features=_FEATURES)
