"""What tests do on both sides of the page: a game and its review in the session, clicks and texts in the browser."""

from importlib import import_module
from typing import Any

from engine.apps.web.snapshot import Kind, Task
from engine.programs.answers import AnalysisAnswer, Candidate
from engine.vertex import parse_vertex
from tests.browser.conftest import Served

GAME = ("E5", "C3", "G7", "G3", "C7", "F6")
WINRATES = (0.5, 0.47, 0.55, 0.55, 0.54, 0.2, 0.9)
"""Black's, before each move of GAME and at its end: 1 is an inaccuracy, 2 a mistake, 5 and 6 are blunders."""


def vertex(name: str) -> int:
    return parse_vertex(name, 9, 9)


def play(served: Served, *names: str) -> None:
    for name in names:
        served.session.command("play", {"move": name})


def analyze(served: Served, *candidates: Candidate) -> Task:
    """Answer the task that waits, and return it: its analysis goes on."""
    task = served.session.next_task()
    assert task is not None and task.kind is Kind.ANALYSIS
    served.session.analysis_received(task, AnalysisAnswer(candidates))
    return task


def review(served: Served) -> None:
    """Play GAME and review it: D7 D3 is better everywhere."""
    play(served, *GAME)
    served.session.command("switch", {"review": True})
    for black in WINRATES:
        task = served.session.next_task()
        assert task is not None and task.kind is Kind.REVIEW
        is_black = task.game.move_number % 2 == 0
        winrate, lead = (black, 40 * black - 20) if is_black else (1 - black, 20 - 40 * black)
        best = Candidate(vertex("D7"), 9, winrate, lead, (vertex("D7"), vertex("D3")))
        served.session.analysis_received(task, AnalysisAnswer((best,)))
        served.session.task_finished(task)


def see(page: Any, selector: str, text: str) -> None:
    """Wait until an element has a text."""
    import_module("playwright.sync_api").expect(page.locator(selector)).to_contain_text(text)


def open_tab(page: Any, name: str) -> None:
    """Open one of the tabs: analysis, record, game, settings."""
    page.click(f"#tab-{name}")


def point(page: Any, name: str) -> dict[str, float]:
    """Return where a point of the 9x9 board is on the screen, with coordinates shown."""
    box = page.locator("#overlay").bounding_box()
    column, row = "ABCDEFGHJ".index(name[0]), 9 - int(name[1])
    unit = box["width"] / 11
    return {"x": box["x"] + (column + 1.5) * unit, "y": box["y"] + (row + 1.5) * unit}


def click(page: Any, name: str) -> None:
    place = point(page, name)
    page.mouse.click(place["x"], place["y"])


def see_said(page: Any, text: str) -> None:
    """Wait until an announcement is seen on the page, too."""
    see(page, "#announcement:not(.unseen)", text)
    box = page.locator("#announcement").bounding_box()
    assert box["width"] > 50 and box["y"] + box["height"] <= page.viewport_size["height"]
