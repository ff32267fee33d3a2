"""What lies over the board for the pointer follows the analysis."""

from typing import Any

import pytest

from engine.programs.answers import AnalysisAnswer, Candidate
from tests.browser.conftest import Served
from tests.browser.steps import analyze, click, open_tab, point, see, vertex

pytestmark = pytest.mark.browser

COLUMNS = "ABCDEFGHJ"
UNIT = 40
FIRST_ROW = "#candidates tbody tr:nth-child(1)"


def candidate(*names: str) -> Candidate:
    return Candidate(vertex(names[0]), 9, 0.5, 0.5, tuple(vertex(name) for name in names))


def drawn(page: Any) -> list[str]:
    """Return the points of the stones that lie over the board, in the order of the variation."""
    script = "all => all.map(({cx, cy}) => [cx.baseVal.value, cy.baseVal.value])"
    places = page.eval_on_selector_all("#hover circle", script)
    return [f"{COLUMNS[round(x / UNIT - 1.5)]}{9 - round(y / UNIT - 1.5)}" for x, y in places]


def test_the_variation_of_a_row_under_the_pointer_changes_with_the_row(opened: Any, served: Served) -> None:
    served.session.command("switch", {"analysis": True})
    task = analyze(served, candidate("C3", "D4"), candidate("G7", "F6", "E5"))
    see(opened, FIRST_ROW, "C3")
    opened.hover(FIRST_ROW)
    assert drawn(opened) == ["C3", "D4"]
    served.session.analysis_received(task, AnalysisAnswer((candidate("G7", "F6", "E5"), candidate("C3", "D4"))))
    see(opened, FIRST_ROW, "G7")
    assert drawn(opened) == ["G7", "F6", "E5"]
    opened.click(FIRST_ROW)
    see(opened, "#status", "Black G7")
    assert drawn(opened) == []


def test_the_variation_of_a_row_with_the_focus_changes_with_the_row(opened: Any, served: Served) -> None:
    served.session.command("switch", {"analysis": True})
    task = analyze(served, candidate("C3", "D4"))
    see(opened, FIRST_ROW, "C3")
    opened.focus(FIRST_ROW)
    served.session.analysis_received(task, AnalysisAnswer((candidate("G7", "F6", "E5"),)))
    see(opened, FIRST_ROW, "G7")
    assert drawn(opened) == ["G7", "F6", "E5"]
    opened.evaluate("document.activeElement.blur()")
    assert drawn(opened) == []


def test_the_variation_of_a_candidate_chosen_on_the_board_changes_with_the_analysis(
    opened: Any, served: Served
) -> None:
    open_tab(opened, "settings")
    opened.check("#confirm")
    open_tab(opened, "analysis")
    served.session.command("switch", {"analysis": True})
    task = analyze(served, candidate("C3", "D4"))
    see(opened, FIRST_ROW, "C3")
    opened.evaluate("scrollTo(0, 0)")
    click(opened, "C3")
    assert drawn(opened) == ["C3", "D4"]
    served.session.analysis_received(task, AnalysisAnswer((candidate("C3", "E5", "G7"),)))
    see(opened, FIRST_ROW, "E5")
    assert drawn(opened) == ["C3", "E5", "G7"]
    served.session.analysis_received(task, AnalysisAnswer((candidate("F6"),)))
    see(opened, FIRST_ROW, "F6")
    assert drawn(opened) == ["C3"]
    click(opened, "C3")
    see(opened, "#status", "Black C3")


def test_a_candidate_without_a_variation_is_drawn_as_its_move(opened: Any, served: Served) -> None:
    served.session.command("switch", {"analysis": True})
    analyze(served, Candidate(vertex("C3"), 9, 0.5))
    see(opened, FIRST_ROW, "C3")
    opened.hover(FIRST_ROW)
    assert drawn(opened) == ["C3"]


def test_the_stone_under_the_pointer_stays_while_the_analysis_goes_on(opened: Any, served: Served) -> None:
    served.session.command("switch", {"analysis": True})
    task = analyze(served, candidate("C3", "D4"))
    see(opened, FIRST_ROW, "C3")
    opened.evaluate("scrollTo(0, 0)")
    place = point(opened, "E5")
    opened.mouse.move(place["x"], place["y"])
    assert drawn(opened) == ["E5"]
    served.session.analysis_received(task, AnalysisAnswer((candidate("G7"),)))
    see(opened, FIRST_ROW, "G7")
    assert drawn(opened) == ["E5"]
