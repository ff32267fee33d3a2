"""The kernels' network against the naive network and torch's, on vectors of every length that this CPU has."""

from dataclasses import replace

import numpy as np
import pytest

from engine.encoders import ENCODERS
from engine.nets.kernels.byte_ranges import measured_ranges
from engine.nets.kernels.kernels import infer
from engine.nets.kernels.model import build_byte_model, build_model, is_transformer, rounds_convolutions
from engine.nets.kernels.operands import LANES_OF, ROUNDED, TILED, VECTORS_OF_INTEGERS
from engine.nets.kernels.plan import POOL, Rows
from engine.nets.random import random_spec
from engine.nets.spec import MAX_SIDE, Conv, NetSpec, ResidualBlock
from tests.nets.examples import EXAMPLES, Draw, random_inputs
from tests.nets.kernels.lanes import LANES, OF_INTEGERS, needs_byte_tiles, needs_integers, needs_lanes, needs_tiles
from tests.oracle import naive_net

pytestmark = needs_lanes

FIELDS = ("policy", "result", "score", "ownership")
TRANSFORMERS = {name: spec for name, spec in EXAMPLES.items() if is_transformer(spec)}
BY_TILES = {name: spec for name, spec in EXAMPLES.items() if rounds_convolutions(spec)}
BYTES = -8
"""Stands for tiles of bytes, and 0 for those of bf16."""
ALL_LANES = [
    *LANES,
    pytest.param(0, marks=needs_tiles),
    pytest.param(BYTES, marks=needs_byte_tiles),
    *OF_INTEGERS,
]
SIZES = [(1, 1), (3, 5), (9, 9), (MAX_SIDE, MAX_SIDE)]
"""Height and width."""


def boards(spec: NetSpec) -> list[tuple[int, int]]:
    """Return the sizes to test a network on."""
    smallest, largest = spec.board_sizes
    return [size for size in SIZES if smallest <= min(size) and max(size) <= largest] or [(largest, largest)]


def rows_of(size: tuple[int, int]) -> list[int]:
    """Return the rows of a batch of three to compare: on the largest board, where plain loops take long, one."""
    return [2] if size == SIZES[-1] else [0, 2]


CASES = [(name, size, lanes) for name, spec in EXAMPLES.items() for size in boards(spec) for lanes in LANES]
CASES_IN_INTEGERS = [
    (name, size, numbers)
    for numbers in OF_INTEGERS
    for name, spec in EXAMPLES.items()
    for size in boards(spec)
    if size != SIZES[-1]
]
CASES_BY_TILES = [(name, size) for name, spec in BY_TILES.items() for size in boards(spec)]


class Computer:
    """A model with its memory, as a thread has it; by tiles of bf16 if it has no lanes.

    lanes: floats in a vector, ROUNDED or TILED for the blocks of a transformer in bf16, one of VECTORS_OF_INTEGERS
    for int16, or BYTES for int8, with ranges of random positions.
    """

    def __init__(self, spec: NetSpec, height: int, width: int, lanes: int, positions: int = 4) -> None:
        self.spec, self.area, in_bytes = spec, width * height, lanes == BYTES
        self.rounded, by_tiles = lanes in (0, BYTES, ROUNDED, TILED), lanes != ROUNDED
        integers = lanes if lanes in VECTORS_OF_INTEGERS else 0
        self.tolerance = 0.1 if in_bytes else 0.02 if self.rounded else 0.005 if integers else 0.0
        """Share of the largest number by which the outputs may be wrong."""
        floats = 16 if self.rounded else LANES_OF[lanes]
        kind = {"rounded": self.rounded, "integers": integers, "by_tiles": by_tiles}
        if in_bytes:
            ranges = measured_ranges(spec, *random_inputs(spec, height, width, 16))
            self.model = build_byte_model(spec, width, height, positions, ranges)
        else:
            self.model = build_model(spec, width, height, floats, positions, **kind)
        self._memory = self.model.new_memory()

    def __call__(self, planes: np.ndarray, globals_: np.ndarray) -> dict[str, np.ndarray]:
        """Return the outputs for as many positions as the model computes at most, by name."""
        spec, count, area = self.spec, len(planes), self.area
        policies = spec.policy.policies
        widths = policies * (area + 1), spec.value.result.outputs, len(spec.scores), area * spec.has_ownership
        outputs = tuple(np.full((count, width), np.nan, dtype=np.float32) for width in widths)
        infer(self.model.plan, self._memory, Rows(planes.reshape(count, -1), globals_, outputs), 0, count)
        found = dict(zip(FIELDS, outputs, strict=True))
        return found | {"policy": found["policy"].reshape(count, policies, area + 1)}


def assert_equals_naive(computer: Computer, planes: np.ndarray, globals_: np.ndarray, rows: list[int]) -> None:
    """Raise AssertionError unless some rows come out as plain loops compute them.

    They may differ by the computer's tolerance of the largest number.
    """
    outputs = computer(planes, globals_)
    for row in rows:
        for field, values in naive_net.remembered(computer.spec, planes[row], globals_[row]).items():
            assert outputs[field][row].shape == values.shape, field
            loss = max(1e-5, computer.tolerance * np.max(np.abs(values), initial=0.1))
            np.testing.assert_allclose(outputs[field][row], values, atol=loss, rtol=1e-5, err_msg=field)


@pytest.mark.parametrize(("name", "size", "lanes"), CASES)
def test_the_network_equals_the_naive_network(name: str, size: tuple[int, int], lanes: int) -> None:
    spec = EXAMPLES[name]
    planes, globals_ = random_inputs(spec, *size, 3)
    assert_equals_naive(Computer(spec, *size, lanes), planes, globals_, rows_of(size))


@needs_integers
@pytest.mark.parametrize(("name", "size", "numbers"), CASES_IN_INTEGERS)
def test_in_int16_the_network_is_close_to_the_naive_network(name: str, size: tuple[int, int], numbers: int) -> None:
    planes, globals_ = random_inputs(EXAMPLES[name], *size, 3)
    assert_equals_naive(Computer(EXAMPLES[name], *size, numbers), planes, globals_, [0, 2])


@needs_tiles
@pytest.mark.parametrize(("name", "size"), CASES_BY_TILES)
def test_in_bf16_the_network_is_close_to_the_naive_network(name: str, size: tuple[int, int]) -> None:
    planes, globals_ = random_inputs(BY_TILES[name], *size, 3)
    assert_equals_naive(Computer(BY_TILES[name], *size, 0), planes, globals_, rows_of(size))


@needs_byte_tiles
@pytest.mark.parametrize(("name", "size"), [case for case in CASES_BY_TILES if case[0] not in TRANSFORMERS])
def test_in_int8_the_network_is_close_to_the_naive_network(name: str, size: tuple[int, int]) -> None:
    planes, globals_ = random_inputs(BY_TILES[name], *size, 3)
    assert_equals_naive(Computer(BY_TILES[name], *size, BYTES), planes, globals_, rows_of(size))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_network_equals_torch(name: str, lanes: int) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from engine.nets.torch_modules.model import TorchModel

    spec = EXAMPLES[name]
    size = boards(spec)[-1]
    planes, globals_ = random_inputs(spec, *size, 8)
    with torch.inference_mode():
        expected = TorchModel(spec).fused(torch.float32)(torch.from_numpy(planes), torch.from_numpy(globals_))
    for field, values in Computer(spec, *size, lanes, positions=8)(planes, globals_).items():
        np.testing.assert_allclose(values, getattr(expected, field).numpy(), atol=1e-5, rtol=1e-5, err_msg=field)


@pytest.mark.parametrize("lanes", ALL_LANES)
@pytest.mark.parametrize("channels", [7, 8, 33, 112])
def test_channels_of_every_number_are_computed(channels: int, lanes: int) -> None:
    spec = random_spec(2, channels, ENCODERS["liberties"], channels, pool_every=2, head_channels=9)
    planes, globals_ = random_inputs(spec, 4, 4, 1)
    assert_equals_naive(Computer(spec, 4, 4, lanes), planes, globals_, [0])


@pytest.mark.parametrize("lanes", ALL_LANES)
@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (3, 1), (5, 3), (5, 5), (7, 7)])
def test_kernels_of_every_shape_are_computed(shape: tuple[int, int], lanes: int) -> None:
    draw, spec = Draw(21), EXAMPLES["plain tanh"]

    def conv(inputs: int, outputs: int) -> Conv:
        return Conv(
            draw.array(outputs, inputs, *shape, inputs=inputs * shape[0] * shape[1]), draw.array(outputs, inputs=1)
        )

    def block(channels: int) -> ResidualBlock:
        return replace(draw.residual(channels), conv1=conv(channels, channels), conv2=conv(channels, channels))

    blocks = block(6), block(6)
    spec = replace(spec, stem=replace(spec.stem, conv=conv(spec.planes, 6)), blocks=blocks)
    planes, globals_ = random_inputs(spec, 6, 7, 2)
    assert_equals_naive(Computer(spec, 6, 7, lanes), planes, globals_, [0, 1])


@pytest.mark.parametrize("lanes", ALL_LANES)
def test_nested_blocks_are_computed(lanes: int) -> None:
    draw, spec = Draw(22), EXAMPLES["plain tanh"]
    inner = draw.nested(4, 3, draw.residual(3))
    last = draw.post_activation(4) if lanes not in (0, BYTES) else draw.residual(4)
    spec = replace(spec, blocks=(draw.nested(6, 4, draw.pooling(4), inner, last), draw.nested(6, 4), draw.pooling(6)))
    planes, globals_ = random_inputs(spec, 5, 6, 2)
    assert_equals_naive(Computer(spec, 5, 6, lanes), planes, globals_, [0, 1])


@pytest.mark.parametrize("lanes", ALL_LANES)
def test_an_answer_does_not_depend_on_what_was_computed_before_or_beside(lanes: int) -> None:
    spec = EXAMPLES["pooling mish"]
    planes, globals_ = random_inputs(spec, 7, 6, 4)
    computer = Computer(spec, 7, 6, lanes)
    alone = computer(planes[:1], globals_[:1])
    computer(planes * 1e6, globals_ * 1e6)
    together, again = computer(planes, globals_), computer(planes[:1], globals_[:1])
    for field in FIELDS:
        assert np.array_equal(alone[field], again[field])
        assert np.array_equal(alone[field][0], together[field][0])


@pytest.mark.parametrize("has_tip", [True, False])
def test_what_reads_pooled_numbers_reads_those_of_its_position_alone(has_tip: bool) -> None:
    spec = random_spec(2, 24, ENCODERS["katago-v7"], 1, pool_every=0, head_channels=16)
    spec = spec if has_tip else replace(spec, tip=None)
    for lanes, rounded in ((8, False), (16, False), (16, True)):
        steps = build_model(spec, 9, 9, lanes, 4, rounded=rounded).plan.steps
        pooled = [index for index, step in enumerate(steps) if step["kind"] == POOL]
        assert len(pooled) == 2
        for index in pooled:
            assert steps[index + 1]["inner"] <= steps[index]["post"]["stride"]


def test_no_convolution_beside_tiles_is_transformed_for_its_points_have_no_room_beyond_the_board() -> None:
    spec = random_spec(1, 32, ENCODERS["katago-v7"], 1, pool_every=0, head_channels=32)
    ownership = Conv(np.full((1, 32, 3, 3), 0.1, dtype=np.float32))
    spec = replace(spec, value=replace(spec.value, ownership=ownership))
    assert not build_model(spec, 13, 13, 16, 1, rounded=True).plan.steps["side"].any()
    assert build_model(spec, 13, 13, 16, 1).plan.steps["side"].any()
