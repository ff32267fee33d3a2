"""Keima's network file: everything comes back, and no damaged file does worse than one error line."""

import contextlib
import json
import random
import subprocess
import sys
import tracemalloc
import typing
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from engine.encoders import ENCODERS
from engine.nets.random import random_spec
from engine.nets.spec import Array, WeightsError, tensors
from tests.nets.examples import EXAMPLES
from tests.weights.examples import assert_equal
from weights import native
from weights.architecture import to_json
from weights.bounds import check_shape
from weights.registry import FORMATS, load

SMALL = replace(
    random_spec(2, 4, ENCODERS["liberties"], 1, pool_every=2, head_channels=3),
    provenance={"made by": "a test", "note": 'äö "quoted"\nline'},
)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_tensor_comes_back(name: str, tmp_path: Path) -> None:
    path = tmp_path / "net"
    native.write(EXAMPLES[name], path)
    assert_equal(native.read(path), EXAMPLES[name])
    assert_equal(load(str(path)), EXAMPLES[name])


def test_name_encoder_sizes_and_provenance_come_back(tmp_path: Path) -> None:
    spec = replace(SMALL, name="Юла", board_sizes=(7, 19), format="katago", version=8)
    native.write(spec, tmp_path / "net")
    got = native.read(tmp_path / "net")
    assert (got.name, got.encoder, got.board_sizes) == ("Юла", "liberties", (7, 19))
    assert (got.format, got.version, dict(got.provenance)) == ("katago", 8, SMALL.provenance)


def test_the_same_network_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        native.write(SMALL, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_arrays_in_any_memory_order_come_back(tmp_path: Path) -> None:
    weight = np.asfortranarray(SMALL.stem.conv.weight)
    spec = replace(SMALL, stem=replace(SMALL.stem, conv=replace(SMALL.stem.conv, weight=weight)))
    native.write(spec, tmp_path / "net")
    assert_equal(native.read(tmp_path / "net"), SMALL)


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "net"
    native.write(SMALL, path)

    def full(_: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="disk full"):
        native.write(EXAMPLES["plain tanh"], path)
    assert_equal(native.read(path), SMALL)
    assert list(tmp_path.iterdir()) == [path]


def test_an_inconsistent_network_is_not_written(tmp_path: Path) -> None:
    for change, reason in (({"board_sizes": (9, 5)}, "bad board_sizes"), ({"name": "two\nlines"}, "name: bad value")):
        with pytest.raises(WeightsError, match=reason):
            native.write(replace(SMALL, **change), tmp_path / "net")
    assert list(tmp_path.iterdir()) == []


def test_a_network_with_a_number_that_json_has_no_word_for_is_not_written(tmp_path: Path) -> None:
    assert SMALL.tip is not None
    spec = replace(SMALL, tip=replace(SMALL.tip, norm=replace(SMALL.tip.norm, epsilon=float("inf"))))
    with pytest.raises(WeightsError, match="a number is not finite"):
        native.write(spec, tmp_path / "net")
    assert list(tmp_path.iterdir()) == []


def rewritten(change: Callable[[dict[str, Any], dict[str, np.ndarray]], None]) -> bytes:
    """Return a file of SMALL whose document and arrays were changed, its checksum made right again."""
    arrays = {name: array.copy() for name, array in tensors(SMALL)}
    document = {"version": native.VERSION, "crc32": 0, "net": json.loads(json.dumps(to_json(SMALL)))}
    change(document, arrays)
    if document.get("crc32") == 0:
        # What JSON has no word for has no checksum either; it is refused before the checksum is compared.
        with contextlib.suppress(WeightsError):
            document["crc32"] = native.crc32_of(document.get("net"), arrays)
    return safetensors.numpy.save(arrays, {native.METADATA_KEY: json.dumps(document)})


def set_at(*keys: str | int, to: object) -> Callable[[dict[str, Any], dict[str, np.ndarray]], None]:
    def change(document: dict[str, Any], _: dict[str, np.ndarray]) -> None:
        place: Any = document
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = to

    return change


def set_array(name: str, to: np.ndarray | None) -> Callable[[dict[str, Any], dict[str, np.ndarray]], None]:
    def change(_: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        arrays.pop(name, None)
        if to is not None:
            arrays[name] = to

    return change


def drop(*keys: str) -> Callable[[dict[str, Any], dict[str, np.ndarray]], None]:
    def change(document: dict[str, Any], _: dict[str, np.ndarray]) -> None:
        place = document
        for key in keys[:-1]:
            place = place[key]
        del place[keys[-1]]

    return change


NAN = np.full((8, 1), np.nan, np.float32)
FAULTS = {
    "version": (set_at("version", to=2), "metadata: unknown format version, expected 1, got 2"),
    "long kernel": (
        set_at("net", "stem", "conv", "weight", "shape", to=[4, 11, 1, 10001]),
        "stem.conv.weight: too large a shape, expected at most [65536, 65536, 49, 49], got [4, 11, 1, 10001]",
    ),
    "no version": (drop("version"), "metadata: no format version, expected 1"),
    "extra entry": (
        set_at("more", to=1),
        "metadata: wrong entries, expected crc32 net version, got crc32 more net version",
    ),
    "checksum": (set_at("crc32", to=7), "wrong checksum, expected 7, got "),
    "no net": (set_at("net", to=None), "net: unknown layer, expected net, got None"),
    "kind": (
        set_at("net", "blocks", 0, "kind", to="x"),
        "blocks.0: unknown layer, expected residual or global_pool or ",
    ),
    "kind is a list": (set_at("net", "stem", "kind", to=[]), "stem: unknown layer, expected stem, got []"),
    "other kind": (set_at("net", "tip", "kind", to="conv"), "tip: unknown layer, expected tip, got 'conv'"),
    "missing field": (drop("net", "policy", "norm"), "policy: missing field 'norm'"),
    "unknown field": (set_at("net", "policy", "gain", to=1), "policy: unknown field 'gain'"),
    "activation": (
        set_at("net", "tip", "activation", to="gelu"),
        "tip.activation: bad value, expected identity or relu or mish or silu, got 'gelu'",
    ),
    "activation is a number": (
        set_at("net", "tip", "activation", to=1),
        "tip.activation: bad value, expected identity",
    ),
    "epsilon is a text": (
        set_at("net", "tip", "norm", "epsilon", to="1"),
        "tip.norm.epsilon: bad value, expected type float",
    ),
    "epsilon infinite": (set_at("net", "tip", "norm", "epsilon", to=float("inf")), "tip.norm.epsilon: bad value"),
    "epsilon huge": (set_at("net", "tip", "norm", "epsilon", to=10**400), "tip.norm.epsilon: bad value"),
    "version is true": (set_at("net", "version", to=True), "version: bad value, expected type int, got True"),
    "unprintable name": (
        set_at("net", "name", to="a\x1b[2J"),
        "name: bad value, expected printable characters, got 'a\\x1b[2J'",
    ),
    "half a character": (
        set_at("net", "name", to="\ud800"),
        "name: bad value, expected printable characters, got '\\ud8",
    ),
    "sizes": (set_at("net", "board_sizes", to=[9]), "board_sizes: bad value, expected a list of 2, got [9]"),
    "blocks": (set_at("net", "blocks", to={}), "blocks: bad value, expected a list, got {}"),
    "provenance": (set_at("net", "provenance", to={"a": 1}), "provenance: bad value, expected texts by name"),
    "array": (set_at("net", "tip", "norm", "mean", to=[4]), "tip.norm.mean: bad array"),
    "shape": (set_at("net", "tip", "norm", "mean", "shape", to=[-4]), "tip.norm.mean: bad array"),
    "declared shape": (
        set_at("net", "tip", "norm", "mean", "shape", to=[5]),
        "tip.norm.mean: wrong shape, expected [5], got [4]",
    ),
    "needed array is null": (set_at("net", "tip", "norm", "mean", to=None), "tip.norm.mean: bad array"),
    "missing tensor": (set_array("tip.norm.mean", None), "tip.norm.mean: missing tensor, expected [4]"),
    "extra tensor": (set_array("zzz", np.zeros(3, np.float32)), "zzz: extra tensor"),
    "misshaped tensor": (
        set_array("tip.norm.mean", np.zeros((2, 2), np.float32)),
        "tip.norm.mean: wrong shape, expected [4], got [2, 2]",
    ),
    "type": (set_array("tip.norm.mean", np.zeros(4)), "tip.norm.mean: bad type, expected F32, got F64"),
    "nan": (
        set_array("tip.norm.mean", np.array([0, np.nan, 0, 0], np.float32)),
        "tip.norm.mean: value 1 is not finite, got nan",
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_faulty_file_gives_one_line_with_file_and_layer(case: str, tmp_path: Path) -> None:
    change, text = FAULTS[case]
    path = tmp_path / "net"
    path.write_bytes(rewritten(change))
    with pytest.raises(WeightsError) as caught:
        native.read(path)
    assert str(caught.value).startswith(f"{path}: {text}")
    assert "\n" not in str(caught.value)
    assert caught.value.file == str(path)


def test_a_field_that_has_a_default_may_be_absent(tmp_path: Path) -> None:
    (tmp_path / "net").write_bytes(rewritten(drop("net", "policy", "pass_activation")))
    assert_equal(native.read(tmp_path / "net"), SMALL)


def test_the_unchanged_rewriting_loads(tmp_path: Path) -> None:
    (tmp_path / "net").write_bytes(rewritten(lambda document, arrays: None))
    assert_equal(native.read(tmp_path / "net"), SMALL)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "truncated, expected 8 bytes of header length, got 0"),
        (b"\x10\0\0", "truncated, expected 8 bytes of header length, got 3"),
        (b"\xff" * 7 + b"\x7f{}", "header too long, expected at most 2 bytes, got 9223372036854775807"),
        ((1 << 30).to_bytes(8, "little") + b"{}", "header too long, expected at most 2 bytes, got 1073741824"),
        ((2).to_bytes(8, "little") + b"{}", "metadata: not a Keima network, expected keima-net, got []"),
        ((2).to_bytes(8, "little") + b"[]", "safetensors: "),
    ],
    ids=["empty", "three bytes", "all ones", "huge header", "no metadata", "no object"],
)
def test_a_file_that_is_no_network_gives_one_line(data: bytes, text: str, tmp_path: Path) -> None:
    (tmp_path / "net").write_bytes(data)
    with pytest.raises(WeightsError) as caught:
        native.read(tmp_path / "net")
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("depth", [100, 100_000])
def test_deeply_nested_metadata_are_refused(depth: int, tmp_path: Path) -> None:
    text = '{"version": 1, "crc32": 0, "net": ' + "[" * depth + "]" * depth + "}"
    (tmp_path / "net").write_bytes(safetensors.numpy.save({}, {native.METADATA_KEY: text}))
    with pytest.raises(WeightsError):
        native.read(tmp_path / "net")


def test_a_huge_declared_header_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "net"
    with path.open("wb") as file:
        file.write((1 << 29).to_bytes(8, "little") + b"{")
        file.truncate(1 << 30)
    tracemalloc.start()
    try:
        with pytest.raises(WeightsError, match="header too long, expected at most 16777216 bytes, got 536870912"):
            native.read(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="absent: cannot be read: No such file"):
        native.read(tmp_path / "absent")
    with pytest.raises(WeightsError, match=f"{tmp_path.name}: cannot be read: "):
        native.read(tmp_path)


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    native.write(SMALL, tmp_path / "whole")
    data = (tmp_path / "whole").read_bytes()
    lengths = {*range(20), len(data) - 1, *(i * len(data) // 200 for i in range(200))}
    assert len(lengths) >= 200
    for length in sorted(lengths):
        (tmp_path / "net").write_bytes(data[:length])
        with pytest.raises(WeightsError) as caught:
            load(tmp_path / "net")
        assert "\n" not in str(caught.value)


def test_a_changed_byte_is_refused_or_harmless(tmp_path: Path) -> None:
    native.write(SMALL, tmp_path / "whole")
    data = (tmp_path / "whole").read_bytes()
    header = 8 + int.from_bytes(data[:8], "little")
    chance = random.Random(0)
    places = [
        *range(64),
        *(chance.randrange(header) for _ in range(600)),
        *(chance.randrange(header, len(data)) for _ in range(200)),
    ]
    loaded = 0
    for place in places:
        changed = bytearray(data)
        changed[place] = chance.choice([changed[place] ^ (1 << chance.randrange(8)), chance.randrange(256)])
        if changed == data:
            continue
        (tmp_path / "net").write_bytes(changed)
        try:
            spec = load(tmp_path / "net")
        except WeightsError as error:
            assert "\n" not in str(error)
        else:
            assert_equal(spec, SMALL)
            loaded += 1
    assert loaded < len(places) // 20


def test_arrays_are_recognized_whatever_numpy_makes_of_their_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    native.write(SMALL, tmp_path / "net")
    found = typing.get_origin
    # Up to NumPy 2.4 an annotation of an array has the origin np.ndarray, from 2.5 on a name of NumPy's.
    monkeypatch.setattr("typing.get_origin", lambda kind: None if kind == Array else found(kind))
    assert load(tmp_path / "net").blocks


def test_a_file_of_another_format_names_what_is_known(tmp_path: Path) -> None:
    (tmp_path / "net").write_bytes(b"\x1f\x8b\x08 and more")
    with pytest.raises(WeightsError) as caught:
        load(tmp_path / "net")
    known = " or ".join(each.name for each in FORMATS)
    got = "bytes 1f 8b 08 20 61 6e 64 20 6d 6f 72 65"
    assert str(caught.value) == f"{tmp_path / 'net'}: byte 0: unknown network format, expected {known}, got {got}"


def test_loading_imports_neither_torch_nor_numba(tmp_path: Path) -> None:
    native.write(SMALL, tmp_path / "net")
    code = (
        "import sys; from weights.registry import load; load(sys.argv[1]); "
        "print(*sorted({'torch', 'numba', 'openvino'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "net")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(native.__file__).parent.parent)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("shape", [(4, 22, 1, 10001), (4, 1 << 17, 1, 1), (1 << 21, 1), (1 << 16, 1 << 16), (1,) * 5])
def test_a_declared_shape_that_no_network_has_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(WeightsError, match=r"^stem: too large"):
        check_shape(shape, "stem")


LITTLE_MEMORY = """
import resource, sys
from pathlib import Path
from engine.nets.spec import WeightsError
from weights.registry import load

load(sys.argv[2])
status = Path("/proc/self/status").read_text().splitlines()
used = 1024 * int(next(line for line in status if "VmSize" in line).split()[1])
limit = used + int(1.5 * Path(sys.argv[1]).stat().st_size)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    load(sys.argv[1])
except WeightsError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the memory of a process as Linux does")
def test_a_network_larger_than_the_memory_left_is_one_line(tmp_path: Path) -> None:
    large, small = tmp_path / "large", tmp_path / "small"
    native.write(random_spec(3, 800, ENCODERS["liberties"], 1), large)
    native.write(SMALL, small)
    command = [sys.executable, "-c", LITTLE_MEMORY, str(large), str(small)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    size = large.stat().st_size
    assert (done.stdout, done.stderr) == (f"{large}: not enough memory to read this network of {size:,} bytes\n", "")
