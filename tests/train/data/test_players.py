"""The players of samples: the inputs that they stand for are those of the profile that a person asks for."""

import numpy as np
import pytest

from engine.color import BLACK, WHITE
from engine.encoders.human import human_metadata
from engine.records.human_profiles import RANKS, parse_profile
from engine.train.data.players import PROFESSIONAL, UNKNOWN, group_of, metadata_of, players_of


@pytest.mark.parametrize("profile", ["rank_5k", "rank_3d_12k", "preaz_1d_9d", "proyear_1800", "proyear_2021"])
def test_the_inputs_of_a_sample_are_those_of_its_profile(profile: str) -> None:
    numbers = np.array([players_of(profile, color) for color in (BLACK, WHITE)], np.int16)
    np.testing.assert_array_equal(metadata_of(numbers, 9, 13), human_metadata(profile, 9, 13))


def test_no_samples_have_no_inputs() -> None:
    assert metadata_of(np.zeros((0, 3), np.int16), 9, 9).shape == (0, 192)


def test_every_rank_belongs_to_a_group() -> None:
    own = {rank: group_of(*players_of(f"rank_{rank}", BLACK)[::2]) for rank in RANKS}
    assert (own["9d"], own["7d"], own["6d"], own["1d"]) == ("7d-9d", "7d-9d", "4d-6d", "1d-3d")
    assert (own["1k"], own["4k"], own["10k"], own["11k"], own["20k"]) == (
        "1k-3k",
        "4k-6k",
        "7k-10k",
        "11k-20k",
        "11k-20k",
    )
    assert group_of(1, parse_profile("proyear_1985").day.year) == PROFESSIONAL
    assert group_of(0, 0) == UNKNOWN
