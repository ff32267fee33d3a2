"""Serves the page over HTTP: its files, the session's changes as server-sent events, commands as JSON, records as SGF.

By default only programs on this machine can connect. Pages of other sites are always refused: a request must name this
host by its address or its name (against DNS rebinding) and must not have another origin. What the standard library's
server lacks is added here: limits on connections, on the time that a request takes to arrive, and on its size.
"""

import io
import json
import logging
import math
import socket
import sys
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from engine.apps.web.game_session import GameSession
from engine.apps.web.view import view
from engine.errors import GoError
from engine.support.json_text import json_text
from engine.support.serving import LOOPBACK, HostNames, LimitedThreads, format_address, own_address

log = logging.getLogger(__name__)

PAGE = Path(__file__).with_name("page")
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
_FILES = {
    "/": PAGE / "index.html",
    **{f"/{path.name}": path for path in PAGE.iterdir() if path.suffix in _KINDS and path.name != "index.html"},
}
_LARGEST_BODY = 1 << 22
_MOST_LENGTH_DIGITS = 10
_MOST_DISCARDED = 1 << 26
"""Bytes of a refused body that are read all the same, within the time of a request."""
MOST_CONNECTIONS = 64
"""Connections at a time; each has a thread, and each open page keeps one for its events."""
_IDLE_SECONDS = 60.0
"""A connection that neither sends a request nor takes an answer is closed after this time: its computer may sleep."""
REQUEST_SECONDS = 10.0
"""Time from the first byte of a request to its last: a client that sends a byte now and then must not hold a thread."""
_KEEP_ALIVE_SECONDS = 15.0
"""Without events a page gets a comment at this interval, so that both sides notice a lost connection."""
_WATCH_SECONDS = 0.25
"""A page that closed its events is noticed within this time: quick reloads must not use up the connections."""
_ADMISSION_SECONDS = 1.0
"""Time that a new connection waits for another one to end; longer than a closed page is noticed."""
# `default-src` does not cover framing, the base address and forms.
_CONTENT_POLICY = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
_TOO_MANY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class PageServer(LimitedThreads, HTTPServer):
    """Serves one game session to any number of pages."""

    def __init__(self, session: GameSession, host: str, port: int) -> None:
        """port: 0 for any free one. Raises OSError if the port is taken."""
        self.session = session
        self.limit_connections(MOST_CONNECTIONS, _TOO_MANY, _ADMISSION_SECONDS)
        self._event_lock = threading.Lock()
        self._event = (-1, b"")
        self._host = host
        self.names = HostNames(host)
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, port), _Handler)

    @property
    def url(self) -> str:
        """The page's address for a browser on this machine."""
        host = "localhost" if self._host in LOOPBACK or _is_any_address(self._host) else self._host
        return f"http://{format_address(host, self.server_address[1])}/"

    @property
    def url_elsewhere(self) -> str | None:
        """The page's address for the other machines of the network; None where none may open it, or `url` is it."""
        if not _is_any_address(self._host):
            return None
        return f"http://{format_address(own_address(), self.server_address[1])}/"

    def event(self, after: int, seconds: float) -> tuple[int, bytes] | None:
        """Wait for a version of the session other than `after`; return it with its event, None after the timeout.

        All pages get the same bytes: they are encoded once for each version, not once for each page.
        """
        if not self.session.wait_for_change(after, seconds):
            return None
        with self._event_lock:
            # A running clock has moved on since the bytes were made.
            if self._event[0] != self.session.version or self.session.has_running_clock:
                snapshot = self.session.snapshot()
                text = json_text(view(snapshot))
                self._event = (snapshot.version, b"data: " + text.encode() + b"\n\n")
            return self._event

    def handle_error(self, request: object, client_address: object) -> None:
        """Log an error; a lost connection only at debug level."""
        is_gone = isinstance(sys.exception(), ConnectionError | TimeoutError)
        log.log(logging.DEBUG if is_gone else logging.ERROR, "a request ended early", exc_info=True)


class _TimedSocket(io.RawIOBase):
    """Reads from a connection, with a limit on the time from the first byte of a request to its last."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._deadline: float | None = None

    def readable(self) -> bool:
        """Return True."""
        return True

    def expect_request(self) -> None:
        """Reset the deadline: the next request's time counts from its first byte."""
        self._deadline = None

    def readinto(self, buffer: Any) -> int:
        """Read the available bytes. Raises TimeoutError if the request takes too long."""
        rest = _IDLE_SECONDS if self._deadline is None else self._deadline - time.monotonic()
        if rest <= 0:
            raise TimeoutError("the request takes too long")
        self._connection.settimeout(rest)
        try:
            count = self._connection.recv_into(buffer)
        finally:
            self._connection.settimeout(_IDLE_SECONDS)
        if self._deadline is None:
            self._deadline = time.monotonic() + REQUEST_SECONDS
        return count


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _IDLE_SECONDS
    disable_nagle_algorithm = True
    server: PageServer

    def setup(self) -> None:
        """Read requests with a limit on their time."""
        super().setup()
        self._source = _TimedSocket(self.connection)
        self.rfile = io.BufferedReader(self._source)

    def handle_one_request(self) -> None:
        """Wait for a request and answer it."""
        self._source.expect_request()
        super().handle_one_request()

    def do_GET(self) -> None:
        """Answer with a file of the page, the events, or the record."""
        path = self._path()
        if path is None:
            return
        if path in _FILES:
            self._send(_FILES[path].read_bytes(), _KINDS[_FILES[path].suffix])
        elif path == "/events":
            self._send_events()
        elif path == "/game.sgf":
            record, name = self.server.session.record()
            self._send(record.encode("utf-8"), "application/x-go-sgf", f'attachment; filename="{name}"')
        else:
            self._fail(HTTPStatus.NOT_FOUND, f"there is no {path}")

    def do_POST(self) -> None:
        """Execute a command of the session, or open a record."""
        path = self._path()
        if path is None:
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or len(length) > _MOST_LENGTH_DIGITS or int(length) > _LARGEST_BODY:
            self.close_connection = True
            self._fail(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"expected at most {_LARGEST_BODY} bytes")
            self._discard_body()
            return
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            self.close_connection = True  # half a record can be one, too
            return
        try:
            if path == "/game.sgf":
                self.server.session.open(body)
            elif path.startswith("/do/"):
                self.server.session.command(path.removeprefix("/do/"), _read_fields(body))
            else:
                self._fail(HTTPStatus.NOT_FOUND, f"there is no {path}")
                return
        except GoError as error:
            self._fail(HTTPStatus.BAD_REQUEST, str(error))
            return
        self._send(b"{}", "application/json")

    def _discard_body(self) -> None:
        """Read the rest of a refused request: unread bytes would reset the connection, and the answer would be lost."""
        left = _MOST_DISCARDED
        while left > 0 and (chunk := self.rfile.read1(left)):
            left -= len(chunk)

    def _path(self) -> str | None:
        """Return the path of a request, or answer it and return None if it is malformed or meant for another site."""
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        try:
            path, name = urlsplit(self.path).path, urlsplit(f"//{host}").hostname or ""
        except ValueError as error:
            self.close_connection = True
            self._fail(HTTPStatus.BAD_REQUEST, f"the request names no valid host or path: {error}")
            return None
        if not self.server.names.knows(name) or origin not in (None, f"http://{host}"):
            self.close_connection = True
            self._fail(HTTPStatus.FORBIDDEN, "this page belongs to another site")
            return None
        return path

    def _send(
        self, content: bytes, kind: str, disposition: str | None = None, status: HTTPStatus = HTTPStatus.OK
    ) -> None:
        self.send_response(status)
        self._head({"Content-Type": kind, "Content-Length": str(len(content))})
        if disposition is not None:
            self.send_header("Content-Disposition", disposition)
        self.end_headers()
        self.wfile.write(content)

    def _fail(self, status: HTTPStatus, message: str) -> None:
        self._send(json_text({"error": message}).encode(), "application/json", status=status)

    def _head(self, headers: dict[str, str]) -> None:
        safe = {
            "Cache-Control": "no-store",
            "Content-Security-Policy": _CONTENT_POLICY,
            "Referrer-Policy": "no-referrer",
            "X-Frame-Options": "DENY",
            "X-Content-Type-Options": "nosniff",
        }
        for name, value in (headers | safe).items():
            self.send_header(name, value)

    def _send_events(self) -> None:
        """Send every change of the session until the page disconnects or the session is closed."""
        self.close_connection = True
        self.send_response(HTTPStatus.OK)
        self._head({"Content-Type": "text/event-stream", "Connection": "close"})
        self.end_headers()
        session, version = self.server.session, -1
        session.page_connected()
        try:
            last = time.monotonic()
            while not session.is_closed:
                event = self.server.event(version, _WATCH_SECONDS)
                if event is not None:
                    version, data = event
                    self.wfile.write(data)
                elif self._is_hung_up():
                    break
                elif time.monotonic() - last > _KEEP_ALIVE_SECONDS:
                    self.wfile.write(b": still here\n\n")
                else:
                    continue
                last = time.monotonic()
        finally:
            session.page_disconnected()

    def _is_hung_up(self) -> bool:
        """Return whether the page has closed its connection; it sends nothing more after its request."""
        self.connection.setblocking(False)
        try:
            return not self.connection.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        finally:
            self.connection.settimeout(_IDLE_SECONDS)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base class names it so)
        """Log a request at debug level."""
        log.debug(format, *args)


def _is_any_address(host: str) -> bool:
    """Return whether a server at `host` listens on all addresses of the machine, as at 0.0.0.0 and ::."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return not host


def _read_fields(body: bytes) -> dict[str, Any]:
    """Return the fields of a command. Raises GoError."""
    try:
        fields = json.loads(body or b"{}", parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        raise GoError(f"expected a JSON object: {error}") from error
    if not isinstance(fields, dict):
        raise GoError("expected a JSON object")
    return fields


def _finite(text: str) -> float:
    """Parse a JSON number. Raises ValueError for infinity and NaN."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is no finite number")
    return number
