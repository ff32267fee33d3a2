"""The evaluator of networks, with a backend of plain loops: symmetries, slots in flight, and what it refuses.

`write_evaluation` makes evaluations of the outputs.
"""

import threading
from dataclasses import replace

import numpy as np
import pytest

from engine.color import opponent
from engine.encoders import ENCODERS
from engine.evaluation.evaluation import Evaluation
from engine.evaluators.cache import CachedEvaluator
from engine.evaluators.network import NetworkEvaluator, Slot
from engine.game import Game
from engine.nets.spec import NetSpec, WeightsError
from engine.rules import CHINESE, JAPANESE, TROMP_TAYLOR, Rules
from engine.symmetry import COUNT, TRANSPOSE, map_planes, map_policy
from tests.evaluators.naive_backend import NaiveBackend, assert_close, evaluated, naive_evaluator
from tests.nets.examples import EXAMPLES
from tests.oracle import naive_evaluation, naive_net
from tests.positions import batch_of, random_game, turned

PLAIN = EXAMPLES["plain tanh"]
POOLS = EXAMPLES["pooling mish"]


@pytest.mark.parametrize("rules", [TROMP_TAYLOR, CHINESE, JAPANESE], ids=["tromp-taylor", "chinese", "japanese"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_evaluation_equals_the_definitions(name: str, rules: Rules) -> None:
    spec = EXAMPLES[name]
    positions = batch_of([random_game(seed, 5, moves=20 + seed, rules=rules) for seed in range(3)])
    positions.optimism[:] = [0.0, 0.2, 1.0]
    out = evaluated(naive_evaluator(spec, temperature=1.3), positions)
    planes, globals_ = np.zeros((3, spec.planes, 5, 5), np.float32), np.zeros((3, spec.globals), np.float32)
    ENCODERS[spec.encoder].encode(positions, 3, planes, globals_)
    for row in range(3):
        black = bool(positions.to_play[row] == 1)
        assert positions.metadata is not None
        who = positions.metadata[0 if black else 1, : spec.metadata]
        expected = naive_evaluation.evaluate(
            spec,
            naive_net.forward(spec, planes[row], np.concatenate([globals_[row], who])),
            positions.legal[row],
            no_result=rules is not TROMP_TAYLOR,
            black=black,
            optimism=float(positions.optimism[row]),
            temperature=1.3,
        )
        np.testing.assert_allclose(out.policy[row], expected.policy, atol=1e-6)
        for field in ("value", "no_result", "value_error"):
            assert getattr(out, field)[row] == pytest.approx(getattr(expected, field), abs=1e-6), field
        for field in ("score", "score_mean", "score_stdev", "variance_time", "score_error"):
            assert getattr(out, field)[row] == pytest.approx(getattr(expected, field), rel=1e-5, abs=1e-5), field
        if spec.has_ownership:
            np.testing.assert_allclose(out.ownership[row], expected.ownership, atol=1e-6)


def test_attributes_say_what_is_written() -> None:
    for spec in EXAMPLES.values():
        attributes = naive_evaluator(spec).attributes
        assert attributes.has_details
        assert attributes.has_score == bool(spec.scores)
        assert attributes.has_ownership == spec.has_ownership
        assert (attributes.name, attributes.max_batch) == ("naive", 8)


@pytest.mark.parametrize("symmetry", range(COUNT))
@pytest.mark.parametrize("name", ["pooling mish", "transformer", "leela"])
def test_a_turned_view_answers_as_the_turned_position_does(name: str, symmetry: int) -> None:
    games = [random_game(seed, 5, moves=15) for seed in range(2)]
    positions = batch_of(games)
    positions.symmetry[:] = symmetry
    out = evaluated(naive_evaluator(EXAMPLES[name]), positions)
    expected = evaluated(naive_evaluator(EXAMPLES[name]), batch_of([turned(game, symmetry) for game in games]))
    out.policy[:] = map_policy(out.policy, symmetry, 5, 5)
    out.ownership[:] = map_planes(out.ownership.reshape(2, 5, 5), symmetry).reshape(2, 25)
    assert_close(out, expected)


@pytest.mark.parametrize("symmetry", range(COUNT))
def test_rows_and_columns_of_an_oblong_board_are_not_exchanged(symmetry: int) -> None:
    game, flips = random_game(3, 6, 4, moves=15), symmetry % TRANSPOSE
    positions = batch_of([game])
    positions.symmetry[:] = symmetry
    out = evaluated(naive_evaluator(POOLS), positions)
    expected = evaluated(naive_evaluator(POOLS), batch_of([turned(game, flips)]))
    out.policy[:] = map_policy(out.policy, flips, 6, 4)
    out.ownership[:] = map_planes(out.ownership.reshape(1, 4, 6), flips).reshape(1, 24)
    assert_close(out, expected)


def test_every_row_has_its_own_symmetry_and_optimism() -> None:
    spec = EXAMPLES["hidden pass, two policies"]
    game = random_game(1, 5, moves=12)
    together = batch_of([game] * COUNT)
    together.symmetry[:] = range(COUNT)
    together.optimism[:] = np.linspace(0, 1, COUNT)
    out = evaluated(naive_evaluator(spec), together)
    for row in range(COUNT):
        alone = batch_of([game])
        alone.symmetry[0], alone.optimism[0] = row, together.optimism[row]
        assert np.array_equal(evaluated(naive_evaluator(spec), alone).policy[0], out.policy[row])
    assert len({row.tobytes() for row in out.policy}) == COUNT


def test_optimism_changes_nothing_where_there_is_no_optimistic_policy() -> None:
    positions = batch_of([random_game(1, 5)])
    before = evaluated(naive_evaluator(POOLS), positions)
    positions.optimism[:] = 1.0
    assert np.array_equal(evaluated(naive_evaluator(POOLS), positions).policy, before.policy)


@pytest.mark.parametrize("count", range(1, 12))
@pytest.mark.parametrize(("slots", "rows"), [(1, 11), (1, 4), (2, 4), (3, 2), (2, 1)])
def test_parts_change_no_answer(slots: int, rows: int, count: int) -> None:
    positions = batch_of([random_game(seed, 5, moves=10 + seed) for seed in range(11)])
    positions.symmetry[:] = np.arange(11) % 8
    expected, out = Evaluation(11, 5, 5), Evaluation(11, 5, 5)
    naive = NaiveBackend(PLAIN, 1, 11)
    NetworkEvaluator(PLAIN, naive).evaluate(positions, count, expected)
    backend = NaiveBackend(PLAIN, slots, rows, max_batch=11)
    NetworkEvaluator(PLAIN, backend).evaluate(positions, count, out)
    assert_close(out, expected)
    assert (out.policy[count:] == 0.0).all()
    assert sum(number for what, _, number in backend.calls if what == "infer") == count


def test_parts_are_as_large_as_a_slot_and_are_computed_side_by_side() -> None:
    barrier = threading.Barrier(2)

    class Meeting(NaiveBackend):
        def infer(self, slot: Slot, count: int) -> None:
            barrier.wait(60)
            super().infer(slot, count)

    backend = Meeting(PLAIN, slots=2, rows=4)
    evaluated(NetworkEvaluator(PLAIN, backend), batch_of([random_game(seed, 5) for seed in range(7)]))
    assert sorted((what, rows) for what, _, rows in backend.calls) == [("infer", 3), ("infer", 4), ("slots", 5)]


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_no_slot_is_lost_when_something_fails(failing: int) -> None:
    spec, left = EXAMPLES["human"], [failing]

    class Failing(NaiveBackend):
        def infer(self, slot: Slot, count: int) -> None:
            left[0] -= 1
            if left[0] == -1:
                raise OSError("lost")
            super().infer(slot, count)

    backend = Failing(spec, slots=2, rows=2, max_batch=8)
    evaluator, positions = NetworkEvaluator(spec, backend), batch_of([random_game(seed, 5) for seed in range(6)])
    with pytest.raises(OSError, match="lost"):
        evaluated(evaluator, positions)
    expected = evaluated(NetworkEvaluator(spec, NaiveBackend(spec, slots=2, rows=2, max_batch=8)), positions)
    for _ in range(3):
        assert_close(evaluated(evaluator, positions), expected)


def test_policy_is_zero_on_illegal_moves_and_sums_to_one() -> None:
    positions = batch_of([random_game(seed, 7, moves=80) for seed in range(8)])
    out = evaluated(naive_evaluator(PLAIN), positions)
    assert (out.policy[~positions.legal] == 0.0).all()
    assert (out.policy[positions.legal] > 0.0).all()
    np.testing.assert_allclose(out.policy.sum(axis=1), 1.0, atol=1e-6)
    assert (~positions.legal).any(axis=1).all()


def test_pass_takes_everything_where_nothing_else_is_legal() -> None:
    positions = batch_of([Game(1)])
    assert positions.legal.tolist() == [[False, True]]
    assert evaluated(naive_evaluator(PLAIN), positions).policy.tolist() == [[0.0, 1.0]]


def test_who_plays_counts_and_must_be_said() -> None:
    evaluator = naive_evaluator(EXAMPLES["human"])
    game = random_game(2, 5)
    positions = batch_of([game, game], [game.to_play, opponent(game.to_play)])
    first = evaluated(evaluator, positions)
    assert positions.metadata is not None
    positions.metadata = positions.metadata[::-1].copy()
    second = Evaluation(2, 5, 5)
    evaluator.evaluate(positions, 2, second)
    assert (np.abs(first.policy - second.policy).max(axis=1) > 1e-4).all()
    positions.metadata = None
    with pytest.raises(WeightsError, match="needs a profile, expected 192 numbers"):
        evaluator.evaluate(positions, 2, second)


def test_a_cached_network_answers_as_it_does_itself() -> None:
    spec = EXAMPLES["nested"]
    games = [random_game(seed, 5, moves=8) for seed in range(6)]
    cached = CachedEvaluator(naive_evaluator(spec))
    for chosen in ([0, 1, 2], [2, 3, 1], [5, 4, 0, 3], [0, 1, 2, 3, 4, 5]):
        some = batch_of([games[index] for index in chosen])
        out, expected = Evaluation(len(chosen), 5, 5), Evaluation(len(chosen), 5, 5)
        cached.evaluate(some, len(chosen), out)
        naive_evaluator(spec).evaluate(some, len(chosen), expected)
        for name in ("policy", "value", "score", "ownership", "details"):
            assert np.array_equal(getattr(out, name), getattr(expected, name)), name
    assert cached.misses == len(games)


def test_prepare_asks_the_backend_at_once_and_slots_are_asked_for_once_a_size() -> None:
    backend = NaiveBackend(PLAIN)
    evaluator = NetworkEvaluator(PLAIN, backend)
    evaluator.prepare(5, 4)
    for size in ((5, 4), (5, 4), (3, 3)):
        evaluated(evaluator, batch_of([random_game(1, *size, moves=3)]))
    evaluator.close()
    assert [call for call in backend.calls if call[0] != "infer"] == [
        ("prepare", 5, 4),
        ("slots", 5, 4),
        ("slots", 3, 3),
        ("close", 0, 0),
    ]


def test_too_many_positions_are_refused() -> None:
    with pytest.raises(ValueError, match="9 positions exceed the batch of 8"):
        evaluated(naive_evaluator(PLAIN), batch_of([random_game(seed, 5) for seed in range(9)]))


@pytest.mark.parametrize("part", ["policy", "result", "score"])
def test_a_network_that_overflows_is_named(part: str) -> None:
    spec = EXAMPLES["nested"]

    class Overflowing(NaiveBackend):
        def infer(self, slot: Slot, count: int) -> None:
            super().infer(slot, count)
            getattr(slot.outputs, part)[:] = np.nan

    with pytest.raises(WeightsError, match=f"network {spec.name} computes numbers that are not finite"):
        evaluated(NetworkEvaluator(spec, Overflowing(spec)), batch_of([random_game(1, 5)]))


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (replace(PLAIN, encoder="v0"), "needs an unknown encoder, expected one of .*agz.*, got v0"),
        (
            replace(PLAIN, encoder="liberties"),
            "stem.conv: wrong number of inputs for encoder liberties, expected 11, got 17",
        ),
        (
            replace(POOLS, stem=replace(POOLS.stem, globals=None)),
            "stem.globals: wrong number of inputs for encoder liberties, expected 3, got 0",
        ),
    ],
    ids=["unknown", "planes", "globals"],
)
def test_a_network_for_another_encoder_is_refused(spec: NetSpec, text: str) -> None:
    with pytest.raises(WeightsError, match=text):
        naive_evaluator(spec)


def test_a_board_that_the_network_is_not_for_is_refused() -> None:
    evaluator = naive_evaluator(replace(PLAIN, board_sizes=(9, 9)))
    with pytest.raises(WeightsError, match="expected sides of 9 to 9, got 9x5"):
        evaluated(evaluator, batch_of([random_game(1, 9, 5)]))
    with pytest.raises(WeightsError, match="expected sides of 9 to 9, got 5x9"):
        evaluator.prepare(5, 9)


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan")])
def test_a_temperature_must_be_positive(temperature: float) -> None:
    with pytest.raises(ValueError, match="expected more than 0"):
        naive_evaluator(PLAIN, temperature)
