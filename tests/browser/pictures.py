"""Takes the pictures of the page for the documentation: each state, on a desktop and on a phone.

Run by `make pictures`, with Playwright and Chromium. A real engine plays and analyzes, so its numbers differ each time.
"""

import argparse
import io
import os
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from engine.apps.web.engine_worker import EngineWorker
from engine.apps.web.settings import PlayerKind, read_clock
from engine.apps.web.snapshot import Snapshot
from engine.apps.web.view import view
from engine.color import BLACK, WHITE
from engine.records.sgf import load_sgf
from engine.support.command_line import joined
from engine.vertex import format_vertex
from tests.browser.conftest import DESKTOP, PHONE, Served

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "pictures"
GAMES = Path(__file__).with_name("games")
COMMON, RARE = 16, 48
"""Colors of a picture: the frequent ones, for the board's wood, and those that keep the red of a mistake. Together they
make files half as large as 64 frequent ones."""
PATIENCE = 300.0
MIXED = {BLACK: PlayerKind.PERSON, WHITE: PlayerKind.ENGINE}

State = tuple[str, Callable[[Served], None], Callable[[Any], None], dict[str, str]]
"""Name, what happens on the server, what happens on the page, and how the browser is set up."""


class EngineServed(Served):
    """A session and its server, with Keima as the engine."""

    def start(self) -> None:
        """Serve a new session and start the engine."""
        super().start()
        command = joined([sys.executable, str(ROOT / "keima.py"), "gtp"])
        self._worker = EngineWorker(self.session, command)
        self._worker.start()

    def stop(self) -> None:
        """End the server and the engine."""
        super().stop()
        self._worker.close()

    def close(self) -> None:
        """End everything."""
        self.stop()


def until(served: Served, holds: Callable[[Snapshot], bool]) -> None:
    """Wait for a state of the session. Raises TimeoutError."""
    deadline, version = time.monotonic() + PATIENCE, -1
    while not holds(served.session.snapshot()):
        served.session.wait_for_change(version, 1.0)
        version = served.session.version
        if time.monotonic() > deadline:
            raise TimeoutError("the engine is too slow for the pictures")


def play(served: Served) -> None:
    """Play the first moves of a game with clocks, until the engine has answered the last one."""
    moves = load_sgf(GAMES / "middle.sgf").moves[:59]
    people = {"black": "person", "white": "person"}
    served.session.command("new", {"clock": "byoyomi:1200+5x30", **people})
    for move in moves:
        served.session.command("play", {"move": format_vertex(move.vertex, 19, 19)})
    served.session.command("configure", {"white": "engine", "seconds": 1})
    until(served, lambda now: len(now.line) == 60)


def analyze(served: Served) -> None:
    """Show candidates and territory in the middle of a game."""
    served.session.open((GAMES / "middle.sgf").read_bytes())
    served.session.command("edit", {"PB": "Ann", "BR": "4k", "PW": "Ben", "WR": "3k"})
    served.session.command("go", {"to": 44})
    served.session.command("switch", {"analysis": True, "territory": True, "review": False})
    served.session.page_connected()
    until(served, lambda now: now.shown.answer is not None and now.shown.answer.candidates[0].visits > 300)
    served.session.page_disconnected()


def review(served: Served) -> None:
    """Review the game and go to its worst mistake."""
    served.session.command("configure", {"review_seconds": 0.3})
    served.session.command("switch", {"analysis": False, "territory": False, "review": True})
    until(served, lambda now: now.reviewed == len(now.line) + 1)
    worst = next(each for each in view(served.session.snapshot())["mistakes"] if each["number"] < 80)
    served.session.command("go", {"to": worst["number"] - 1})


def record(served: Served) -> None:
    """Add variations, a comment and markup."""
    command = served.session.command
    command("switch", {"review": False})
    for line in (("Q11", "O11", "Q13"), ("Q11", "O11", "N10", "P12"), ("C10", "C12")):
        command("go", {"variation": 0, "to": 40})
        for move in line:
            command("play", {"move": move})
    command("go", {"variation": 0, "to": 40})
    command("edit", {"note": "Black may extend at A, or take the last big point at B.", "EV": "Club night"})
    for point, mark in (("Q11", "letter"), ("C10", "letter"), ("Q4", "TR"), ("D16", "SQ"), ("F3", "CR"), ("J17", "MA")):
        command("mark", {"at": point, "mark": mark})


def finish(served: Served) -> None:
    """Show the count of a finished game, which waits to be accepted."""
    served.session.open((GAMES / "finished.sgf").read_bytes())
    until(served, lambda now: now.is_proposed)


def nothing(served: Served) -> None:
    """Leave the session as it is."""


def tab(name: str) -> Callable[[Any], None]:
    """Return a function that opens a tab."""
    return lambda page: page.click(f"#tab-{name}")


def goes_offline(page: Any) -> None:
    """Cut the page's connection."""
    page.context.set_offline(True)
    page.evaluate("document.dispatchEvent(new Event('connection-lost'))")


STATES: tuple[State, ...] = (
    ("play", play, tab("analysis"), {}),
    ("new-game", nothing, tab("game"), {}),
    ("settings", nothing, tab("settings"), {}),
    ("keys", nothing, lambda page: page.keyboard.press("?"), {}),
    ("offline", nothing, goes_offline, {}),
    ("analysis", analyze, tab("analysis"), {}),
    ("dark", nothing, tab("analysis"), {"color_scheme": "dark"}),
    ("chinese", nothing, tab("analysis"), {"locale": "zh-CN"}),
    ("japanese", nothing, tab("analysis"), {"locale": "ja-JP"}),
    ("korean", nothing, tab("analysis"), {"locale": "ko-KR"}),
    ("review", review, tab("analysis"), {}),
    ("record", record, tab("record"), {}),
    ("end", finish, tab("analysis"), {}),
)


def small(picture: Image.Image) -> Image.Image:
    """Return a picture with few colors."""
    colors: list[int] = []
    for count, method in ((COMMON, Image.Quantize.MEDIANCUT), (RARE, Image.Quantize.MAXCOVERAGE)):
        colors += (picture.quantize(count, method=method).getpalette() or [])[: 3 * count]
    palette = Image.new("P", (1, 1))
    palette.putpalette(colors)
    return picture.quantize(palette=palette, dither=Image.Dither.NONE)


def take(browser: Any, served: Served, state: State, folder: Path) -> None:
    """Take the pictures of one state."""
    name, prepare, act, options = state
    prepare(served)
    for device, (width, height) in (("desktop", DESKTOP), ("phone", PHONE)):
        context = browser.new_context(
            viewport={"width": width, "height": height}, has_touch=device == "phone", **({"locale": "en-US"} | options)
        )
        page = context.new_page()
        page.goto(served.url)
        page.wait_for_selector("#picture svg", state="attached")
        act(page)
        page.evaluate("scrollTo(0, 0)")
        page.wait_for_timeout(500)
        path = folder / f"page-{name}-{device}.png"
        small(Image.open(io.BytesIO(page.screenshot())).convert("RGB")).save(path, optimize=True)
        sys.stderr.write(f"{path.name}: {path.stat().st_size:,} bytes\n")
        context.close()


def main() -> None:
    """Take all pictures, or those of the states that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=FOLDER)
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    installed = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    changes = {"width": 19, "height": 19, "clock": read_clock("byoyomi:1200+5x30")}
    with closing(EngineServed(**changes)) as served, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=installed, args=["--no-sandbox"])
        for state in STATES:
            take(browser, served, state, out)
        browser.close()


if __name__ == "__main__":
    main()
