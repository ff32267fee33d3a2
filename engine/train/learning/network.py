"""Trainable networks: converts a `NetSpec` to a torch module with an additional head, and back.

The additional head predicts the opponent's reply, which makes the trunk learn faster (Wu 2019, section 4.1); it is
never written to a network file. Parameters that a network file lacks, such as the scale of a norm, are not trained:
the architecture remains the file's. Knows neither data nor loss.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal, NamedTuple, TypeVar, cast

import numpy as np
import torch
from torch import Tensor, nn

from engine.encoders import ENCODERS
from engine.evaluation.positions import METADATA
from engine.nets.random import Layers, random_agz_spec, random_policy_head, random_spec
from engine.nets.spec import (
    Activation,
    Array,
    AttentionBlock,
    Conv,
    DenseValueHead,
    Linear,
    MetadataEncoder,
    NetSpec,
    Norm,
    PolicyHead,
    RmsNorm,
    Score,
    ValueHead,
    ValueKind,
    WeightsError,
    validate,
)
from engine.nets.torch_modules.model import Outputs, TorchModel, TorchPolicy
from engine.train.learning.auxiliary import REPLY_CHANNELS, Auxiliary, AuxiliaryHeads, Extra

DEFAULT_SCORES = (Score.MEAN, Score.STDEV, Score.LEAD)
LEARNED_SCORES = {*DEFAULT_SCORES, Score.BOARD_MEAN, Score.VALUE_ERROR, Score.SCORE_ERROR}
Norms = Literal["auto", "batch", "fixed"]
Node = TypeVar("Node")


class Predictions(NamedTuple):
    """The predictions for B positions: the network's outputs, logits [B, area + 1] of the reply, and auxiliary ones."""

    outputs: Outputs
    reply: Tensor
    auxiliary: Auxiliary


def default_spec(
    blocks: int = 6,
    channels: int = 96,
    seed: int = 1,
    encoder: str = "katago-v7",
    *,
    board_sizes: tuple[int, int] = (2, 25),
    transformer: bool = False,
) -> NetSpec:
    """Return Keima's default architecture with random weights: KataGo's, so that it can be written in KataGo's format.

    The value is win, loss and no result; the score has mean, deviation and lead. Every third block has global pooling;
    a transformer has none, and uses SiLU.
    Raises WeightsError on an unknown encoder.
    """
    spec = random_spec(
        blocks,
        channels,
        _encoder(encoder),
        seed,
        transformer=transformer,
        activation=Activation.SILU if transformer else Activation.RELU,
        value=ValueKind.SOFTMAX,
        scores=DEFAULT_SCORES,
        board_sizes=board_sizes,
    )
    name = f"keima-{'t' if transformer else 'b'}{blocks}c{channels}"
    return replace(spec, name=name, provenance={"made by": "default_spec", "seed": str(seed)})


def agz_spec(blocks: int, channels: int, seed: int, encoder: str, size: int) -> NetSpec:
    """Return AlphaGo Zero's architecture with random weights. Raises WeightsError on an unknown encoder."""
    return random_agz_spec(blocks, channels, _encoder(encoder), seed, size)


def human_spec(spec: NetSpec, seed: int) -> NetSpec:
    """Return a network with an encoder of the players, as KataGo's human networks have, that adds nothing yet.

    Its two hidden layers are random and as wide as the trunk; the last one is zero, and is the first to learn. A
    network that has an encoder is returned as it is. The optimistic policy is not used, as in KataGo.
    """
    if spec.metadata:
        return spec
    layers, channels = Layers(np.random.default_rng(seed), Activation.SILU), spec.channels
    first, second = layers.linear(METADATA, channels), layers.linear(channels, channels)
    last = Linear(np.zeros((channels, channels), np.float32))
    encoder = MetadataEncoder(first, second, last, layers.activation, layers.activation)
    policy = replace(spec.policy, optimistic=0) if isinstance(spec.policy, PolicyHead) else spec.policy
    return validate(replace(spec, stem=replace(spec.stem, metadata=encoder), policy=policy))


def _encoder(name: str) -> Any:
    if name not in ENCODERS:
        raise WeightsError("unknown encoder", expected=" ".join(ENCODERS), got=name)
    return ENCODERS[name]


class TrainableNet(nn.Module):
    """A network in training. Parameters are named by their paths in the spec, below `model`.

    freeze_trunk: train only the heads, and update only their norms' statistics.
    norms: "fixed" keeps all statistics, so that norms are affine maps; "auto" fixes the norms of a foreign network
        that have no statistics (mean 0 and the same variance everywhere): KataGo's newer networks train without them.
    seed: of the reply head and the auxiliary ones. extra: the auxiliary heads.
    Raises WeightsError on a network that cannot be trained on samples.
    """

    def __init__(
        self,
        spec: NetSpec,
        *,
        freeze_trunk: bool = False,
        norms: Norms = "auto",
        seed: int = 1,
        extra: Extra = Extra(),  # noqa: B008 - an immutable tuple
    ) -> None:
        super().__init__()
        if isinstance(spec.value, DenseValueHead) and spec.value.black_view:
            raise WeightsError("samples have the mover's outcome", layer="value", expected="its view", got="Black's")
        self.spec = spec
        self.model = TorchModel(spec)
        self.reply = TorchPolicy(random_policy_head(spec.channels, REPLY_CHANNELS, seed))
        self.auxiliary = AuxiliaryHeads(spec.channels, extra, seed)
        self._fixed = [
            cast(nn.BatchNorm2d, self.model.get_submodule(path))
            for path, norm in _norms(spec)
            if norms == "fixed"
            or (norms == "auto" and _lacks_statistics(spec, norm))
            or (freeze_trunk and _in_trunk(path))
        ]
        for name, parameter in self.model.named_parameters():
            parameter.requires_grad_(self._learns(name) and not (freeze_trunk and _in_trunk(name)))

    def forward(self, planes: Tensor, globals_: Tensor) -> Predictions:
        """Compute all heads; the arguments are those of `TorchModel.forward`."""
        trunk = self.model.trunk(planes, globals_)
        outputs = Outputs(self.model.policy(trunk), *self.model.value(trunk))
        return Predictions(outputs, self.reply(trunk)[:, 0], self.auxiliary(trunk))

    def twin(self) -> "TrainableNet":
        """Return a copy of the network on the same device that is not trained."""
        other = TrainableNet(self.spec, extra=self.auxiliary.extra).to(
            self.reply.conv1.weight.device, memory_format=torch.channels_last
        )  # type: ignore[call-overload]
        other.load_state_dict(self.state_dict())
        return cast(TrainableNet, other.requires_grad_(False).eval())

    def train(self, mode: bool = True) -> "TrainableNet":
        """Set the training mode of all modules except fixed norms, which stay in evaluation mode."""
        super().train(mode)
        for module in self._fixed:
            module.eval()
        return self

    def _learns(self, name: str) -> bool:
        """True if the network file can store a parameter and some target depends on it."""
        path, _, entry = name.rpartition(".")
        if isinstance(self.model.get_submodule(path), nn.BatchNorm2d):
            norm = node_at(self.spec, path)
            assert isinstance(norm, Norm)
            return (norm.scale if entry == "weight" else norm.bias) is not None
        return path != "value.score" or bool(LEARNED_SCORES & set(self.spec.scores))

    def parameter_groups(self, weight_decay: float) -> list[dict[str, Any]]:
        """Return the trainable parameters in two groups: those with weight decay and those without.

        Norms, biases and rotary embeddings have no decay, nor do layers of which some outputs have no target: decay
        would change those outputs although nothing trains them.
        """
        kept = {"model.value.score.weight"} if set(self.spec.scores) - LEARNED_SCORES else set()
        if self.spec.policy.policies > 1:
            kept |= {"model.policy.conv2.weight", "model.policy.pass_linear.weight"}
        learning = {name: each for name, each in self.named_parameters() if each.requires_grad}
        kept |= {name for name in learning if name.endswith(".rope")}
        decayed = {name for name, each in learning.items() if each.ndim > 1 and name not in kept}
        return [
            {"params": [each for name, each in learning.items() if (name in decayed) is decays], "weight_decay": decay}
            for decays, decay in ((True, weight_decay), (False, 0.0))
        ]

    def to_spec(self, name: str | None = None, provenance: Mapping[str, str] | None = None) -> NetSpec:
        """Return the current network without the reply head. Raises WeightsError on weights that are not finite."""
        spec = cast(NetSpec, _rebuilt(self.spec, "", self.model))
        return validate(
            replace(
                spec,
                name=self.spec.name if name is None else name,
                provenance=dict(self.spec.provenance if provenance is None else provenance),
            )
        )


def node_at(spec: NetSpec, path: str) -> object:
    """Return the node of a spec at a path such as "blocks.0.norm1"."""
    node: Any = spec
    for part in path.split("."):
        node = node[int(part)] if part.isdecimal() else getattr(node, part)
    return node


def _in_trunk(path: str) -> bool:
    return path.split(".")[0] not in ("policy", "value")


def _norms(node: object, path: str = "") -> list[tuple[str, Norm]]:
    """Return the norms with statistics below a node, with their paths."""
    if isinstance(node, Norm):
        return [(path, node)]
    if isinstance(node, tuple):
        children = [(str(index), child) for index, child in enumerate(node)]
    elif is_dataclass(node):
        children = [(field.name, getattr(node, field.name)) for field in fields(node)]
    else:
        return []
    return [found for name, child in children for found in _norms(child, f"{path}.{name}" if path else name)]


def _lacks_statistics(spec: NetSpec, norm: Norm) -> bool:
    return spec.format != "keima" and not norm.mean.any() and bool((norm.variance == norm.variance[0]).all())


def _rebuilt(node: Any, path: str, model: nn.Module) -> Any:
    """Return a copy of a spec's node with the arrays of the module at the same path."""
    if isinstance(node, tuple):
        return tuple(_rebuilt(child, f"{path}.{index}", model) for index, child in enumerate(node))
    if isinstance(node, Conv | Linear | Norm | RmsNorm):
        return _layer(node, model.get_submodule(path))
    if not is_dataclass(node) or isinstance(node, type):
        return node
    prefix = f"{path}." if path else ""
    changes = {each.name: _rebuilt(getattr(node, each.name), prefix + each.name, model) for each in fields(node)}
    if isinstance(node, AttentionBlock) and node.rope is not None:
        changes["rope"] = _array(cast(Tensor, model.get_submodule(path).rope))
    return replace(node, **changes)


def _layer(layer: Conv | Linear | Norm | RmsNorm, module: Any) -> Conv | Linear | Norm | RmsNorm:
    """Return a layer with a module's arrays; arrays that the layer lacks stay absent."""
    bias = None if layer.bias is None else _array(module.bias)
    match layer:
        case Linear():
            # torch stores [outputs, inputs], a spec [inputs, outputs].
            return replace(layer, weight=np.ascontiguousarray(_array(module.weight).T), bias=bias)
        case Norm():
            scale = None if layer.scale is None else _array(module.weight)
            mean, variance = _array(module.running_mean), _array(module.running_var)
            return replace(layer, mean=mean, variance=variance, scale=scale, bias=bias)
        case Conv() | RmsNorm():
            return replace(layer, weight=_array(module.weight), bias=bias)


def _array(tensor: Tensor) -> Array:
    """Copy a tensor to a C-contiguous array: convolution weights are channels-last on the device."""
    return np.array(tensor.detach().to("cpu", torch.float32).numpy(), order="C")


def result_kind(spec: NetSpec) -> ValueKind:
    """Return the meaning of the value head's result."""
    return spec.value.meaning if isinstance(spec.value, ValueHead) else ValueKind.TANH
