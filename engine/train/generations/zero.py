"""The main loop of learning from zero: generations of self-play, training, gate and rating.

The loop chooses the next step and records that it is done; `Steps` performs the steps, on one machine or many. A run
can end at any moment, even by kill -9: the next session starts with the unfinished step, and every step resumes from
the files in the run folder.

Self-play and training alternate in one process. At the same time on two cores, they would only slow each other down;
in turn, each has all cores and caches, every generation learns from all games of the one before, and a fixed seed
with one self-play process gives a reproducible run. With `--ray`, more machines play at the same time.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from engine.train.generations.gate import Gate
from engine.train.generations.zero_state import (
    Clock,
    State,
    add_step,
    after_steps,
    read_steps,
    recovered_state,
    write_state,
)

StepStatistics = Mapping[str, Any]
"""Statistics of a step: games, samples, evaluations, ..."""
Report = Callable[[State, StepStatistics], None]
_STATE, _STEPS = "state.json", "steps.jsonl"
# Minimum seconds between two checks of the clock.
_LEAST_WAIT = 0.05


class Stopped(Exception):
    """Raised by a step that was interrupted because the run must stop; the next session resumes it."""


class Steps(Protocol):
    """The steps of a generation. Each resumes from the files in the run folder, and raises Stopped if interrupted."""

    def selfplay(self, state: State) -> StepStatistics:
        """Play the games of a generation with the best network, and store their samples."""

    def train(self, state: State) -> StepStatistics:
        """Train on the samples of the last generations, and store the candidate network."""

    def gate(self, state: State) -> Gate:
        """Play the candidate against the best network, unless no match is needed."""

    def rate(self, state: State) -> StepStatistics:
        """Play the newest generation against earlier ones and fixed opponents, if it is due."""


@dataclass(frozen=True)
class Bounds:
    """The bounds of a run: total hours of all sessions, and generations; None for no bound."""

    hours: float | None = None
    generations: int | None = None

    def reached(self, state: State, hours: float) -> bool:
        """Return whether the run is complete."""
        if self.generations is not None and state.generation > self.generations:
            return True
        return self.hours is not None and hours >= self.hours


class Run:
    """A run folder and its state."""

    def __init__(self, folder: Path) -> None:
        """Read the state from the folder. Raises RunError."""
        self.folder = folder
        self.state = recovered_state(folder / _STATE, folder / _STEPS)
        self.clock = Clock(folder / "clock.json")

    def go_on(self, steps: Steps, bounds: Bounds, stop: threading.Event, report: Report | None = None) -> State:
        """Perform steps until a bound is reached or `stop` is set, and return the final state.

        stop: also set here when the hours are over; an interruptible step ends then and is resumed in the next session.
        """
        self._settle_state()
        ended = threading.Event()
        if bounds.hours is not None:
            threading.Thread(target=self._stop_after, args=(bounds.hours, stop, ended), daemon=True).start()
        try:
            while not stop.is_set() and not bounds.reached(self.state, self.clock.hours):
                start = time.monotonic()
                with self.clock.running(self.state.step):
                    figures, best = self._do(steps)
                figures = {**figures, "sitting_seconds": round(time.monotonic() - start, 3), "hours": self.clock.hours}
                # The line comes first: if a kill separates the two writes, the next session writes the state.
                add_step(self.folder / _STEPS, self.state, figures)
                done, self.state = self.state, self.state.after_step(best)
                write_state(self.folder / _STATE, self.state)
                if report is not None:
                    report(done, figures)
        except Stopped:
            pass
        finally:
            ended.set()
        return self.state

    def _settle_state(self) -> None:
        """Write the state, after the next step if that step has its line: a kill came between the two writes.

        Done again, it would replace its figures by those of a step in which nothing was left to do.
        """
        now = self.state.generation, self.state.step
        found = [line for line in read_steps(self.folder / _STEPS) if (line["generation"], line["step"]) == now]
        self.state = after_steps(self.state, found)
        write_state(self.folder / _STATE, self.state)

    def _do(self, steps: Steps) -> tuple[StepStatistics, int | None]:
        """Perform the next step; return its statistics, and the new best generation if there is one."""
        state = self.state
        if state.step == "selfplay":
            return steps.selfplay(state), None
        if state.step == "train":
            return steps.train(state), None
        if state.step == "gate":
            outcome = steps.gate(state)
            share = round(outcome.share.value, 4) if outcome.games else None
            figures = {"games": outcome.games, "share": share, "ended": outcome.ended, "promoted": outcome.promoted}
            return figures, state.generation if outcome.promoted else None
        return steps.rate(state), None

    def _stop_after(self, hours: float, stop: threading.Event, ended: threading.Event) -> None:
        """Set `stop` when the steps have taken `hours`; time between steps, for reports, does not count."""
        while (left := 3600 * (hours - self.clock.hours)) > 0:
            if ended.wait(min(max(left, _LEAST_WAIT), threading.TIMEOUT_MAX)):
                return
        stop.set()
