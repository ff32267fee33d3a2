"""Networks for the tests of file formats, and what it means that two are equal."""

from dataclasses import fields, is_dataclass, replace
from typing import TypeVar

import numpy as np

from engine.nets.spec import Conv, Linear, NetSpec, tensors
from weights.architecture import to_json

T = TypeVar("T")


def assert_equal(got: NetSpec, expected: NetSpec) -> None:
    """Fail unless both networks agree in every array and everything else."""
    pairs = list(zip(tensors(got), tensors(expected), strict=True))
    assert pairs
    for (name, array), (wanted_name, wanted) in pairs:
        assert name == wanted_name
        assert array.dtype == np.float32
        assert np.array_equal(array, wanted), name
    assert to_json(got) == to_json(expected)


def with_all_biases(node: T, generator: np.random.Generator) -> T:
    """Return a network in which every convolution and every linear layer has a bias."""
    if isinstance(node, Conv | Linear):
        return replace(node, bias=generator.normal(0, 0.3, node.outputs).astype(np.float32))
    if isinstance(node, tuple):
        return tuple(with_all_biases(child, generator) for child in node)  # type: ignore[return-value]
    if is_dataclass(node):
        changed = {each.name: with_all_biases(getattr(node, each.name), generator) for each in fields(node)}
        return replace(node, **changed)  # type: ignore[type-var]
    return node
