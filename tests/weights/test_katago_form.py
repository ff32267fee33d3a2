"""What is written for KataGo computes the same, and what came from KataGo comes back as it was."""

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.encoders import ENCODERS
from engine.nets.random import random_spec
from engine.nets.spec import (
    Activation,
    AttentionBlock,
    Conv,
    ErrorForm,
    FeedForwardBlock,
    Linear,
    NestedBottleneckBlock,
    NetSpec,
    Norm,
    PolicyHead,
    PostActivationBlock,
    ResidualBlock,
    RmsNorm,
    Scales,
    Score,
    Tip,
    ValueHead,
    ValueKind,
    WeightsError,
    tensors,
)
from tests.nets.examples import EXAMPLES, hidden_pass, stirred
from tests.oracle.naive_net import forward
from tests.weights.examples import assert_equal, with_all_biases
from tests.weights.made_files import KINDS, KatagoFile
from weights import katago, katago_writer
from weights.katago_form import katago_form

V7 = ENCODERS["katago-v7"]


def made(seed: int = 1, **options: Any) -> NetSpec:
    """Return a network of the default architecture with nontrivial norms."""
    spec = random_spec(2, 5, V7, seed, **({"pool_every": 2, "head_channels": 3} | options))
    return stirred(spec, np.random.default_rng(seed))


def biased(seed: int, **options: Any) -> NetSpec:
    return with_all_biases(made(seed, **options), np.random.default_rng(seed))


def value_of(spec: NetSpec) -> ValueHead:
    assert isinstance(spec.value, ValueHead)
    return spec.value


def policy_of(spec: NetSpec) -> PolicyHead:
    assert isinstance(spec.policy, PolicyHead)
    return spec.policy


def with_value(spec: NetSpec, **changes: Any) -> NetSpec:
    return replace(spec, value=replace(value_of(spec), **changes))


def with_scores(spec: NetSpec, *scores: Score, **changes: Any) -> NetSpec:
    generator = np.random.default_rng(8)
    rows = value_of(spec).hidden.outputs
    weight = generator.normal(0, 1, (rows, len(scores))).astype(np.float32)
    bias = generator.normal(0, 1, len(scores)).astype(np.float32)
    return with_value(spec, score=Linear(weight, bias), scores=scores, **changes)


ALL = (Score.MEAN, Score.STDEV, Score.LEAD, Score.VARIANCE_TIME, Score.VALUE_ERROR, Score.SCORE_ERROR)
NESTED = NestedBottleneckBlock(
    norm1=made().blocks[0].norm1,  # type: ignore[union-attr]
    conv1=Conv(np.full((3, 5, 1, 1), 0.1, np.float32)),
    blocks=(random_spec(1, 3, V7, 2, pool_every=1).blocks[0],),
    norm2=random_spec(1, 3, V7, 2).blocks[0].norm1,  # type: ignore[union-attr]
    conv2=Conv(np.full((5, 3, 1, 1), 0.1, np.float32)),
)
FORMS = {
    "tanh": (8, made(1)),
    "softmax": (8, made(2, value=ValueKind.SOFTMAX)),
    "neither score nor ownership": (8, made(3, scores=(), ownership=False)),
    "mish": (11, made(4, activation=Activation.MISH)),
    "biases everywhere": (8, biased(5)),
    "biases everywhere, silu": (11, biased(6, activation=Activation.SILU)),
    "biases everywhere, hidden pass": (15, with_all_biases(hidden_pass(made(7)), np.random.default_rng(7))),
    "optimistic policy": (15, hidden_pass(made(8))),
    "nested block": (8, replace(made(9), blocks=(NESTED,))),
    "own scales": (13, with_value(made(10), scales=Scales(lead=7.0))),
    "mean and deviation": (8, with_scores(made(11), Score.STDEV, Score.MEAN)),
    "errors of version 9": (9, with_scores(made(12), *ALL, error_form=ErrorForm.LINEAR)),
    "errors of version 10": (10, with_scores(made(13), *ALL[::-1], error_form=ErrorForm.ROOT)),
    "errors of version 14": (14, with_scores(made(14), *ALL, error_form=ErrorForm.SQUARED)),
    "no globals": (8, replace(made(15), stem=replace(made(15).stem, globals=None))),
}
"""Networks by what is special about them, with the version they need."""


@pytest.mark.parametrize("name", FORMS)
def test_a_written_network_computes_the_same(name: str, tmp_path: Path) -> None:
    version, spec = FORMS[name]
    katago_writer.write(spec, tmp_path / "net")
    form = katago.read(tmp_path / "net")
    assert form.version == version
    generator = np.random.default_rng(1)
    planes, globals_ = generator.normal(size=(22, 3, 4)), generator.normal(size=19)
    planes[0] = 1.0
    given, found = forward(spec, planes, globals_), forward(form, planes, globals_)
    read = [0, policy_of(spec).optimistic]
    written = [0, policy_of(form).optimistic]
    assert np.allclose(softmax(found["policy"][written]), softmax(given["policy"][read]), rtol=1e-4, atol=1e-7)
    chances = softmax(found["result"])
    if value_of(spec).meaning is ValueKind.TANH:
        assert np.isclose(chances[0] - chances[1], np.tanh(given["result"][0]), rtol=1e-4, atol=1e-6)
        assert chances[2] == 0.0
    else:
        assert np.allclose(chances, softmax(given["result"]), rtol=1e-4)
    assert value_of(form).scales == value_of(spec).scales
    reported = dict(zip(form.scores, found["score"], strict=True))
    for meaning, number in zip(spec.scores, given["score"], strict=True):
        assert np.isclose(reported[meaning], number, rtol=1e-4, atol=1e-5)
    owned = given["ownership"] if spec.has_ownership else np.zeros(12)
    assert np.allclose(found["ownership"], owned, rtol=1e-4, atol=1e-5)


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def test_lead_and_mean_stand_for_each_other(tmp_path: Path) -> None:
    scales = Scales(mean=10.0, lead=5.0)
    for reported, other, factor in ((Score.LEAD, Score.MEAN, 0.5), (Score.MEAN, Score.LEAD, 2.0)):
        form = katago_form(with_scores(made(), reported, scales=scales))
        score = value_of(form).score
        assert score is not None
        columns = score.weight[:, [form.scores.index(reported), form.scores.index(other)]]
        assert columns.any()
        assert np.allclose(columns[:, 0] * factor, columns[:, 1])


@pytest.mark.parametrize("version", range(8, 18))
def test_what_came_from_katago_comes_back(version: int, tmp_path: Path) -> None:
    kinds = [kind for kind, first in KINDS.items() if first <= version]
    for human in [False, True] if version >= 15 else [False]:
        for extras in [{}, {"rms": True, "policies": 4, "alive": True}] if version == 17 else [{}]:
            file = KatagoFile(version, binary=True, kinds=kinds, human=human, **extras)  # type: ignore[arg-type]
            (tmp_path / "net").write_bytes(file.data)
            spec = katago.read(tmp_path / "net")
            katago_writer.write(spec, tmp_path / "again")
            assert_equal(katago.read(tmp_path / "again"), spec)


def test_the_same_network_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        katago_writer.write(made(), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert gzip.decompress((tmp_path / "a").read_bytes()) == katago_writer.to_bytes(made())


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    katago_writer.write(made(1), tmp_path / "net")
    before = (tmp_path / "net").read_bytes()

    def full(_: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="disk full"):
        katago_writer.write(made(2), tmp_path / "net")
    assert (tmp_path / "net").read_bytes() == before
    assert list(tmp_path.iterdir()) == [tmp_path / "net"]


@pytest.mark.parametrize(
    ("name", "written"),
    [("keima_b6-1", "keima_b6-1"), ("Юла 7", "----7"), ("a" * 200, "a" * 96), ("", "keima"), ("a\nb", "a-b")],
)
def test_names_are_written_as_katago_takes_them(name: str, written: str, tmp_path: Path) -> None:
    katago_writer.write(replace(made(), name=name), tmp_path / "net")
    start = gzip.decompress((tmp_path / "net").read_bytes())[:200]
    assert start.split()[0].decode() == written


BLOCK = made().blocks[0]
assert isinstance(BLOCK, ResidualBlock)
PLAIN = Linear(np.ones((5, 5), np.float32))
BIASED = replace(PLAIN, bias=np.ones(5, np.float32))
RMS = RmsNorm(np.ones(5, np.float32))
ATTENTION = AttentionBlock(RMS, PLAIN, PLAIN, PLAIN, PLAIN, 1, 1)
FEED = FeedForwardBlock(RMS, PLAIN, PLAIN, PLAIN)
POST = PostActivationBlock(BLOCK.conv1, BLOCK.norm1, BLOCK.conv2, BLOCK.norm2)
NORM = Norm(np.zeros(5, np.float32), np.ones(5, np.float32))
VERSION_3 = {"scores": (Score.BOARD_MEAN,), "score": Linear(np.ones((6, 1), np.float32))}
REFUSED = {
    "another encoder": (EXAMPLES["pooling mish"], "encoder", "expected katago-v7 or katago-v7-alive, got liberties"),
    "no blocks": (replace(made(), blocks=()), "blocks", "expected at least one, got 0"),
    "no tip": (replace(made(), tip=None), "tip", "expected a norm, got none"),
    "a norm in the stem": (replace(made(), stem=replace(made().stem, norm=NORM)), "stem.norm", "expected none"),
    "post-activation": (replace(made(), blocks=(POST,)), "blocks.0", "expected one of KataGo's blocks, got Post"),
    "biased attention": (replace(made(), blocks=(BLOCK, replace(ATTENTION, key=BIASED))), "blocks.1.key.bias", "none"),
    "spatial norm": (replace(made(), blocks=(replace(FEED, norm=replace(RMS, spatial=True)),)), "blocks.0.norm", ""),
    "no gate": (replace(made(), blocks=(replace(FEED, gate=None),)), "blocks.0", "got silu, no gate"),
    "nested bias": (
        replace(made(), blocks=(replace(NESTED, conv2=replace(NESTED.conv2, bias=np.ones(5, np.float32))),)),
        "blocks.0.conv2.bias",
        "expected none, got a bias",
    ),
    "scores of version 3": (with_value(made(), **VERSION_3), "value", "expected the values of model version 8"),
    "errors of version 9 with a hidden pass": (
        with_scores(hidden_pass(made()), *ALL, error_form=ErrorForm.LINEAR),
        "value",
        "expected short-term errors of the form squared, got linear",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_katago_has_no_place_for_is_refused_by_its_layer(case: str, tmp_path: Path) -> None:
    spec, layer, text = REFUSED[case]
    with pytest.raises(WeightsError) as caught:
        katago_writer.write(spec, tmp_path / "net")
    assert caught.value.layer == layer
    assert text in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_transformers_need_the_newest_version(tmp_path: Path) -> None:
    spec = replace(made(), blocks=(ATTENTION, FEED), tip=Tip(RMS, Activation.SILU))
    katago_writer.write(spec, tmp_path / "net")
    found = katago.read(tmp_path / "net")
    assert found.version == 17
    assert np.array_equal(dict(tensors(found))["blocks.1.gate.weight"], PLAIN.weight)
