"""The layers of networks as frozen dataclasses of float32 arrays, with checks of their shapes.

Also defines `WeightsError`, the error of everything that reads or checks networks.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float32]


# Names in files, and what zipfile says of a damaged one, may be 64 KiB long.
_LONGEST_PART = 300


def _bounded(part: object) -> str | None:
    """Return a part of an error message, shortened in its middle if it is too long."""
    text = None if part is None else str(part)
    if text is None or len(text) <= _LONGEST_PART:
        return text
    return f"{text[: _LONGEST_PART // 2]} ... {text[-_LONGEST_PART // 2 :]}"


class WeightsError(ValueError):
    """A network that cannot be used, with the place of the error. The message is one line, each part of it bounded."""

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        layer: str | None = None,
        offset: int | None = None,
        expected: object = None,
        got: object = None,
        damaged: bool = False,
        size: int | None = None,
    ) -> None:
        """damaged: the file is incomplete, or was changed after it was written. size: its length in bytes, if known."""
        self.message, self.file, self.layer, self.offset = message, file, layer, offset
        self.expected, self.got, self.damaged, self.size = expected, got, damaged, size
        super().__init__(self._line())

    def _line(self) -> str:
        damage = f"damaged or incomplete ({self.size:,} bytes)" if self.damaged and self.size is not None else None
        place = [part for part in (self.file, damage, _bounded(self.layer)) if part is not None]
        if self.offset is not None:
            place.append(f"byte {self.offset}")
        text = ": ".join([*place, str(_bounded(self.message))])
        if self.expected is not None:
            text += f", expected {_bounded(self.expected)}"
        if self.got is not None:
            text += f", got {_bounded(self.got)}"
        return " ".join(text.split())

    def in_file(self, file: str, size: int | None = None) -> "WeightsError":
        """Return the same error with the name of the file and, if known, its length in bytes."""
        return WeightsError(
            self.message,
            file=file,
            layer=self.layer,
            offset=self.offset,
            expected=self.expected,
            got=self.got,
            damaged=self.damaged,
            size=size,
        )


class Activation(StrEnum):
    """Activation functions: relu max(x, 0); mish x * tanh(log(1 + e^x)); silu x / (1 + e^-x)."""

    IDENTITY = "identity"
    RELU = "relu"
    MISH = "mish"
    SILU = "silu"


@dataclass(frozen=True, eq=False)
class Conv:
    """Cross-correlation with zero padding and stride 1; weight [out, in, ky, kx], ky and kx odd."""

    weight: Array
    bias: Array | None = None

    @property
    def outputs(self) -> int:
        """Number of output channels."""
        return int(self.weight.shape[0])

    def check(self, path: str, inputs: int, outputs: int | None = None) -> int:
        """Raise WeightsError unless the shapes fit; return the number of output channels."""
        shape = self.weight.shape
        if len(shape) != 4 or shape[2] % 2 == 0 or shape[3] % 2 == 0 or min(shape) < 1:
            raise WeightsError("bad shape", layer=f"{path}.weight", expected="[out, in, odd, odd]", got=list(shape))
        wanted = (self.outputs if outputs is None else outputs, inputs, *shape[2:])
        expect_shape(f"{path}.weight", self.weight, wanted)
        expect_shape(f"{path}.bias", self.bias, (self.outputs,))
        return self.outputs


@dataclass(frozen=True, eq=False)
class Linear:
    """y = x . weight + bias; weight [in, out]."""

    weight: Array
    bias: Array | None = None

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return int(self.weight.shape[-1])

    def check(self, path: str, inputs: int, outputs: int | None = None) -> int:
        """Raise WeightsError unless the shapes fit; return the number of outputs."""
        if self.weight.ndim != 2 or min(self.weight.shape) < 1:
            raise WeightsError("bad shape", layer=f"{path}.weight", expected="[in, out]", got=list(self.weight.shape))
        expect_shape(f"{path}.weight", self.weight, (inputs, self.outputs if outputs is None else outputs))
        expect_shape(f"{path}.bias", self.bias, (self.outputs,))
        return self.outputs


@dataclass(frozen=True, eq=False)
class Norm:
    """y = (x - mean) * scale / sqrt(variance + epsilon) + bias, per channel."""

    mean: Array
    variance: Array
    scale: Array | None = None
    bias: Array | None = None
    epsilon: float = 1e-5

    def check(self, path: str, channels: int) -> None:
        """Raise WeightsError unless every array has one entry a channel and no variance is negative."""
        for name in ("mean", "variance", "scale", "bias"):
            expect_shape(f"{path}.{name}", getattr(self, name), (channels,))
        if not self.epsilon > 0.0:
            raise WeightsError("bad epsilon", layer=path, expected="> 0", got=self.epsilon)
        if channels and float(self.variance.min()) < 0.0:
            raise WeightsError("negative variance", layer=f"{path}.variance", got=float(self.variance.min()))

    def affine(self) -> tuple[Array, Array]:
        """Return (k, b) such that the layer is k * x + b; computed in float64."""
        k = 1.0 / np.sqrt(self.variance.astype(np.float64) + self.epsilon)
        if self.scale is not None:
            k = k * self.scale
        b = -k * self.mean
        if self.bias is not None:
            b = b + self.bias
        return k.astype(np.float32), b.astype(np.float32)


@dataclass(frozen=True, eq=False)
class RmsNorm:
    """y = x * weight / sqrt(mean(x^2) + epsilon) + bias, per channel (Zhang and Sennrich 2019).

    spatial: the mean is over all channels and all points of a position, otherwise over the channels of each point.
    """

    weight: Array
    bias: Array | None = None
    epsilon: float = 1e-6
    spatial: bool = False

    def check(self, path: str, channels: int) -> None:
        """Raise WeightsError unless every array has one entry a channel."""
        expect_shape(f"{path}.weight", self.weight, (channels,))
        expect_shape(f"{path}.bias", self.bias, (channels,))
        if not self.epsilon > 0.0:
            raise WeightsError("bad epsilon", layer=path, expected="> 0", got=self.epsilon)


def expect_shape(path: str, array: Array | None, shape: tuple[int, ...]) -> None:
    """Raise WeightsError if the array is not None and has another shape."""
    if array is not None and array.shape != shape:
        raise WeightsError("wrong shape", layer=path, expected=list(shape), got=list(array.shape))
