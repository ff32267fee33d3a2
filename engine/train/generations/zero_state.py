"""The state of a run of `keima zero`: the next step, the finished steps, and the time used so far.

`state.json` has the next step, `steps.jsonl` the finished steps, and `clock.json` the seconds of each step over all
sessions. Files are replaced atomically or extended by whole lines, so that a killed run can be resumed.
"""

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from engine.errors import GoError
from engine.support.files import append_line, read_object, write_atomically
from engine.support.json_text import json_text
from engine.support.run_folder import parsed_lines

FORMAT = {"format": "keima-zero", "version": 1}
Step = Literal["selfplay", "train", "gate", "rating"]
STEPS: tuple[Step, ...] = get_args(Step)
"""The steps of a generation, in their order."""
# Interval of writing clock.json, and so the time that a killed run may lose count of.
_HEARTBEAT_SECONDS = 5.0


class RunError(GoError):
    """Raised for a run folder that cannot be used; the text has the file, and expected and actual contents."""


@dataclass(frozen=True)
class State:
    """The next step, and its generation. best: the generation that plays, 0 at the start."""

    generation: int = 1
    step: Step = "selfplay"
    best: int = 0

    def after_step(self, best: int | None = None) -> "State":
        """Return the state after this step. best: the new generation that plays, None if unchanged."""
        new = self if best is None else replace(self, best=best)
        place = STEPS.index(self.step) + 1
        if place < len(STEPS):
            return replace(new, step=STEPS[place])
        return replace(new, generation=self.generation + 1, step=STEPS[0])


def read_state(path: Path) -> State:
    """Read the state, or return the initial one if there is no file. Raises RunError."""
    if not path.exists():
        return State()
    content = read_object(path, RunError)
    found = {key: content.pop(key, None) for key in FORMAT}
    if found != FORMAT:
        raise RunError(f"{path}: expected {FORMAT}, got {found}")
    try:
        state = State(**content)
    except TypeError as error:
        raise RunError(f"{path}: {error}") from error
    counts = (state.generation, state.best)
    if state.step not in STEPS or not all(type(each) is int for each in counts) or not 0 <= state.best <= counts[0]:
        raise RunError(f"{path}: expected a generation, one of {' '.join(STEPS)} and a best generation, got {content}")
    return state


def recovered_state(path: Path, steps: Path) -> State:
    """Return the state; that after all finished steps if its file was lost. Raises RunError.

    From the start on, a run would replace its networks by others.
    """
    state = read_state(path)
    return state if path.exists() else after_steps(state, read_steps(steps))


def after_steps(state: State, lines: Iterable[Mapping[str, Any]]) -> State:
    """Return the state after those of the lines, in order, that follow it."""
    for line in lines:
        if (line["generation"], line["step"]) == (state.generation, state.step):
            state = state.after_step(state.generation if line.get("promoted") else None)
    return state


def write_state(path: Path, state: State) -> None:
    """Write the state atomically."""
    write_atomically(path, json_text(FORMAT | asdict(state)) + "\n")


def add_step(path: Path, state: State, figures: Mapping[str, Any]) -> None:
    """Append the line of a finished step to steps.jsonl."""
    append_line(path, json_text({"generation": state.generation, "step": state.step, **figures}))


def read_steps(path: Path) -> list[dict[str, Any]]:
    """Return the lines of steps.jsonl in order, only the last one of each step: a repeated step counts once.

    Raises RunError with the line number on any other content.
    """
    found = parsed_lines(path, _step_line, "finished step", RunError)
    lines = {(line["generation"], STEPS.index(line["step"])): line for line in found}
    return [lines[key] for key in sorted(lines)]


def _step_line(line: Any) -> dict[str, Any]:
    if not isinstance(line, dict) or type(line.get("generation")) is not int or line.get("step") not in STEPS:
        raise ValueError(f"expected a generation and one of {' '.join(STEPS)}, got {line!r}")
    return line


class Clock:
    """Counts the wall time of each step in seconds, over all sessions of a run including killed ones."""

    def __init__(self, path: Path) -> None:
        """Read the file if it exists. Raises RunError on invalid contents."""
        self._path = path
        self._lock = threading.Lock()
        self._running: tuple[Step, float] | None = None
        self._seconds: dict[Step, float] = dict.fromkeys(STEPS, 0.0)
        if path.exists():
            for step, seconds in read_object(path, RunError).items():
                if step not in STEPS or not isinstance(seconds, (int, float)):
                    raise RunError(f"{path}: expected seconds of {' '.join(STEPS)}, got {step!r}: {seconds!r}")
                self._seconds[step] = float(seconds)

    @property
    def seconds(self) -> dict[Step, float]:
        """The seconds of each step until now."""
        with self._lock:
            found = dict(self._seconds)
            if self._running is not None:
                step, start = self._running
                found[step] += time.monotonic() - start
            return found

    @property
    def hours(self) -> float:
        """The hours of all steps until now."""
        return sum(self.seconds.values()) / 3600

    @contextmanager
    def running(self, step: Step) -> Iterator[None]:
        """Count the time of a step, and write it to the file at intervals."""
        ended = threading.Event()
        with self._lock:
            self._running = step, time.monotonic()
        beat = threading.Thread(target=self._beat, args=(ended,), daemon=True)
        beat.start()
        try:
            yield
        finally:
            ended.set()
            beat.join()
            counted = self.seconds
            with self._lock:
                self._running, self._seconds = None, counted
            self._write()

    def _beat(self, ended: threading.Event) -> None:
        while not ended.wait(_HEARTBEAT_SECONDS):
            self._write()

    def _write(self) -> None:
        write_atomically(self._path, json_text({step: round(value, 3) for step, value in self.seconds.items()}) + "\n")
