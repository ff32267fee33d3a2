"""A GTP session within the test's process: bytes in, bytes out."""

import io
import queue

from gtp.commands import HANDLERS
from gtp.protocol import parse_command
from gtp.session import answer, serve
from gtp.state import GtpState, SessionConfig
from tests.gtp.fake_player import FakePlayer

CONFIG = SessionConfig(width=9, height=9)


def new_state(player: FakePlayer | None = None, config: SessionConfig = CONFIG) -> GtpState:
    """Return the state of a new session with a fake player."""
    seated = FakePlayer() if player is None else player
    return GtpState(config, lambda *_: seated, HANDLERS)


def converse(data: bytes, player: FakePlayer | None = None, config: SessionConfig = CONFIG) -> bytes:
    """Return all that a session writes for a whole input."""
    sink = io.BytesIO()
    assert serve(new_state(player, config), io.BytesIO(data), sink) == 0
    return sink.getvalue()


def ask(state: GtpState, line: str) -> str:
    """Return the reply to one command without its frame: "text", or "? text" for a failure."""
    command = parse_command(line)
    assert command is not None
    written: list[str] = []
    answer(state, command, written.append)
    (reply,) = written
    assert reply[0] in "=?"
    assert reply.endswith("\n\n")
    text = reply[2:-2] if not command.id else reply[1 + len(command.id) + 1 : -2]
    return text if reply[0] == "=" else f"? {text}"


class Pipe:
    """A binary stream whose reader waits until the test writes; `close` is the end of input."""

    def __init__(self) -> None:
        self._chunks: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def send(self, data: bytes) -> None:
        """Let the reader have these bytes."""
        self._chunks.put(data)

    def close(self) -> None:
        """End the stream."""
        self._chunks.put(b"")

    def read(self, size: int, /) -> bytes:
        """Return the next bytes sent, b"" at the end."""
        return self._chunks.get()
