"""Symmetries: a group, the same map on vertices, planes and policies, and no change to the game."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import symmetry
from engine.game import Game
from engine.symmetry import applicable, compose, map_planes, map_policy, map_vertex, vertex_table
from engine.vertex import PASS, format_vertex, parse_vertex, points, policy_index, row_column
from tests.positions import inverse

SIZES = [(1, 1), (5, 5), (9, 9), (3, 4), (13, 7), (25, 2)]


@pytest.mark.parametrize(
    ("number", "vertex"),
    list(enumerate(["B4", "B2", "D4", "D2", "B4", "D4", "B2", "D2"])),
)
def test_symmetries_of_a_point_on_the_diagonal(number: int, vertex: str) -> None:
    assert format_vertex(map_vertex(parse_vertex("B4", 5, 5), number, 5, 5), 5, 5) == vertex


@pytest.mark.parametrize(
    ("number", "vertex"),
    list(enumerate(["B5", "B1", "D5", "D1", "A4", "E4", "A2", "E2"])),
)
def test_flips_come_before_the_exchange_of_rows_and_columns(number: int, vertex: str) -> None:
    assert format_vertex(map_vertex(parse_vertex("B5", 5, 5), number, 5, 5), 5, 5) == vertex


def test_only_square_boards_exchange_rows_and_columns() -> None:
    assert list(applicable(9, 9)) == list(range(8))
    assert list(applicable(9, 10)) == list(range(4))
    with pytest.raises(ValueError, match="symmetry 4 does not map a 9x10 board to itself"):
        map_vertex(PASS, 4, 9, 10)
    with pytest.raises(ValueError, match="symmetry 5"):
        map_planes(np.zeros((10, 9)), 5)


@pytest.mark.parametrize("first", range(8))
def test_composition_and_inverse_agree_with_the_maps(first: int) -> None:
    planes = np.arange(25).reshape(5, 5)
    assert compose(first, inverse(first)) == compose(inverse(first), first) == symmetry.IDENTITY
    for second in range(8):
        expected = map_planes(map_planes(planes, first), second)
        assert np.array_equal(map_planes(planes, compose(first, second)), expected)


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_vertices_planes_and_policies_move_alike(width: int, height: int) -> None:
    area = width * height
    planes = np.arange(2 * area).reshape(2, height, width)
    policy = np.arange(2 * (area + 1)).reshape(2, area + 1)
    for number in applicable(width, height):
        moved, moved_policy = map_planes(planes, number), map_policy(policy, number, width, height)
        table = vertex_table(number, width, height)
        assert sorted(table) == list(range(len(table)))
        for vertex in points(width, height):
            goal = map_vertex(vertex, number, width, height)
            assert table[vertex] == goal
            assert np.array_equal(moved[:, *row_column(goal, width)], planes[:, *row_column(vertex, width)])
            assert np.array_equal(
                moved_policy[:, policy_index(goal, width, height)], policy[:, policy_index(vertex, width, height)]
            )
        assert np.array_equal(moved_policy[:, -1], policy[:, -1])
        assert map_vertex(PASS, number, width, height) == PASS


@settings(max_examples=40, deadline=None)
@given(
    size=st.sampled_from([(2, 2), (3, 3), (5, 5), (4, 6), (7, 3)]),
    number=st.integers(0, 7),
    choices=st.lists(st.integers(0, 10_000), max_size=60),
)
def test_games_seen_through_a_symmetry_go_the_same_way(size: tuple[int, int], number: int, choices: list[int]) -> None:
    width, height = size
    number %= len(applicable(width, height))
    game, mirrored = Game(width, height), Game(width, height)
    for choice in choices:
        legal = [*game.legal_vertices(), PASS]
        assert {map_vertex(v, number, width, height) for v in legal} == {*mirrored.legal_vertices(), PASS}
        vertex = legal[choice % len(legal)]
        captured = game.play(game.to_play, vertex)
        assert captured == mirrored.play(mirrored.to_play, map_vertex(vertex, number, width, height))
    for vertex in points(width, height):
        assert game.color_at(vertex) == mirrored.color_at(map_vertex(vertex, number, width, height))
