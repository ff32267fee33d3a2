"""A network as data: its layers as frozen dataclasses of numpy arrays, and the checks on them.

Knows no framework and no file format. A loader turns a file into a `NetSpec`, a backend compiles a
`NetSpec`. A new kind of block or head is a new dataclass here, listed in `KINDS`, with its own
`check`; `weights.native` stores it without knowing it.

The default architecture is KataGo's. All arrays are float32. Points come in policy order. A pooled
vector of c channels over a board of `area` points, s = sqrt(area), is

    global pool (policy, blocks): [mean, mean * (s - 14) / 10, max]                             3c
    value pool:                   [mean, mean * (s - 14) / 10, mean * ((s - 14)^2 / 100 - 0.1)] 3c
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float32]

POOLS = 3
"""Values that either pool makes of one channel."""
MAX_SIDE = 25


class WeightsError(ValueError):
    """A network that cannot be used, and where it went wrong. The text is one line."""

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        layer: str | None = None,
        offset: int | None = None,
        expected: object = None,
        got: object = None,
    ) -> None:
        self.message, self.file, self.layer, self.offset = message, file, layer, offset
        self.expected, self.got = expected, got
        super().__init__(self._line())

    def _line(self) -> str:
        place = [str(part) for part in (self.file, self.layer) if part is not None]
        if self.offset is not None:
            place.append(f"byte {self.offset}")
        text = ": ".join([*place, self.message])
        if self.expected is not None:
            text += f", expected {self.expected}"
        if self.got is not None:
            text += f", got {self.got}"
        return " ".join(text.split())

    def in_file(self, file: str) -> "WeightsError":
        """Return the same error with the file named."""
        return WeightsError(
            self.message, file=file, layer=self.layer, offset=self.offset, expected=self.expected, got=self.got
        )


class Activation(StrEnum):
    """relu max(x, 0); mish x * tanh(log(1 + e^x)); silu x / (1 + e^-x)."""

    IDENTITY = "identity"
    RELU = "relu"
    MISH = "mish"
    SILU = "silu"


class ValueKind(StrEnum):
    """What the value head's result means.

    TANH: one number, the expected result after tanh.
    SOFTMAX: logits of win, loss and, if there are three, no result; value = P(win) - P(loss).
    """

    TANH = "tanh"
    SOFTMAX = "softmax"


@dataclass(frozen=True, eq=False)
class Conv:
    """Cross-correlation with zero padding and stride 1; weight [out, in, ky, kx], ky and kx odd."""

    weight: Array
    bias: Array | None = None

    @property
    def outputs(self) -> int:
        """Channels out."""
        return int(self.weight.shape[0])

    def check(self, path: str, inputs: int, outputs: int | None = None) -> int:
        """Raise WeightsError unless the shapes fit; return the channels out."""
        shape = self.weight.shape
        if len(shape) != 4 or shape[2] % 2 == 0 or shape[3] % 2 == 0 or min(shape) < 1:
            raise WeightsError("bad shape", layer=f"{path}.weight", expected="[out, in, odd, odd]", got=list(shape))
        wanted = (self.outputs if outputs is None else outputs, inputs, *shape[2:])
        _expect(f"{path}.weight", self.weight, wanted)
        _expect(f"{path}.bias", self.bias, (self.outputs,))
        return self.outputs


@dataclass(frozen=True, eq=False)
class Linear:
    """y = x . weight + bias; weight [in, out]."""

    weight: Array
    bias: Array | None = None

    @property
    def outputs(self) -> int:
        """Numbers out."""
        return int(self.weight.shape[-1])

    def check(self, path: str, inputs: int, outputs: int | None = None) -> int:
        """Raise WeightsError unless the shapes fit; return the numbers out."""
        if self.weight.ndim != 2 or min(self.weight.shape) < 1:
            raise WeightsError("bad shape", layer=f"{path}.weight", expected="[in, out]", got=list(self.weight.shape))
        _expect(f"{path}.weight", self.weight, (inputs, self.outputs if outputs is None else outputs))
        _expect(f"{path}.bias", self.bias, (self.outputs,))
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
            _expect(f"{path}.{name}", getattr(self, name), (channels,))
        if not self.epsilon > 0.0:
            raise WeightsError("bad epsilon", layer=path, expected="> 0", got=self.epsilon)
        if channels and float(self.variance.min()) < 0.0:
            raise WeightsError("negative variance", layer=f"{path}.variance", got=float(self.variance.min()))

    def affine(self) -> tuple[Array, Array]:
        """Return (k, b) such that the layer is k * x + b; computed in double."""
        k = 1.0 / np.sqrt(self.variance.astype(np.float64) + self.epsilon)
        if self.scale is not None:
            k = k * self.scale
        b = -k * self.mean
        if self.bias is not None:
            b = b + self.bias
        return k.astype(np.float32), b.astype(np.float32)


@dataclass(frozen=True, eq=False)
class ResidualBlock:
    """t += conv2(act2(norm2(conv1(act1(norm1(t))))))."""

    norm1: Norm
    conv1: Conv
    norm2: Norm
    conv2: Conv
    activation1: Activation = Activation.RELU
    activation2: Activation = Activation.RELU

    def check(self, path: str, channels: int) -> None:
        """Raise WeightsError unless the layers fit each other and a trunk of `channels`."""
        self.norm1.check(f"{path}.norm1", channels)
        middle = self.conv1.check(f"{path}.conv1", channels)
        self.norm2.check(f"{path}.norm2", middle)
        self.conv2.check(f"{path}.conv2", middle, channels)


@dataclass(frozen=True, eq=False)
class GlobalPoolBlock:
    """h = act1(norm1(t)); r = conv1(h) + global_pool(pool_act(pool_norm(pool_conv(h)))) . pool_bias;
    t += conv2(act2(norm2(r)))."""

    norm1: Norm
    conv1: Conv
    pool_conv: Conv
    pool_norm: Norm
    pool_bias: Linear
    norm2: Norm
    conv2: Conv
    activation1: Activation = Activation.RELU
    pool_activation: Activation = Activation.RELU
    activation2: Activation = Activation.RELU

    def check(self, path: str, channels: int) -> None:
        """Raise WeightsError unless the layers fit each other and a trunk of `channels`."""
        self.norm1.check(f"{path}.norm1", channels)
        regular = self.conv1.check(f"{path}.conv1", channels)
        pooled = self.pool_conv.check(f"{path}.pool_conv", channels)
        self.pool_norm.check(f"{path}.pool_norm", pooled)
        self.pool_bias.check(f"{path}.pool_bias", POOLS * pooled, regular)
        self.norm2.check(f"{path}.norm2", regular)
        self.conv2.check(f"{path}.conv2", regular, channels)


Block: TypeAlias = ResidualBlock | GlobalPoolBlock


@dataclass(frozen=True, eq=False)
class Stem:
    """t = conv(planes) + globals . globals_weight, the latter broadcast over the points."""

    conv: Conv
    globals: Linear | None = None


@dataclass(frozen=True, eq=False)
class Tip:
    """The end of the trunk: activation(norm(t))."""

    norm: Norm
    activation: Activation = Activation.RELU


@dataclass(frozen=True, eq=False)
class PolicyHead:
    """g = global_pool(pool_act(pool_norm(pool_conv(t)))); logits = conv2(act(norm(conv1(t) + g . pool_bias)));
    pass logit = pass_hidden, pass_activation and pass_linear of g (no hidden layer: pass_linear of g).

    Several output channels are alternative policies of which channel 0 is the plain one.
    """

    conv1: Conv
    pool_conv: Conv
    pool_norm: Norm
    pool_bias: Linear
    norm: Norm
    conv2: Conv
    pass_linear: Linear
    pass_hidden: Linear | None = None
    pool_activation: Activation = Activation.RELU
    activation: Activation = Activation.RELU
    pass_activation: Activation = Activation.RELU

    def check(self, path: str, channels: int) -> None:
        """Raise WeightsError unless the layers fit each other and a trunk of `channels`."""
        width = self.conv1.check(f"{path}.conv1", channels)
        pooled = self.pool_conv.check(f"{path}.pool_conv", channels)
        self.pool_norm.check(f"{path}.pool_norm", pooled)
        self.pool_bias.check(f"{path}.pool_bias", POOLS * pooled, width)
        self.norm.check(f"{path}.norm", width)
        policies = self.conv2.check(f"{path}.conv2", width)
        hidden = POOLS * pooled
        if self.pass_hidden is not None:
            hidden = self.pass_hidden.check(f"{path}.pass_hidden", hidden)
        self.pass_linear.check(f"{path}.pass_linear", hidden, policies)


@dataclass(frozen=True, eq=False)
class ValueHead:
    """v = act(norm(conv(t))); h = hidden_act(hidden(value_pool(v))); result, score = linear(h);
    ownership = tanh(ownership conv of v).

    score_lead: which of the score outputs is the expected lead of the side to move;
    score_scale: points that an output of 1 means.
    """

    meaning: ValueKind
    conv: Conv
    norm: Norm
    hidden: Linear
    result: Linear
    score: Linear | None = None
    ownership: Conv | None = None
    activation: Activation = Activation.RELU
    hidden_activation: Activation = Activation.RELU
    score_lead: int = 0
    score_scale: float = 20.0

    def check(self, path: str, channels: int) -> None:
        """Raise WeightsError unless the layers fit each other and a trunk of `channels`."""
        width = self.conv.check(f"{path}.conv", channels)
        self.norm.check(f"{path}.norm", width)
        hidden = self.hidden.check(f"{path}.hidden", POOLS * width)
        results = self.result.check(f"{path}.result", hidden)
        allowed = (1,) if self.meaning is ValueKind.TANH else (2, 3)
        if results not in allowed:
            wanted = " or ".join(map(str, allowed))
            raise WeightsError(
                f"wrong number of {self.meaning} results", layer=f"{path}.result", expected=wanted, got=results
            )
        if self.score is not None:
            scores = self.score.check(f"{path}.score", hidden)
            if not 0 <= self.score_lead < scores:
                raise WeightsError(
                    "score_lead out of range", layer=path, expected=f"0 to {scores - 1}", got=self.score_lead
                )
        if self.ownership is not None:
            self.ownership.check(f"{path}.ownership", width, 1)


@dataclass(frozen=True, eq=False)
class NetSpec:
    """One network.

    encoder: name in `engine.encoders.ENCODERS` of the inputs it was trained on.
    board_sizes: (smallest, largest) side of the boards it may be asked about.
    format, version: where the numbers come from and which revision of that format's meaning.
    provenance: free text by key: how the network came to be.
    """

    name: str
    encoder: str
    board_sizes: tuple[int, int]
    stem: Stem
    blocks: tuple[Block, ...]
    tip: Tip
    policy: PolicyHead
    value: ValueHead
    format: str = "keima"
    version: int = 1
    provenance: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def planes(self) -> int:
        """Input planes."""
        return int(self.stem.conv.weight.shape[1]) if self.stem.conv.weight.ndim == 4 else 0

    @property
    def globals(self) -> int:
        """Global inputs."""
        layer = self.stem.globals
        return int(layer.weight.shape[0]) if layer is not None and layer.weight.ndim == 2 else 0

    @property
    def channels(self) -> int:
        """Channels of the trunk."""
        return self.stem.conv.outputs


Node: TypeAlias = Conv | Linear | Norm | ResidualBlock | GlobalPoolBlock | Stem | Tip | PolicyHead | ValueHead | NetSpec

KINDS: Mapping[str, type[Node]] = MappingProxyType(
    {
        "net": NetSpec,
        "stem": Stem,
        "conv": Conv,
        "linear": Linear,
        "norm": Norm,
        "residual": ResidualBlock,
        "global_pool": GlobalPoolBlock,
        "tip": Tip,
        "policy": PolicyHead,
        "value": ValueHead,
    }
)
"""Every kind of node by the name it has in files. A name, once written, keeps its meaning."""


def tensors(node: object, path: str = "") -> Iterator[tuple[str, Array]]:
    """Yield every array below a node with its path, such as "blocks.0.conv1.weight", in field order."""
    if isinstance(node, np.ndarray):
        yield path, node
    elif isinstance(node, tuple):
        for index, child in enumerate(node):
            yield from tensors(child, f"{path}.{index}" if path else str(index))
    elif type(node) in KINDS.values():
        for entry in fields(node):  # type: ignore[arg-type]
            yield from tensors(getattr(node, entry.name), f"{path}.{entry.name}" if path else entry.name)


def describe(spec: NetSpec) -> list[tuple[str, tuple[int, ...], int]]:
    """Return one row an array: (layer, shape, parameters)."""
    return [(path, tuple(array.shape), int(array.size)) for path, array in tensors(spec)]


def parameters(spec: NetSpec) -> int:
    """Return the number of stored numbers."""
    return sum(size for _, _, size in describe(spec))


def validate(spec: NetSpec) -> NetSpec:
    """Return the spec itself. Raises WeightsError that names the first layer which does not fit."""
    smallest, largest = spec.board_sizes
    if not 1 <= smallest <= largest <= MAX_SIDE:
        raise WeightsError("bad board_sizes", expected=f"1 <= smallest <= largest <= {MAX_SIDE}", got=spec.board_sizes)
    for path, array in tensors(spec):
        if array.dtype != np.float32:
            raise WeightsError("bad type", layer=path, expected="float32", got=array.dtype)
        if not np.isfinite(array).all():
            index = int(np.flatnonzero(~np.isfinite(array))[0])
            raise WeightsError(f"value {index} is not finite", layer=path, got=float(array.flat[index]))
    channels = spec.stem.conv.check("stem.conv", spec.planes)
    if spec.stem.globals is not None:
        spec.stem.globals.check("stem.globals", spec.globals, channels)
    for index, block in enumerate(spec.blocks):
        block.check(f"blocks.{index}", channels)
    spec.tip.norm.check("tip.norm", channels)
    spec.policy.check("policy", channels)
    spec.value.check("value", channels)
    return spec


def _expect(path: str, array: Array | None, shape: tuple[int, ...]) -> None:
    if array is not None and array.shape != shape:
        raise WeightsError("wrong shape", layer=path, expected=list(shape), got=list(array.shape))
