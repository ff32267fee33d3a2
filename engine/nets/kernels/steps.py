"""Collects the steps of a network for boards of one size into a plan (`engine.nets.kernels.plan`).

Decides the order of the steps, the precision and algorithm of each convolution, and which norms are computed together
with the convolution before them. `engine.nets.kernels.memory` allocates the memory.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.nets.kernels.byte_rounding import ByteRounding, Site
from engine.nets.kernels.code import ACTIVATIONS
from engine.nets.kernels.integer_rows import PANELS
from engine.nets.kernels.memory import Grid, Memory, Points, Vectors, Weights, aligned, whole
from engine.nets.kernels.operands import TILED
from engine.nets.kernels.packing import in_integers, in_panels, in_rows, in_two_parts, panels_of
from engine.nets.kernels.plan import (
    ATTEND,
    CONVOLVE,
    CONVOLVE_BY_TILES,
    CONVOLVE_BY_WINOGRAD,
    CONVOLVE_POINTS,
    FEED_FORWARD,
    FLATTEN,
    FROM_ROWS,
    NORMALIZE,
    NORMALIZE_ROWS,
    POINTS_TOGETHER,
    POOL,
    READ_GLOBALS,
    READ_PLANES,
    STEP,
    TO_ROWS,
    WRITE_POINTS,
    WRITE_VECTOR,
    Layout,
    Plan,
)
from engine.nets.kernels.tiled_convolutions import INVERSE, STEP_OF_SUMS, SUMS, factors_of, set_norm
from engine.nets.kernels.tiles import BF16, DEPTH, FLOATS, POINTS, SIGNED, UNSIGNED, in_order_of_tiles, in_tiles
from engine.nets.kernels.transformer_steps import TransformerSteps
from engine.nets.kernels.winograd import LARGEST, outputs_at_once, transformed
from engine.nets.rounding import Range
from engine.nets.spec import Activation, Array, AttentionBlock, Conv, FeedForwardBlock, Linear, Norm, RmsNorm

_CONVOLUTIONS = CONVOLVE, CONVOLVE_BY_WINOGRAD, CONVOLVE_POINTS, CONVOLVE_BY_TILES


@dataclass(frozen=True)
class Model:
    """A network that is ready to compute.

    memory: size of its working memory in floats. positions: most at a time. sites: what int8 rounds.
    """

    plan: Plan
    memory: int
    positions: int
    sites: tuple[Site, ...] = ()

    def new_memory(self) -> Array:
        """Allocate memory to compute in; only one thread may use it at a time."""
        return aligned(self.memory)


class Steps:
    """Builds the steps of a network for boards of width x height.

    lanes: floats in a vector, a key of `vectors.WIDEST_PANEL`. positions: most at a time.
    stem, kernels: height and width of the stem's convolution kernel, and of all others; they determine the border.
    rounded: compute convolutions in bf16 by AMX tiles, which needs 16 lanes; otherwise in fp32.
    numbers: operands in a vector in the blocks of transformers, see `code.Code`; None for a network without.
    """

    def __init__(
        self,
        width: int,
        height: int,
        lanes: int,
        positions: int,
        stem: tuple[int, int],
        kernels: Iterable[tuple[int, int]],
        *,
        rounded: bool = False,
        numbers: int | None = None,
    ) -> None:
        self.width, self.height, self.area = width, height, width * height
        self._lanes, self._rounded, self._stem = lanes, rounded, stem
        # Norms of transformers enlarge small numbers of the stem, and with them Winograd's errors: to 1e-4 of logits.
        self._stem_side = 0 if numbers else self._side(*stem)
        self._planes: Points | None = None
        self._sites, self._roundings = list[Site](), list[ByteRounding]()
        self.ranges: Sequence[Range] | None = None
        """Of the points of each site, to compute what reads them in int8; None for bf16."""
        self.integers = 0
        """The vectors of int16 in which the next convolutions are computed, 1x1 or Winograd's; 0 for fp32."""
        border, columns, rows = 0, width, height
        for kernel in kernels if rounded else (stem, *kernels):
            side = self._side(*kernel)
            border = max(border, *(each // 2 for each in kernel))
            if side:
                columns, rows = max(columns, whole(width, side)), max(rows, whole(height, side))
        grid = self._tight_grid(border) if rounded else Grid(rows + 2 * border, columns + 2 * border, border)
        self._memory, self._weights = Memory(positions, grid, shares_borders=rounded), Weights()
        self._steps: list[NDArray[np.void]] = []
        self._factors = np.zeros(0, dtype=np.float32)  # of the last step that has some
        self._tables: dict[Grid, int] = {}
        self._tiles = self._products = self._tile_rows = self._row = self._most_channels = 0
        self._unit = DEPTH if rounded or numbers == TILED else lanes
        self._transformers = TransformerSteps(width, height, lanes, numbers or lanes, self._weights)

    def model(self) -> Model:
        """Return the collected steps as a model."""
        sizes = self._most_channels, self._most_channels, self._tiles, self._products, self._tile_rows, self._row
        zeros, unread, tiles, products, factors, row = (self._memory.room(size) for size in sizes)
        steps = np.array(self._steps)
        self._transformers.place(steps, self._memory.room(self._transformers.floats))
        # Absent places get a stride of 0: they are read from zeros, and written where nobody reads. This way the
        # kernels need no condition in their inner loops.
        for name, instead in (("vector", zeros), ("old", zeros), ("raw", unread), ("post", unread)):
            steps[name]["first"][steps[name]["stride"] == 0] = instead
        board = self.width, self.height, *self._memory.grid[:2]
        numbers, spare = self._transformers.numbers, self._memory.spare
        layout = Layout(self._lanes, numbers, *board, tiles, products, factors, row, spare)
        return Model(
            Plan(layout, steps, self._weights.array()), self._memory.floats, self._memory.positions, tuple(self._sites)
        )

    def planes(self, count: int) -> Points:
        """Add the step that reads the input planes; return them as points."""
        channels = self._filled(count) if self._rounded or self._stem_side else count
        grid = self._tight_grid(max(self._stem) // 2) if self._rounded else None
        self._planes = points = self._memory.points(channels, form=BF16 if self._rounded else FLOATS, grid=grid)
        self._row = max(self._row, self.width * channels)
        step = self._add(READ_PLANES, inner=count, channels=channels, post=points)
        step["rows"], step["columns"] = points.grid[:2]
        return points

    def globals(self, count: int) -> Vectors:
        """Add the step that reads the global inputs; return them as vectors."""
        vectors = self._memory.vectors(count)
        self._add(READ_GLOBALS, inner=count, post=vectors)
        return vectors

    def convolved(self, source: Points, conv: Conv, *, vector: Vectors | None = None) -> Points:
        """Add a convolution; return new points. vector: added to all points of its position."""
        raw = self._memory.points(self._written(source, conv))
        self._convolve(source, conv, vector=vector, raw=raw)
        return raw

    def activated(
        self,
        source: Points,
        conv: Conv,
        norm: Norm,
        activation: Activation,
        *,
        vector: Vectors | None = None,
        exact: bool = False,
        readers: Sequence[Conv] = (),
    ) -> Points:
        """Add a convolution with norm and activation; return new points.

        exact: write float32 in any case, for a next step that is not a convolution by tiles. readers: see
        `_points_for`.
        """
        channels = self._written(source, conv)
        post = self._memory.points(channels) if exact else self._points_for(readers, channels, activation)
        self._convolve(source, conv, vector=vector, post=post, norm=norm, activation=activation)
        return post

    def convolved_exactly(self, source: Points, conv: Conv, *, vector: Vectors | None = None) -> Points:
        """Add a convolution; if it is computed in bf16, it is one for each of two numbers that make a weight."""
        if source.format == FLOATS:
            return self.convolved(source, conv, vector=vector)
        weight, rest = in_two_parts(conv.weight)
        points = self.convolved(source, replace(conv, weight=weight), vector=vector)
        self.add_convolved(points, source, Conv(rest))
        return points

    def add_convolved(self, points: Points, source: Points, conv: Conv) -> None:
        """Add the result of a convolution to `points`, in place."""
        self._convolve(source, conv, old=points, raw=points)

    def activate_sum(self, points: Points, source: Points, conv: Conv, activation: Activation) -> None:
        """Replace `points` by the activation of points + convolution."""
        self._convolve(source, conv, old=points, post=points, activation=activation)

    def normalized(
        self, points: Points, norm: Norm | RmsNorm, activation: Activation, *, readers: Sequence[Conv] = ()
    ) -> Points:
        """Apply norm and activation to points; return new points. Done by the last step if that wrote the points.

        Of an `RmsNorm`, only the factors and the bias are applied: `normalize_rows` does the rest.
        """
        step, factors = self._steps[-1], self._factors
        # Not in the memory of the source: a row is written before the rows below it, which read it, are convolved.
        post = self._points_for(readers, points.stride, activation, besides=int(step["source"]["first"]))
        is_convolution = step["kind"] in _CONVOLUTIONS
        made_them = is_convolution and step["raw"]["first"] == points.first and step["raw"]["stride"] != 0
        if not made_them:
            self._row = max(self._row, self.width * points.stride)
            factors = factors_of(points.stride, None, None)
            step = self._add(NORMALIZE, source=points, channels=points.stride)
            self._set_factors(step, factors)
        set_norm(factors, norm)
        self._set_post(step, factors, post)
        step["activation"] = ACTIVATIONS.index(activation)
        return post

    def multiplied(
        self,
        source: Vectors,
        layer: Linear,
        activation: Activation = Activation.IDENTITY,
        *,
        added: Vectors | None = None,
    ) -> Vectors:
        """Add a linear layer with activation; return new vectors. added: added before the activation."""
        inputs, outputs = layer.weight.shape
        channels = self._filled(outputs)
        post = self._memory.vectors(channels)
        self._row = max(self._row, self._memory.positions * channels)
        step = self._add(CONVOLVE, inner=inputs, channels=channels, source=source, old=added, post=post)
        step["activation"] = ACTIVATIONS.index(activation)
        step["kernel_height"] = step["kernel_width"] = step["is_vector"] = 1
        self._set_matrix(step, layer.weight[None])
        self._set_factors(step, factors_of(channels, layer.bias, None))
        return post

    def pooled(self, points: Points) -> Vectors:
        """Add pooling; return vectors with the sums of the channels and, from `points.stride` on, their maxima."""
        post = self._memory.vectors(2 * points.stride)
        self._add(POOL, source=points, channels=points.stride, post=post)
        return post

    def multiplied_pooled(
        self, source: Vectors, channels: int, layer: Linear, activation: Activation = Activation.IDENTITY
    ) -> Vectors:
        """Add a linear layer of the means, or means and maxima, of `channels` channels that `pooled` returned."""
        gap = np.zeros((source.stride // 2 - channels, layer.outputs), dtype=np.float32)
        means, maxima = layer.weight[:channels] / np.float32(self.area), layer.weight[channels:]
        weight = np.concatenate([means, gap, maxima] if len(maxima) else [means])
        return self.multiplied(source, Linear(weight, layer.bias), activation)

    def flat(self, points: Points, channels: int) -> Vectors:
        """Add the step that turns the first channels of points into vectors, channel by channel."""
        post = self._memory.vectors(channels * self.area)
        self._add(FLATTEN, source=points, inner=channels, post=post)
        return post

    def write(self, source: Points | Vectors, count: int, output: int, *, first: int = 0, stride: int = 1) -> None:
        """Add the step that writes `count` channels or numbers to an output; number i begins at first + i * stride."""
        kind = WRITE_POINTS if isinstance(source, Points) else WRITE_VECTOR
        step = self._add(kind, source=source, inner=count)
        step["output"], step["output_place"] = output, (first, stride)

    def rows(self, points: Points) -> Points:
        """Add the step that copies points; return new ones without borders, which blocks of transformers need."""
        rows = self._memory.points(points.stride, grid=Grid(self.height, self.width, 0))
        self._add(TO_ROWS, channels=points.stride, source=points, post=rows)
        return rows

    def copy_rows(self, rows: Points, points: Points) -> None:
        """Add the step that copies points without borders to others."""
        self._add(FROM_ROWS, channels=points.stride, source=rows, post=points)

    def normalize_rows(self, rows: Points, norm: RmsNorm) -> None:
        """Add the step that divides points without borders by their size, in place."""
        step = self._add(NORMALIZE_ROWS, channels=rows.stride, source=rows)
        self._transformers.normalize(step, norm)

    def add_block(self, rows: Points, block: AttentionBlock | FeedForwardBlock) -> None:
        """Add the step of a block of a transformer, which changes points without borders in place."""
        kind = ATTEND if isinstance(block, AttentionBlock) else FEED_FORWARD
        step = self._add(kind, channels=rows.stride, source=rows)
        if isinstance(block, AttentionBlock):
            self._transformers.attend(step, block)
        else:
            self._transformers.feed_forward(step, block)

    def release(self, points: Points) -> None:
        """Allow later steps to reuse the memory of points."""
        self._memory.release(points)

    def _convolve(
        self,
        source: Points,
        conv: Conv,
        *,
        norm: Norm | None = None,
        activation: Activation = Activation.IDENTITY,
        **places: Points | Vectors | None,
    ) -> None:
        """Add the step of a convolution; places: `vector`, `old`, `raw` and `post`, see `vectors.FinishedRow`."""
        outputs, inputs, height, width = conv.weight.shape
        channels = self._written(source, conv)
        side = self._stem_side if source == self._planes else self._side(height, width)
        factors = factors_of(channels, conv.bias, norm)
        if self._rounded:
            side = 0  # the grid of products by tiles has no room for the parts of Winograd's tiles beyond the board
        if source.format != FLOATS:
            kind, matrix = CONVOLVE_BY_TILES, self._in_tiles(source, conv, channels, factors)
            self._row = max(self._row, SUMS)
        elif side:
            kind, matrix = CONVOLVE_BY_WINOGRAD, transformed(conv.weight, side)
            self._reserve_for_winograd(len(matrix), side, source.stride, channels)
        elif self.integers and height == width == 1:
            kind, matrix = CONVOLVE_POINTS, in_rows(conv.weight, inputs, outputs)
            self._reserve_for_points(source.stride, channels)
        else:
            kind, matrix = CONVOLVE, in_rows(conv.weight, inputs if width == 1 else source.stride, outputs)
            self._row = max(self._row, self.width * channels)
        step = self._add(kind, inner=inputs, channels=channels, source=source, **places)
        step["numbers"] = self.integers if kind in (CONVOLVE_POINTS, CONVOLVE_BY_WINOGRAD) else 0
        step["activation"] = ACTIVATIONS.index(activation)
        step["kernel_height"], step["kernel_width"], step["side"] = height, width, side
        self._set_matrix(step, matrix)
        self._set_factors(step, factors)
        post = places.get("post")
        if isinstance(post, Points):
            self._set_post(step, factors, post)
        if source.format != FLOATS:
            step["operands"] = source.format
            step["rows"], step["columns"] = source.grid[:2]
            step["places"] = self._places(source.grid)

    def _in_tiles(self, source: Points, conv: Conv, channels: int, factors: Array) -> Array:
        """Return the weights of a convolution in the order of tiles; complete the factors of one in int8."""
        read = self._filled(conv.weight.shape[1])
        if source.format == BF16:
            return in_tiles(in_rows(conv.weight, read, channels))
        rounded = self._roundings[source.site].weights(conv.weight)
        factors[STEP_OF_SUMS, : conv.outputs] = rounded.steps
        factors[0, : conv.outputs] += rounded.lost
        matrix = in_rows(rounded.numbers, read, channels)
        # Half a tile more than a row of the kernel has: the points after it, by zeros.
        return in_order_of_tiles(np.pad(matrix, ((0, 0), (0, -matrix.shape[1] % (2 * DEPTH)), (0, 0))))

    def _points_for(
        self, readers: Sequence[Conv], channels: int, activation: Activation, *, besides: int | None = None
    ) -> Points:
        """Allocate points for convolutions by tiles or, in fp32, for any.

        readers: those convolutions of a block that read the points, which may be rounded to bytes for them. Then the
        points are a site, written by the step of `_set_post`.
        """
        form = BF16 if self._rounded else FLOATS
        if not self._rounded or not readers:
            return self._memory.points(channels, form=form, besides=besides)
        site = len(self._sites)
        if self.ranges is not None:
            form = UNSIGNED if activation is Activation.RELU else SIGNED
            self._roundings.append(ByteRounding.of(self.ranges[site], readers, form))
        points = self._memory.points(channels, form=form, besides=besides)._replace(site=site)
        self._sites.append(Site(-1, points, readers[0].weight.shape[1]))
        return points

    def _set_post(self, step: NDArray[np.void], factors: Array, post: Points) -> None:
        """Let a step write points."""
        step["post"], step["format"] = post[:2], post.format
        if post.site >= 0:
            self._sites[post.site] = self._sites[post.site]._replace(step=len(self._steps) - 1)
        if post.format in (UNSIGNED, SIGNED):
            inverse = 1.0 / self._roundings[post.site].units
            factors[INVERSE, : len(inverse)] = inverse

    def _reserve_for_winograd(self, numbers: int, side: int, inner: int, channels: int) -> None:
        """Enlarge the shared working memory for tiles of `numbers` numbers, their products and rows of outputs."""
        across, down = -(-self.width // side), -(-self.height // side)
        tiles, floats = self._memory.positions * across * down, inner // 2 if self.integers else inner
        self._tiles = max(self._tiles, numbers * (tiles * floats + self._lanes))
        self._products = max(self._products, numbers * (tiles * channels + self._lanes))
        self._row = max(self._row, across * side * side * channels)
        if self.integers:  # one tile before it is rounded, with what its integers stand for
            self._row = max(self._row, numbers * (inner + self._lanes))
            self._tile_rows = max(self._tile_rows, numbers * (tiles + 1))

    def _reserve_for_points(self, inner: int, channels: int) -> None:
        """Enlarge it for a convolution of points in int16: the operands of some, their factors and products."""
        points = max(1, POINTS_TOGETHER // self.width) * self.width
        self._tiles = max(self._tiles, points * inner // 2)
        self._tile_rows, self._row = max(self._tile_rows, points), max(self._row, points * channels)

    def _add(
        self, kind: int, *, inner: int = 0, channels: int = 0, **places: Points | Vectors | None
    ) -> NDArray[np.void]:
        """Add a step and return it for the caller to complete. places: fields of STEP by name."""
        step = np.zeros((), dtype=STEP)
        step["kind"], step["inner"], step["channels"] = kind, inner, channels
        for name, place in places.items():
            if place is not None:
                step[name] = place[:2]
        step["format"] = getattr(places.get("post"), "format", FLOATS)
        self._most_channels = max(self._most_channels, channels)
        self._steps.append(step)
        return step

    def _set_matrix(self, step: NDArray[np.void], matrix: Array) -> None:
        """Store the weights [parts, inner, out] of a step in the order in which its kernel reads them."""
        if step["kind"] == CONVOLVE_BY_TILES:
            step["weights"] = self._weights.keep(matrix)
            return
        channels, lanes, widest = int(step["channels"]), self._lanes, None
        if step["numbers"]:
            widest = PANELS[lanes]
            matrix, steps = map(np.stack, zip(*(in_integers(each, LARGEST) for each in matrix), strict=True))
            step["inner"] = matrix.shape[1]
            step["steps"] = self._weights.keep(np.pad(steps, ((0, 0), (0, channels - steps.shape[1]))))
        step["panels"] = panels = panels_of(channels, lanes, widest)
        step["weights"] = self._weights.keep(in_panels(matrix, channels, panels, lanes, by_part=bool(step["side"])))

    def _set_factors(self, step: NDArray[np.void], factors: Array) -> None:
        """Store bias, scale and shift of a step; `normalized` may change them later."""
        step["norm"], self._factors = self._weights.keep(factors), factors

    def _side(self, height: int, width: int) -> int:
        """Return Winograd's m for a kernel, 0 if it is computed row by row."""
        return outputs_at_once(height, self.width, self.height) if height == width else 0

    def _filled(self, channels: int) -> int:
        """Round a number of channels up to whole vectors or, for tiles, to a multiple of DEPTH."""
        return whole(channels, self._unit)

    def _written(self, source: Points, conv: Conv) -> int:
        """Return the channels that a convolution writes; beside tiles, one in fp32 needs whole vectors only."""
        is_beside = self._rounded and source.format == FLOATS
        return whole(conv.outputs, self._lanes) if is_beside else self._filled(conv.outputs)

    def _tight_grid(self, border: int) -> Grid:
        """Return a grid in which the right border of a row is the left border of the next one."""
        return Grid(self.height + 2 * border, self.width + border, border)

    def _places(self, grid: Grid) -> int:
        """Return the index of the table `places` of `TiledConvolution` for points in this grid."""
        if grid not in self._tables:
            table = np.full(whole(self.height * grid.columns, POINTS), -1, dtype=np.int32)
            on_board = table[: self.height * grid.columns].reshape(self.height, -1)[:, : self.width]
            on_board[:] = np.arange(self.height)[:, None] * self._memory.grid.columns + np.arange(self.width)
            self._tables[grid] = self._weights.keep(table.view(np.float32))
        return self._tables[grid]
