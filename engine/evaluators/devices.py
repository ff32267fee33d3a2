"""The devices that compute networks: the CPU, GPUs by torch, GPUs and NPUs by OpenVINO.

A framework is imported only where there are signs of such a device: a machine without one never waits for torch.
"""

import ctypes
import importlib.util
import logging
import platform
import re
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from engine.errors import GoError
from engine.evaluators.backend_speed import positions_per_second
from engine.evaluators.calibration import calibration_inputs
from engine.evaluators.network import Backend
from engine.nets.spec import NetSpec

AUTO, CPU, GPU = "auto", "cpu", "gpu"
OPENVINO = "openvino:"
"""Before OpenVINO's name of a device."""
DEVICES = (AUTO, CPU, GPU, f"{OPENVINO}GPU", f"{OPENVINO}NPU")

_FAILURES = (GoError, RuntimeError, MemoryError, OSError, ImportError, ValueError)
"""What frameworks raise for devices that are absent or out of memory and for errors of drivers."""
_SOURCE_LINE = re.compile(r"(.*Exception from|Check '.*' failed at) .+:\d+:?")
"""A line of OpenVINO's messages that ends with where in its source the error was raised; the reason comes after it."""
_SIDE = 19
"""Side of the board for the trial, if the network supports it."""
_SECONDS = 0.2
"""Time in which the speed of a device is measured."""
_LOG = logging.getLogger(__name__)


def _has_library(name: str, windows: str) -> bool:
    try:
        ctypes.CDLL(windows if sys.platform == "win32" else name)
    except OSError:
        return False
    return True


def has_nvidia_gpu() -> bool:
    """Return whether CUDA's driver has a device."""
    return nvidia_gpus() > 0


def nvidia_gpus() -> int:
    """Return the number of devices of CUDA's driver."""
    # Asks the driver: importing torch takes far longer, and without a device it would be in vain.
    try:
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return 0
    devices = ctypes.c_int(0)
    is_ready = driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(devices)) == 0
    return devices.value if is_ready else 0


def has_other_gpu() -> bool:
    """Return whether there are signs of a GPU that torch may use by ROCm, oneAPI or Metal."""
    if sys.platform == "darwin":
        return platform.machine() == "arm64"
    return Path("/dev/kfd").exists() or _has_library("libze_loader.so.1", "ze_loader.dll")


def has_openvino_device() -> bool:
    """Return whether there are signs of a GPU or NPU that OpenVINO may use."""
    if sys.platform == "win32":
        return True
    return any(any(Path("/dev").glob(pattern)) for pattern in ("dri/renderD*", "accel/accel*"))


def is_installed(name: str) -> bool:
    """Return whether a Python package is installed."""
    return importlib.util.find_spec(name) is not None


def torch_device() -> str | None:
    """Return torch's name of the GPU that it can use, or None: "cuda" (also ROCm), "xpu" or "mps"."""
    if not is_installed("torch") or not (has_nvidia_gpu() or has_other_gpu()):
        return None
    try:
        from engine.evaluators.torch_backend import accelerator

        return accelerator()
    except _FAILURES as error:
        _LOG.warning("PyTorch does not start: %s", first_line(error))
        return None


def openvino_devices() -> list[str]:
    """Return those of `DEVICES` that OpenVINO has a driver for."""
    if not is_installed("openvino") or not has_openvino_device():
        return []
    try:
        from engine.evaluators.openvino_backend import devices

        found = devices()
    except _FAILURES as error:
        _LOG.warning("OpenVINO does not start: %s", first_line(error))
        return []
    kinds = dict.fromkeys(name.partition(".")[0] for name in found)
    return [each for each in DEVICES if each.startswith(OPENVINO) and each.removeprefix(OPENVINO) in kinds]


def accelerators() -> list[str]:
    """Return those of `DEVICES` that are here, without the CPU."""
    return [*([GPU] if torch_device() is not None else []), *openvino_devices()]


def first_line(error: BaseException) -> str:
    """Return the first line of a framework's message that gives a reason, or the name of the error."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if not _SOURCE_LINE.fullmatch(line)), (lines or [type(error).__name__])[0])


def first_working(spec: NetSpec, devices: Sequence[str], make: Callable[[str], Backend]) -> Backend:
    """Return the backend of the first device that computes a batch of the network; warn of each that does not.

    The CPU is not tried. devices: at least one. Raises what the last device raises.
    """
    for device, following in pairwise(devices):
        try:
            return _tried(spec, device, make)
        except _FAILURES as error:
            _warn(spec, device, error, f"; trying {following}")
    return _tried(spec, devices[-1], make)


def fastest(spec: NetSpec, devices: Sequence[str], make: Callable[[str], Backend]) -> Backend:
    """Return the backend of the device that computes the first batches fastest; warn of each that fails.

    Raises what the last device raises, which is the CPU.
    """
    best, best_speed = None, 0.0
    for device in devices:
        try:
            backend = _tried(spec, device, make)
            try:
                side = _side(spec)
                speed = positions_per_second(backend, side, side, _SECONDS, backend.preferred_batch)
            except _FAILURES:
                backend.close()
                raise
        except _FAILURES as error:
            if best is None and device == devices[-1]:
                raise
            _warn(spec, device, error, "")
            continue
        _LOG.info("%s computes %.0f positions/s of %s", device, speed, spec.name)
        slower, best = (best, backend) if speed > best_speed else (backend, best)
        best_speed = max(speed, best_speed)
        if slower is not None:
            slower.close()
    assert best is not None
    return best


def _warn(spec: NetSpec, device: str, error: BaseException, then: str) -> None:
    _LOG.warning("%s does not compute network %s: %s%s", device, spec.name, first_line(error), then)


def _side(spec: NetSpec) -> int:
    smallest, largest = spec.board_sizes
    return max(smallest, min(largest, _SIDE))


def _tried(spec: NetSpec, device: str, make: Callable[[str], Backend]) -> Backend:
    """Return the backend of a device after it computed a full batch of positions. Raises what it raises."""
    backend = make(device)
    if device == CPU:
        return backend
    try:
        side = _side(spec)
        slot = backend.slots(side, side)[0]
        planes, globals_ = calibration_inputs(spec, side, side)
        rows = len(slot.planes)
        slot.planes[:], slot.globals[:] = np.resize(planes, slot.planes.shape), np.resize(globals_, slot.globals.shape)
        backend.infer(slot, rows)
        if not all(np.isfinite(each).all() for each in slot.outputs):
            raise GoError(f"numbers overflow in {backend.name.rpartition('-')[2]}")
    except _FAILURES:
        backend.close()
        raise
    return backend
