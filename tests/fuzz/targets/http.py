"""Bytes that a program on this machine may send to the page's server: requests after requests on one connection."""

import json
import random
import re
from typing import Any

from engine.apps.web.game_state import COMMANDS
from tests.fuzz.page import page
from tests.fuzz.target import Target

_PATHS = (
    *(
        "/",
        "/page.js",
        "/page.css",
        "/icon.svg",
        "/game.sgf",
        "/events",
        "/nowhere",
        "//",
        "/../server.py",
        "/%2e%2e/x",
    ),
    *("/do/", "/do/dance", "/do/play/", "*", "http://[::1", "http://localhost/", "/\x00", "/" + "a" * 3000, ""),
)
_METHODS = ("GET", "GET", "POST", "POST", "POST", "HEAD", "PUT", "OPTIONS", "get", "", "A" * 3000)
_HOSTS = ("localhost", "localhost", "localhost", "127.0.0.1:80", "[::1]", "[", "evil.example", "", "localhost:x", "é")
_HEADERS = (
    *(
        "Origin: null",
        "Origin: http://localhost",
        "Content-Length: -1",
        "Content-Length: 99999999999999",
        "X: " + "a" * 9000,
    ),
    *(
        "Transfer-Encoding: chunked",
        "Expect: 100-continue",
        "Connection: keep-alive",
        "Connection: close",
        "Range: bytes=0-1",
    ),
    *(
        "no colon",
        ": no name",
        " folded",
        "Content-Length: 0\r\nContent-Length: 5",
        "Content-Length: +2",
        "Content-Length: ٣",
    ),
)
_VALUES: tuple[Any, ...] = (
    *(
        "C3",
        "pass",
        "Z9",
        "b",
        "engine",
        "person",
        "black",
        "japanese",
        "",
        None,
        True,
        False,
        0,
        1,
        -1,
        5,
        25,
        26,
        10**20,
    ),
    *(0.5, 1e308, -1e308, [], {}, [1], "é", "\u0000", "x" * 3000, "\ud800"),
)
_FIELDS = (
    *("move", "to", "analysis", "territory", "black", "white", "seconds", "rank", "size", "width", "height", "komi"),
    *("rules", "handicap", "numbers", "color", "x", "by", "variation", "at", "note", "mark", "PB", "EV"),
)
_HEAD = re.compile(rb"HTTP/1\.[01] (\d{3}) [^\r\n]*\r\n")
_STATUS = {100, 200, 400, 403, 404, 405, 413, 414, 431, 501, 503, 505}


def make(generator: random.Random) -> bytes:
    """Return one to four requests."""
    return b"".join(_request(generator) for _ in range(generator.choice((1, 1, 2, 4))))


def _request(generator: random.Random) -> bytes:
    path, method = generator.choice(_PATHS), generator.choice(_METHODS)
    body = b""
    if generator.random() < 0.6:
        path, method = f"/do/{generator.choice(list(COMMANDS))}", "POST"
        fields = {
            generator.choice(_FIELDS): generator.choice(_VALUES) for _ in range(generator.choice((0, 1, 1, 2, 4)))
        }
        body = json.dumps(fields).encode()
    elif method == "POST":
        body = generator.choice((b"(;SZ[5];B[aa])", b"[" * 100_000, b"NaN", b'{"to":1e999}', b"", b"\xff"))
    headers = [f"Host: {generator.choice(_HOSTS)}", f"Content-Length: {len(body)}"]
    headers += generator.sample(_HEADERS, generator.choice((0, 0, 0, 1, 2)))
    version = generator.choice(("HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/0.9", "HTTP/9.9", "HTTP/x", ""))
    return "\r\n".join([f"{method} {path} {version}".strip(), *headers, "", ""]).encode("utf-8", "replace") + body


def check(data: bytes) -> int:
    """Send the requests; each answer is HTTP, none is a failure of the server, and it serves the next client."""
    at = page()
    answer = at.send(data, until=b"data: ")
    at.check()
    for status in _HEAD.findall(answer):
        assert int(status) in _STATUS, answer[:500]
    for content in re.findall(rb"application/json\r\nContent-Length: (\d+)\r\n(?:[^\r]+\r\n)*\r\n", answer):
        assert int(content) < 1 << 20
    status, _ = at.ask("GET", "/icon.svg")
    assert status == 200
    at.event()
    return 1


_WORDS = (b"\r\n", b"\r\n\r\n", b": ", b"POST /do/new HTTP/1.1\r\n", b"Host: [", b" HTTP/1.1")
TARGET = Target(make, check, "connections", words=_WORDS)
