"""Small networks of every shape that the spec can hold."""

from dataclasses import fields, is_dataclass, replace
from typing import TypeVar

import numpy as np

from engine.encoders import ENCODERS
from engine.nets.random import random_spec
from engine.nets.spec import Activation, Conv, Linear, NetSpec, Norm, PolicyHead, ValueKind

T = TypeVar("T")


def stirred(node: T, generator: np.random.Generator) -> T:
    """Return a network whose norms and biases are all nontrivial, as after training."""
    if isinstance(node, Norm):
        count = len(node.mean)
        return replace(
            node,
            mean=generator.normal(0, 0.3, count).astype(np.float32),
            variance=generator.uniform(0.5, 2.0, count).astype(np.float32),
            scale=generator.uniform(0.5, 1.5, count).astype(np.float32) if generator.random() < 0.7 else None,
            bias=generator.normal(0, 0.3, count).astype(np.float32) if generator.random() < 0.7 else None,
            epsilon=1e-3,
        )
    if isinstance(node, Conv | Linear) and node.bias is not None:
        return replace(node, bias=generator.normal(0, 0.3, node.bias.shape).astype(np.float32))
    if isinstance(node, tuple):
        return tuple(stirred(child, generator) for child in node)  # type: ignore[return-value]
    if is_dataclass(node):
        return replace(node, **{f.name: stirred(getattr(node, f.name), generator) for f in fields(node)})  # type: ignore[type-var]
    return node


def hidden_pass(spec: NetSpec) -> NetSpec:
    """Return the network with a hidden layer before the pass logit, and two policy channels."""
    head: PolicyHead = spec.policy
    generator = np.random.default_rng(7)
    pooled = head.pass_linear.weight.shape[0]
    width = head.conv1.outputs

    def normal(*shape: int) -> np.ndarray:
        return generator.normal(0, 0.2, shape).astype(np.float32)

    policy = replace(
        head,
        conv2=Conv(normal(2, width, 1, 1), normal(2)),
        pass_hidden=Linear(normal(pooled, 5), normal(5)),
        pass_activation=Activation.MISH,
        pass_linear=Linear(normal(5, 2)),
    )
    return replace(spec, policy=policy)


def example_specs() -> dict[str, NetSpec]:
    """Return networks by what they exercise."""
    generator = np.random.default_rng(1)
    plain = random_spec(2, 6, ENCODERS["agz"], 1, pool_every=0, score=False, ownership=False, head_channels=4)
    pools = random_spec(3, 7, ENCODERS["liberties"], 2, pool_every=2, head_channels=5, activation=Activation.MISH)
    softmax = random_spec(1, 5, ENCODERS["liberties"], 3, value=ValueKind.SOFTMAX, activation=Activation.SILU)
    tiny = random_spec(0, 1, ENCODERS["oneplane"], 4, head_channels=1)
    hidden = hidden_pass(random_spec(1, 4, ENCODERS["oneplane"], 5, head_channels=3))
    return {
        "plain tanh": stirred(plain, generator),
        "pooling mish": stirred(pools, generator),
        "softmax silu": stirred(softmax, generator),
        "no blocks, one channel": stirred(tiny, generator),
        "hidden pass, two policies": stirred(hidden, generator),
    }


EXAMPLES = example_specs()
