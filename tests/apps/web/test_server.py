"""Pages get the session's changes and give it commands; strangers get nothing; the real engine plays through it all."""

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner

import engine.apps.web.server as server_module
from engine.apps.web.game_session import GameSession
from engine.apps.web.server import PAGE, PageServer
from engine.apps.web.settings import GameSettings, PlayerKind
from engine.apps.web.snapshot import Kind
from engine.apps.web.view import view
from engine.color import BLACK, WHITE
from engine.programs.answers import AnalysisAnswer, Candidate
from engine.records.sgf import load_sgf
from engine.scoring import format_score
from engine.vertex import PASS, parse_vertex
from keima import main
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[3]
SIZE = 5
PEOPLE = {BLACK: PlayerKind.PERSON, WHITE: PlayerKind.PERSON}


@contextmanager
def served(host: str = "127.0.0.1") -> Iterator[tuple[GameSession, int]]:
    """Yield a session of two people and the port of its pages."""
    session = GameSession(GameSettings(SIZE, SIZE, players=PEOPLE))
    server = PageServer(session, host, 0)
    # Asked often whether to stop, because each test waits for it.
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield session, server.server_address[1]
    finally:
        session.close()
        server.shutdown()
        thread.join()
        server.server_close()


def ask(
    port: int, method: str, path: str, body: str | None = None, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    with closing(HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()


def events(port: int) -> Iterator[dict[str, Any]]:
    """Yield what a page hears."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET", "/events")
        answer = connection.getresponse()
        assert answer.getheader("Content-Type") == "text/event-stream"
        while line := answer.readline():
            if line.startswith(b"data: "):
                yield json.loads(line.removeprefix(b"data: "))


def test_the_page_comes_with_all_that_it_names() -> None:
    with served() as (_, port):
        status, headers, page = ask(port, "GET", "/")
        assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
        assert headers["Content-Security-Policy"].startswith("default-src 'self';")
        files = {each.name for each in PAGE.iterdir()} - {"index.html"}
        text = page + b"".join((PAGE / name).read_bytes() for name in files)
        for name in files:
            # A file of texts is named by its language.
            assert (f'"{name[:2]}"' if name.endswith(".json") else f'"/{name}"').encode() in text
            assert ask(port, "GET", f"/{name}")[2] == (PAGE / name).read_bytes()


def test_the_page_has_every_element_that_its_script_asks_for() -> None:
    page = (PAGE / "index.html").read_text(encoding="utf-8")
    script = "".join(each.read_text(encoding="utf-8") for each in PAGE.glob("*.js"))
    asked = {part.split('")')[0] for part in script.split('at("')[1:]}
    assert len(asked) > 15
    assert {name for name in asked if f'id="{name}"' not in page} == set()


def test_the_page_is_at_most_150_kilobytes() -> None:
    assert sum(each.stat().st_size for each in PAGE.iterdir()) < 150_000


def test_a_page_hears_of_every_move() -> None:
    with served() as (_, port):
        heard = events(port)
        assert next(heard)["shown"] == 0
        assert ask(port, "POST", "/do/play", '{"move": "C3"}')[0] == 200
        now = next(heard)
        heard.close()
    assert (now["shown"], now["last"], now["to_play"], now["may_play"]) == (
        1,
        {"color": "black", "at": "C3"},
        "white",
        True,
    )
    ElementTree.fromstring(now["board"])


def test_a_page_that_is_closed_looks_no_more() -> None:
    with served() as (session, port):
        heard = events(port)
        next(heard)
        session.command("switch", {"analysis": True})
        assert session.wanted() is Kind.ANALYSIS
        heard.close()

        def is_given_up() -> bool:
            session.command("switch", {"territory": True})  # only what is written to a page shows that it is closed
            return session.wanted() is None

        wait_until(is_given_up)


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/do/play", '{"move": "Z9"}', "Z9"),
        ("/do/dance", "{}", "expected one of"),
        ("/do/play", "[1]", "expected a JSON object"),
        ("/do/play", "{", "Expecting"),
        ("/do/play", "[" * 200_000, "expected a JSON object"),
        ("/game.sgf", "nothing", "the record"),
        ("/nowhere", "{}", "there is no /nowhere"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_line(path: str, body: str, message: str) -> None:
    with served() as (_, port):
        status, _, content = ask(port, "POST", path, body)
    assert status in (400, 404)
    assert message in json.loads(content)["error"]


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}])
@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("GET", "/events"), ("POST", "/do/resign")])
def test_pages_of_other_sites_get_and_do_nothing(method: str, path: str, headers: dict[str, str]) -> None:
    with served() as (session, port):
        assert ask(port, method, path, "{}" if method == "POST" else None, **headers)[0] == 403
        now = session.snapshot()
    assert now.result is None


def test_a_record_that_is_too_large_is_refused_in_words_and_not_by_a_lost_connection() -> None:
    with served() as (_, port), closing(socket.create_connection(("127.0.0.1", port), timeout=20)) as connection:
        size = 9 << 20
        connection.sendall(b"POST /game.sgf HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % size)
        connection.sendall(b"x" * size)
        assert connection.recv(100).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(("path", "host"), [("/", "["), ("/", "[::1"), ("http://[::1", "localhost")])
def test_a_host_or_path_that_is_no_address_is_a_bad_request(path: str, host: str) -> None:
    with served() as (_, port), closing(socket.create_connection(("127.0.0.1", port), timeout=20)) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 400 ")


def test_no_other_site_may_frame_the_page_or_see_its_address() -> None:
    with served() as (_, port):
        headers = ask(port, "GET", "/")[1]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == "no-referrer"


def test_connections_beyond_the_limit_are_refused_and_leave_room_when_they_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "MOST_CONNECTIONS", 2)
    with served() as (session, port):
        pages = [events(port) for _ in range(2)]
        for page in pages:
            next(page)
        assert ask(port, "GET", "/")[0] == 503
        pages.pop().close()

        def is_admitted() -> bool:
            session.command("switch", {"territory": True})  # only what is written to a page shows that it is closed
            return ask(port, "GET", "/")[0] == 200

        wait_until(is_admitted)


def test_more_quick_reloads_than_connections_are_all_served() -> None:
    with served() as (session, port):
        for _ in range(2 * server_module.MOST_CONNECTIONS):
            with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
                connection.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert connection.recv(20).startswith(b"HTTP/1.1 200")
        assert ask(port, "GET", "/")[0] == 200
        version = session.version
        assert session.wanted() is None
        wait_until(lambda: session.pages == 0)
        assert session.version == version  # no change of the session was needed to notice that the pages are gone


def test_a_request_that_arrives_byte_by_byte_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "REQUEST_SECONDS", 0.2)
    with served() as (_, port), closing(socket.create_connection(("127.0.0.1", port), timeout=20)) as connection:
        sent = 0
        with suppress(ConnectionError):
            for letter in b"GET / HTTP/1.1\r\nX-Slow: " + b"x" * 500:
                connection.sendall(bytes([letter]))
                sent += 1
                time.sleep(0.01)
        with suppress(ConnectionError):
            assert connection.recv(100) == b""
        assert sent < 500


def test_one_change_is_encoded_once_for_all_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = []
    monkeypatch.setattr(server_module, "view", lambda snapshot: encoded.append(snapshot.version) or view(snapshot))
    with served() as (_, port):
        pages = [events(port) for _ in range(5)]
        for page in pages:
            next(page)
        assert len(encoded) == 1
        assert ask(port, "POST", "/do/play", '{"move": "C3"}')[0] == 200
        assert [next(page)["shown"] for page in pages] == [1] * 5
        assert len(encoded) == 2


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity"])
def test_numbers_without_end_are_refused(number: str) -> None:
    with served() as (_, port):
        status, _, content = ask(port, "POST", "/do/new", f'{{"komi": {number}}}')
    assert (status, "finite" in json.loads(content)["error"]) == (400, True)


def test_a_comment_with_a_percentage_of_400_digits_is_a_comment() -> None:
    with served() as (session, port):
        record = f"(;SZ[5];B[aa]C[Black {'9' * 400}.0%])"
        assert ask(port, "POST", "/game.sgf", record)[0] == 200
        assert session.snapshot().estimates == {}
        assert next(events(port))["estimates"] == {}


@pytest.mark.parametrize(
    ("name", "status"), [("192.168.0.7", 200), ("[fe80::1]", 200), ("localhost", 200), ("evil.example", 403)]
)
def test_a_host_on_the_network_is_known_by_address_and_name(name: str, status: int) -> None:
    with served("0.0.0.0") as (_, port):
        host = f"{name}:{port}"
        assert ask(port, "POST", "/do/switch", "{}", Host=host, Origin=f"http://{host}")[0] == status
        assert ask(port, "GET", "/", Host=f"{socket.gethostname()}:{port}")[0] == 200


def test_no_answer_waits_for_an_acknowledgement(monkeypatch: pytest.MonkeyPatch) -> None:
    # With Nagle's algorithm the second packet of an answer waits for a delayed acknowledgement, 40 ms on Linux.
    options: list[tuple[Any, ...]] = []
    original = socket.socket.setsockopt
    monkeypatch.setattr(socket.socket, "setsockopt", lambda self, *what: options.append(what) or original(self, *what))
    with served() as (_, port):
        assert ask(port, "POST", "/do/switch", "{}")[2] == b"{}"
    assert (socket.IPPROTO_TCP, socket.TCP_NODELAY, True) in options


def test_a_record_is_opened_as_it_is_on_disk() -> None:
    with served() as (session, port):
        record = "(;SZ[9]CA[GB2312]PB[柯洁];B[aa])"
        assert ask(port, "POST", "/game.sgf", record.encode("gb2312"))[0] == 200  # type: ignore[arg-type]
        assert session.snapshot().settings.people[BLACK] == "柯洁"


def test_a_body_without_end_is_refused() -> None:
    with served() as (_, port):
        for length in ("99999999999", "9" * 5000):
            assert ask(port, "POST", "/game.sgf", None, **{"Content-Length": length})[0] == 413


def test_the_record_comes_as_a_file() -> None:
    with served() as (session, port):
        session.command("play", {"move": "C3"})
        status, headers, content = ask(port, "GET", "/game.sgf")
    assert status == 200
    assert headers["Content-Disposition"].startswith('attachment; filename="keima-')
    assert load_sgf(content).moves == ((BLACK, parse_vertex("C3", SIZE, SIZE)),)


def test_the_view_shows_candidates_and_territory_only_where_they_are_switched_on() -> None:
    session = GameSession(GameSettings(SIZE, SIZE, players=PEOPLE))
    session.page_connected()
    session.command("play", {"move": "C3"})
    session.command("switch", {"analysis": True})
    task = session.next_task()
    assert task is not None
    corner = parse_vertex("A1", SIZE, SIZE)
    candidates = (Candidate(corner, 12345, 0.25, -2.0, (corner, PASS)), Candidate(PASS, 0, 0.1))
    session.analysis_received(task, AnalysisAnswer(candidates, 0.25, -2.0, np.full(SIZE * SIZE, 1.0, dtype=np.float32)))
    shown = view(session.snapshot())
    assert shown["candidates"] == [{"move": "A1", "winrate": 0.25, "lead": -2.0, "visits": 12345, "pv": ["A1", "pass"]}]
    assert 'opacity="0.4"' not in shown["board"]
    assert shown["estimates"] == {"1": [0.75, 2.0]}
    session.command("switch", {"analysis": False, "territory": True})
    shown = view(session.snapshot())
    assert shown["candidates"] == []
    # White's view was told, and White is to own everything.
    assert shown["board"].count('fill="#ffffff" opacity="0.4"') == SIZE * SIZE


def test_the_view_names_the_moves_that_lost_most() -> None:
    session = GameSession(GameSettings(SIZE, SIZE, players=PEOPLE))
    for move in ("C3", "D3", "B2"):
        session.command("play", {"move": move})
    session.command("switch", {"review": True})
    corner = parse_vertex("A1", SIZE, SIZE)
    # Of the side to move: Black's first move loses a fifth of the games, White's two fifths, the last one nothing much.
    for winrate, lead in ((0.75, 3.0), (0.45, 1.0), (0.95, 9.0), (0.06, -9.5)):
        task = session.next_task()
        assert task is not None
        session.analysis_received(task, AnalysisAnswer((Candidate(corner, 1, winrate, lead),)))
        session.task_finished(task)
    mistakes = view(session.snapshot())["mistakes"]  # type: ignore[arg-type]
    assert [(each["number"], each["color"], each["at"]) for each in mistakes] == [
        (2, "white", "D3"),
        (1, "black", "C3"),
    ]
    assert [each["winrate"] for each in mistakes] == pytest.approx([0.4, 0.2])
    assert [each["points"] for each in mistakes] == pytest.approx([10.0, 4.0])
    assert [each["size"] for each in mistakes] == [3, 3]
    assert [each["better"] for each in mistakes] == [["A1"], ["A1"]]


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_keima_plays_a_game_through_the_page(end: signal.Signals, tmp_path: Path) -> None:
    words = ["--size", "5", "--port", "0", "--no-browser", "--out", str(tmp_path), "--net", "none", "--visits", "20"]
    command = [sys.executable, str(ROOT / "keima.py"), "web", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[0]
            port = int(url.rstrip("/").rpartition(":")[2])
            heard = events(port)
            ask(port, "POST", "/do/play", '{"move": "C3"}')
            answered = next(now for now in heard if now["moves"] == 2)
            assert answered["engine"].startswith("Keima")
            assert 0 <= answered["estimates"]["1"][0] <= 1
            ask(port, "POST", "/do/configure", '{"white": "person"}')
            for _ in range(2):
                ask(port, "POST", "/do/play", '{"move": "pass"}')
            proposed = next(now for now in heard if now["is_proposed"])
            ask(port, "POST", "/do/accept")
            ended = next(now for now in heard if now["result"])
            heard.close()
        finally:
            process.send_signal(end)
            assert process.wait(timeout=30) == 0
    assert ended["result"][:2] in ("B+", "W+")
    assert proposed["score"] == ended["score"] == ended["result"]
    black, white = (proposed["sums"][color]["total"] for color in ("black", "white"))
    assert format_score(black - white) == ended["result"]
    [saved] = tmp_path.iterdir()
    assert load_sgf(saved).result == ended["result"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--visits", "many"], "many"),
        (["--engine", f"{sys.executable} -m fake", "--visits", "3"], "belong in --engine"),
        (["--handicap", "1"], "expected a handicap"),
        (["--size", "1"], "size"),
        (["--out", f"{__file__}/x"], "test_server.py"),
        (["--set", "foo=1"], "foo"),
        (["-override-config", "foo=1"], "foo"),
        (["-override-config", "maxVisits=x"], "maxVisits"),
        (["--human-profile", "rank_5k"], "--human-profile"),
        (["--net", "keima-human9"], "imitates people: choose them with --human-profile"),
        (["--max-memory", "16"], "--max-memory 16 is too small: at least "),
    ],
)
def test_a_command_line_that_cannot_be_is_refused_at_once(words: list[str], message: str) -> None:
    told = CliRunner().invoke(main, ["web", "--no-browser", *words])
    assert told.exit_code != 0
    assert message in told.output
    assert "is the page" not in told.output


def test_a_port_that_is_taken_is_named() -> None:
    with served() as (_, port):
        told = CliRunner().invoke(main, ["web", "--no-browser", "--port", str(port)])
    assert told.exit_code == 1
    assert f"port {port} of 127.0.0.1 cannot be had" in told.output


def test_half_a_record_is_not_opened() -> None:
    with served() as (session, port), socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        text = b"(;SZ[5];B[aa];W[bb];B[cc])"
        head = b"POST /game.sgf HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: %d\r\n\r\n"
        client.sendall(head % (port, len(text)) + text[:20])
        client.shutdown(socket.SHUT_WR)
        assert client.recv(100) == b""
        assert session.snapshot().line == ()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "0.0.0.0", "::"])
def test_a_server_for_the_network_names_an_address_for_other_machines(host: str) -> None:
    session = GameSession(GameSettings(SIZE, SIZE, players=PEOPLE))
    try:
        server = PageServer(session, host, 0)
    except OSError as error:
        pytest.skip(f"{host} cannot be had here: {error}")
    try:
        assert server.url == f"http://localhost:{server.server_address[1]}/"
        elsewhere = server.url_elsewhere
        assert (elsewhere is not None) == (host in {"0.0.0.0", "::"})
        if elsewhere is not None:
            name = urlsplit(elsewhere).hostname or ""
            assert name not in {"localhost", "0.0.0.0", "::"}
            assert server.names.knows(name), "the server answers to the name that it prints"
            assert urlsplit(elsewhere).port == server.server_address[1]
    finally:
        session.close()
        server.server_close()
