"""The device and the default precision of training."""

import pytest

pytest.importorskip("torch", reason="torch is not installed")

import engine.train.learning.devices as devices
from engine.train.learning.device_batch import TrainingError
from engine.train.learning.train_config import TrainConfig


@pytest.mark.parametrize(
    ("instructions", "expected"),
    [
        (["avx2", "fma", "avx512f", "avx512vnni"], "fp32"),
        (["avx2", "fma", "avx512f", "avx512bf16"], "bf16"),
        (["avx2", "fma", "avx512f", "amx-tile", "amx-bf16"], "bf16"),
    ],
)
def test_a_cpu_trains_in_bf16_where_it_multiplies_such_numbers(
    instructions: list[str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "instruction_sets", lambda: instructions)
    assert devices.fast_precision("cpu") == expected


def test_a_process_of_several_needs_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(TrainingError, match="device: expected at least 3 GPUs for as many processes, got 2"):
        devices.Devices(TrainConfig(device="cuda"))


def test_a_gpu_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(TrainingError, match=r"device: expected cpu or auto, .* got cuda"):
        devices.Devices(TrainConfig(device="cuda"))
