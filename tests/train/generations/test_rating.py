"""The rating curve: who meets whom, how opponents grow, and which strengths the results mean."""

from pathlib import Path

import numpy as np
import pytest

from engine.errors import GoError
from engine.support.elo import expected_score
from engine.train.generations.rating import (
    MatchLine,
    RatingSettings,
    curve,
    earlier_generations,
    generation_of,
    gnugo_level,
    gnugo_player,
    is_rated,
    next_opponent,
    origin,
    player_of,
    ratings,
    read_lines,
    rollout_player,
    rollout_visits,
    summary,
    write_line,
)

NONE = RatingSettings(every=2, back=(1, 3), rollout_first=0, rollout_last=0)
ROLLOUTS = RatingSettings(every=2, back=(), rollout_first=1000, rollout_last=3000)
GNUGO = RatingSettings(every=1, back=(), rollout_first=0, rollout_last=0, gnugo="gnugo --mode gtp")


def opponents(generation: int, lines: list[MatchLine], settings: RatingSettings, share: float) -> list[str]:
    """Let a generation win a share of its games until it has no opponent left; return whom it met."""
    met = []
    while (opponent := next_opponent(generation, lines, settings)) is not None:
        wins = round(share * settings.games)
        lines.append(MatchLine(player_of(generation), opponent, wins, settings.games - wins))
        met.append(opponent)
        assert len(met) < 50
    return met


def test_names_tell_who_it_is() -> None:
    assert (player_of(7), generation_of("gen-0007"), generation_of("gnugo-7")) == ("gen-0007", 7, None)
    assert (rollout_visits(rollout_player(1000)), rollout_visits("gen-0001")) == (1000, None)
    assert (gnugo_level(gnugo_player(10)), gnugo_level("gen-0001")) == (10, None)


def test_a_generation_meets_rated_ones_before_it() -> None:
    assert [generation for generation in range(7) if is_rated(generation, NONE)] == [0, 2, 4, 6]
    assert earlier_generations(4, NONE) == [2]
    assert opponents(6, [], NONE, 0.5) == ["gen-0004", "gen-0000"]
    assert not any(is_rated(generation, RatingSettings(every=0)) for generation in range(5))


def test_a_rating_that_was_cut_short_goes_on_with_what_it_lacks() -> None:
    assert next_opponent(6, [MatchLine("gen-0006", "gen-0004", 3, 3)], NONE) == "gen-0000"


def test_the_rollout_player_grows_after_each_clean_sweep() -> None:
    lines: list[MatchLine] = []
    assert opponents(2, lines, ROLLOUTS, 0.95) == ["rollout-1000"]
    assert opponents(4, lines, ROLLOUTS, 1.0) == ["rollout-1000", "rollout-2000", "rollout-3000"]
    assert opponents(6, lines, ROLLOUTS, 1.0) == ["rollout-3000"], "the strongest one stays to be met"


def test_gnugo_rises_a_level_after_each_beaten_one() -> None:
    lines: list[MatchLine] = []
    assert opponents(1, lines, GNUGO, 0.7) == ["gnugo-1"]
    assert opponents(2, lines, GNUGO, 0.75) == [f"gnugo-{level}" for level in range(1, 11)]
    assert opponents(3, lines, GNUGO, 0.75) == ["gnugo-10"]


def test_a_skipped_opponent_is_not_asked_again_in_the_same_rating() -> None:
    lines = [MatchLine("gen-0001", "gnugo-1", skipped="gnugo is not installed")]
    assert next_opponent(1, lines, GNUGO) is None
    assert next_opponent(2, lines, GNUGO) == "gnugo-1"
    assert ratings(lines) == {}


def test_ratings_recover_strengths_that_results_were_drawn_from() -> None:
    generator = np.random.default_rng(4)
    strength = {player_of(generation): 120.0 * generation for generation in range(6)} | {"rollout-1000": 250.0}
    lines = []
    for generation in range(1, 6):
        first = player_of(generation)
        for second in [player_of(earlier) for earlier in range(max(0, generation - 2), generation)] + ["rollout-1000"]:
            wins = int(generator.binomial(400, expected_score(strength[first] - strength[second])))
            lines.append(MatchLine(first, second, wins, 400 - wins, hours=generation / 2))
    fitted = ratings(lines)
    assert fitted[player_of(0)].elo == 0
    for player, elo in strength.items():
        assert fitted[player].elo == pytest.approx(elo, abs=40)
    points = curve(lines)
    assert [point.generation for point in points] == list(range(6))
    assert [point.hours for point in points] == [0, 0.5, 1, 1.5, 2, 2.5]
    assert sorted(point.rating.elo for point in points) == [point.rating.elo for point in points]


def test_errors_are_those_of_the_difference_to_generation_0() -> None:
    lines = [MatchLine(player_of(number), player_of(number - 1), 12, 8) for number in range(1, 7)]
    fitted = ratings(lines)
    errors = [fitted[player_of(number)].error for number in range(7)]
    assert errors[0] == 0
    assert fitted[player_of(0)].low == fitted[player_of(0)].high == 0
    assert errors == sorted(errors)


def test_who_never_met_anybody_linked_to_generation_0_has_no_rating() -> None:
    lines: list[MatchLine] = []
    every_second = RatingSettings(every=1, back=(2,), rollout_first=0, rollout_last=0)
    for generation in range(1, 6):
        opponents(generation, lines, every_second, 0.6)
    assert sorted(ratings(lines)) == ["gen-0000", "gen-0002", "gen-0004"]
    assert [point.generation for point in curve(lines)] == [0, 2, 4]
    assert min(ratings(lines[1:2]).values()).elo == 0, "without generation 0 the weakest is the origin"


def test_the_player_whose_rating_is_0_has_a_name() -> None:
    late = [MatchLine("gen-0050", "rollout-1000", 6, 14), MatchLine("gen-0055", "gen-0050", 12, 8)]
    assert origin(late) == "gen-0050"
    assert ratings(late)["gen-0050"].elo == 0
    assert origin([*late, MatchLine("gen-0050", "gen-0000", 18, 2)]) == "gen-0000"
    assert origin([]) == "gen-0000"


def test_a_generation_that_was_only_met_is_no_point_of_the_curve() -> None:
    lines = [MatchLine("gen-0005", "gen-0000", 12, 8, hours=1.0), MatchLine("gen-0008", "gen-0004", 12, 8, hours=2.0)]
    lines.append(MatchLine("gen-0008", "gen-0005", 12, 8, hours=2.0))
    assert [(point.generation, point.hours) for point in curve(lines)] == [(0, 0.0), (5, 1.0), (8, 2.0)]
    assert "gen-0004" in ratings(lines)


def test_lines_are_read_as_written(tmp_path: Path) -> None:
    path = tmp_path / "ratings.jsonl"
    lines = [MatchLine("gen-0001", "gen-0000", 12, 7, 1, 0.5, 3.25), MatchLine("gen-0001", "gnugo-1", skipped="none")]
    for line in lines:
        write_line(path, line)
    with path.open("a") as file:
        file.write('{"first": "gen-0002", "sec')  # killed while writing
    assert read_lines(path) == lines
    assert summary(lines)["ratings"].keys() == {"gen-0000", "gen-0001"}


def test_a_line_of_another_kind_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ratings.jsonl"
    path.write_text('{"first": "a", "second": "b"}\n{"speed": 3}\n')
    with pytest.raises(GoError, match=r"ratings\.jsonl:2: no match: .*speed"):
        read_lines(path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"games": 3}, "games: expected an even number"),
        ({"back": (0,)}, "back"),
        ({"visits": 0}, "visits"),
        ({"rollout_last": 500}, "rollout_last"),
        ({"gnugo_share": 1.5}, "gnugo_share"),
    ],
)
def test_settings_that_make_no_rating_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RatingSettings(**settings)  # type: ignore[arg-type]
