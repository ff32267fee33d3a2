"""Arrays of a large network lie in a file without a name: they are the same, and leave memory once they were used."""

import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import keima
from engine.encoders import ENCODERS
from engine.nets.random import random_spec
from engine.nets.spec import NetSpec, tensors
from engine.support.installation import user_cache
from weights import array_file, native
from weights.array_file import free_pages, in_file
from weights.sized import write_sized


@pytest.fixture
def network() -> NetSpec:
    return random_spec(2, 24, ENCODERS["katago-v7"], 3)


@pytest.fixture
def all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_file, "LARGE", 0)


@pytest.mark.usefixtures("all_are_large")
def test_arrays_in_a_file_are_the_same_also_after_their_pages_are_freed(tmp_path: Path, network: NetSpec) -> None:
    mapped = in_file(network, tmp_path / "cache")
    for _ in range(2):
        for (path, array), (place, found) in zip(tensors(network), tensors(mapped), strict=True):
            assert path == place
            assert not found.flags.writeable
            assert found.ctypes.data % 64 == 0
            np.testing.assert_array_equal(array, found)
        free_pages(mapped)
    assert list((tmp_path / "cache").iterdir()) == [], "the file has no name, so nothing is left of it"


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
@pytest.mark.usefixtures("all_are_large")
def test_freed_pages_are_no_memory_of_the_process(tmp_path: Path) -> None:
    mapped = in_file(random_spec(6, 256, ENCODERS["katago-v7"], 1), tmp_path)
    size = sum(array.nbytes for _, array in tensors(mapped))
    before = _file_bytes()
    free_pages(mapped)
    assert before - _file_bytes() > 0.9 * size


def _file_bytes() -> int:
    """Return how much of the files that this process maps is in its memory, those on a tmpfs among them."""
    found = re.findall(r"(?:RssFile|RssShmem):\s+(\d+)", Path("/proc/self/status").read_text())
    return 1024 * sum(map(int, found))


@pytest.mark.parametrize("backend", ["numba", "openvino", "torch"])
def test_a_network_in_a_file_answers_the_same_on_every_board(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, network: NetSpec, backend: str
) -> None:
    if backend != "numba":
        pytest.importorskip(backend)
    monkeypatch.setenv("KEIMA_CACHE", str(user_cache() or tmp_path))
    file, freed = tmp_path / "net.safetensors", list[NetSpec]()
    native.write(network, file)
    write_sized(file, network.name, {(7, 7): network})
    in_memory = _policies(file, backend)
    monkeypatch.setattr(array_file, "LARGE", 0)
    module = importlib.import_module(f"engine.evaluators.{'kernel' if backend == 'numba' else backend}_backend")
    monkeypatch.setattr(module, "free_pages", lambda spec: (freed.append(spec), free_pages(spec)))
    np.testing.assert_array_equal(_policies(file, backend), in_memory)
    assert {spec.name for spec in freed} == {network.name, f"{network.name}-7x7"}
    assert not any(array.flags.writeable for spec in freed for _, array in tensors(spec)), "they are in a file"


def _policies(file: Path, backend: str) -> np.ndarray:
    with keima.load_network(file, backend=backend, precision="fp32", threads=1) as network:
        return np.concatenate([np.ravel(network.evaluate(keima.Game(side)).policy) for side in (9, 7, 9)])


@pytest.mark.usefixtures("all_are_large")
def test_without_room_for_a_file_the_arrays_stay_in_memory(tmp_path: Path, network: NetSpec) -> None:
    no_folder = tmp_path / "a file"
    no_folder.write_text("")
    assert in_file(network, no_folder / "cache") is network
    assert in_file(network, None) is network
    free_pages(network)


def test_a_small_network_stays_in_memory(tmp_path: Path, network: NetSpec) -> None:
    assert in_file(network, tmp_path) is network
