"""KataGo's checkpoints: computed as KataGo's own model does, and no code of a file is ever executed.

`hybrid.ckpt` and the golden outputs were made by KataGo 1.17.2's Python code with random weights;
`python -m tests.clients.katago_checkpoints` compares 21 architectures.
"""

import json
import os
import pickle
import random
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.nets.spec import Activation, WeightsError, tensors
from tests.oracle.naive_net import forward
from tests.weights.made_files import CHECKPOINT
from weights.katago_form import katago_form
from weights.katago_writer import to_gzip
from weights.registry import format_of, load
from weights.torch_file import MAX_PICKLE, StoredTensor, TorchFile, interpreted

SIDE, POINTS = 5, [0, 7, 24]
GOLDEN = {
    "policy": [[0.222435, 0.634129, 0.178204, 1.037733], [0.008679, 0.339512, 0.268688, 0.841388]],
    "result": [1.158649, 2.770685, 2.883133],
    "score": [-0.992665, 0.851133, 1.910746, -2.479373, 1.574219, -0.056856],
    "ownership": [0.031552, 0.239309, -0.028141],
}
"""What KataGo's model makes of `random_inputs`: at POINTS and, for the policies, the pass."""


def random_inputs() -> tuple[Any, Any]:
    draw = np.random.default_rng(1)
    planes = draw.random((22, SIDE, SIDE)).astype(np.float32)
    planes[0] = 1
    return planes, draw.random(19).astype(np.float32)


def assert_golden(path: Path) -> None:
    found = forward(load(path), *random_inputs())
    policy = found["policy"].reshape(2, -1)[:, [*POINTS, SIDE * SIDE]]
    np.testing.assert_allclose(policy, GOLDEN["policy"], atol=1e-5)
    for name in ("result", "score"):
        np.testing.assert_allclose(found[name].ravel(), GOLDEN[name], atol=1e-5)
    np.testing.assert_allclose(found["ownership"].ravel()[POINTS], GOLDEN["ownership"], atol=1e-5)


def test_outputs_are_those_of_katagos_model() -> None:
    assert format_of(CHECKPOINT).name == "KataGo checkpoint (ckpt)"
    spec = load(CHECKPOINT)
    assert (spec.encoder, spec.version, spec.tip and spec.tip.activation) == ("katago-v7", 15, Activation.MISH)
    assert_golden(CHECKPOINT)


def test_a_checkpoint_becomes_a_network_file_that_computes_the_same(tmp_path: Path) -> None:
    target = tmp_path / "net.bin.gz"
    target.write_bytes(to_gzip(katago_form(load(CHECKPOINT))))
    assert_golden(target)


def rewritten(path: Path, change: Callable[[str, bytes], bytes], method: int = zipfile.ZIP_STORED) -> Path:
    """Write the checkpoint with each file of the archive as `change` returns it."""
    with zipfile.ZipFile(CHECKPOINT) as source, zipfile.ZipFile(path, "w", method) as target:
        for name in source.namelist():
            target.writestr(name, change(name.partition("/")[2], source.read(name)))
    return path


def with_text(path: Path, old: bytes, new: bytes) -> Path:
    """Write the checkpoint with one text of its pickle replaced by one of the same length."""
    assert len(old) == len(new)
    return rewritten(path, lambda name, data: data.replace(old, new) if name == "data.pkl" else data)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"attnrope", b"attngab?", "blocks.2: unknown kind of block"),
        (b"use_repvgg_linear", b"use_repvgg_magic_", "use_repvgg_magic_: unknown setting of the network"),
        (b"learnable_rope", b"inline_registe", "unknown setting"),
        (b"mish", b"gelu", "activation: unknown activation, expected identity or relu or mish or silu, got gelu"),
        (b"fixscaleonenorm", b"fixscaletwonorm", "norm_kind: unknown norm"),
        (b"conv_ownership", b"conv_unknowned", "value_head.conv_ownership.weight: missing tensor"),
        (b"value_head.conv_scoring", b"value_head.conv_xcoring", "value_head.conv_xcoring.weight: unknown tensor"),
        (b"swa_model", b"swb_model", "missing tensor"),
        (b"transformer_heads", b"transformer_hoods", "unknown setting"),
    ],
)
def test_an_unknown_architecture_is_refused_with_its_place(
    old: bytes, new: bytes, message: str, tmp_path: Path
) -> None:
    with pytest.raises(WeightsError, match=message) as caught:
        load(with_text(tmp_path / "net.ckpt", old, new))
    assert str(caught.value).startswith(f"{tmp_path / 'net.ckpt'}: ")


def test_a_checkpoint_without_a_description_takes_the_one_beside_it(tmp_path: Path) -> None:
    with TorchFile(CHECKPOINT) as file:
        config = file.content["config"]
    path = with_text(tmp_path / "net.ckpt", b"config", b"gifnoc")
    with pytest.raises(WeightsError, match=r"no description of the network, expected .*model\.config\.json beside it"):
        load(path)
    (tmp_path / "model.config.json").write_text(json.dumps(config))
    assert_golden(path)


class Payload:
    """Unpickling it calls a function with arguments."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self._call = (function, arguments)

    def __reduce__(self) -> Any:
        return self._call


def pickled(content: object, protocol: int = 2) -> bytes:
    return pickle.dumps(content, protocol)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_no_code_of_a_file_is_executed(protocol: int, tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    content = {"model": {}, "config": {}, "evil": Payload(os.mkdir, str(mark))}
    path = rewritten(
        tmp_path / "evil.ckpt",
        lambda name, data: pickled(content, protocol) if name == "data.pkl" else data,
    )
    with pytest.raises(WeightsError, match="refused, because it is not data"):
        load(path)
    assert not mark.exists()


@pytest.mark.parametrize(
    "content",
    [
        pickled(Payload(eval, "1 + 1")),
        pickled(Payload(getattr, OrderedDict, "clear")),
        pickled(Payload(__import__, "os")),
        pickled(Path("x")),
        pickled(np.float64(1)),
        pickled({(1, 2): 3}),
        pickled(object()),
        b"(cos\nsystem\nS'true'\no.",
        b"(S'true'\nios\nsystem\n.",
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v3\n.",
        b"\x80\x02ctorch.serialization\nload\n.",
        b"\x80\x02ccollections\nOrderedDict\n)R}X\x01\x00\x00\x00aK\x01sb0ccollections\nOrderedDict\n}b.",
        b"\x80\x04\x8c\x05posix\x8c\x06system\x93.",
        b"\x80\x02K\x01K\x02K\x03K\x04K\x05\x85Q.",
        b"\x80\x02\x82\x01.",
        b"\x80\x02",
        b"",
    ],
)
def test_what_is_not_data_is_refused(content: bytes) -> None:
    with pytest.raises(WeightsError):
        interpreted(content)


STORAGE = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x0atQ"


def tensor(offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> bytes:
    """Return the pickle of a tensor on a storage of ten numbers."""

    def numbers(values: tuple[int, ...]) -> bytes:
        return b"(" + b"".join(b"J" + value.to_bytes(4, "little", signed=True) for value in values) + b"t"

    arguments = STORAGE + b"K" + bytes([offset]) + numbers(shape) + numbers(strides) + b"\x89N"
    return b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + arguments + b"tR."


def test_a_tensor_lies_within_its_storage() -> None:
    found = interpreted(tensor(1, (3, 3), (3, 1)))
    assert isinstance(found, StoredTensor)
    assert (found.offset, found.shape, found.strides) == (1, (3, 3), (3, 1))
    for bad in (
        tensor(2, (3, 3), (3, 1)),
        tensor(0, (3, 3), (4, 3)),
        tensor(0, (1000000, 1000000), (0, 0)),
        tensor(0, (-1,), (1,)),
        tensor(0, (1,), (-1,)),
        tensor(0, (2, 2), (1,)),
        tensor(0, (1,) * 9, (1,) * 9),
    ):
        with pytest.raises(WeightsError):
            interpreted(bad)


def test_compressed_and_long_archives_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="compressed"):
        load(rewritten(tmp_path / "a.ckpt", lambda _, data: data, zipfile.ZIP_DEFLATED))
    long = bytes(MAX_PICKLE + 1)
    with pytest.raises(WeightsError, match="pickle too long"):
        load(rewritten(tmp_path / "b.ckpt", lambda name, data: long if name == "data.pkl" else data))
    with pytest.raises(WeightsError, match="wrong length of a storage"):
        load(rewritten(tmp_path / "c.ckpt", lambda name, data: data[:-4] if name.startswith("data/") else data))


def test_damaged_pickles_are_refused_or_sound(tmp_path: Path) -> None:
    chance = random.Random(1)
    path = tmp_path / "net.ckpt"

    def damaged(name: str, data: bytes) -> bytes:
        if name != "data.pkl":
            return data
        content = bytearray(data)
        for _ in range(chance.randrange(1, 4)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        return bytes(content)

    refused = 0
    for _ in range(200):
        try:
            spec = load(rewritten(path, damaged))
        except WeightsError as error:
            assert str(error).startswith(f"{path}: ")
            refused += 1
        else:
            assert all(np.isfinite(array).all() for _, array in tensors(spec))
    assert refused > 50


def test_an_incomplete_checkpoint_is_called_that(tmp_path: Path) -> None:
    path, data = tmp_path / "net.ckpt", CHECKPOINT.read_bytes()
    for length in (300, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:length])
        with pytest.raises(WeightsError, match=rf"damaged or incomplete \({length:,} bytes\)"):
            load(path)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_tensors_are_those_that_pytorch_saved(dtype: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    saved = torch.arange(24).reshape(2, 3, 4).to(getattr(torch, dtype)) / 8
    whole = {
        "whole": saved,
        "turned": saved.permute(2, 0, 1),
        "part": saved[1:, ::2],
        "parameter": torch.nn.Parameter(saved),
    }
    torch.save(whole, tmp_path / "tensors")
    with TorchFile(tmp_path / "tensors") as stored:
        for name, expected in whole.items():
            found = stored.array(stored.content[name], name)
            np.testing.assert_array_equal(found, expected.detach().float().numpy())


@pytest.mark.parametrize("layer", ["conv_spatial", "policy_head.conv2p", "policy_head.linear_pass"])
def test_a_tensor_of_other_dimensions_than_its_layer_is_refused(layer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    array = TorchFile.array

    def flat(file: TorchFile, tensor: StoredTensor, name: str) -> Any:
        found = array(file, tensor, name)
        return found.reshape(-1, 1) if name == f"{layer}.weight" else found

    monkeypatch.setattr(TorchFile, "array", flat)
    with pytest.raises(WeightsError, match=str(CHECKPOINT)):
        load(CHECKPOINT)


def test_more_heads_than_any_network_has_are_refused_before_memory_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("weights.katago_checkpoint.positive", lambda config, name, default=0: 10**9)
    with pytest.raises(WeightsError, match="too many heads"):
        load(CHECKPOINT)
