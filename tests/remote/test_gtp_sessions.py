"""GTP over the network: a game for each client, no files of the server, no search for a client that is gone."""

import threading
from dataclasses import replace

import pytest

import gtp.remote.connection as connection_module
from engine.evaluators.raw import RawNetwork
from engine.players import SearchPlayer
from engine.search.params import SearchParams
from gtp.commands import HANDLERS
from gtp.remote.analysis_sessions import AnalysisSessions
from gtp.remote.gtp_sessions import LOCAL, players_like
from tests.gtp.fake_player import FakePlayer
from tests.gtp.test_networks import FACTS, FixedEvaluator
from tests.json_analysis.talk import equipment
from tests.remote.clients import TcpClient, gtp_sessions, served, web_socket
from tests.search.fakes import FakeEvaluator
from tests.waiting import wait_until


def test_each_client_has_a_game_of_its_own() -> None:
    with served(gtp_sessions()) as port, TcpClient(port) as first, web_socket(port) as second:
        assert first.ask("play b D4") == "= "
        second.send("play b D4\nplay w D4\n")
        assert [second.recv(), second.recv()] == ["= \n\n", "? illegal move\n\n"]
        second.send("boardsize 5")
        assert second.recv() == "= \n\n"
        assert first.ask("play w D4") == "? illegal move"
        assert first.ask("query_boardsize") == "= 9"


def test_a_message_in_fragments_is_one_line_and_an_answer_one_message() -> None:
    with served(gtp_sessions()) as port, web_socket(port) as client:
        client.send(["ec", "", "ho", " a b"])
        assert client.recv() == "= a b\n\n"
        client.send(b"echo c")
        assert client.recv() == "= c\n\n"


def test_quit_closes_the_connection() -> None:
    with served(gtp_sessions()) as port, TcpClient(port) as first, web_socket(port) as second:
        first.send("quit\n")
        assert first.rest() == b"= \n\n"
        second.send("quit")
        assert [*second] == ["= \n\n"]
        assert second.close_code == 1000


@pytest.mark.parametrize("name", sorted(LOCAL))
def test_commands_that_touch_the_server_do_not_exist(name: str) -> None:
    assert name in HANDLERS
    with served(gtp_sessions()) as port, TcpClient(port) as client:
        assert client.ask(f"{name} x") == "? unknown command"
        assert name not in client.ask("list_commands").split("\n")
        assert client.ask(f"known_command {name}") == "= false"


def test_networks_are_named_without_their_folders() -> None:
    player = FakePlayer(network=RawNetwork(FixedEvaluator(), FACTS))
    with served(gtp_sessions(player)) as port, TcpClient(port) as client:
        assert '"name":"small.bin.gz"' in client.ask("kata-get-models")
    equipped = replace(equipment(), network=RawNetwork(FixedEvaluator(), FACTS))
    with served(AnalysisSessions(equipped, 50)) as port, TcpClient(port) as client:
        client.query({"id": "m", "action": "query_models"})
        assert client.answer()["models"][0]["name"] == "small.bin.gz"


def test_a_record_is_returned_and_never_written() -> None:
    with served(gtp_sessions()) as port, TcpClient(port) as client:
        assert client.ask("printsgf game.sgf") == "? syntax error"
        assert client.ask("printsgf").startswith("= (;FF[4]")


@pytest.mark.parametrize("commands", ["genmove b\n", "genmove b\nquit\n", "kata-analyze b\n", "genmove b\ngenmove w\n"])
def test_a_client_that_disconnects_ends_its_search(commands: str) -> None:
    player = FakePlayer(thinking=True)
    with served(gtp_sessions(player)) as port:
        with TcpClient(port) as client:
            client.send(commands)
            wait_until(lambda: player.limits or player.analyzed)
        wait_until(lambda: player.closed)


def test_a_web_socket_that_is_closed_ends_its_search() -> None:
    player = FakePlayer(thinking=True)
    with served(gtp_sessions(player)) as port:
        with web_socket(port) as client:
            client.send("genmove b\nquit\n")
            wait_until(lambda: player.limits)
        wait_until(lambda: player.closed)


def test_a_stopped_server_ends_every_search() -> None:
    player = FakePlayer(thinking=True)
    with served(gtp_sessions(player)) as port, TcpClient(port) as client:
        client.send("genmove b\n")
        wait_until(lambda: player.limits)
    assert player.closed


def test_a_client_that_reads_nothing_is_disconnected_and_its_commands_are_not_collected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection_module, "SEND_SECONDS", 0.3)
    player = FakePlayer()
    with served(gtp_sessions(player)) as port, TcpClient(port) as client:
        client.socket.settimeout(None)

        def flood() -> None:
            try:
                while True:
                    client.send("list_commands\n" * 1000)
            except OSError:
                return

        thread = threading.Thread(target=flood)
        thread.start()
        wait_until(lambda: player.closed)
        client.socket.close()
        thread.join()


def test_players_of_one_evaluator_share_its_memory_and_leave_it_open() -> None:
    class Evaluator(FakeEvaluator):
        closed = False

        def close(self) -> None:
            self.closed = True

    evaluator = Evaluator()
    first = SearchPlayer(evaluator, SearchParams(max_memory_mib=64, seed=1))
    make = players_like(first, 4)
    players = [make(5, 5) for _ in range(4)]
    assert [player.params.max_memory_mib for player in players] == [16] * 4
    players[0].close()
    assert not evaluator.closed
    first.close()
    assert evaluator.closed
