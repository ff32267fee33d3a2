"""A network as data: its layers as frozen dataclasses of numpy arrays, with checks.

Independent of frameworks and file formats: a loader turns a file into a `NetSpec`, a backend compiles a `NetSpec`. A
new kind of block or head is a new dataclass in `engine.nets.blocks` or `engine.nets.heads` with a `check` method,
listed in `KINDS`; `weights.native` stores it without changes, but every backend must know it (CONTRIBUTING.md).

The default architecture is KataGo's. All arrays are float32. Points are in policy order. A pooled vector of c channels
over a board of `area` points, with s = sqrt(area), is

    global pool (policy, blocks): [mean, mean * (s - 14) / 10, max]                             3c
    value pool:                   [mean, mean * (s - 14) / 10, mean * ((s - 14)^2 / 100 - 0.1)] 3c
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from engine.nets.blocks import (
    POOLS,
    AttentionBlock,
    Block,
    FeedForwardBlock,
    GlobalPoolBlock,
    NestedBottleneckBlock,
    PostActivationBlock,
    ResidualBlock,
    all_blocks,
)
from engine.nets.heads import (
    DensePolicyHead,
    DenseValueHead,
    ErrorForm,
    PolicyHead,
    Scales,
    Score,
    ValueHead,
    ValueKind,
)
from engine.nets.layers import Activation, Array, Conv, Linear, Norm, RmsNorm, WeightsError

__all__ = [
    "KINDS",
    "MAX_SIDE",
    "POOLS",
    "Activation",
    "Array",
    "AttentionBlock",
    "Block",
    "Conv",
    "DensePolicyHead",
    "DenseValueHead",
    "ErrorForm",
    "FeedForwardBlock",
    "GlobalPoolBlock",
    "Linear",
    "MetadataEncoder",
    "NestedBottleneckBlock",
    "NetSpec",
    "Norm",
    "PolicyHead",
    "PostActivationBlock",
    "ResidualBlock",
    "RmsNorm",
    "Scales",
    "Score",
    "Stem",
    "Tip",
    "ValueHead",
    "ValueKind",
    "WeightsError",
    "all_blocks",
    "describe",
    "parameters",
    "tensors",
    "validate",
]

MAX_SIDE = 25


@dataclass(frozen=True, eq=False)
class MetadataEncoder:
    """m = linear3(act2(linear2(act1(linear1(metadata))))): input about the players, for human networks."""

    linear1: Linear
    linear2: Linear
    linear3: Linear
    activation1: Activation = Activation.RELU
    activation2: Activation = Activation.RELU

    def check(self, path: str, channels: int) -> None:
        """Raise WeightsError unless the layers fit each other and a trunk of `channels`."""
        width = self.linear1.check(f"{path}.linear1", self.linear1.weight.shape[0])
        width = self.linear2.check(f"{path}.linear2", width)
        self.linear3.check(f"{path}.linear3", width, channels)


@dataclass(frozen=True, eq=False)
class Stem:
    """t = activation(norm(conv(planes) + globals + metadata)), the latter two broadcast over the points.

    Without a norm the activation must be the identity.
    """

    conv: Conv
    globals: Linear | None = None
    metadata: MetadataEncoder | None = None
    norm: Norm | None = None
    activation: Activation = Activation.IDENTITY

    def check(self, path: str, planes: int, globals_: int) -> int:
        """Raise WeightsError unless the layers fit each other; return the channels of the trunk."""
        channels = self.conv.check(f"{path}.conv", planes)
        if self.globals is not None:
            self.globals.check(f"{path}.globals", globals_, channels)
        if self.metadata is not None:
            self.metadata.check(f"{path}.metadata", channels)
        if self.norm is not None:
            self.norm.check(f"{path}.norm", channels)
        elif self.activation is not Activation.IDENTITY:
            raise WeightsError("activation without a norm", layer=path, expected="identity", got=self.activation)
        return channels


@dataclass(frozen=True, eq=False)
class Tip:
    """The end of the trunk: activation(norm(t))."""

    norm: Norm | RmsNorm
    activation: Activation = Activation.RELU


WEAKEST_PEOPLE, FLATTER_BELOW = PEOPLE = ("weakest people", "flatter below")
"""Entries of a human network's provenance that count (`engine.settings.levels.KnownPeople`), ranks such as `10k`."""
ORIGIN = "origin"
"""Entry of the provenance of a run's networks: the network that was given to the first of a chain of runs."""
SEED = "seed"
"""Entry of the provenance of networks with random weights that have learned nothing yet."""


@dataclass(frozen=True, eq=False)
class NetSpec:
    """One network.

    encoder: its input format, a name in `engine.encoders.ENCODERS`.
    board_sizes: smallest and largest side of the boards that it supports.
    tip: None if the trunk ends with its last block.
    format, version: the file format that it comes from, and the version of that format.
    provenance: free text by key about the origin of the network; but see PEOPLE and SEED.
    """

    name: str
    encoder: str
    board_sizes: tuple[int, int]
    stem: Stem
    blocks: tuple[Block, ...]
    tip: Tip | None
    policy: PolicyHead | DensePolicyHead
    value: ValueHead | DenseValueHead
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
    def metadata(self) -> int:
        """Number of inputs about the players, which follow the global inputs."""
        layer = self.stem.metadata
        return int(layer.linear1.weight.shape[0]) if layer is not None and layer.linear1.weight.ndim == 2 else 0

    @property
    def channels(self) -> int:
        """Channels of the trunk."""
        return self.stem.conv.outputs

    @property
    def scores(self) -> tuple[Score, ...]:
        """The meaning of each score output; empty for a network without a score."""
        return self.value.scores if isinstance(self.value, ValueHead) else ()

    @property
    def has_ownership(self) -> bool:
        """True if the network has an ownership output."""
        return isinstance(self.value, ValueHead) and self.value.ownership is not None


Node: TypeAlias = (
    Conv
    | Linear
    | Norm
    | RmsNorm
    | Block
    | MetadataEncoder
    | Stem
    | Tip
    | PolicyHead
    | DensePolicyHead
    | Scales
    | ValueHead
    | DenseValueHead
    | NetSpec
)

KINDS: Mapping[str, type[Node]] = MappingProxyType(
    {
        "net": NetSpec,
        "stem": Stem,
        "metadata": MetadataEncoder,
        "conv": Conv,
        "linear": Linear,
        "norm": Norm,
        "rms_norm": RmsNorm,
        "residual": ResidualBlock,
        "global_pool": GlobalPoolBlock,
        "nested_bottleneck": NestedBottleneckBlock,
        "attention": AttentionBlock,
        "feed_forward": FeedForwardBlock,
        "post_activation": PostActivationBlock,
        "tip": Tip,
        "policy": PolicyHead,
        "dense_policy": DensePolicyHead,
        "scales": Scales,
        "value": ValueHead,
        "dense_value": DenseValueHead,
    }
)
"""Every kind of node by its name in files. A name keeps its meaning once files with it exist."""


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
    """Return (layer, shape, parameters) for each array."""
    return [(path, tuple(array.shape), int(array.size)) for path, array in tensors(spec)]


def parameters(spec: NetSpec) -> int:
    """Return the total number of weights."""
    return sum(size for _, _, size in describe(spec))


def validate(spec: NetSpec) -> NetSpec:
    """Check a network and return it. Raises WeightsError, naming the first layer with an error."""
    smallest, largest = spec.board_sizes
    if not 1 <= smallest <= largest <= MAX_SIDE:
        raise WeightsError("bad board_sizes", expected=f"1 <= smallest <= largest <= {MAX_SIDE}", got=spec.board_sizes)
    for path, array in tensors(spec):
        if array.dtype != np.float32:
            raise WeightsError("bad type", layer=path, expected="float32", got=array.dtype)
        # Infinite or undefined weights of a damaged file would otherwise show only as NaN in a game.
        if not np.isfinite(array).all():
            index = int(np.flatnonzero(~np.isfinite(array))[0])
            raise WeightsError(f"value {index} is not finite", layer=path, got=float(array.flat[index]))
    channels = spec.stem.check("stem", spec.planes, spec.globals)
    for index, block in enumerate(spec.blocks):
        block.check(f"blocks.{index}", channels)
    if spec.tip is not None:
        spec.tip.norm.check("tip.norm", channels)
    for path, head in (("policy", spec.policy), ("value", spec.value)):
        if isinstance(head, DensePolicyHead | DenseValueHead):
            if smallest != largest:
                raise WeightsError("a dense head fits one board size", layer=path, got=spec.board_sizes)
            head.check(path, channels, largest * largest)
        else:
            head.check(path, channels)
    return spec
