"""A browser, and pages of a small session whose engine's tasks the tests do themselves.

Needs Playwright and its Chromium or the system's; without them the tests are skipped with the reason.
"""

import os
import shutil
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from engine.apps.web.game_session import GameSession
from engine.apps.web.server import PageServer
from engine.apps.web.settings import GameSettings
from engine.book.book import Book
from tests.apps.web.sessions import PEOPLE

DESKTOP, PHONE = (1280, 800), (390, 844)


class Served:
    """A session and its server, which can be stopped and started again on the same port."""

    def __init__(self, book: Book | None = None, **changes: Any) -> None:
        self._changes: dict[str, Any] = {"width": 9, "height": 9, "players": PEOPLE} | changes
        self._book = book
        self.port = 0
        self.start()

    def start(self) -> None:
        """Serve a new session."""
        self.session = GameSession(GameSettings(**self._changes), book=self._book)
        self._server = PageServer(self.session, "127.0.0.1", self.port)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Close the session and all connections."""
        self.session.close()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        """The page's address."""
        return f"http://127.0.0.1:{self.port}/"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Yield Chromium."""
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: pip install playwright")
    installed = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with api.sync_playwright() as playwright:
        try:
            launched = playwright.chromium.launch(executable_path=installed, args=["--no-sandbox"])
        except api.Error as error:
            pytest.skip(f"no Chromium: {str(error).splitlines()[0]}")
        yield launched
        launched.close()


@pytest.fixture
def served() -> Iterator[Served]:
    """Yield a session of two people on 9x9."""
    made = Served()
    yield made
    made.stop()


@pytest.fixture(params=[DESKTOP, PHONE], ids=["desktop", "phone"])
def opened(browser: Any, served: Served, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Yield the page of `served`; an error in its scripts fails the test."""
    width, height = request.param
    context = browser.new_context(viewport={"width": width, "height": height}, has_touch=width < height)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda said: errors.append(said.text) if "Content Security" in said.text else None)
    page.goto(served.url)
    page.wait_for_selector("#picture svg", state="attached")
    yield page
    context.close()
    assert errors == []
