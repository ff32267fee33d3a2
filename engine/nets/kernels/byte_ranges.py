"""Measures the ranges of what is rounded to bytes: computes a network in bf16, step by step, and reads its memory."""

import numpy as np

from engine.nets.kernels.kernels import infer_rows
from engine.nets.kernels.memory import Points
from engine.nets.kernels.model import build_model
from engine.nets.kernels.plan import Plan, Rows
from engine.nets.kernels.tiles import TILE_ROWS
from engine.nets.rounding import Range, combined
from engine.nets.spec import Array, NetSpec

_TOGETHER = 4
"""Positions at a time."""


def measured_ranges(spec: NetSpec, planes: Array, globals_: Array) -> list[Range]:
    """Return the ranges of each site of a network over some positions, to build its model in int8 with.

    planes: [rows, planes, height, width]. globals_: [rows, globals + metadata].
    """
    height, width = planes.shape[2:]
    model = build_model(spec, width, height, TILE_ROWS, _TOGETHER, rounded=True)
    memory, batches, sizes = model.new_memory(), list[list[Array]](), list[int]()
    plan, ends = model.plan, [site.step + 1 for site in model.sites]
    for first in range(0, len(planes), _TOGETHER):
        given = [np.ascontiguousarray(each[first : first + _TOGETHER]) for each in (planes, globals_)]
        count = len(given[0])
        # The steps up to the last site write no outputs.
        nothing = np.zeros((count, 0), dtype=np.float32)
        rows = Rows(given[0].reshape(count, -1), given[1], (nothing, nothing, nothing, nothing))
        ranges = []
        for start, end, site in zip([0, *ends], ends, model.sites, strict=False):
            infer_rows(Plan(plan.layout, plan.steps[start:end], plan.weights), memory, rows, _TOGETHER, count)
            numbers = _numbers(memory, site.points, (count, height, width)).reshape(-1, 2 * site.points.stride)
            numbers = numbers[:, : site.channels]
            ranges.append(np.stack([numbers.min(axis=0), numbers.max(axis=0), numbers.mean(axis=0)]))
        batches.append(ranges)
        sizes.append(count)
    return combined(batches, sizes)


def _numbers(memory: Array, points: Points, shape: tuple[int, int, int]) -> Array:
    """Return the numbers [positions, height, width, channels] of points in bf16."""
    count, height, width = shape
    rows, columns, _ = points.grid
    size = points.stride
    each = memory[points.first :][: ((count - 1) * rows * columns + (height - 1) * columns + width) * size]
    strides = [size * 4 * step for step in (rows * columns, columns, 1)]
    bits = np.lib.stride_tricks.as_strided(each.view(np.uint16), (*shape, 2 * size), (*strides, 2))
    return (bits.astype(np.uint32) << 16).view(np.float32)
