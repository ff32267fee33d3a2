"""Plain Keras networks: computed as Keras does, bottom row first, and refused where they are something else."""

import io
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.encoders import ENCODERS
from engine.nets.spec import NetSpec, WeightsError
from tests.oracle.naive_net import forward
from tests.positions import batch_of, game_of, random_game
from weights.keras import PASS_LOGIT
from weights.registry import format_of, load

Doubles = NDArray[np.float64]
SIDE = 5
CHANNELS = (6, 4, 5)
HIDDEN = 7
GOLDEN_MOVE, GOLDEN_LOGITS = 18, [-0.260600856, 0.0984063986, 0.119663132]
"""What the made weights of one plane say of the empty board."""


def made_weights(planes: int) -> list[NDArray[np.float32]]:
    """Return kernels and biases as Keras's get_weights() orders and shapes them."""
    draw, inputs, arrays = np.random.default_rng(planes), planes, []
    for outputs, size in zip(CHANNELS, (7, 5, 5), strict=True):
        arrays += [draw.normal(0, 0.2, (size, size, inputs, outputs)), draw.normal(0, 0.2, outputs)]
        inputs = outputs
    arrays += [draw.normal(0, 0.2, (inputs * SIDE * SIDE, HIDDEN)), draw.normal(0, 0.2, HIDDEN)]
    arrays += [draw.normal(0, 0.2, (HIDDEN, SIDE * SIDE)), draw.normal(0, 0.2, SIDE * SIDE)]
    return [array.astype(np.float32) for array in arrays]


def keras(arrays: list[NDArray[np.float32]], planes: Doubles) -> Doubles:
    """Return the logits [H, W] that Keras computes of planes [P, H, W], the bottom row first."""
    x = planes
    for kernel, bias in zip(arrays[:-4:2], arrays[1:-4:2], strict=True):
        edge = len(kernel) // 2
        padded = np.pad(x, ((0, 0), (edge, edge), (edge, edge)))
        x = np.stack(
            [
                [
                    [
                        np.sum(padded[:, r : r + len(kernel), c : c + len(kernel)] * kernel[..., o].transpose(2, 0, 1))
                        for c in range(SIDE)
                    ]
                    for r in range(SIDE)
                ]
                for o in range(len(bias))
            ]
        )
        x = np.maximum(x + bias[:, None, None], 0)
    hidden = np.maximum(x.ravel() @ arrays[-4] + arrays[-3], 0)
    return (hidden @ arrays[-2] + arrays[-1]).reshape(SIDE, SIDE)


def network(folder: Path, arrays: list[NDArray[np.float32]]) -> NetSpec:
    np.savez(folder / "small.npz", *arrays)
    return load(folder / "small.npz")


def logits(spec: NetSpec, moves: str | int) -> tuple[Doubles, Doubles]:
    """Return what a network says, [area + 1], and the planes that it saw, [P, H, W]."""
    game = game_of(moves, SIDE) if isinstance(moves, str) else random_game(moves, SIDE, moves=12)
    encoder = ENCODERS[spec.encoder]
    planes = np.zeros((1, encoder.planes, SIDE, SIDE), np.float32)
    globals_ = np.zeros((1, encoder.globals), np.float32)
    encoder.encode(batch_of([game]), 1, planes, globals_)
    outputs = forward(spec, planes[0], globals_[0])
    return outputs["policy"][0], planes[0].astype(np.float64)


@pytest.mark.parametrize("moves", ["", "C3 D4", 1, 2])
@pytest.mark.parametrize("planes", [1, 7])
def test_logits_are_those_of_keras(planes: int, moves: str | int, tmp_path: Path) -> None:
    arrays = made_weights(planes)
    found, seen = logits(network(tmp_path, arrays), moves)
    theirs = seen if planes == 1 else seen[1:8]
    expected = keras(arrays, theirs[:, ::-1])[::-1]
    np.testing.assert_allclose(found[:-1], expected.ravel(), atol=1e-5)
    assert found[-1] == PASS_LOGIT


def test_the_empty_board_has_its_golden_answer(tmp_path: Path) -> None:
    found, _ = logits(network(tmp_path, made_weights(1)), "")
    assert int(found.argmax()) == GOLDEN_MOVE
    np.testing.assert_allclose(found[:3], GOLDEN_LOGITS, atol=1e-5)


def test_the_file_is_known_by_its_content_and_knows_no_value(tmp_path: Path) -> None:
    spec = network(tmp_path, made_weights(7))
    assert format_of(tmp_path / "small.npz").name == "Keras network (npz)"
    assert (spec.encoder, spec.board_sizes) == ("liberties", (SIDE, SIDE))
    planes = np.zeros((11, SIDE, SIDE), np.float32)
    assert forward(spec, planes, np.zeros(3, np.float32))["result"].tolist() == [0.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda arrays: arrays[:-2], "not a plain network"),
        (lambda arrays: [*arrays[:-1], arrays[-1][:-1]], "wrong shape"),
        (lambda arrays: [np.zeros((3, 3, 2, 6), np.float32), *arrays[1:]], "unknown input planes"),
        (lambda arrays: [*arrays[:-2], arrays[-2][:, :24], arrays[-1][:24]], "not a square board"),
        (lambda arrays: [arrays[0], arrays[1][:-1], *arrays[2:]], "layers do not fit"),
        (lambda arrays: [arrays[0].astype(np.int32), *arrays[1:]], "bad type"),
        (lambda arrays: [np.array([{}], dtype=object), *arrays[1:]], "bad type"),
    ],
)
def test_what_is_no_such_network_is_refused(change: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=message) as caught:
        network(tmp_path, change(made_weights(1)))  # type: ignore[operator]
    assert "small.npz" in str(caught.value)


def zipped(content: bytes, method: int = zipfile.ZIP_STORED) -> bytes:
    """Return a zip file whose one member is named as the first array."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("arr_0.npy", content)
    return buffer.getvalue()


def array_file(header: bytes) -> bytes:
    """Return the .npy file of an array without its numbers."""
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header


def poked(data: bytes, **places: int) -> bytes:
    """Return a zip file of one member with other fields of its two headers."""
    changed, end = bytearray(data), data.rindex(b"PK\x01\x02")
    for name, value in places.items():
        local, central = {"flags": (6, 8), "method": (8, 10)}[name]
        changed[local] = changed[end + central] = value
    return bytes(changed)


HUGE = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,), }\n"
PACKED = zipped(bytes(1000), zipfile.ZIP_DEFLATED)


@pytest.mark.parametrize(
    "data",
    [
        zipped(b"")[:-30],
        zipped(b"no array"),
        zipped(array_file(b"((((")),
        poked(zipped(array_file(HUGE)), flags=1),
        poked(zipped(array_file(HUGE)), method=99),
        PACKED[:39] + b"\xff\xff" + PACKED[41:],
    ],
    ids=["cut off", "no array", "brackets", "encrypted", "unknown method", "deflated wrongly"],
)
def test_a_damaged_file_is_refused_in_one_line(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "small.npz").write_bytes(data)
    with pytest.raises(WeightsError, match=r"small\.npz: damaged or incomplete \([0-9,]+ bytes\): npz: ") as caught:
        load(tmp_path / "small.npz")
    assert "\n" not in str(caught.value)


def test_an_array_larger_than_memory_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "small.npz"
    path.write_bytes(zipped(array_file(HUGE)))
    assert "arr_0: too large a shape" in refused_in_little_memory(path)


def test_other_zip_files_are_no_networks(tmp_path: Path) -> None:
    np.savez(tmp_path / "samples.npz", planes=np.zeros(3, np.float32))
    with pytest.raises(WeightsError, match="unknown network format"):
        load(tmp_path / "samples.npz")


def saved(folder: Path, arrays: list[NDArray[np.float32]]) -> Path:
    np.savez_compressed(folder / "net.npz", *arrays)
    return folder / "net.npz"


def refused_in_little_memory(path: Path) -> str:
    tracemalloc.start()
    try:
        with pytest.raises(WeightsError) as caught:
            load(path)
        assert tracemalloc.get_traced_memory()[1] < 80 << 20
    finally:
        tracemalloc.stop()
    return str(caught.value)


def test_a_compressed_size_bomb_is_refused(tmp_path: Path) -> None:
    arrays = made_weights(1)
    arrays[-4] = np.zeros((5 * SIDE * SIDE, 200_000), dtype=np.float32)
    path = saved(tmp_path, arrays)
    assert path.stat().st_size < 1 << 20
    assert "too long when unpacked, expected at most " in refused_in_little_memory(path)


def test_a_small_file_of_wide_layers_is_refused(tmp_path: Path) -> None:
    kernels = [(1, 1, 1, 1 << 16), (1, 1, 1 << 16, 1), (1, 1, 1, 1)]
    arrays = [each for shape in kernels for each in (np.ones(shape, np.float32), np.ones(shape[3], np.float32))]
    path = saved(tmp_path, [*arrays, *made_weights(1)[-4:]])
    assert "too large, expected at most 1073741824 bytes" in refused_in_little_memory(path)


def test_a_kernel_wider_than_any_board_is_refused(tmp_path: Path) -> None:
    arrays = [np.ones((1, 10001, 1, 1), np.float32), *made_weights(1)[1:]]
    assert "arr_0: too large a shape" in refused_in_little_memory(saved(tmp_path, arrays))


def test_an_array_shorter_than_declared_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.npz"
    path.write_bytes(zipped(array_file(b"{'descr': '<f4', 'fortran_order': False, 'shape': (60000, 60000), }")))
    assert "arr_0" in refused_in_little_memory(path)


def test_too_little_memory_to_read_a_network_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    path = saved(tmp_path, made_weights(1))
    monkeypatch.setattr("weights.keras._net", fail)
    with pytest.raises(WeightsError, match=r"not enough memory to read this network of [0-9,]+ bytes$"):
        load(path)
