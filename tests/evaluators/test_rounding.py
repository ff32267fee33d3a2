"""What int8 takes of a network: compared before it is used, and found out once where that takes long."""

import io
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.encoders import ENCODERS
from engine.evaluators.network import NetworkEvaluator
from engine.nets.random import random_spec
from engine.nets.spec import NetSpec, WeightsError
from tests.evaluators.naive_backend import evaluated
from tests.nets.examples import EXAMPLES
from tests.positions import batch_of, random_game

pytest.importorskip("openvino", reason="openvino is not installed")

import engine.evaluators.openvino_backend as backend_module
import engine.evaluators.rounding as rounding_module
import engine.evaluators.rounding_loss as loss_module
from engine.evaluators import kept_ranges
from engine.evaluators.openvino_backend import OpenVinoBackend
from engine.evaluators.rounding import Rounding
from engine.evaluators.rounding_loss import Answers, Loss, loss_between
from engine.nets.openvino_graph.model import build_model
from engine.nets.openvino_graph.runtime import openvino

SPEC = random_spec(3, 32, ENCODERS["liberties"], 9, pool_every=2)
POSITIONS = batch_of([random_game(seed, 9, moves=60) for seed in range(8)])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of what is kept, where everything is worth keeping."""
    monkeypatch.setenv("KEIMA_CACHE", str(tmp_path))
    monkeypatch.setattr(rounding_module, "WORTH_KEEPING", 0.0)
    return tmp_path / "ranges"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The precisions of all models that a backend compiles, on a CPU for which int8 is the fastest."""
    hints: list[str] = []
    monkeypatch.setattr(backend_module, "precisions", lambda: ("fp32", "int8"))
    original = OpenVinoBackend._compiled

    def record(self: OpenVinoBackend, graph: Any, precision: Any, batch: int, **properties: Any) -> Any:
        hints.append(precision)
        return original(self, graph, precision, batch, **properties)

    monkeypatch.setattr(OpenVinoBackend, "_compiled", record)
    return hints


def evaluations(precision: Any = None, spec: NetSpec = SPEC) -> np.ndarray:
    """Return the policies of some positions by a network in a precision, that which is chosen by itself if None."""
    evaluator = NetworkEvaluator(spec, OpenVinoBackend(spec, precision, threads=1, emulate=True))
    policy = evaluated(evaluator, POSITIONS).policy.copy()
    evaluator.close()
    return policy


def compile_exact(model: Any) -> Any:
    return openvino.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})


def measure() -> None:
    """Measure the network, or take what is known of it."""
    Rounding(SPEC, build_model(SPEC, 8, 9, 9), 9, 9, compile_exact, compares=False)


def test_loss_is_the_mean_of_what_changes_in_winrates_and_policy() -> None:
    even, sure = np.log([[0.5, 0.5]]), np.log([[0.9, 0.1]])
    exact, rounded = (Answers(each[:, None].astype(np.float32), each.astype(np.float32)) for each in (even, sure))
    assert loss_between(exact, exact) == (0.0, 0.0)
    assert loss_between(exact, rounded) == pytest.approx((0.4, 0.5 * np.log(0.5 / 0.9) + 0.5 * np.log(0.5 / 0.1)))


def test_a_network_with_tanh_is_compared_by_its_winrate() -> None:
    policy = np.zeros((2, 1, 5), np.float32)
    exact, rounded = (Answers(policy, np.array([[0.0], [value]], np.float32)) for value in (0.0, 20.0))
    assert loss_between(exact, rounded) == pytest.approx((0.25, 0.0))


def test_answers_that_are_no_numbers_are_a_large_loss() -> None:
    assert Loss(0.01, 0.01).is_small
    assert not Loss(0.01, 0.03).is_small
    assert not Loss(0.03, 0.01).is_small
    assert not Loss(float("nan"), 0.01).is_small


def test_a_network_that_loses_little_is_computed_in_int8(compiled: list[str], folder: Path) -> None:
    assert np.array_equal(evaluations(), evaluations("int8"))
    assert not np.array_equal(evaluations(), evaluations("fp32"))


def test_a_network_that_loses_much_is_computed_in_the_next_precision(
    compiled: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(loss_module, "MOST_LOST", 1e-9)
    with caplog.at_level(logging.WARNING):
        first = evaluations()
    assert "is computed in fp32 on 9x9: int8 would change winrates by 0.0" in caplog.text
    assert compiled[:3] == ["fp32", "int8", "fp32"]
    compiled.clear()
    again = evaluations()
    assert set(compiled) == {"fp32"}
    assert np.array_equal(first, evaluations("fp32"))
    assert np.array_equal(first, again)


def test_int8_is_taken_as_it_is_where_somebody_wants_it(
    compiled: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = evaluations("int8")
    monkeypatch.setattr(loss_module, "MOST_LOST", 1e-9)
    evaluations()
    assert np.array_equal(evaluations("int8"), usual)


def test_what_took_long_to_find_out_is_found_out_once(compiled: list[str], folder: Path) -> None:
    first = evaluations()
    assert compiled.count("fp32") == 1
    assert len(list(folder.iterdir())) == 1
    compiled.clear()
    assert np.array_equal(evaluations(), first)
    assert "fp32" not in compiled


def test_what_was_measured_for_int8_alone_is_compared_when_it_is_chosen(compiled: list[str], folder: Path) -> None:
    evaluations("int8")
    compiled.clear()
    evaluations()
    assert compiled.count("fp32") == 1
    compiled.clear()
    evaluations("int8")
    assert "fp32" not in compiled


def test_another_network_and_another_board_have_files_of_their_own(folder: Path) -> None:
    other = random_spec(3, 32, ENCODERS["liberties"], 10, pool_every=2)
    for spec, width, height in ((SPEC, 9, 9), (SPEC, 9, 8), (other, 9, 9), (EXAMPLES["human"], 9, 9)):
        for _ in range(2):
            Rounding(spec, build_model(spec, 8, width, height), width, height, compile_exact, compares=False)
    assert len(list(folder.iterdir())) == 4


def with_fewer_ranges(whole: bytes) -> bytes:
    """Return a file without its last range."""
    with np.load(io.BytesIO(whole)) as arrays:
        kept = {name: arrays[name] for name in arrays.files[:-1]}
    buffer = io.BytesIO()
    np.savez(buffer, **kept)
    return buffer.getvalue()


def with_entry(whole: bytes, place: int, value: int) -> bytes:
    """Return a file with another byte in the archive's entry of its first array."""
    changed = bytearray(whole)
    changed[whole.index(b"PK\x01\x02") + place] = value
    return bytes(changed)


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut off": lambda whole: whole[:-40],
    "no archive": lambda _: b"PK\x03\x04",
    "no array": lambda _: b"\x93NUMPY garbage",
    "garbage": lambda _: b"garbage",
    "encrypted": lambda whole: with_entry(whole, 8, 1),
    "unknown method": lambda whole: with_entry(whole, 10, 99),
    "fewer ranges": with_fewer_ranges,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_written_anew(damage: str, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    measure()
    [file] = folder.iterdir()
    whole = file.read_bytes()
    damaged = DAMAGES[damage](whole)
    assert damaged != whole
    file.write_bytes(damaged)
    with caplog.at_level(logging.WARNING):
        measure()
    assert f"{file} is damaged" in caplog.text
    assert file.read_bytes() == whole


def test_a_damaged_file_is_removed_where_measuring_again_is_quick(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure()
    [file] = folder.iterdir()
    file.write_bytes(b"garbage")
    monkeypatch.setattr(rounding_module, "WORTH_KEEPING", 3600.0)
    measure()
    assert list(folder.iterdir()) == []


def test_a_folder_that_cannot_be_read_stops_nobody(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEIMA_CACHE", str(folder / ("a name too long" * 20)))
    measure()


def test_numbers_that_are_not_finite_are_the_networks_fault(folder: Path) -> None:
    conv = SPEC.stem.conv
    hot = replace(SPEC, stem=replace(SPEC.stem, conv=replace(conv, weight=np.full_like(conv.weight, 3e37))))
    with pytest.raises(WeightsError, match=r"network .* on 9x9 computes numbers that are not finite"):
        evaluations("int8", hot)
    assert not folder.exists()


def test_only_the_newest_files_stay(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_ranges, "MOST_FILES", 2)
    found = []
    for side in (7, 8, 9):
        Rounding(SPEC, build_model(SPEC, 8, side, side), side, side, compile_exact, compares=False)
        found.append(set(folder.iterdir()))
    assert [len(each) for each in found] == [1, 2, 2]
    assert found[0].isdisjoint(found[2])


def test_nothing_is_kept_where_it_was_found_out_quickly_or_cannot_be_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write_text("a file where the folder should be")
    measure()
    folder.unlink()
    monkeypatch.setattr(rounding_module, "WORTH_KEEPING", 3600.0)
    measure()
    assert not folder.exists()
