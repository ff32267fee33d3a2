"""The interface of evaluators: the methods that a search calls, and the attributes that it adapts to."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.native.closures import Closure


@dataclass(frozen=True)
class Attributes:
    """The properties of an evaluator that a search adapts to.

    preferred_batch: positions in a call from which on larger calls hardly raise throughput, with `concurrent` calls in
        flight.
    max_batch: most positions in a call.
    concurrent: calls in flight, each from its own thread, from which on more hardly raise throughput; more are allowed.
    has_score, has_details, has_ownership, has_first_play: which optional parts of an `Evaluation` are written.
    has_symmetries: whether `PositionBatch.symmetry` changes the evaluation of a position.
    needs_profile: whether positions need `metadata`: a network that imitates people.
    reads_past: whether an evaluation reads more of a row than board, side to move, legal moves, bonus, seed and moves.
    threads: number of caller's threads that should run programs at the same time, see `program_of`; 0 if the evaluator
        has no programs.
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
    needs_profile: bool = False
    reads_past: bool = True


class Evaluator(Protocol):
    """Evaluates batches of positions. Thread-safe; any number of calls may run at the same time."""

    attributes: Attributes

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the evaluation of rows 0..count-1. Does not change `positions`."""

    def close(self) -> None:
        """Free threads and devices."""


class Step(NamedTuple):
    """A part of a `Program`. name: "encode" or "evaluate", under which its time is reported."""

    name: str
    closure: Closure


def _always() -> bool:
    return True


class Program(NamedTuple):
    """An evaluation that kernels run without Python.

    steps: called in order, the first with the number of rows, each other one with the result of the one before. The
        last returns a negative number if the evaluation failed; call `evaluate` to raise the error.
    rows: number of positions beyond which a run gains nothing.
    is_current: returns whether the program still does what a new one would do; if not, create a new one.
    """

    steps: tuple[Step, ...]
    rows: int
    is_current: Callable[[], bool] = _always


@runtime_checkable
class _NativeEvaluator(Evaluator, Protocol):
    """An evaluator that kernels can call: its `Attributes.threads` is above 0."""

    def program(self, positions: PositionBatch, out: Evaluation) -> Program:
        """Return a program that one thread at a time may run. See `program_of`."""


def program_of(evaluator: Evaluator, positions: PositionBatch, out: Evaluation) -> Program | None:
    """Return a program that writes the evaluation of the first rows of `positions` into `out`; None if there is none.

    Rules and the other values common to all rows are fixed by this call; rows may change. Raises as `evaluate` does.
    """
    if evaluator.attributes.threads == 0 or not isinstance(evaluator, _NativeEvaluator):
        return None
    return evaluator.program(positions, out)
