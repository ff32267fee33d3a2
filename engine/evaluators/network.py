"""The evaluator of networks: encodes positions, has a backend infer them, and reads the answers.

Owns the interface to the frameworks: a `Backend` turns planes into `RawOutputs` and knows no encoder, no rules and no
symmetry. Everything else is the same for all of them and is here and in `engine.evaluators.postprocess`.
"""

import copy
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

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
from engine.native.closures import FAILED, Closure, runs_closures
from engine.native.locks import holding, new_lock
from engine.nets.spec import Array, NetSpec, WeightsError, validate

Precision: TypeAlias = Literal["fp32", "bf16", "fp16", "int8"]
"""What a backend's convolutions compute in; results are float32."""
_FEW_SLOTS = 4
"""Slots in parallel that the thread of a search encodes for and reads itself. It takes some 100 us a position on 19x19,
35 of them to encode; with more slots, which was not measured, they might come to wait for it."""


class RawOutputs(NamedTuple):
    """A network's numbers for the positions of a slot, from the view of the side to move.

    All float32 and C-contiguous. policy: [rows, P, area + 1] logits, pass last. result: [rows, R] before
    tanh or softmax. score: [rows, S], S = 0 without. ownership: [rows, area] before tanh, [rows, 0] without.
    """

    policy: Array
    result: Array
    score: Array
    ownership: Array


@dataclass(eq=False)
class Slot:
    """One batch in flight for one board size, in memory that stays where it is; backends may add to it.

    planes: [rows, planes, height, width] float32, C-contiguous.
    globals: [rows, globals + metadata] float32, C-contiguous.
    """

    planes: Array
    globals: Array
    outputs: RawOutputs


def slot_memory(spec: NetSpec, rows: int, width: int, height: int) -> tuple[Array, Array, RawOutputs]:
    """Return planes, globals and outputs of a slot, all zero."""
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
    """Computes one network on one device. Any thread may use a slot, one at a time.

    name: framework, device and precision, such as "torch-cpu-fp32".
    parallel: slots that are worth inferring at the same time.
    preferred_batch: positions a slot at which throughput is about full, so many slots being inferred.
    max_batch: positions that a caller should offer at most.
    goes_on: whether `start` returns long before the outputs are there, and needs next to no time.
    """

    name: str
    parallel: int
    preferred_batch: int
    max_batch: int
    goes_on: bool

    def prepare(self, width: int, height: int) -> None:
        """Begin to compile for a board size in the background and return at once."""

    def slots(self, width: int, height: int) -> Sequence[Slot]:
        """Return at least one slot, all with the same number of rows, once they are compiled.

        Slots of another board size are no longer used.
        """

    def start(self, slot: Slot, count: int) -> None:
        """Begin to infer rows 0..count-1 of a slot, count >= 1, which must not be touched until `wait`."""

    def is_prompt(self, width: int, height: int, count: int) -> bool:
        """Whether `start` with so many rows would return at once, with nothing to compile before."""

    def ready(self, slot: Slot, seconds: float) -> bool:
        """Wait so many seconds at most; return whether `wait` would return at once."""

    def wait(self, slot: Slot) -> None:
        """Return when rows 0..count-1 of the slot's outputs are there; they stay until its next start."""

    def close(self) -> None:
        """Free threads, memory and devices."""


@runtime_checkable
class NativeBackend(Backend, Protocol):
    """A backend that kernels call, in as many threads as `parallel` says."""

    def program(self, width: int, height: int) -> tuple[Slot, Closure]:
        """Return a slot of its own, and what computes its first rows in the caller's thread; it returns their number.

        Waits until the network is compiled.
        """


class _Board:
    """What the calls for one board size share: the slots that no call uses, and the encoder.

    reading: see `engine.evaluators.postprocess`. encoding: held by the call that encodes. All calls share one
    encoder's memory of earlier boards, which saves more time than encoding side by side would: most positions
    are children of a position that another call has encoded.
    """

    def __init__(
        self, spec: NetSpec, encoder: Encoder, temperature: float, slots: Sequence[Slot], width: int, height: int
    ) -> None:
        self.size, self.rows = (width, height), len(slots[0].planes)
        table = symmetry_table(width, height)
        self.reading = Reading(meaning_of(spec), table, spec.policy.optimistic, float(temperature))
        self.encoding = new_lock()
        self.encoder_scratch = encoder.new_scratch(width, height)
        self.scratch = np.empty(width * height, dtype=np.float32)
        # With metadata the encoder's part of a row is not contiguous, and kernels take contiguous arrays only.
        self.globals = np.zeros((self.rows, spec.globals), dtype=np.float32)
        self._free: SimpleQueue[Slot] = SimpleQueue()
        for slot in slots:
            self._free.put(slot)

    def take(self, *, wait: bool) -> Slot | None:
        """Return a slot that nobody uses; with `wait` as soon as there is one, otherwise None if there is none."""
        try:
            return self._free.get(block=wait)
        except Empty:
            return None

    def take_all(self, count: int) -> list[Slot]:
        """Return so many slots that nobody uses, none if there are fewer."""
        slots: list[Slot] = []
        while len(slots) < count:
            slot = self.take(wait=False)
            if slot is None:
                for each in slots:
                    self.give_back(each)
                return []
            slots.append(slot)
        return slots

    def give_back(self, slot: Slot) -> None:
        """Let another call have a slot."""
        self._free.put(slot)


class NetworkEvaluator:
    """Evaluates one network by one backend.

    A call takes a slot for each part of its positions. It waits for a slot only while it holds none, so that
    calls which need several never wait for each other.

    temperature: divides the policy's logits; above 0.
    encode_seconds: time spent encoding since the evaluator was made.
    Raises WeightsError when the network does not fit its encoder.
    """

    def __init__(self, spec: NetSpec, backend: Backend, *, temperature: float = 1.0) -> None:
        if not temperature > 0.0:
            raise ValueError(f"policy temperature {temperature}, expected more than 0")
        self._spec, self._backend, self._temperature = spec, backend, temperature
        self._encoder = encoder_for(spec)
        is_native = self._encoder.closure is not None and not spec.metadata and isinstance(backend, NativeBackend)
        self.attributes = Attributes(
            name=backend.name,
            preferred_batch=backend.preferred_batch,
            max_batch=backend.max_batch,
            has_score=bool(spec.scores),
            has_ownership=spec.has_ownership,
            has_details=True,
            has_symmetries=True,
            concurrent=backend.parallel + 1,
            begins=backend.goes_on and backend.parallel <= _FEW_SLOTS,
            threads=backend.parallel if is_native and runs_closures() else 0,
        )
        self.encode_seconds = 0.0
        self._board: _Board | None = None
        self._calls = 0
        self._lock = threading.Lock()

    def prepare(self, width: int, height: int) -> None:
        """Begin to compile for a board size, in the background. Raises WeightsError if the network is not for it."""
        check_board(self._spec, width, height)
        self._backend.prepare(width, height)

    def _enter(self, positions: PositionBatch, count: int) -> tuple[_Board, int]:
        """Count a call in; return what it shares with others of its board size, and how many rows a slot gets."""
        with self._lock:
            board = self._board_of(positions.width, positions.height)
            self._calls += 1
            parts = max(1, self._backend.parallel // self._calls)
        return board, max(1, min(board.rows, -(-count // parts)))

    def _board_of(self, width: int, height: int) -> _Board:
        """Return what calls of a board size share. To be called with the lock held."""
        board = self._board
        if board is None or board.size != (width, height):
            check_board(self._spec, width, height)
            slots = self._backend.slots(width, height)
            board = self._board = _Board(self._spec, self._encoder, self._temperature, slots, width, height)
        return board

    def program(self, positions: PositionBatch, out: Evaluation) -> Program | None:
        """Return what evaluates the first rows without Python, see `NativeEvaluator`. Raises as `evaluate`."""
        make, backend = self._encoder.closure, self._backend
        if make is None or not isinstance(backend, NativeBackend) or not self.attributes.threads:
            return None
        width, height = positions.width, positions.height
        with self._lock:
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
        """Write the evaluation of rows 0..count-1; a call that is alone divides them to be inferred in parallel.

        Raises ValueError when count exceeds `max_batch`, WeightsError on a board size that the network is
        not for, without the players' metadata that it needs, and when it answers with NaN or infinity.
        """
        self._check_count(count)
        _Call(self, positions, count, out).run()

    def begin(self, positions: PositionBatch, count: int, out: Evaluation) -> "_Call | None":
        """Begin to evaluate rows 0..count-1; return None if that would take time. Raises as `evaluate`."""
        self._check_count(count)
        call = _Call(self, positions, count, out)
        return call if call.begin() else None

    def _check_count(self, count: int) -> None:
        if count > self.attributes.max_batch:
            raise ValueError(f"{count} positions exceed the batch of {self.attributes.max_batch}")

    def _leave(self) -> None:
        """Count a call out."""
        with self._lock:
            self._calls -= 1

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
        """Write the globals of a network that imitates people: the encoder's, and who is to move."""
        profile, metadata = positions.metadata, self._spec.metadata
        if profile is None or profile.shape[1] != metadata:
            raise WeightsError(
                f"network {self._spec.name} imitates people and must be told whom",
                expected=f"{metadata} numbers about the players",
                got=None if profile is None else profile.shape[1],
            )
        slot.globals[:rows, : self._spec.globals] = globals_[:rows]
        slot.globals[:rows, self._spec.globals :] = profile[positions.to_play[:rows] - 1]

    def _write(
        self, board: _Board, positions: PositionBatch, raw: RawOutputs, first: int, rows: int, out: Evaluation
    ) -> bool:
        """Write the evaluation of rows first..first+rows-1; return True if the network's numbers are finite."""
        third = counts_no_result(self._spec, positions.rules)
        asked = positions.optimism, positions.legal, positions.symmetry, positions.to_play
        answers = out.policy, out.value, out.score, out.ownership, out.details
        return write_evaluation(*raw, board.reading, third, *asked, first, *answers, rows) != FAILED

    def close(self) -> None:
        """Free the backend; the evaluator must not be used again."""
        self._backend.close()


class _Call:
    """The rows of one call on their way through slots; once begun an `engine.evaluation.evaluator.Begun`."""

    def __init__(self, evaluator: NetworkEvaluator, positions: PositionBatch, count: int, out: Evaluation) -> None:
        self._evaluator, self._backend = evaluator, evaluator._backend
        self._positions, self._count, self._out = positions, count, out
        self._board, self._step = evaluator._enter(positions, count)
        self._running: deque[tuple[Slot, int, int]] = deque()

    def run(self) -> None:
        """Take all rows through, as many slots at a time as are free."""
        board, running = self._board, self._running
        try:
            for first in range(0, self._count, self._step):
                slot = board.take(wait=not running)
                while slot is None:
                    self._finish_oldest()
                    slot = board.take(wait=not running)
                self._start(slot, first)
            while running:
                self._finish_oldest()
        finally:
            self._leave()

    def begin(self) -> bool:
        """Start all rows and return True; do nothing and return False if something is to be waited for."""
        sizes = {min(self._step, self._count), (self._count - 1) % self._step + 1}
        is_prompt = all(self._backend.is_prompt(*self._board.size, rows) for rows in sizes)
        slots = self._board.take_all(-(-self._count // self._step)) if is_prompt else []
        try:
            for first in range(0, self._count if slots else 0, self._step):
                self._start(slots.pop(), first)
        except BaseException:
            for slot in slots:
                self._board.give_back(slot)
            self._leave()
            raise
        if not self._running:
            self._leave()
        return bool(self._running)

    def wait(self, seconds: float) -> bool:
        """Wait so many seconds at most; return whether the answer is there."""
        end = time.monotonic() + seconds
        return all(self._backend.ready(slot, max(0.0, end - time.monotonic())) for slot, _, _ in self._running)

    def finish(self) -> None:
        """Wait for the answer and write it. Raises WeightsError when it has NaN or infinity."""
        try:
            while self._running:
                self._finish_oldest()
        finally:
            self._leave()

    def _start(self, slot: Slot, first: int) -> None:
        """Begin to infer the rows from `first` on in a slot."""
        rows = min(self._step, self._count - first)
        try:
            self._evaluator._encode(self._board, self._positions, slot, first, rows)
            self._backend.start(slot, rows)
        except BaseException:
            self._board.give_back(slot)
            raise
        self._running.append((slot, first, rows))

    def _finish_oldest(self) -> None:
        """Wait for the slot that was started first, write the evaluation of its rows and give it back."""
        slot, first, rows = self._running.popleft()
        evaluator = self._evaluator
        try:
            self._backend.wait(slot)
            finite = evaluator._write(self._board, self._positions, slot.outputs, first, rows, self._out)
        finally:
            self._board.give_back(slot)
        if not finite:
            raise WeightsError(f"network {evaluator._spec.name} computes numbers that are not finite")

    def _leave(self) -> None:
        """Give back the slots that are still in use, and count the call out."""
        for slot, _, _ in self._running:
            self._backend.wait(slot)
            self._board.give_back(slot)
        self._evaluator._leave()


def _from_row(positions: PositionBatch, first: int) -> PositionBatch:
    """Return a view of the positions from a row on."""
    view = copy.copy(positions)
    view.capacity = positions.capacity - first
    for name, value in vars(positions).items():
        if isinstance(value, np.ndarray) and name != "metadata":
            setattr(view, name, value[first:])
    return view


def encoder_for(spec: NetSpec) -> Encoder:
    """Return the encoder a network was made for.

    Raises WeightsError when the network is inconsistent, when there is no encoder of that name, or
    when its numbers of planes and globals differ from the network's.
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


def check_board(spec: NetSpec, width: int, height: int) -> None:
    """Raise WeightsError unless the network was made for boards of this size."""
    smallest, largest = spec.board_sizes
    if not (smallest <= min(width, height) and max(width, height) <= largest):
        raise WeightsError(
            f"network {spec.name} knows no such board",
            expected=f"sides of {smallest} to {largest}",
            got=f"{width}x{height}",
        )
