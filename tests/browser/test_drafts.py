"""Texts that a person is writing into the record: none is lost, and none goes where it was not written."""

from typing import Any

import pytest

from tests.browser.conftest import Served
from tests.browser.steps import GAME, click, open_tab, play, point, see
from tests.browser.test_record import DROP, RECORD
from tests.waiting import wait_until

pytestmark = pytest.mark.browser

PLAY_AT = """place => {
  const board = document.getElementById("board");
  const about = {clientX: place.x, clientY: place.y, bubbles: true, pointerType: "touch"};
  board.dispatchEvent(new PointerEvent("pointerdown", about));
  board.dispatchEvent(new PointerEvent("click", about));
}"""
"""A tap: the touchscreen of Playwright would leave the field by itself."""
FOCUSED = "document.activeElement.id"


def notes(served: Served) -> list[str]:
    """Return the comments of the line shown, from its start."""
    snapshot = served.session.snapshot()
    found = []
    for number in range(len(snapshot.line) + 1):
        served.session.command("go", {"to": number})
        found.append(served.session.snapshot().note)
    return found


def begin_comment(page: Any, text: str) -> None:
    """Write into the comment, and leave the cursor there."""
    open_tab(page, "record")
    page.click("#comment")
    page.keyboard.type(text)
    page.evaluate("scrollTo(0, 0)")


def test_a_click_on_the_board_saves_the_comment_and_leaves_its_field(opened: Any, served: Served) -> None:
    play(served, "E5")
    begin_comment(opened, "of E5")
    click(opened, "C3")
    see(opened, "#number", "2 / 2")
    assert opened.evaluate(FOCUSED) != "comment"
    assert opened.input_value("#comment") == ""
    opened.keyboard.press("ArrowLeft")
    see(opened, "#note", "of E5")
    assert notes(served) == ["", "of E5", ""]


def test_a_tap_on_the_board_saves_the_comment_and_leaves_its_field(opened: Any, served: Served) -> None:
    play(served, "E5")
    begin_comment(opened, "of E5")
    opened.evaluate(PLAY_AT, point(opened, "C3"))
    see(opened, "#number", "2 / 2")
    assert opened.evaluate(FOCUSED) != "comment"
    assert notes(served) == ["", "of E5", ""]


def test_the_wheel_saves_the_comment_and_leaves_its_field(opened: Any, served: Served) -> None:
    play(served, "E5", "C3")
    begin_comment(opened, "of C3")
    place = point(opened, "E5")
    opened.mouse.move(place["x"], place["y"])
    opened.mouse.wheel(0, -100)
    see(opened, "#number", "1 / 2")
    assert opened.evaluate(FOCUSED) != "comment"
    assert opened.input_value("#comment") == ""
    assert notes(served) == ["", "", "of C3"]


def test_a_comment_is_written_before_another_record_is_opened(opened: Any, served: Served) -> None:
    play(served, "E5", "C3")
    begin_comment(opened, "of the first game")
    opened.evaluate(DROP, RECORD)
    see(opened, "#player-black", "Ann 3k")
    open_tab(opened, "analysis")
    opened.wait_for_timeout(300)
    assert notes(served) == ["", "good", ""]
    served.session.command("previous", {})
    assert notes(served) == ["", "", "of the first game"]


def test_a_comment_is_not_written_into_a_record_that_another_page_opened(opened: Any, served: Served) -> None:
    play(served, "E5", "C3")
    begin_comment(opened, "of the first game")
    served.session.open(RECORD.encode())
    see(opened, "#player-black", "Ann 3k")
    see(opened, "#unsaved", "of the first game")
    assert opened.input_value("#comment") == "of the first game"
    opened.keyboard.type(", pu")  # neither a pass nor a move taken back
    opened.wait_for_timeout(1500)
    open_tab(opened, "analysis")
    see(opened, "#unsaved", "of the first game, pu")
    assert opened.input_value("#comment") == ""
    assert notes(served) == ["", "good", ""]


def test_a_field_without_a_draft_shows_the_record_that_another_page_opened(opened: Any, served: Served) -> None:
    play(served, "E5", "C3")
    served.session.command("edit", {"note": "of the first game"})
    open_tab(opened, "record")
    opened.click("#info-PB")
    served.session.open(RECORD.encode())
    see(opened, "#player-black", "Ann 3k")
    assert opened.input_value("#info-PB") == "Ann"
    assert opened.input_value("#comment") == ""


def test_what_is_written_is_saved_a_moment_after_the_last_key(opened: Any, served: Served) -> None:
    play(served, "E5")
    begin_comment(opened, "half a thought")
    wait_until(lambda: served.session.snapshot().note == "half a thought")
    assert opened.evaluate(FOCUSED) == "comment"
    opened.keyboard.type(" and the other")
    wait_until(lambda: served.session.snapshot().note == "half a thought and the other")
    opened.click("#info-PW")
    opened.keyboard.type("Ben")
    see(opened, "#player-white", "Ben")
    assert opened.evaluate(FOCUSED) == "info-PW"


@pytest.mark.parametrize(("field", "key"), [("comment", "C"), ("info-EV", "EV")])
def test_what_is_written_when_the_page_is_loaded_anew_is_saved(
    opened: Any, served: Served, field: str, key: str
) -> None:
    play(served, *GAME)
    open_tab(opened, "record")
    opened.click(f"#{field}")
    opened.keyboard.type("typed")
    opened.reload()
    wait_until(lambda: f"{key}[typed]" in served.session.record()[0])
    opened.wait_for_selector("#picture svg", state="attached")
    opened.wait_for_function("id => document.getElementById(id).value === 'typed'", arg=field)
    assert len(served.session.snapshot().line) == len(GAME)
