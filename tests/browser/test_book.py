"""The opening book on the page: its moves with value and visits at the position shown, and what it says of it."""

from pathlib import Path
from typing import Any

import pytest

from engine.apps.web.view import view
from engine.book.book import BookMove, Found
from engine.vertex import PASS
from tests.book.books import asked, opened, small_book
from tests.browser.conftest import Served
from tests.browser.steps import play, see, vertex

pytestmark = pytest.mark.browser


@pytest.fixture
def served(tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    """Yield a session of two people: on 9x9 with the book of a parameter, or on 4x4 with a small book of that board."""
    book = getattr(request, "param", None)
    if book is not None:
        made = Served(book=book)
    else:
        book = opened(small_book(tmp_path, 14, asked(4, 4)))
        made = Served(width=4, height=4, komi=0.5, rules="tromp-taylor", book=book)
    yield made
    made.stop()


def marks(page: Any) -> int:
    return int(page.locator("#book-marks rect").count())


def test_the_books_moves_are_marked_with_value_and_visits_and_followed(opened: Any, served: Served) -> None:
    assert marks(opened) == 0
    opened.click("#book-switch")
    see(opened, "#book-note", "Book: Black wins")
    shown = view(served.session.snapshot())["book"]["moves"]
    assert marks(opened) == sum(len(move["points"]) for move in shown) > 0
    texts = opened.locator("#book-marks text").all_text_contents()
    assert str(shown[0]["visits"]) in " ".join(texts)
    served.session.command("play", {"move": shown[0]["points"][-1]})
    see(opened, "#number", "1 / 1")
    after = view(served.session.snapshot())["book"]
    assert after["winrate"] == pytest.approx(1 - shown[0]["winrate"])
    opened.wait_for_function(
        "count => document.querySelectorAll('#book-marks rect').length === count",
        arg=sum(len(move["points"]) for move in after["moves"]),
    )
    opened.keyboard.press("o")
    opened.wait_for_selector("#book-note", state="hidden")
    assert marks(opened) == 0


def test_a_position_beyond_the_book_and_a_game_of_another_komi_are_named(opened: Any, served: Served) -> None:
    opened.click("#book-switch")
    for move in ("A1", "pass", "A2", "pass", "A3", "pass"):
        served.session.command("play", {"move": move})
    see(opened, "#book-note", "Not in the book")
    served.session.command("new", {"komi": 7.5})
    see(opened, "#book-note", "expected komi 0.5, got 7.5")


class PassBook:
    """Has one position: White to move wins 30 % by a pass, and 20 % by a move."""

    def misfit(self, game: Any) -> None:
        """Fit every game."""

    def find(self, game: Any) -> Found:
        """Return the position."""
        return Found(0.3, -2.0, 1200, (BookMove((PASS,), 0.3, -2.0, 700), BookMove((vertex("C3"),), 0.2, -5.0, 500)))


@pytest.mark.parametrize("served", [PassBook()], indirect=True)
def test_the_note_names_a_pass_and_its_numbers_are_those_of_the_color_chosen(opened: Any, served: Served) -> None:
    play(served, "E5")
    opened.click("#book-switch")
    see(opened, "#book-note", "Book: Black wins 70.0 %, 1,200 visits \u00b7 pass: Black wins 70.0 %, +2.0 points")
    assert opened.locator("#book-marks text").first.text_content() == "80"
    opened.keyboard.press("v")
    see(opened, "#book-note", "Book: White wins 30.0 %, 1,200 visits \u00b7 pass: White wins 30.0 %, \u22122.0 points")
    assert opened.locator("#book-marks text").first.text_content() == "20"
