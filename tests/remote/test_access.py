"""Who gets a session: tokens, origins, host names, limits on connections, on handshakes and on lines."""

import socket
import threading
from contextlib import ExitStack
from pathlib import Path
from socketserver import BaseRequestHandler, TCPServer, ThreadingMixIn

import pytest
from click.testing import CliRunner
from websockets.exceptions import ConnectionClosed, InvalidMessage, InvalidStatus

import gtp.remote.connection as connection_module
from engine.errors import GoError
from engine.support.serving import LimitedThreads, format_address, parse_address
from gtp.remote.access import read_access
from gtp.session import LONGEST_LINE
from keima import main
from tests.remote.clients import HOST, TcpClient, analysis_sessions, gtp_sessions, served, web_socket
from tests.waiting import wait_until

TOKEN = "0123456789abcdef"


def test_a_client_with_the_token_gets_a_session() -> None:
    with served(gtp_sessions(), token=TOKEN.encode()) as port:
        with TcpClient(port) as client:
            client.send(f"token {TOKEN}\n")
            assert client.ask("name") == "= Keima"
        for path, headers in ((f"/?token={TOKEN}", {}), ("/", {"Authorization": f"Bearer {TOKEN}"})):
            with web_socket(port, path, additional_headers=headers) as client:
                client.send("name")
                assert client.recv() == "= Keima\n\n"


@pytest.mark.parametrize("first", ["token 0123456789abcdeF", "token", "name", "genmove b\ngenmove w"])
def test_a_client_without_the_token_gets_an_error_and_no_session(first: str) -> None:
    with served(gtp_sessions(), token=TOKEN.encode()) as port, TcpClient(port) as client:
        client.send(f"{first}\n")
        assert client.rest() in (b"? the first line must be `token` and the right token\n\n", b"")


@pytest.mark.parametrize(
    ("path", "header"),
    [
        *(("/", ""), ("/?token=", ""), ("/?token=0123456789abcdeF", ""), ("/?token=%ff", "")),
        *(("/", f"Basic {TOKEN}"), ("/", f"Bearer{TOKEN}"), ("/", "Bearer"), ("/", TOKEN)),
    ],
)
def test_a_web_socket_without_the_token_is_refused(path: str, header: str) -> None:
    with served(analysis_sessions(), token=TOKEN.encode()) as port:
        with pytest.raises(InvalidStatus) as refused:
            web_socket(port, path, additional_headers={"Authorization": header} if header else {})
        assert refused.value.response.status_code == 401


def test_the_scheme_of_the_token_may_be_in_any_case() -> None:
    with served(gtp_sessions(), token=TOKEN.encode()) as port:
        for scheme in ("bearer", "BEARER"):
            with web_socket(port, "/", additional_headers={"Authorization": f"{scheme}  {TOKEN}"}) as client:
                client.send("name")
                assert client.recv() == "= Keima\n\n"


@pytest.mark.parametrize("token", [None, TOKEN.encode()])
@pytest.mark.parametrize("origin", ["http://evil.example", "null", f"http://{HOST}"])
def test_a_page_of_another_site_is_refused_even_with_the_token(token: bytes | None, origin: str) -> None:
    with served(analysis_sessions(), token=token) as port:
        with pytest.raises(InvalidStatus) as refused:
            web_socket(port, f"/?token={TOKEN}", origin=origin)
        assert refused.value.response.status_code == 403
        with web_socket(port, f"/?token={TOKEN}", origin=f"http://{HOST}:{port}"):
            pass


def request(port: int, *lines: str) -> bytes:
    """Send an HTTP request and return the answer."""
    with TcpClient(port) as client:
        client.send("\r\n".join([*lines, "", ""]))
        return client.rest()


UPGRADE = (
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
)


@pytest.mark.parametrize(
    ("hosts", "status"),
    [
        (["Host: evil.example"], b"403"),
        (["Host: evil.example", "Origin: http://evil.example"], b"403"),
        (["Host: ["], b"400"),
        ([], b"400"),
        (["Host: localhost", "Host: evil.example"], b"400"),
        (["Host: localhost"], b"101"),
    ],
)
def test_without_a_token_a_request_must_name_this_host(hosts: list[str], status: bytes) -> None:
    """A name that was rebound to this address has the origin of its page."""
    with served(analysis_sessions()) as port, TcpClient(port) as client:
        client.send("\r\n".join(["GET / HTTP/1.1", *hosts, *UPGRADE, "", ""]))
        assert client.socket.recv(100).split()[1] == status


@pytest.mark.parametrize("method", ["POST", "PUT", "OPTIONS", "GET"])
def test_a_form_that_a_page_sends_is_no_line_of_the_protocol(method: str) -> None:
    with served(gtp_sessions()) as port:
        answer = request(port, f"{method} / HTTP/1.1", f"Host: {HOST}:{port}", "Content-Length: 5", "", "name")
        assert b"Keima" not in answer.replace(b"Server", b"")


def test_connections_beyond_the_limit_are_refused_and_leave_room_when_they_end() -> None:
    before = threading.active_count()
    with served(gtp_sessions(), connections=4) as port, ExitStack() as stack:
        clients = [stack.enter_context(TcpClient(port)) for _ in range(4)]
        assert [client.ask("name") for client in clients] == ["= Keima"] * 4
        refused = []
        for _ in range(500):
            with TcpClient(port) as client:
                refused.append(client.rest())
        assert set(refused) == {b"? 4 clients are connected, no more can be\n\n"}
        assert threading.active_count() <= before + 4 * 6
        assert clients[0].ask("name") == "= Keima"
        clients[0].send("quit\n")
        assert clients[0].rest() == b"= \n\n"

        def there_is_room() -> bool:
            with TcpClient(port) as client:
                return client.ask("name") == "= Keima"

        wait_until(there_is_room)


def test_clients_without_the_token_take_no_place_of_those_who_have_it() -> None:
    with served(gtp_sessions(), token=TOKEN.encode(), connections=2) as port, ExitStack() as stack:
        silent = [stack.enter_context(TcpClient(port)) for _ in range(100)]
        known = [stack.enter_context(TcpClient(port)) for _ in range(2)]
        for client in known:
            client.send(f"token {TOKEN}\n")
            assert client.ask("name") == "= Keima"
        assert silent[0].rest() == b""
        third = stack.enter_context(TcpClient(port))
        third.send(f"token {TOKEN}\n")
        assert third.rest() == b"? 2 clients are connected, no more can be\n\n"


def test_a_connection_for_which_no_thread_can_be_started_leaves_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    class Server(LimitedThreads, TCPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """Say nothing."""

    answered = threading.Event()

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            self.request.sendall(b"served")
            answered.set()

    server = Server((HOST, 0), Handler)
    server.limit_connections(1, b"full")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    with monkeypatch.context() as broken:
        broken.setattr(ThreadingMixIn, "process_request", fails)
        for _ in range(3):
            with TcpClient(server.server_address[1]) as client:
                assert client.rest() == b""
    with TcpClient(server.server_address[1]) as client:
        assert client.rest() == b"served"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("start", ["", "tok", "GET / HTTP/1.1\r\nHo", "GE"])
def test_a_handshake_that_does_not_go_on_is_given_up(start: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "HANDSHAKE_SECONDS", 0.1)
    with served(gtp_sessions(), token=TOKEN.encode()) as port, TcpClient(port) as client:
        client.send(start)
        assert client.rest() == b""


def test_a_handshake_of_one_byte_now_and_then_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "HANDSHAKE_SECONDS", 0.2)
    ended = threading.Event()
    with served(gtp_sessions()) as port, TcpClient(port) as client:

        def drip() -> None:
            client.send("GET / HTTP/1.1\r\nX: ")
            while not ended.wait(0.02):
                try:
                    client.send("x")
                except OSError:
                    return

        thread = threading.Thread(target=drip)
        thread.start()
        assert client.rest() == b""
        ended.set()
        thread.join()


def test_a_client_that_needs_no_token_may_be_silent_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "HANDSHAKE_SECONDS", 0.05)
    monkeypatch.setattr(connection_module, "SEND_SECONDS", 0.05)
    with served(gtp_sessions()) as port, TcpClient(port) as client, web_socket(port) as other:
        threading.Event().wait(0.3)
        assert client.ask("name") == "= Keima"
        other.send("name")
        assert other.recv() == "= Keima\n\n"


def test_a_line_without_end_ends_the_connection() -> None:
    with served(gtp_sessions()) as port, TcpClient(port) as client:
        assert client.ask("name") == "= Keima"
        client.send("x" * LONGEST_LINE)
        client.send("x")
        assert client.rest() == b""
    with served(analysis_sessions()) as port, web_socket(port) as other:
        other.send("x" * (LONGEST_LINE + 1))
        with pytest.raises(ConnectionClosed) as closed:
            other.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009


def test_lines_up_to_the_limit_are_answered() -> None:
    longest = "echo " + "x" * (LONGEST_LINE - 5)
    with served(gtp_sessions()) as port, TcpClient(port) as client:
        assert len(client.ask(longest)) == LONGEST_LINE - 3
        assert client.ask("name") == "= Keima"


def test_http_that_is_none_ends_the_connection() -> None:
    with served(analysis_sessions()) as port:
        assert request(port, "GET / \x00\x01") in (b"",)
        with pytest.raises((InvalidMessage, InvalidStatus)):
            web_socket(port, "/" + "x" * 10_000)


def test_without_a_token_only_this_machine_can_be_served(tmp_path: Path) -> None:
    token = tmp_path / "token"
    with pytest.raises(GoError, match="--token-file"):
        read_access("0.0.0.0", None)
    token.write_text("short\n")
    with pytest.raises(GoError, match="16 characters"):
        read_access("0.0.0.0", token)
    token.write_text(f"{TOKEN}\n")
    assert read_access("0.0.0.0", token).token == TOKEN.encode()
    assert read_access("::1", None).token is None
    answer = CliRunner().invoke(main, ["analysis", "--listen", "0.0.0.0:9000"])
    assert (answer.exit_code, "--token-file" in answer.output) == (1, True)


@pytest.mark.parametrize(
    "text", ["9000", "localhost", ":9000", "a:b", "127.0.0.1:70000", "me@host:1", "host:1/x", "::1:9"]
)
def test_an_address_is_host_and_port(text: str) -> None:
    assert parse_address("[::1]:9000") == ("::1", 9000)
    assert format_address(*parse_address("[::1]:9000")) == "[::1]:9000"
    assert parse_address("localhost:0") == ("localhost", 0)
    with pytest.raises(GoError, match="HOST:PORT"):
        parse_address(text)


def test_a_taken_port_is_one_line() -> None:
    with socket.create_server((HOST, 0)) as other:
        port = other.getsockname()[1]
        answer = CliRunner().invoke(main, ["gtp", "--net", "none", "--size", "5", "--listen", f"{HOST}:{port}"])
    assert answer.output.endswith(f"Error: {HOST}:{port} is taken\n")
