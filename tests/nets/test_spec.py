"""A network as data: random ones are sound, unsound ones name the layer."""

from dataclasses import replace

import numpy as np
import pytest

from engine.encoders import ENCODERS
from engine.nets.random import random_spec
from engine.nets.spec import (
    KINDS,
    Conv,
    Linear,
    NetSpec,
    Score,
    ValueKind,
    WeightsError,
    describe,
    parameters,
    tensors,
    validate,
)
from tests.nets.examples import EXAMPLES

BASE = random_spec(2, 8, ENCODERS["liberties"], 0, pool_every=2, head_channels=4)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_valid_and_every_layer_is_described(name: str) -> None:
    spec = validate(EXAMPLES[name])
    rows = describe(spec)
    assert len({path for path, _, _ in rows}) == len(rows)
    assert parameters(spec) == sum(int(np.prod(shape)) for _, shape, _ in rows)


def test_describe_names_each_layer_with_its_shape() -> None:
    rows = {path: (shape, size) for path, shape, size in describe(BASE)}
    assert rows["stem.conv.weight"] == ((8, 11, 3, 3), 792)
    assert rows["stem.globals.weight"] == ((3, 8), 24)
    assert rows["blocks.0.conv1.weight"] == ((8, 8, 3, 3), 576)
    assert rows["blocks.1.pool_conv.weight"] == ((2, 8, 3, 3), 144)
    assert rows["policy.pass_linear.weight"] == ((12, 1), 12)


def test_a_6x96_network_has_the_size_of_its_kind() -> None:
    spec = random_spec(6, 96, ENCODERS["liberties"], 0, pool_every=0)
    trunk = sum(size for path, _, size in describe(spec) if path.startswith("blocks."))
    assert trunk == 6 * (2 * 96 * 96 * 9 + 2 * 4 * 96)


def test_the_seed_decides_the_weights() -> None:
    first, again, other = (random_spec(1, 4, ENCODERS["agz"], seed) for seed in (5, 5, 6))
    assert all(np.array_equal(a, b) for (_, a), (_, b) in zip(tensors(first), tensors(again), strict=True))
    assert not np.array_equal(first.stem.conv.weight, other.stem.conv.weight)


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def broken(case: str) -> NetSpec:
    """Return BASE with one fault."""
    block, head, value = BASE.blocks[0], BASE.policy, BASE.value
    nan = BASE.stem.conv.weight.copy()
    nan[1, 2, 0, 0] = np.nan
    return {
        "conv in": lambda: replace(BASE, blocks=(replace(block, conv1=Conv(zeros(8, 9, 3, 3))),)),
        "conv even": lambda: replace(BASE, blocks=(replace(block, conv1=Conv(zeros(8, 8, 2, 3))),)),
        "conv rank": lambda: replace(BASE, stem=replace(BASE.stem, conv=Conv(zeros(8, 9)))),
        "conv bias": lambda: replace(BASE, blocks=(replace(block, conv1=Conv(block.conv1.weight, zeros(7))),)),
        "block out": lambda: replace(BASE, blocks=(block, replace(block, conv2=Conv(zeros(9, 8, 3, 3))))),
        "norm": lambda: replace(BASE, tip=replace(BASE.tip, norm=replace(BASE.tip.norm, scale=zeros(9)))),
        "variance": lambda: replace(BASE, tip=replace(BASE.tip, norm=replace(BASE.tip.norm, variance=zeros(8) - 1))),
        "epsilon": lambda: replace(BASE, tip=replace(BASE.tip, norm=replace(BASE.tip.norm, epsilon=0.0))),
        "pass": lambda: replace(BASE, policy=replace(head, pass_linear=Linear(zeros(12, 2)))),
        "linear rank": lambda: replace(BASE, policy=replace(head, pass_linear=Linear(zeros(12)))),
        "results": lambda: replace(BASE, value=replace(value, meaning=ValueKind.SOFTMAX)),
        "lead": lambda: replace(BASE, value=replace(value, scores=(Score.LEAD, Score.MEAN))),
        "ownership": lambda: replace(BASE, value=replace(value, ownership=Conv(zeros(2, 4, 1, 1)))),
        "nan": lambda: replace(BASE, stem=replace(BASE.stem, conv=Conv(nan))),
        "type": lambda: replace(BASE, stem=replace(BASE.stem, conv=Conv(nan.astype(np.float64)))),  # type: ignore[arg-type]
        "sizes": lambda: replace(BASE, board_sizes=(9, 26)),
    }[case]()


@pytest.mark.parametrize(
    ("case", "text"),
    [
        ("conv in", "blocks.0.conv1.weight: wrong shape, expected [8, 8, 3, 3], got [8, 9, 3, 3]"),
        ("conv even", "blocks.0.conv1.weight: bad shape, expected [out, in, odd, odd], got [8, 8, 2, 3]"),
        ("conv rank", "stem.conv.weight: bad shape, expected [out, in, odd, odd], got [8, 9]"),
        ("conv bias", "blocks.0.conv1.bias: wrong shape, expected [8], got [7]"),
        ("block out", "blocks.1.conv2.weight: wrong shape, expected [8, 8, 3, 3], got [9, 8, 3, 3]"),
        ("norm", "tip.norm.scale: wrong shape, expected [8], got [9]"),
        ("variance", "tip.norm.variance: negative variance, got -1.0"),
        ("epsilon", "tip.norm: bad epsilon, expected > 0, got 0.0"),
        ("pass", "policy.pass_linear.weight: wrong shape, expected [12, 1], got [12, 2]"),
        ("linear rank", "policy.pass_linear.weight: bad shape, expected [in, out], got [12]"),
        ("results", "value.result: wrong number of softmax results, expected 2 or 3, got 1"),
        ("lead", "value.score: wrong number of scores, expected 2, got 1"),
        ("ownership", "value.ownership.weight: wrong shape, expected [1, 4, 1, 1], got [2, 4, 1, 1]"),
        ("nan", "stem.conv.weight: value 117 is not finite, got nan"),
        ("type", "stem.conv.weight: bad type, expected float32, got float64"),
        ("sizes", "bad board_sizes, expected 1 <= smallest <= largest <= 25, got (9, 26)"),
    ],
)
def test_an_unsound_network_names_layer_expected_and_got(case: str, text: str) -> None:
    with pytest.raises(WeightsError) as caught:
        validate(broken(case))
    assert str(caught.value) == text


def test_an_error_names_its_file_first_and_keeps_its_facts() -> None:
    error = WeightsError("wrong shape", layer="a.b", offset=12, expected=[1], got=[2]).in_file("x.net")
    assert str(error) == "x.net: a.b: byte 12: wrong shape, expected [1], got [2]"
    assert (error.file, error.layer, error.offset, error.expected, error.got) == ("x.net", "a.b", 12, [1], [2])


def test_no_field_takes_the_name_that_files_give_to_a_nodes_kind() -> None:
    assert [kind for kind in KINDS.values() if "kind" in kind.__dataclass_fields__] == []
