"""Blocks of transformers of every shape, by the kernels in each precision, against the naive network and torch's."""

from dataclasses import replace

import numpy as np
import pytest

from engine.nets.spec import Activation, AttentionBlock, FeedForwardBlock, Linear, NetSpec, Tip
from tests.nets.examples import EXAMPLES, Draw, random_inputs, stirred
from tests.nets.kernels.lanes import OF_TRANSFORMERS, needs_lanes
from tests.nets.kernels.test_model import TRANSFORMERS, Computer, assert_equals_naive

pytestmark = needs_lanes

# Heads, heads of keys and values, width of queries and of values, rotated or not.
HEADS = [
    (1, 1, (2, 1), True),
    (3, 3, (32, 32), True),
    (6, 3, (32, 16), True),
    (4, 1, (6, 5), True),
    (2, 2, (7, 9), False),
    (1, 1, (70, 130), True),
    (5, 5, (33, 3), False),
]
SIZES = [(1, 1), (2, 2), (4, 4), (5, 7), (3, 11), (9, 9)]
"""Height and width; the points fill whole vectors, or not, or pairs of operands, or not."""


def network(seed: int, channels: int, *blocks: AttentionBlock | FeedForwardBlock) -> NetSpec:
    """Return a network of some blocks, which ends with a norm over all channels."""
    draw = Draw(seed)
    plain = EXAMPLES["plain tanh"]
    spec = replace(
        plain,
        stem=replace(plain.stem, conv=draw.conv(plain.planes, channels), globals=None),
        blocks=blocks,
        tip=Tip(draw.rms_norm(channels, bias=True), Activation.MISH),
        policy=replace(
            plain.policy,
            conv1=draw.conv(channels, plain.policy.conv1.outputs, 1),
            pool_conv=draw.conv(channels, plain.policy.pool_conv.outputs, 1),
        ),
        value=replace(plain.value, conv=draw.conv(channels, plain.value.conv.outputs, 1)),
    )
    return stirred(spec, np.random.default_rng(seed))


def without_bias(block: AttentionBlock) -> AttentionBlock:
    """Return a block without the biases that KataGo's do not have."""
    names = "query", "key", "value", "output"
    return replace(block, **{name: Linear(getattr(block, name).weight) for name in names})


@pytest.mark.parametrize("numbers", OF_TRANSFORMERS)
@pytest.mark.parametrize(("index", "heads"), list(enumerate(HEADS)))
def test_attention_of_every_shape_is_computed(
    index: int, heads: tuple[int, int, tuple[int, int], bool], numbers: int
) -> None:
    draw, channels = Draw(index), (6, 33, 96)[index % 3]
    block = draw.attention(channels, *heads)
    spec = network(index, channels, without_bias(block) if index % 2 else block)
    height, width = SIZES[index % len(SIZES)]
    assert_equals_naive(Computer(spec, height, width, numbers), *random_inputs(spec, height, width, 3), [0, 2])


@pytest.mark.parametrize("numbers", OF_TRANSFORMERS)
@pytest.mark.parametrize("gate", [False, True])
@pytest.mark.parametrize(("channels", "hidden"), [(4, 1), (6, 9), (33, 17), (20, 112), (8, 200)])
def test_feed_forward_of_every_width_is_computed(channels: int, hidden: int, gate: bool, numbers: int) -> None:
    spec = network(hidden, channels, Draw(channels).feed_forward(channels, hidden, gate))
    assert_equals_naive(Computer(spec, 5, 7, numbers), *random_inputs(spec, 5, 7, 4), [0, 3])


@pytest.mark.parametrize("numbers", OF_TRANSFORMERS)
@pytest.mark.parametrize("kind", list(Activation))
def test_every_activation_is_computed_between_the_layers_of_a_feed_forward_block(
    kind: Activation, numbers: int
) -> None:
    block = replace(Draw(3).feed_forward(6, 20, gate=True), activation=kind)
    spec = network(3, 6, block)
    assert_equals_naive(Computer(spec, 3, 3, numbers), *random_inputs(spec, 3, 3, 2), [1])


@pytest.mark.parametrize("numbers", OF_TRANSFORMERS)
def test_norms_over_the_whole_board_are_computed_before_blocks(numbers: int) -> None:
    draw = Draw(5)
    norm = draw.rms_norm(6, spatial=True, bias=True)
    blocks = (
        replace(draw.attention(6, 2, 1, (4, 5), rope=True), norm=norm),
        replace(draw.feed_forward(6, 20, gate=True), norm=norm),
    )
    spec = network(5, 6, *blocks)
    assert_equals_naive(Computer(spec, 5, 6, numbers), *random_inputs(spec, 5, 6, 4), [0, 3])


@pytest.mark.parametrize("numbers", OF_TRANSFORMERS)
@pytest.mark.parametrize(("height", "width"), [(1, 25), (2, 3), (7, 19), (13, 13), (19, 19), (25, 24), (25, 25)])
def test_boards_of_every_size_are_computed(height: int, width: int, numbers: int) -> None:
    draw = Draw(height)
    blocks = draw.attention(8, 2, 2, (4, 3), rope=True), draw.feed_forward(8, 20, gate=True)
    spec = network(width, 8, *blocks)
    assert_equals_naive(Computer(spec, height, width, numbers), *random_inputs(spec, height, width, 1), [0])


@pytest.mark.parametrize("numbers", OF_TRANSFORMERS)
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_an_answer_does_not_depend_on_the_other_positions_or_on_what_was_computed_before(
    name: str, numbers: int
) -> None:
    spec = TRANSFORMERS[name]
    planes, globals_ = random_inputs(spec, 7, 5, 9)
    computer = Computer(spec, 7, 5, numbers, positions=9)
    alone = computer(planes[:1], globals_[:1])
    computer(np.full_like(planes, np.nan), globals_)
    for count in (1, 2, 5, 9):
        together = computer(planes[:count], globals_[:count])
        for field in alone:
            assert np.array_equal(alone[field][0], together[field][0])


@pytest.mark.parametrize("numbers", OF_TRANSFORMERS)
def test_scores_of_every_size_leave_finite_answers(numbers: int) -> None:
    block = Draw(6).attention(6, 2, 2, (4, 3), rope=True)
    query = replace(block.query, weight=block.query.weight * np.float32(1e4))
    spec = network(6, 6, replace(block, query=query))
    planes, globals_ = random_inputs(spec, 4, 5, 1)
    for field, values in Computer(spec, 4, 5, numbers)(planes, globals_).items():
        assert np.all(np.isfinite(values)), field
