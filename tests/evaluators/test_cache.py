"""The cache: answers equal the inner evaluator's, known positions cost nothing, memory is bounded."""

import numpy as np
import pytest

from engine.color import BLACK, WHITE
from engine.evaluation.evaluation import DETAILS, Evaluation
from engine.evaluation.evaluator import Attributes
from engine.evaluation.positions import METADATA, PositionBatch
from engine.evaluators.cache import WAYS, CachedEvaluator
from engine.evaluators.uniform import UniformEvaluator
from engine.game import Game
from engine.rules import JAPANESE, TROMP_TAYLOR
from tests.positions import batch_of, evaluated, random_game


class Counting:
    """Answers every position with numbers made from its key, legal moves and komi, and counts."""

    def __init__(self, max_batch: int = 64, *, optional: bool = True, first_play: bool = False) -> None:
        self.attributes = Attributes("counting", 8, max_batch, optional, optional, first_play, optional)
        self.calls = self.evaluations = 0
        self.closed = False

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        self.calls += 1
        self.evaluations += count
        for row in range(count):
            generator = np.random.default_rng(int(positions.hashes[row]))
            policy = generator.random(out.policy.shape[1]) * positions.legal[row]
            out.policy[row] = policy / policy.sum()
            out.value[row] = generator.uniform(-1, 1)
            if self.attributes.has_score:
                out.score[row] = float(positions.white_bonus[row]) + positions.to_play[row]
                out.ownership[row] = generator.uniform(-1, 1, out.ownership.shape[1])
                out.details[row] = generator.uniform(-1, 1, DETAILS)

    def close(self) -> None:
        self.closed = True


def assert_same(got: Evaluation, expected: Evaluation) -> None:
    for name in ("policy", "value", "score", "ownership", "details"):
        assert np.array_equal(getattr(got, name), getattr(expected, name)), name


GAMES = [random_game(seed, 7, 5, moves=10 + seed) for seed in range(40)]


def test_answers_equal_the_inner_evaluator_bit_by_bit_hit_or_miss() -> None:
    chooser = np.random.default_rng(3)
    cached = CachedEvaluator(Counting())
    for _ in range(60):
        games = [GAMES[i] for i in chooser.integers(0, len(GAMES), chooser.integers(1, 20))]
        positions = batch_of(games)
        assert_same(evaluated(cached, positions), evaluated(Counting(), positions))
    assert cached.hits > 300


def test_each_position_is_evaluated_once_however_often_it_is_asked() -> None:
    inner = Counting()
    cached = CachedEvaluator(inner)
    chooser = np.random.default_rng(4)
    expanded, asked = set(), 0
    for _ in range(100):
        positions = batch_of([GAMES[i] for i in chooser.integers(0, len(GAMES), 6)])
        expanded |= set(positions.hashes.tolist())
        asked += 6
        evaluated(cached, positions)
    assert inner.evaluations == cached.misses == len(expanded)
    assert cached.hits == asked - len(expanded)


def test_equal_rows_of_one_batch_are_evaluated_once() -> None:
    inner = Counting()
    positions = batch_of([GAMES[0], GAMES[1], GAMES[0], GAMES[0]])
    out = evaluated(CachedEvaluator(inner), positions)
    assert inner.evaluations == 2
    assert_same(out, evaluated(Counting(), positions))


def test_a_batch_of_known_positions_calls_nobody() -> None:
    inner = Counting()
    cached = CachedEvaluator(inner)
    evaluated(cached, batch_of(GAMES[:5]))
    evaluated(cached, batch_of(GAMES[:5]))
    assert inner.calls == 1


def test_the_side_to_move_and_the_komi_make_another_position() -> None:
    inner = Counting()
    cached = CachedEvaluator(inner)
    game, dearer = Game(5), Game(5, komi=0.5)
    out = evaluated(cached, batch_of([game, game, dearer], [BLACK, WHITE, BLACK]))
    assert inner.evaluations == 3
    assert out.score.tolist() == [8.5, 9.5, 1.5]


@pytest.mark.parametrize("optional", [True, False], ids=["with ownership", "without"])
@pytest.mark.parametrize("megabytes", [0.0, 0.01, 1.0, 64.0])
def test_the_table_stays_within_its_memory(megabytes: float, optional: bool) -> None:
    cached = CachedEvaluator(Counting(optional=optional), megabytes)
    evaluated(cached, batch_of([Game(19)]))
    entry_bytes = 8 + 4 * (362 + 1 + (362 + DETAILS if optional else 0))
    bucket_bytes = entry_bytes * WAYS + 1
    assert cached.table_bytes == cached.entries * entry_bytes + cached.entries // WAYS
    assert cached.table_bytes <= max(megabytes * 2**20, bucket_bytes)
    assert cached.entries >= WAYS
    assert 2 * cached.entries // WAYS * bucket_bytes > megabytes * 2**20


def test_a_full_bucket_forgets_its_oldest_entry_and_answers_stay_right() -> None:
    inner = Counting()
    cached = CachedEvaluator(inner, megabytes=0.0)
    assert len(GAMES) > WAYS
    for game in GAMES[: WAYS + 1]:
        evaluated(cached, batch_of([game]))
    assert cached.entries == WAYS
    before = inner.evaluations
    evaluated(cached, batch_of(GAMES[1 : WAYS + 1]))
    assert inner.evaluations == before
    positions = batch_of(GAMES)
    assert_same(evaluated(cached, positions), evaluated(Counting(), positions))
    assert_same(evaluated(cached, positions), evaluated(Counting(), positions))


def test_another_board_size_starts_an_empty_table() -> None:
    inner = Counting()
    cached = CachedEvaluator(inner)
    for game in (Game(5), Game(6), Game(5)):
        positions = batch_of([game])
        assert_same(evaluated(cached, positions), evaluated(Counting(), positions))
    assert inner.evaluations == 3


def test_other_rules_start_an_empty_table() -> None:
    inner = Counting()
    cached = CachedEvaluator(inner)
    for rules in (TROMP_TAYLOR, JAPANESE, JAPANESE):
        evaluated(cached, batch_of([Game(5, rules=rules)]))
    assert inner.evaluations == 2


def test_clear_forgets_everything() -> None:
    inner = Counting()
    cached = CachedEvaluator(inner)
    cached.clear()
    for _ in range(2):
        evaluated(cached, batch_of(GAMES[:3]))
        cached.clear()
    assert inner.evaluations == 6


def test_rows_beyond_the_count_are_left_alone_and_too_many_are_refused() -> None:
    cached = CachedEvaluator(Counting(max_batch=4))
    positions, out = batch_of(GAMES[:5]), Evaluation(5, 7, 5)
    for _ in range(2):
        cached.evaluate(positions, 3, out)
        assert (out.policy[3:] == 0.0).all()
    with pytest.raises(ValueError, match="5 positions exceed the batch of 4"):
        cached.evaluate(positions, 5, out)


def test_an_evaluator_that_samples_is_refused() -> None:
    with pytest.raises(ValueError, match="evaluator counting draws samples"):
        CachedEvaluator(Counting(first_play=True))


def test_attributes_and_close_are_the_inner_evaluators() -> None:
    inner = Counting()
    cached = CachedEvaluator(inner)
    assert (cached.attributes.max_batch, cached.attributes.has_ownership) == (64, True)
    assert CachedEvaluator(UniformEvaluator()).attributes.name == "cached uniform"
    cached.close()
    assert inner.closed


def test_optimism_and_symmetry_are_part_of_what_was_asked() -> None:
    inner = Counting()
    cached = CachedEvaluator(inner)
    positions = batch_of([GAMES[0]] * 4)
    positions.optimism[:2] = (0.25, 0.5)
    positions.symmetry[2] = 5
    evaluated(cached, positions)
    evaluated(cached, positions)
    assert inner.evaluations == 4


def test_what_a_batch_has_in_common_starts_an_empty_table_and_reaches_the_evaluator() -> None:
    seen: list[tuple[float, float | None]] = []

    class Noting(Counting):
        def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
            seen.append(
                (positions.playout_doubling, None if positions.metadata is None else float(positions.metadata[1, 191]))
            )
            super().evaluate(positions, count, out)

    cached = CachedEvaluator(Noting())
    positions = batch_of([GAMES[0], GAMES[0], GAMES[1]])
    settings = [(0.0, None), (-1.0, None), (-2.0, None), (1.5, None), (1.5, 0.25), (1.5, 0.5)]
    for doubling, metadata in (*settings, settings[-1]):
        positions.playout_doubling = doubling
        positions.metadata = None if metadata is None else np.full((2, METADATA), metadata, np.float32)
        evaluated(cached, positions)
    assert seen == settings
