"""Connection, keyboard, touch and screen readers."""

from importlib import import_module
from typing import Any

import pytest

from engine.apps.web.counting import counted
from engine.apps.web.settings import PlayerKind
from engine.apps.web.view import view
from engine.color import BLACK, WHITE
from engine.programs.answers import AnalysisAnswer, Candidate
from engine.vertex import parse_vertex
from tests.browser.conftest import Served
from tests.browser.steps import GAME, analyze, click, open_tab, play, point, review, see, vertex
from tests.waiting import wait_until

pytestmark = pytest.mark.browser


def test_a_server_that_is_gone_is_named_and_one_that_is_started_again_gets_the_game(
    opened: Any, served: Served
) -> None:
    served.session.command("new", {"clock": "byoyomi:600+5x30"})
    play(served, *GAME)
    served.session.command("clock", {"clock": "byoyomi:600+5x30", "left": {"black": [30, 2], "white": [77.5, 0]}})
    served.session.command("go", {"to": 4})
    see(opened, "#number", "4 / 6")
    opened.wait_for_timeout(1000)  # the page keeps a copy of the game a moment after each move
    served.stop()
    see(opened, "#offline", "does not answer")
    assert opened.is_visible("#offline")
    assert opened.evaluate("document.querySelector('main').inert")
    opened.keyboard.press("p")
    served.start()
    see(opened, "#number", "4 / 6")
    opened.wait_for_selector("#offline", state="hidden")
    opened.wait_for_selector("#player-white time:visible")  # hidden until the clocks are back
    clock = view(served.session.snapshot())["clock"]
    assert clock["left"] == {"black": (30, 2), "white": (77.5, 0)}
    assert not opened.evaluate("document.querySelector('main').inert")
    assert [move.vertex for move in served.session.snapshot().line] == [vertex(name) for name in GAME]


def test_a_server_that_is_started_again_gets_the_settings_and_the_comment_that_was_being_written(
    opened: Any, served: Served
) -> None:
    play(served, *GAME)
    served.session.command("switch", {"review": True})
    served.session.command("configure", {"black": "engine", "seconds": 7})
    see(opened, "#number", "6 / 6")
    opened.wait_for_timeout(1000)  # the page keeps a copy of the game a moment after each move
    open_tab(opened, "record")
    opened.click("#comment")
    opened.keyboard.type("half a thought")
    served.stop()
    see(opened, "#offline", "does not answer")
    served.start()
    opened.wait_for_selector("#offline", state="hidden")
    wait_until(lambda: served.session.snapshot().note == "half a thought")
    wait_until(lambda: served.session.snapshot().switches.review)
    settings = served.session.snapshot().settings
    assert (settings.players, settings.seconds) == ({BLACK: PlayerKind.ENGINE, WHITE: PlayerKind.PERSON}, 7)
    wait_until(lambda: not {"PB", "PW"} & set(served.session.snapshot().info))  # nobody had a name before, either
    see(opened, "#player-white b", "You")
    import_module("playwright.sync_api").expect(opened.locator("#comment")).to_have_value("half a thought")


def test_a_server_that_is_started_again_gets_a_record_without_names_as_one_of_other_people(
    opened: Any, served: Served
) -> None:
    served.session.open(b"(;SZ[9]RU[AGA]KM[0];B[ee];W[cc])")
    see(opened, "#number", "2 / 2")
    opened.wait_for_timeout(1000)  # the page keeps a copy of the game a moment after each move
    served.stop()
    see(opened, "#offline", "does not answer")
    served.start()
    see(opened, "#number", "2 / 2")
    see(opened, "#player-white b", "White")
    wait_until(lambda: served.session.snapshot().settings.is_record)


def test_a_comment_that_is_given_up_leaves_the_field_to_the_position_shown(opened: Any, served: Served) -> None:
    play(served, *GAME)
    for number, note in ((1, "one"), (2, "two")):
        served.session.command("go", {"to": number})
        served.session.command("edit", {"note": note})
    open_tab(opened, "record")
    see(opened, "#note", "two")
    opened.click("#comment")
    opened.keyboard.press("End")
    opened.keyboard.type("a")
    opened.keyboard.press("Backspace")
    opened.evaluate("document.activeElement.blur()")
    served.session.command("go", {"to": 1})
    see(opened, "#note", "one")
    assert opened.input_value("#comment") == "one"


def test_a_server_that_is_started_again_does_not_get_the_game_before_a_new_one(opened: Any, served: Served) -> None:
    play(served, *GAME)
    see(opened, "#number", "6 / 6")
    opened.wait_for_timeout(1000)
    served.session.command("new", {})
    see(opened, "#number", "0 / 0")
    served.stop()
    see(opened, "#offline", "does not answer")
    served.start()
    opened.wait_for_selector("#offline", state="hidden")
    opened.wait_for_timeout(500)
    assert served.session.snapshot().line == ()


def test_the_board_is_played_from_the_keyboard_and_moves_are_announced(opened: Any, served: Served) -> None:
    opened.focus("#board")
    see(opened, "#announcement", "E5, empty")
    for key in ("ArrowLeft", "ArrowUp"):
        opened.keyboard.press(key)
    see(opened, "#announcement", "D6, empty")
    opened.keyboard.press("Enter")
    see(opened, "#announcement", "move 1: Black D6")
    opened.keyboard.press("ArrowDown")
    opened.keyboard.press("ArrowUp")
    see(opened, "#announcement", "D6, black")
    opened.keyboard.press("Escape")
    opened.keyboard.press("ArrowLeft")
    see(opened, "#number", "0 / 1")


def test_arrow_keys_walk_through_the_game_after_a_click_on_a_tab(opened: Any, served: Served) -> None:
    play(served, "E5", "C3")
    open_tab(opened, "record")
    opened.keyboard.press("ArrowLeft")
    see(opened, "#number", "1 / 2")
    assert opened.is_visible("#panel-record")
    opened.focus("#tab-record")
    opened.keyboard.press("ArrowRight")
    assert opened.is_visible("#panel-game")
    opened.keyboard.press("Enter")
    opened.keyboard.press("ArrowLeft")
    assert opened.is_visible("#panel-record")


def test_arrow_keys_walk_through_the_game_after_a_file_is_opened(opened: Any, served: Served) -> None:
    open_tab(opened, "record")
    opened.focus("#open")
    opened.set_input_files("#open", {"name": "a.sgf", "mimeType": "", "buffer": b"(;SZ[9]KM[7];B[ee];W[cc])"})
    see(opened, "#number", "2 / 2")
    opened.keyboard.press("ArrowLeft")
    see(opened, "#number", "1 / 2")
    opened.focus("#open")  # as after a choice that was given up
    opened.keyboard.press("ArrowLeft")
    see(opened, "#number", "0 / 2")


def test_arrow_keys_walk_through_the_game_after_a_link_is_made(opened: Any, served: Served) -> None:
    play(served, "E5", "C3")
    open_tab(opened, "record")
    opened.click("#share")
    opened.wait_for_selector("#link-label:visible")
    opened.wait_for_function("document.activeElement.id === 'link'")
    opened.keyboard.press("ArrowLeft")
    see(opened, "#number", "1 / 2")


def test_an_error_goes_with_the_position_that_it_is_about(opened: Any, served: Served) -> None:
    play(served, "E5")
    see(opened, "#number", "1 / 1")
    click(opened, "E5")
    opened.wait_for_selector("#error:visible")
    play(served, "C3")
    opened.wait_for_selector("#error", state="hidden")


def test_rows_of_the_tables_are_chosen_from_the_keyboard(opened: Any, served: Served) -> None:
    review(served)
    opened.focus("#mistakes tbody tr:nth-child(2)")
    opened.keyboard.press("Enter")
    see(opened, "#taught", "Move 5, Black C7")
    served.session.command("switch", {"analysis": True})
    analyze(served, Candidate(vertex("G6"), 900, 0.9, 12.0, (vertex("G6"),)))
    opened.focus("#candidates tbody tr")
    opened.keyboard.press("Enter")
    see(opened, "#line", "Line 2 of 2, from move 5: Black G6")


def test_a_move_is_confirmed_by_a_second_tap_where_that_is_asked_for(opened: Any, served: Served) -> None:
    open_tab(opened, "settings")
    opened.check("#confirm")
    opened.evaluate("scrollTo(0, 0)")
    click(opened, "C3")
    opened.wait_for_selector("#hover circle", state="attached")
    click(opened, "D4")
    click(opened, "D4")
    see(opened, "#number", "1 / 1")
    assert served.session.snapshot().line[0].vertex == vertex("D4")


def test_a_tap_on_a_candidate_shows_its_variation_and_a_second_tap_plays_it(browser: Any, served: Served) -> None:
    served.session.command("switch", {"analysis": True})
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    page.goto(served.url)
    page.wait_for_selector("#picture svg", state="attached")
    analyze(served, Candidate(vertex("G6"), 900, 0.5, 0.0, (vertex("G6"), vertex("C3"))))
    page.wait_for_selector("#marks text", state="attached")
    place = point(page, "G6")
    page.touchscreen.tap(place["x"], place["y"])
    page.wait_for_selector("#hover circle", state="attached")
    assert page.locator("#hover text").all_text_contents() == ["1", "2"]
    assert served.session.snapshot().line == ()
    page.touchscreen.tap(place["x"], place["y"])
    see(page, "#number", "1 / 1")
    context.close()


def test_coordinates_colors_and_keys_are_switched_and_kept(opened: Any, served: Served) -> None:
    opened.keyboard.press("?")
    assert opened.is_visible("#keys")
    see(opened, "#keys", "next mistake, previous mistake")
    opened.keyboard.press("Escape")
    labels = opened.locator("#picture svg > text")
    assert labels.first.is_visible()
    opened.keyboard.press("c")
    labels.first.wait_for(state="hidden")
    opened.keyboard.press("d")
    dark = "getComputedStyle(document.body).backgroundColor"
    assert opened.evaluate(dark) == "rgb(25, 23, 20)"
    opened.reload()
    opened.wait_for_selector("#picture svg", state="attached")
    assert not labels.first.is_visible()
    assert opened.evaluate(dark) == "rgb(25, 23, 20)"
    # Without the coordinates the board is drawn larger; its points are still hit.
    box = opened.locator("#overlay").bounding_box()
    unit = box["width"] / 9.4
    opened.mouse.click(box["x"] + 2.7 * unit, box["y"] + 6.7 * unit)
    see(opened, "#number", "1 / 1")
    assert served.session.snapshot().line[0].vertex == vertex("C3")


def test_the_wheel_walks_through_the_game(opened: Any, served: Served) -> None:
    play(served, *GAME)
    place = point(opened, "E5")
    opened.mouse.move(place["x"], place["y"])
    opened.mouse.wheel(0, -100)
    see(opened, "#number", "5 / 6")
    opened.mouse.wheel(0, 100)
    see(opened, "#number", "6 / 6")


def test_a_narrow_board_has_one_figure_on_a_point_and_the_navigation_stays_in_view(opened: Any, served: Served) -> None:
    served.session.command("new", {"size": 19})
    see(opened, "#number", "0 / 0")
    served.session.command("switch", {"analysis": True})
    task = served.session.next_task()
    assert task is not None
    best = parse_vertex("Q16", 19, 19)
    served.session.analysis_received(task, AnalysisAnswer((Candidate(best, 900, 0.55, 1.5, (best,)),)))
    opened.wait_for_selector("#marks text", state="attached")
    is_phone = opened.viewport_size["width"] < 800
    assert opened.locator("#marks text").count() == (1 if is_phone else 3)
    opened.evaluate("scrollTo(0, document.body.scrollHeight)")
    box = opened.locator("#navigation").bounding_box()
    assert box["y"] >= 0 and box["y"] + box["height"] <= opened.viewport_size["height"]
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")


def violations(page: Any) -> list[tuple[str, list[str]]]:
    """Return what axe-core finds against WCAG 2.1 A and AA: each rule with the elements that break it."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python")
    tags = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}}
    found = axe.Axe().run(page, options=tags).response["violations"]
    return [(each["id"], [node["html"] for node in each["nodes"]]) for each in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation_in_a_review_the_keys_and_the_agreement(
    opened: Any, served: Served, scheme: str
) -> None:
    opened.emulate_media(color_scheme=scheme)
    review(served)
    served.session.command("go", {"to": 4})
    served.session.command("switch", {"analysis": True})
    analyze(served, Candidate(vertex("G6"), 900, 0.9, 12.0, (vertex("G6"),)))
    see(opened, "#taught", "Move 5")
    assert violations(opened) == []
    opened.keyboard.press("?")
    assert violations(opened) == []
    opened.keyboard.press("Escape")
    served.session.open(b"(;SZ[9]KM[6.5]C[a note];B[ee];W[cc];B[];W[])")
    task = served.session.next_task()
    assert task is not None
    served.session.position_counted(task, counted(task.game))
    see(opened, "#agreed", "W+6.5 if you accept")
    assert violations(opened) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("tab", ["analysis", "record", "game", "settings"])
def test_axe_finds_no_violation_in_any_tab_with_clocks_ranks_notes_and_variations(
    opened: Any, served: Served, scheme: str, tab: str
) -> None:
    opened.emulate_media(color_scheme=scheme)
    served.session.engine_started("Keima", has_ranks=True)
    served.session.command("new", {"clock": "byoyomi:600+5x30"})
    served.session.command("new", {"size": 9, "clock": "byoyomi:600+5x30"})
    review(served)
    served.session.command("edit", {"note": "a note"})
    served.session.command("go", {"to": 3})
    served.session.command("play", {"move": "D4"})
    open_tab(opened, tab)
    see(opened, "#number", "4 / 4")
    assert violations(opened) == []
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
