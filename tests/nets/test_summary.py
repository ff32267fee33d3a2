"""What a network is made of: parts that add up, work counted by hand, repetitions found, drawings that read."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from engine.encoders import ENCODERS
from engine.nets.drawing import svg
from engine.nets.random import random_spec
from engine.nets.spec import Activation, AttentionBlock, FeedForwardBlock, Linear, NetSpec, RmsNorm, parameters
from engine.nets.summary import Part, folded, gflop, multiply_adds, outputs, parts
from tests.nets.examples import EXAMPLES

SVG = "{http://www.w3.org/2000/svg}"


def network(blocks: int, pool_every: int = 0) -> NetSpec:
    """Return a network of 8 channels."""
    return random_spec(blocks, 8, ENCODERS["liberties"], 1, pool_every=pool_every, head_channels=4)


def board_of(spec: NetSpec) -> tuple[int, int]:
    """Return the largest board that a network knows, up to 19x19."""
    side = min(19, spec.board_sizes[1])
    return side, side


def letters(text: str) -> list[Part]:
    """Return parts of which those with the same letter have the same shape."""
    return [Part(f"blocks.{index}", kind, "", 1, 1) for index, kind in enumerate(text)]


def texts(drawing: str) -> list[str]:
    """Return everything that is written in a drawing."""
    return ["".join(element.itertext()) for element in ElementTree.fromstring(drawing).iter(f"{SVG}text")]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_parts_hold_every_stored_number_once(name: str) -> None:
    spec = EXAMPLES[name]
    assert sum(part.parameters for part in parts(spec, *board_of(spec))) == parameters(spec)


def test_the_work_of_a_small_network_is_that_counted_by_hand() -> None:
    # 11 planes, 3 globals, 8 channels, one block, heads of 4 channels with 8 hidden numbers, on 5x5.
    stem, block = 25 * 11 * 8 * 9 + 3 * 8, 2 * 25 * 8 * 8 * 9
    policy = 25 * (8 * 4 + 8 * 4 + 4 * 1) + 12 * 4 + 12 * 1
    value = 25 * (8 * 4 + 4 * 1) + 12 * 8 + 8 * 1 + 8 * 1
    spec = network(1)
    assert [part.multiply_adds for part in parts(spec, 5, 5)] == [stem, block, 0, policy, value]
    assert gflop(spec, 5, 5) == 2e-9 * multiply_adds(spec, 5, 5)


def test_attention_counts_every_pair_of_points() -> None:
    def linear(inputs: int, outs: int) -> Linear:
        return Linear(np.zeros((inputs, outs), np.float32))

    norm = RmsNorm(np.ones(8, np.float32))
    attention = AttentionBlock(norm, linear(8, 12), linear(8, 6), linear(8, 10), linear(20, 8), heads=4, kv_heads=2)
    feed = FeedForwardBlock(norm, linear(8, 16), linear(16, 8), linear(8, 16), Activation.SILU)
    row = parts(replace(network(0), blocks=(attention, feed)), 3, 3)
    assert row[1].multiply_adds == 9 * (8 * 12 + 8 * 6 + 8 * 10 + 20 * 8) + 9 * 9 * 4 * (3 + 5)
    assert row[2].multiply_adds == 9 * 3 * 8 * 16


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("", []),
        ("a", ["a"]),
        ("aaaa", ["4a"]),
        ("abc", ["a", "b", "c"]),
        ("ababab", ["3ab"]),
        ("aabaab", ["2aab"]),
        ("saabaabaabt", ["s", "3aab", "t"]),
        ("aaaaab", ["5a", "b"]),
    ],
)
def test_parts_that_repeat_are_folded(row: str, expected: list[str]) -> None:
    runs = folded(letters(row))
    told = ["".join(part.kind for part in run.parts) for run in runs]
    assert [f"{run.count if run.count > 1 else ''}{text}" for run, text in zip(runs, told, strict=True)] == expected
    assert sum(run.count * len(run.parts) for run in runs) == len(row)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_architecture_is_drawn(name: str) -> None:
    spec = EXAMPLES[name]
    written = texts(svg(spec, ["some planes"]))
    assert written[0] == spec.name
    assert {"some planes", "stem", "policy head", "value head"} <= set(written)
    assert [text for text in written if text.startswith("policy [")] == ["policy [area + 1]"]
    assert len([text for text in written if text.partition(" [")[0] in {each.name for each in outputs(spec)}]) == len(
        outputs(spec)
    )


def test_forty_blocks_take_no_more_room_than_six() -> None:
    heights = [float(ElementTree.fromstring(svg(network(blocks, 3), [])).attrib["height"]) for blocks in (6, 39)]
    assert heights[0] == heights[1]
    assert "x 13" in texts(svg(network(39, 3), []))


def test_a_name_may_hold_anything() -> None:
    name = "<&\"'> \x07 \ud800 桂馬 " + "long " * 100
    drawing = svg(replace(network(1), name=name), ["<planes>"])
    written = texts(drawing.encode("utf-8").decode())
    assert written[0] == name.replace("\x07", "?").replace("\ud800", "?")
    assert "<planes>" in written
