"""KataGo's files: every version, every layer, text and binary, and what each version means."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from engine.nets.spec import (
    AttentionBlock,
    ErrorForm,
    GlobalPoolBlock,
    NestedBottleneckBlock,
    NetSpec,
    PolicyHead,
    Scales,
    Score,
    ValueHead,
    WeightsError,
    parameters,
    tensors,
    validate,
)
from tests.shared import SHARED, require_shared
from tests.weights.made_files import KINDS, KatagoFile
from weights import katago
from weights.bounds import check_growth
from weights.katago_layers import MAX_DILATION
from weights.registry import format_of, load

VERSIONS = range(3, 18)
SHARED_NETS = sorted(path.name for path in (SHARED / "nets").glob("*.gz"))


def read(data: bytes, folder: Path, name: str = "net") -> NetSpec:
    """Return the network of a file with these contents."""
    (folder / name).write_bytes(data)
    return load(folder / name)


def assert_holds(spec: NetSpec, made: KatagoFile) -> None:
    """Fail unless the network has exactly the arrays that the file was made of."""
    found = dict(tensors(spec))
    assert found.keys() == made.arrays.keys()
    for path, array in made.arrays.items():
        assert found[path].dtype == np.float32
        # A rope's angles are powers, which may be rounded either way.
        tolerance = 2e-7 if path.endswith(".rope") else 0.0
        assert found[path].shape == array.shape, path
        assert np.allclose(found[path], array, rtol=tolerance, atol=0.0), path


def kinds_of(version: int) -> list[str]:
    return [kind for kind, first in KINDS.items() if first <= version]


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
@pytest.mark.parametrize("version", VERSIONS)
def test_every_array_of_every_version_is_read(version: int, binary: bool, tmp_path: Path) -> None:
    made = KatagoFile(version, binary=binary, kinds=kinds_of(version), seed=version)
    spec = read(made.data, tmp_path)
    assert_holds(spec, made)
    assert (spec.name, spec.format, spec.version, spec.board_sizes) == ("made-net", "katago", version, (1, 25))
    assert spec.provenance["numbers"] == ("binary" if binary else "text")


@pytest.mark.parametrize("version", [15, 16, 17])
def test_a_network_that_imitates_people_is_read(version: int, tmp_path: Path) -> None:
    made = KatagoFile(version, binary=True, human=True)
    spec = read(made.data, tmp_path)
    assert_holds(spec, made)
    assert spec.metadata == 192
    assert spec.policy.optimistic == 0


def test_a_norm_over_the_board_and_four_policies_are_read(tmp_path: Path) -> None:
    made = KatagoFile(17, binary=True, rms=True, policies=4, kinds=["learned attention", "ffn"])
    spec = read(made.data, tmp_path)
    assert_holds(spec, made)
    assert (spec.policy.policies, spec.policy.optimistic) == (4, 1)
    assert spec.tip is not None
    assert spec.tip.norm.epsilon == 1e-6


def test_blocks_within_blocks_keep_their_kinds(tmp_path: Path) -> None:
    spec = read(KatagoFile(14, binary=True, kinds=["nested"]).data, tmp_path)
    (outer,) = spec.blocks
    assert isinstance(outer, NestedBottleneckBlock)
    pool, inner = outer.blocks
    assert isinstance(pool, GlobalPoolBlock)
    assert isinstance(inner, NestedBottleneckBlock)
    assert {pool.activation1, pool.pool_activation, pool.activation2, inner.activation2} == {"mish"}


def test_heads_of_attention_are_read(tmp_path: Path) -> None:
    spec = read(KatagoFile(17, binary=False, kinds=["attention", "turned attention"]).data, tmp_path)
    plain, turned = spec.blocks
    assert isinstance(plain, AttentionBlock)
    assert isinstance(turned, AttentionBlock)
    assert (plain.heads, plain.kv_heads, plain.query_width, plain.value_width) == (4, 2, 6, 3)
    assert plain.rope is None
    assert turned.rope is not None


@pytest.mark.parametrize("data", ["text", "binary"])
@pytest.mark.parametrize("name", ["net.bin.gz", "net.txt.gz", "net.bin", "net.txt", "net.gz", "net"])
def test_the_content_counts_and_not_the_name(data: str, name: str, tmp_path: Path) -> None:
    made = KatagoFile(15, binary=data == "binary")
    assert_holds(read(made.data, tmp_path, name), made)
    assert_holds(read(gzip.compress(made.data), tmp_path, name), made)
    assert format_of(tmp_path / name).name == "KataGo network"


@pytest.mark.parametrize("gap", [b"\n", b"\r\n", b" \t\v\f\n\n"])
def test_any_white_space_parts_words(gap: bytes, tmp_path: Path) -> None:
    made = KatagoFile(15, binary=False)
    assert_holds(read(gap + made.data.replace(b" ", gap).replace(b"\n", gap) + gap, tmp_path), made)


def test_binary_numbers_may_contain_anything(tmp_path: Path) -> None:
    made = KatagoFile(8, binary=True)
    values = np.frombuffer(b"@BIN@ \n\0" * 2, "<f4")
    place = made.data.index(made.arrays["value.hidden.bias"].tobytes())
    spec = read(made.data[:place] + values.tobytes() + made.data[place + 16 :], tmp_path)
    assert isinstance(spec.value, ValueHead)
    assert spec.value.hidden.bias is not None
    assert np.array_equal(spec.value.hidden.bias[:4], values)


@pytest.mark.parametrize(
    ("version", "encoder"),
    [(3, "katago-v3"), (4, "katago-v3"), (5, "katago-v4"), (6, "katago-v5"), (7, "katago-v6")]
    + [(version, "katago-v7") for version in range(8, 18)],
)
def test_the_version_determines_the_inputs(version: int, encoder: str, tmp_path: Path) -> None:
    assert read(KatagoFile(version, binary=True).data, tmp_path).encoder == encoder


def test_a_network_that_wants_other_pass_alive_chains_names_another_encoder(tmp_path: Path) -> None:
    assert read(KatagoFile(17, binary=True, alive=True).data, tmp_path).encoder == "katago-v7-alive"


@pytest.mark.parametrize("version", VERSIONS)
def test_the_version_determines_what_the_outputs_mean(version: int, tmp_path: Path) -> None:
    spec = read(KatagoFile(version, binary=True).data, tmp_path)
    policy, value = spec.policy, spec.value
    assert isinstance(policy, PolicyHead)
    assert isinstance(value, ValueHead)
    own = Scales(21.0, 22.0, 23.5, 41.0, 0.5, 31.0)
    forms = {9: ErrorForm.LINEAR} | dict.fromkeys((10, 11, 12, 13), ErrorForm.ROOT)
    scores = {3: (Score.BOARD_MEAN,)} | dict.fromkeys(range(4, 8), (Score.MEAN, Score.STDEV))
    scores[8] = (Score.MEAN, Score.STDEV, Score.LEAD, Score.UNUSED)
    latest = (Score.MEAN, Score.STDEV, Score.LEAD, Score.VARIANCE_TIME, Score.VALUE_ERROR, Score.SCORE_ERROR)
    assert value.scores == scores.get(version, latest)
    assert value.scales == (own if version >= 13 else Scales())
    assert version < 9 or value.error_form == forms.get(version, ErrorForm.SQUARED)
    assert value.no_result_always == (version == 3)
    assert policy.optimistic == (1 if version >= 12 else 0)
    assert (policy.pass_hidden is not None) == (version >= 15)
    assert policy.activation == ("mish" if version >= 11 else "relu")


@pytest.mark.parametrize("dilation", range(2, MAX_DILATION + 1))
def test_a_dilated_convolution_becomes_one_with_zeros_between(dilation: int, tmp_path: Path) -> None:
    made = KatagoFile(4, binary=True, kinds=["ordinary"])
    words = b"blocks.0.conv1 3 3 4 3 "
    spec = read(made.data.replace(words + b"1 1", words + f"{dilation} 1".encode()), tmp_path)
    weight = dict(tensors(spec))["blocks.0.conv1.weight"]
    assert weight.shape == (3, 4, 2 * dilation + 1, 3)
    assert np.array_equal(weight[:, :, ::dilation], made.arrays["blocks.0.conv1.weight"])
    assert np.count_nonzero(weight) == 3 * 4 * 9


def test_a_small_file_does_not_grow_without_bound() -> None:
    check_growth((3, 4, 9, 9), 3 * 4 * 9, "dilated by 4")
    with pytest.raises(WeightsError, match="too large a kernel, expected at most 65536 weights"):
        check_growth((400, 4, 49, 49), 400 * 4 + 4 * 49 * 49 // 100, "1x1 beside 49x49")
    with pytest.raises(WeightsError, match="too large a shape"):
        check_growth((1, 1, 193, 193), 49 * 49, "49x49 dilated by 4")


@pytest.mark.parametrize("name", SHARED_NETS or ["nets"])
def test_every_shared_network_loads(name: str) -> None:
    spec = load(require_shared(f"nets/{name}"))
    assert parameters(validate(spec)) > 1000
    assert spec.format == ("leela" if name.startswith("lz") else "katago")


def test_the_sniffer_reads_names_of_any_length(tmp_path: Path) -> None:
    made = KatagoFile(8, binary=True)
    spec = read(made.data.replace(b"made-net", b"n" * 1000, 1), tmp_path)
    assert len(spec.name) <= 64
    assert katago.read(tmp_path / "net").name == spec.name
