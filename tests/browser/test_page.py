"""What a person sees and does on the page, on a desktop's screen and on a phone's."""

import re
from importlib import import_module
from typing import Any

import pytest

from engine.apps.web.counting import counted
from engine.programs.answers import Candidate
from tests.browser.conftest import Served
from tests.browser.steps import GAME, analyze, click, open_tab, play, review, see, see_said, vertex

pytestmark = pytest.mark.browser


def test_the_rules_stand_beside_komi_and_a_record_without_rules_has_a_note(opened: Any, served: Served) -> None:
    see(opened, "#player-white", "komi 7.5 · Chinese (KGS)")
    assert not opened.is_visible("#notice")
    served.session.open(b"(;SZ[9]KM[6.5];B[ee])")
    see(opened, "#notice", "Chinese (KGS) rules are used")
    see(opened, "#player-white", "komi 6.5")


def test_a_record_without_komi_has_a_note(opened: Any, served: Served) -> None:
    served.session.open(b"(;SZ[9]RU[AGA]RE[W+1];B[ee])")
    see(opened, "#notice", "The record names no komi that Keima knows: komi 7.5 is used.")
    served.session.open(b"(;SZ[9]RU[AGA]KM[0];B[ee])")
    see(opened, "#player-white", "komi 0")
    assert not opened.is_visible("#notice")


def test_players_of_a_record_without_names_are_named_by_their_colors(opened: Any, served: Served) -> None:
    see(opened, "#player-black b", "You")
    served.session.open(b"(;SZ[9]RU[AGA]KM[0]BR[3k];B[ee])")
    expect = import_module("playwright.sync_api").expect
    expect(opened.locator("#player-black b")).to_have_text("Black 3k")
    expect(opened.locator("#player-white b")).to_have_text("White")
    served.session.command("new", {})
    see(opened, "#player-black b", "You")


def test_two_passes_show_the_count_and_a_tap_makes_a_chain_dead_until_it_is_accepted(
    opened: Any, served: Served
) -> None:
    play(served, "E5", "C3", "pass", "pass")
    task = served.session.next_task()
    assert task is not None
    served.session.position_counted(task, counted(task.game))
    see(opened, "#agreed", "W+7.5 if you accept")
    click(opened, "C3")
    see(opened, "#agreed", "B+73.5 if you accept")
    assert [text.split() for text in opened.inner_text("#sums tbody").splitlines()] == [
        ["Area", "81", "0"], ["Komi", "7.5"], ["Total", "81", "7.5"],
    ]  # fmt: skip
    click(opened, "C3")
    see(opened, "#agreed", "W+7.5 if you accept")
    opened.click("#accept")
    see(opened, "#status", "Result: W+7.5")
    assert not opened.is_visible("#accept")


def test_all_numbers_are_those_of_one_color(opened: Any, served: Served) -> None:
    play(served, "E5")
    served.session.command("switch", {"analysis": True})
    analyze(served, Candidate(vertex("G6"), 900, 0.967, 12.0, (vertex("G6"),)))
    see(opened, "#estimate", "Black wins 3.3 %, \u221212.0 points")
    see(opened, "#wins-head", "Black wins")
    see(opened, "#candidates tbody", "3.3 %")
    assert opened.inner_html("#marks").count(">3<") == 1
    open_tab(opened, "settings")
    opened.select_option("#view", "mover")
    open_tab(opened, "analysis")
    see(opened, "#estimate", "White wins 96.7 %, +12.0 points")
    see(opened, "#wins-head", "White wins")
    see(opened, "#candidates tbody", "96.7 %")
    assert opened.inner_html("#marks").count(">97<") == 1


def test_a_mistake_shows_what_was_played_and_the_better_variation(opened: Any, served: Served) -> None:
    review(served)
    served.session.command("go", {"to": 4})
    see(opened, "#taught", "Move 5, Black C7: blunder, lost 13.6 points, 34.0 %. Better: D7 D3")
    assert re.findall(r"<text[^>]*>(\d)<", opened.inner_html("#lesson")) == ["1", "2"]
    assert "#d22" in opened.inner_html("#lesson")
    opened.keyboard.press("r")
    opened.wait_for_selector("#lesson circle", state="detached")


def test_keys_and_buttons_go_from_one_mistake_of_a_color_and_size_to_the_next(opened: Any, served: Served) -> None:
    review(served)
    opened.keyboard.press("Home")
    see(opened, "#number", "0 / 6")
    for press in (1, 4, 5):
        opened.keyboard.press("n")
        see(opened, "#number", f"{press} / 6")
    opened.click("#previous-mistake")
    see(opened, "#number", "4 / 6")
    opened.select_option("#mistake-color", "white")
    see(opened, "#mistake-count", "2 of 4 mistakes")
    opened.keyboard.press("Shift+N")
    see(opened, "#number", "1 / 6")
    opened.select_option("#mistake-color", "both")
    opened.select_option("#mistake-size", "3")
    see(opened, "#mistake-count", "2 of 4 mistakes")
    opened.keyboard.press("n")
    see(opened, "#number", "4 / 6")


def test_a_review_names_the_time_left_and_its_seconds_are_chosen(opened: Any, served: Served) -> None:
    play(served, *GAME)
    served.session.command("switch", {"review": True})
    assert served.session.next_task() is not None
    see(opened, "#status", "Reviewing: 0 of 7 positions, 7 s left")
    opened.fill("#review-seconds", "30")
    opened.keyboard.press("Enter")
    task = served.session.next_task()
    assert task is not None and task.seconds == 30
    see(opened, "#status", "Reviewing: 0 of 7 positions, 4 min left")


def test_the_graphs_name_the_values_under_the_pointer(opened: Any, served: Served) -> None:
    review(served)
    see(opened, "#score-top", "Black +20")
    for graph in ("#graph", "#score-graph"):
        box = opened.locator(graph).bounding_box()
        opened.locator(graph).hover(position={"x": box["width"] * 5 / 20, "y": 20})
        see(opened, "#estimate", "After move 5: Black wins 20.0 %, \u221212.0 points")
    opened.mouse.move(1, 1)
    see(opened, "#estimate", "Black wins 90.0 %")
    opened.locator("#score-graph").click(position={"x": box["width"] * 2 / 20, "y": 20})
    see(opened, "#number", "2 / 6")


def test_two_quick_presses_are_two_steps(opened: Any, served: Served) -> None:
    play(served, *GAME)
    see(opened, "#number", "6 / 6")
    press = """document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowLeft", bubbles: true}));"""
    opened.evaluate(press + press)
    see(opened, "#number", "4 / 6")


def test_a_candidate_covers_what_is_below_its_figures(opened: Any, served: Served) -> None:
    served.session.command("switch", {"analysis": True})
    names = (("E5", 900), ("G7", 9))
    analyze(served, *(Candidate(vertex(name), visits, 0.5, 0.0, (vertex(name),)) for name, visits in names))
    opened.wait_for_selector("#marks text", state="attached")
    circles = opened.locator("#marks circle").evaluate_all(
        "circles => circles.map(({cx, cy, r, attributes}) => "
        "[cx.baseVal.value, cy.baseVal.value, r.baseVal.value, attributes.opacity?.value ?? '1'])"
    )
    for wood, color in zip(circles[::2], circles[1::2], strict=True):
        assert wood[:3] == color[:3]
        assert wood[3] == "1" and float(color[3]) < 1


def test_millions_of_visits_are_written_as_such(opened: Any, served: Served) -> None:
    served.session.command("switch", {"analysis": True})
    names = (("E5", 45_940_000), ("G7", 4_594_000), ("C3", 994_000))
    analyze(served, *(Candidate(vertex(name), visits, 0.5, 0.0, (vertex(name),)) for name, visits in names))
    opened.wait_for_selector("#marks text", state="attached")
    texts = opened.locator("#marks text").all_text_contents()
    assert texts[2::3] == ["45M", "4.6M", "994k"]


def test_where_no_mistake_follows_the_page_says_so(opened: Any, served: Served) -> None:
    review(served)
    see(opened, "#number", "6 / 6")
    opened.click("#next-mistake")
    see_said(opened, "no later mistake")
    served.session.command("go", {"to": 0})
    see(opened, "#announcement.unseen", "the start")
    opened.click("#previous-mistake")
    see_said(opened, "no earlier mistake")
