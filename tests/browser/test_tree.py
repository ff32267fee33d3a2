"""The tree of variations, and the marks where the record goes on."""

from string import ascii_lowercase
from typing import Any

import pytest

from tests.browser.conftest import Served
from tests.browser.steps import click, play, see

pytestmark = pytest.mark.browser

TREE = b"(;SZ[9]KM[7.5]RU[Chinese];B[ee](;W[cc];B[gg](;W[gc])(;W[cg]C[a comment]))(;W[gg];B[cc])(;W[hh]))"
STEP = 24
"""Pixels between two moves of the tree, and between two lines."""


def choose(page: Any, column: int, row: int) -> None:
    """Click on a move of the tree."""
    page.locator("#tree-picture").click(position={"x": (column + 0.5) * STEP, "y": (row + 0.5) * STEP})


def test_the_tree_is_drawn_with_the_position_shown_and_a_click_goes_there(opened: Any, served: Served) -> None:
    assert not opened.is_visible("#tree-panel")
    served.session.open(TREE)
    see(opened, "#line", "Line 1 of 4, the game")
    assert opened.locator("#tree-picture text").all_text_contents() == ["1", "2", "3", "4", "4", "2", "3", "2"]
    assert opened.locator("#tree-picture circle.noted").count() == 1
    choose(opened, 3, 2)
    see(opened, "#line", "Line 3 of 4, from move 2: White G3")
    see(opened, "#number", "3 / 3")
    assert opened.locator("#tree-picture .current").count() == 1
    assert opened.locator("#tree-picture .current").get_attribute("cx") == f"{3.5 * STEP:g}"
    choose(opened, 1, 0)
    see(opened, "#number", "1 / 4")
    choose(opened, 0, 0)
    see(opened, "#number", "0 / 4")


def test_the_board_marks_where_the_record_goes_on_and_a_click_there_follows_it(opened: Any, served: Served) -> None:
    served.session.open(TREE)
    see(opened, "#number", "4 / 4")
    assert opened.locator("#following circle").count() == 0
    served.session.command("go", {"to": 1})
    see(opened, "#number", "1 / 4")
    assert opened.locator("#following circle").count() == 3
    assert opened.locator("#following circle[stroke-dasharray]").count() == 2
    click(opened, "G3")
    see(opened, "#line", "Line 3 of 4, from move 2: White G3")
    assert len(served.session.snapshot().variations) == 4


def test_up_and_down_go_from_variation_to_variation(opened: Any, served: Served) -> None:
    served.session.open(TREE)
    see(opened, "#line", "Line 1 of 4, the game")
    opened.keyboard.press("ArrowDown")
    see(opened, "#line", "Line 2 of 4, from move 4: White C3")
    see(opened, "#note", "a comment")
    opened.keyboard.press("ArrowDown")
    see(opened, "#line", "Line 3 of 4, from move 2: White G3")
    opened.keyboard.press("ArrowUp")
    see(opened, "#line", "Line 2 of 4")
    opened.keyboard.press("b")
    see(opened, "#line", "Line 1 of 4, the game")


def test_another_move_in_an_opened_record_is_a_variation(opened: Any, served: Served) -> None:
    served.session.open(TREE)
    served.session.command("go", {"to": 2})
    see(opened, "#number", "2 / 4")
    click(opened, "D4")
    see(opened, "#line", "Line 3 of 5, from move 3: Black D4")
    record, _ = served.session.record()
    assert all(f"[{each}]" in record for each in ("ee", "cc", "gg", "gc", "cg", "hh", "df"))


def test_of_a_long_game_only_what_is_in_view_is_drawn(opened: Any, served: Served) -> None:
    served.session.command("new", {"size": 19})
    names = [f"{column}{row}" for column in "ABCDEFGHJK" for row in range(1, 20)]
    play(served, *names)
    see(opened, "#number", "190 / 190")
    shown = opened.locator("#tree-picture text").all_text_contents()
    assert shown[-1] == "190" and len(shown) < 50
    opened.evaluate("document.getElementById('tree').scrollLeft = 0")
    see(opened, "#tree-picture text >> nth=0", "1")


def test_numbers_of_four_digits_do_not_touch_each_other(opened: Any, served: Served) -> None:
    points = [f"{column}{row}" for column in ascii_lowercase[:25] for row in ascii_lowercase[:25]]
    served.session.open(f"(;SZ[25]KM[7]RU[AGA]{''.join(f';B[{point}];W[]' for point in points[:505])})".encode())
    see(opened, "#number", "1010 / 1010")
    see(opened, "#tree-picture", "1000")
    widths = opened.locator("#tree-picture text").evaluate_all("texts => texts.map(text => text.getBBox().width)")
    assert max(widths) <= STEP - 4
