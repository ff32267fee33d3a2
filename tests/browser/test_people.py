"""A game against the ranks of a human network beside the playing one: the command as people start it, and its page."""

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from engine.color import EMPTY
from engine.records.sgf import load_sgf
from tests.browser.conftest import DESKTOP, PHONE
from tests.browser.steps import click, open_tab, see, vertex
from tests.shared import require_shared

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1500)]

ROOT = Path(__file__).resolve().parents[2]
HUMAN = "nets/synth-v15-meta-human.bin.gz"
"""Has the form of a human network, and random weights."""
RANK, WEAKER = "5k", "15k"
POINTS = ("E5", "C3", "G7", "G3", "C7", "E3")
PATIENCE = 600_000
"""Milliseconds for a move of the engine: the first one may have to wait for kernels that are compiled."""


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """Yield the address of `keima web` with a human network."""
    words = ["--human-model", str(require_shared(HUMAN)), "--out", str(tmp_path)]
    words += ["--size", "9", "--port", "0", "--no-browser"]
    command = [sys.executable, str(ROOT / "keima.py"), "web", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[0]
        finally:
            process.terminate()
            assert process.wait(timeout=60) == 0


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_people_of_a_rank_are_chosen_and_play_without_an_error(
    browser: Any, url: str, tmp_path: Path, size: tuple[int, int]
) -> None:
    expect = import_module("playwright.sync_api").expect
    page = browser.new_context(viewport={"width": size[0], "height": size[1]}).new_page()
    page.goto(url)
    open_tab(page, "game")
    expect(page.locator("#new-rank")).to_be_visible(timeout=PATIENCE)  # the engine has started, and has ranks
    page.select_option("#new-rank", RANK)
    see(page, "#new-rank-word", "GNU Go")
    page.select_option("#you", "black")
    page.click("#panel-game .main")
    see(page, "#player-white", f", {RANK}")
    free = list(POINTS)
    for number in range(1, 4):
        page.evaluate("scrollTo(0, 0)")
        click(page, free[0])
        expect(page.locator("#number")).to_have_text(f"{2 * number} / {2 * number}", timeout=PATIENCE)
        assert not page.is_visible("#error"), page.inner_text("#error")
        [saved] = tmp_path.iterdir()
        game = load_sgf(saved).game()
        free = [point for point in POINTS if game.color_at(vertex(point)) == EMPTY]
    assert f", {RANK}]" in saved.read_text(encoding="utf-8")
    open_tab(page, "settings")
    page.select_option("#rank", WEAKER)
    see(page, "#player-white", f", {WEAKER}")
    page.context.close()
