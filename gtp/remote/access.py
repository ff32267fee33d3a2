"""Who is admitted to a server on the network."""

import hmac
from dataclasses import dataclass
from pathlib import Path

from engine.errors import GoError
from engine.support.serving import LOOPBACK, HostNames

_LEAST_TOKEN = 16
"""Characters of a token: `openssl rand -hex 16` has 32."""


class Refused(Exception):
    """A client that gets no session. Its text is sent to the client unless it is empty."""


@dataclass(frozen=True)
class Access:
    """Who is admitted.

    names: what HTTP requests may name as their host if there is no token. token: the secret that clients must send,
    None if they need none.
    """

    names: HostNames
    token: bytes | None = None

    def admits(self, token: bytes) -> bool:
        """Return whether a token is right; in a time that says nothing about where it is wrong."""
        return self.token is None or hmac.compare_digest(token, self.token)


def read_access(host: str, token_file: Path | None) -> Access:
    """Return who is admitted to a server on `host`.

    Raises GoError for a token that is too short, and where others than this machine can connect without one.
    """
    if token_file is None:
        if host not in LOOPBACK:
            raise GoError(f"others can connect to {host}: --token-file names a file with the token that they must send")
        return Access(HostNames(host))
    token = token_file.read_bytes().strip()
    if len(token) < _LEAST_TOKEN or b"\n" in token:
        raise GoError(f"{token_file}: expected a line of {_LEAST_TOKEN} characters or more, got {len(token)} bytes")
    return Access(HostNames(host), token)
