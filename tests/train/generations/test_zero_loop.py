"""The loop of steps: their order, what is written down, and how it goes on after an end at any moment."""

import json
import threading
import time
from pathlib import Path

import pytest

from engine.train.generations.gate import Gate
from engine.train.generations.zero import Bounds, Run, StepStatistics, Stopped
from engine.train.generations.zero_state import (
    STEPS,
    Clock,
    RunError,
    State,
    add_step,
    read_state,
    read_steps,
    write_state,
)


class Diary:
    """Steps that only record their calls; they may raise or stop at one of the steps."""

    def __init__(self, refused: tuple[int, ...] = (), fails_at: int | None = None, error: type = Stopped) -> None:
        self.done: list[tuple[str, int, int]] = []
        self._refused = refused
        self._fails_at = fails_at
        self._error = error

    def note(self, name: str, state: State) -> StepStatistics:
        if len(self.done) == self._fails_at:
            raise self._error
        self.done.append((name, state.generation, state.best))
        return {"games": 3}

    def selfplay(self, state: State) -> StepStatistics:
        return self.note("selfplay", state)

    def train(self, state: State) -> StepStatistics:
        return self.note("train", state)

    def gate(self, state: State) -> Gate:
        self.note("gate", state)
        return Gate(state.generation, state.best, state.generation not in self._refused, "games", 3)

    def rate(self, state: State) -> StepStatistics:
        return self.note("rating", state)


def go_on(folder: Path, work: Diary, generations: int = 3) -> State:
    return Run(folder).go_on(work, Bounds(generations=generations), threading.Event())


WHOLE = [
    *[("selfplay", 1, 0), ("train", 1, 0), ("gate", 1, 0), ("rating", 1, 1)],
    *[("selfplay", 2, 1), ("train", 2, 1), ("gate", 2, 1), ("rating", 2, 1)],
    *[("selfplay", 3, 1), ("train", 3, 1), ("gate", 3, 1), ("rating", 3, 3)],
]
"""Every step with the generation in the making and the one that plays; generation 2 was refused."""


def test_a_refused_candidate_leaves_the_best_one_playing(tmp_path: Path) -> None:
    work = Diary(refused=(2,))
    assert go_on(tmp_path, work) == State(4, "selfplay", 3)
    assert work.done == WHOLE


@pytest.mark.parametrize("step", range(12))
@pytest.mark.parametrize("error", [Stopped, MemoryError])
def test_an_end_within_any_step_repeats_that_step_only(tmp_path: Path, step: int, error: type) -> None:
    first, second = Diary((2,), fails_at=step, error=error), Diary((2,))
    if error is Stopped:
        go_on(tmp_path, first)
    else:
        with pytest.raises(MemoryError):
            go_on(tmp_path, first)
    go_on(tmp_path, second)
    assert first.done + second.done == WHOLE


def test_a_run_that_is_longer_later_goes_on(tmp_path: Path) -> None:
    first, second = Diary((2,)), Diary((2,))
    go_on(tmp_path, first, generations=1)
    assert len(first.done) == 4
    go_on(tmp_path, second)
    assert first.done + second.done == WHOLE


def test_every_step_is_a_line_and_the_last_one_of_a_step_counts(tmp_path: Path) -> None:
    go_on(tmp_path, Diary(), generations=1)
    add_step(tmp_path / "steps.jsonl", State(1, "rating", 1), {"games": 3, "hours": 1.0})
    steps = read_steps(tmp_path / "steps.jsonl")
    assert [line["step"] for line in steps] == ["selfplay", "train", "gate", "rating"]
    assert all(line["games"] == 3 and line["hours"] >= 0 for line in steps)


@pytest.mark.parametrize("step", range(4))
def test_a_kill_between_the_line_of_a_step_and_the_state_does_not_repeat_the_step(tmp_path: Path, step: int) -> None:
    work = Diary(fails_at=step + 1)
    go_on(tmp_path, work, generations=1)
    lines, after = (tmp_path / "steps.jsonl").read_text(), read_state(tmp_path / "state.json")
    write_state(tmp_path / "state.json", State(1, STEPS[step], int(step > STEPS.index("gate"))))
    go_on(tmp_path, Diary(fails_at=0), generations=1)
    assert read_state(tmp_path / "state.json") == after, "also the candidate that was promoted"
    assert (tmp_path / "steps.jsonl").read_text() == lines


@pytest.mark.parametrize("steps", [3, 4, 7])
def test_a_run_whose_state_was_lost_goes_on_after_its_finished_steps(tmp_path: Path, steps: int) -> None:
    go_on(tmp_path, Diary(fails_at=steps), generations=2)
    lines, after = (tmp_path / "steps.jsonl").read_text(), read_state(tmp_path / "state.json")
    (tmp_path / "state.json").unlink()
    go_on(tmp_path, Diary(fails_at=0), generations=2)
    assert read_state(tmp_path / "state.json") == after
    assert (tmp_path / "steps.jsonl").read_text() == lines
    assert after.best == (steps + 1) // 4


def test_hours_beyond_those_that_a_thread_can_wait_are_a_bound(tmp_path: Path) -> None:
    class Waiting(Diary):
        def selfplay(self, state: State) -> StepStatistics:
            time.sleep(0.05)
            return super().selfplay(state)

    stop = threading.Event()
    state = Run(tmp_path).go_on(Waiting(fails_at=4), Bounds(hours=1e7), stop)
    assert (state.generation, stop.is_set()) == (2, False)


def test_the_run_ends_when_its_hours_are_over(tmp_path: Path) -> None:
    class Slow(Diary):
        def selfplay(self, state: State) -> StepStatistics:
            assert stop.wait(20), "the hours are over, but stop is not set"
            raise Stopped

    stop = threading.Event()
    (tmp_path / "clock.json").write_text(json.dumps({"train": 3600}))
    state = Run(tmp_path).go_on(Slow(), Bounds(hours=1 + 0.2 / 3600), stop)
    assert state == State()
    assert Clock(tmp_path / "clock.json").hours >= 1 + 0.2 / 3600
    done = Diary()
    Run(tmp_path).go_on(done, Bounds(hours=1 + 0.2 / 3600), threading.Event())
    assert done.done == []


def test_the_time_of_reports_is_none_of_the_hours(tmp_path: Path) -> None:
    class Brisk(Diary):
        def note(self, name: str, state: State) -> StepStatistics:
            time.sleep(0.03)
            return super().note(name, state)

    run, bounds, work = Run(tmp_path), Bounds(hours=0.2 / 3600), Brisk()
    run.go_on(work, bounds, threading.Event(), lambda state, figures: time.sleep(0.05))
    assert bounds.reached(run.state, run.clock.hours)
    assert len(work.done) >= 5


def test_the_clock_adds_sittings(tmp_path: Path) -> None:
    for _ in range(2):
        clock = Clock(tmp_path / "clock.json")
        with clock.running("train"):
            time.sleep(0.05)
            assert clock.seconds["train"] >= 0.05
    seconds = Clock(tmp_path / "clock.json").seconds
    assert 0.1 <= seconds["train"] < 5
    assert seconds["gate"] == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "expected a JSON object"),
        ('{"format": "keima-zero", "version": 2}', "expected .*'version': 1.*got .*'version': 2"),
        ('{"format": "keima-zero", "version": 1, "speed": 3}', "speed"),
        ('{"format": "keima-zero", "version": 1, "step": "sleep"}', "one of selfplay train gate rating"),
        ('{"format": "keima-zero", "version": 1, "best": 5}', "best generation"),
    ],
)
def test_a_state_of_another_kind_is_refused_by_its_file(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "state.json"
    path.write_text(text)
    with pytest.raises(RunError, match=rf"state\.json: .*{message}"):
        read_state(path)


@pytest.mark.parametrize("line", ["{", "3", '{"step": "train"}', '{"generation": 1, "step": "sleep"}'])
def test_a_line_that_is_no_step_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "steps.jsonl").write_text(f'{{"generation": 1, "step": "selfplay"}}\n{line}\n')
    with pytest.raises(RunError, match=r"steps\.jsonl:2: no finished step: "):
        read_steps(tmp_path / "steps.jsonl")


def test_a_clock_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "clock.json").write_text('{"sleep": 3}')
    with pytest.raises(RunError, match="expected seconds of selfplay"):
        Clock(tmp_path / "clock.json")
