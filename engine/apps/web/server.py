"""Pages over HTTP: the page itself, the table's changes as server-sent events, commands as JSON, records as files.

By default only programs on this machine reach it, and no page of another site ever: a request must name this host by
its address or its name (against DNS rebinding) and come from no other origin.
"""

import json
import logging
import socket
import sys
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from engine.apps.web.table import Table
from engine.apps.web.view import view
from engine.errors import GoError

log = logging.getLogger(__name__)

PAGE = Path(__file__).with_name("page")
_FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
_LARGEST_BODY = 1 << 22
_DIGITS = 10
"""Of a length that is worth reading as a number."""
_MOST_SECONDS = 60.0
"""That a page may neither send nor take what it is to, before it counts as gone, as on a computer that sleeps."""
_QUIET_SECONDS = 15.0
"""After which a page that heard nothing is told that somebody is still here."""
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class PageServer(ThreadingHTTPServer):
    """Serves one table to any number of pages."""

    daemon_threads = True

    def __init__(self, table: Table, host: str, port: int) -> None:
        """port: 0 for any free one. Raises OSError where the port is taken."""
        self.table = table
        self._host = host
        own = socket.gethostname().lower()
        self._names = LOOPBACK if host in LOOPBACK else LOOPBACK | {host.lower(), own, f"{own}.local"}
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, port), _Handler)

    @property
    def url(self) -> str:
        """Where a browser on this machine finds the page."""
        host = "localhost" if self._host in LOOPBACK | {"0.0.0.0"} else self._host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.server_address[1]}/"

    def knows(self, name: str) -> bool:
        """Return whether a name means this host: its own, or for others than this machine's programs any address."""
        if name in self._names:
            return True
        with suppress(ValueError):
            return self._host not in LOOPBACK and bool(ip_address(name))
        return False

    def handle_error(self, request: object, client_address: object) -> None:
        """Log a fault, and quietly what a page that has gone away leaves behind."""
        is_gone = isinstance(sys.exception(), ConnectionError | TimeoutError)
        log.log(logging.DEBUG if is_gone else logging.ERROR, "a request ended early", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _MOST_SECONDS
    disable_nagle_algorithm = True
    server: PageServer

    def do_GET(self) -> None:
        """Answer with a file of the page, the events, or the record."""
        path = urlsplit(self.path).path
        if not self._is_welcome():
            return
        if path in _FILES:
            name, kind = _FILES[path]
            self._send((PAGE / name).read_bytes(), kind)
        elif path == "/events":
            self._send_events()
        elif path == "/game.sgf":
            record, name = self.server.table.record()
            self._send(record.encode("utf-8"), "application/x-go-sgf", f'attachment; filename="{name}"')
        else:
            self._fail(HTTPStatus.NOT_FOUND, f"there is no {path}")

    def do_POST(self) -> None:
        """Do a command of the table, or open a record."""
        path = urlsplit(self.path).path
        if not self._is_welcome():
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or len(length) > _DIGITS or int(length) > _LARGEST_BODY:
            self.close_connection = True
            self._fail(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"expected at most {_LARGEST_BODY} bytes")
            return
        body = self.rfile.read(int(length))
        try:
            if path == "/game.sgf":
                self.server.table.open(body)
            elif path.startswith("/do/"):
                self.server.table.command(path.removeprefix("/do/"), _read_fields(body))
            else:
                self._fail(HTTPStatus.NOT_FOUND, f"there is no {path}")
                return
        except GoError as error:
            self._fail(HTTPStatus.BAD_REQUEST, str(error))
            return
        self._send(b"{}", "application/json")

    def _is_welcome(self) -> bool:
        """Return whether a request is meant for this host and comes from its own pages; answer it if not."""
        host = self.headers.get("Host", "")
        origin = self.headers.get("Origin")
        if not self.server.knows(_host_name(host)) or origin not in (None, f"http://{host}"):
            self.close_connection = True
            self._fail(HTTPStatus.FORBIDDEN, "this page belongs to another site")
            return False
        return True

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
        self._send(json.dumps({"error": message}).encode(), "application/json", status=status)

    def _head(self, headers: dict[str, str]) -> None:
        safe = {
            "Cache-Control": "no-store",
            "Content-Security-Policy": "default-src 'self'",
            "X-Content-Type-Options": "nosniff",
        }
        for name, value in (headers | safe).items():
            self.send_header(name, value)

    def _send_events(self) -> None:
        """Tell every change of the table until the page goes or the table is closed."""
        self.close_connection = True
        self.send_response(HTTPStatus.OK)
        self._head({"Content-Type": "text/event-stream", "Connection": "close"})
        self.end_headers()
        self.server.table.enter()
        try:
            self._tell_changes(self.server.table)
        finally:
            self.server.table.leave()

    def _tell_changes(self, table: Table) -> None:
        version = -1
        while not table.is_closed:
            facts = table.facts(version, _QUIET_SECONDS)
            if facts is None:
                self.wfile.write(b": still here\n\n")
                continue
            version = facts.version
            self.wfile.write(b"data: " + json.dumps(view(facts)).encode() + b"\n\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base class names it so)
        """Log a request, quietly."""
        log.debug(format, *args)


def _read_fields(body: bytes) -> dict[str, Any]:
    """Return what a command tells. Raises GoError."""
    try:
        fields = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise GoError(f"expected a JSON object: {error}") from error
    if not isinstance(fields, dict):
        raise GoError("expected a JSON object")
    return fields


def _host_name(host: str) -> str:
    """Return the name in a Host header, without its port; "" if there is none."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
