"""Whole boards are solved: known scores, every line of play of the book's moves, and books of exact values."""

from pathlib import Path

import numpy as np
import pytest

from engine.apps.book.exact import EMPTY_BOARD, Exact, State, write_exact
from engine.apps.book.stone_sets import NO_KO
from engine.book.book import Book
from engine.color import BLACK, WHITE, for_color, opponent
from engine.errors import GoError
from engine.game import Game
from engine.rules import CHINESE_KGS, JAPANESE, TROMP_TAYLOR, Rules
from engine.scoring import final_score
from engine.vertex import NO_POINT, PASS, points
from tests.book.books import opened
from tests.oracle.naive_exact import OVER, NaiveExact

SCORES = {(1, 1): 0, (2, 1): 0, (3, 1): 3, (4, 1): 4, (3, 3): 9}
"""Black's, without komi, under Tromp-Taylor rules: https://tromp.github.io/go.html."""
WHOLE_BOARDS = [(4, 2), (5, 2), (6, 2)]
"""Black takes all points: by this solver alone."""


@pytest.fixture(scope="module")
def solved() -> Exact:
    """Return the board of 4x1."""
    return Exact(4, 1, TROMP_TAYLOR)


@pytest.mark.parametrize(("width", "height"), [*SCORES, *WHOLE_BOARDS])
def test_scores_are_those_that_are_known(width: int, height: int) -> None:
    exact = Exact(width, height, TROMP_TAYLOR)
    assert exact.score(Game(width, height, rules=TROMP_TAYLOR)) == SCORES.get((width, height), width * height)


@pytest.mark.slow
def test_repetition_decides_four_by_four_where_black_has_at_least_a_point() -> None:
    exact = Exact(4, 4, TROMP_TAYLOR)
    assert exact.bounds_of(EMPTY_BOARD) == (1, 16)
    assert exact.score(Game(4, 4, rules=TROMP_TAYLOR)) is None


@pytest.mark.parametrize(("width", "height"), [(2, 2), (3, 2), (4, 1)])
@pytest.mark.parametrize("rules", [TROMP_TAYLOR, CHINESE_KGS], ids=["tromp-taylor", "chinese-kgs"])
def test_every_position_has_the_moves_and_the_bounds_of_the_naive_solver(width: int, height: int, rules: Rules) -> None:
    """Its moves are those of `after_move`."""
    exact, naive = Exact(width, height, rules), NaiveExact(width, height, rules)
    vertices = points(width, height)

    def state_of(number: int) -> State:
        stones, ko, color, passes = naive.states[number]
        sets = [sum(1 << row for row, each in enumerate(stones) if each == side) for side in (color, opponent(color))]
        return State(sets[0], sets[1], NO_KO if ko == NO_POINT else vertices.index(ko), passes, color)

    for number, moves in enumerate(naive.moves):
        state = state_of(number)
        sign = 1 if state.color == BLACK else -1
        bounds = sorted((sign * int(naive.lower[number]), sign * int(naive.upper[number])))
        assert exact.bounds_of(state) == tuple(bounds)
        after = [(move.vertex, None if move.after == OVER else state_of(move.after)) for move in moves]
        assert sorted(exact.moves(state), key=str) == sorted(after, key=str)


def naive_score(game: Game) -> float:
    """Return Black's score with best play by trying every line, with the superko of the rules."""
    if game.is_over:
        return final_score(game)
    scores = []
    for vertex in (*game.legal_vertices(), PASS):
        game.play(game.to_play, vertex)
        scores.append(naive_score(game))
        game.undo()
    return max(scores) if game.to_play == BLACK else min(scores)


@pytest.mark.parametrize(("width", "height"), [(1, 1), (2, 1), (3, 1)])
@pytest.mark.parametrize("rules", [TROMP_TAYLOR, CHINESE_KGS], ids=["tromp-taylor", "chinese-kgs"])
def test_scores_are_those_of_all_lines_of_play(width: int, height: int, rules: Rules) -> None:
    game = Game(width, height, rules=rules.with_field("whiteHandicapBonus", "0"), komi=0.0)
    assert Exact(width, height, rules).score(game) == naive_score(game)


def worst(exact: Exact, game: Game, color: int) -> float:
    """Return the score for `color` if it plays the best moves, and the other side anything."""
    if game.is_over:
        return for_color(final_score(game), color)
    own = game.to_play == color
    found = []
    for vertex in (exact.best(game),) if own else (*game.legal_vertices(), PASS):
        assert game.is_legal(game.to_play, vertex), "superko forbids the best move"
        game.play(game.to_play, vertex)
        found.append(worst(exact, game, color))
        game.undo()
    return min(found)


@pytest.mark.parametrize("color", [BLACK, WHITE])
def test_the_best_moves_reach_the_score_against_every_line_and_repeat_nothing(solved: Exact, color: int) -> None:
    game = Game(4, 1, rules=TROMP_TAYLOR, komi=0.0)
    score = solved.score(game)
    assert score is not None
    assert worst(solved, game, color) == for_color(score, color)


@pytest.mark.parametrize("rules", [TROMP_TAYLOR, CHINESE_KGS])
def test_black_takes_the_whole_board_of_three_by_three_against_every_line(rules: Rules) -> None:
    exact = Exact(3, 3, rules)
    assert worst(exact, Game(3, rules=exact.rules, komi=0.0), BLACK) == 9


def test_a_book_of_more_than_nine_points_answers_every_move_while_one_side_plays_its_best(tmp_path: Path) -> None:
    exact = Exact(5, 2, CHINESE_KGS)
    write_exact(tmp_path / "5x2.book", exact, CHINESE_KGS)
    book, generator = opened(tmp_path / "5x2.book"), np.random.default_rng(1)
    for side in (BLACK, WHITE):
        for _ in range(20):
            game = Game(5, 2, rules=exact.rules, komi=0.0)
            while not game.is_over:
                best = book.best(game)
                score = exact.score(game)
                if score is None:
                    break
                found = book.find(game)
                assert found is not None
                assert found.lead == for_color(score, game.to_play)
                if game.to_play == side:
                    assert best is not None
                    game.play(side, best.vertices[0])
                else:
                    game.play(game.to_play, int(generator.choice((*game.legal_vertices(), PASS))))
            if game.is_over:
                assert for_color(final_score(game), side) >= for_color(10, side)


def test_a_board_where_repetition_decides_has_no_book() -> None:
    with pytest.raises(GoError, match=r"Black has \+4 to \+12 points"):
        Exact(4, 3, TROMP_TAYLOR).entries()


def test_a_book_of_exact_values_is_for_every_komi_and_has_passes(solved: Exact, tmp_path: Path) -> None:
    write_exact(tmp_path / "4x1.book", solved, TROMP_TAYLOR)
    book = opened(tmp_path / "4x1.book")
    for komi, winrate in ((0.0, 1.0), (4.0, 0.5), (7.5, 0.0)):
        game = Game(4, 1, rules=TROMP_TAYLOR, komi=komi)
        found = book.find(game)
        assert found is not None
        assert (found.winrate, found.lead, found.visits) == (winrate, 4 - komi, 0)
        assert found.moves[0].vertices == tuple(points(4, 1)[1:3])
        assert found.moves[0].winrate == winrate
        assert PASS in {vertex for move in found.moves for vertex in move.vertices}


def test_every_position_of_a_game_that_is_in_the_book_has_the_score_of_its_best_move(
    solved: Exact, tmp_path: Path
) -> None:
    write_exact(tmp_path / "4x1.book", solved, TROMP_TAYLOR)
    book: Book = opened(tmp_path / "4x1.book")
    game, known = Game(4, 1, rules=TROMP_TAYLOR, komi=0.5), 0
    for vertex in (*points(4, 1)[1:3], PASS, points(4, 1)[0]):
        found, score = book.find(game), solved.score(game)
        assert (found is None) == (score is None)
        if found is not None and score is not None and found.moves:
            known += 1
            assert found.lead == for_color(score - 0.5, game.to_play) == found.moves[0].lead
        game.play(game.to_play, vertex)
    assert known >= 2


def test_the_book_of_three_by_three_ships_and_black_takes_the_whole_board_in_it() -> None:
    book, game = Book.open("3x3"), Game(3, rules=CHINESE_KGS, komi=7.5)
    found = book.find(game)
    assert found is not None
    assert (found.winrate, found.lead, found.moves[0].vertices) == (1.0, 1.5, (points(3, 3)[4],))
    assert book.misfit(Game(3, rules=TROMP_TAYLOR)) == "expected rules chinese-kgs, got tromp-taylor"


@pytest.mark.parametrize(
    ("width", "height", "rules", "text"),
    [(6, 3, TROMP_TAYLOR, "at most 16 points"), (2, 2, JAPANESE, "rules that count area")],
)
def test_boards_and_rules_that_cannot_be_solved_are_named(width: int, height: int, rules: Rules, text: str) -> None:
    with pytest.raises(GoError, match=text):
        Exact(width, height, rules)
