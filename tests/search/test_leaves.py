"""The rows that the search writes for its leaves, against the game played out to each leaf."""

import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.color import opponent
from engine.encoders.game_positions import write_position
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.rules import PRESETS, TROMP_TAYLOR, HandicapBonus, Ko, Rules
from engine.search.params import SearchParams
from engine.search.search import Search
from engine.search.stoppers import VisitStopper
from engine.search.tree import child_nodes
from engine.vertex import PASS
from tests.search.fakes import FakeEvaluator

RULE_SETS = [
    TROMP_TAYLOR,
    replace(TROMP_TAYLOR, ko=Ko.SITUATIONAL, suicide=False),
    replace(TROMP_TAYLOR, ko=Ko.SIMPLE),
    *(PRESETS[name] for name in ("chinese", "japanese", "aga-button", "ancient-territory")),
    replace(PRESETS["chinese"], button=True),
]
ARRAYS = [name for name, value in vars(PositionBatch(1, 3, 3)).items() if isinstance(value, np.ndarray)]


class Recorder(FakeEvaluator):
    """Keeps a copy of every row it is given, with the node it belongs to."""

    def __init__(self) -> None:
        super().__init__(batch=4)
        self.search: Search | None = None
        self.rows: list[tuple[list[int], dict[str, np.ndarray]]] = []

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        assert self.search is not None
        batch = next(each.arrays.batch for each in self.search.workers if each.positions is positions)
        for row in range(count):
            copies = {name: getattr(positions, name)[row].copy() for name in ARRAYS}
            walk = batch.nodes[row, : batch.length[row] + 1].tolist()
            self.rows.append((walk, copies))
        super().evaluate(positions, count, out)


def moves_along(search: Search, walk: list[int]) -> list[int]:
    """Return the moves of a walk from the root."""
    tree = search.tree
    return [int(tree.edge_vertex[parent, child_nodes(tree, parent).index(child)]) for parent, child in pairwise(walk)]


def play_random(game: Game, chance: random.Random, moves: int) -> None:
    """Play moves of which one in six is a pass and one in twenty of the side whose turn it is not."""
    for _ in range(moves):
        color = game.to_play if chance.random() < 0.95 else opponent(game.to_play)
        legal = game.legal_vertices(color)
        game.play(color, PASS if not legal or chance.random() < 1 / 6 else chance.choice(legal))


@pytest.mark.parametrize("rules", RULE_SETS, ids=lambda rules: f"{rules.ko}-{rules.scoring}-{rules.button}")
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    size=st.sampled_from([(2, 2), (3, 2), (3, 3), (4, 3), (5, 5)]),
    moves=st.integers(0, 30),
    turned=st.booleans(),
)
def test_a_leaf_is_the_position_of_the_game_played_out_to_it(
    rules: Rules, seed: int, size: tuple[int, int], moves: int, turned: bool
) -> None:
    chance = random.Random(seed)
    if turned:  # a white move after a white one takes back what handicap stones were worth
        rules = replace(rules, handicap_bonus=HandicapBonus.ZERO)
    game = Game(*size, rules=rules)
    play_random(game, chance, moves)
    color = opponent(game.to_play) if turned else game.to_play
    compared = 0
    for leaf, row, expected in leaves(game, color):
        same = {
            name: (row[name].tolist(), expected[name].tolist()) for name in ARRAYS if name not in ("seeds", "optimism")
        }
        assert {name: pair for name, pair in same.items() if pair[0] != pair[1]} == {}, leaf
        compared += 1
    assert compared > 0


def leaves(game: Game, color: int) -> list[tuple[list[int], dict[str, np.ndarray], dict[str, np.ndarray]]]:
    """Search a position; return (path, the row written, the row of the game played out) of each leaf."""
    recorder = Recorder()
    search = Search(recorder, SearchParams(max_memory_mib=1, random_symmetries=False))
    recorder.search = search
    search.begin(game, color, game.legal_vertices(color))
    search.run([VisitStopper(80)], 80)
    found = []
    for walk, row in recorder.rows:
        path, played, mover = moves_along(search, walk), game.copy(), color
        for vertex in path:
            played.play(mover, vertex)
            mover = opponent(mover)
        assert not (path and played.is_over)
        expected = PositionBatch(1, game.width, game.height)
        write_position(played, mover, expected, 0)
        found.append((path, row, {name: getattr(expected, name)[0] for name in ARRAYS}))
    search.close()
    return found
