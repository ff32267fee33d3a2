"""What a person writes into the record, and how records come to the page and leave it."""

import base64
import re
import zlib
from typing import Any

import pytest

from tests.browser.conftest import Served
from tests.browser.steps import click, open_tab, play, see, see_said, vertex

pytestmark = pytest.mark.browser

RECORD = "(;SZ[9]KM[5.5]RU[Japanese]PB[Ann]BR[3k]PW[Ben];B[ee]C[good];W[cc])"
DROP = """text => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([text], "game.sgf"));
  document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: transfer, bubbles: true, cancelable: true}));
}"""
PASTE = """text => {
  const transfer = new DataTransfer();
  transfer.setData("text/plain", text);
  document.body.dispatchEvent(new ClipboardEvent("paste", {clipboardData: transfer, bubbles: true}));
}"""


def link_of(record: bytes) -> str:
    packed = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = packed.compress(record) + packed.flush()
    return "#sgf=" + base64.urlsafe_b64encode(data).decode().rstrip("=")


def test_markup_is_drawn_where_the_tool_is_used_and_erased_by_a_second_use(opened: Any, served: Served) -> None:
    play(served, "E5")
    open_tab(opened, "record")
    for name, place in (("TR", "E5"), ("SQ", "C3"), ("CR", "C7"), ("MA", "G7"), ("letter", "G3"), ("letter", "D4")):
        opened.click(f"[data-tool={name}]")
        opened.evaluate("scrollTo(0, 0)")
        click(opened, place)
    opened.click("[data-tool=number]")
    opened.evaluate("scrollTo(0, 0)")
    click(opened, "F6")
    see(opened, "#markup", "1")
    assert sorted(opened.locator("#markup text").all_text_contents()) == ["1", "A", "B"]
    symbols = opened.locator("#markup path").evaluate_all("paths => paths.map(path => path.dataset.symbol)")
    assert symbols == ["TR", "SQ", "CR", "MA"]
    opened.click("[data-tool=TR]")
    opened.evaluate("scrollTo(0, 0)")
    click(opened, "E5")
    opened.wait_for_selector("[data-symbol=TR]", state="detached")
    assert len(served.session.snapshot().line) == 1
    text, _ = served.session.record()
    assert all(part in text for part in ("SQ[cg]", "CR[cc]", "MA[gc]", "[df:B]", "[fd:1]", "[gg:A]"))
    opened.click('[data-tool=""]')
    opened.evaluate("scrollTo(0, 0)")
    click(opened, "B2")
    see(opened, "#number", "2 / 2")


def test_comments_and_names_are_written_into_the_record(opened: Any, served: Served) -> None:
    play(served, "E5", "C3")
    open_tab(opened, "record")
    opened.fill("#comment", "a <b>good</b> move")
    opened.click("[data-to=back]")
    see(opened, "#number", "1 / 2")
    assert opened.input_value("#comment") == ""
    opened.click("[data-to=on]")
    see(opened, "#note", "a <b>good</b> move")
    for name, text in (("PB", "Ann"), ("BR", "3k"), ("EV", "Club"), ("DT", "2026-01-02")):
        opened.fill(f"#info-{name}", text)
        opened.keyboard.press("Tab")
    see(opened, "#player-black", "Ann 3k")
    opened.wait_for_timeout(200)
    text, _ = served.session.record()
    assert all(part in text for part in ("C[a <b>good</b> move]", "PB[Ann]", "BR[3k]", "EV[Club]", "DT[2026-01-02]"))


@pytest.mark.parametrize("way", [DROP, PASTE], ids=["drop", "paste"])
def test_a_record_is_opened_by_drop_and_by_paste(opened: Any, served: Served, way: str) -> None:
    opened.evaluate(way, RECORD)
    see(opened, "#player-black", "Ann 3k")
    see(opened, "#player-white", "komi 5.5 · Japanese")
    see(opened, "#number", "2 / 2")
    opened.evaluate(way, "(no record")
    see(opened, "#error", "the record")


def test_a_paste_into_a_field_opens_nothing(opened: Any, served: Served) -> None:
    play(served, "E5")
    open_tab(opened, "record")
    opened.focus("#comment")
    opened.evaluate(PASTE.replace("document.body", "document.activeElement"), RECORD)
    opened.wait_for_timeout(200)
    see(opened, "#number", "1 / 1")


def test_a_link_holds_the_whole_record(opened: Any, served: Served, browser: Any) -> None:
    served.session.open(b"(;SZ[9]RU[AGA](;B[ee]C[good]TR[ee])(;B[cc]))")
    before, _ = served.session.record()
    open_tab(opened, "record")
    opened.click("#share")
    opened.wait_for_selector("#link")
    link = opened.input_value("#link")
    assert link.startswith(served.url + "#sgf=")
    served.session.command("new", {})
    page = browser.new_context().new_page()
    page.goto(link)
    see(page, "#line", "Line 1 of 2")
    assert served.session.record()[0] == before
    assert "sgf" not in page.url
    page.context.close()


def test_a_game_is_left_for_a_link_only_after_a_question(opened: Any, served: Served) -> None:
    play(served, "E5")
    see(opened, "#number", "1 / 1")
    questions = []
    opened.once("dialog", lambda dialog: (questions.append(dialog.message), dialog.dismiss()))
    opened.evaluate("link => { location.hash = link; }", link_of(RECORD.encode()))
    opened.wait_for_timeout(300)
    see(opened, "#number", "1 / 1")
    assert len(questions) == 1
    opened.once("dialog", lambda dialog: dialog.accept())
    opened.evaluate("link => { location.hash = link; }", link_of(RECORD.encode()))
    see(opened, "#number", "2 / 2")
    open_tab(opened, "record")
    opened.click("#previous")
    see(opened, "#number", "1 / 1")


@pytest.mark.parametrize(
    "link",
    [
        "#sgf=!!!",
        "#sgf=" + "A" * 200_000,
        link_of(b"(;C[" + b"x" * (5 << 20) + b"])"),
        link_of(RECORD.encode())[:-9],
    ],
    ids=["no base64", "too long", "unpacks to more than a file may have", "cut off"],
)
def test_a_link_that_holds_no_record_is_refused(opened: Any, served: Served, link: str) -> None:
    opened.evaluate("link => { location.hash = link; }", link)
    see(opened, "#error", "holds no record")
    assert served.session.snapshot().line == ()


def test_nothing_in_a_record_is_executed(opened: Any, served: Served) -> None:
    evil = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    record = f"(;SZ[9]RU[AGA]PB[{evil}]EV[{evil}];B[ee]C[{evil}]LB[cc:<svg onload=a>])"
    opened.on("dialog", lambda dialog: pytest.fail(dialog.message))
    opened.evaluate("link => { location.hash = link; }", link_of(record.encode()))
    see(opened, "#note", evil)
    see(opened, "#player-black", evil)
    assert opened.locator("main img, main script, #markup svg").count() == 0
    assert re.search("&lt;svg", opened.inner_html("#markup"))
    assert served.session.snapshot().line[0].vertex == vertex("E5")


def test_arrows_and_lines_of_a_record_are_drawn(opened: Any, served: Served) -> None:
    served.session.open(b"(;SZ[9]KM[7];B[ee];W[cc]AR[ee:cc]LN[aa:ii][ai:ia])")
    opened.wait_for_selector("#markup path[data-line=AR]", state="attached")
    drawn = opened.locator("#markup path").evaluate_all("paths => paths.map(path => path.dataset.line)")
    assert sorted(drawn) == ["AR", "LN", "LN"]
    opened.keyboard.press("ArrowLeft")
    opened.wait_for_selector("#markup path", state="detached")


def test_a_link_is_shown_until_the_record_is_another(opened: Any, served: Served) -> None:
    play(served, "E5")
    open_tab(opened, "record")
    changes: list[tuple[str, dict[str, Any]]] = [
        ("play", {"move": "C3"}), ("edit", {"note": "a note"}), ("go", {"to": 0}), ("new", {"komi": 0.5}),
    ]  # fmt: skip
    for name, fields in changes:
        opened.click("#share")
        see_said(opened, "holds the whole record")
        opened.wait_for_selector("#link-label:visible")
        served.session.command(name, fields)
        opened.wait_for_selector("#link-label", state="hidden")


def test_a_link_holds_the_comment_that_was_being_written(opened: Any, served: Served) -> None:
    play(served, "E5")
    open_tab(opened, "record")
    opened.click("#comment")
    opened.keyboard.type("a note")
    opened.click("#share")
    opened.wait_for_selector("#link-label:visible")
    packed = opened.input_value("#link").split("#sgf=")[1]
    record = zlib.decompress(base64.urlsafe_b64decode(packed + "==="), -15)
    assert b"C[a note]" in record
    opened.wait_for_timeout(300)
    assert opened.is_visible("#link-label")


DRAG = """([from, to, text]) => {
  const transfer = new DataTransfer();
  transfer.setData("text/plain", text);
  const about = {dataTransfer: transfer, bubbles: true, cancelable: true};
  if (from) document.querySelector(from).dispatchEvent(new DragEvent("dragstart", about));
  const place = document.querySelector(to);
  const isTaken = !place.dispatchEvent(new DragEvent("dragover", about));
  place.dispatchEvent(new DragEvent("drop", about));
  if (from) document.querySelector(from).dispatchEvent(new DragEvent("dragend", about));
  return isTaken;
}"""


@pytest.mark.parametrize(
    ("start", "end"), [("#comment", "#comment"), ("#panel-record a", "#board"), ("", "#comment")],
    ids=["within a field", "a link of the page", "from elsewhere into a field"],
)  # fmt: skip
def test_what_is_dragged_within_the_page_or_into_a_field_is_no_record(
    opened: Any, served: Served, start: str, end: str
) -> None:
    play(served, "E5")
    open_tab(opened, "record")
    assert not opened.evaluate(DRAG, [start, end, RECORD])
    assert not opened.is_visible("#drop")
    opened.wait_for_timeout(300)
    see(opened, "#number", "1 / 1")
    assert opened.evaluate(DRAG, ["", "#board", RECORD])
    see(opened, "#player-black", "Ann 3k")


@pytest.mark.parametrize("way", [DROP, PASTE], ids=["drop", "paste"])
def test_a_record_that_comes_while_the_server_is_gone_is_refused_with_a_reason(
    opened: Any, served: Served, way: str
) -> None:
    served.stop()
    see(opened, "#offline", "does not answer")
    opened.evaluate(way, RECORD)
    see(opened, "#error", "the record is not opened")
    served.start()
    opened.wait_for_selector("#offline", state="hidden")
