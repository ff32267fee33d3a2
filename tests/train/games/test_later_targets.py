"""The targets of the near future beside a slow sum over the turns to come."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.color import BLACK, EMPTY, WHITE
from engine.errors import GoError
from engine.train.data.samples import concatenate, read_shard
from engine.train.data.targets import FinalResult
from engine.train.games.later_targets import SHARES_OF_AREA, for_side, later_targets
from engine.train.games.selfplay import selfplay
from engine.train.games.selfplay_settings import SelfplaySettings
from tests.search.fakes import FakeEvaluator

TINY = SelfplaySettings(sizes=(5,), games_at_once=6, full_visits=24, quick_visits=6, resign_threshold=0.0, turns=4)

FOUND = [(0.2, 1.0), None, (-0.4, -3.0), (0.6, 5.5), None]


def slow_row(turn: int, share: float, area: int, end: list[float]) -> list[float]:
    """Return P(Black), P(White), P(no result) and score: each search to come with what the ones before it left."""
    factor, left, row = 1 / (1 + share * area), 1.0, [0.0] * 4
    for each in FOUND[turn:]:
        if each is None:
            continue
        value, score = each
        part = [(1 + value) / 2, (1 - value) / 2, 0.0, score]
        row = [sum_ + left * factor * new for sum_, new in zip(row, part, strict=True)]
        left *= 1 - factor
    return [sum_ + left * new for sum_, new in zip(row, end, strict=True)]


@pytest.mark.parametrize(
    ("result", "end"),
    [
        (FinalResult(BLACK, 7.0), [1, 0, 0, 7.0]),
        (FinalResult(WHITE, -2.5), [0, 1, 0, -2.5]),
        (FinalResult(EMPTY, 0.0), [0.5, 0.5, 0, 0.0]),
        (FinalResult(None), [0, 0, 1, 5.5]),
    ],
)
def test_each_horizon_averages_the_searches_to_come_and_the_end(result: FinalResult, end: list[float]) -> None:
    rows = later_targets(FOUND, result, 25)
    slow = [[slow_row(turn, share, 25, end) for share in SHARES_OF_AREA] for turn in range(len(FOUND))]
    np.testing.assert_allclose(rows, slow, atol=1e-6)


def test_the_nearest_horizon_is_the_most_like_the_next_search() -> None:
    rows = later_targets([(0.9, 20.0), *[(-0.9, -20.0)] * 30], FinalResult(WHITE, -20.0), 25)
    assert rows[0, 2, 0] > rows[0, 1, 0] > rows[0, 0, 0]


def test_white_sees_the_same_future_from_the_other_side() -> None:
    row = np.array([[0.7, 0.2, 0.1, 3.5]], np.float32)
    assert for_side(row, BLACK) is row
    np.testing.assert_allclose(for_side(row, WHITE), [[0.2, 0.7, 0.1, -3.5]])


def test_self_play_records_the_near_future_for_the_side_to_move_and_trusts_the_end_most_near_it(tmp_path: Path) -> None:
    settings = replace(TINY, full_share=1.0, opening_share=0.0, records_later=True)
    selfplay(settings, FakeEvaluator(), tmp_path, 4, 1)
    found = concatenate([read_shard(path) for path in sorted(tmp_path.glob("5x5/*.safetensors"))])
    assert found.later[:, :, :3].sum(2) == pytest.approx(1.0)
    for game in np.unique(found.game):
        own = found[found.game == game]
        last = own.later[own.ply.argmax(), 0, :3]
        assert np.abs(last - own.outcome[own.ply.argmax()]).max() <= 1 / (1 + SHARES_OF_AREA[0] * 25) + 1e-6


def test_folders_and_files_without_the_near_future_are_as_they_were(tmp_path: Path) -> None:
    selfplay(TINY, FakeEvaluator(), tmp_path, 2, 1)
    assert "records_later" not in json.loads((tmp_path / "selfplay.json").read_text())
    (path,) = tmp_path.glob("5x5/*.safetensors")
    assert b'"later"' not in path.read_bytes()
    assert not read_shard(path).later.any()
    with pytest.raises(GoError, match="records_later"):
        selfplay(replace(TINY, records_later=True), FakeEvaluator(), tmp_path, 4, 1)
