"""What self-play learns from earlier generations: the komi of each size, the threshold of resignation, and forks."""

from pathlib import Path

import pytest

from engine.train.generations.adaptation import (
    MOST_RESIGN,
    RESIGN_GAMES,
    median_margin,
    next_komi,
    records_of,
    resign_threshold,
)
from engine.train.generations.zero_config import ZeroConfig, read_config
from engine.train.toml_settings import ConfigError


def record(side: int, komi: float, result: str, comment: str = "") -> str:
    return f"(;GM[1]SZ[{side}]KM[{komi}]RE[{result}]C[{comment}])"


GAMES = [
    record(5, 2.5, "B+0.5"),
    record(5, 3, "W+2"),
    record(5, 4, "0"),
    record(5, 2.5, "Void"),
    record(5, 60, "B+25", "moves fork=3"),
    record(5, 60, "B+25").replace("KM", "AB[cc]KM"),
    record(5, 60, "B+25", "playout doubling 2"),
    record(7, 9, "W+1.5"),
]


def test_the_fair_komi_of_a_size_is_the_median_margin_of_its_even_games() -> None:
    assert median_margin(GAMES, 5) == 3.0
    assert median_margin([*GAMES, record(5, 7, "B+18")], 5) == 3.5, "one game with the whole board changes little"
    assert median_margin(GAMES, 7) == 7.5
    assert median_margin(GAMES, 9) is None
    assert next_komi(6.0, GAMES, 7, 0.25) == 6.375
    assert next_komi(6.0, GAMES, 9, 0.25) == 6.0


def test_the_threshold_lets_no_more_winners_resign_than_allowed() -> None:
    games = [f"winner's lowest winrate {number / 1000:.4f}; decided" for number in range(1, 101)]
    threshold = resign_threshold(games, 0.05, 0.01)
    assert threshold == 0.006
    assert sum(number / 1000 < threshold for number in range(1, 101)) == 5
    assert resign_threshold(games[: RESIGN_GAMES - 1], 0.05, 0.01) == 0.01
    assert resign_threshold([each.replace("0.0", "0.8") for each in games], 0.05, 0.01) == MOST_RESIGN
    assert resign_threshold(games, 1.0, 0.01) == MOST_RESIGN


def test_a_generation_that_has_not_played_has_no_records(tmp_path: Path) -> None:
    assert records_of([tmp_path / "gen-0000"]) == []


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["run.komi_gain=1", "run.fair_komi_rate=0.5"], "run.fair_komi_rate: expected 0 with run.komi_gain"),
        (["run.resign_false_rate=0.05", "selfplay.no_resign_share=0"], "expected selfplay.no_resign_share above 0"),
        (["train.short_value_weight=1"], "expected selfplay.records_later=true"),
        (["selfplay.fork_share=0.1"], "set run.fork_share"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        read_config("tiny", settings)


def test_nothing_adapts_by_default() -> None:
    assert ZeroConfig().run.adapted == []
    settings = ["run.fair_komi_rate=0.5", "run.fork_share=0.1", "run.resign_false_rate=0.05"]
    assert len(read_config("tiny", settings).run.adapted) == 3
