"""The server of `--listen`: admits clients, and runs a session for each in its own thread."""

import errno
import logging
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socketserver import BaseRequestHandler, TCPServer
from typing import Any, Protocol

from engine.errors import GoError
from engine.support.serving import LimitedThreads, format_address, parse_address
from engine.support.stopping import WAIT_SECONDS, stopping
from gtp.remote.access import Access, Refused, read_access
from gtp.remote.connection import Connection, admit
from gtp.stderr import write_lines

log = logging.getLogger(__name__)
_POLL_SECONDS = 0.1
"""Between two looks of the listening thread at whether it shall end."""
_HANDSHAKES = 32
"""Clients that may be about to send their token, besides those with a session; a further one ends the oldest."""


class Sessions(Protocol):
    """The sessions of one protocol with clients on the network."""

    def serve(self, connection: Connection) -> None:
        """Run the session of a client until its end."""

    def refusal(self, text: str) -> bytes:
        """Return the error line for a client that gets no session."""

    def close(self) -> None:
        """End every session, and free what they share."""


class RemoteServer(LimitedThreads, TCPServer):
    """Listens on an address and serves clients until `close`."""

    allow_reuse_address = os.name == "posix"
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], access: Access, sessions: Sessions, connections: int) -> None:
        """connections: most clients at a time. Raises OSError if the address cannot be used."""
        self._access, self._sessions = access, sessions
        self._clients: set[socket.socket] = set()
        # In the order in which they came.
        self._unknown: dict[socket.socket, None] = {}
        self._lock = threading.Lock()
        self._free = threading.BoundedSemaphore(connections)
        self._full = f"{connections} clients are connected, no more can be"
        # Handshakes that were ended need a moment to go.
        self.limit_connections(connections + 2 * _HANDSHAKES, sessions.refusal(self._full))
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, BaseRequestHandler)

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Serve one client in its thread."""
        with self._lock:
            self._clients.add(request)
        try:
            if self._access.token is None:
                with self._place():
                    self._serve(admit(request, self._access))
            else:
                # Who has no token must not take the place of those who have one.
                with self._handshake(request):
                    connection = admit(request, self._access)
                with self._place():
                    self._serve(connection)
        except Refused as refused:
            if str(refused):
                request.sendall(self._sessions.refusal(str(refused)))
        finally:
            with self._lock:
                self._clients.discard(request)

    def _serve(self, connection: Connection) -> None:
        self._sessions.serve(connection)
        connection.close()

    @contextmanager
    def _place(self) -> Iterator[None]:
        """Take one of the places for sessions. Raises Refused if there is none."""
        if not self._free.acquire(blocking=False):
            raise Refused(self._full)
        try:
            yield
        finally:
            self._free.release()

    @contextmanager
    def _handshake(self, request: socket.socket) -> Iterator[None]:
        """Count a client that has not sent its token yet; where there are too many, end the oldest."""
        with self._lock:
            self._unknown[request] = None
            oldest = next(iter(self._unknown)) if len(self._unknown) > _HANDSHAKES else None
            if oldest is not None:
                del self._unknown[oldest]
                with suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)
        try:
            yield
        finally:
            with self._lock:
                self._unknown.pop(request, None)

    def handle_error(self, request: object, client_address: object) -> None:
        """Log an error; a lost connection only at debug level."""
        is_gone = isinstance(sys.exception(), OSError)
        log.log(logging.DEBUG if is_gone else logging.ERROR, "a connection ended early", exc_info=True)

    def close(self) -> None:
        """Stop listening, end all sessions and disconnect their clients."""
        self.shutdown()
        self.server_close()
        with self._lock:
            clients = list(self._clients)
        for client in clients:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        self._sessions.close()


@contextmanager
def listening(server: RemoteServer) -> Iterator[None]:
    """Serve clients while the block runs."""
    thread = threading.Thread(target=server.serve_forever, args=(_POLL_SECONDS,), name="listen", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.close()
        thread.join()


def serve_clients(
    listen: str, token_file: Path | None, connections: int, open_sessions: Callable[[], Sessions]
) -> None:
    """Serve clients until Ctrl-C or SIGTERM.

    open_sessions: loads the engine, after the options were checked. Raises GoError or OSError if `listen` or the token
    cannot be used.
    """
    host, port = parse_address(listen)
    access = read_access(host, token_file)
    with stopping() as stop:
        sessions = open_sessions()
        try:
            server = RemoteServer((host, port), access, sessions, connections)
        except OSError as error:
            sessions.close()
            taken = "is taken" if error.errno == errno.EADDRINUSE else f"cannot be used: {error.strerror or error}"
            raise GoError(f"{listen} {taken}") from error
        with listening(server):
            address = format_address(host, server.server_address[1])
            write_lines([f"Listening on {address}: TCP and WebSocket, {connections} clients at most"])
            while not stop.wait(WAIT_SECONDS):
                pass
