"""The loop that learns from nothing: self-play, training, the gate and rating, generation after generation.

It decides what comes next and writes down that it is done; how the steps are done is `Steps`'s, so that one machine
and many are the same to it. A run can end at any moment, also by kill -9: the next one begins with the step that was
not finished, and every step goes on from what it finds in the run folder.

Self-play and training take turns in one process. On a machine with two cores both would only take each other's time;
in turns each has all cores and caches, every generation learns from all games of the one before, and with a fixed
seed, and one process that plays, the same run comes out. More machines play at the same time with `--ray`.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from engine.train.generations.gate import Gate
from engine.train.generations.zero_state import Clock, State, add_step, read_state, write_state

Figures = Mapping[str, Any]
"""What a step counted: games, samples, evaluations, ..."""
Report = Callable[[State, Figures], None]
_LEAST_WAIT = 0.05
"""Seconds between two looks at the clock at least."""


class Stopped(Exception):
    """A step that ended before it was done because the run is to stop; it goes on in the next sitting."""


class Steps(Protocol):
    """The steps of a generation. Each goes on from what the run folder holds, and raises Stopped when told to stop."""

    def selfplay(self, state: State) -> Figures:
        """Let the best network play the games of a generation, and store their samples."""

    def train(self, state: State) -> Figures:
        """Train on the samples of the last generations, and store the candidate's network."""

    def gate(self, state: State) -> Gate:
        """Let the candidate play the best network, unless it needs no match."""

    def rate(self, state: State) -> Figures:
        """Let the newest generation play earlier ones and fixed opponents, if it is its turn."""


@dataclass(frozen=True)
class Bounds:
    """When a run ends: hours of all its sittings together, generations; None for no bound."""

    hours: float | None = None
    generations: int | None = None

    def reached(self, state: State, hours: float) -> bool:
        """Return whether nothing more is to be done."""
        if self.generations is not None and state.generation > self.generations:
            return True
        return self.hours is not None and hours >= self.hours


class Run:
    """A run folder and where it stands."""

    def __init__(self, folder: Path) -> None:
        """Read the folder's state. Raises RunError."""
        self.folder = folder
        self.state = read_state(folder / "state.json")
        self.clock = Clock(folder / "clock.json")

    def go_on(self, steps: Steps, bounds: Bounds, stop: threading.Event, report: Report | None = None) -> State:
        """Do step after step until a bound is reached or `stop` is set, and return the state then.

        stop: is set when the hours are over, too; a step that can be cut short ends then and goes on next time.
        """
        ended = threading.Event()
        if bounds.hours is not None:
            threading.Thread(target=self._stop_after, args=(bounds.hours, stop, ended), daemon=True).start()
        try:
            while not stop.is_set() and not bounds.reached(self.state, self.clock.hours):
                start = time.monotonic()
                with self.clock.running(self.state.step):
                    figures, best = self._do(steps)
                figures = {**figures, "sitting_seconds": round(time.monotonic() - start, 3), "hours": self.clock.hours}
                add_step(self.folder / "steps.jsonl", self.state, figures)
                done, self.state = self.state, self.state.after_step(best)
                write_state(self.folder / "state.json", self.state)
                if report is not None:
                    report(done, figures)
        except Stopped:
            pass
        finally:
            ended.set()
        return self.state

    def _do(self, steps: Steps) -> tuple[Figures, int | None]:
        """Do the step that is next; return its figures, and the new best generation if there is one."""
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
        """Set `stop` when the steps have taken so many hours; the time between steps, of reports, does not count."""
        while (left := 3600 * (hours - self.clock.hours)) > 0:
            if ended.wait(max(left, _LEAST_WAIT)):
                return
        stop.set()
