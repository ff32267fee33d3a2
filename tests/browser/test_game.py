"""New games: clocks, ranks, limits, rules; sounds and languages."""

import json
from typing import Any

import pytest

from engine.apps.web.server import PAGE
from engine.apps.web.settings import RULES
from engine.apps.web.snapshot import Limits
from engine.apps.web.view import view
from tests.browser.conftest import Served
from tests.browser.steps import click, open_tab, play, see
from tests.waiting import wait_until

pytestmark = pytest.mark.browser


def test_a_new_game_has_the_clock_that_was_chosen_and_it_counts(opened: Any, served: Served) -> None:
    assert not opened.is_visible("#player-black time")
    open_tab(opened, "game")
    opened.fill("#size", "9")
    opened.select_option("#clock-kind", "byoyomi")
    opened.fill("#main-minutes", "0.5")
    opened.fill("#periods", "3")
    opened.fill("#period-seconds", "20")
    opened.select_option("#you", "both")
    opened.click("#panel-game .main")
    see(opened, "#player-white time", "0:30")
    play(served, "E5")
    see(opened, "#player-white time", "0:29")
    see(opened, "#player-black time", "0:30")
    play(served, "C3")
    see(opened, "#player-black time", "0:29")


@pytest.mark.parametrize(
    "clock", ["fischer:50+5", "fischer:100.25+2.5", "byoyomi:1+3x7.5", "byoyomi:0+5x30", "absolute:3601"]
)
def test_a_form_that_nobody_touched_keeps_the_clock(opened: Any, served: Served, clock: str) -> None:
    served.session.command("new", {"clock": clock})
    see(opened, "#player-white time", ":")
    opened.reload()
    open_tab(opened, "game")
    before = served.session.snapshot().open_game
    opened.click("#panel-game .main")
    wait_until(lambda: served.session.snapshot().open_game != before)
    assert view(served.session.snapshot())["clock_settings"] == clock


def test_the_main_time_stays_when_only_the_increment_is_changed(opened: Any, served: Served) -> None:
    served.session.command("new", {"clock": "fischer:50+5"})
    see(opened, "#player-white time", "0:50")
    opened.reload()
    open_tab(opened, "game")
    opened.fill("#increment", "7")
    opened.click("#panel-game .main")
    wait_until(lambda: view(served.session.snapshot())["clock_settings"] == "fischer:50+7")
    opened.click("#tab-game")
    opened.fill("#main-minutes", "2")
    opened.click("#panel-game .main")
    wait_until(lambda: view(served.session.snapshot())["clock_settings"] == "fischer:120+7")


def test_a_player_whose_time_is_over_has_lost(opened: Any, served: Served) -> None:
    served.session.command("new", {"clock": "byoyomi:0.2+1x3"})
    play(served, "E5")
    see(opened, "#player-white time", "0:03 \u00d7 1")
    see(opened, "#status", "Result: B+T")
    assert opened.inner_text("#player-white time") == "0:00"
    served.session.command("new", {"clock": "byoyomi:0+1x3"})
    see(opened, "#player-white time", "0:03 \u00d7 1")


def test_a_field_of_a_clock_that_is_not_chosen_does_not_keep_a_game_from_beginning(opened: Any, served: Served) -> None:
    play(served, "E5")
    open_tab(opened, "game")
    opened.fill("#size", "9")
    opened.select_option("#clock-kind", "byoyomi")
    opened.fill("#periods", "0")
    opened.select_option("#clock-kind", "")
    opened.click("#panel-game .main")
    see(opened, "#number", "0 / 0")


@pytest.mark.parametrize(
    ("kind", "field"),
    [("byoyomi", "main-minutes"), ("byoyomi", "periods"), ("byoyomi", "period-seconds"), ("fischer", "increment")],
)
def test_a_clock_without_one_of_its_numbers_is_not_begun(opened: Any, served: Served, kind: str, field: str) -> None:
    play(served, "E5")
    open_tab(opened, "game")
    opened.select_option("#clock-kind", kind)
    opened.fill(f"#{field}", "")
    opened.click("#panel-game .main")
    opened.wait_for_timeout(200)
    assert opened.evaluate("document.activeElement.id") == field
    assert not opened.is_visible("#error")
    see(opened, "#number", "1 / 1")


def test_a_game_that_begins_is_seen_from_its_top(opened: Any, served: Served) -> None:
    open_tab(opened, "game")
    opened.select_option("#clock-kind", "byoyomi")
    opened.evaluate("document.body.style.minHeight = '300vh'; scrollTo(0, 60)")
    opened.wait_for_function("scrollY > 0")
    opened.click("#panel-game .main")
    see(opened, "#player-white time", "10:00")
    opened.wait_for_function("scrollY === 0")


def test_every_rule_set_can_be_chosen_by_its_name(opened: Any, served: Served) -> None:
    open_tab(opened, "game")
    values = opened.locator("#rules option").evaluate_all("options => options.map(each => each.value)")
    assert tuple(values) == RULES
    opened.select_option("#rules", "new-zealand")
    opened.select_option("#you", "both")
    opened.fill("#handicap", "3")
    opened.click("#panel-game .main")
    see(opened, "#player-white", "New Zealand")
    see(opened, "#player-black", "3 stones")


def test_each_rank_says_what_it_is(opened: Any, served: Served) -> None:
    served.session.engine_started("Keima", has_ranks=True)
    texts = json.loads((PAGE / "en.json").read_text(encoding="utf-8"))
    open_tab(opened, "game")
    for rank, key in (("15k", "weakest"), ("9k", "weak"), ("8k", "gnugo"), ("2k", "strong"), ("full", "full")):
        opened.select_option("#new-rank", rank)
        see(opened, "#new-rank-word", texts[f"rank_{key}"])
    opened.select_option("#new-rank", "9k")
    opened.select_option("#you", "black")
    opened.fill("#size", "9")
    opened.click("#panel-game .main")
    see(opened, "#player-white", "Keima, 9k")
    open_tab(opened, "settings")
    see(opened, "#limits", "the few visits of its rank")


def test_the_form_of_a_new_game_has_the_rank_of_the_game_that_is_open(opened: Any, served: Served) -> None:
    # The page is open before the engine has started, and before anybody knows whether it has ranks.
    served.session.command("configure", {"rank": "8k"})
    served.session.engine_started("Keima", has_ranks=True)
    open_tab(opened, "game")
    opened.wait_for_selector("#new-rank:visible")
    assert opened.input_value("#new-rank") == "8k"


def test_the_limits_of_a_move_are_shown_and_set(opened: Any, served: Served) -> None:
    served.session.engine_started("Keima", limits=Limits(None, 400, can_set_visits=True))
    open_tab(opened, "settings")
    see(opened, "#limits", "at most 400 visits")
    opened.fill("#seconds", "2.5")
    opened.keyboard.press("Enter")
    see(opened, "#limits", "at most 2.5 s, at most 400 visits")
    opened.fill("#visits", "50")
    opened.keyboard.press("Enter")
    see(opened, "#limits", "at most 2.5 s, at most 50 visits")
    served.session.command("new", {"clock": "absolute:600"})
    see(opened, "#limits", "what its clock allows, at most 50 visits")
    assert opened.is_disabled("#seconds")


def test_a_game_begun_by_mistake_is_taken_back(opened: Any, served: Served) -> None:
    play(served, "E5", "C3")
    open_tab(opened, "game")
    opened.click("#panel-game .main")
    see(opened, "#number", "0 / 0")
    opened.click("#undo")
    see(opened, "#number", "2 / 2")


def test_sounds_are_made_only_where_they_are_switched_on(browser: Any, served: Served) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script(
        "window.sounds = 0; const start = AudioBufferSourceNode.prototype.start;"
        "AudioBufferSourceNode.prototype.start = function (when) { window.sounds += 1; start.call(this, when); };"
    )
    page.goto(served.url)
    page.wait_for_selector("#picture svg", state="attached")
    click(page, "E5")
    see(page, "#number", "1 / 1")
    assert page.evaluate("window.sounds") == 0
    page.keyboard.press("s")
    click(page, "C3")
    see(page, "#number", "2 / 2")
    assert page.evaluate("window.sounds") == 1
    context.close()


@pytest.mark.parametrize(
    ("language", "word"),
    [("en-US", "Take back"), ("zh-CN", "悔棋"), ("ja", "待った"), ("ko-KR", "무르기"), ("de", "Take back")],
)
def test_the_page_speaks_the_language_of_the_browser_or_the_one_chosen(
    browser: Any, served: Served, language: str, word: str
) -> None:
    context = browser.new_context(locale=language)
    page = context.new_page()
    page.goto(served.url)
    see(page, "#undo", word)
    see(page, "#status", {"zh": "轮到黑", "ja": "黒番", "ko": "흑 차례"}.get(language[:2], "Black to play"))
    open_tab(page, "settings")
    page.select_option("#language", "ja")
    see(page, "#undo", "待った")
    page.reload()
    see(page, "#status", "黒番")
    assert page.get_attribute("html", "lang") == "ja"
    context.close()
