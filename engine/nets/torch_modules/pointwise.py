"""What a network computes at every point between its products, one pass over memory on an NVIDIA GPU.

Here in PyTorch's operations, each of which is a pass; `triton_kernels` has the same functions in one pass each.
"""

import importlib.util
import logging
from types import ModuleType

import torch
from torch import Tensor
from torch.nn import functional

from engine.nets.layers import Activation

_LOG = logging.getLogger(__name__)
_ACTIVATIONS = {
    Activation.RELU: functional.relu,
    Activation.MISH: functional.mish,
    Activation.SILU: functional.silu,
}


def kernels(device: torch.device) -> ModuleType | None:
    """Return the module with kernels of these functions for a device, None if there is none that works."""
    if device.type != "cuda" or importlib.util.find_spec("triton") is None:
        return None
    try:
        from engine.nets.torch_modules import triton_kernels
    except ImportError as error:
        _LOG.warning("Triton cannot be loaded (%s): PyTorch's own operations compute, more slowly", error)
        return None
    return triton_kernels if compiles(triton_kernels, device) else None


def products(device: torch.device) -> ModuleType | None:
    """Return the module with kernels of whole blocks for numbers of 16 bits, None if there is none that works.

    device: one that has `kernels`.
    """
    from engine.nets.torch_modules import triton_products

    try:
        triton_products.check(device)
    except Exception as error:  # noqa: BLE001 - whatever is missing, products by PyTorch's operations are there
        line = str(error).strip().partition("\n")[0]
        _LOG.warning("Triton's products do not work here (%s): PyTorch's own compute, more slowly", line)
        return None
    return triton_products


def compiles(functions: ModuleType, device: torch.device) -> bool:
    """Return whether kernels can be compiled for a device: Triton needs the system's C compiler."""
    norm = torch.ones((2, 1), device=device)
    try:
        functions.scaled(norm, norm, Activation.RELU)
    except Exception as error:  # noqa: BLE001 - whatever is missing, PyTorch's own operations are there
        line = str(error).strip().partition("\n")[0]
        _LOG.warning("Triton cannot compile (%s): PyTorch's own operations compute, more slowly", line)
        return False
    return True


def scaled(points: Tensor, norm: Tensor, kind: Activation) -> Tensor:
    """Return activation(points * norm[0] + norm[1]) of points [..., channels] and float32 [2, channels]."""
    return _activated(points.float() * norm[0] + norm[1], kind).to(points.dtype)


def normalized(points: Tensor, norm: Tensor, epsilon: float, kind: Activation, *, spatial: bool) -> Tensor:
    """Return the activation of points [B, H, W, channels] divided by their root mean square, then scaled.

    The mean is that of each point or, if spatial, of each position. norm: as in `scaled`.
    """
    x = points.float()
    dimensions = (1, 2, 3) if spatial else (3,)
    x = x * torch.rsqrt(x.square().mean(dim=dimensions, keepdim=True) + epsilon)
    return _activated(x * norm[0] + norm[1], kind).to(points.dtype)


def turn(rows: Tensor, cosines: Tensor, sines: Tensor) -> None:
    """Rotate the first pairs of numbers of each row, in place.

    rows: [B * area, at least 2 * pairs], with any distance between rows. cosines, sines: float32 [area, pairs].
    """
    area, pairs = cosines.shape
    first = rows[:, : 2 * pairs].view(-1, area, 2 * pairs)
    one, other = first[..., 0::2].float(), first[..., 1::2].float()
    first[..., 0::2], first[..., 1::2] = one * cosines - other * sines, one * sines + other * cosines


def gated(rows: Tensor, kind: Activation) -> Tensor:
    """Return activation(first half) * second half of each row: [rows, 2 * width] to [rows, width]."""
    one, other = rows.float().chunk(2, dim=1)
    return (_activated(one, kind) * other).to(rows.dtype)


def _activated(x: Tensor, kind: Activation) -> Tensor:
    return x if kind is Activation.IDENTITY else _ACTIVATIONS[kind](x)
