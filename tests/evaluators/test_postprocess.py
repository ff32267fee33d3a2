"""What raw outputs mean: kernels against the definitions, for every kind of head and for extreme numbers.

Scores and errors go through `softplus`.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.color import BLACK, WHITE
from engine.evaluation.evaluation import Evaluation
from engine.evaluators.postprocess import (
    Meaning,
    Reading,
    counts_no_result,
    meaning_of,
    symmetry_table,
    turn_planes,
    write_ownership,
    write_policy,
    write_scores,
    write_values,
)
from engine.nets.spec import ErrorForm, NetSpec, Scales, ValueHead
from engine.rules import CHINESE, JAPANESE, TROMP_TAYLOR, parse_rules
from engine.symmetry import COUNT, TRANSPOSE, map_planes, map_vertex
from engine.vertex import points, policy_index
from tests.nets.examples import ALL_SCORES, EXAMPLES
from tests.oracle import naive_evaluation

WIDTH, HEIGHT = 4, 3
AREA = WIDTH * HEIGHT
TABLE = symmetry_table(WIDTH, HEIGHT)
UNTURNED = np.zeros(1, np.int8)
MEANING = meaning_of(EXAMPLES["plain tanh"])


def probabilities(logits: np.ndarray, legal: np.ndarray, optimism: float = 0.0, temperature: float = 1.0) -> np.ndarray:
    """Return the policy of logits [P, moves], the last channel being the optimistic one."""
    out = np.full((1, len(legal)), np.nan, np.float32)
    table = np.tile(np.arange(len(legal)), (COUNT, 1))
    mix, raw = np.array([optimism], np.float32), logits[None].astype(np.float32)
    reading = Reading(MEANING, table, len(logits) - 1, temperature)
    assert write_policy(raw, reading, mix, legal[None], UNTURNED, 0, 1, out)
    return out[0]


@pytest.mark.parametrize(
    ("logits", "legal", "expected"),
    [
        ([0.0, 0.0, 5.0], [True, True, False], [0.5, 0.5, 0.0]),
        ([-900.0, -900.0, 0.0], [True, True, False], [0.5, 0.5, 0.0]),
        ([30.0, 20.0, -50.0], [False, False, True], [0.0, 0.0, 1.0]),
        ([-1e30, 1e30, -1e30], [True, False, True], [0.5, 0.0, 0.5]),
        ([np.nan, 0.0, np.inf], [False, True, False], [0.0, 1.0, 0.0]),
    ],
    ids=["equal", "all legal logits very negative", "pass only", "huge", "illegal ones are not numbers"],
)
def test_illegal_moves_have_probability_exactly_zero(
    logits: list[float], legal: list[bool], expected: list[float]
) -> None:
    policy = probabilities(np.array([logits]), np.array(legal))
    assert policy.tolist() == pytest.approx(expected, abs=1e-7)
    assert (policy[~np.array(legal)] == 0.0).all()


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 10**6), st.floats(0, 1), st.floats(0.05, 20), st.sampled_from([1, 2, 4]), st.floats(0.1, 30))
def test_the_policy_is_a_softmax_of_the_mixed_logits(
    seed: int, optimism: float, temperature: float, channels: int, spread: float
) -> None:
    generator = np.random.default_rng(seed)
    logits = generator.normal(0, spread, (channels, AREA + 1)).astype(np.float32)
    legal = generator.random(AREA + 1) < 0.6
    legal[-1] = True
    spec = EXAMPLES["plain tanh"]
    head = replace(spec.policy, optimistic=channels - 1)  # type: ignore[type-var]
    found = probabilities(logits, legal, optimism, temperature)
    expected = naive_evaluation.policy_of(
        replace(spec, policy=head), logits.astype(np.float64), legal, float(np.float32(optimism)), temperature
    )
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert found.sum() == pytest.approx(1.0, abs=1e-5)
    assert (found[~legal] == 0.0).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_policy_that_is_not_finite_is_reported(bad: float) -> None:
    logits, out = np.zeros((1, 1, AREA + 1), np.float32), np.zeros((1, AREA + 1), np.float32)
    logits[0, 0, 3] = bad
    legal = np.ones((1, AREA + 1), np.bool_)
    reading = Reading(MEANING, TABLE, 0, 1.0)
    assert not write_policy(logits, reading, np.zeros(1, np.float32), legal, UNTURNED, 0, 1, out)


def numbers(spec: NetSpec, raw: dict[str, np.ndarray], to_play: int, no_result: bool) -> Evaluation:
    """Return one row with value, score and details of raw outputs."""
    out, meaning = Evaluation(1, WIDTH, HEIGHT), meaning_of(spec)
    result, score = (raw[name][None].astype(np.float32) for name in ("result", "score"))
    color = np.array([to_play], np.int8)
    assert write_values(result, meaning.kind, no_result, color, 0, 1, out.value, out.details)
    assert write_scores(score, meaning, AREA, 0, 1, out.score, out.details)
    return out


FORMS = {
    f"all scores, {form}": replace(
        EXAMPLES["transformer"],
        value=replace(EXAMPLES["transformer"].value, error_form=form, scales=Scales(1.5, 30, 7, 3, 0.5, 150)),  # type: ignore[type-var]
    )
    for form in ErrorForm
}


@pytest.mark.parametrize("color", [BLACK, WHITE])
@pytest.mark.parametrize("name", [*EXAMPLES, *FORMS])
def test_values_and_scores_equal_the_definitions(name: str, color: int) -> None:
    spec = (EXAMPLES | FORMS)[name]
    generator = np.random.default_rng(len(name))
    legal = np.ones(AREA + 1, np.bool_)
    for spread in (0.0, 0.3, 3.0, 60.0):
        raw = {
            "policy": np.zeros((spec.policy.policies, AREA + 1)),
            "result": generator.normal(0, spread, spec.value.result.outputs).astype(np.float32),
            "score": generator.normal(0, spread, len(spec.scores)).astype(np.float32),
            "ownership": np.zeros(0),
        }
        for rules in (TROMP_TAYLOR, JAPANESE):
            counts = counts_no_result(spec, rules)
            out = numbers(spec, raw, color, counts)
            expected = naive_evaluation.evaluate(spec, raw, legal, no_result=rules is JAPANESE, black=color == BLACK)
            for field in ("value", "no_result", "score", "score_mean", "variance_time", "value_error", "score_error"):
                assert getattr(out, field)[0] == pytest.approx(getattr(expected, field), rel=1e-5, abs=1e-6), field
            # A chance of no result within float32's rounding of 1 leaves a spread of up to mean * 2e-4.
            assert out.score_stdev[0] == pytest.approx(expected.score_stdev, rel=1e-4, abs=2e-3)


def test_numbers_that_are_not_finite_are_reported() -> None:
    spec = EXAMPLES["transformer"]
    out, meaning = Evaluation(1, WIDTH, HEIGHT), meaning_of(spec)
    result, score = np.full((1, 3), np.nan, np.float32), np.zeros((1, len(ALL_SCORES)), np.float32)
    assert not write_values(result, meaning.kind, True, np.ones(1, np.int8), 0, 1, out.value, out.details)
    out.details[:] = 0.0
    assert _scores(score, meaning, out)
    score[0, 2] = np.inf
    assert not _scores(score, meaning, out)


def _scores(score: np.ndarray, meaning: Meaning, out: Evaluation) -> bool:
    return write_scores(score, meaning, AREA, 0, 1, out.score, out.details)


@pytest.mark.parametrize(
    ("rules", "counts"),
    [("chinese", True), ("japanese", True), ("tromp-taylor", False), ("aga", False), ("chinese-ogs", False)],
)
def test_only_some_rules_know_games_without_a_result(rules: str, counts: bool) -> None:
    assert counts_no_result(EXAMPLES["softmax silu"], parse_rules(rules)) == counts


def test_the_oldest_networks_always_count_games_without_a_result() -> None:
    spec = EXAMPLES["version 3"]
    assert isinstance(spec.value, ValueHead)
    assert counts_no_result(spec, TROMP_TAYLOR)
    assert not counts_no_result(replace(spec, value=replace(spec.value, no_result_always=False)), TROMP_TAYLOR)
    assert not counts_no_result(EXAMPLES["leela"], CHINESE)


def test_a_version_2_file_of_leela_zero_speaks_for_black() -> None:
    raw = {"result": np.array([0.8]), "score": np.zeros(0)}
    own, black = EXAMPLES["leela"], EXAMPLES["leela, black's view"]
    values = {
        (view, color): numbers(spec, raw, color, False).value[0]
        for view, spec in (("own", own), ("black", black))
        for color in (BLACK, WHITE)
    }
    assert values["own", BLACK] == values["own", WHITE] == values["black", BLACK] == -values["black", WHITE] > 0


@pytest.mark.parametrize("size", [(4, 3), (5, 5), (1, 1), (19, 19)])
def test_the_table_says_where_each_vertex_goes(size: tuple[int, int]) -> None:
    width, height = size
    table = symmetry_table(width, height)
    assert table.shape == (COUNT, width * height + 1)
    for symmetry in range(COUNT):
        real = symmetry if width == height else symmetry % TRANSPOSE
        for vertex in points(width, height):
            seen = policy_index(map_vertex(vertex, real, width, height), width, height)
            assert table[symmetry, policy_index(vertex, width, height)] == seen
        assert table[symmetry, -1] == width * height


def test_planes_are_turned_row_by_row() -> None:
    generator = np.random.default_rng(1)
    planes = generator.normal(size=(COUNT + 1, 3, 5, 5)).astype(np.float32)
    before, symmetry = planes.copy(), np.arange(-1, COUNT + 1, dtype=np.int8) % COUNT
    turn_planes(planes.reshape(COUNT + 1, 3, 25), symmetry_table(5, 5), symmetry, 1, np.empty(25, np.float32), COUNT)
    for row in range(COUNT):
        assert np.array_equal(planes[row], map_planes(before[row], row))
    assert np.array_equal(planes[COUNT], before[COUNT])


def test_ownership_is_turned_back() -> None:
    generator = np.random.default_rng(2)
    owned = generator.uniform(-0.9, 0.9, (COUNT, 5, 5)).astype(np.float32)
    seen = np.stack([np.arctanh(map_planes(owned[row], row)).ravel() for row in range(COUNT)])
    out = np.zeros((COUNT + 2, 25), np.float32)
    symmetry = np.r_[0, 0, np.arange(COUNT)].astype(np.int8)
    write_ownership(seen, symmetry_table(5, 5), symmetry, 2, COUNT, out)
    np.testing.assert_allclose(out[2:].reshape(COUNT, 5, 5), owned, atol=1e-6)
    assert (out[:2] == 0.0).all()
