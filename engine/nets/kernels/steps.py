"""Collects the steps of `engine.nets.kernels.kernels` for boards of one size.

Owns the order of the steps, in which precision and how a convolution is computed, and which norm is computed along with
the convolution before it. Where everything lies, `engine.nets.kernels.memory` does.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.nets.kernels.code import ACTIVATIONS
from engine.nets.kernels.kernels import (
    ACTIVATION,
    CHANNELS,
    COLUMNS,
    CONVOLVE,
    FIELDS,
    FLATTEN,
    GIVE_POINTS,
    GIVE_VECTOR,
    INNER,
    IS_VECTOR,
    KERNEL_HEIGHT,
    KERNEL_WIDTH,
    KIND,
    NORM,
    NORMALIZE,
    OLD,
    OLD_STRIDE,
    OUTPUT,
    OUTPUT_FIRST,
    OUTPUT_STRIDE,
    PANELS,
    PLACES,
    POOL,
    POST,
    POST_STRIDE,
    RAW,
    RAW_STRIDE,
    READ_GLOBALS,
    READ_PLANES,
    ROUNDED,
    ROWS,
    SIDE,
    SOURCE,
    SOURCE_STRIDE,
    TILED,
    VECTOR,
    VECTOR_STRIDE,
    WEIGHTS,
    WINOGRAD,
    Layout,
)
from engine.nets.kernels.memory import Grid, Memory, Points, Vectors, Weights, aligned, whole
from engine.nets.kernels.tiles import DEPTH, POINTS, SUMS, in_tiles
from engine.nets.kernels.vectors import WIDEST_PANEL
from engine.nets.kernels.winograd import outputs_at_once, transformed
from engine.nets.spec import Activation, Array, Conv, Linear, Norm


@dataclass(frozen=True)
class Model:
    """A network, ready to compute.

    steps: [steps, FIELDS] int64. weights: flat. memory: floats that computing needs. positions: most at a time.
    """

    layout: Layout
    steps: NDArray[np.int64]
    weights: Array
    memory: int
    positions: int

    def new_memory(self) -> Array:
        """Return memory to compute in; no two threads may use it at a time."""
        return aligned(self.memory)


class Steps:
    """The steps so far, for boards of width x height.

    lanes: floats of a vector, a key of `vectors.WIDEST_PANEL`. positions: most at a time.
    stem, kernels: height and width of the kernel that planes are convolved by, and of all others.
    rounded: compute convolutions in bf16, by tiles, which take 16 lanes; otherwise in fp32.
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
    ) -> None:
        self.width, self.height, self.area = width, height, width * height
        self._lanes, self._rounded, self._stem = lanes, rounded, stem
        border, columns, rows = 0, width, height
        for kernel in kernels if rounded else (stem, *kernels):
            side = self._side(*kernel)
            border = max(border, *(each // 2 for each in kernel))
            if side:
                columns, rows = max(columns, whole(width, side)), max(rows, whole(height, side))
        grid = self._tight_grid(border) if rounded else Grid(rows + 2 * border, columns + 2 * border, border)
        self._memory, self._weights = Memory(positions, grid, shares_borders=rounded), Weights()
        self._steps: list[NDArray[np.int64]] = []
        self._factors = np.zeros(0, dtype=np.float32)  # of the last step that has some
        self._tables: dict[Grid, int] = {}
        self._tiles = self._products = self._row = self._most_channels = 0

    def model(self) -> Model:
        """Return what was collected."""
        sizes = self._most_channels, self._most_channels, self._tiles, self._products, self._row
        zeros, unread, tiles, products, row = (self._memory.room(size) for size in sizes)
        steps = np.array(self._steps)
        for place, stride, instead in (
            (VECTOR, VECTOR_STRIDE, zeros),
            (OLD, OLD_STRIDE, zeros),
            (RAW, RAW_STRIDE, unread),
            (POST, POST_STRIDE, unread),
        ):
            steps[steps[:, stride] == 0, place] = instead
        board = self.width, self.height, *self._memory.grid[:2]
        layout = Layout(self._lanes, *board, tiles, products, row, self._memory.spare)
        return Model(layout, steps, self._weights.array(), self._memory.floats, self._memory.positions)

    def planes(self, count: int) -> Points:
        """Return the input planes."""
        channels = self._filled(count) if self._rounded or self._side(*self._stem) else count
        grid = self._tight_grid(max(self._stem) // 2) if self._rounded else None
        points = self._memory.points(channels, rounded=self._rounded, grid=grid)
        self._row = max(self._row, self.width * channels)
        step = self._add(READ_PLANES, inner=count, channels=channels, post=points)
        step[[ROWS, COLUMNS]] = points.grid[:2]
        return points

    def globals(self, count: int) -> Vectors:
        """Return the global inputs."""
        vectors = self._memory.vectors(count)
        self._add(READ_GLOBALS, inner=count, post=vectors)
        return vectors

    def convolved(self, source: Points, conv: Conv, *, vector: Vectors | None = None) -> Points:
        """Return new points: a convolution, with a vector added to all points of its position."""
        raw = self._memory.points(self._filled(conv.outputs))
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
    ) -> Points:
        """Return new points: the activation of the norm of `convolved`.

        exact: in float32 wherever they were computed, for what is not a convolution by tiles.
        """
        post = self._memory.points(self._filled(conv.outputs), rounded=self._rounded and not exact)
        self._convolve(source, conv, vector=vector, post=post, norm=norm, activation=activation)
        return post

    def add_convolved(self, points: Points, source: Points, conv: Conv) -> None:
        """Add a convolution to points."""
        self._convolve(source, conv, old=points, raw=points)

    def activate_sum(self, points: Points, source: Points, conv: Conv, activation: Activation) -> None:
        """Replace points by the activation of the sum of them and a convolution."""
        self._convolve(source, conv, old=points, post=points, activation=activation)

    def normalized(self, points: Points, norm: Norm, activation: Activation) -> Points:
        """Return new points: the activation of the norm of points, computed with these where they were just made."""
        step, factors = self._steps[-1], self._factors
        # Rows of a higher kernel are read after rows above them are written: not to where the source is.
        post = self._memory.points(points.stride, rounded=self._rounded, besides=int(step[SOURCE]))
        made_them = step[KIND] in (CONVOLVE, WINOGRAD, TILED) and step[RAW] == points.first and step[RAW_STRIDE] != 0
        if not made_them:
            self._row = max(self._row, self.width * points.stride)
            factors = _factors(points.stride, None, None)
            step = self._add(NORMALIZE, source=points, channels=points.stride, factors=factors)
        _set_norm(factors, norm)
        step[[POST, POST_STRIDE, ROUNDED]] = post.first, post.stride, post.rounded
        step[ACTIVATION] = ACTIVATIONS.index(activation)
        return post

    def multiplied(
        self,
        source: Vectors,
        layer: Linear,
        activation: Activation = Activation.IDENTITY,
        *,
        added: Vectors | None = None,
    ) -> Vectors:
        """Return new vectors: the activation of a layer, to which others are added before."""
        inputs, outputs = layer.weight.shape
        channels = self._filled(outputs)
        post = self._memory.vectors(channels)
        self._row = max(self._row, self._memory.positions * channels)
        step = self._add(
            CONVOLVE,
            source=source,
            inner=inputs,
            channels=channels,
            old=added,
            post=post,
            activation=activation,
            matrix=layer.weight[None],
            factors=_factors(channels, layer.bias, None),
        )
        step[[KERNEL_HEIGHT, KERNEL_WIDTH, IS_VECTOR]] = 1
        return post

    def pooled(self, points: Points) -> Vectors:
        """Return the sum of each channel, and `points.stride` numbers further its maximum."""
        post = self._memory.vectors(2 * points.stride)
        self._add(POOL, source=points, channels=points.stride, post=post)
        return post

    def multiplied_pooled(
        self, source: Vectors, channels: int, layer: Linear, activation: Activation = Activation.IDENTITY
    ) -> Vectors:
        """Return the activation of a layer of the means, or means and maxima, of so many channels that are `pooled`."""
        gap = np.zeros((self._filled(channels) - channels, layer.outputs), dtype=np.float32)
        means, maxima = layer.weight[:channels] / np.float32(self.area), layer.weight[channels:]
        weight = np.concatenate([means, gap, maxima] if len(maxima) else [means])
        return self.multiplied(source, Linear(weight, layer.bias), activation)

    def flat(self, points: Points, channels: int) -> Vectors:
        """Return the first channels of points as vectors, channel by channel."""
        post = self._memory.vectors(channels * self.area)
        self._add(FLATTEN, source=points, inner=channels, post=post)
        return post

    def give(self, source: Points | Vectors, count: int, output: int, *, first: int = 0, stride: int = 1) -> None:
        """Write so many channels or numbers to an output, each where the last one began plus `stride`."""
        step = self._add(GIVE_POINTS if isinstance(source, Points) else GIVE_VECTOR, source=source, inner=count)
        step[[OUTPUT, OUTPUT_FIRST, OUTPUT_STRIDE]] = output, first, stride

    def release(self, points: Points) -> None:
        """Let later steps have the memory of points."""
        self._memory.release(points)

    def _convolve(
        self,
        source: Points,
        conv: Conv,
        *,
        vector: Vectors | None = None,
        old: Points | None = None,
        raw: Points | None = None,
        post: Points | None = None,
        norm: Norm | None = None,
        activation: Activation = Activation.IDENTITY,
    ) -> None:
        """Add the step of a convolution, see `vectors.finish_row`."""
        outputs, inputs, height, width = conv.weight.shape
        channels, side = self._filled(outputs), 0 if source.rounded else self._side(height, width)
        if source.rounded:
            read = self._filled(inputs)
            spaced = np.zeros((height, width, read, channels), dtype=np.float32)
            spaced[:, :, :inputs, :outputs] = conv.weight.transpose(2, 3, 1, 0)
            matrix = spaced.reshape(height, width * read, channels)
            self._row = max(self._row, SUMS)
        elif side:
            matrix = transformed(conv.weight, side)
            across, down = -(-self.width // side), -(-self.height // side)
            tiles = self._memory.positions * across * down
            self._tiles = max(self._tiles, len(matrix) * (tiles * source.stride + self._lanes))
            self._products = max(self._products, len(matrix) * (tiles * channels + self._lanes))
            self._row = max(self._row, across * side * side * channels)
        else:
            read = inputs if width == 1 else source.stride
            spaced = np.zeros((height, width, read, outputs), dtype=np.float32)
            spaced[:, :, :inputs] = conv.weight.transpose(2, 3, 1, 0)
            matrix = spaced.reshape(height, width * read, outputs)
            self._row = max(self._row, self.width * channels)
        step = self._add(
            TILED if source.rounded else WINOGRAD if side else CONVOLVE,
            source=source,
            inner=inputs,
            channels=channels,
            vector=vector,
            old=old,
            raw=raw,
            post=post,
            activation=activation,
            matrix=matrix,
            factors=_factors(channels, conv.bias, norm),
        )
        step[[KERNEL_HEIGHT, KERNEL_WIDTH, SIDE]] = height, width, side
        if source.rounded:
            step[[PLACES, ROWS, COLUMNS]] = self._places(source.grid), *source.grid[:2]

    def _add(
        self,
        kind: int,
        *,
        source: Points | Vectors | None = None,
        inner: int = 0,
        channels: int = 0,
        vector: Vectors | None = None,
        old: Points | Vectors | None = None,
        raw: Points | None = None,
        post: Points | Vectors | None = None,
        activation: Activation = Activation.IDENTITY,
        matrix: Array | None = None,
        factors: Array | None = None,
    ) -> NDArray[np.int64]:
        """Add a step and return it, to be completed."""
        step = np.zeros(FIELDS, dtype=np.int64)
        step[[KIND, INNER, CHANNELS, ACTIVATION]] = kind, inner, channels, ACTIVATIONS.index(activation)
        for place, stride, what in (
            (SOURCE, SOURCE_STRIDE, source),
            (VECTOR, VECTOR_STRIDE, vector),
            (OLD, OLD_STRIDE, old),
            (RAW, RAW_STRIDE, raw),
            (POST, POST_STRIDE, post),
        ):
            if what is not None:
                step[[place, stride]] = what[:2]
        step[ROUNDED] = isinstance(post, Points) and post.rounded
        if matrix is not None and kind == TILED:
            step[WEIGHTS] = self._weights.keep(in_tiles(matrix))
        elif matrix is not None:
            step[PANELS] = -(-channels // (self._lanes * WIDEST_PANEL[self._lanes]))
            step[WEIGHTS] = self._weights.keep(self._in_panels(matrix, channels, int(step[PANELS]), kind == WINOGRAD))
        if factors is not None:
            step[NORM], self._factors = self._weights.keep(factors), factors
        self._most_channels = max(self._most_channels, channels)
        self._steps.append(step)
        return step

    def _in_panels(self, matrix: Array, channels: int, panels: int, by_part: bool) -> Array:
        """Return a matrix [parts, inner, out] in the order in which it is read, filled up to so many channels.

        Panel by panel [parts, inner, width]; by part: part by part and then panel by panel [inner, width].
        """
        parts, inner, outputs = matrix.shape
        filled = np.zeros((parts, inner, channels), dtype=np.float32)
        filled[:, :, :outputs] = matrix
        vectors = channels // self._lanes
        bounds = [panel * vectors // panels * self._lanes for panel in range(1, panels)]
        pieces = np.split(filled, bounds, axis=2)
        if by_part:
            return np.concatenate([piece.reshape(parts, -1) for piece in pieces], axis=1)
        return np.concatenate([piece.ravel() for piece in pieces])

    def _side(self, height: int, width: int) -> int:
        """Return Winograd's m for a kernel, 0 where rows of the kernel are multiplied."""
        return outputs_at_once(height, self.width, self.height) if height == width else 0

    def _filled(self, channels: int) -> int:
        """Return the channels of whole vectors, or of whole tiles."""
        return whole(channels, DEPTH if self._rounded else self._lanes)

    def _tight_grid(self, border: int) -> Grid:
        """Return how boards lie where the border on the right of a row is that on the left of the next one."""
        return Grid(self.height + 2 * border, self.width + border, border)

    def _places(self, grid: Grid) -> int:
        """Return the place of the table, see `tiles.convolve_points`, for points that lie so."""
        if grid not in self._tables:
            table = np.full(whole(self.height * grid.columns, POINTS), -1, dtype=np.int32)
            on_board = table[: self.height * grid.columns].reshape(self.height, -1)[:, : self.width]
            on_board[:] = np.arange(self.height)[:, None] * self._memory.grid.columns + np.arange(self.width)
            self._tables[grid] = self._weights.keep(table.view(np.float32))
        return self._tables[grid]


def _factors(channels: int, bias: Array | None, norm: Norm | None) -> Array:
    """Return bias, scale and shift [3, channels], see `vectors.finish_row`."""
    factors = np.zeros((3, channels), dtype=np.float32)
    factors[1] = 1.0
    if bias is not None:
        factors[0, : len(bias)] = bias
    if norm is not None:
        _set_norm(factors, norm)
    return factors


def _set_norm(factors: Array, norm: Norm) -> None:
    scale, shift = norm.affine()
    factors[1, : len(scale)], factors[2, : len(shift)] = scale, shift
