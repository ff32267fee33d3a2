"""Whole boards are solved: known scores, every line of play of the book's moves, and books of exact values."""

from pathlib import Path

import pytest

from engine.apps.book.exact import Exact, write_exact
from engine.book.book import Book
from engine.color import BLACK, WHITE, for_color
from engine.errors import GoError
from engine.game import Game
from engine.rules import CHINESE_KGS, JAPANESE, TROMP_TAYLOR, Rules
from engine.scoring import final_score
from engine.vertex import PASS, points
from tests.book.books import opened

SCORES = {(1, 1): 0, (2, 1): 0, (3, 1): 3, (4, 1): 4}
"""Black's, without komi, under Tromp-Taylor rules: https://tromp.github.io/go.html."""


@pytest.fixture(scope="module")
def solved() -> Exact:
    """Return the board of 4x1."""
    return Exact(4, 1, TROMP_TAYLOR)


@pytest.mark.parametrize(("width", "height"), SCORES)
def test_scores_are_those_that_are_known(width: int, height: int) -> None:
    exact = Exact(width, height, TROMP_TAYLOR)
    assert exact.score(Game(width, height, rules=TROMP_TAYLOR)) == SCORES[width, height]


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


@pytest.mark.slow
@pytest.mark.parametrize(("rules", "color"), [(TROMP_TAYLOR, BLACK), (CHINESE_KGS, BLACK)])
def test_black_takes_the_whole_board_of_three_by_three(rules: Rules, color: int) -> None:
    exact = Exact(3, 3, rules)
    game = Game(3, rules=exact.rules, komi=0.0)
    assert exact.score(game) == 9
    assert worst(exact, game, color) == 9


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
    assert book.misfit(Game(3, rules=TROMP_TAYLOR)) == "expected rules chinese-ogs, got tromp-taylor"


@pytest.mark.parametrize(
    ("width", "height", "rules", "text"),
    [(4, 3, TROMP_TAYLOR, "at most 9 points"), (2, 2, JAPANESE, "rules that count area")],
)
def test_boards_and_rules_that_cannot_be_solved_are_named(width: int, height: int, rules: Rules, text: str) -> None:
    with pytest.raises(GoError, match=text):
        Exact(width, height, rules)
