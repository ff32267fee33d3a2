"""Pages over HTTP: the page itself, the table's changes as server-sent events, commands as JSON.

By default only programs on this machine reach it, and of those no page of another site: a request must name this host
(against DNS rebinding) and come from no other origin.
"""

import json
import logging
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from engine.errors import GoError
from engine.web.table import Table
from engine.web.view import view

log = logging.getLogger(__name__)

PAGE = Path(__file__).with_name("page")
_FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
_LARGEST_BODY = 1 << 22
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
        self.names = LOOPBACK if host in LOOPBACK else None
        super().__init__((host, port), _Handler)

    @property
    def url(self) -> str:
        """Where a browser on this machine finds the page."""
        host = "localhost" if self._host in LOOPBACK | {"0.0.0.0"} else self._host
        return f"http://{host}:{self.server_address[1]}/"

    def handle_error(self, request: object, client_address: object) -> None:
        """Log what a page that has gone away leaves behind."""
        log.debug("a request ended early", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
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
        """Do a command of the table."""
        path = urlsplit(self.path).path
        if not self._is_welcome():
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _LARGEST_BODY:
            self.close_connection = True
            self._fail(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"expected at most {_LARGEST_BODY} bytes")
            return
        body = self.rfile.read(int(length))
        if not path.startswith("/do/"):
            self._fail(HTTPStatus.NOT_FOUND, f"there is no {path}")
            return
        try:
            fields = json.loads(body or b"{}")
            if not isinstance(fields, dict):
                raise GoError("expected a JSON object")
            self.server.table.command(path.removeprefix("/do/"), fields)
        except ValueError as error:  # of JSON, or a GoError
            self._fail(HTTPStatus.BAD_REQUEST, str(error))
            return
        self._send(b"{}", "application/json")

    def _is_welcome(self) -> bool:
        """Return whether a request is meant for this host and comes from its own pages; answer it if not."""
        host = self.headers.get("Host", "")
        name = urlsplit(f"//{host}").hostname or ""
        origin = self.headers.get("Origin")
        if (self.server.names is not None and name not in self.server.names) or origin not in (None, f"http://{host}"):
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
