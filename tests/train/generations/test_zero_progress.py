"""What follows from the files of a run: the time left, losses over the hours, warnings, and the picture."""

import json
from pathlib import Path
from typing import Any

import pytest

from engine.train.generations.gate import Gate, write_gate
from engine.train.generations.rating import MatchLine, write_line
from engine.train.generations.zero_config import keep_config, read_config
from engine.train.generations.zero_progress import (
    Progress,
    by_generation,
    hours_each,
    hours_left,
    learned,
    read_progress,
    warnings,
)
from engine.train.generations.zero_state import State, add_step, write_state

GAMES = {"games": 10, "black_win_rate": 0.5, "mean_length": 20.0, "decided_share": 0.2}


def run_of(folder: Path, generations: int, *settings: str, games: dict[str, Any] | None = None) -> Progress:
    """Write the files of a run whose generations took an hour each: 0.6 of self-play, 0.4 of training in 10 steps."""
    keep_config(folder, read_config("tiny", settings))
    lines = []
    for generation in range(1, generations + 1):
        begun = generation - 1.0
        times = {"hours": begun + 0.6, "sitting_seconds": 2160.0}
        add_step(folder / "steps.jsonl", State(generation, "selfplay"), GAMES | times | (games or {}))
        times = {"hours": float(generation), "sitting_seconds": 1440.0}
        add_step(folder / "steps.jsonl", State(generation, "train"), {"steps": 10 * generation} | times)
        for step in ("gate", "rating"):
            add_step(folder / "steps.jsonl", State(generation, step), {"hours": float(generation)})  # type: ignore[arg-type]
        lines += [{"step": 10 * generation - 5 * (2 - n), "loss": 5.0 - generation, "entropy": 2.0} for n in (1, 2)]
    (folder / "train").mkdir()
    (folder / "train" / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "clock.json").write_text(json.dumps({"selfplay": 2160 * generations, "train": 1440 * generations}))
    write_state(folder / "state.json", State(generations + 1))
    return read_progress(folder)


def test_the_time_left_is_that_of_the_nearer_bound(tmp_path: Path) -> None:
    for name, settings, left in [
        ("a", ("run.generations=10", "run.hours=20"), 7.0),
        ("b", ("run.generations=100", "run.hours=5"), 2.0),
    ]:
        (tmp_path / name).mkdir()
        progress = run_of(tmp_path / name, 3, *settings)
        assert hours_each(progress) == pytest.approx(1.0)
        assert hours_left(progress) == pytest.approx(left)
        assert not progress.complete
    assert hours_left(read_progress(tmp_path)) is None, "no run"


def test_a_run_with_its_last_generation_is_complete(tmp_path: Path) -> None:
    progress = run_of(tmp_path, 3, "run.generations=3")
    assert progress.complete
    assert hours_left(progress) == 0.0


def test_training_has_its_place_in_the_hours_of_the_run(tmp_path: Path) -> None:
    lines = learned(run_of(tmp_path, 2))
    assert [line.generation for line in lines] == [1, 1, 2, 2]
    assert [line.hours for line in lines] == pytest.approx([0.8, 1.0, 1.8, 2.0])
    assert by_generation(lines, "loss") == {1: 4.0, 2: 3.0}


def test_a_training_in_progress_is_placed_until_now(tmp_path: Path) -> None:
    run_of(tmp_path, 1)
    with (tmp_path / "train" / "metrics.jsonl").open("a") as file:
        file.write('{"step": 12, "loss": 3.5}\n{"step": 14, "loss": 3.0}\n{"step": 16, "lo')
    (tmp_path / "clock.json").write_text(json.dumps({"selfplay": 2160 + 3600, "train": 1440 + 1440}))
    lines = learned(read_progress(tmp_path))
    assert [line.generation for line in lines] == [1, 1, 2, 2]
    assert lines[-1].hours == pytest.approx(2.4)


def test_a_run_that_goes_well_has_no_warnings(tmp_path: Path) -> None:
    assert warnings(run_of(tmp_path, 3)) == []


@pytest.mark.parametrize(
    ("games", "text"),
    [
        ({"black_win_rate": 0.97}, "Black won 97% of the last games"),
        ({"sitting_false_resign_rate": 0.4, "sitting_would_resign": 50}, "40% of 50 sides"),
    ],
)
def test_games_that_teach_little_are_a_warning(tmp_path: Path, games: dict[str, Any], text: str) -> None:
    (found,) = warnings(run_of(tmp_path, 1, games=games))
    assert found.startswith(text)


def test_wrong_resignations_that_may_be_chance_are_no_warning(tmp_path: Path) -> None:
    assert warnings(run_of(tmp_path, 1, games={"sitting_false_resign_rate": 0.25, "sitting_would_resign": 4})) == []


def test_a_rising_loss_refused_candidates_and_a_falling_rating_are_warnings(tmp_path: Path) -> None:
    run_of(tmp_path, 2)
    with (tmp_path / "train" / "metrics.jsonl").open("a") as file:
        file.write('{"step": 25, "loss": 4.0}\n')
    for candidate in range(1, 5):
        write_gate(tmp_path / "gate.jsonl", Gate(candidate, 0, False, "games", 5, 15))
    for first, wins in (("gen-0001", 38), ("gen-0002", 5)):
        write_line(tmp_path / "ratings.jsonl", MatchLine(first, "gen-0000", wins, 40 - wins, hours=1.0))
    assert warnings(read_progress(tmp_path)) == [
        "the last 4 candidates did not pass the gate",
        "generation 2 is weaker than generation 1",
        "the loss rose from 3.000 to 4.000 in generation 3",
    ]
