"""The numba backend: computes networks by Keima's own kernels on the CPU, in fp32, bf16 or int16.

bf16 needs AMX for networks of convolutions, AMX or AVX-512 with bf16 for transformers, whose blocks it computes in it.
int16 is for CPUs without them, the blocks again: preferred with AVX-VNNI or AVX-512 VNNI, asked for with AVX2 alone.

There is one model for each board size. A call computes in the caller's thread, a few whole positions at a time.
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

from engine.encoders.katago_kernels import encode_katago
from engine.errors import GoError
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.evaluators.byte_calibration import calibrated_ranges
from engine.evaluators.memory import boards_kept
from engine.evaluators.network import NetworkEvaluator, Precision, Slot, slot_memory
from engine.evaluators.postprocess import write_evaluation
from engine.native.closures import Closure
from engine.native.compiling_beside import CompilingBeside
from engine.native.machine import processor_name
from engine.nets.kernels.kernels import infer_rows
from engine.nets.kernels.model import build_byte_model, build_model, is_transformer, rounds_convolutions
from engine.nets.kernels.operands import ALL_FUSED, integers_here, lanes_here, rounds_here
from engine.nets.kernels.plan import Rows
from engine.nets.kernels.steps import Model
from engine.nets.kernels.tiles import multiplies_bytes, tiles_here
from engine.nets.spec import Array, NetSpec, parameters
from engine.support.cores import usable_cores
from weights.array_file import free_pages

_LOG = logging.getLogger(__name__)
_ROWS = 8
"""Most positions of a slot."""
_TOGETHER, _LARGE_TOGETHER = 4, 2
"""Positions computed at a time, and those of boards of at least `_LARGE` points where there are no tiles."""
_LARGE = 144
_PREFERRED = 2
"""Positions of a slot from which on larger batches hardly raise the speed of the kernels."""
_SLOTS = 2
"""Slots for each thread: while one is computed, another is encoded or read."""
_KERNELS = tuple(each.__name__ for each in (infer_rows, encode_katago, write_evaluation))
"""Those that evaluate positions for Python, in the order in which they are first called."""
_BYTES: dict[Precision, int] = {"fp32": 16, "bf16": 4, "int16": 16, "int8": 4}
"""Most bytes of a model for each weight of the network: Winograd's algorithm takes four times the weights."""


def precisions(spec: NetSpec) -> tuple[Precision, ...]:
    """Return the precisions in which the kernels support a network on this machine."""
    if not lanes_here():
        return ()
    found: list[Precision] = ["fp32"]
    by_blocks = is_transformer(spec)
    if integers_here(lanes_here()):
        found.append("int16")
    if rounds_here() if by_blocks else rounds_convolutions(spec) and tiles_here():
        found.append("bf16")
        if multiplies_bytes() and not by_blocks:
            found.append("int8")
    return tuple(found)


def automatic_precisions(spec: NetSpec) -> tuple[Precision, ...]:
    """Return those of `precisions` that may be chosen where none is asked for, the preferred one last.

    Others before it are taken where they were measured to be faster and, int8, to lose little (`keima bench --choose`).
    int16 is left out beside tiles, and where two instructions multiply it and add the products but for convolutions on
    an Intel: only those were seen to win against fp32 at equal time on 9x9 and 19x19 (docs/performance.md).
    """
    is_fused = integers_here(lanes_here()) in ALL_FUSED
    is_fast = not tiles_here() and (is_fused or (_is_intel() and not is_transformer(spec)))
    # An Intel Xeon multiplies vectors of bf16 more slowly than float32: 1,122 evaluations/s of keima-t7c96 on 9x9,
    # 1,713 in fp32, 2,613 in int16. A Zen 5 does it 1.7 times as fast.
    last: tuple[Precision, Precision] = ("bf16", "int16") if _is_intel() else ("int16", "bf16")
    order: tuple[Precision, ...] = ("int8", "fp32", *last)
    able = precisions(spec)
    return tuple(each for each in order if each in able and (each != "int16" or is_fast))


def _together(width: int, height: int) -> int:
    """Return how many positions are computed at a time: more read the weights less often, and fill the second cache.

    Evaluations/s on 19x19 in batches of eight with two and with four at a time, Zen 4 (1 MB a core): b7c96h3tfrs in
    bf16 353 and 336, in int16 333 and 302, g170-b6c96 in int16 939 and 881, in fp32 766 and 753, b18c384nbt in int16
    37 and 34; on 13x13 g170-b6c96 1,515 and 1,438. On 9x9 two and four are the same there, and on a Zen 3, whose third
    cache is slow, g170-b6c96 makes 1,468 in batches of two and 1,826 of four.
    """
    return _TOGETHER if tiles_here() or width * height < _LARGE else _LARGE_TOGETHER


def integers_are_faster(spec: NetSpec) -> bool:
    """Return whether the kernels compute a network in int16 faster than OpenVINO does in int8 here.

    Transformers wherever one instruction adds products of int16. Convolutions on an AMD: at equal time they took 55.8 %
    of 400 games on 9x9 and 54.5 % of 100 on 19x19 on a Zen 4, but 40 % of 100 on an Intel Xeon (docs/performance.md).
    """
    return "int16" in automatic_precisions(spec) and (is_transformer(spec) or not _is_intel())


def _is_intel() -> bool:
    return "Intel" in processor_name()


@dataclass(eq=False)
class NumbaSlot(Slot):
    """A slot and its model. rows: its arrays in the form that the kernels take."""

    rows: Rows
    model: Future[Model] | None = None


class _Memory(NamedTuple):
    """Working memory of a model, with the thread that used it last."""

    model: Model
    thread: int
    numbers: Array


class NumbaBackend:
    """Computes one network; see `engine.evaluators.network.Backend`.

    precision: None for the last of `automatic_precisions`. threads: number of threads that call it; None for one per
    core.
    lanes: floats in a vector in fp32; None for the longest of this CPU.
    beside: compile the kernels in another process, if they are not compiled yet.
    Raises GoError for CPUs without AVX2 and FMA or NEON, and if kernels are not compiled by private means.
    """

    def __init__(
        self,
        spec: NetSpec,
        precision: Precision | None = None,
        *,
        threads: int | None = None,
        lanes: int | None = None,
        beside: bool = True,
    ) -> None:
        self._lanes = lanes_here() if lanes is None else lanes
        if self._lanes == 0:
            raise GoError("the numba backend needs a CPU with AVX2 and FMA or NEON, and kernels that are compiled")
        known, usual = precisions(spec), automatic_precisions(spec)[-1]
        if self._lanes < lanes_here():
            # Only vectors of this CPU's full length are multiplied in bf16 or by bytes.
            known = tuple(each for each in known if each in ("fp32", "int16"))
            usual = usual if usual in known else "fp32"
        precision = usual if precision is None else precision
        if precision not in known:
            raise GoError(f"numba does not compute {spec.name} in {precision} here: choose {' or '.join(known)}")
        self._spec, self._precision = spec, precision
        self.name = f"numba-cpu-{precision}"
        self.parallel = self.native_threads = threads or usable_cores()
        self.preferred_batch, self.max_batch = _PREFERRED, 4 * _ROWS * self.parallel
        self.board_bytes = _BYTES[precision] * parameters(spec)
        self._boards_kept = boards_kept(self.board_bytes)
        self.model_bytes = self._boards_kept * self.board_bytes
        self._compiling = CompilingBeside(_KERNELS, __name__, compile_kernels.__name__) if beside else None
        self._builder = ThreadPoolExecutor(1, thread_name_prefix="network-builder")
        self._models: OrderedDict[tuple[int, int], Future[Model]] = OrderedDict()
        self._lock = threading.Lock()
        self._memories: list[_Memory] = []
        self._size, self._slots = (0, 0), list[NumbaSlot]()
        _LOG.info("network %s on %s in %d threads, %d lanes", spec.name, self.name, self.parallel, self._lanes)

    def prepare(self, width: int, height: int) -> None:
        """Start building the model of a board size in the background."""
        self._model(width, height)

    @property
    def boards(self) -> list[tuple[int, int]]:
        """Width and height of the boards whose models are in memory, the least recently used first."""
        with self._lock:
            return list(self._models)

    def _model(self, width: int, height: int) -> Future[Model]:
        """Return the model of a board size; drop the least recently used ones."""
        size = (width, height)
        with self._lock:
            if size not in self._models:
                self._models[size] = self._builder.submit(self._build, width, height)
            self._models.move_to_end(size)
            while len(self._models) > self._boards_kept:
                self._models.popitem(last=False)
            return self._models[size]

    def _build(self, width: int, height: int) -> Model:
        """Build the model of a board size, and compute it once, so that its kernels are loaded."""
        self._wait_for_kernels(_KERNELS)
        if self._precision == "int8":
            ranges = calibrated_ranges(self._spec, width, height)
            model = build_byte_model(self._spec, width, height, _TOGETHER, ranges)
        else:
            rounded = self._precision == "bf16"
            integers = integers_here(self._lanes) if self._precision == "int16" else 0
            together = _together(width, height)
            model = build_model(self._spec, width, height, self._lanes, together, rounded=rounded, integers=integers)
        self._compute(model, self._slot(width, height), 1)
        free_pages(self._spec)
        return model

    def _wait_for_kernels(self, names: Sequence[str] = ()) -> None:
        """Wait for the other process, or for the kernels with these names alone."""
        if self._compiling is not None:
            self._compiling.wait(names)

    def slots(self, width: int, height: int) -> Sequence[Slot]:
        """Return the slots of a board size. `infer` waits for the model if it is not built yet."""
        model = self._model(width, height)
        # Or this thread would compile what encodes, too.
        self._wait_for_kernels(_KERNELS)
        if (width, height) != self._size:
            self._slots = [self._slot(width, height) for _ in range(_SLOTS * self.parallel)]
            self._size = (width, height)
        for slot in self._slots:
            slot.model = model
        return self._slots

    def _slot(self, width: int, height: int) -> NumbaSlot:
        planes, globals_, outputs = slot_memory(self._spec, _ROWS, width, height)
        policy, result, score, ownership = (each.reshape(_ROWS, -1) for each in outputs)
        rows = Rows(planes.reshape(_ROWS, -1), globals_, (policy, result, score, ownership))
        return NumbaSlot(planes, globals_, outputs, rows)

    def infer(self, slot: Slot, count: int) -> None:
        """Compute rows 0..count-1 in the caller's thread."""
        assert isinstance(slot, NumbaSlot)
        assert slot.model is not None
        self._compute(slot.model.result(), slot, count)

    def _compute(self, model: Model, slot: NumbaSlot, count: int) -> None:
        memory = self._take_memory(model)
        infer_rows(model.plan, memory, slot.rows, model.positions, count)
        with self._lock:
            self._memories.append(_Memory(model, threading.get_ident(), memory))

    def _take_memory(self, model: Model) -> Array:
        """Return unused working memory for a model, preferably what this thread used last."""
        # The core's cache may still have it.
        thread = threading.get_ident()
        with self._lock:
            self._memories = [each for each in self._memories if each.model is model]
            if self._memories:
                places = range(len(self._memories))
                return self._memories.pop(max(places, key=lambda place: self._memories[place].thread == thread)).numbers
        return model.new_memory()

    def program(self, width: int, height: int) -> tuple[Slot, Closure]:
        """Return a new slot and a closure that computes its first rows in the caller's thread. Waits for the model."""
        self._wait_for_kernels()
        model, slot = self._model(width, height).result(), self._slot(width, height)
        return slot, Closure(infer_rows, model.plan, model.new_memory(), slot.rows, model.positions)

    def close(self) -> None:
        """Stop the threads and release the models. The backend cannot be used afterwards."""
        if self._compiling is not None:
            self._compiling.close()
        self._builder.shutdown(cancel_futures=True)
        self._models.clear()
        self._memories.clear()
        self._slots.clear()


def compile_kernels() -> None:
    """Compile what evaluates positions with a network of KataGo, encoding included, or load it from the cache."""
    from engine.encoders import ENCODERS
    from engine.nets.random import random_spec

    spec = random_spec(1, 8, ENCODERS["katago-v7"], 1)
    evaluator = NetworkEvaluator(spec, NumbaBackend(spec, threads=1, beside=False))
    positions, out = PositionBatch(1, 2, 2), Evaluation(1, 2, 2)
    evaluator.evaluate(positions, 1, out)
    evaluator.program(positions, out)
    evaluator.close()
