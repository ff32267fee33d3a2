"""The interface of evaluators: what a search calls, and what it must know about whom it calls."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.native.closures import Closure


@dataclass(frozen=True)
class Attributes:
    """What a search must know of an evaluator.

    preferred_batch: positions a call at which throughput is about full, `concurrent` calls being in flight.
    max_batch: positions a call that must not be exceeded.
    concurrent: calls in flight, each from its own thread, at which throughput is about full; more are
        answered, too.
    has_score, has_details, has_ownership, has_first_play: which optional parts of an `Evaluation` are written.
    has_symmetries: whether it evaluates a position differently under each of `PositionBatch.symmetry`.
    threads: threads of the caller that are worth running programs at the same time, see `program_of`; 0 if the
        evaluator has none.
    """

    name: str
    preferred_batch: int
    max_batch: int
    has_score: bool = False
    has_ownership: bool = False
    has_first_play: bool = False
    has_details: bool = False
    has_symmetries: bool = False
    concurrent: int = 1
    threads: int = 0


class Evaluator(Protocol):
    """Evaluates batches of positions, in any number of calls at a time from any threads."""

    attributes: Attributes

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the evaluation of rows 0..count-1. Does not change `positions`."""

    def close(self) -> None:
        """Free threads and devices."""


class Step(NamedTuple):
    """A part of a `Program`. name: what it does, by which its time is told: "encode" or "evaluate"."""

    name: str
    closure: Closure


class Program(NamedTuple):
    """An evaluation that threads run without Python.

    steps: called one after the other, the first with a number of rows, every other with what the one before returned.
        The last returns a negative number if the evaluation failed; why is what `evaluate` raises.
    rows: positions that it is worth being run with at most.
    """

    steps: tuple[Step, ...]
    rows: int


@runtime_checkable
class _NativeEvaluator(Evaluator, Protocol):
    """An evaluator that kernels call: `Attributes.threads` is above 0."""

    def program(self, positions: PositionBatch, out: Evaluation) -> Program:
        """Return what writes the evaluation of the first rows, in one thread at a time. See `program_of`."""


def program_of(evaluator: Evaluator, positions: PositionBatch, out: Evaluation) -> Program | None:
    """Return what writes the evaluation of the first rows of `positions` without Python; None if only `evaluate` can.

    What the positions have in common is what it is now. Raises as `evaluate`.
    """
    if evaluator.attributes.threads == 0 or not isinstance(evaluator, _NativeEvaluator):
        return None
    return evaluator.program(positions, out)
