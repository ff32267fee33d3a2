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
    begins: whether `AsynchronousEvaluator.begin`, where there is one, costs less than a thread for each call.
    threads: of the caller's that are worth running programs of a `NativeEvaluator` at the same time; 0 where there are
        none.
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
    begins: bool = False
    threads: int = 0


class Evaluator(Protocol):
    """Evaluates batches of positions, in any number of calls at a time from any threads."""

    attributes: Attributes

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the evaluation of rows 0..count-1. Does not change `positions`."""

    def close(self) -> None:
        """Free threads and devices."""


class Begun(Protocol):
    """An evaluation that goes on by itself until somebody takes it in."""

    def wait(self, seconds: float) -> bool:
        """Wait so many seconds at most; return whether the answer is there."""

    def finish(self) -> None:
        """Wait for the answer and write it. To be called once, by any thread, wanted or not. Raises as `evaluate`."""


@runtime_checkable
class AsynchronousEvaluator(Evaluator, Protocol):
    """An evaluator that needs no thread of the caller's for a call: it changes threads twice, not four times."""

    def begin(self, positions: PositionBatch, count: int, out: Evaluation) -> Begun | None:
        """Begin to evaluate rows 0..count-1, without waiting; None where only `evaluate` can, or not at once.

        `positions` and `out` must stay as they are until the evaluation is finished. Who has begun one must not wait
        for an `evaluate` before it is finished: that may wait for the memory that this one holds.
        """


def asynchronous(evaluator: Evaluator) -> AsynchronousEvaluator | None:
    """Return an evaluator as one whose calls are to be begun, None if a thread is to wait for each."""
    return evaluator if evaluator.attributes.begins and isinstance(evaluator, AsynchronousEvaluator) else None


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
class NativeEvaluator(Evaluator, Protocol):
    """An evaluator that kernels call."""

    def program(self, positions: PositionBatch, out: Evaluation) -> Program | None:
        """Return what writes the evaluation of the first rows, of positions like these, by one thread at a time.

        What a batch has in common is what it is now. None where only `evaluate` can. Raises as `evaluate`.
        """


def native(evaluator: Evaluator) -> NativeEvaluator | None:
    """Return an evaluator as one that kernels call, None if they cannot."""
    return evaluator if evaluator.attributes.threads > 0 and isinstance(evaluator, NativeEvaluator) else None
