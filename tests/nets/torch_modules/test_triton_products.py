"""Blocks of transformers by Triton's kernels against the same blocks as they are trained: on a GPU, or interpreted.

Without a GPU: with Triton and TRITON_INTERPRET=1.
"""

import copy
import os
from dataclasses import replace
from typing import cast

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="Triton is not installed")
_IS_INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
if not (_IS_INTERPRETED or torch.cuda.is_available()):
    pytest.skip("there is no GPU", allow_module_level=True)

from engine.nets.spec import Block  # noqa: E402
from engine.nets.torch_modules import pointwise, triton_products  # noqa: E402
from engine.nets.torch_modules.blocks import torch_block  # noqa: E402
from engine.nets.torch_modules.model import TorchModel  # noqa: E402
from engine.nets.torch_modules.one_pass import in_one_pass  # noqa: E402
from tests.nets.examples import Draw, stirred  # noqa: E402

_DEVICE = torch.device("cpu" if _IS_INTERPRETED else "cuda")
BOARDS = pytest.mark.parametrize(
    "board", [(1, 3, 2), (2, 9, 9), *([] if _IS_INTERPRETED else [(5, 19, 19), (3, 7, 25)])]
)
TYPES = pytest.mark.parametrize("number", [torch.float16, *([] if _IS_INTERPRETED else [torch.bfloat16])])


def _check(block: Block, board: tuple[int, int, int], number: "torch.dtype", expected_module: str) -> None:
    given = torch.nn.Sequential(torch_block(stirred(block, np.random.default_rng(7))))
    joined = in_one_pass(cast(TorchModel, copy.deepcopy(given)), pointwise, triton_products)
    assert type(joined[0]).__name__ == expected_module  # type: ignore[index]
    joined.to(_DEVICE)
    for module in joined.modules():
        if isinstance(module, torch.nn.Linear):
            module.to(number)
    batch, height, width = board
    channels = block.norm.weight.size  # type: ignore[union-attr]
    points = torch.randn((batch, channels, height, width), generator=torch.Generator().manual_seed(height))
    rough = points.to(number)
    with torch.inference_mode():
        expected = given(rough.float())
        got = joined(rough.to(_DEVICE).contiguous(memory_format=torch.channels_last)).float().cpu()
    # What the block adds, relative to its size; one number of 16 bits is off by 2^-11 or 2^-8 of its size.
    off = float((got - expected).norm() / (expected - rough.float()).norm())
    assert off < (0.003 if number is torch.float16 else 0.02)


@BOARDS
@TYPES
@pytest.mark.parametrize(
    ("channels", "heads", "kv_heads", "width", "rope"),
    [(96, 3, 3, 32, True), (48, 4, 2, 16, True), (64, 2, 1, 32, False), (192, 6, 2, 64, True)],
)
def test_attention_by_two_kernels_is_the_block_that_is_trained(
    channels: int, heads: int, kv_heads: int, width: int, rope: bool, board: tuple[int, int, int], number: "torch.dtype"
) -> None:
    block = Draw(channels + heads).attention(channels, heads, kv_heads, (width, width), rope)
    _check(replace(block, norm=Draw(1).rms_norm(channels, bias=rope)), board, number, "_FusedAttention")


@BOARDS
@TYPES
@pytest.mark.parametrize("gate", [False, True])
@pytest.mark.parametrize(("channels", "hidden"), [(96, 256), (48, 80), (192, 512), (256, 64)])
def test_a_feed_forward_block_by_one_kernel_is_the_block_that_is_trained(
    channels: int, hidden: int, gate: bool, board: tuple[int, int, int], number: "torch.dtype"
) -> None:
    _check(Draw(hidden).feed_forward(channels, hidden, gate), board, number, "_FusedFeedForward")


@pytest.mark.parametrize(
    ("block", "module"),
    [
        (Draw(1).attention(96, 3, 3, (32, 16), rope=True), "_Attention"),
        (Draw(2).attention(112, 2, 2, (32, 32), rope=True), "_Attention"),
        (Draw(3).attention(96, 4, 4, (24, 24), rope=True), "_Attention"),
        (Draw(4).feed_forward(96, 250, gate=True), "_FeedForward"),
        (Draw(5).feed_forward(384, 256, gate=True), "_FeedForward"),
    ],
)
def test_blocks_of_other_shapes_keep_their_products_by_pytorch(block: Block, module: str) -> None:
    _check(block, (2, 5, 4), torch.float32, module)
