"""Bytes that a program may send to `--listen`: tokens, lines of GTP and JSON, requests for WebSockets, frames."""

import atexit
import json
import random
import socket
import struct
from contextlib import ExitStack
from functools import cache

from gtp.session import LONGEST_LINE
from tests.fuzz.target import Target
from tests.remote.clients import HOST, TcpClient, analysis_sessions, gtp_sessions, served

TOKEN = b"0123456789abcdef"
_SECONDS = 1.0
_LINES = (
    *(b"name", b"genmove b", b"play b C3", b"quit", b"kata-analyze b 1", b"printsgf x", b"echo \xff\xfe", b"", b"\0"),
    *(b'{"id":"v","action":"query_version"}', b'{"id":"t","action":"terminate_all"}', b"{", b"[" * 5000, b'"', b"NaN"),
    json.dumps({"id": "q", "moves": [], "rules": "chinese", "boardXSize": 5, "boardYSize": 5}).encode(),
    json.dumps({"id": "q", "moves": [["B", "pass"]] * 200, "analyzeTurns": list(range(200)), "rules": "aga"}).encode(),
)
_PATHS = (b"/", b"/?token=" + TOKEN, b"/?token=x", b"/?token=%ff%00", b"//[", b"*", b"/" + b"a" * 9000, b"")
_HEADERS = (
    *(b"Host: localhost", b"Host: localhost", b"Host: [", b"Host: evil.example", b"Origin: http://localhost"),
    *(b"Origin: null", b"Origin: http://evil.example", b"Upgrade: websocket", b"Upgrade: h2c", b"Connection: Upgrade"),
    *(b"Sec-WebSocket-Version: 13", b"Sec-WebSocket-Version: x", b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="),
    *(b"Sec-WebSocket-Key: x", b"Sec-WebSocket-Extensions: permessage-deflate", b"Content-Length: 5", b"X: \xff"),
    *(b"Authorization: Bearer " + TOKEN, b"Authorization: Bearer", b"no colon", b" folded", b"A: " + b"b" * 9000),
)
_GOOD = b"\r\n".join([_HEADERS[0], _HEADERS[7], _HEADERS[9], _HEADERS[10], _HEADERS[12]])
_OPCODES = (1, 1, 1, 2, 0, 8, 9, 10, 3, 15)


def make(generator: random.Random) -> bytes:
    """Return the bytes of a connection; the first one says what kind of server it is for."""
    kind = bytes([generator.randrange(4)])
    if generator.random() < 0.5:
        return kind + _tcp(generator)
    return kind + _request(generator) + b"".join(_frame(generator) for _ in range(generator.randrange(6)))


def _tcp(generator: random.Random) -> bytes:
    first = generator.choice((b"token " + TOKEN, b"token " + TOKEN, b"token x", b"token", b""))
    lines = [first, *(generator.choice(_LINES) for _ in range(generator.randrange(8)))]
    if generator.random() < 0.05:
        lines.append(b"x" * (LONGEST_LINE + 1))
    return b"\n".join([*lines, b""])


def _request(generator: random.Random) -> bytes:
    if generator.random() < 0.6:
        return b"GET /?token=" + TOKEN + b" HTTP/1.1\r\n" + _GOOD + b"\r\n\r\n"
    method = generator.choice((b"GET", b"POST", b"OPTIONS", b"GE", b"PRI"))
    headers = [generator.choice(_HEADERS) for _ in range(generator.randrange(9))]
    version = generator.choice((b"HTTP/1.1", b"HTTP/1.0", b"HTTP/9", b""))
    return b"\r\n".join([b" ".join([method, generator.choice(_PATHS), version]), *headers, b"", b""])


def _frame(generator: random.Random) -> bytes:
    """Return a frame, mostly a good one: masked, whole, of a known kind, as long as it says."""
    data = generator.choice(_LINES)
    head = generator.choice((0x80, 0x80, 0x80, 0x00, 0xF0)) | generator.choice(_OPCODES)
    length = generator.choice((len(data), len(data), len(data), len(data) + 1, 1 << 20, 1 << 63))
    is_masked = generator.random() < 0.9
    small = length if length < 126 else 126 if length < 1 << 16 else 127
    extended = b"" if small < 126 else struct.pack("!H" if small == 126 else "!Q", length)
    mask = generator.randbytes(4) if is_masked else b""
    masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(data)) if is_masked else data
    return bytes([head, small | (0x80 if is_masked else 0)]) + extended + mask + masked


@cache
def _ports() -> tuple[int, ...]:
    """Start the servers, GTP and JSON with and without a token, and return their ports."""
    stack = ExitStack()
    atexit.register(stack.close)
    makers = (gtp_sessions, analysis_sessions)
    return tuple(stack.enter_context(served(maker(), token=token)) for maker in makers for token in (None, TOKEN))


def check(data: bytes) -> int:
    """Send the bytes and take what comes; afterwards the server serves a client as before."""
    port = _ports()[data[0] % 4 if data else 0]
    with socket.create_connection((HOST, port), timeout=_SECONDS) as client:
        try:
            client.sendall(data[1:])
            client.shutdown(socket.SHUT_WR)
            while client.recv(1 << 16):
                pass
        except OSError:  # the server may close at once, or wait for more of a handshake
            pass
    is_gtp, needs_token = port in _ports()[:2], port in _ports()[1::2]
    with TcpClient(port) as client:
        client.send((f"token {TOKEN.decode()}\n" if needs_token else "") + ("name\n" if is_gtp else _VERSION))
        assert client.line().startswith("= Keima" if is_gtp else '{"action":"query_version"')
    return 1


_VERSION = '{"id":"v","action":"query_version"}\n'
_WORDS = (b"\n", b"\r\n\r\n", b"token ", b"GET ", b"HTTP/1.1", b"\x81\xfe", b"\x88\x80", b"\x80\x80", b"\x89\xff")
TARGET = Target(make, check, "connections", words=_WORDS, binary=True)
