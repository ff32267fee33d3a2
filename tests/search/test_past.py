"""Moves before the searched position can be hidden from the evaluator; the rules still know them."""

import numpy as np

from engine.color import BLACK, WHITE
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.search.params import SearchParams
from engine.search.search import Search
from engine.search.tree import ROOT
from engine.vertex import NO_POINT, parse_vertex
from tests.search.fakes import FakeEvaluator


class HistoryEvaluator(FakeEvaluator):
    """A fake that keeps the recent moves and the stones of the boards of each position."""

    def __init__(self) -> None:
        super().__init__()
        self.moves: list[list[int]] = []
        self.stones: list[list[int]] = []

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the made-up evaluation."""
        super().evaluate(positions, count, out)
        self.moves += positions.moves[:count].tolist()
        occupied = np.isin(positions.colors[:count], (BLACK, WHITE))
        self.stones += np.count_nonzero(occupied, axis=2).tolist()


def begun() -> Game:
    """Return a game of three moves."""
    game = Game(5)
    for color, name in ((BLACK, "C3"), (WHITE, "B2"), (BLACK, "D4")):
        game.play(color, parse_vertex(name, 5, 5))
    return game


def searched(game: Game, search: Search, visits: int = 30) -> Search:
    search.begin(game, game.to_play, game.legal_vertices())
    search.run([], visits)
    return search


def test_the_root_is_evaluated_without_its_past_and_later_positions_with_the_moves_of_the_tree() -> None:
    hidden, shown = HistoryEvaluator(), HistoryEvaluator()
    searched(begun(), Search(hidden, SearchParams(ignores_past=True)))
    searched(begun(), Search(shown, SearchParams()))
    assert set(hidden.moves[0]) == {NO_POINT} and set(hidden.stones[0]) == {3}
    assert shown.moves[0][:3] == [parse_vertex(name, 5, 5) for name in ("D4", "B2", "C3")]
    assert shown.stones[0][:4] == [3, 2, 1, 0]
    known = {sum(move != NO_POINT for move in moves) for moves in hidden.moves[1:]}
    assert min(known) == 1
    past = {parse_vertex(name, 5, 5) for name in ("D4", "B2", "C3")}
    assert all(not past & set(moves) for moves in hidden.moves)


def test_the_rules_still_know_the_past() -> None:
    game = Game(5)
    # White's stone at B3 captures one stone in a ko: Black may not take back at once.
    for color, name in (
        *((BLACK, "B4"), (WHITE, "C4"), (BLACK, "A3"), (WHITE, "D3"), (BLACK, "B2"), (WHITE, "C2")),
        *((BLACK, "C3"), (WHITE, "B3")),
    ):
        game.play(color, parse_vertex(name, 5, 5), lenient=True)
    retaken = parse_vertex("C3", 5, 5)
    assert not game.is_legal(BLACK, retaken)
    search = searched(game, Search(FakeEvaluator(), SearchParams(ignores_past=True)))
    assert retaken not in search.tree.edge_vertex[ROOT, : search.tree.nodes[ROOT]["edges"]].tolist()


def test_a_tree_that_knows_the_past_is_not_kept_for_a_search_that_ignores_it() -> None:
    search = searched(begun(), Search(HistoryEvaluator(), SearchParams()), 30)
    search.params = SearchParams(ignores_past=True)
    assert searched(begun(), search, 10).tree.nodes[ROOT]["visits"] == 10
    search.params = SearchParams()
    assert searched(begun(), search, 5).tree.nodes[ROOT]["visits"] == 5


def test_a_repeated_search_that_ignores_the_past_goes_on_and_one_after_a_move_does_not() -> None:
    game, search = begun(), Search(HistoryEvaluator(), SearchParams(ignores_past=True))
    searched(game, search, 60)
    assert searched(game, search, 80).tree.nodes[ROOT]["visits"] == 80
    search.begin(game, game.to_play, game.legal_vertices())
    assert search.tree.nodes[ROOT]["visits"] == 80
    game.play(WHITE, int(search.tree.edge_vertex[ROOT, 0]))
    search.begin(game, game.to_play, game.legal_vertices())
    assert search.tree.nodes[ROOT]["visits"] == 0
