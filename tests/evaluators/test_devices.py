"""Devices that fail as real ones do are named in one line, and the next best device computes.

No GPU or NPU is needed: stand-ins raise the frameworks' errors.
"""

import logging
import sys
import time
from collections.abc import Callable

import pytest

from engine.errors import GoError
from engine.evaluators import backends, devices
from engine.evaluators.backends import make_backend
from engine.evaluators.network import Slot, slot_memory
from engine.nets.spec import NetSpec
from tests.nets.examples import EXAMPLES

SPEC = EXAMPLES["softmax silu"]
OUT_OF_MEMORY = "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 11.00 MiB"
DRIVER_ERROR = "CUDA error: no kernel image is available for execution on the device"
NO_LIBRARY = 'Cannot load library "libopenvino_intel_gpu_plugin.so": libOpenCL.so.1: cannot open shared object file'
PLACES = (
    "Exception from src/inference/src/cpp/core.cpp:117:\n"
    "Check 'false' failed at src/plugins/intel_gpu/src/plugin/program_builder.cpp:176:\n"
    "VCL compiler loading failed, aborting. Error: Exception from src/plugins/intel_npu/src/utils/vcl_api.cpp:22:\n"
)
LEVEL_ZERO = "[GPU] ZE_RESULT_ERROR_DEVICE_LOST\nsecond line"


class StandIn:
    """A backend that computes zeros, slowly if asked to, or fails in its first call.

    work: seconds of a call; outputs: the number that it writes.
    """

    def __init__(self, name: str, error: Exception | None = None, work: float = 0.0, outputs: float = 0.0) -> None:
        self.name, self._error, self._work, self._outputs = name, error, work, outputs
        self.parallel, self.preferred_batch, self.max_batch = 1, 2, 2
        self.board_bytes = self.model_bytes = 0
        self.is_closed, self.calls = False, 0

    def prepare(self, width: int, height: int) -> None:
        """Do nothing."""

    def slots(self, width: int, height: int) -> list[Slot]:
        """Return one slot."""
        return [Slot(*slot_memory(SPEC, 2, width, height))]

    def infer(self, slot: Slot, count: int) -> None:
        """Fail, or write the outputs."""
        self.calls += 1
        time.sleep(self._work)
        if self._error is not None:
            raise self._error
        for each in slot.outputs:
            each[:] = self._outputs

    def close(self) -> None:
        """Remember that it was closed."""
        self.is_closed = True


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, StandIn]]:
    """Return a function that pretends which devices are here; it returns their backends, and "cpu"'s, by device."""

    def pretend(**made: StandIn | Exception) -> dict[str, StandIn]:
        names = {"gpu": "gpu", "openvino_gpu": "openvino:GPU", "openvino_npu": "openvino:NPU"}
        by_device = {names.get(name, name): each for name, each in made.items()}
        by_device.setdefault("cpu", StandIn("cpu"))

        def create(spec: NetSpec, device: str, *_: object) -> StandIn:
            found = by_device.get(device, GoError("there is none"))
            if isinstance(found, Exception):
                raise found
            return found

        monkeypatch.setattr(backends, "backend_on", create)
        monkeypatch.setattr(backends, "accelerators", lambda: [each for each in by_device if each != "cpu"])
        return {name: each for name, each in by_device.items() if isinstance(each, StandIn)}

    return pretend


@pytest.mark.parametrize(
    ("failure", "line"),
    [
        (RuntimeError(OUT_OF_MEMORY), OUT_OF_MEMORY),
        (RuntimeError(LEVEL_ZERO), "[GPU] ZE_RESULT_ERROR_DEVICE_LOST"),
        (RuntimeError(f"{PLACES}{NO_LIBRARY}\n\n"), NO_LIBRARY),
        (RuntimeError(PLACES), PLACES.partition("\n")[0]),
        (MemoryError(), "MemoryError"),
        (OSError("libcuda.so.1: cannot open shared object file"), "libcuda.so.1: cannot open shared object file"),
        (GoError("PyTorch finds no GPU here"), "PyTorch finds no GPU here"),
    ],
)
@pytest.mark.parametrize("when", ["created", "first batch"])
def test_a_device_that_fails_is_named_in_one_line_and_the_cpu_computes(
    machine, caplog: pytest.LogCaptureFixture, failure: Exception, line: str, when: str
) -> None:
    made = machine(gpu=failure if when == "created" else StandIn("gpu", failure))
    assert make_backend(SPEC, device="gpu") is made["cpu"]
    warned = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert warned == [f"gpu does not compute network {SPEC.name}: {line}; trying cpu"]
    assert all(each.is_closed for name, each in made.items() if name != "cpu")
    assert not made["cpu"].is_closed


def test_auto_takes_the_device_that_computes_the_first_batches_fastest(machine) -> None:
    made = machine(
        gpu=StandIn("gpu", work=0.02), openvino_gpu=StandIn("igpu", work=0.001), cpu=StandIn("cpu", work=0.01)
    )
    assert make_backend(SPEC) is made["openvino:GPU"]
    assert [name for name, each in made.items() if each.is_closed] == ["gpu", "cpu"]
    made = machine(gpu=StandIn("gpu", work=0.02), cpu=StandIn("cpu", work=0.001))
    assert make_backend(SPEC) is made["cpu"]


def test_auto_leaves_out_devices_that_fail(machine, caplog: pytest.LogCaptureFixture) -> None:
    made = machine(
        gpu=StandIn("gpu", RuntimeError(DRIVER_ERROR)),
        openvino_gpu=StandIn("igpu", work=0.001),
        openvino_npu=RuntimeError("NPU compiler is not found"),
        cpu=StandIn("cpu", work=0.01),
    )
    assert make_backend(SPEC) is made["openvino:GPU"]
    assert [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING] == [
        f"gpu does not compute network {SPEC.name}: {DRIVER_ERROR}",
        f"openvino:NPU does not compute network {SPEC.name}: NPU compiler is not found",
    ]
    made = machine(gpu=RuntimeError(DRIVER_ERROR))
    assert make_backend(SPEC) is made["cpu"]


def test_a_device_on_which_numbers_overflow_is_not_used(machine, caplog: pytest.LogCaptureFixture) -> None:
    made = machine(openvino_npu=StandIn("openvino-npu-fp16", outputs=float("inf")))
    assert make_backend(SPEC, device="openvino:NPU") is made["cpu"]
    assert "numbers overflow in fp16; trying cpu" in caplog.text


def test_on_a_machine_with_the_cpu_alone_nothing_is_measured(machine) -> None:
    made = machine()
    assert make_backend(SPEC) is made["cpu"]
    assert make_backend(SPEC, device="cpu") is made["cpu"]
    assert made["cpu"].calls == 0


def test_if_the_cpu_fails_too_its_error_is_raised(machine) -> None:
    for device in ("auto", "gpu"):
        machine(gpu=RuntimeError(DRIVER_ERROR), cpu=GoError("nothing computes this"))
        with pytest.raises(GoError, match="nothing computes this"):
            make_backend(SPEC, device=device)


@pytest.mark.parametrize(
    ("device", "backend", "message"),
    [
        ("gpu", "numba", "--device gpu needs --backend torch, not numba"),
        ("openvino:NPU", "torch", "--device openvino:NPU needs --backend openvino, not torch"),
        ("tpu", "auto", "unknown device 'tpu', expected auto or cpu or gpu"),
    ],
)
def test_devices_that_a_backend_does_not_have_are_refused(device: str, backend: str, message: str) -> None:
    with pytest.raises(GoError, match=message):
        make_backend(SPEC, backend, device=device)


@pytest.mark.parametrize(
    ("device", "precision", "others"),
    [
        ("gpu", "int8", "fp32 or bf16 or fp16"),
        ("gpu", "int16", "fp32 or bf16 or fp16"),
        ("openvino:GPU", "bf16", "fp16 or fp32"),
        ("openvino:NPU", "int8", "fp16 or fp32"),
    ],
)
def test_a_precision_that_no_such_device_computes_is_refused(
    machine, caplog: pytest.LogCaptureFixture, device: str, precision: str, others: str
) -> None:
    machine()
    expected = f"--device {device} does not compute in {precision}: choose {others}, or --device cpu"
    with pytest.raises(GoError, match=f"^{expected}$"):
        make_backend(SPEC, precision=precision, device=device)
    assert caplog.messages == []


def test_auto_does_not_try_devices_that_do_not_compute_in_the_precision(
    machine, caplog: pytest.LogCaptureFixture
) -> None:
    made = machine(gpu=GoError("tried"), openvino_gpu=GoError("tried"))
    assert make_backend(SPEC, precision="int8") is made["cpu"]
    assert caplog.messages == []
    machine(gpu=GoError("tried"), openvino_gpu=GoError("not tried"))
    make_backend(SPEC, precision="bf16")
    assert caplog.messages == [f"gpu does not compute network {SPEC.name}: tried"]


def test_a_gpu_is_found_by_the_names_that_torch_has_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(devices, "has_other_gpu", lambda: True)
    assert devices.torch_device() in (None, "cuda")
    for name, module in (("mps", torch.backends.mps), ("xpu", torch.xpu), ("cuda", torch.cuda)):
        monkeypatch.setattr(module, "is_available", lambda: True)
        assert devices.torch_device() == name
        assert backends.has_gpu()


def test_without_signs_of_a_gpu_torch_is_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "has_nvidia_gpu", lambda: False)
    monkeypatch.setattr(devices, "has_other_gpu", lambda: False)
    monkeypatch.setitem(sys.modules, "engine.evaluators.torch_backend", None)
    assert devices.torch_device() is None


def test_a_framework_that_does_not_start_is_named_and_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("torch")
    from engine.evaluators import torch_backend

    def fail() -> None:
        raise RuntimeError("The NVIDIA driver on your system is too old (found version 11040).\nPlease update")

    monkeypatch.setattr(devices, "has_nvidia_gpu", lambda: True)
    monkeypatch.setattr(torch_backend, "accelerator", fail)
    assert devices.torch_device() is None
    assert caplog.messages == [
        "PyTorch does not start: The NVIDIA driver on your system is too old (found version 11040)."
    ]


def test_openvino_devices_are_listed_by_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openvino")
    from engine.evaluators import openvino_backend

    monkeypatch.setattr(devices, "has_openvino_device", lambda: True)
    monkeypatch.setattr(openvino_backend, "devices", lambda: ("CPU", "GPU.0", "GPU.1", "NPU"))
    assert devices.openvino_devices() == ["openvino:GPU", "openvino:NPU"]


def test_the_real_frameworks_fail_as_the_stand_ins_do(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("openvino")
    if devices.accelerators():
        pytest.skip("there is a GPU or NPU here")
    for device in ("gpu", "openvino:GPU", "openvino:NPU"):
        caplog.clear()
        made = make_backend(SPEC, precision="fp32", threads=1, device=device)
        assert "-cpu-" in made.name
        made.close()
        warned = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
        assert len(warned) == 1
        reason = warned[0].removeprefix(f"{device} does not compute network {SPEC.name}: ")
        assert reason != warned[0]
        # OpenVINO's messages begin with lines that end with where in its source the error was raised.
        assert not reason.endswith(":"), reason
