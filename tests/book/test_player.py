"""Players with a book play its best move where they can, and search elsewhere."""

import itertools
import logging
from pathlib import Path

import numpy as np
import pytest

from engine.book.book import Book
from engine.book.file import About, Entries
from engine.book.finding import find_book
from engine.book.player import BookPlayer, playing_from
from engine.book.positions import place_of
from engine.color import BLACK, WHITE
from engine.errors import GoError
from engine.game import Game
from engine.players import Limits
from engine.rules import CHINESE_KGS, JAPANESE, TROMP_TAYLOR
from engine.search.params import SearchParams
from engine.settings.levels import LEVELS
from engine.symmetry import map_vertex
from engine.vertex import PASS, points, policy_index
from tests.book.books import VISITS, opened, small_book
from tests.positions import random_game
from tests.search.fakes import FakeEvaluator


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """Return a small book of 4x4."""
    return opened(small_book(tmp_path_factory.mktemp("book"), 14))


def player(book: Book) -> BookPlayer:
    return playing_from(book)(FakeEvaluator(), SearchParams(seed=1))


def test_the_best_move_is_played_without_a_search_with_the_books_values(book: Book) -> None:
    game, mine = Game(4, rules=TROMP_TAYLOR, komi=0.5), player(book)
    best = book.best(game)
    assert best is not None
    decision = mine.genmove(game, BLACK, Limits(visits=3))
    assert decision == (type(decision))(best.vertices[0], False, best.winrate, best.lead, best.visits)
    assert decision.visits >= VISITS
    assert isinstance(mine.evaluator, FakeEvaluator) and mine.evaluator.calls == 0


def test_what_a_book_has_not_is_searched(book: Book) -> None:
    mine, limits = player(book), Limits(visits=3)
    game = Game(4, rules=TROMP_TAYLOR, komi=0.5)
    level = Limits(visits=3, level=next(iter(LEVELS[9].values())))
    everything_else = {BLACK: {best.vertices[0]: 1 for best in [book.best(game)] if best is not None}}
    assert mine.genmove(game, WHITE, limits).visits <= 3
    assert mine.genmove(game, BLACK, level).visits != book.best(game).visits  # type: ignore[union-attr]
    assert mine.genmove(game, BLACK, limits, avoided=everything_else).vertex not in everything_else[BLACK]
    for color, vertex in ((BLACK, points(4, 4)[0]), (WHITE, PASS), (BLACK, points(4, 4)[3]), (WHITE, PASS)):
        game.play(color, vertex)
    assert book.find(game) is None
    assert mine.genmove(game, BLACK, limits).visits <= 3


@pytest.mark.parametrize(
    ("game", "reason"),
    [
        (Game(4, rules=TROMP_TAYLOR, komi=7.5), "expected komi 0.5, got 7.5"),
        (Game(5, rules=TROMP_TAYLOR, komi=0.5), "expected size 4x4, got 5x5"),
        (Game(4, rules=JAPANESE, komi=0.5), "expected rules tromp-taylor, got japanese"),
    ],
)
def test_a_book_of_other_games_is_not_used_and_that_is_said_once(
    game: Game, reason: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mine = player(opened(small_book(tmp_path, 3)))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert mine.genmove(game, BLACK, Limits(visits=3)).visits <= 3
    assert [record.getMessage() for record in caplog.records] == [f"book small.book is not used: {reason}"]


def test_a_move_that_superko_forbids_is_no_move_of_the_book() -> None:
    game, forbidden = game_with_a_superko()
    place, free = place_of(game), Game(3, rules=TROMP_TAYLOR)
    assert place is not None
    free.setup(*([v for v in points(3, 3) if game.color_at(v) == color] for color in (BLACK, WHITE)), game.to_play)
    move = min(
        policy_index(map_vertex(map_vertex(forbidden, place.symmetry, 3, 3), turn, 3, 3), 3, 3)
        for turn in place.stabilizer
    )
    keys, plies = np.array([place.key, place.key], np.uint64), np.array([1, 2], np.uint16)
    both = (keys, plies, *np.zeros((3, 2)), np.array([0, 1, 1]), np.array([move]), np.array([1]))
    book = Book(About(3, 3, TROMP_TAYLOR, 7.5, 1), Entries(*both))
    found, elsewhere = book.find(game), book.find(free)
    assert elsewhere is not None and [forbidden in each.vertices for each in elsewhere.moves] == [True]
    assert found is not None and all(forbidden not in each.vertices for each in found.moves)


def game_with_a_superko(most_images: int = 8) -> tuple[Game, int]:
    """Return a game on 3x3 and a point where only its past forbids a move."""
    for seed in itertools.count():
        game = random_game(seed, 3, moves=40)
        while game.moves:
            reasons = {game.legality(game.to_play, vertex): vertex for vertex in points(3, 3)}
            is_there = "superko" in reasons and "ko" not in reasons and game.consecutive_passes == 0
            place = place_of(game)
            if is_there and place is not None and len(place.stabilizer) <= most_images:
                return game, reasons["superko"]
            game.undo()
    raise AssertionError


def test_a_pass_of_an_exact_book_is_played() -> None:
    book, game = Book.open("3x3"), Game(3, rules=CHINESE_KGS, komi=0.0)
    mine = playing_from(book)(FakeEvaluator(), SearchParams(seed=1))
    passes = 0
    for seed in range(200):
        game, chance = Game(3, rules=CHINESE_KGS, komi=0.0), np.random.default_rng(seed)
        while not game.is_over and game.move_number < 12:
            best = book.best(game)
            if best is not None and best.vertices[0] == PASS:
                decision = mine.genmove(game, game.to_play, Limits(visits=3))
                found = book.find(game)
                assert found is not None
                is_better = all(each.lead < best.lead for each in found.moves[1:])
                if is_better or (game.consecutive_passes and best.lead > 0):
                    assert (decision.vertex, decision.visits) == (PASS, 0)
                    passes += 1
                else:
                    assert decision.visits > 0, "searched: a pass is no better than other moves"
            game.play(game.to_play, int(chance.choice([*game.legal_vertices(), PASS])))
    assert passes > 10


def test_a_lost_game_is_not_passed_away() -> None:
    book, game = Book.open("3x3"), Game(3, rules=CHINESE_KGS, komi=0.0)
    game.play(BLACK, points(3, 3)[4])
    found = book.find(game)
    assert found is not None and found.moves[0].vertices == (PASS,) and found.lead < 0
    assert playing_from(book)(FakeEvaluator(), SearchParams(seed=1)).genmove(game, WHITE, Limits(visits=3)).visits > 0


def test_where_the_rules_forbid_the_books_best_move_the_search_decides() -> None:
    # Without symmetry: else an image of the move may be allowed.
    game, forbidden = game_with_a_superko(most_images=1)
    place = place_of(game)
    assert place is not None
    other = next(each for each in game.legal_vertices() if each not in (forbidden, PASS))
    moves = np.array([place.on_book(each, (3, 3)) for each in (forbidden, other)])
    keys, plies = np.array([place.key] * 3, np.uint64), np.array([1, 2, 2], np.uint16)
    entries = Entries(keys, plies, *np.zeros((3, 3)), np.array([0, 2, 2, 2]), moves, np.array([1, 2]))
    book = Book(About(3, 3, TROMP_TAYLOR, 7.5, 1), entries)
    found = book.find(game)
    assert found is not None and found.moves and found.lacks_best
    assert book.best(game) is None


def test_a_book_that_does_not_exist_is_named_with_those_that_ship() -> None:
    with pytest.raises(GoError, match=r"nowhere: no such book; .* ship with Keima"):
        find_book("nowhere")
