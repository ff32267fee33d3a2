"""The kernels of evaluations and evaluators, one by one, against their slow twins in `tests.oracle`."""

import random

import numpy as np
import pytest

from engine.board.facts import PHASE
from engine.board.kernels import play
from engine.board.layout import HEADER, STRIDE, new_board
from engine.color import BLACK, WHITE
from engine.encoders.game_positions import write_position
from engine.evaluation.evaluation import black_value, outcome_value
from engine.evaluation.positions import PositionBatch, row_hash
from engine.evaluators.cache_kernels import MISS, WAYS, claim, copy_rows, find, store_rows
from engine.evaluators.playout_kernels import (
    light_rollout,
    owner_sign,
    random_below,
    random_bits,
    run_light_rollouts,
    seed_generator,
)
from engine.evaluators.uniform import uniform_policy
from engine.game import Game
from engine.rules import PRESETS, TROMP_TAYLOR
from engine.vertex import PASS, points
from tests.board.positions import diagram_of, random_position
from tests.oracle import naive_evaluation, naive_random, naive_rollouts
from tests.oracle.naive_board import NaiveBoard
from tests.oracle.naive_cache import NaiveTable, key_of
from tests.positions import random_game

# With NUMBA_DISABLE_JIT the kernels are plain Python, and NumPy warns where 64-bit arithmetic wraps as meant.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
SEEDS = [0, 1, 7, 2**63, 2**64 - 1]


@pytest.mark.parametrize("seed", SEEDS)
def test_seed_generator_random_bits_and_random_below(seed: int) -> None:
    state = np.zeros(1, dtype=np.uint64)
    seed_generator(state, np.uint64(seed))
    naive = naive_random.Generator(naive_random.seed_generator(seed))
    assert state[0] == naive.state
    for bound in range(1, 400):
        assert random_bits(state) == naive.random_bits()
        assert random_below(state, bound) == naive.random_below(bound)


@pytest.mark.parametrize("to_play", [BLACK, WHITE])
def test_black_value_and_outcome_value(to_play: int) -> None:
    for number in (-361.0, -7.5, -0.5, 0.0, 0.25, 1.0, 40.0):
        assert black_value(number, to_play) == naive_evaluation.black_value(number, to_play)
        assert outcome_value(number) == pytest.approx(naive_evaluation.outcome_value(number), abs=1e-12)


@pytest.mark.parametrize("rules", ["tromp-taylor", "japanese", "aga-button"])
def test_row_hash(rules: str) -> None:
    chance, phases = random.Random(5), set()
    for _ in range(10):
        game = Game(3, 4, rules=PRESETS[rules], encore=True)
        for _ in range(40):
            batch = PositionBatch(1, 3, 4)
            write_position(game, game.to_play, batch, 0)
            hashes, moves, legal, facts, marks, start = (
                each[0]
                for each in (batch.board_hashes, batch.moves, batch.legal, batch.facts, batch.marks, batch.second_start)
            )
            phases.add(int(facts[PHASE]))
            found = row_hash(hashes, moves, legal, facts, marks, start, game.to_play)
            parts = [each.tolist() for each in (hashes, moves, legal, facts, marks, start)]
            assert found == naive_random.row_hash(*parts, game.to_play, in_second_phase=facts[PHASE] == 2)
            points_ = game.legal_vertices()
            game.play(game.to_play, PASS if not points_ or chance.random() < 0.3 else chance.choice(points_))
    assert phases == ({0, 1, 2} if rules == "japanese" else {0})


@pytest.mark.parametrize("seed", range(4))
def test_find_and_claim(seed: int) -> None:
    buckets, rows = 4, 16
    generator = np.random.default_rng(seed)
    # Few positions for many rows, so that rows repeat and full buckets replace their oldest.
    known = generator.integers(0, 2**64, 60, dtype=np.uint64)
    keys, oldest = np.zeros((buckets, WAYS), dtype=np.uint64), np.zeros(buckets, dtype=np.uint8)
    slots, sources, misses, claimed = (np.zeros(rows, dtype=np.int64) for _ in range(4))
    row_keys = np.zeros(rows, dtype=np.uint64)
    naive, hits = NaiveTable(buckets, WAYS), 0
    for _ in range(60):
        hashes = generator.choice(known, rows)
        bonuses, optimism = (generator.integers(0, 2, rows).astype(np.uint32) for _ in range(2))
        symmetry = generator.integers(0, 2, rows).astype(np.int8)
        count = int(generator.integers(1, rows + 1))
        unknown = find(keys, hashes, bonuses, optimism, symmetry, 12345, count, row_keys, slots, sources, misses)
        columns = zip(hashes.tolist(), bonuses.tolist(), optimism.tolist(), symmetry.tolist(), strict=True)
        naive_keys = [key_of(*row, 12345) for row in columns][:count]
        assert row_keys[:count].tolist() == naive_keys
        found, places, first = naive.find(naive_keys)
        assert [None if slot == MISS else slot for slot in slots[:count].tolist()] == found
        assert [None if place == MISS else place for place in sources[:count].tolist()] == places
        assert misses[:unknown].tolist() == first
        claim(keys, oldest, row_keys, misses, unknown, claimed)
        assert claimed[:unknown].tolist() == naive.claim([naive_keys[row] for row in first])
        assert keys.tolist() == naive.keys and oldest.tolist() == naive.oldest
        hits += count - sum(place is not None for place in places)
    assert hits > 20


def test_copy_rows_and_store_rows() -> None:
    generator = np.random.default_rng(2)
    source, out = generator.random((9, 5), dtype=np.float32), np.zeros((6, 5), dtype=np.float32)
    rows = np.array([3, MISS, 0, 8, MISS, 2])
    expected = np.where(rows[:, None] == MISS, out, source[rows])
    expected[5] = 0
    copy_rows(rows, 5, source, out)
    assert np.array_equal(out, expected)
    slots, stored = np.array([7, 1, 4]), np.zeros((9, 5), dtype=np.float32)
    expected = stored.copy()
    expected[slots[:2]] = source[:2]
    store_rows(slots, 2, source, stored)
    assert np.array_equal(stored, expected)


def test_owner_sign() -> None:
    generator = random.Random(4)
    for _ in range(60):
        naive = random_position(generator, 4, 5)
        board = diagram_of(naive).board()
        for point in naive.points:
            assert owner_sign(board, point, board[HEADER, STRIDE]) == naive_rollouts.owner_sign(naive, point)


@pytest.mark.parametrize("size", [(1, 1), (2, 2), (5, 4), (7, 7)])
def test_light_rollout_and_run_light_rollouts(size: tuple[int, int]) -> None:
    board, state = new_board(*size), np.ones(1, dtype=np.uint64)
    if size > (2, 2):
        play(board, points(*size)[5], BLACK, False)
    for seed in range(5):
        seed_generator(state, np.uint64(seed))
        naive = naive_random.Generator(naive_random.seed_generator(seed))
        for color in (WHITE, BLACK):
            assert light_rollout(board.copy(), color, state) == naive_rollouts.light_rollout(board.copy(), color, naive)
        total = run_light_rollouts(board, WHITE, 3, state, board.copy())
        assert total == naive_rollouts.run_light_rollouts(board, WHITE, 3, naive)
        assert state[0] == naive.state


def test_uniform_policy() -> None:
    games = [random_game(seed, 4, 5, moves=10 + 3 * seed, rules=TROMP_TAYLOR) for seed in range(30)]
    batch = PositionBatch(len(games), 4, 5)
    for row, game in enumerate(games):
        write_position(game, game.to_play, batch, row)
    policy = np.zeros((len(games), 21), dtype=np.float32)
    uniform_policy(batch.boards, batch.to_play, batch.legal, 4, len(games), policy)
    for row, game in enumerate(games):
        naive = NaiveBoard(4, 5)
        for point in naive.points:
            naive.colors[point] = game.color_at(point)
        expected = naive_rollouts.uniform_policy(naive, game.to_play, batch.legal[row])
        assert policy[row].tolist() == pytest.approx(expected, abs=1e-6)
