"""The blocks of a transformer as kernels for a GPU, each with what is computed before and after its products.

As little as possible goes through memory between two products: the norm is computed where the rows of a product are
read, queries and keys are turned before they are written, and neither the hidden channels of a feed-forward block nor
the scores of attention are ever written. What that gains is in docs/performance.md. Numbers have 16 bits in memory;
sums have 32.

A program has some rows and computes all that is asked of them, so that a row is read once and the weights, which fit
into the second cache, once for each program. Its channels come in two parts, because a block of Triton has a power of
two of them: 192 are 128 and 64.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.nets.spec import Activation
from engine.nets.torch_modules.triton_kernels import KINDS, activated

_LOG2_E = 1.0 / math.log(2.0)
_LEAST = 16
"""Least side of a block that the units for matrix products take."""
_MOST_CHANNELS = 256
_BYTES = 2
_SHARED_MEMORY = 64 * 1024
"""Bytes that the programs of one core share on a GPU that does not say how many it has."""
_SPARE = 4 * 1024
"""Bytes of them for what goes between the threads of a program."""


class Tuning(NamedTuple):
    """The shape of a kernel: rows and columns of its blocks, threads / 32, loads in flight."""

    rows: int
    columns: int
    warps: int
    stages: int


# The fastest of those that were tried on an H200 with 192 channels, then smaller ones for less shared memory.
_PROJECT = (Tuning(64, 64, 4, 3), Tuning(64, 32, 4, 3), Tuning(32, 32, 4, 2), Tuning(16, 16, 2, 2))
_FEED = (Tuning(128, 32, 8, 3), Tuning(64, 32, 4, 2), Tuning(32, 16, 4, 2), Tuning(16, 16, 2, 2))
_ATTEND = (Tuning(64, 64, 4, 3), Tuning(64, 32, 4, 2), Tuning(16, 16, 2, 2))


@triton.jit  # type: ignore[untyped-decorator]
def _factors(x1, x2, width: tl.constexpr, epsilon):  # type: ignore[no-untyped-def]
    """Return one over the root mean square of each row, [rows, 1]; the rows are given in two parts."""
    one, two = x1.to(tl.float32), x2.to(tl.float32)
    return tl.rsqrt((tl.sum(one * one, 1) + tl.sum(two * two, 1)) / width + epsilon)[:, None]


@triton.jit  # type: ignore[untyped-decorator]
def _project(  # type: ignore[no-untyped-def]
    rows,
    weight,
    out,
    offsets,
    turns,
    count,
    epsilon,
    area,
    most: tl.constexpr,
    rest: tl.constexpr,
    outputs: tl.constexpr,
    pairs: tl.constexpr,
    has_offsets: tl.constexpr,
    block_rows: tl.constexpr,
    block_outputs: tl.constexpr,
):
    width: tl.constexpr = most + rest
    half: tl.constexpr = block_outputs // 2
    row = tl.program_id(0) * block_rows + tl.arange(0, block_rows)
    here = row[:, None] < count
    one, two = tl.arange(0, most), most + tl.arange(0, rest)
    address = rows + row.to(tl.int64)[:, None] * width
    x1 = tl.load(address + one[None, :], mask=here, other=0.0)
    x2 = tl.load(address + two[None, :], mask=here, other=0.0)
    factors = _factors(x1, x2, width, epsilon)
    to = out + row.to(tl.int64)[:, None] * outputs
    for start in range(0, outputs, block_outputs):
        column = start + tl.arange(0, block_outputs)
        from_weight = weight + column[None, :] * width
        sums = tl.dot(x1, tl.load(from_weight + one[:, None]))
        sums = tl.dot(x2, tl.load(from_weight + two[:, None]), sums) * factors
        if has_offsets:
            sums += tl.load(offsets + column)[None, :]
        if pairs > 0:
            pair = start // 2 + tl.arange(0, half)
            place = (row % area)[:, None] * pairs + pair[None, :]
            is_turned = pair[None, :] < pairs
            cosine = tl.load(turns + place, mask=is_turned, other=1.0)
            sine = tl.load(turns + area * pairs + place, mask=is_turned, other=0.0)
            first, second = tl.split(tl.reshape(sums, [block_rows, half, 2]))
            turned = tl.join(first * cosine - second * sine, first * sine + second * cosine)
            sums = tl.reshape(turned, [block_rows, block_outputs])
        tl.store(to + column[None, :], sums.to(out.dtype.element_ty), mask=here)


@triton.jit  # type: ignore[untyped-decorator]
def _feed(  # type: ignore[no-untyped-def]
    trunk,
    expand,
    contract,
    offsets,
    count,
    epsilon,
    most: tl.constexpr,
    rest: tl.constexpr,
    hidden: tl.constexpr,
    kind: tl.constexpr,
    is_gated: tl.constexpr,
    has_offsets: tl.constexpr,
    block_rows: tl.constexpr,
    block_hidden: tl.constexpr,
):
    width: tl.constexpr = most + rest
    row = tl.program_id(0) * block_rows + tl.arange(0, block_rows)
    here = row[:, None] < count
    one, two = tl.arange(0, most), most + tl.arange(0, rest)
    address = trunk + row.to(tl.int64)[:, None] * width
    x1 = tl.load(address + one[None, :], mask=here, other=0.0)
    x2 = tl.load(address + two[None, :], mask=here, other=0.0)
    factors = _factors(x1, x2, width, epsilon)
    y1, y2 = tl.zeros([block_rows, most], tl.float32), tl.zeros([block_rows, rest], tl.float32)
    each: tl.constexpr = 2 if is_gated else 1
    for start in range(0, hidden, block_hidden):
        unit = start + tl.arange(0, block_hidden)
        column = each * start + tl.arange(0, each * block_hidden)
        from_expand = expand + column[None, :] * width
        sums = tl.dot(x1, tl.load(from_expand + one[:, None]))
        sums = tl.dot(x2, tl.load(from_expand + two[:, None]), sums) * factors
        if has_offsets:
            sums += tl.load(offsets + column)[None, :]
        if is_gated:
            inner, gate = tl.split(tl.reshape(sums, [block_rows, block_hidden, 2]))
            within = (activated(inner, kind) * gate).to(x1.dtype)
        else:
            within = activated(sums, kind).to(x1.dtype)
        y1 = tl.dot(within, tl.load(contract + one[None, :] * hidden + unit[:, None]), y1)
        y2 = tl.dot(within, tl.load(contract + two[None, :] * hidden + unit[:, None]), y2)
    tl.store(address + one[None, :], (x1.to(tl.float32) + y1).to(x1.dtype), mask=here)
    tl.store(address + two[None, :], (x2.to(tl.float32) + y2).to(x1.dtype), mask=here)


@triton.jit  # type: ignore[untyped-decorator]
def _with_keys(  # type: ignore[no-untyped-def]
    query, keys, values, largest, total, mixed, left, scale, is_last: tl.constexpr, block_keys: tl.constexpr
):
    """Return the largest score, the total of the weights and the mix of the values, of some more keys, too.

    The softmax of Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018).
    """
    scores = tl.dot(query, keys)
    if is_last:
        scores = tl.where(tl.arange(0, block_keys)[None, :] < left, scores, float("-inf"))
    now = tl.maximum(largest, tl.max(scores, 1))
    weights = tl.exp2(scores * scale - (now * scale)[:, None])
    shrunk = tl.exp2((largest - now) * scale)
    mixed = tl.dot(weights.to(values.dtype), values, mixed * shrunk[:, None])
    return now, total * shrunk + tl.sum(weights, 1), mixed


@triton.jit  # type: ignore[untyped-decorator]
def _attend(  # type: ignore[no-untyped-def]
    joint,
    out,
    scale,
    area,
    heads: tl.constexpr,
    kv_heads: tl.constexpr,
    width: tl.constexpr,
    block_rows: tl.constexpr,
    block_keys: tl.constexpr,
):
    stride: tl.constexpr = (heads + 2 * kv_heads) * width
    position, head = tl.program_id(1) // heads, tl.program_id(1) % heads
    point = tl.program_id(0) * block_rows + tl.arange(0, block_rows)
    channel, key = tl.arange(0, width), tl.arange(0, block_keys)
    here = point[:, None] < area
    first = joint + position.to(tl.int64) * area * stride
    query = tl.load(first + point[:, None] * stride + head * width + channel[None, :], mask=here, other=0.0)
    shared = head // (heads // kv_heads)
    from_keys = first + (heads + shared) * width + key[None, :] * stride + channel[:, None]
    from_values = first + (heads + kv_heads + shared) * width + key[:, None] * stride + channel[None, :]
    largest = tl.full([block_rows], float("-inf"), tl.float32)
    total = tl.zeros([block_rows], tl.float32)
    mixed = tl.zeros([block_rows, width], tl.float32)
    whole = area // block_keys * block_keys
    for start in range(0, whole, block_keys):
        keys, values = tl.load(from_keys + start * stride), tl.load(from_values + start * stride)
        largest, total, mixed = _with_keys(
            query, keys, values, largest, total, mixed, block_keys, scale, False, block_keys
        )
    if whole < area:
        left = area - whole
        keys = tl.load(from_keys + whole * stride, mask=key[None, :] < left, other=0.0)
        values = tl.load(from_values + whole * stride, mask=key[:, None] < left, other=0.0)
        largest, total, mixed = _with_keys(query, keys, values, largest, total, mixed, left, scale, True, block_keys)
    address = out + (position.to(tl.int64) * area + point)[:, None] * (heads * width) + head * width + channel[None, :]
    tl.store(address, (mixed / total[:, None]).to(out.dtype.element_ty), mask=here)


def check(device: torch.device) -> None:
    """Use each kernel once; raise whatever keeps it from working."""
    rows = torch.zeros((_LEAST, 2 * _LEAST), dtype=torch.float16, device=device)
    turns = torch.ones((2, _LEAST, _LEAST), device=device)
    joint = projected(rows, rows.repeat(3, 1), 1.0, None, turns)
    feed(attended(joint, _LEAST, 1, 1), rows.repeat(4, 1), rows.repeat(2, 1), 1.0, Activation.SILU, None)


def can_project(channels: int, outputs: int) -> bool:
    """Return whether `projected` takes rows of `channels` numbers."""
    return _parts(channels) is not None and _project_tuning(channels, outputs) is not None


def can_feed(channels: int, hidden: int) -> bool:
    """Return whether `feed` takes rows of `channels` numbers and computes `hidden` between its products."""
    return _parts(channels) is not None and _feed_tuning(channels, hidden) is not None


def can_attend(width: int) -> bool:
    """Return whether `attended` takes heads of a width."""
    return _is_power(width) and _LEAST <= width <= 128 and _attend_tuning(width) is not None


def projected(rows: Tensor, weight: Tensor, epsilon: float, offsets: Tensor | None, turns: Tensor | None) -> Tensor:
    """Return the outputs of a linear layer, of rows divided by their root mean square: [R, outputs].

    rows: [R, channels]. weight: [outputs, channels]. offsets: float32 [outputs]. turns: cosines, then sines, as of
    `pointwise.turn`, of the pairs of outputs that are rotated.
    """
    (outputs, channels), parts = weight.shape, _parts(weight.shape[1])
    tuning = _project_tuning(channels, outputs)
    assert parts is not None and tuning is not None
    out = rows.new_empty((len(rows), outputs))
    area, pairs = (1, 0) if turns is None else turns.shape[1:]
    _project[(triton.cdiv(len(rows), tuning.rows),)](
        *(rows, weight, out, weight if offsets is None else offsets),
        weight if turns is None else turns,
        *(len(rows), epsilon, area, *parts, outputs, pairs, offsets is not None, tuning.rows, tuning.columns),
        num_warps=tuning.warps,
        num_stages=tuning.stages,
    )
    return out


def feed(
    trunk: Tensor, expand: Tensor, contract: Tensor, epsilon: float, kind: Activation, offsets: Tensor | None
) -> None:
    """Add to each row what a feed-forward block computes of it, divided by its root mean square, in place.

    trunk: [R, channels]. expand: [hidden, channels], or [2 * hidden, channels] with a gate, whose rows are those of
    the hidden channels and of their gates in turn. contract: [channels, hidden]. offsets: float32, of the outputs of
    `expand`.
    """
    (channels, hidden), parts = contract.shape, _parts(contract.shape[0])
    tuning = _feed_tuning(channels, hidden)
    assert parts is not None and tuning is not None
    _feed[(triton.cdiv(len(trunk), tuning.rows),)](
        *(trunk, expand, contract, contract if offsets is None else offsets, len(trunk), epsilon, *parts, hidden),
        *(KINDS[kind], len(expand) > hidden, offsets is not None, tuning.rows, tuning.columns),
        num_warps=tuning.warps,
        num_stages=tuning.stages,
    )


def attended(joint: Tensor, area: int, heads: int, kv_heads: int) -> Tensor:
    """Return the values that each query of a position gets, [R, heads * width].

    joint: [R, (heads + 2 * kv_heads) * width], the queries of each head, then the keys, then the values; R is a
    multiple of `area`, the points of a position.
    """
    width = joint.shape[1] // (heads + 2 * kv_heads)
    tuning = _attend_tuning(width)
    assert tuning is not None
    out = joint.new_empty((len(joint), heads * width))
    _attend[(triton.cdiv(area, tuning.rows), len(joint) // area * heads)](
        *(joint, out, _LOG2_E / math.sqrt(width), area, heads, kv_heads, width, tuning.rows, tuning.columns),
        num_warps=tuning.warps,
        num_stages=tuning.stages,
    )
    return out


def _is_power(number: int) -> bool:
    return number & (number - 1) == 0


def _parts(channels: int) -> tuple[int, int] | None:
    """Return two powers of two with the sum `channels`, the larger one first, or None."""
    most = 1 << (channels - 1).bit_length() - 1
    rest = channels - most
    return (most, rest) if _is_power(rest) and rest >= _LEAST and channels <= _MOST_CHANNELS else None


def _project_tuning(channels: int, outputs: int) -> Tuning | None:
    return _first(_PROJECT, outputs, lambda each: channels * (each.rows + each.stages * each.columns))


def _feed_tuning(channels: int, hidden: int) -> Tuning | None:
    return _first(_FEED, hidden, lambda each: channels * (each.rows + 3 * each.stages * each.columns))


def _attend_tuning(width: int) -> Tuning | None:
    return _first(_ATTEND, 0, lambda each: width * (each.rows + 2 * each.stages * each.columns))


def _first(tunings: Sequence[Tuning], columns: int, numbers: Callable[[Tuning], int]) -> Tuning | None:
    """Return the first tuning whose blocks divide `columns` and whose `numbers` fit into the shared memory."""
    fits = (each for each in tunings if columns % each.columns == 0 and _BYTES * numbers(each) <= _shared_memory())
    return next(fits, None)


@cache
def _shared_memory() -> int:
    """Return the bytes that a program can have for its blocks."""
    if not torch.cuda.is_available():
        return _SHARED_MEMORY - _SPARE
    found = torch.cuda.get_device_properties(torch.cuda.current_device())
    return int(getattr(found, "shared_memory_per_block_optin", _SHARED_MEMORY)) - _SPARE
