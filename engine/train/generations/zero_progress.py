"""The progress of a run of `keima zero`, read from the files of its folder, which it never changes."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from engine.support.elo import wilson_interval
from engine.support.files import whole_lines
from engine.train.games.selfplay_store import RECORDS
from engine.train.generations.gate import read_gates
from engine.train.generations.rating import MatchLine, by_size, curve, player_of, read_lines
from engine.train.generations.zero import Bounds
from engine.train.generations.zero_config import CONFIG, ZeroConfig, read_file
from engine.train.generations.zero_state import Clock, State, read_steps, recovered_state
from engine.train.learning.metrics import read_metrics

# Finished generations from whose hours the speed of a run is taken.
_PACE_GENERATIONS = 5
# Gates in a row that a run may fail before it looks stuck.
_REFUSED = 4
# Shares of wins, and of wrong resignations, beyond which games teach little; AGZ bounds the latter by 5 %.
_ONE_SIDED, _WRONG = 0.85, 0.05
# Rise of the loss from one generation to the next that is no noise.
_RISE = 0.1


@dataclass(frozen=True)
class Progress:
    """The contents of a run folder's state and result files.

    config: None before the run has begun. metrics: lines of the training run. finished: games of the generation in
    progress.
    """

    folder: Path
    config: ZeroConfig | None
    state: State
    seconds: dict[str, float]
    steps: list[dict[str, Any]]
    gates: list[dict[str, Any]]
    matches: list[MatchLine]
    metrics: list[dict[str, float]]
    finished: int

    @property
    def hours(self) -> float:
        """The hours of all steps."""
        return sum(self.seconds.values()) / 3600

    @property
    def complete(self) -> bool:
        """Whether the run has reached its bound."""
        run = self.config.run if self.config else None
        return run is not None and Bounds(run.hours, run.generations).reached(self.state, self.hours)

    @property
    def matches_by_size(self) -> dict[int, list[MatchLine]]:
        """The rating matches on each board, the smallest first."""
        return by_size(self.matches, self.config.selfplay.sizes[0] if self.config else 0)

    def lines(self, step: str) -> list[dict[str, Any]]:
        """Return the finished steps of a kind."""
        return [line for line in self.steps if line["step"] == step]


class Learned(NamedTuple):
    """A line of the training metrics, the generation that it belongs to, and the hours of the run by then."""

    generation: int
    hours: float
    figures: dict[str, float]


def read_progress(folder: Path) -> Progress:
    """Read the files of a run. Raises GoError if one cannot be read."""
    state = recovered_state(folder / "state.json", folder / "steps.jsonl")
    return Progress(
        folder,
        read_file(folder / CONFIG) if (folder / CONFIG).exists() else None,
        state,
        {str(step): seconds for step, seconds in Clock(folder / "clock.json").seconds.items()},
        read_steps(folder / "steps.jsonl"),
        read_gates(folder / "gate.jsonl"),
        read_lines(folder / "ratings.jsonl"),
        read_metrics(folder / "train"),
        len(whole_lines(folder / "samples" / player_of(state.generation) / RECORDS)),
    )


def on_board(side: int, boards: Collection[int]) -> str:
    """Return " on 9x9" for a board that is one of several, else ""."""
    return f" on {side}x{side}" if len(boards) > 1 else ""


def rate(steps: Sequence[dict[str, Any]], step: str, figure: str) -> float | None:
    """Return a statistic per second over the steps of a kind, None if unknown.

    For a step that took several sessions, only the last one counts, for the statistic and the seconds alike.
    """
    counted = [line for line in steps if line["step"] == step and line.get(figure) is not None]
    seconds = sum(line["sitting_seconds"] for line in counted)
    return sum(line[figure] for line in counted) / seconds if seconds > 0 else None


def hours_each(progress: Progress) -> float | None:
    """Return the mean hours of the last finished generations, None before one is finished."""
    ends = [0.0, *(line["hours"] for line in progress.lines("rating"))]
    counted = ends[-1 - _PACE_GENERATIONS :]
    return (counted[-1] - counted[0]) / (len(counted) - 1) if len(counted) > 1 else None


def hours_left(progress: Progress) -> float | None:
    """Return the hours until the run reaches its bound, None without a bound or before the speed is known."""
    if progress.config is None:
        return None
    run, found = progress.config.run, list[float]()
    if run.hours is not None:
        found.append(run.hours - progress.hours)
    each = hours_each(progress)
    if run.generations is not None and each is not None:
        begun = progress.lines("rating")[-1]["hours"]
        # A generation that takes longer than those before it is taken to end now.
        rest = max(begun + each - progress.hours, 0.0)
        found.append(rest + (run.generations - progress.state.generation) * each)
    return max(0.0, min(found)) if found else None


def learned(progress: Progress) -> list[Learned]:
    """Return the metrics of training over the hours of the run.

    Steps are placed evenly within the time of their training, and those of a training in progress until now.
    """
    ends = [(line["steps"], line["hours"], line["sitting_seconds"] / 3600) for line in progress.lines("train")]
    generations = [line["generation"] for line in progress.lines("train")]
    last = max((line["hours"] for line in progress.steps), default=0.0)
    if progress.metrics and progress.metrics[-1]["step"] > (ends[-1][0] if ends else 0):
        ends.append((int(progress.metrics[-1]["step"]), progress.hours, progress.hours - last))
        generations.append(progress.state.generation)
    found, place, before = list[Learned](), 0, 0
    for figures in progress.metrics:
        while place < len(ends) and figures["step"] > ends[place][0]:
            before, place = ends[place][0], place + 1
        if place == len(ends):
            break
        end, hours, took = ends[place]
        share = (figures["step"] - before) / (end - before)
        found.append(Learned(generations[place], hours - (1 - share) * took, figures))
    return found


def by_generation(lines: Sequence[Learned], name: str) -> dict[int, float]:
    """Return the mean of a metric in the training of each generation."""
    values: dict[int, list[float]] = {}
    for line in lines:
        if name in line.figures:
            values.setdefault(line.generation, []).append(line.figures[name])
    return {generation: mean(each) for generation, each in values.items()}


def warnings(progress: Progress) -> list[str]:
    """Return what a person should look at."""
    found = []
    refused = 0
    for gate in progress.gates:
        refused = 0 if gate["promoted"] else refused + 1
    if refused >= _REFUSED:
        found.append(f"the last {refused} candidates did not pass the gate")
    boards = progress.matches_by_size
    for side, matches in boards.items():
        points = curve(matches)
        best = max(points, key=lambda point: point.rating.elo, default=None)
        if best is not None and points[-1].rating.high < best.rating.low:
            text = f"generation {points[-1].generation} is weaker than generation {best.generation}"
            found.append(text + on_board(side, boards))
    losses = list(by_generation(learned(progress), "loss").items())
    if len(losses) > 1 and losses[-1][1] > (1 + _RISE) * losses[-2][1]:
        found.append(f"the loss rose from {losses[-2][1]:.3f} to {losses[-1][1]:.3f} in generation {losses[-1][0]}")
    for line in progress.lines("selfplay")[-1:]:
        wins, wrong = line.get("black_win_rate"), line.get("sitting_false_resign_rate")
        if wins is not None and not 1 - _ONE_SIDED <= wins <= _ONE_SIDED:
            found.append(f"Black won {wins:.0%} of the last games, which teach little: look at the komi")
        count = line.get("sitting_would_resign", 0)
        if wrong is not None and wilson_interval(wrong * count, count).low > _WRONG:
            found.append(f"{wrong:.0%} of {count} sides that would have resigned did not lose: lower the threshold")
    return found
