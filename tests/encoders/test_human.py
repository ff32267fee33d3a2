"""The metadata of human networks: where each fact of a profile stands, and what is no profile."""

import math

import numpy as np
import pytest

from engine.encoders.human import human_metadata
from engine.errors import GoError
from engine.evaluation.positions import METADATA


def test_ranks_are_thermometers_of_the_side_to_move_and_the_other() -> None:
    rows = human_metadata("rank_3d_1k", 19, 19)
    assert rows.shape == (2, METADATA)
    assert rows.dtype == np.float32
    black, white = rows
    assert (black[6:40].sum(), black[40:74].sum()) == (7, 10)
    assert (white[6:40].sum(), white[40:74].sum()) == (10, 7)
    assert (black[6:13] == 1).all()
    assert np.array_equal(black[:6], [1, 1, 0, 0, 0, 0])
    assert np.array_equal(np.delete(black, np.s_[6:74]), np.delete(white, np.s_[6:74]))


@pytest.mark.parametrize(("rank", "ones"), [("9d", 1), ("1d", 9), ("1k", 10), ("20k", 29)])
def test_one_rank_is_that_of_both(rank: str, ones: int) -> None:
    rows = human_metadata(f"preaz_{rank}", 9, 9)
    assert np.array_equal(rows[0], rows[1])
    assert rows[0, 6:74].sum() == 2 * ones


def test_a_rank_profile_plays_byo_yomi_on_one_server() -> None:
    row = human_metadata("rank_5k", 13, 13)[0]
    assert row[74] == 0.5
    assert np.flatnonzero(row[75:82]).tolist() == [4]
    assert row[82:87] == pytest.approx(
        [
            0.4 * (math.log(1260) - 6.5),
            0.3 * (math.log(31) - 3),
            0.5 * (math.log(7) - 1.5),
            0.25 * (math.log(2) - 1.5),
            0.5 * math.log(169 / 361),
        ]
    )
    assert np.flatnonzero(row[151:]).tolist() == [2]


def test_the_date_is_a_set_of_waves() -> None:
    week = 2 * math.pi * ((365 * 50 + 12 + 60) % 7) / 7  # 2020-03-01 is so many days after 1970-01-01
    row = human_metadata("rank_5k", 19, 19)[0]
    assert row[87:89] == pytest.approx([math.cos(week), math.sin(week)], abs=1e-6)
    assert np.allclose(row[87:151:2] ** 2 + row[88:151:2] ** 2, 1)
    assert not np.array_equal(row[87:151], human_metadata("preaz_5k", 19, 19)[0, 87:151])


@pytest.mark.parametrize(("year", "source"), [(1800, 5), (2020, 5), (2021, 6), (2023, 6)])
def test_professionals_are_9d_of_their_year(year: int, source: int) -> None:
    row = human_metadata(f"proyear_{year}", 19, 19)[1]
    assert row[6:74].sum() == 2
    assert (row[74], row[75]) == (0, 1)
    assert np.flatnonzero(row[151:]).tolist() == [source]


@pytest.mark.parametrize(
    "name", ["", "rank", "rank_", "rank_10d", "rank_5k_", "rank_1d_2d_3d", "pro_9d", "proyear_1799", "proyear_2024"]
)
def test_what_is_no_profile_is_refused_by_name(name: str) -> None:
    with pytest.raises(GoError, match=f"unknown human profile '{name}', expected rank_R"):
        human_metadata(name, 19, 19)
