"""A `NetSpec` as a torch module, for inference and training.

Module names follow the paths of the spec. Planes are [B, planes, H, W].
"""

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from engine.nets.spec import DensePolicyHead, DenseValueHead, NetSpec, PolicyHead, Stem, Tip, ValueHead
from engine.nets.torch_modules.blocks import torch_block
from engine.nets.torch_modules.layers import (
    Fusible,
    PointLinear,
    TorchMetadataEncoder,
    activation,
    broadcast,
    conv,
    fused,
    global_pool,
    linear,
    norm,
    scale,
    value_pool,
)


class Outputs(NamedTuple):
    """Raw outputs for B positions from the view of the side to move; all float32.

    policy: [B, policies, area + 1] logits, pass last. result: [B, 1..3] before tanh or softmax.
    score: [B, scores]. ownership: [B, area] before tanh. The last two are empty, [B, 0], if the network does not have
    them.
    """

    policy: Tensor
    result: Tensor
    score: Tensor
    ownership: Tensor


class TorchModel(nn.Module):
    """The network, with copies of the spec's weights."""

    def __init__(self, spec: NetSpec) -> None:
        super().__init__()
        self.stem = _Stem(spec.stem, spec.globals)
        self.blocks = nn.ModuleList(torch_block(block) for block in spec.blocks)
        self.tip = None if spec.tip is None else _Tip(spec.tip)
        head, value = spec.policy, spec.value
        self.policy = TorchPolicy(head) if isinstance(head, PolicyHead) else _DensePolicy(head)
        self.value = _Value(value) if isinstance(value, ValueHead) else _DenseValue(value)

    def forward(self, planes: Tensor, globals_: Tensor) -> Outputs:
        """Compute all heads.

        planes: [B, planes, H, W] in the model's own precision. globals_: [B, globals + metadata] float32.
        """
        trunk = self.trunk(planes, globals_)
        return Outputs(self.policy(trunk), *self.value(trunk))

    def trunk(self, planes: Tensor, globals_: Tensor) -> Tensor:
        """Return the input of the heads, [B, channels, H, W]. Arguments are those of `forward`."""
        trunk = self.stem(planes, globals_)
        for block in self.blocks:
            trunk = block(trunk)
        return trunk if self.tip is None else cast(Tensor, self.tip(trunk))

    def fused(self, dtype: torch.dtype) -> "TorchModel":
        """Prepare for inference and return self: fold norms into the convolutions before them.

        Convolutions and point-wise layers then compute in `dtype`; pooled vectors, the layers on them, and all outputs
        stay float32. The model cannot be trained afterwards.
        """
        self.eval()
        for part in (self.stem, *self.blocks, self.policy, self.value):
            cast(Fusible, part).fuse()
        return self.computing(dtype)

    def computing(self, dtype: torch.dtype) -> "TorchModel":
        """Compute convolutions and point-wise layers in `dtype` from now on, without training; return self."""
        self.eval()
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.BatchNorm2d | PointLinear):
                module.to(dtype=dtype)
        return self.requires_grad_(False).to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


class _Stem(Fusible):
    NORMS = (("norm", "activation"),)

    def __init__(self, stem: Stem, split: int) -> None:
        super().__init__()
        self.conv, self.split = conv(stem.conv), split
        self.globals = None if stem.globals is None else linear(stem.globals)
        self.metadata = None if stem.metadata is None else TorchMetadataEncoder(stem.metadata)
        self.norm = nn.Identity() if stem.norm is None else norm(stem.norm)
        self.activation = activation(stem.activation)

    def forward(self, planes: Tensor, globals_: Tensor) -> Tensor:
        trunk = self.conv(planes)
        if self.globals is not None:
            trunk = trunk + broadcast(self.globals(globals_[:, : self.split]), trunk)
        if self.metadata is not None:
            trunk = trunk + broadcast(self.metadata(globals_[:, self.split :]), trunk)
        return cast(Tensor, self.activation(self.norm(trunk)))

    def fuse(self) -> None:
        if isinstance(self.norm, nn.Identity):
            return
        if self.globals is not None:
            scale(self.globals, self.norm)
        if self.metadata is not None:
            scale(self.metadata.linear3, self.norm)
        self.conv, self.norm = fused(self.conv, self.norm)


class _Tip(Fusible):
    NORMS = (("norm", "activation"),)

    def __init__(self, tip: Tip) -> None:
        super().__init__()
        self.norm, self.activation = norm(tip.norm), activation(tip.activation)

    def forward(self, trunk: Tensor) -> Tensor:
        return cast(Tensor, self.activation(self.norm(trunk)))

    def fuse(self) -> None:
        """Do nothing: there is no convolution before the norm."""


class TorchPolicy(Fusible):
    """A `PolicyHead`: [B, channels, H, W] of the trunk to [B, policies, area + 1] logits."""

    NORMS = (("norm", "activation"), ("pool_norm", "pool_activation"))

    def __init__(self, head: PolicyHead) -> None:
        super().__init__()
        self.conv1, self.norm, self.activation = conv(head.conv1), norm(head.norm), activation(head.activation)
        self.pool_conv, self.pool_norm = conv(head.pool_conv), norm(head.pool_norm)
        self.pool_activation, self.pool_bias = activation(head.pool_activation), linear(head.pool_bias)
        self.conv2, self.pass_linear = conv(head.conv2), linear(head.pass_linear)
        self.pass_hidden = None if head.pass_hidden is None else linear(head.pass_hidden)
        self.pass_activation = activation(head.pass_activation)

    def forward(self, trunk: Tensor) -> Tensor:
        """Compute the logits."""
        pooled = global_pool(self.pool_activation(self.pool_norm(self.pool_conv(trunk))))
        points = self.conv1(trunk)
        points = points + broadcast(self.pool_bias(pooled), points)
        points = self.conv2(self.activation(self.norm(points))).float().flatten(2)
        if self.pass_hidden is not None:
            pooled = self.pass_activation(self.pass_hidden(pooled))
        return torch.cat([points, self.pass_linear(pooled).unsqueeze(2)], dim=2)

    def fuse(self) -> None:
        """Fold norms into the convolutions before them."""
        self.pool_conv, self.pool_norm = fused(self.pool_conv, self.pool_norm)
        scale(self.pool_bias, self.norm)
        self.conv1, self.norm = fused(self.conv1, self.norm)


class _PointsHead(Fusible):
    """What heads without a global pool begin with: activation(norm(conv(trunk)))."""

    NORMS = (("norm", "activation"),)

    def __init__(self, head: DensePolicyHead | ValueHead | DenseValueHead) -> None:
        super().__init__()
        self.conv, self.norm, self.activation = conv(head.conv), norm(head.norm), activation(head.activation)

    def points(self, trunk: Tensor) -> Tensor:
        """Return [B, channels of the head, H, W]."""
        return cast(Tensor, self.activation(self.norm(self.conv(trunk))))

    def fuse(self) -> None:
        self.conv, self.norm = fused(self.conv, self.norm)


class _DensePolicy(_PointsHead):
    def __init__(self, head: DensePolicyHead) -> None:
        super().__init__(head)
        self.hidden = None if head.hidden is None else linear(head.hidden)
        self.hidden_activation = activation(head.hidden_activation)
        self.linear = linear(head.linear)

    def forward(self, trunk: Tensor) -> Tensor:
        points = self.points(trunk).float().flatten(1)
        if self.hidden is not None:
            points = self.hidden_activation(self.hidden(points))
        return cast(Tensor, self.linear(points)).unsqueeze(1)


class _DenseValue(_PointsHead):
    def __init__(self, head: ValueHead | DenseValueHead) -> None:
        super().__init__(head)
        self.hidden, self.hidden_activation = linear(head.hidden), activation(head.hidden_activation)
        self.result = linear(head.result)

    def forward(self, trunk: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hidden = self.hidden_activation(self.hidden(self.points(trunk).float().flatten(1)))
        nothing = hidden[:, :0]
        return self.result(hidden), nothing, nothing


class _Value(_DenseValue):
    def __init__(self, head: ValueHead) -> None:
        super().__init__(head)
        self.score = None if head.score is None else linear(head.score)
        self.ownership = None if head.ownership is None else conv(head.ownership)

    def forward(self, trunk: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        points = self.points(trunk)
        hidden = self.hidden_activation(self.hidden(value_pool(points)))
        nothing = hidden[:, :0]
        score = nothing if self.score is None else self.score(hidden)
        ownership = nothing if self.ownership is None else self.ownership(points).float().flatten(1)
        return self.result(hidden), score, ownership
