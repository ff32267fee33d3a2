"""A kind of block that a part of the engine does not know is refused by name."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from engine.encoders import ENCODERS
from engine.nets.kernels.model import build_model
from engine.nets.openvino_graph.blocks import Board, Trunk, add_block
from engine.nets.random import random_spec
from engine.nets.spec import Conv, NetSpec, Norm
from engine.nets.summary import parts
from engine.nets.torch_modules.blocks import torch_block
from tests.oracle.naive_net import after_block

CHANNELS = 8


@dataclass(frozen=True, eq=False)
class NewBlock:
    """A block that begins as those of KataGo do."""

    norm1: Norm
    conv1: Conv
    conv2: Conv
    activation1: Any
    activation2: Any


def with_new_block() -> NetSpec:
    """Return a network whose only block is of a new kind."""
    spec = random_spec(1, CHANNELS, ENCODERS["liberties"], 1, pool_every=0, head_channels=4)
    old: Any = spec.blocks[0]
    new: Any = NewBlock(old.norm1, old.conv1, old.conv2, old.activation1, old.activation2)
    return replace(spec, blocks=(new,))


USERS: dict[str, Callable[[NetSpec], object]] = {
    "summary": lambda spec: parts(spec, 5, 5),
    "kernels": lambda spec: build_model(spec, 5, 5, 8, 1),
    "OpenVINO": lambda spec: add_block(Trunk(Board(5, 5), None), spec.blocks[0]),
    "PyTorch": lambda spec: torch_block(spec.blocks[0]),
    "the plain loops": lambda spec: after_block(spec.blocks[0], np.zeros((CHANNELS, 5, 5))),
}


@pytest.mark.parametrize("user", USERS)
def test_a_new_kind_of_block_is_refused_by_name(user: str) -> None:
    with pytest.raises(AssertionError, match="NewBlock"):
        USERS[user](with_new_block())
