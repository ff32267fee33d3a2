"""The profile that fits a game's players: KataGo's names, from what records say of ranks and dates."""

import pytest

from engine.records.human_profiles import RANKS, parse_profile, profile_of_game


@pytest.mark.parametrize(
    ("black", "white", "dated", "profile"),
    [
        ("3d", "12k", "2016-03-09", "preaz_3d_12k"),
        ("3d", "3d", "2017-01-01", "rank_3d"),
        ("5 kyu", "1 Dan", "", "rank_5k_1d"),
        ("12d", "10d", "2018-02-11", "rank_9d"),
        ("0k", "20k", "2019-05-05", "rank_1k_20k"),
        ("6d ama", "14k*", "2001", "preaz_6d_14k"),
        ("9p", "2d", "2005-01-01", "preaz_9d_2d"),
        ("9p", "1p, Women's Honinbo", "1968-11-28", "proyear_1968"),
        ("9p", "9p", "c. 1670", "proyear_1800"),
        ("7p", "8p", "2025-01-01", "proyear_2023"),
    ],
)
def test_ranks_and_date_of_a_game_name_a_profile(black: str, white: str, dated: str, profile: str) -> None:
    assert profile_of_game(black, white, dated) == profile
    parse_profile(profile)


@pytest.mark.parametrize(
    ("black", "white", "dated"),
    [("", "3d", "2019"), ("2552", "2480", "2019"), ("21k", "3d", "2019"), ("9p", "9p", ""), ("25th Honinbo", "9p", "")],
)
def test_players_without_a_rank_of_a_profile_have_none(black: str, white: str, dated: str) -> None:
    assert profile_of_game(black, white, dated) is None


def test_every_rank_has_a_profile() -> None:
    for place, rank in enumerate(RANKS):
        found = profile_of_game(rank, "1d", "2020-01-01")
        assert found is not None
        assert parse_profile(found).black == place + 1
