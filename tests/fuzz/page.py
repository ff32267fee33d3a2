"""The page of `keima web` on loopback, within the process that fuzzes it; no engine plays on it."""

import json
import logging
import socket
import threading
from functools import cache
from typing import Any

from engine.apps.web.game_session import GameSession
from engine.apps.web.server import PageServer
from engine.apps.web.settings import GameSettings, PlayerKind
from engine.color import BLACK, WHITE

SECONDS = 30.0
"""How long an answer may take before the connection counts as stuck; slower than 2 s is a failure anyway."""


class _Failures(logging.Handler):
    """Keeps what the server logs as an error: it does that for exceptions only."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(logging.Formatter().format(record))


class Page:
    """A server with one session of two people."""

    def __init__(self) -> None:
        people = {BLACK: PlayerKind.PERSON, WHITE: PlayerKind.PERSON}
        self.server = PageServer(GameSession(GameSettings(5, 5, players=people)), "127.0.0.1", 0)
        self._failures = _Failures()
        log = logging.getLogger("engine.apps.web.server")
        log.addHandler(self._failures)
        log.propagate = False
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        """The port on loopback."""
        return int(self.server.server_address[1])

    def check(self) -> None:
        """Raise AssertionError if a request has raised an exception within the server since the last call."""
        # The server notices that a page has gone when it writes to it, twice: each page holds one of its connections.
        for _ in range(2):
            self.server.session.command("switch", {})
        found, self._failures.found = self._failures.found, []
        assert not found, found[0]

    def send(self, data: bytes, *, until: bytes = b"") -> bytes:
        """Send bytes, end the sending side, and return the answer, up to `until` if it comes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS) as connection:
            answer = b""
            try:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                while chunk := connection.recv(1 << 16):
                    answer += chunk
                    if until and until in answer:
                        break
            except OSError as error:  # refused before all was sent
                if isinstance(error, TimeoutError):
                    raise
        return answer

    def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, dict[str, Any]]:
        """Return the status of a request and its JSON, or {"text": ...}."""
        request = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        head, _, content = self.send(request.encode() + body).partition(b"\r\n\r\n")
        self.check()
        status = int(head.split(b" ", 2)[1])
        if b"application/json" in head:
            return status, strict(content)
        return status, {"text": content.decode("utf-8")}

    def event(self) -> dict[str, Any]:
        """Return what a page that connects now is shown."""
        answer = self.send(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n", until=b"}\n\n")
        self.check()
        shown = strict(answer.partition(b"data: ")[2].strip())
        assert "board" in shown
        return shown


def strict(text: bytes) -> dict[str, Any]:
    """Parse a JSON object. Raises ValueError for NaN and infinity, too."""

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is no JSON")

    value = json.loads(text, parse_constant=refuse)
    assert isinstance(value, dict)
    return value


@cache
def page() -> Page:
    """Return the page of this process."""
    return Page()
