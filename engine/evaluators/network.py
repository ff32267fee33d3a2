"""The evaluator of networks: encodes positions, has a backend infer them, and reads the answers.

Owns the seam to the frameworks: a `Backend` turns planes into `RawOutputs` and knows no encoder, no
rules and no symmetry. Everything else is the same for all of them and is here and in
`engine.evaluators.postprocess`.
"""

import copy
import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
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

Precision: TypeAlias = Literal["fp32", "bf16", "fp16"]
"""What a backend's convolutions compute in; results are float32."""

_LOG = logging.getLogger(__name__)


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
    """Computes one network on one device. One user at a time, from any thread.

    name: framework, device and precision, such as "torch-cpu-fp32".
    preferred_batch: positions in flight at which throughput is about full.
    max_batch: positions that a caller should offer at most.
    """

    name: str
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


class NetworkEvaluator:
    """Evaluates one network by one backend. One call at a time, from any thread.

    temperature: divides the policy's logits; above 0.
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
        )
        self._size = (0, 0)

    def prepare(self, width: int, height: int) -> None:
        """Begin to compile for a board size, in the background. Raises WeightsError if the network is not for it."""
        check_board(self._spec, width, height)
        self._backend.prepare(width, height)

    def _resize(self, width: int, height: int) -> None:
        """Get the slots of one board size."""
        check_board(self._spec, width, height)
        self._size = (0, 0)
        self._slots = self._backend.slots(width, height)
        self._rows = len(self._slots[0].planes)
        self._encoder_scratch = self._encoder.new_scratch(width, height)
        self._table = symmetry_table(width, height)
        self._scratch = np.empty(width * height, dtype=np.float32)
        # With metadata the encoder's part of a row is not contiguous, and kernels take contiguous arrays only.
        self._globals = np.zeros((self._rows, self._spec.globals), dtype=np.float32)
        self._size = (width, height)

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the evaluation of rows 0..count-1, encoding some while others are inferred.

        Raises ValueError when count exceeds `max_batch`, WeightsError on a board size that the network is
        not for, without the players' metadata that it needs, and when it answers with NaN or infinity.
        """
        if count > self.attributes.max_batch:
            raise ValueError(f"{count} positions exceed the batch of {self.attributes.max_batch}")
        if (positions.width, positions.height) != self._size:
            self._resize(positions.width, positions.height)
        slots = self._slots
        step = max(1, min(self._rows, -(-count // len(slots))))
        running: deque[tuple[Slot, int, int]] = deque()
        try:
            for index, first in enumerate(range(0, count, step)):
                if len(running) == len(slots):
                    self._finish(positions, *running.popleft(), out)
                slot, rows = slots[index % len(slots)], min(step, count - first)
                self._encode(positions, slot, first, rows)
                self._backend.start(slot, rows)
                running.append((slot, first, rows))
            while running:
                self._finish(positions, *running.popleft(), out)
        finally:
            for slot, _, _ in running:
                self._backend.wait(slot)

    def _encode(self, positions: PositionBatch, slot: Slot, first: int, rows: int) -> None:
        """Write the inputs of rows first..first+rows-1 of the positions into a slot."""
        chosen = positions if first == 0 else _from_row(positions, first)
        metadata = self._spec.metadata
        globals_ = self._globals if metadata else slot.globals
        self._encoder.encode(chosen, rows, slot.planes, globals_, self._encoder_scratch)
        if metadata:
            profile = positions.metadata
            if profile is None or profile.shape[1] != metadata:
                raise WeightsError(
                    f"network {self._spec.name} imitates people and must be told whom",
                    expected=f"{metadata} numbers about the players",
                    got=None if profile is None else profile.shape[1],
                )
            slot.globals[:rows, : self._spec.globals] = globals_[:rows]
            slot.globals[:rows, self._spec.globals :] = profile[chosen.to_play[:rows] - 1]
        planes = slot.planes.reshape(*slot.planes.shape[:2], -1)
        turn_planes(planes, self._table, positions.symmetry, first, rows, self._scratch)

    def _finish(self, positions: PositionBatch, slot: Slot, first: int, rows: int, out: Evaluation) -> None:
        """Wait for a slot and write the evaluation of rows first..first+rows-1."""
        self._backend.wait(slot)
        raw, meaning, table = slot.outputs, self._meaning, self._table
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
        if not finite:
            raise WeightsError(f"network {self._spec.name} computes numbers that are not finite")

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
