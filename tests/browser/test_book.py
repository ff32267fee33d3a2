"""The opening book on the page: its moves with value and visits at the position shown, and what it says of it."""

from pathlib import Path
from typing import Any

import pytest

from engine.apps.web.view import view
from tests.book.books import asked, opened, small_book
from tests.browser.conftest import Served
from tests.browser.steps import see

pytestmark = pytest.mark.browser


@pytest.fixture
def served(tmp_path: Path) -> Any:
    """Yield a session of two people on 4x4 with a small book of that board."""
    book = opened(small_book(tmp_path, 14, asked(4, 4)))
    made = Served(width=4, height=4, komi=0.5, rules="tromp-taylor", book=book)
    yield made
    made.stop()


def marks(page: Any) -> int:
    return int(page.locator("#book-marks rect").count())


def test_the_books_moves_are_marked_with_value_and_visits_and_followed(opened: Any, served: Served) -> None:
    assert marks(opened) == 0
    opened.click("#book-switch")
    see(opened, "#book-note", "Book: the color to move wins")
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
