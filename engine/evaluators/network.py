"""The evaluator of networks: encodes positions, has a backend infer them, and reads the answers.

Owns the seam to the frameworks: a `Backend` turns planes into `RawOutputs` and knows no encoder, no
rules and no symmetry. Everything else is the same for all of them and is here and in
`engine.evaluators.postprocess`.
"""

import copy
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from engine.encoders import ENCODERS, Encoder
from engine.evaluators.base import Attributes, Evaluation, PositionBatch
from engine.evaluators.postprocess import (
    counts_no_result,
    meaning_of,
    symmetry_table,
    turn_planes,
    write_ownership,
    write_policy,
    write_scores,
    write_values,
)
from engine.nets.spec import Array, NetSpec, WeightsError, validate

Precision: TypeAlias = Literal["fp32", "bf16", "fp16", "int8"]
"""What a backend's convolutions compute in; results are float32."""


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


class Backend(Protocol):
    """Computes one network on one device. Any thread may use a slot, one at a time.

    name: framework, device and precision, such as "torch-cpu-fp32".
    parallel: slots that are worth inferring at the same time.
    preferred_batch: positions a slot at which throughput is about full, so many slots being inferred.
    max_batch: positions that a caller should offer at most.
    """

    name: str
    parallel: int
    preferred_batch: int
    max_batch: int

    def prepare(self, width: int, height: int) -> None:
        """Begin to compile for a board size in the background and return at once."""

    def slots(self, width: int, height: int) -> Sequence[Slot]:
        """Return at least one slot, all with the same number of rows, once they are compiled.

        Slots of another board size are no longer used.
        """

    def start(self, slot: Slot, count: int) -> None:
        """Begin to infer rows 0..count-1 of a slot, count >= 1, which must not be touched until `wait`."""

    def wait(self, slot: Slot) -> None:
        """Return when rows 0..count-1 of the slot's outputs are there; they stay until its next start."""

    def close(self) -> None:
        """Free threads, memory and devices."""


class _Board:
    """What the calls for one board size share: the slots that no call uses, and the encoder.

    table: see `engine.evaluators.postprocess`. encoding: held by the call that encodes. All calls share one
    encoder's memory of earlier boards, which saves more time than encoding side by side would: most positions
    are children of a position that another call has encoded.
    """

    def __init__(self, spec: NetSpec, encoder: Encoder, slots: Sequence[Slot], width: int, height: int) -> None:
        self.size, self.rows = (width, height), len(slots[0].planes)
        self.table = symmetry_table(width, height)
        self.encoding = threading.Lock()
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
        self._encoder, self._meaning = encoder_for(spec), meaning_of(spec)
        self.attributes = Attributes(
            name=backend.name,
            preferred_batch=backend.preferred_batch,
            max_batch=backend.max_batch,
            has_score=bool(spec.scores),
            has_ownership=spec.has_ownership,
            has_details=True,
            has_symmetries=True,
            concurrent=backend.parallel + 1,
        )
        self.encode_seconds = 0.0
        self._board: _Board | None = None
        self._calls = 0
        self._lock = threading.Lock()

    def prepare(self, width: int, height: int) -> None:
        """Begin to compile for a board size, in the background. Raises WeightsError if the network is not for it."""
        check_board(self._spec, width, height)
        self._backend.prepare(width, height)

    def _enter(self, width: int, height: int) -> tuple[_Board, int]:
        """Count a call in; return what it shares with others of its board size, and how many calls there are."""
        with self._lock:
            board = self._board
            if board is None or board.size != (width, height):
                check_board(self._spec, width, height)
                board = _Board(self._spec, self._encoder, self._backend.slots(width, height), width, height)
                self._board = board
            self._calls += 1
            return board, self._calls

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the evaluation of rows 0..count-1; a call that is alone divides them to be inferred in parallel.

        Raises ValueError when count exceeds `max_batch`, WeightsError on a board size that the network is
        not for, without the players' metadata that it needs, and when it answers with NaN or infinity.
        """
        if count > self.attributes.max_batch:
            raise ValueError(f"{count} positions exceed the batch of {self.attributes.max_batch}")
        board, calls = self._enter(positions.width, positions.height)
        parts = max(1, self._backend.parallel // calls)
        step = max(1, min(board.rows, -(-count // parts)))
        running: deque[tuple[Slot, int, int]] = deque()
        try:
            for first in range(0, count, step):
                slot = board.take(wait=not running)
                while slot is None:
                    self._finish(board, positions, running, out)
                    slot = board.take(wait=not running)
                rows = min(step, count - first)
                try:
                    self._encode(board, positions, slot, first, rows)
                    self._backend.start(slot, rows)
                except BaseException:
                    board.give_back(slot)
                    raise
                running.append((slot, first, rows))
            while running:
                self._finish(board, positions, running, out)
        finally:
            for slot, _, _ in running:
                self._backend.wait(slot)
                board.give_back(slot)
            with self._lock:
                self._calls -= 1

    def _encode(self, board: _Board, positions: PositionBatch, slot: Slot, first: int, rows: int) -> None:
        """Write the inputs of rows first..first+rows-1 of the positions into a slot."""
        chosen = positions if first == 0 else _from_row(positions, first)
        with board.encoding:
            start = time.perf_counter()
            globals_ = board.globals if self._spec.metadata else slot.globals
            self._encoder.encode(chosen, rows, slot.planes, globals_, board.encoder_scratch)
            if self._spec.metadata:
                self._write_profile(chosen, rows, globals_, slot)
            planes = slot.planes.reshape(*slot.planes.shape[:2], -1)
            turn_planes(planes, board.table, positions.symmetry, first, rows, board.scratch)
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

    def _finish(
        self, board: _Board, positions: PositionBatch, running: deque[tuple[Slot, int, int]], out: Evaluation
    ) -> None:
        """Wait for the slot that was started first, write the evaluation of its rows and give it back."""
        slot, first, rows = running.popleft()
        try:
            self._backend.wait(slot)
            finite = self._write(board, positions, slot.outputs, first, rows, out)
        finally:
            board.give_back(slot)
        if not finite:
            raise WeightsError(f"network {self._spec.name} computes numbers that are not finite")

    def _write(
        self, board: _Board, positions: PositionBatch, raw: RawOutputs, first: int, rows: int, out: Evaluation
    ) -> bool:
        """Write the evaluation of rows first..first+rows-1; return True if the network's numbers are finite."""
        meaning, table = self._meaning, board.table
        finite = write_policy(
            raw.policy,
            self._spec.policy.optimistic,
            self._temperature,
            positions.optimism,
            positions.legal,
            table,
            positions.symmetry,
            first,
            rows,
            out.policy,
        )
        third = counts_no_result(self._spec, positions.rules)
        finite &= write_values(raw.result, meaning.kind, third, positions.to_play, first, rows, out.value, out.details)
        area = table.shape[1] - 1
        finite &= write_scores(
            raw.score, meaning.columns, meaning.scales, meaning.form, area, first, rows, out.score, out.details
        )
        if self.attributes.has_ownership:
            write_ownership(raw.ownership, table, positions.symmetry, first, rows, out.ownership)
        return bool(finite)

    def close(self) -> None:
        """Free the backend; the evaluator must not be used again."""
        self._backend.close()


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
