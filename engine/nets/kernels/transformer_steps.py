"""Prepares the blocks of transformers for their kernels: weights, tables of rotations and working memory."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.nets.folding import after_norm, times
from engine.nets.kernels.attention import QUERIES
from engine.nets.kernels.code import ACTIVATIONS
from engine.nets.kernels.integer_rows import LARGEST, PANELS, largest_of_keys
from engine.nets.kernels.memory import Weights, whole
from engine.nets.kernels.operands import ROUNDED, TILED, VECTORS_OF_INTEGERS
from engine.nets.kernels.packing import Rounded, bounds_of, in_integers, in_pairs, in_panels, panels_of
from engine.nets.kernels.plan import ROOMS
from engine.nets.kernels.tiles import DEPTH
from engine.nets.kernels.transformers import CHUNK, ROWS_TOGETHER, TILED_CHUNK
from engine.nets.kernels.vectors import WIDEST_PANEL
from engine.nets.spec import Array, AttentionBlock, FeedForwardBlock, Linear, RmsNorm


class TransformerSteps:
    """Completes the steps of a network's blocks for boards of width x height.

    numbers: operands in a vector, see `code.Code`. floats: size of the working memory of the blocks so far.
    """

    def __init__(self, width: int, height: int, lanes: int, numbers: int, weights: Weights) -> None:
        self.numbers, self.floats = numbers, 0
        self._width, self._area, self._lanes, self._weights = width, width * height, lanes, weights
        self._tables: dict[bytes, int] = {}
        self._are_integers = numbers in VECTORS_OF_INTEGERS
        self._widest = (PANELS if self._are_integers else WIDEST_PANEL)[lanes]
        self._unit = DEPTH if numbers == TILED else lanes
        self._chunk = TILED_CHUNK if numbers == TILED else CHUNK

    def place(self, steps: NDArray[np.void], first: int) -> None:
        """Add the index of the working memory to the places in it."""
        for name in ROOMS.names or ():
            steps["rooms"][name] += first

    def normalize(self, step: NDArray[np.void], norm: RmsNorm) -> None:
        """Complete the step that normalizes rows, without the norm's factors and bias."""
        step["inner"], step["epsilon"], step["is_spatial"] = len(norm.weight), norm.epsilon, norm.spatial
        self._reserve(step, factors=self._area)

    def feed_forward(self, step: NDArray[np.void], block: FeedForwardBlock) -> None:
        """Complete the step of a feed forward block."""
        self.normalize(step, block.norm)
        lanes, layers = self._lanes, [after_norm(block.norm, each) for each in (block.expand, block.gate) if each]
        hidden = whole(block.expand.outputs, self._unit)
        panels = panels_of(hidden, lanes, self._widest // len(layers))
        # The gate of each panel follows it, so that both are computed together.
        parts = [slice(begin * lanes, end * lanes) for begin, end in bounds_of(hidden // lanes, panels)]
        wide = [Linear(_filled(each.weight, hidden), _filled(_bias(each), hidden)[0]) for each in layers]
        stored = [self._operands(each.weight) for each in wide]
        weights = [np.concatenate([each.numbers[:, part] for each in stored], axis=1) for part in parts]
        first = step["first"]
        content = np.concatenate([each.ravel() for each in weights])
        self._set_matrix(first, len(stored[0].numbers), hidden, panels, content)
        self._set_bias(first, np.concatenate([_bias(each)[:, part] for part in parts for each in wide], axis=1))
        self._set_steps(first, np.concatenate([each.steps[part] for part in parts for each in stored]))
        self._set_layer(step["second"], block.contract, int(step["channels"]))
        step["is_gated"], step["activation"] = block.gate is not None, ACTIVATIONS.index(block.activation)
        rows = self._rows(max(ROWS_TOGETHER, self._area))
        self._reserve(
            step,
            factors=rows,
            units=rows * self._floats(int(step["channels"])),
            sums=self._chunk * WIDEST_PANEL[lanes] * lanes,
            operands=self._chunk * self._floats(hidden),
            floats=self._chunk * hidden * self._are_integers,
            head_factors=self._chunk,
        )

    def attend(self, step: NDArray[np.void], block: AttentionBlock) -> None:
        """Complete the step of an attention block."""
        self.normalize(step, block.norm)
        widths = self._query_width(block), whole(block.value_width, self._unit)
        # The factor of the scores is part of the queries' weights, with log2(e), because the softmax takes powers of 2.
        query = times(block.query, block.query_width**-0.5 * math.log2(math.e))
        order = None if block.rope is None else _halves(block.query_width)
        spaced = [
            _spaced(query, block.heads, widths[0], order),
            _spaced(block.key, block.kv_heads, widths[0], order),
            _spaced(block.value, block.kv_heads, widths[1], None),
        ]
        layers = [after_norm(block.norm, each) for each in spaced]
        joined = Linear(
            np.concatenate([each.weight for each in layers], axis=1),
            np.concatenate([_bias(each) for each in layers], axis=1)[0],
        )
        self._set_layer(step["first"], joined, joined.outputs)
        rows = block.output.weight.reshape(block.heads, block.value_width, -1)
        filled = np.zeros((block.heads, widths[1], rows.shape[2]), dtype=np.float32)
        filled[:, : block.value_width] = rows
        output = Linear(filled.reshape(block.heads * widths[1], -1), block.output.bias)
        self._set_layer(step["second"], output, int(step["channels"]))
        attention = step["attention"]
        attention["heads"], attention["kv_heads"] = block.heads, block.kv_heads
        attention["query_width"], attention["value_width"] = widths
        attention["largest_key"] = largest_of_keys(widths[0])
        if block.rope is not None:
            self._set_turns(attention, block.rope, widths[0] // 2)
        self._reserve_for_attention(step, block, *widths)

    def _query_width(self, block: AttentionBlock) -> int:
        """Return the channels of a query of one head, filled up to whole vectors of operands, or two of them."""
        if block.rope is not None:
            return 2 * whole(block.query_width // 2, self._lanes)
        # Keys are packed by whole vectors of floats, in each of which are two operands of 16 bits.
        return whole(block.query_width, 2 * self._lanes if self._is_paired() else self._lanes)

    def _reserve_for_attention(
        self, step: NDArray[np.void], block: AttentionBlock, query_width: int, value_width: int
    ) -> None:
        """Reserve the working memory of an attention block."""
        keys, are_integers = whole(self._area, self._unit), self._are_integers
        rows = self._rows(self._area)
        self._reserve(
            step,
            factors=max(self._area, QUERIES),
            units=rows * self._floats(int(step["channels"])),
            sums=self._chunk * int(step["first"]["channels"]),
            heads=(block.heads + block.kv_heads) * keys * self._floats(query_width),
            keys=block.kv_heads * keys * self._floats(query_width),
            values=block.kv_heads * self._floats(rows + rows % 2) * value_width,
            scores=QUERIES * keys,
            highest=QUERIES,
            totals=QUERIES * self._lanes,
            chances=QUERIES * self._floats(keys),
            answers=QUERIES * value_width,
            operands=rows * self._floats(block.heads * value_width),
            one=1,
            head_factors=(block.heads + block.kv_heads) * keys * are_integers,
            value_factors=block.kv_heads * value_width * are_integers,
            value_rows=self._area * block.kv_heads * value_width * are_integers,
            floats=self._area * block.heads * value_width * are_integers,
        )

    def _set_turns(self, attention: NDArray[np.void], rope: Array, half: int) -> None:
        """Store the rotations of the pairs of channels at each point; a table that there is already, only once."""
        y, x = np.divmod(np.arange(self._area), self._width)
        angles = np.einsum("hpc,ca->hap", rope.astype(np.float64), np.stack([x, y]).astype(np.float64))
        if all(np.array_equal(each, rope[0]) for each in rope):
            angles = angles[:1]
        table = np.zeros((len(angles), self._area, 2, half), dtype=np.float32)
        table[:, :, 0, : angles.shape[2]], table[:, :, 1, : angles.shape[2]] = np.cos(angles), np.sin(angles)
        content = table.tobytes()
        if content not in self._tables:
            self._tables[content] = self._weights.keep(table)
        attention["is_turned"], attention["turns"] = True, self._tables[content]
        attention["turns_stride"] = table[0].size if len(table) > 1 else 0

    def _set_layer(self, matrix: NDArray[np.void], layer: Linear, channels: int) -> None:
        """Store a layer whose outputs are filled up to `channels`."""
        panels, stored = panels_of(channels, self._lanes, self._widest), self._operands(layer.weight)
        self._set_matrix(
            matrix,
            len(stored.numbers),
            channels,
            panels,
            in_panels(stored.numbers[None], channels, panels, self._lanes),
        )
        self._set_bias(matrix, _filled(_bias(layer), channels))
        self._set_steps(matrix, np.pad(stored.steps, (0, channels - len(stored.steps))))

    def _set_matrix(self, matrix: NDArray[np.void], k: int, channels: int, panels: int, content: Array) -> None:
        """Store weights that are in their order. k: floats of a row of operands."""
        matrix["k"], matrix["channels"], matrix["panels"] = k, channels, panels
        matrix["weights"] = self._weights.keep(content)

    def _set_steps(self, matrix: NDArray[np.void], steps: Array) -> None:
        """Store what an integer of each channel of a matrix stands for, if there is anything."""
        matrix["steps"] = self._weights.keep(steps) if steps.any() else -1

    def _set_bias(self, matrix: NDArray[np.void], bias: Array) -> None:
        matrix["bias"] = self._weights.keep(bias) if bias.any() else -1

    def _operands(self, weight: Array) -> Rounded:
        """Return a matrix as operands, of which two rows are one of pairs in bf16 and int16, with steps of int16."""
        if self._are_integers:
            return in_integers(weight, LARGEST)
        zeros = np.zeros(weight.shape[1], np.float32)
        if not self._is_paired():
            return Rounded(weight, zeros)
        missing = whole(len(weight), self._unit) - len(weight) if self.numbers == TILED else 0
        return Rounded(in_pairs(np.pad(weight, ((0, missing), (0, 0)))), zeros)

    def _rows(self, rows: int) -> int:
        """Return the rows of operands to reserve: whole tiles are read."""
        return whole(rows, DEPTH) if self.numbers == TILED else rows

    def _floats(self, numbers: int) -> int:
        """Return the floats that take the place of operands."""
        return numbers // 2 if self._is_paired() else numbers

    def _is_paired(self) -> bool:
        """Return whether two operands take the place of a float."""
        return self._are_integers or self.numbers in (ROUNDED, TILED)

    def _reserve(self, step: NDArray[np.void], **sizes: int) -> None:
        """Set the places of a block in the working memory."""
        place = 0
        for name, size in sizes.items():
            step["rooms"][name] = place
            place += whole(size, 16)
        self.floats = max(self.floats, place)


def _bias(layer: Linear) -> Array:
    """Return the bias of a layer as [1, outputs], or zeros."""
    return (np.zeros(layer.outputs, dtype=np.float32) if layer.bias is None else layer.bias)[None]


def _filled(matrix: Array, outputs: int) -> Array:
    """Return a matrix [k, out] with columns of zeros up to `outputs`."""
    return np.pad(matrix, ((0, 0), (0, outputs - matrix.shape[1])))


def _halves(width: int) -> NDArray[np.int64]:
    """Return the channels of a head in the order of `rows.TurnedRows`: the first of each pair, then the second."""
    return np.arange(width).reshape(-1, 2).T


def _spaced(layer: Linear, heads: int, width: int, order: NDArray[np.int64] | None) -> Linear:
    """Return a layer whose outputs are filled up with zeros to `width` for each head.

    order: channels of a head as [parts, length], each part filled up to the same width; None for all as they are.
    """
    parts: Sequence[NDArray[np.int64]] = [np.arange(layer.outputs // heads)] if order is None else list(order)
    found = []
    for matrix in (layer.weight, _bias(layer)):
        of_heads = matrix.reshape(len(matrix), heads, -1)
        spaced = np.zeros((len(matrix), heads, len(parts), width // len(parts)), dtype=np.float32)
        for place, part in enumerate(parts):
            spaced[:, :, place, : len(part)] = of_heads[:, :, part]
        found.append(spaced.reshape(len(matrix), -1))
    return Linear(found[0], found[1][0])
