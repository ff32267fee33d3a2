"""Inputs that had one value in all that a network learned from, such as the rules of its only games.

A network learns their weights as it learns a bias, and a game under other rules would then change its answers at
random. `without_inputs` moves the weights to where they act in every game, after which the inputs have no effect.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from engine.nets.spec import NetSpec


def inputs_without_effect(spec: NetSpec) -> list[int]:
    """Return the global inputs that change nothing: all their weights are 0."""
    layer = spec.stem.globals
    return [] if layer is None else [int(index) for index in np.flatnonzero(~layer.weight.any(axis=1))]


def without_inputs(spec: NetSpec, values: Mapping[int, float], ones: int) -> NetSpec:
    """Return a network that computes with all values of some global inputs what the given one does with these.

    values: by the number of the global input. ones: the input plane that is 1 on every point of the board; its weight
    at the center of the convolution takes up the inputs, since both are added to every point of the stem.
    """
    layer, conv = spec.stem.globals, spec.stem.conv
    if layer is None or not values:
        return spec
    globals_, weight = layer.weight.copy(), conv.weight.copy()
    rows, columns = weight.shape[2:]
    for index, value in values.items():
        weight[:, ones, rows // 2, columns // 2] += np.float32(value) * globals_[index]
        globals_[index] = 0.0
    stem = replace(spec.stem, conv=replace(conv, weight=weight), globals=replace(layer, weight=globals_))
    return replace(spec, stem=stem)
