"""What a network computes at every point, as kernels for a GPU: each reads and writes its numbers once.

Functions are those of `engine.nets.torch_modules.pointwise`, which are also what they are tested against. Numbers are
computed in float32 whatever their type in memory.
"""

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.nets.spec import Activation

KINDS = {Activation.IDENTITY: 0, Activation.RELU: 1, Activation.MISH: 2, Activation.SILU: 3}
_BLOCK = 2048
"""Numbers of one program of a kernel; with `_WARPS` that is 8 for each thread, 16 bytes in fp16."""
_WARPS = 8
_ROW_BLOCK = 4096
"""Most numbers of a normalized row that are computed at a time."""
_LOG2_E = tl.constexpr(1.0 / math.log(2.0))
_LARGEST_POWER = tl.constexpr(20.0)
"""From here on mish(x) is x in float32, and exp(x)^2 is finite."""


@triton.jit  # type: ignore[untyped-decorator]
def activated(x, kind: tl.constexpr):  # type: ignore[no-untyped-def]
    if kind == 1:
        # `tl.maximum` would make NaN, by which an overflow is found, 0.
        x = tl.where(x < 0.0, 0.0, x)
    elif kind == 2:
        # tanh(log(1 + e^x)) as a fraction: (e^2x + 2 e^x) / (e^2x + 2 e^x + 2).
        power = tl.exp2(tl.minimum(x, _LARGEST_POWER) * _LOG2_E)
        fraction = power * (power + 2.0)
        x = x * (fraction / (fraction + 2.0))
    elif kind == 3:
        x = x / (1.0 + tl.exp2(x * -_LOG2_E))
    return x


@triton.jit  # type: ignore[untyped-decorator]
def _scale(points, out, norm, count, channels, kind: tl.constexpr, block: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
    here = at < count
    channel = (at % channels).to(tl.int32)
    x = tl.load(points + at, mask=here, other=0.0).to(tl.float32)
    x = x * tl.load(norm + channel) + tl.load(norm + channels + channel)
    tl.store(out + at, activated(x, kind).to(out.dtype.element_ty), mask=here)


@triton.jit  # type: ignore[untyped-decorator]
def _normalize(points, out, norm, epsilon, length, channels, kind: tl.constexpr, block: tl.constexpr):  # type: ignore[no-untyped-def]
    first = tl.program_id(0).to(tl.int64) * length
    squares = tl.zeros([block], tl.float32)
    for start in range(0, length, block):
        at = start + tl.arange(0, block)
        x = tl.load(points + first + at, mask=at < length, other=0.0).to(tl.float32)
        squares += x * x
    factor = tl.rsqrt(tl.sum(squares) / length + epsilon)
    for start in range(0, length, block):
        at = start + tl.arange(0, block)
        x = tl.load(points + first + at, mask=at < length, other=0.0).to(tl.float32)
        x = x * factor * tl.load(norm + at % channels) + tl.load(norm + channels + at % channels)
        tl.store(out + first + at, activated(x, kind).to(out.dtype.element_ty), mask=at < length)


@triton.jit  # type: ignore[untyped-decorator]
def _turn(rows, cosines, sines, count, stride, pairs, area, block: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
    here = at < count
    row, pair = at // pairs, at % pairs
    place = (row % area) * pairs + pair
    cosine, sine = tl.load(cosines + place, mask=here), tl.load(sines + place, mask=here)
    address = rows + row * stride + 2 * pair
    one, other = tl.load(address, mask=here).to(tl.float32), tl.load(address + 1, mask=here).to(tl.float32)
    tl.store(address, (one * cosine - other * sine).to(rows.dtype.element_ty), mask=here)
    tl.store(address + 1, (one * sine + other * cosine).to(rows.dtype.element_ty), mask=here)


@triton.jit  # type: ignore[untyped-decorator]
def _gate(rows, out, count, width, kind: tl.constexpr, block: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
    here = at < count
    address = rows + (at // width) * (2 * width) + at % width
    x = tl.load(address, mask=here, other=0.0).to(tl.float32)
    gate = tl.load(address + width, mask=here, other=0.0).to(tl.float32)
    tl.store(out + at, (activated(x, kind) * gate).to(out.dtype.element_ty), mask=here)


def scaled(points: Tensor, norm: Tensor, kind: Activation) -> Tensor:
    """See `pointwise.scaled`."""
    out, count = torch.empty_like(points), points.numel()
    _scale[(triton.cdiv(count, _BLOCK),)](
        points, out, norm, count, points.shape[-1], KINDS[kind], _BLOCK, num_warps=_WARPS
    )
    return out


def normalized(points: Tensor, norm: Tensor, epsilon: float, kind: Activation, *, spatial: bool) -> Tensor:
    """See `pointwise.normalized`."""
    out, channels = torch.empty_like(points), points.shape[-1]
    length = points[0].numel() if spatial else channels
    block = min(_ROW_BLOCK, triton.next_power_of_2(length))
    warps = max(1, block // 256)
    _normalize[(points.numel() // length,)](
        points, out, norm, epsilon, length, channels, KINDS[kind], block, num_warps=warps
    )
    return out


def turn(rows: Tensor, cosines: Tensor, sines: Tensor) -> None:
    """See `pointwise.turn`."""
    area, pairs = cosines.shape
    count = len(rows) * pairs
    _turn[(triton.cdiv(count, _BLOCK),)](
        rows, cosines, sines, count, rows.stride(0), pairs, area, _BLOCK, num_warps=_WARPS
    )


def gated(rows: Tensor, kind: Activation) -> Tensor:
    """See `pointwise.gated`."""
    width = rows.shape[1] // 2
    out = rows.new_empty((len(rows), width))
    count = out.numel()
    _gate[(triton.cdiv(count, _BLOCK),)](rows, out, count, width, KINDS[kind], _BLOCK, num_warps=_WARPS)
    return out
