"""Chooses the backend of a network: OpenVINO or Keima's own kernels on the CPU, or a framework on another device.

A framework is imported only when it is chosen: a machine without a GPU never waits for torch.
"""

import logging
from collections.abc import Mapping
from types import MappingProxyType
from typing import get_args

from engine.errors import GoError
from engine.evaluators.devices import (
    CPU,
    DEVICES,
    GPU,
    OPENVINO,
    accelerators,
    fastest,
    first_working,
    is_installed,
    torch_device,
)
from engine.evaluators.measured_choice import remembered
from engine.evaluators.network import OPENVINO_PRECISIONS, Backend, NetworkEvaluator, Precision
from engine.evaluators.sized_backend import SizedBackend, require_same_use
from engine.nets.spec import NetSpec
from weights.sized import Size, text_of

AUTO = "auto"
"""Choose the fastest on this machine."""
BACKENDS = (AUTO, "numba", "openvino", "torch")
PRECISIONS = (AUTO, *get_args(Precision))
INSTALL = {
    "openvino": "make install, or pip install openvino",
    "torch": "make install EXTRAS=torch, or pip install torch",
}

_TORCH: tuple[Precision, ...] = ("fp32", "bf16", "fp16")
"""The precisions of torch."""
_ON_GPU: dict[str, Precision] = {"cuda": "fp16", "xpu": "bf16"}
"""Torch's default precisions. On an H200 fp16 is as fast as bf16 and several times nearer to fp32
(docs/performance.md); a network whose numbers overflow in it is found out when the device is tried."""
_LOG = logging.getLogger(__name__)


def network_evaluator(
    spec: NetSpec,
    backend: str = AUTO,
    precision: str = AUTO,
    threads: int | None = None,
    device: str = AUTO,
    sized: Mapping[Size, NetSpec] = MappingProxyType({}),
    *,
    is_automatic: bool = False,
) -> NetworkEvaluator:
    """Create the evaluator of a network.

    backend, precision, device: one of `BACKENDS`, of `PRECISIONS` and of `DEVICES`. A device that fails is named in a
    warning, and the next best one computes. threads: CPU threads; None for one per core. sized: networks that compute
    boards of one size each, by columns and rows, with the backend, precision and device of `spec`. is_automatic: `auto`
    chose the precision in an earlier session: boards on which int8 loses too much are computed in the next one.
    Raises GoError with a remedy if the backend is not installed or does not support the network, the precision or the
    device, and WeightsError if the network does not fit its encoder.
    """

    def make(one: NetSpec) -> Backend:
        return _alike(one, made, threads, is_checked=is_automatic or precision == AUTO)

    for size, one in sized.items():
        require_same_use(spec, one, size)
    pair = _begun(spec, backend, precision, threads) if is_automatic and device in (AUTO, CPU) else None
    made = make_backend(spec, backend, precision, threads, device) if pair is None else backend_of(spec, pair, threads)
    _LOG.info("network %s is computed by %s (asked for: %s, %s)", spec.name, made.name, backend, precision)
    if sized:
        _LOG.info("with the statistics of %s", ", ".join(map(text_of, sized)))
        return NetworkEvaluator(spec, SizedBackend(made, sized, make))
    return NetworkEvaluator(spec, made)


def _begun(spec: NetSpec, backend: str, precision: str, threads: int | None) -> tuple[str, str] | None:
    """Return the backend that `auto` computed int8 with before, which checks it on each board; None for others."""
    if precision != "int8" or backend not in (AUTO, "openvino"):
        return None
    found = remembered(spec, threads)
    able = [*(() if found is None else (found.best,)), *cpu_candidates(spec)]
    return next((each for each in able if each[1] == precision and backend in (AUTO, each[0])), None)


def _alike(spec: NetSpec, made: Backend, threads: int | None, *, is_checked: bool) -> Backend:
    """Create the backend of a network that is computed as another one is. is_checked: see `OpenVinoBackend`."""
    framework, device, precision = made.name.split("-")
    if framework == "torch":
        return _torch(spec, precision, threads, on_gpu=device != "cpu")  # type: ignore[arg-type]
    if framework == "openvino" and (device != "cpu" or not is_checked):
        return _openvino(spec, precision, threads, device.upper())  # type: ignore[arg-type]
    return backend_of(spec, (framework, precision), threads)


def make_backend(
    spec: NetSpec, backend: str = AUTO, precision: str = AUTO, threads: int | None = None, device: str = AUTO
) -> Backend:
    """Create the backend of `network_evaluator`."""
    for what, value, known in (
        ("backend", backend, BACKENDS),
        ("precision", precision, PRECISIONS),
        ("device", device, DEVICES),
    ):
        if value not in known:
            raise GoError(f"unknown {what} {value!r}, expected {' or '.join(known)}")
    framework = "openvino" if device.startswith(OPENVINO) else "torch" if device == GPU else None
    if framework is not None and backend not in (AUTO, framework):
        raise GoError(f"--device {device} needs --backend {framework}, not {backend}")
    if framework is not None and not _device_computes(device, precision):
        able = " or ".join(_precisions_of(device))
        raise GoError(f"--device {device} does not compute in {precision}: choose {able}, or --device cpu")

    def make(one: str) -> Backend:
        return backend_on(spec, one, backend, precision, threads)

    if framework is not None:
        return first_working(spec, (device, CPU), make)
    present = _accelerators_for(backend, precision) if device == AUTO else []
    return fastest(spec, (*present, CPU), make) if present else make(CPU)


def _accelerators_for(backend: str, precision: str) -> list[str]:
    """Return the devices beside the CPU that compute in a precision and may be faster with a backend, AUTO for any."""
    if backend == AUTO:
        return [each for each in accelerators() if _device_computes(each, precision)]
    return [GPU] if backend == "torch" and _device_computes(GPU, precision) and has_gpu() else []


def _device_computes(device: str, precision: str) -> bool:
    """Return whether a device other than the CPU computes in a precision; AUTO leaves the choice to the device."""
    return precision == AUTO or precision in _precisions_of(device)


def _precisions_of(device: str) -> tuple[str, ...]:
    """Return the precisions of a device other than the CPU."""
    return OPENVINO_PRECISIONS if device.startswith(OPENVINO) else _TORCH


def backend_on(spec: NetSpec, device: str, backend: str, precision: str, threads: int | None) -> Backend:
    """Create the backend that computes a network on one device."""
    wanted: Precision | None = None if precision == AUTO else precision  # type: ignore[assignment]
    if device == GPU:
        return _torch(spec, wanted, threads, on_gpu=True)
    if device.startswith(OPENVINO):
        return _openvino(spec, wanted, threads, device.removeprefix(OPENVINO))
    if backend == AUTO:
        return _fastest_on_cpu(spec, precision, threads)
    if backend == "openvino":
        return _openvino(spec, wanted, threads)
    return _numba(spec, wanted, threads) if backend == "numba" else _torch(spec, wanted, threads, on_gpu=False)


def _fastest_on_cpu(spec: NetSpec, precision: str, threads: int | None) -> Backend:
    """Create the backend that was measured to be the fastest or, without a measurement, that of the rule."""
    found = remembered(spec, threads) if precision == AUTO else None
    # What has been uninstalled since, or is not computed by this version, is not in the list of its backend.
    if found is not None and found.best[1] in _automatic(spec, found.best[0]):
        _LOG.info("measured on %s: %s", found.board, found.speeds)
        return backend_of(spec, found.best, threads)
    return backend_on(spec, CPU, _choose_on_cpu(spec, precision), precision, threads)


def cpu_candidates(spec: NetSpec) -> list[tuple[str, str]]:
    """Return the backends and precisions that `auto` may choose from on the CPU, the rule's choice first.

    They are those of Keima's kernels that are chosen without asking, and OpenVINO's, whose int8 is checked on each
    board.
    """
    kernels, openvino = ([(name, each) for each in _automatic(spec, name)] for name in ("numba", "openvino"))
    if _choose_on_cpu(spec, AUTO) == "numba":
        first = kernels[-1:]
    else:
        from engine.evaluators.openvino_backend import fastest_precision

        first = [("openvino", fastest_precision(spec))] if openvino else []
    return [*first, *(each for each in (*kernels, *openvino) if each not in first)]


def backend_of(spec: NetSpec, pair: tuple[str, str], threads: int | None) -> Backend:
    """Create the backend of one of `cpu_candidates`."""
    backend, precision = pair
    if backend == "numba":
        return _numba(spec, precision, threads)  # type: ignore[arg-type]
    from engine.evaluators.openvino_backend import OpenVinoBackend

    return OpenVinoBackend(spec, precision, threads=threads, is_checked=True)  # type: ignore[arg-type]


def choose(spec: NetSpec, backend: str = AUTO, precision: str = AUTO) -> str:
    """Return "numba", "openvino" or "torch": the given backend or, for AUTO, the fastest on this machine.

    Raises GoError if it is not installed, or if no installed backend supports the network.
    """
    installed = [name for name in INSTALL if is_installed(name)]
    if backend != AUTO:
        if backend in INSTALL and backend not in installed:
            raise GoError(f"{backend} is not installed: {INSTALL[backend]}")
        return backend
    if "torch" in installed and has_gpu():
        return "torch"
    return _choose_on_cpu(spec, precision)


def _choose_on_cpu(spec: NetSpec, precision: str) -> str:
    """Return the fastest backend on this machine's CPU."""
    installed = [name for name in INSTALL if is_installed(name)]
    if "openvino" not in installed and _kernels_compute(spec):
        return "numba"
    if _kernels_are_faster(spec, precision):
        return "numba"
    if not installed:
        raise GoError(f"network {spec.name} needs openvino or torch, neither is installed: {INSTALL['openvino']}")
    return installed[0]


def to_compare(spec: NetSpec, backend: str = AUTO, precision: str = AUTO) -> list[tuple[str, str]]:
    """Return the pairs of backend and precision for `keima bench` to measure.

    For AUTO, these are all installed backends, and all precisions that run at full speed on this machine. Raises
    GoError as `choose` does, and if no backend supports the precision.
    """
    first = choose(spec, backend, precision)
    known = (*(("numba",) if _kernels_compute(spec) else ()), *(name for name in INSTALL if is_installed(name)))
    names = [first] if backend != AUTO else [first, *(name for name in known if name != first)]
    if precision == AUTO:
        return [(name, each) for name in names for each in full_speed(spec, name)]
    if backend != AUTO:
        return [(first, precision)]
    able = [name for name in names if precision in _computable(spec, name)]
    if not able:
        others = dict.fromkeys(each for name in names for each in _computable(spec, name))
        raise GoError(f"{precision} is not computed by {' or '.join(names)} here: choose {' or '.join(others)}")
    return [(name, precision) for name in able]


def _computable(spec: NetSpec, backend: str) -> tuple[str, ...]:
    return _TORCH if backend == "torch" else full_speed(spec, backend)


def full_speed(spec: NetSpec, backend: str) -> tuple[str, ...]:
    """Return the precisions in which a backend computes a network at full speed on this machine."""
    if backend == "numba":
        from engine.evaluators.kernel_backend import precisions as precisions_of_kernels

        return precisions_of_kernels(spec)
    if backend == "openvino":
        from engine.evaluators.openvino_backend import precisions

        return precisions()
    return _TORCH if backend == "torch" and has_gpu() else ("fp32",)


def _automatic(spec: NetSpec, backend: str) -> tuple[str, ...]:
    """Return the precisions in which `auto` may choose a backend for a network on this machine's CPU."""
    if backend == "numba":
        from engine.evaluators.kernel_backend import automatic_precisions

        return automatic_precisions(spec)
    # Not fp16: the activations of some networks exceed its range.
    able = full_speed(spec, backend) if backend == "openvino" and is_installed(backend) else ()
    return tuple(each for each in able if each != "fp16")


def _kernels_compute(spec: NetSpec, precision: str = "fp32") -> bool:
    """Return whether Keima's own kernels support a network in this precision on this machine."""
    return precision in full_speed(spec, "numba")


def _kernels_are_faster(spec: NetSpec, precision: str) -> bool:
    """Return whether the kernels compute a network faster than OpenVINO in a precision, or for AUTO in any.

    In the same precision they are faster on convolutions; in fp32 they are slower than OpenVINO in int8 or bf16.
    g170-b6c96 on 19x19, batch 8: on a Zen 5 fp32 1,360 evaluations/s against 659, int8 2,119; on AMX bf16 4,943 against
    3,772. Of transformers, too: keima-t7c96 on a core of the Zen 5 in bf16 376 against 317, in fp32 220 against 192; on
    two Zen 3 cores with AVX2 in fp32 115 against 90, on 9x9 711 against 674; by AMX in bf16 on 9x9 6,059 against 2,856.
    Where one instruction adds products of int16, they compute transformers in it faster than OpenVINO does in int8: on
    19x19 261 against 194 with AVX-VNNI, 400 against 247 with AVX-512 VNNI. Convolutions about as fast: see
    `integers_are_faster`.
    """
    if not _kernels_compute(spec):
        return False
    if precision in ("fp32", "int16", "int8"):
        return _kernels_compute(spec, precision)
    if _kernels_compute(spec, "bf16") and precision in (AUTO, "bf16"):
        return True
    from engine.evaluators.kernel_backend import integers_are_faster

    return precision == AUTO and (integers_are_faster(spec) or not _rounding_is_fast())


def _rounding_is_fast() -> bool:
    """Return whether this CPU multiplies int8 or bf16 faster than float32."""
    from engine.native.processor import BYTE_PRODUCTS, TILES, instruction_sets

    return not {*BYTE_PRODUCTS, TILES}.isdisjoint(instruction_sets())


def has_gpu() -> bool:
    """Return whether torch can use a GPU: NVIDIA's, AMD's, Intel's or Apple's."""
    return torch_device() is not None


def _numba(spec: NetSpec, precision: Precision | None, threads: int | None) -> Backend:
    from engine.evaluators.kernel_backend import NumbaBackend

    return NumbaBackend(spec, precision, threads=threads)


def _openvino(spec: NetSpec, precision: Precision | None, threads: int | None, device: str | None = None) -> Backend:
    _require("openvino")
    from engine.evaluators.openvino_backend import CPU as OPENVINO_CPU
    from engine.evaluators.openvino_backend import OpenVinoBackend

    return OpenVinoBackend(spec, precision, threads=threads, device=device or OPENVINO_CPU)


def _torch(spec: NetSpec, precision: Precision | None, threads: int | None, *, on_gpu: bool) -> Backend:
    """Create torch's backend; its default precision is that of `_ON_GPU`, and fp32 on other devices."""
    if precision is not None and precision not in _TORCH:
        raise GoError(f"torch does not compute in {precision}: choose {' or '.join(_TORCH)}, or openvino")
    _require("torch")
    found = torch_device() if on_gpu else "cpu"
    if found is None:
        raise GoError("PyTorch finds no GPU here")
    from engine.evaluators.torch_backend import TorchBackend

    return TorchBackend(spec, precision or _ON_GPU.get(found, "fp32"), found, threads=threads)


def _require(backend: str) -> None:
    """Raise GoError with a remedy if a framework is not installed."""
    if not is_installed(backend):
        raise GoError(f"{backend} is not installed: {INSTALL[backend]}")
