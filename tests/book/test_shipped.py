"""The book of 7x7 that ships with Keima: what it says of the empty board, and how far its best moves go."""

from engine.book.book import Book
from engine.book.finding import find_book
from engine.game import Game
from engine.rules import CHINESE_KGS
from engine.vertex import points

SIDE, KOMI = 7, 9.0


def test_its_game_from_the_center_on_is_even_with_a_komi_of_nine() -> None:
    book, game = Book.open("7x7"), Game(SIDE, rules=CHINESE_KGS, komi=KOMI)
    found = book.find(game)
    assert found is not None
    assert found.moves[0].vertices == (points(SIDE, SIDE)[SIDE * SIDE // 2],)
    assert 0.4 < found.winrate < 0.6
    assert abs(found.lead) < 1.0


def test_its_best_moves_follow_one_another_for_at_least_twelve_moves() -> None:
    book, game = Book.open("7x7"), Game(SIDE, rules=CHINESE_KGS, komi=KOMI)
    played = 0
    while (best := book.best(game)) is not None:
        game.play(game.to_play, best.vertices[0])
        played += 1
    assert played >= 12


def test_it_is_small_and_says_how_it_was_made() -> None:
    assert find_book("7x7").stat().st_size < 3_000_000
    about = Book.open("7x7").about
    assert (about.komi, about.visits, about.network) == (KOMI, 1600, "keima-t7c96.safetensors bf16")
