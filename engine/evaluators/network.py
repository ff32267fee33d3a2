"""The evaluator of networks: encodes positions, lets a backend compute them, and interprets the outputs.

Defines the interface to the frameworks: a `Backend` turns planes into `RawOutputs` and knows no encoders, rules or
symmetries. Everything else is common to all backends, here and in `engine.evaluators.postprocess`.
"""

import copy
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable
from weakref import WeakValueDictionary

import numpy as np

from engine.encoders import ENCODERS, Encoder
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Attributes, Program, Step
from engine.evaluation.positions import PositionBatch
from engine.evaluators.postprocess import (
    Reading,
    counts_no_result,
    meaning_of,
    symmetry_table,
    turn_planes,
    write_evaluation,
)
from engine.evaluators.raw import check_board
from engine.native.closures import FAILED, Closure, runs_closures
from engine.native.locks import holding, new_lock
from engine.nets.spec import Array, NetSpec, WeightsError, validate

Precision: TypeAlias = Literal["fp32", "bf16", "fp16", "int16", "int8"]
"""The number format in which a backend computes convolutions; outputs are always float32."""
OPENVINO_PRECISIONS: tuple[Precision, ...] = ("fp16", "fp32")
"""What OpenVINO computes in on devices other than the CPU, the default first."""


class RawOutputs(NamedTuple):
    """A network's outputs for the positions of a slot, from the view of the side to move.

    All float32 and C-contiguous. policy: [rows, P, area + 1] logits, pass last. result: [rows, R] before tanh or
    softmax. score: [rows, S], S = 0 if there is none. ownership: [rows, area] before tanh, [rows, 0] if there is none.
    """

    policy: Array
    result: Array
    score: Array
    ownership: Array


@dataclass(eq=False)
class Slot:
    """Inputs and outputs of a batch for one board size, in memory that is never moved; backends may subclass it.

    planes: [rows, planes, height, width] float32, C-contiguous.
    globals: [rows, globals + metadata] float32, C-contiguous.
    """

    planes: Array
    globals: Array
    outputs: RawOutputs


def slot_memory(spec: NetSpec, rows: int, width: int, height: int) -> tuple[Array, Array, RawOutputs]:
    """Allocate planes, globals and outputs of a slot, all zero."""
    area = width * height

    def array(*shape: int) -> Array:
        return np.zeros((rows, *shape), dtype=np.float32)

    outputs = RawOutputs(
        array(spec.policy.policies, area + 1),
        array(spec.value.result.outputs),
        array(len(spec.scores)),
        array(area if spec.has_ownership else 0),
    )
    return array(spec.planes, height, width), array(spec.globals + spec.metadata), outputs


class Backend(Protocol):
    """Computes one network on one device. Any thread may use a slot, but only one thread at a time.

    A call should compute in the caller's thread if possible: each handover of a batch of one position to another thread
    takes 70 us, most of the time of its computation on 9x9.

    name: framework, device and precision, such as "torch-cpu-fp32".
    parallel: number of slots that should be computed at the same time.
    preferred_batch: positions in a slot from which on larger batches hardly raise throughput, with `parallel` slots.
    max_batch: most positions in a call of the evaluator.
    board_bytes: about what the models of one board size take, in this process' memory.
    model_bytes: about what those of all board sizes that are kept take at most.
    """

    name: str
    parallel: int
    preferred_batch: int
    max_batch: int
    board_bytes: int
    model_bytes: int

    def prepare(self, width: int, height: int) -> None:
        """Start compiling for a board size in the background and return at once."""

    def slots(self, width: int, height: int) -> Sequence[Slot]:
        """Return at least one slot, all with the same number of rows. Slots of another board size become invalid."""

    def infer(self, slot: Slot, count: int) -> None:
        """Compute the outputs of rows 0..count-1 of a slot, count >= 1. Waits until the network is compiled."""
        # Further rows of the slot may be computed, too; their outputs have no meaning.

    def close(self) -> None:
        """Free threads, memory and devices."""


@runtime_checkable
class NativeBackend(Backend, Protocol):
    """A backend that kernels call.

    native_threads: threads of the caller that are worth calling it at the same time; 0 if none can on this machine.
    """

    native_threads: int

    def program(self, width: int, height: int) -> tuple[Slot, Closure]:
        """Return a slot of its own, and what computes its first rows, as many as it is called with.

        It returns their number, or FAILED where `infer` raises. One of both waits until the network is compiled.
        """


class _Board:
    """What the calls for one board size share: free slots, the encoder's memory, and the interpretation of outputs.

    reading: see `engine.evaluators.postprocess`. encoding: the lock of the encoder's memory.
    """

    def __init__(
        self, spec: NetSpec, encoder: Encoder, temperature: float, slots: Sequence[Slot], width: int, height: int
    ) -> None:
        self.size, self.rows = (width, height), len(slots[0].planes)
        table = symmetry_table(width, height)
        self.reading = Reading(meaning_of(spec), table, spec.policy.optimistic, float(temperature))
        # One memory for all calls, behind a lock: it remembers the ladders of earlier boards, and most positions are
        # children of a position that another call has encoded. That saves more time than encoding in parallel.
        self.encoding = new_lock()
        self.encoder_scratch = encoder.new_scratch(width, height)
        self.scratch = np.empty(width * height, dtype=np.float32)
        # With metadata the encoder's part of a row of globals is not contiguous, and kernels take contiguous arrays
        # only.
        self.globals = np.zeros((self.rows, spec.globals), dtype=np.float32)
        self._free: SimpleQueue[Slot] = SimpleQueue()
        for slot in slots:
            self._free.put(slot)

    def take(self) -> Slot:
        """Wait for a free slot and take it."""
        return self._free.get()

    def give_back(self, slot: Slot) -> None:
        """Return a slot for other calls."""
        self._free.put(slot)


class NetworkEvaluator:
    """Evaluates positions with one network on one backend.

    A call is divided into parts of a slot's rows, which are computed in parallel. The division depends only on the size
    of the call, so that results are equal to the last bit whatever other calls there are.

    temperature: divisor of the policy's logits, above 0. encode_seconds: total time of encoding.
    Raises WeightsError if the network does not fit its encoder.
    """

    def __init__(self, spec: NetSpec, backend: Backend, *, temperature: float = 1.0) -> None:
        if not temperature > 0.0:
            raise ValueError(f"policy temperature {temperature}, expected more than 0")
        self._spec, self._backend, self._temperature = spec, backend, temperature
        self._encoder = encoder_for(spec)
        can_encode = self._encoder.closure is not None and not spec.metadata and runs_closures()
        threads = backend.native_threads if can_encode and isinstance(backend, NativeBackend) else 0
        self.attributes = Attributes(
            name=backend.name,
            preferred_batch=backend.preferred_batch,
            max_batch=backend.max_batch,
            has_score=bool(spec.scores),
            has_ownership=spec.has_ownership,
            has_details=True,
            has_symmetries=True,
            concurrent=backend.parallel + 1,
            threads=threads,
            needs_profile=spec.metadata > 0,
        )
        self.encode_seconds = 0.0
        self._board: _Board | None = None
        self._boards: WeakValueDictionary[tuple[int, int], _Board] = WeakValueDictionary()
        self._helpers = ThreadPoolExecutor(max(1, backend.parallel - 1), thread_name_prefix="evaluate")
        self._lock = threading.Lock()

    def prepare(self, width: int, height: int) -> None:
        """Start compiling for a board size in the background. Raises WeightsError for an unsupported size."""
        check_board(self._spec.name, self._spec.board_sizes, width, height)
        self._backend.prepare(width, height)

    @property
    def model_bytes(self) -> int:
        """About what the network's models take at most, see `Backend`."""
        return self._backend.model_bytes

    def _board_of(self, width: int, height: int) -> _Board:
        """Return the shared state of the calls for a board size."""
        with self._lock:
            board = self._board
            if board is None or board.size != (width, height):
                # Calls that are still computed hold the slots of a board to which the evaluator returns.
                board = self._boards.get((width, height))
            if board is None:
                check_board(self._spec.name, self._spec.board_sizes, width, height)
                slots = self._backend.slots(width, height)
                board = _Board(self._spec, self._encoder, self._temperature, slots, width, height)
                self._boards[width, height] = board
            self._board = board
            return board

    def program(self, positions: PositionBatch, out: Evaluation) -> Program:
        """Return a program that evaluates the first rows without Python, see `program_of`. Raises as `evaluate`."""
        make, backend = self._encoder.closure, self._backend
        assert make is not None and isinstance(backend, NativeBackend)
        width, height = positions.width, positions.height
        board = self._board_of(width, height)
        slot, infer = backend.program(width, height)
        planes = slot.planes.reshape(*slot.planes.shape[:2], -1)
        asked = positions.optimism, positions.legal, positions.symmetry, positions.to_play
        answers = out.policy, out.value, out.score, out.ownership, out.details
        third = counts_no_result(self._spec, positions.rules)
        scratch = np.empty(width * height, dtype=np.float32)
        encode = make(positions, slot.planes, slot.globals, board.encoder_scratch, board.encoding)
        turn = Closure(turn_planes, planes, board.reading.table, positions.symmetry, 0, scratch)
        write = Closure(write_evaluation, *slot.outputs, board.reading, third, *asked, 0, *answers)
        steps = (Step("encode", encode), Step("encode", turn), Step("evaluate", infer), Step("evaluate", write))
        return Program(steps, len(slot.planes))

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the evaluation of rows 0..count-1, in parallel if they do not fit into one slot.

        Raises ValueError if count exceeds `max_batch`, and WeightsError if the network does not support the board size,
        lacks the metadata that it needs, or computes NaN or infinity.
        """
        if count > self.attributes.max_batch:
            raise ValueError(f"{count} positions exceed the batch of {self.attributes.max_batch}")
        board = self._board_of(positions.width, positions.height)
        # One iterator for all threads: each takes the next part when it is free, so that a slow part delays no other.
        parts = iter(range(0, count, board.rows))
        helpers = min(-(-count // board.rows), self._backend.parallel) - 1
        work = partial(self._evaluate_parts, board, positions, count, out, parts)
        helping = [self._helpers.submit(work) for _ in range(helpers)]
        try:
            work()
        finally:
            wait(helping)
        for each in helping:
            each.result()

    def _evaluate_parts(
        self, board: _Board, positions: PositionBatch, count: int, out: Evaluation, parts: Iterator[int]
    ) -> None:
        """Evaluate parts of a call. parts: iterator over their first rows, shared with other threads."""
        for first in parts:
            rows = min(board.rows, count - first)
            slot = board.take()
            try:
                self._encode(board, positions, slot, first, rows)
                self._backend.infer(slot, rows)
                finite = self._write(board, positions, slot.outputs, first, rows, out)
            finally:
                board.give_back(slot)
            if not finite:
                raise WeightsError(f"network {self._spec.name} computes numbers that are not finite")

    def _encode(self, board: _Board, positions: PositionBatch, slot: Slot, first: int, rows: int) -> None:
        """Write the inputs of rows first..first+rows-1 of the positions into a slot."""
        chosen = positions if first == 0 else _from_row(positions, first)
        with holding(board.encoding):
            start = time.perf_counter()
            globals_ = board.globals if self._spec.metadata else slot.globals
            self._encoder.encode(chosen, rows, slot.planes, globals_, board.encoder_scratch)
            if self._spec.metadata:
                self._write_profile(chosen, rows, globals_, slot)
            planes = slot.planes.reshape(*slot.planes.shape[:2], -1)
            turn_planes(planes, board.reading.table, positions.symmetry, first, board.scratch, rows)
            self.encode_seconds += time.perf_counter() - start

    def _write_profile(self, positions: PositionBatch, rows: int, globals_: Array, slot: Slot) -> None:
        """Write the globals of a human network: the encoder's, then the metadata for the side to move."""
        profile, metadata = positions.metadata, self._spec.metadata
        if profile is None or profile.shape[1] != metadata:
            raise WeightsError(
                f"network {self._spec.name} imitates people and needs a profile",
                expected=f"{metadata} numbers about the players",
                got=None if profile is None else profile.shape[1],
            )
        slot.globals[:rows, : self._spec.globals] = globals_[:rows]
        slot.globals[:rows, self._spec.globals :] = profile[positions.to_play[:rows] - 1]

    def _write(
        self, board: _Board, positions: PositionBatch, raw: RawOutputs, first: int, rows: int, out: Evaluation
    ) -> bool:
        """Write the evaluation of rows first..first+rows-1; return whether the network's outputs are finite."""
        third = counts_no_result(self._spec, positions.rules)
        asked = positions.optimism, positions.legal, positions.symmetry, positions.to_play
        answers = out.policy, out.value, out.score, out.ownership, out.details
        return write_evaluation(*raw, board.reading, third, *asked, first, *answers, rows) != FAILED

    def close(self) -> None:
        """Close the backend. The evaluator cannot be used afterwards."""
        self._helpers.shutdown()
        self._backend.close()


def _from_row(positions: PositionBatch, first: int) -> PositionBatch:
    """Return a view of the positions from row `first` on."""
    view = copy.copy(positions)
    view.capacity = positions.capacity - first
    for name, value in vars(positions).items():
        if isinstance(value, np.ndarray) and name != "metadata":
            setattr(view, name, value[first:])
    return view


def encoder_for(spec: NetSpec) -> Encoder:
    """Return the encoder of a network.

    Raises WeightsError if the network is inconsistent, if there is no encoder of that name, or if its numbers of planes
    and globals differ from the network's.
    """
    validate(spec)
    encoder = ENCODERS.get(spec.encoder)
    if encoder is None:
        raise WeightsError(
            f"network {spec.name} needs an unknown encoder",
            layer="encoder",
            expected=f"one of {' '.join(sorted(ENCODERS))}",
            got=spec.encoder,
        )
    for layer, inputs, wanted in (
        ("stem.conv", spec.planes, encoder.planes),
        ("stem.globals", spec.globals, encoder.globals),
    ):
        if inputs != wanted:
            raise WeightsError(
                f"wrong number of inputs for encoder {encoder.name}", layer=layer, expected=wanted, got=inputs
            )
    return encoder
