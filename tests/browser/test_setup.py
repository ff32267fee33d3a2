"""A record with stones set up between its moves: the walk through it, the review after it, the saved record."""

from typing import Any

import pytest

from engine.apps.web.snapshot import Kind
from engine.programs.answers import AnalysisAnswer, Candidate
from tests.browser.conftest import Served
from tests.browser.steps import click, open_tab, see, vertex

pytestmark = pytest.mark.browser

RECORD = b"(;SZ[9]KM[7]RU[AGA];B[ee];W[cc];AE[cc]AW[gc][cg]PL[B]C[Now Black to play.](;B[gg];W[fd])(;B[dd]))"


def kinds(page: Any) -> list[str]:
    """Return which stones are marked as set up: X, O, or a dot where one was removed."""
    found: list[str] = page.locator("#changed rect").evaluate_all("marks => marks.map(mark => mark.dataset.changed)")
    return sorted(found)


def test_a_walk_shows_the_moves_before_the_setup_its_stones_and_the_moves_after_it(opened: Any, served: Served) -> None:
    served.session.open(RECORD)
    see(opened, "#number", "4 / 4")
    opened.keyboard.press("Home")
    see(opened, "#number", "0 / 4")
    for number, status in ((1, "Black E5"), (2, "White C7")):
        opened.keyboard.press("ArrowRight")
        see(opened, "#number", f"{number} / 4")
        see(opened, "#status", status)
        assert kinds(opened) == []
    opened.keyboard.press("ArrowRight")
    see(opened, "#status", "Setup: 0 black, 2 white, 1 removed · Black to play")
    see(opened, "#number", "2 / 4")
    see(opened, "#note", "Now Black to play.")
    see(opened, "#announcement", "Setup: 0 black, 2 white, 1 removed")
    assert kinds(opened) == [".", "O", "O"]
    opened.keyboard.press("ArrowRight")
    see(opened, "#status", "Black G3")
    see(opened, "#number", "3 / 4")
    assert kinds(opened) == []


def test_the_tree_has_a_square_for_the_setup_which_leads_to_it(opened: Any, served: Served) -> None:
    served.session.open(RECORD)
    see(opened, "#line", "Line 1 of 2, the game")
    assert opened.locator("#tree-picture text").all_text_contents() == ["1", "2", "3", "4", "3"]
    assert opened.locator("#tree-picture rect.s").count() == 1
    opened.locator("#tree-picture").click(position={"x": 3.5 * 24, "y": 12})
    see(opened, "#status", "Setup:")
    opened.keyboard.press("ArrowDown")
    see(opened, "#line", "Line 2 of 2, from move 3: Black D6")


def test_positions_after_the_setup_are_reviewed_and_moves_keep_their_numbers(opened: Any, served: Served) -> None:
    served.session.open(RECORD)
    served.session.command("switch", {"review": True})
    for black in (0.5, 0.5, 0.5, 0.9, 0.2, 0.2):
        task = served.session.next_task()
        assert task is not None and task.kind is Kind.REVIEW
        winrate = black if task.game.to_play == 1 else 1 - black
        best = Candidate(vertex("F7"), 9, winrate, None, (vertex("F7"),))
        served.session.analysis_received(task, AnalysisAnswer((best,)))
        served.session.task_finished(task)
    see(opened, "#mistakes tbody", "Black G3")
    assert [text.split()[0] for text in opened.inner_text("#mistakes tbody").splitlines()] == ["3"]
    opened.keyboard.press("Home")
    opened.keyboard.press("n")
    see(opened, "#taught", "Move 3, Black G3: blunder")
    see(opened, "#status", "Setup:")


def test_a_move_and_a_comment_after_the_setup_are_saved_with_it(opened: Any, served: Served) -> None:
    served.session.open(RECORD)
    served.session.command("go", {"to": 3})
    see(opened, "#status", "Setup:")
    click(opened, "F6")
    see(opened, "#line", "Line 3 of 3, from move 3: Black F6")
    open_tab(opened, "record")
    opened.fill("#comment", "another way")
    opened.keyboard.press("Tab")
    opened.wait_for_timeout(200)
    saved = opened.evaluate("fetch('/game.sgf').then(answer => answer.text())").replace("\n", "")
    assert (
        ";B[ee];W[cc];AE[cc]AW[gc][cg]C[Now Black to play.]PL[B](;B[gg];W[fd])(;B[dd])(;B[fd]C[another way]))" in saved
    )
