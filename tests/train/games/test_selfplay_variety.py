"""What makes games of self-play differ: forks, handicap, unequal visits, rules, surprise and sequential halving."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.color import WHITE
from engine.encoders import ENCODERS
from engine.game import Game
from engine.records.sgf import load_sgf
from engine.rules import parse_rules
from engine.scoring import final_score, format_score
from engine.train.data.samples import Samples, concatenate, read_shard
from engine.train.games.selfplay import selfplay
from engine.train.games.selfplay_settings import SelfplaySettings
from engine.train.games.selfplay_starts import GameQueue
from engine.train.games.selfplay_store import RECORDS
from engine.train.games.surprise import drawn_copies, sample_weights, surprise, value_surprise
from tests.search.fakes import FakeEvaluator

TINY = SelfplaySettings(
    sizes=(5,), games_at_once=6, full_visits=24, quick_visits=6, full_share=0.4, resign_threshold=0.0, turns=4
)
OPTIONS: list[dict[str, Any]] = [
    {"handicap_share": 0.7},
    {"asymmetric_share": 0.6},
    {"rules": ("tromp-taylor", "japanese")},
    {"surprise_share": 0.5},
    {"value_surprise_share": 0.5},
    {"gumbel_moves": 4},
    {"records_later": True},
]

SAME_GAMES = ("records_later", "surprise_share", "value_surprise_share")
"""Options that change what is recorded, and not the games."""


def play(folder: Path, games: int = 8, seed: int = 1, **changes: Any) -> list[str]:
    """Play games by made-up evaluations, and return their records by number."""
    selfplay(replace(TINY, **changes), FakeEvaluator(), folder, games, seed)
    return (folder / RECORDS).read_text().splitlines()


def samples(folder: Path) -> Samples:
    return concatenate([read_shard(path) for path in sorted(folder.glob("5x5/*.safetensors"))])


@pytest.mark.parametrize("changes", OPTIONS, ids=lambda each: next(iter(each)))
def test_the_games_do_not_depend_on_the_company_and_a_stopped_run_goes_on(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    whole = play(tmp_path / "a", 8, **changes)
    play(tmp_path / "b", 3, **changes)
    assert play(tmp_path / "b", 8, games_at_once=3, batches=1, turns=50, **changes) == whole
    first, second = samples(tmp_path / "a"), samples(tmp_path / "b")
    for name in ("planes", "globals", "policy", "later", "weights"):
        mine, theirs = (getattr(each, name)[np.lexsort((each.ply, each.game))] for each in (first, second))
        assert np.array_equal(mine, theirs), name
    assert whole != play(tmp_path / "plain", 8) or not changes.keys().isdisjoint(SAME_GAMES)


def test_forks_begin_as_the_games_they_come_from_and_then_leave_them(tmp_path: Path) -> None:
    parents = [load_sgf(line.encode()).moves for line in play(tmp_path / "old" / "gen-0001", 6)]
    forks = (str(tmp_path / "old" / "gen-0001" / RECORDS),)
    lines = play(tmp_path / "new", 12, forks=forks, fork_share=1.0)
    for line in lines:
        found = re.search(r"fork=(\d+)", line)
        assert found is not None
        moves, at = load_sgf(line.encode()).moves, int(found[1]) - 1
        assert any(each[:at] == moves[:at] for each in parents)
    own = samples(tmp_path / "new")
    assert len(own) > 0
    moved = tmp_path / "moved"
    (tmp_path / "old").rename(moved)
    again = play(tmp_path / "new", 12, forks=(str(moved / "gen-0001" / RECORDS),), fork_share=1.0)
    assert again == lines


def test_handicap_stones_stand_before_the_first_move_and_half_of_the_games_make_up_for_them(tmp_path: Path) -> None:
    lines = play(tmp_path, 16, handicap_share=1.0, handicap_stones=2, komi=2.0, komi_stdev=0.0, komi_wide_share=0.0)
    found = [load_sgf(line.encode()) for line in lines]
    games = [record.game() for record in found]
    assert {len(game.setup_black) for game in games} == {1, 2}
    assert all(record.moves[0].color == WHITE for record in found)
    assert {(len(game.setup_black), game.komi) for game in games} == {(1, 2.0), (2, 2.0), (2, 6.0)}


@pytest.mark.parametrize("side", [2, 3, 4])
def test_a_small_board_has_room_for_its_handicap_stones(tmp_path: Path, side: int) -> None:
    lines = play(tmp_path, 12, sizes=(side,), handicap_share=1.0, handicap_stones=9)
    found = {len(load_sgf(line.encode()).game().setup_black) for line in lines}
    assert max(found) == max(1, side * side // 3)


def test_the_network_knows_of_an_advantage_in_visits_and_each_side_has_its_own(tmp_path: Path) -> None:
    lines = play(tmp_path, 12, asymmetric_share=1.0, asymmetric_ratio=4.0, full_share=1.0)
    favored = {line for line in lines if "playout doubling 2" in line}
    assert favored
    assert favored < set(lines)
    own = samples(tmp_path)
    names = ENCODERS["katago-v7"].global_names
    assert set(np.abs(own.globals[:, 16])) == {1.0}, names
    both = {(color, round(float(value))) for color, value in zip(own.ply % 2, own.globals[:, 16], strict=True)}
    assert both == {(0, 1), (0, -1), (1, 1), (1, -1)}


def test_territory_games_end_with_clean_up_phases_and_are_scored_by_their_rules(tmp_path: Path) -> None:
    ended = 0
    for line in play(tmp_path, 8, rules=("japanese",), full_share=1.0):
        record = load_sgf(line.encode())
        game = Game(5, rules=parse_rules("japanese"), komi=record.game(1).komi, encore=True)
        for color, vertex in record.moves:
            game.play(color, vertex)
        text = re.search(r"RE\[([^\]]*)\]", line)
        assert text is not None
        assert text[1] == format_score(final_score(game))
        if "counted as it stood" not in line:
            assert game.is_over
            assert game.phase == 2
            ended += 1
    assert ended
    assert set(samples(tmp_path).weights[:, 3]) == {1.0}


def test_surprise_is_the_divergence_of_the_search_from_the_policy() -> None:
    target, policy = np.array([0.5, 0.5, 0.0], np.float32), np.array([0.25, 0.5, 0.25], np.float32)
    assert surprise(target, policy) == pytest.approx(0.5 * np.log(2))
    assert surprise(policy, policy) == 0
    assert np.isfinite(surprise(np.array([1.0, 0.0], np.float32), np.array([0.0, 1.0], np.float32)))


def test_surprising_positions_have_more_weight_and_the_number_of_samples_stays() -> None:
    full, surprises = np.array([True, True, False, False, True]), np.array([0.1, 0.5, 3.0, 0.2, 0.0])
    weights = sample_weights(full, surprises, 0.5)
    counted = [0.1, 0.5, 3.0 - 1.5 * 0.2, 0.0, 0.0]
    slow = [0.5 * is_full + 0.5 * 3 * part / sum(counted) for is_full, part in zip(full, counted, strict=True)]
    assert weights == pytest.approx(slow)
    assert weights.sum() == pytest.approx(full.sum())
    assert sample_weights(full, surprises, 0.0) == pytest.approx(full.astype(float))
    assert sample_weights(~full, surprises, 0.0).sum() == 2
    drawn = np.array([drawn_copies(weights, np.random.default_rng(seed)) for seed in range(4000)])
    assert drawn.mean(0) == pytest.approx(weights, abs=0.05)
    assert (np.abs(drawn - weights) < 1).all()


def test_the_surprise_of_a_value_is_the_divergence_of_the_future_from_it() -> None:
    later = np.array([0.5, 0.25, 0.25], np.float32)
    slow = 0.5 * np.log(0.5 / 0.4) + 0.25 * np.log(0.25 / 0.5) + 0.25 * np.log(0.25 / 0.1)
    assert value_surprise(later, (0.4, 0.5, 0.1)) == pytest.approx(slow)
    assert value_surprise(later, (0.5, 0.25, 0.25)) == 0
    assert value_surprise(np.array([1.0, 0.0, 0.0], np.float32), (0.0, 1.0, 0.0)) == 1, "an extreme one is bounded"


def test_surprising_values_have_more_weight_among_the_full_searches_alone() -> None:
    full, surprises = np.array([True, True, False, True]), np.array([0.1, 0.5, 0.0, 0.0])
    values = np.array([0.3, 0.1, 0.9, 0.2])
    weights = sample_weights(full, surprises, 0.5, values, 0.2)
    slow = [
        (1 - 0.5 - 0.2) * is_full + 0.5 * 3 * surprising / 0.6 + 0.2 * 3 * is_full * value / 0.6
        for is_full, surprising, value in zip(full, surprises, values, strict=True)
    ]
    assert weights == pytest.approx(slow)
    assert weights.sum() == pytest.approx(3)
    # A game as it was expected: a fifth of the least mean gives a fifth of the share.
    rare = np.array([0.006, 0.0, 0.0, 0.0])
    assert sample_weights(full, 0 * surprises, 0.0, rare, 0.5) == pytest.approx([0.9 + 0.1 * 3, 0.9, 0, 0.9])


def test_positions_whose_game_went_on_otherwise_are_recorded_more_often(tmp_path: Path) -> None:
    play(tmp_path / "with", 12, value_surprise_share=1.0)
    play(tmp_path / "without", 12)
    more, less = samples(tmp_path / "with"), samples(tmp_path / "without")
    pairs = [tuple(each) for each in zip(more.game.tolist(), more.ply.tolist(), strict=True)]
    assert set(pairs) < {tuple(each) for each in zip(less.game.tolist(), less.ply.tolist(), strict=True)}
    assert len(set(pairs)) < len(pairs)


def test_the_shares_of_both_surprises_are_parts_of_a_whole() -> None:
    with pytest.raises(ValueError, match=r"value_surprise_share: expected at most 1 .*, got 0\.7 and 0\.5"):
        replace(TINY, surprise_share=0.7, value_surprise_share=0.5)
    with pytest.raises(ValueError, match="quick_weight: expected 0 with surprise_share"):
        replace(TINY, value_surprise_share=0.5, quick_weight=0.1)


def test_a_surprising_quick_search_becomes_a_sample_with_all_targets(tmp_path: Path) -> None:
    play(tmp_path / "with", 12, surprise_share=0.9)
    play(tmp_path / "without", 12)
    more, less = samples(tmp_path / "with"), samples(tmp_path / "without")
    assert abs(len(more) - len(less)) < 0.3 * len(less)
    pairs = [tuple(each) for each in zip(more.game.tolist(), more.ply.tolist(), strict=True)]
    assert len(set(pairs)) < len(pairs)
    assert (more.weights[:, 0] == 1).all()


def test_folders_do_not_name_options_that_are_off(tmp_path: Path) -> None:
    play(tmp_path, 1)
    stored = json.loads((tmp_path / "selfplay.json").read_text())
    assert not {name for options in OPTIONS for name in options if name != "rules"} & stored.keys()


def test_sequential_halving_needs_one_leaf_at_a_time() -> None:
    with pytest.raises(ValueError, match="leaves: expected 1 with gumbel_moves"):
        replace(TINY, gumbel_moves=8, leaves=2)


def test_targets_of_sequential_halving_reach_moves_without_visits(tmp_path: Path) -> None:
    play(tmp_path, 4, gumbel_moves=4, full_share=1.0, opening_share=0.0)
    own = samples(tmp_path)
    assert (np.count_nonzero(own.policy, axis=1) > 4).any()
    assert own.policy.astype(float).sum(axis=1) == pytest.approx(1.0, abs=2e-3)


def test_games_played_in_full_note_how_near_the_winner_came_to_resigning(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"no_resign_share": 1.0, "notes_winrates": True, "resign_from": 0.0, "komi": 0.5}
    lines = play(tmp_path / "on", 10, **changes)
    found = [float(match[1]) for line in lines if (match := re.search(r"winner's lowest winrate ([\d.]+)", line))]
    assert len(found) > 5
    for threshold in (min(found), sorted(found)[len(found) // 2]):
        settings = replace(TINY, **changes | {"resign_threshold": threshold})
        stats = selfplay(settings, FakeEvaluator(), tmp_path / f"below {threshold}", 10, 1)
        # Fewer where the loser would have resigned before.
        below = sum(each < threshold for each in found)
        assert min(below, 1) <= stats.false_resigns <= below
    assert not any("lowest" in line for line in play(tmp_path / "some", 10, **changes | {"no_resign_share": 0.0}))


@pytest.mark.parametrize(("share", "doublings"), [(0.0, {0.0}), (0.3, {0.0, 2.0, -2.0}), (1.0, {2.0, -2.0})])
def test_an_endless_run_finds_a_next_game_of_every_kind(share: float, doublings: set[float]) -> None:
    queue = GameQueue(replace(TINY, asymmetric_share=share, asymmetric_ratio=4.0), 1, None, frozenset())
    assert {kind.doubling for kind in queue.kinds} == doublings
    assert all(queue.first(kind) is not None for kind in queue.kinds)
