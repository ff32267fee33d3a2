"""Where a run of `keima zero` stands: which step of which generation is next, and how long it has run so far.

`state.json` says what to do next, `steps.jsonl` what was done, `clock.json` how many seconds each step took over
all sittings. Each is written whole or by the line, so that a run that is killed goes on where it was.
"""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from engine.errors import GoError
from engine.support.files import append_line, read_object, whole_lines, write_atomically
from engine.support.json_text import json_text

FORMAT = {"format": "keima-zero", "version": 1}
Step = Literal["selfplay", "train", "gate", "rating"]
STEPS: tuple[Step, ...] = get_args(Step)
"""The steps of a generation, in their order."""
_HEARTBEAT_SECONDS = 5.0
"""How much of its time a killed run may forget."""


class RunError(GoError):
    """A run folder that cannot be used; the text names the file, what was expected and what was found."""


@dataclass(frozen=True)
class State:
    """What comes next: a step of the generation in the making. best: the generation that plays, 0 at the start."""

    generation: int = 1
    step: Step = "selfplay"
    best: int = 0

    def after_step(self, best: int | None = None) -> "State":
        """Return the state after this step; `best`, if given, is the generation that plays from now on."""
        new = self if best is None else replace(self, best=best)
        place = STEPS.index(self.step) + 1
        if place < len(STEPS):
            return replace(new, step=STEPS[place])
        return replace(new, generation=self.generation + 1, step=STEPS[0])


def read_state(path: Path) -> State:
    """Return the state in a file, the start where there is none. Raises RunError."""
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


def write_state(path: Path, state: State) -> None:
    """Write the state, whole or not at all."""
    write_atomically(path, json_text(FORMAT | asdict(state)) + "\n")


def add_step(path: Path, state: State, figures: Mapping[str, Any]) -> None:
    """Add the line of a finished step to steps.jsonl."""
    append_line(path, json_text({"generation": state.generation, "step": state.step, **figures}))


def read_steps(path: Path) -> list[dict[str, Any]]:
    """Return the lines of steps.jsonl in order, the last one of each step: one that was done twice counts once."""
    lines = {(line["generation"], STEPS.index(line["step"])): line for line in map(json.loads, whole_lines(path))}
    return [lines[key] for key in sorted(lines)]


class Clock:
    """Seconds of wall time by step, over all sittings of a run; what a killed sitting counted is kept, too."""

    def __init__(self, path: Path) -> None:
        """Read the file if it is there. Raises RunError where it holds anything else."""
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
        """Seconds by step until now."""
        with self._lock:
            found = dict(self._seconds)
            if self._running is not None:
                step, start = self._running
                found[step] += time.monotonic() - start
            return found

    @property
    def hours(self) -> float:
        """Hours of all steps until now."""
        return sum(self.seconds.values()) / 3600

    @contextmanager
    def running(self, step: Step) -> Iterator[None]:
        """Count the time of a step, and write it to the file every few seconds."""
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
