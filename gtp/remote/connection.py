"""Connections of clients: a TCP or a WebSocket connection that was admitted is a pair of byte streams for a session.

The first bytes decide: HTTP is a request for a WebSocket, anything else the first line of a client on plain TCP.
"""

import logging
import socket
import time
from typing import Protocol

from gtp.remote.access import Access, Refused
from gtp.session import LONGEST_LINE

log = logging.getLogger(__name__)

HANDSHAKE_SECONDS = 10.0
"""Time from the first byte of a handshake to its last, and until a client that needs a token begins one."""
SEND_SECONDS = 30.0
"""Most time in which a client takes an answer; a silent WebSocket gets a ping after it."""
_CHUNK = 1 << 16
_METHODS = (b"GET ", b"HEAD ", b"POST ", b"PUT ", b"DELETE ", b"CONNECT ", b"OPTIONS ", b"TRACE ", b"PATCH ")
_TOKEN = b"token "


class Connection(Protocol):
    """The byte streams of one client."""

    def read(self, size: int, /) -> bytes:
        """Wait for input and return some, b"" at its end, or when the client is gone."""

    def write(self, data: bytes, /) -> int:
        """Send data and return its length. Raises OSError if the client is gone or does not take it in time."""

    def flush(self) -> None:
        """Do nothing: all data is sent at once."""

    def is_lost(self) -> bool:
        """Return whether the client is gone."""

    def close(self) -> None:
        """Tell the client that its session ended. Raises OSError."""


class TcpConnection:
    """A client on plain TCP. first: input that was read already."""

    def __init__(self, client: socket.socket, first: bytes) -> None:
        self._socket, self._first = client, first

    def read(self, size: int, /) -> bytes:
        """Wait for input and return some, b"" at its end, or when the client is gone."""
        data, self._first = self._first or receive(self._socket), b""
        return data

    def write(self, data: bytes, /) -> int:
        """Send data and return its length. Raises OSError if the client is gone or does not take it in time."""
        self._socket.sendall(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing: all data is sent at once."""

    def is_lost(self) -> bool:
        """Return whether the client is gone: the end of its input alone may only mean that it sends no more."""
        return self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0

    def close(self) -> None:
        """Do nothing: a stream signals its end by itself."""


def receive(client: socket.socket) -> bytes:
    """Wait for data and return it, b"" at the end or if the connection is lost."""
    while True:
        try:
            return client.recv(_CHUNK)
        except TimeoutError:  # the timeout is for sending
            continue
        except OSError as error:
            log.info("connection lost: %s", error)
            return b""


def admit(client: socket.socket, access: Access) -> Connection:
    """Return the connection of a client that is admitted.

    Raises Refused, and OSError if the client is gone or its handshake takes too long.
    """
    _configure(client)
    # Without a token a client may be silent: a controller that was connected early.
    client.settimeout(None if access.token is None else HANDSHAKE_SECONDS)
    handshake = _Handshake(client)
    while any(method.startswith(handshake.data) for method in _METHODS):
        handshake.receive()
    if handshake.data.startswith(_METHODS):
        from gtp.remote.websocket import upgrade

        found: Connection = upgrade(client, handshake.data, handshake.receive, access)
    else:
        if access.token is not None:
            _require_token(handshake, access)
        found = TcpConnection(client, handshake.data)
    client.settimeout(SEND_SECONDS)
    return found


def _configure(client: socket.socket) -> None:
    """Send small data at once, and notice a computer that disappeared, within two minutes where the system can."""
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 20), ("TCP_KEEPCNT", 3)):
        option = getattr(socket, name, None)
        if option is not None:
            client.setsockopt(socket.IPPROTO_TCP, option, value)


class _Handshake:
    """Receives the first bytes of a connection, with a limit on the time from the first to the last of them."""

    def __init__(self, client: socket.socket) -> None:
        self._client = client
        self._deadline: float | None = None
        self.data = b""

    def receive(self) -> bytes:
        """Wait for more data, keep it and return it. Raises Refused at the end of input and OSError as `admit`."""
        if self._deadline is not None:
            rest = self._deadline - time.monotonic()
            if rest <= 0:
                raise TimeoutError("the handshake takes too long")
            self._client.settimeout(rest)
        new = self._client.recv(_CHUNK)
        if not new:
            raise Refused("")
        if self._deadline is None:
            self._deadline = time.monotonic() + HANDSHAKE_SECONDS
        self.data += new
        return new


def _require_token(handshake: _Handshake, access: Access) -> None:
    """Take the first line, which must be `token SECRET`. Raises Refused."""
    while b"\n" not in handshake.data and len(handshake.data) <= LONGEST_LINE:
        handshake.receive()
    line, _, handshake.data = handshake.data.partition(b"\n")
    if not line.startswith(_TOKEN) or not access.admits(line.removeprefix(_TOKEN).strip()):
        raise Refused("the first line must be `token` and the right token")
