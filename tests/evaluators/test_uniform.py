"""The evaluator without knowledge: which points it offers, and that its numbers are probabilities."""

import numpy as np
import pytest

from engine.color import BLACK, WHITE
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.evaluators.uniform import PASS_PROBABILITY, UniformEvaluator
from engine.vertex import parse_vertex, policy_index
from tests.positions import batch_of, game_from_diagram, game_of, random_game


def evaluated(positions: PositionBatch) -> Evaluation:
    out = Evaluation(positions.capacity, positions.width, positions.height)
    out.value[:] = 7.0
    UniformEvaluator().evaluate(positions, positions.capacity, out)
    return out


EYES = {
    "corner": (". X . . . / X X . . . / . . . . . / . . . . .", "A4", False),
    "corner with an enemy diagonal": (". X . . . / X O . . . / . . . . . / . . . . .", "A4", True),
    "corner with an open diagonal": (". X . . . / X . . . . / . . . . . / . . . . .", "A4", False),
    "side with an enemy diagonal": (". X . X . / . O X . . / . . . . . / . . . . .", "C4", True),
    "middle with one enemy diagonal": (". O X . . / . X . X . / . . X . . / . . . . .", "C3", False),
    "middle with two enemy diagonals": (". O X . . / . X . X . / . . X O . / . . . . .", "C3", True),
    "an enemy neighbor": (". X O . . / X X . . . / . . . . . / . . . . .", "D4", True),
}


@pytest.mark.parametrize("case", EYES)
def test_a_true_single_point_eye_of_the_mover_is_not_offered(case: str) -> None:
    diagram, name, is_offered = EYES[case]
    positions = batch_of([game_from_diagram(diagram.replace("/", "\n"))], [BLACK])
    index = policy_index(parse_vertex(name, 5, 4), 5, 4)
    assert positions.legal[0, index]
    assert (evaluated(positions).policy[0, index] > 0) == is_offered


def test_an_eye_of_the_enemy_is_offered_where_it_is_legal() -> None:
    positions = batch_of([game_from_diagram(". X O . .\nX O O . .\nO O . . .\n. . . . .")], [WHITE])
    assert evaluated(positions).policy[0, 0] > 0


def test_policy_is_uniform_over_the_empty_board_with_a_small_pass() -> None:
    out = evaluated(batch_of([game_of("", 5)]))
    assert out.policy[0, :-1].tolist() == pytest.approx([(1 - PASS_PROBABILITY) / 25] * 25)
    assert out.policy[0, -1] == pytest.approx(PASS_PROBABILITY)
    assert out.value.tolist() == [0.0]


def test_pass_is_certain_where_only_own_eyes_are_left() -> None:
    diagram = """
        . X .
        X X X
        . X .
    """
    assert evaluated(batch_of([game_from_diagram(diagram)], [BLACK])).policy[0].tolist() == [0.0] * 9 + [1.0]


def test_probabilities_sum_to_one_and_are_zero_where_illegal() -> None:
    for width, height in ((1, 1), (4, 7), (9, 9)):
        positions = batch_of([random_game(seed, width, height, moves=100) for seed in range(20)])
        policy = evaluated(positions).policy
        np.testing.assert_allclose(policy.sum(axis=1), 1.0, atol=1e-5)
        assert (policy[~positions.legal] == 0.0).all()
