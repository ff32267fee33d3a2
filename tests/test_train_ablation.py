"""The runs that say what each option of the training loop is worth."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from engine.train.generations.zero_config import read_config
from tests.train_ablation import BASE, CPU, PARTS, SHARED, Trained, elo, gains, newest_at, table, train_run, trained

SMALL = [
    *("run.games=4", "run.first_games=4", "selfplay.games_at_once=4", "selfplay.full_visits=8"),
    *("selfplay.quick_visits=2", "train.channels=8", "train.blocks=1", "train.batch_size=16"),
]


def line(part: str, seed: int, wins: int, losses: int, point: int = 1) -> dict[str, Any]:
    counts = {"wins": wins, "draws": 0, "losses": losses}
    return {"part": part, "seed": seed, "point": point, "generation": 3, "minutes": 1.0, **counts}


@pytest.mark.parametrize("name", PARTS)
def test_every_option_is_a_run_that_can_be_made(name: str) -> None:
    changed = read_config("tiny", [*SHARED, *PARTS[name]])
    assert (changed == read_config("tiny", SHARED)) is (name == BASE)


def test_the_generations_within_the_time_count(tmp_path: Path) -> None:
    steps = [(1, "selfplay", 4.0), (1, "train", 2.0), (2, "selfplay", 3.0), (2, "train", 2.0), (2, "train", 1.0)]
    lines = [json.dumps({"generation": g, "step": step, "seconds": seconds}) for g, step, seconds in steps]
    (tmp_path / CPU).write_text("".join(f"{each}\n" for each in lines))
    found, is_over = trained(tmp_path, 10.0)
    assert found == [Trained(0, 0.0), Trained(1, 6.0), Trained(2, 10.0)]
    assert is_over
    assert trained(tmp_path, 9.5) == ([Trained(0, 0.0), Trained(1, 6.0)], True)
    assert not trained(tmp_path, 11.0)[1]
    assert newest_at(found, 9.9).generation == 1


def test_a_run_uses_its_time_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    config = read_config("tiny", [*SHARED, *SMALL])
    stopped = threading.Event()
    stopped.set()
    assert train_run(tmp_path, config, 60.0, stopped) == [Trained(0, 0.0)]
    (first,) = (tmp_path / CPU).read_text().splitlines()
    used = json.loads(first)["seconds"]
    found = train_run(tmp_path, config, used + 0.3, threading.Event())
    assert (tmp_path / CPU).read_text().splitlines()[0] == first
    assert all(each.seconds <= used + 0.3 for each in found)
    assert train_run(tmp_path, config, used + 0.3, threading.Event()) == found


def test_gains_are_by_seed_above_the_run_as_it_is() -> None:
    lines = [line(BASE, 1, 10, 10), line(BASE, 2, 15, 5), line("forks", 1, 15, 5), line("forks", 3, 10, 10)]
    assert gains(lines, "forks", 1) == [pytest.approx(elo([lines[2]]))]
    assert elo([line("forks", 1, 20, 0)]) == pytest.approx(elo([line("forks", 1, 39, 1)]))


def test_the_table_pools_the_games_of_the_seeds() -> None:
    lines = [line(BASE, 1, 10, 10), line(BASE, 2, 10, 10), line("forks", 1, 15, 5), line("forks", 2, 5, 15)]
    shown = table(lines, 1)
    assert "| as it is | 2 | 3, 3 | 40 | 50.0% (35.2% to 64.8%) | +0 |  |  |" in shown
    assert "| forks | 2 | 3, 3 | 40 | 50.0% (35.2% to 64.8%) | +0 | +191, -191 | +0 ± 382 |" in shown
    assert "handicap" not in shown
