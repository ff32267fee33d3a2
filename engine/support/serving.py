"""Shared by the servers of the program: the names of this host, and a limit on connections."""

import socket
import threading
from contextlib import suppress
from ipaddress import ip_address
from socketserver import ThreadingMixIn
from typing import Any
from urllib.parse import urlsplit

from engine.errors import GoError

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class HostNames:
    """The names by which clients may address a server that listens on `host`."""

    def __init__(self, host: str) -> None:
        own = socket.gethostname().lower()
        self._host = host
        self._names = LOOPBACK if host in LOOPBACK else LOOPBACK | {host.lower(), own, f"{own}.local"}

    def knows(self, name: str) -> bool:
        """Return whether `name` means this host; unless it listens on loopback only, any IP address does."""
        if name in self._names:
            return True
        with suppress(ValueError):
            return self._host not in LOOPBACK and bool(ip_address(name))
        return False


def parse_address(text: str) -> tuple[str, int]:
    """Return host and port of `HOST:PORT`; an IPv6 address stands in brackets. Raises GoError."""
    with suppress(ValueError):
        parts = urlsplit(f"//{text}")
        if parts.hostname and parts.port is not None and parts.netloc == text and "@" not in text:
            return parts.hostname, parts.port
    raise GoError(f"expected HOST:PORT, such as 127.0.0.1:9000 or [::1]:9000, got {text!r}")


def format_address(host: str, port: int) -> str:
    """Return `HOST:PORT`, an IPv6 address in brackets."""
    return f"{f'[{host}]' if ':' in host else host}:{port}"


def own_address() -> str:
    """Return the address by which other machines of the network reach this one; its name where it has no network."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # Nothing is sent: the system only says from which of its addresses it would send to one of RFC 5737.
        probe.connect(("192.0.2.1", 9))
        return str(probe.getsockname()[0])
    return socket.gethostname()


class LimitedThreads(ThreadingMixIn):
    """A thread for each connection, up to a limit; further connections get `refusal` and are closed.

    Mixed in before a class of `socketserver`; `limit_connections` is called before the first connection.
    """

    daemon_threads = True

    def limit_connections(self, most: int, refusal: bytes, patience: float = 0.0) -> None:
        """Serve at most `most` connections at a time. patience: seconds that a further one waits for an end."""
        self._connections = threading.BoundedSemaphore(most)
        self._refusal = refusal
        self._patience = patience

    def process_request(self, request: Any, client_address: Any) -> None:
        """Start a thread for a connection, or refuse it if there are too many."""
        if self._connections.acquire(timeout=self._patience):
            try:
                super().process_request(request, client_address)
            except Exception:  # no thread could be started
                self._connections.release()
                raise
            return
        with suppress(OSError):
            request.sendall(self._refusal)
        self.shutdown_request(request)  # type: ignore[attr-defined]  # of the class that this is mixed into

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve one connection until it ends."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.release()
