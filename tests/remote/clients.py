"""Servers within the test's process, and clients of theirs."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from websockets.sync.client import ClientConnection, connect

from engine.support.serving import HostNames
from gtp.remote.access import Access
from gtp.remote.analysis_sessions import AnalysisSessions
from gtp.remote.gtp_sessions import GtpSessions
from gtp.remote.server import RemoteServer, Sessions, listening
from tests.gtp.fake_player import FakePlayer
from tests.gtp.talk import CONFIG
from tests.json_analysis.talk import GatedEvaluator, equipment
from tests.waiting import PATIENCE

Object = dict[str, Any]
HOST = "127.0.0.1"
SECONDS = PATIENCE


@contextmanager
def served(sessions: Sessions, *, token: bytes | None = None, connections: int = 64) -> Iterator[int]:
    """Yield the port of a server on loopback."""
    server = RemoteServer((HOST, 0), Access(HostNames(HOST), token), sessions, connections)
    with listening(server):
        yield server.server_address[1]


def gtp_sessions(player: FakePlayer | None = None) -> GtpSessions:
    """Return sessions with a fake player for each client, or the same for all."""
    return GtpSessions(CONFIG, lambda *_: player or FakePlayer())


def analysis_sessions(
    evaluator: GatedEvaluator | None = None, *, threads: int = 2, most_open: int = 50
) -> AnalysisSessions:
    """Return sessions of the analysis protocol with a made-up evaluator."""
    return AnalysisSessions(equipment(evaluator, threads), most_open)


class TcpClient:
    """A client on plain TCP."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection((HOST, port), timeout=SECONDS)
        self._file = self.socket.makefile("rb")

    def send(self, text: str) -> None:
        """Send a text."""
        self.socket.sendall(text.encode())

    def query(self, given: Object) -> None:
        """Send a query."""
        self.send(json.dumps(given) + "\n")

    def line(self) -> str:
        """Return the next line without its newline, "" at the end too."""
        return self._file.readline().decode().rstrip("\n")

    def answer(self) -> Object:
        """Return the next answer of the analysis protocol."""
        answer = json.loads(self.line())
        assert isinstance(answer, dict)
        return answer

    def reply(self) -> str:
        """Return the next reply of GTP without its frame and status."""
        lines = []
        while line := self.line():
            lines.append(line)
        return "\n".join(lines)

    def ask(self, command: str) -> str:
        """Send a command of GTP and return the reply with its status."""
        self.send(f"{command}\n")
        return self.reply()

    def rest(self) -> bytes:
        """Return everything until the end; a lost connection is an end."""
        try:
            return self._file.read()
        except ConnectionError:
            return b""

    def close(self) -> None:
        """Disconnect."""
        self._file.close()
        self.socket.close()

    def __enter__(self) -> "TcpClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def web_socket(port: int, path: str = "/", **options: Any) -> ClientConnection:
    """Connect by WebSocket."""
    return connect(f"ws://{HOST}:{port}{path}", open_timeout=SECONDS, proxy=None, **options)
