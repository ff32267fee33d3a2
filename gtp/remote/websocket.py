"""WebSocket connections. The only module that imports `websockets`, whose protocol without I/O does all the parsing."""

import logging
import socket
import threading
from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

from websockets.exceptions import InvalidState
from websockets.frames import DATA_OPCODES, CloseCode, Frame
from websockets.http11 import Request
from websockets.protocol import OPEN
from websockets.server import ServerProtocol

from gtp.remote.access import Access, Refused
from gtp.session import LONGEST_LINE

log = logging.getLogger(__name__)
_CHUNK = 1 << 16
_BEARER = "bearer"


class WebSocketConnection:
    """A client on a WebSocket: a message holds one line or several, an answer is one message.

    Compression is not offered: a small message could unpack to a large one.
    """

    def __init__(self, client: socket.socket, protocol: ServerProtocol) -> None:
        self._socket, self._protocol = client, protocol
        self._lock = threading.Lock()
        self._message = bytearray()

    def read(self, size: int, /) -> bytes:
        """Wait for a message and return it as lines, b"" at the end, or when the client is gone or breaks a rule."""
        lines = b""
        while not lines:
            lines = b"".join(map(self._lines_of, self._protocol.events_received()))
            if not lines and not self._receive():
                return b""
        return lines

    def _receive(self) -> bool:
        """Wait for data from the client and take it; return False if the connection is closed."""
        if self._protocol.state is not OPEN:
            return False
        try:
            data = self._socket.recv(_CHUNK)
        except TimeoutError:
            return self._ping()
        except OSError as error:
            log.info("connection lost: %s", error)
            return False
        with self._lock:
            if data:
                self._protocol.receive_data(data)
            else:
                self._protocol.receive_eof()
            return self._flush()

    def _ping(self) -> bool:
        """Send a ping, so that proxies and lost connections are noticed; return whether that was possible."""
        with self._lock:
            if self._protocol.state is OPEN:
                self._protocol.send_ping(b"")
            return self._flush()

    def _flush(self) -> bool:
        try:
            send(self._socket, self._protocol)
        except OSError as error:
            log.info("connection lost: %s", error)
            return False
        return True

    def _lines_of(self, event: object) -> bytes:
        """Return the message that ends with this event, with a newline, b"" if none does."""
        if not isinstance(event, Frame) or event.opcode not in DATA_OPCODES:
            return b""
        self._message += event.data
        if not event.fin:
            return b""
        text = bytes(self._message)
        self._message.clear()
        return text if text.endswith(b"\n") else text + b"\n"

    def write(self, data: bytes, /) -> int:
        """Send data as one message and return its length. Raises OSError as `Connection.write`."""
        with self._lock:
            try:
                self._protocol.send_text(data)
            except InvalidState as error:
                raise BrokenPipeError(str(error)) from error
            send(self._socket, self._protocol)
        return len(data)

    def flush(self) -> None:
        """Do nothing: all data is sent at once."""

    def is_lost(self) -> bool:
        """Return whether the client is gone: a WebSocket that has ended is closed in both directions."""
        return self._protocol.state is not OPEN

    def close(self) -> None:
        """Tell the client that its session ended. Raises OSError."""
        with self._lock:
            if self._protocol.state is OPEN:
                self._protocol.send_close(CloseCode.NORMAL_CLOSURE)
                send(self._socket, self._protocol)


def upgrade(client: socket.socket, first: bytes, receive: Callable[[], bytes], access: Access) -> WebSocketConnection:
    """Answer the HTTP request for a WebSocket and return the connection.

    first: what was received of it. receive: waits for more. Raises Refused after the answer, and OSError.
    """
    protocol = ServerProtocol(max_size=LONGEST_LINE)
    protocol.receive_data(first)
    while not (events := protocol.events_received()) and protocol.handshake_exc is None:
        protocol.receive_data(receive())
    if events:
        request = events[0]
        assert isinstance(request, Request)
        reason = _reason_to_refuse(request, access)
        response = protocol.accept(request) if reason is None else protocol.reject(*reason)
        protocol.send_response(response)
    send(client, protocol)
    if protocol.state is not OPEN:
        raise Refused("")
    return WebSocketConnection(client, protocol)


def _reason_to_refuse(request: Request, access: Access) -> tuple[HTTPStatus, str] | None:
    """Return status and text for a request that is not admitted.

    A page of another site has its own origin. Without a token, the request must also name this host: a site whose name
    was rebound to this address has the same origin as its host.
    """
    hosts, origins = request.headers.get_all("Host"), request.headers.get_all("Origin")
    if len(hosts) != 1:
        return HTTPStatus.BAD_REQUEST, "the request names no host, or several\n"
    host = hosts[0]
    try:
        name, query = urlsplit(f"//{host}").hostname or "", parse_qs(urlsplit(request.path).query)
    except ValueError:
        return HTTPStatus.BAD_REQUEST, "the request names no valid host or path\n"
    if any(origin not in (f"http://{host}", f"https://{host}") for origin in origins):
        return HTTPStatus.FORBIDDEN, "pages of other sites are not admitted\n"
    if access.token is None:
        return None if access.names.knows(name) else (HTTPStatus.FORBIDDEN, "this host has another name\n")
    given = query.get("token", [""])[0] or _bearer_token(request)
    if not access.admits(given.encode()):
        return HTTPStatus.UNAUTHORIZED, "the right token is needed: ws://HOST:PORT/?token=TOKEN\n"
    return None


def _bearer_token(request: Request) -> str:
    """Return the token of a request's header, "" without one."""
    for scheme, _, token in (each.partition(" ") for each in request.headers.get_all("Authorization")):
        if scheme.lower() == _BEARER:  # in any case: RFC 9110, 11.1
            return token.strip()
    return ""


def send(client: socket.socket, protocol: ServerProtocol) -> None:
    """Send what the protocol has to send. Raises OSError."""
    for data in protocol.data_to_send():
        if data:
            client.sendall(data)
        else:
            client.shutdown(socket.SHUT_WR)
