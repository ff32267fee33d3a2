"""The OpenVINO backend: computes networks on the CPU, or on a GPU or NPU that OpenVINO has a driver for.

There is a compiled model for each board size and batch size, and requests that compute in the memory of the slots,
without copies. Each stream has one thread: two streams with a thread each compute more positions per second than one
stream with two threads, and with smaller batches.
"""

import logging
import threading
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from weakref import WeakSet, ref

from engine.errors import GoError
from engine.evaluators.memory import boards_kept, openvino_model_bytes
from engine.evaluators.network import OPENVINO_PRECISIONS, Precision, Slot, slot_memory
from engine.evaluators.rounding import Rounding
from engine.evaluators.rounding_loss import Loss
from engine.native.closures import Closure, runs_closures
from engine.native.processor import BYTE_PRODUCTS, TILES, disabled_instruction_sets, instruction_sets
from engine.nets.blocks import AttentionBlock, all_blocks
from engine.nets.openvino_graph.c_library import InferRequests, NativeModel, has_c_library
from engine.nets.openvino_graph.model import GLOBALS, OUTPUTS, PLANES, build_model
from engine.nets.openvino_graph.quantization import quantize
from engine.nets.openvino_graph.runtime import openvino
from engine.nets.spec import Array, NetSpec, parameters
from engine.support.cores import usable_cores
from weights.array_file import free_pages

_LOG = logging.getLogger(__name__)
_HINTS: dict[Precision, str] = {"fp32": "f32", "bf16": "bf16", "fp16": "f16", "int8": "f32"}
_CAPABILITIES: dict[Precision, str] = {"fp32": "FP32", "bf16": "BF16", "fp16": "FP16", "int8": "INT8"}
"""OpenVINO's names of the precisions in which a CPU computes at full speed."""
_BF16 = frozenset({"avx512bf16", "amx-bf16"})
"""Instruction sets without which OpenVINO does not compute in bf16, if they are disabled."""
_SMALLEST_ROUNDED = 7
"""Smallest side for int8: smaller boards are fast anyway, and networks have very large activations there."""
_ROWS = 8
"""Most positions of a slot."""
_PREFERRED: dict[Precision, int] = {"fp32": 2, "bf16": _ROWS, "fp16": 4, "int8": 4}
"""Positions of a slot from which on larger batches hardly raise throughput; the cost of a call counts more in a fast
precision."""
_MAX_STREAMS = 8
"""Most streams; with more threads each stream has several, so that a search need not have more positions in flight."""
CPU = "CPU"
_DEVICE_STREAMS = 2
"""Requests at a time on a GPU or NPU: while one is computed, the other is sent."""
_SLOTS = 2
"""Slots for each stream: while one is computed, another is encoded or read. Two instead of one made 185 instead of 173
evaluations/s on 9x9 and 39 instead of 32 on 19x19 (g170-b6c96, batch 8, loaded machine)."""
_WEIGHTS_MEMORY = 512 * 2**20
"""Most bytes of a network's weights for four batch sizes; larger networks are compiled for two."""


@dataclass(eq=False)
class OpenVinoSlot(Slot):
    """A slot and its requests by batch size."""

    requests: dict[int, Any] = field(default_factory=dict)

    def arrays(self, batch: int) -> dict[str, Array]:
        """Return the first rows of inputs and outputs by their names in a model."""
        parts = {PLANES: self.planes, GLOBALS: self.globals, **dict(zip(OUTPUTS, self.outputs, strict=True))}
        return {name: array[:batch] for name, array in parts.items() if array.size}


@dataclass
class _Graph:
    """A network for boards of one size, which is compiled for one batch size after the other.

    rounding: compares the first compiled model with fp32; None if the model is exact or its precision was given.
    """

    model: Any
    precision: Precision
    rounding: Rounding | None = None


class OpenVinoBackend:
    """Computes one network; see `engine.evaluators.network.Backend`.

    precision: None chooses the fastest of bf16, int8 and fp32 (see `_by_speed`), and the next one on board sizes where
        int8 loses too much accuracy. Never fp16: the activations of some networks exceed its range.
    threads: CPU threads; None for one per core.
    emulate: allow a precision that the CPU does not support natively, which is slow, for tests of accuracy.
    is_checked: compute boards on which int8 loses too much accuracy in the next precision, also if int8 is asked for.
    device: OpenVINO's name of it. On others than the CPU the precision is fp16, or fp32 if it is asked for.
    Raises GoError if the device does not support the precision.
    """

    def __init__(
        self,
        spec: NetSpec,
        precision: Precision | None = None,
        *,
        threads: int | None = None,
        emulate: bool = False,
        device: str = CPU,
        is_checked: bool = False,
    ) -> None:
        self._core, self._device = openvino.Core(), device
        self._is_wanted, precision = precision is not None and not is_checked, _choose(precision, spec, emulate, device)
        threads = threads or usable_cores()
        self._spec, self._precision = spec, precision
        self._streams = min(threads, _MAX_STREAMS) if device == CPU else _DEVICE_STREAMS
        self._is_native = device == CPU and runs_closures() and has_c_library()
        self._properties = {
            "NUM_STREAMS": str(self._streams),
            "INFERENCE_NUM_THREADS": str(threads),
            # A convolution of 22 planes also computes with uninitialized memory and discards the result. If that memory
            # contained denormal numbers, it took 18 times as long.
            "CPU_DENORMALS_OPTIMIZATION": "YES",
            # Most models are idle while one computes, and other programs run, too: streams must not be bound to cores.
            # Bound threads made 129, 151 and 160 evaluations/s, free ones 171 to 187 (g170-b6c96 on 9x9 at batch 8, 16
            # and 32, on a loaded machine).
            "ENABLE_CPU_PINNING": "NO",
        }
        if device != CPU:
            self._properties = {"PERFORMANCE_HINT": "LATENCY"}
        elif spec.stem.conv.outputs == 1:
            # OpenVINO cannot compile some of these with it, in any precision: "Layout rank can't be larger than tensor
            # rank", a network of 7 planes, one channel and dense heads.
            self._properties["SNIPPETS_MODE"] = "DISABLE"
        self.name = f"openvino-{device.lower()}-{precision}"
        self._batches = _batches(4 * parameters(spec))
        self.parallel, self.max_batch = self._streams, 4 * _ROWS * self._streams
        # One more than streams: it walks while they compute.
        self.native_threads = self._streams + 1 if self._is_native else 0
        self.preferred_batch = max(batch for batch in self._batches if batch <= _PREFERRED[precision])
        self.board_bytes = len(self._batches) * openvino_model_bytes(spec)
        self._boards_kept = boards_kept(self.board_bytes)
        self.model_bytes = self._boards_kept * self.board_bytes
        self._compiler = ThreadPoolExecutor(1, thread_name_prefix="openvino-compiler")
        self._models: OrderedDict[tuple[int, int], dict[int, Future[Any]]] = OrderedDict()
        self._awaited: Counter[tuple[int, int]] = Counter()
        # Weak: a search that is no longer used kept the models of its board until all were compiled, and where boards
        # change faster than that, of every board: 4,413 MiB and 288 threads after 50 changes.
        self._programs: defaultdict[tuple[int, int], WeakSet[InferRequests]] = defaultdict(WeakSet)
        self._lock = threading.RLock()
        self._graphs: dict[tuple[int, int], _Graph] = {}
        self._weights: Any = None
        self._size, self._slots = (0, 0), list[OpenVinoSlot]()
        _LOG.info("network %s on %s in %d streams, %d threads", spec.name, self.name, self._streams, threads)

    def prepare(self, width: int, height: int) -> None:
        """Start compiling for a board size in the background, small batches first, for an early first answer."""
        self._board_models(width, height)

    @property
    def boards(self) -> list[tuple[int, int]]:
        """Width and height of the boards whose models are in memory, the least recently used first."""
        with self._lock:
            return list(self._models)

    def _board_models(self, width: int, height: int) -> dict[int, Future[Any]]:
        """Return the models of a board size by batch; drop the least recently used boards that no call waits for."""
        size = (width, height)
        with self._lock:
            if size not in self._models:
                surplus = len(self._models) + 1 - self._boards_kept
                for idle in [each for each in self._models if not self._is_awaited(each)][: max(0, surplus)]:
                    self._forget(idle)
                self._models[size] = {batch: Future() for batch in self._batches}
                for _ in self._batches:
                    self._compiler.submit(self._compile_next)
            self._models.move_to_end(size)
            return self._models[size]

    def _is_awaited(self, size: tuple[int, int]) -> bool:
        """Return whether a call or a program waits for a model of a board size, or may do so."""
        return self._awaited[size] > 0 or not all(program.is_complete for program in self._programs[size])

    def _forget(self, size: tuple[int, int]) -> None:
        """Release the models of a board size. No call may be waiting for one of them."""
        self._graphs.pop(size, None)
        self._programs.pop(size, None)
        for model in self._models.pop(size).values():
            model.cancel()

    def _model(self, batch: int, width: int, height: int) -> Any:
        """Wait until a model is compiled and return it. Raises the errors of its compilation."""
        with self._lock:
            self._awaited[width, height] += 1
        try:
            return self._board_models(width, height)[batch].result()
        finally:
            with self._lock:
                self._awaited[width, height] -= 1

    def _compile_next(self) -> None:
        """Compile the model that is likely to be needed next: the smallest batch for the board used last."""
        with self._lock:
            waiting = [
                (size, batch, model)
                for size, models in reversed(self._models.items())
                for batch, model in models.items()
                if not (model.running() or model.done())
            ]
            if not waiting:
                return
            size, batch, model = waiting[0]
            model.set_running_or_notify_cancel()
        try:
            model.set_result(self.compile(batch, *size))
        except Exception as error:  # noqa: BLE001 - raised where the model is used
            model.set_exception(error)

    def compile(self, batch: int, width: int, height: int) -> Any:
        """Compile the network for a board size and a batch size. Models of one graph share its weights."""
        graph = self._graphs.pop((width, height), None) or self._build(width, height)
        model = self._compiled(graph.model, graph.precision, batch)
        if graph.rounding is not None:
            slot = self._slot(width, height)
            loss, graph.rounding = graph.rounding.compare(_request(model, slot, batch).infer, slot.arrays(batch)), None
            if not loss.is_small:
                graph = self._build_instead(width, height, loss)
                model = self._compiled(graph.model, graph.precision, batch)
        with self._lock:
            if batch < self._batches[-1] and (width, height) in self._models:
                self._graphs[width, height] = graph
        free_pages(self._spec)
        return model

    def _compiled(self, graph: Any, precision: Precision, batch: int, **properties: str) -> Any:
        """Compile a graph: for kernels if they can call it, unless `properties` are given."""
        graph.reshape({port.get_any_name(): [batch, *list(port.shape)[1:]] for port in graph.inputs})
        changed, properties = (
            properties,
            {**self._properties, "INFERENCE_PRECISION_HINT": _HINTS[precision], **properties},
        )
        if not self._is_native or changed:
            return self._core.compile_model(graph, self._device, properties)
        model = NativeModel(graph, properties, self._weights)
        self._weights = model.weights
        return model

    def _build(self, width: int, height: int) -> _Graph:
        """Build the graph for a board size, for some batch size."""
        model = build_model(self._spec, _ROWS, width, height)
        if self._precision != "int8" or min(width, height) < _SMALLEST_ROUNDED:
            return _Graph(model, self._precision)

        def compile_exact(exact: Any) -> Any:
            return self._compiled(exact, "fp32", _ROWS, NUM_STREAMS="1")

        rounding = Rounding(self._spec, model, width, height, compile_exact, compares=not self._is_wanted)
        if not self._is_wanted and rounding.loss is not None and not rounding.loss.is_small:
            return self._build_instead(width, height, rounding.loss)
        quantize(model, rounding.ranges)
        return _Graph(model, self._precision, None if self._is_wanted or rounding.loss is not None else rounding)

    def _build_instead(self, width: int, height: int, loss: Loss) -> _Graph:
        """Build the graph in the fastest precision other than int8."""
        precision = next(each for each in _by_speed(self._spec) if each != "int8" and each in precisions())
        _LOG.warning(
            "network %s is computed in %s on %dx%d: int8 would change winrates by %.3f, the policy by %.3f on average",
            self._spec.name,
            precision,
            width,
            height,
            *loss,
        )
        return _Graph(build_model(self._spec, _ROWS, width, height), precision)

    def slots(self, width: int, height: int) -> Sequence[Slot]:
        """Return the slots of a board size. `infer` waits for a model that is not compiled yet."""
        self.prepare(width, height)
        if (width, height) != self._size:
            self._slots = [self._slot(width, height) for _ in range(_SLOTS * self._streams)]
            self._size = (width, height)
        return self._slots

    def _slot(self, width: int, height: int) -> OpenVinoSlot:
        return OpenVinoSlot(*slot_memory(self._spec, self._batches[-1], width, height))

    def infer(self, slot: Slot, count: int) -> None:
        """Compute rows 0..count-1, padded to the next larger batch size that is compiled."""
        assert isinstance(slot, OpenVinoSlot)
        self._request_for(slot, self._batch_for(count)).infer()

    def program(self, width: int, height: int) -> tuple[Slot, Closure]:
        """Return a new slot and a closure that computes its first rows as `infer` does, without Python.

        The closure waits for a model that is not compiled yet.
        """
        slot, infer = self._slot(width, height), InferRequests(self._batches)
        program = ref(infer)

        def use(batch: int, model: Future[Any]) -> None:
            infer, request = program(), None
            if infer is None:
                return
            # If compiling failed, the closure fails, and the caller then gets the error from `infer`.
            if not model.cancelled() and model.exception() is None:
                with suppress(RuntimeError):
                    request = _request(model.result(), slot, batch)
            infer.set_request(batch, request)

        with self._lock:
            models = self._board_models(width, height)
            self._programs[width, height].add(infer)
        for batch, model in models.items():
            model.add_done_callback(partial(use, batch))
        return slot, infer

    def _request_for(self, slot: OpenVinoSlot, batch: int) -> Any:
        """Return the request of a slot for a batch size; wait until its model is compiled."""
        request = slot.requests.get(batch)
        if request is None:
            height, width = slot.planes.shape[2:]
            request = slot.requests[batch] = _request(self._model(batch, width, height), slot, batch)
        return request

    def _batch_for(self, count: int) -> int:
        return next(each for each in self._batches if each >= count)

    def close(self) -> None:
        """Stop compiling and release the models. The backend cannot be used afterwards."""
        with self._lock:
            for size in list(self._models):
                self._forget(size)
        self._compiler.shutdown()
        self._slots.clear()


def precisions() -> tuple[Precision, ...]:
    """Return the precisions in which this CPU computes at full speed."""
    able = openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    fast = tuple(precision for precision, name in _CAPABILITIES.items() if name in able)
    here = set(instruction_sets())
    # OpenVINO supports int8 on every CPU, but without these instructions sums of two products overflow.
    slow = set() if BYTE_PRODUCTS & here else {"int8"}
    if not _BF16 & here and _BF16.intersection(disabled_instruction_sets()):
        slow.add("bf16")
    return tuple(each for each in fast if each not in slow)


def devices() -> tuple[str, ...]:
    """Return the names of the devices that OpenVINO has drivers for, such as CPU, GPU.0 and NPU."""
    return tuple(openvino.Core().available_devices)


def _choose(precision: Precision | None, spec: NetSpec, emulate: bool, device: str) -> Precision:
    """Return the precision to compute in."""
    if device != CPU:
        if precision is not None and precision not in OPENVINO_PRECISIONS:
            others = " or ".join(OPENVINO_PRECISIONS)
            raise GoError(f"{precision} is not computed on OpenVINO's {device}: choose {others}")
        return precision or "fp16"
    if precision is None:
        return fastest_precision(spec)
    able = precisions()
    if precision not in able and not emulate:
        raise GoError(f"this CPU does not compute in {precision} by itself: choose {' or '.join(able)}")
    return precision


def fastest_precision(spec: NetSpec) -> Precision:
    """Return the first of `_by_speed` that the CPU supports."""
    able = precisions()
    return next(each for each in _by_speed(spec) if each in able)


def _by_speed(spec: NetSpec) -> tuple[Precision, ...]:
    """Return the precisions in order of preference; the first one that the CPU supports is used."""
    # int8 is faster than bf16 and about as strong as fp32 (docs/performance.md), but of a transformer only a part is
    # computed in int8. On a Zen 5, int8 makes 1.6 times the evaluations of bf16 with g170-b6c96, and 0.7 to 0.8 times
    # with a transformer. AMX's bf16 is assumed to be faster than int8 by vectors; not measured.
    if TILES in instruction_sets() or any(isinstance(block, AttentionBlock) for block in all_blocks(spec.blocks)):
        return "bf16", "int8", "fp32"
    return "int8", "bf16", "fp32"


def _batches(weights: int) -> tuple[int, ...]:
    """Return the batch sizes to compile, smallest first. Each model has a copy of the weights in its own layout."""
    # A network of 27 million weights takes 129 MB for each further batch size.
    batches = (1, 2, 4, _ROWS)
    return batches if (len(batches) + 1) * weights <= _WEIGHTS_MEMORY else (1, _ROWS)


class _PythonRequest:
    """A request of a model that kernels cannot call, with the interface of `c_library.Request`."""

    def __init__(self, model: Any, arrays: dict[str, Array]) -> None:
        self._request = model.create_infer_request()
        for name, array in arrays.items():
            self._request.set_tensor(name, openvino.Tensor(array, shared_memory=True))

    def infer(self) -> None:
        """Compute the request's rows in the memory of its slot."""
        self._request.start_async()
        self._request.wait()


def _request(model: Any, slot: OpenVinoSlot, batch: int) -> Any:
    """Create a request that reads and writes the first rows of a slot, without copies."""
    arrays = slot.arrays(batch)
    return model.request(arrays) if isinstance(model, NativeModel) else _PythonRequest(model, arrays)
