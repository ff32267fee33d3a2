"""Against an opponent who mirrors, the search tries what breaks the mirror; against others it stays as it was."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engine.color import BLACK, EMPTY, WHITE
from engine.game import Game
from engine.rules import JAPANESE, TROMP_TAYLOR, Rules
from engine.search.kernel_params import new_records
from engine.search.mirror import (
    Mirror,
    MirroredNode,
    center_of,
    find_mirror,
    mirror_of,
    mirror_prior,
    mirror_value,
    value_by_center,
    write_mirror,
)
from engine.search.move_choice import move_table
from engine.search.params import SearchParams
from engine.search.search import Search
from engine.search.tree import ROOT, child_nodes
from engine.vertex import NO_POINT, PASS, parse_vertex, points
from tests.oracle import naive_mirror
from tests.positions import random_game
from tests.search.test_values import DetailedEvaluator

PLAIN = SearchParams(prunes_symmetric_moves=False)
BLACKS = ["C3", "G3", "C5", "D2", "H4", "B8", "F2", "J5", "C9", "A4", "H8", "E9", "D4", "A1", "H1", "D6"]


def mirrored_game(
    pairs: int, size: int = 9, *, first: str = "", rules: Rules = TROMP_TAYLOR, komi: float = 7.0
) -> Game:
    """Return a game in which White mirrors each of Black's moves. first: a move of Black and one of White before."""
    game = Game(size, rules=rules, komi=komi)
    for move in first.split():
        game.play(game.to_play, parse_vertex(move, size, size))
    for move in BLACKS[:pairs]:
        vertex = parse_vertex(move, size, size)
        game.play(BLACK, vertex)
        game.play(WHITE, naive_mirror.mirror_of(game, vertex))
    return game


def searched(params: SearchParams, game: Game, visits: int = 400) -> Search:
    search = Search(DetailedEvaluator(), params)
    search.begin(game, game.to_play, game.legal_vertices())
    search.run([], visits)
    return search


def visits_at_root(search: Search) -> dict[int, int]:
    table = move_table(search.tree, search.root, search.params)
    return dict(zip(table.vertex.tolist(), table.visits.tolist(), strict=True))


def test_the_move_that_breaks_the_mirror_gets_visits_only_against_an_opponent_who_mirrors() -> None:
    center = parse_vertex("E5", 9, 9)
    game = mirrored_game(15)
    off, on = (visits_at_root(searched(replace(PLAIN, anti_mirror=each), game)) for each in (False, True))
    assert off.get(center, 0) < 8
    assert on[center] > 24  # six percent of 400
    other = mirrored_game(14)
    other.play(BLACK, parse_vertex("B1", 9, 9))
    other.play(WHITE, parse_vertex("A9", 9, 9))
    off, on = (visits_at_root(searched(replace(PLAIN, anti_mirror=each), other)) for each in (False, True))
    assert on == off


def test_the_opponent_is_expected_to_mirror_on() -> None:
    game, shares = mirrored_game(15), []
    for each in (False, True):
        tree = searched(replace(PLAIN, anti_mirror=each), game).tree
        mirrored = total = 0
        for vertex, child in zip(tree.edge_vertex[ROOT].tolist(), child_nodes(tree, ROOT), strict=False):
            answers = tree.edge_vertex[child, : len(child_nodes(tree, child))].tolist()
            image = naive_mirror.mirror_of(game, vertex)
            for answer, below in zip(answers, child_nodes(tree, child), strict=True):
                mirrored += int(tree.nodes[below]["visits"]) * (answer == image and vertex != PASS)
                total += int(tree.nodes[below]["visits"])
        shares.append(mirrored / total)
    assert shares[0] < 0.1
    assert shares[1] > 0.2


def test_a_stone_in_the_center_counts_once_more_in_the_value() -> None:
    game = mirrored_game(15, first="A7 E5")
    found = find_mirror(game, BLACK)
    assert (found.color, found.center) == (WHITE, WHITE)
    values = [
        float(searched(replace(PLAIN, anti_mirror=each), game, 1).tree.nodes[ROOT]["value"]) for each in (False, True)
    ]
    assert values[0] != values[1]


@pytest.mark.parametrize(
    ("game", "expected"),
    [
        (mirrored_game(15), Mirror(WHITE, 6.0, 0.0, EMPTY)),
        (mirrored_game(15, komi=0.5), Mirror(WHITE, -0.5, 0.0, EMPTY)),
        (mirrored_game(15, rules=JAPANESE, komi=6.5), Mirror(WHITE, 6.5, 0.0, EMPTY)),
        (mirrored_game(13), Mirror()),
        (mirrored_game(14), Mirror(WHITE, 6.0, 0.0, EMPTY)),
    ],
)
def test_an_opponent_mirrors_after_seven_moves_more_than_half(game: Game, expected: Mirror) -> None:
    found = find_mirror(game, BLACK)
    assert found[:2] == expected[:2]
    assert found.center == expected.center
    assert find_mirror(game, WHITE).color == EMPTY


def test_stones_around_the_center_that_have_no_image_are_counted() -> None:
    game = mirrored_game(15, first="F5 A9")
    # F5 has no white stone at D5; a white stone of E6 would have none of Black's.
    assert find_mirror(game, BLACK).error == pytest.approx(1.0 * 0.5 * 2.0)


def positions() -> list[Game]:
    return [random_game(seed, 9, 9, moves=20, rules=TROMP_TAYLOR) for seed in range(6)] + [
        random_game(seed, *size, moves=16, rules=TROMP_TAYLOR) for seed, size in enumerate([(8, 8), (7, 9), (8, 9)])
    ]


@pytest.mark.parametrize("seed", range(4))
def test_priors_and_values_are_those_of_the_plain_formulas(seed: int) -> None:
    chance, record, kinds = np.random.default_rng(seed), new_records(1)[0], set()
    for game in positions():
        center = naive_mirror.center_of(game)
        assert center_of(game.board) == (NO_POINT if center is None else center)
        color = game.color_at(center) if center is not None and game.color_at(center) else WHITE
        write_mirror(record, Mirror(color, chance.uniform(-7, 9), chance.choice([0.0, 0.2, 1.0, 3.0]), color))
        for _ in range(60):
            vertex, last = (int(chance.choice([PASS, *points(game.width, game.height)])) for _ in range(2))
            assert mirror_of(game.board, last) == naive_mirror.mirror_of(game, last)
            answer = int(chance.choice([vertex, naive_mirror.mirror_of(game, last), PASS]))
            depth, mover = int(chance.integers(0, 5)), int(chance.choice([BLACK, WHITE]))
            total, utility, prior = chance.uniform(1, 40), chance.uniform(-1, 1), chance.random()
            weight, value = total * chance.random() ** 3, chance.uniform(-1, 1)
            node = MirroredNode(game.board, depth, last, answer, total, utility)
            found: Any = mirror_prior(record, node, mover, vertex, prior)
            expected = naive_mirror.mirror_prior(record, game, depth, answer, mover, vertex, prior)
            assert found == pytest.approx(expected, abs=1e-9)
            kinds.add(round(found - prior, 3) == 0)
            found = mirror_value(record, node, mover, vertex, weight, value)
            plain = (depth, last, answer, total, utility)
            expected = naive_mirror.mirror_value(record, game, plain, mover, vertex, (weight, value))
            assert found == pytest.approx(expected, abs=1e-6)
            kinds.add(round(found - value, 0))
    assert {True, False, 100.0} <= kinds


def test_the_value_by_the_center_is_that_of_the_plain_formula() -> None:
    chance, record = np.random.default_rng(1), new_records(1)[0]
    for error in (0.0, 0.5):
        record["mirror_error"] = error
        for _ in range(20):
            no_result, owner = chance.uniform(0, 0.3), chance.uniform(-1, 1, 25).astype(np.float32)
            value = (1 - no_result) * chance.uniform(-0.99, 0.99)
            for sign in (1.0, -1.0):
                found = value_by_center(record, value, no_result, owner, sign)
                expected = naive_mirror.value_by_center(record, value, no_result, sign * float(owner[12]))
                assert found == pytest.approx(expected, abs=1e-6)
