"""Products of rows of bf16 by AMX tiles, see `engine.nets.kernels.tiles`: what `vectors.multiply_rows` is by vectors.

Both read the same operands: 16 rows of pairs of a panel, and 16 rows of points, are a tile each.
"""

from typing import NamedTuple

from engine.native.instructions import cgutils, ir
from engine.native.processor import IS_X86
from engine.nets.kernels.code import FLOAT, INTEGER, Code, InMemory, InWeights, Value, vector_intrinsic
from engine.nets.kernels.operands import TILED
from engine.nets.kernels.tiles import FEATURES_OF_TILES, TILE_FLOATS, TILE_ROWS, TOGETHER, Tiles

PAIRS = TILE_ROWS
"""Floats of a row of a tile; in the place of each are two numbers in bf16."""
_LEFT, _RIGHT = 4, 6
"""First of the tiles with points, and with weights; tiles 0 to 3 hold the sums."""


class TiledProduct(NamedTuple):
    """out[r] = left[r] . right for each of `rows` rows r of operands in bf16; if `adds` is 1, added to out[r].

    Row r of left begins at r * left_stride and has k floats, a multiple of PAIRS; right is [k, panel * 16] pairs; row
    r of out begins at r * out_stride and has panel * 16 floats. Rows of left up to a multiple of 16 are read.
    Between two calls of `set_tiles`.
    """

    panel: int
    left: InMemory
    left_stride: int
    rows: int
    k: int
    right: InWeights
    out: InMemory
    out_stride: int
    adds: int


def _multiply_tiles(code: Code, product: TiledProduct) -> None:
    """Write the instructions of a `TiledProduct`."""
    writer, builder = _ProductWriter(code, product), code.builder
    with code.loop(builder.lshr(product.panel, INTEGER(1))) as pair:
        writer.write(code.times(pair, TOGETHER * TILE_ROWS), TOGETHER)
    with code.when_equal(builder.and_(product.panel, INTEGER(1)), 1):
        writer.write(code.times(builder.sub(product.panel, INTEGER(1)), TILE_ROWS), 1)


class _ProductWriter:
    """Writes the loops over the rows of a `TiledProduct`."""

    def __init__(self, code: Code, given: TiledProduct) -> None:
        self._code, self._given, self._tiles = code, given, Tiles(code)
        self._width = code.times(given.panel, TILE_ROWS)
        # For rows that fill no tile: those after the last row of `out` must stay as they are.
        room = cgutils.alloca_once(code.builder, ir.ArrayType(FLOAT, TOGETHER * TILE_FLOATS))
        self._rest = code.builder.bitcast(room, FLOAT.as_pointer())

    def write(self, column: Value, columns: int) -> None:
        """Write the product with 16 or 32 channels from `column` on."""
        code, builder, rows = self._code, self._code.builder, self._given.rows
        together = TOGETHER * TILE_ROWS
        rest = builder.srem(rows, INTEGER(together))
        whole = builder.sub(rows, rest)
        with code.loop_between(INTEGER(0), whole, together) as row:
            self._block(row, TOGETHER, column, columns)
        with builder.if_then(builder.icmp_signed(">", rest, INTEGER(TILE_ROWS))):
            self._block(whole, TOGETHER, column, columns, builder.sub(rest, INTEGER(TILE_ROWS)))
        few = builder.icmp_signed("<=", rest, INTEGER(TILE_ROWS))
        with builder.if_then(builder.and_(few, builder.icmp_signed(">", rest, INTEGER(0)))):
            self._block(whole, 1, column, columns, rest)

    def _block(self, row: Value, lines: int, column: Value, columns: int, rest: Value | None = None) -> None:
        """Write the product of `lines` tiles of rows from `row` on; rest: rows of the last one, None for all."""
        code, given = self._code, self._given
        out = code.at(given.out, code.times(row, given.out_stride), column)
        whole_lines = lines if rest is None else lines - 1
        tiles = [(line, each) for line in range(lines) for each in range(columns)]
        for line, each in tiles:
            tile = TOGETHER * line + each
            self._tiles.zero(tile)
            if line < whole_lines:
                with code.when_equal(given.adds, 1):
                    self._tiles.load(tile, self._result(out, line, each), given.out_stride)
        left = code.at(given.left, code.times(row, given.left_stride))
        with code.loop(given.k, PAIRS) as index:
            source = code.at(given.right, code.times(index, self._width), column)
            for each in range(columns):
                self._tiles.load(_RIGHT + each, code.at(source, INTEGER(each * TILE_ROWS)), self._width)
            for line in range(lines):
                points = code.at(left, index, code.times(given.left_stride, line * TILE_ROWS))
                self._tiles.load(_LEFT + line, points, given.left_stride)
                for each in range(columns):
                    self._tiles.multiply(TOGETHER * line + each, _LEFT + line, _RIGHT + each)
        for line, each in tiles:
            if line < whole_lines:
                self._tiles.store(TOGETHER * line + each, self._result(out, line, each), given.out_stride)
            else:
                place = code.at(self._rest, INTEGER(each * TILE_ROWS))
                self._tiles.store(TOGETHER * line + each, place, INTEGER(TOGETHER * TILE_ROWS))
        if rest is not None:
            self._copy(self._result(out, whole_lines, 0), rest, columns)

    def _result(self, out: Value, line: int, each: int) -> Value:
        """Return where the result of a tile is written."""
        return self._code.at(out, self._code.times(self._given.out_stride, line * TILE_ROWS), INTEGER(each * TILE_ROWS))

    def _copy(self, out: Value, rows: Value, columns: int) -> None:
        """Copy or add the rows that fill no tile to their places."""
        code, given = self._code, self._given
        with code.loop(rows) as row:
            source, place = (
                code.at(self._rest, code.times(row, TOGETHER * TILE_ROWS)),
                code.times(row, given.out_stride),
            )
            for each in range(columns):
                result = code.at(out, place, INTEGER(each * TILE_ROWS))
                number = code.load(code.at(source, INTEGER(each * TILE_ROWS)))
                with code.builder.if_else(code.builder.icmp_signed("==", given.adds, INTEGER(1))) as (adds, writes):
                    with adds:
                        code.store(code.builder.fadd(number, code.load(result)), result)
                    with writes:
                        code.store(number, result)


class TileUse(NamedTuple):
    """begins: 1 before the products of a step, 0 after them."""

    begins: int


def _set_tiles(code: Code, use: TileUse) -> None:
    """Write the instructions that give all tiles their size, or that clear them."""
    tiles = Tiles(code)
    with code.when_equal(use.begins, 1):
        tiles.configure()
    with code.when_equal(use.begins, 0):
        tiles.release()


_FEATURES = {TILED: FEATURES_OF_TILES} if IS_X86 else {}
multiply_tiles = vector_intrinsic(_multiply_tiles, _FEATURES)
set_tiles = vector_intrinsic(_set_tiles, _FEATURES)
