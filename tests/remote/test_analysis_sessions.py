"""The analysis protocol over the network: fair turns, a bounded queue, nothing lost, no search for nobody."""

import io
import json
import socket
import threading
from typing import Any

import pytest

import gtp.remote.connection as connection_module
from engine.apps.analysis_server.pool import AnalysisPool
from engine.game import Game
from gtp.json_analysis.server import Output
from gtp.remote.analysis_sessions import AnalysisSessions
from tests.json_analysis.talk import SETTINGS, Equipment, GatedEvaluator, query
from tests.remote.clients import TcpClient, analysis_sessions, served, web_socket
from tests.search.fakes import FakeEvaluator
from tests.waiting import PATIENCE, wait_until

ENDLESS = 1 << 50


def test_a_query_is_answered_by_tcp_and_by_web_socket_alike() -> None:
    with served(analysis_sessions()) as port, TcpClient(port) as first, web_socket(port) as second:
        first.query(query(id="a"))
        answer = first.answer()
        second.send(json.dumps(query(id="a")))
        assert json.loads(second.recv()) == answer
        assert answer["rootInfo"]["visits"] == 4


def test_a_client_that_searches_without_end_keeps_no_other_waiting() -> None:
    with served(analysis_sessions(threads=2)) as port, TcpClient(port) as greedy:
        for number in range(10):
            greedy.query(query(id=f"endless {number}", maxVisits=ENDLESS, reportDuringSearchEvery=0.01, priority=9))
        assert greedy.answer()["isDuringSearch"]
        others = [TcpClient(port) for _ in range(3)]
        for number, other in enumerate(others):
            for turn in range(3):
                other.query(query(id=f"{number}.{turn}"))
            assert [other.answer()["id"] for _ in range(3)] == [f"{number}.{turn}" for turn in range(3)]
            other.close()


def test_a_client_that_waits_gets_one_thread_and_not_one_for_each_query() -> None:
    with served(analysis_sessions(threads=1)) as port, TcpClient(port) as greedy, TcpClient(port) as other:
        greedy.query(query(id="endless", maxVisits=ENDLESS, reportDuringSearchEvery=0.01))
        assert greedy.answer()["isDuringSearch"]
        before = {thread.name for thread in threading.enumerate() if thread.name.startswith("analysis-")}
        most = 0
        for number in range(30):
            other.query(query(id=str(number), maxVisits=200))
        for _ in range(30):
            other.answer()
            now = {thread.name for thread in threading.enumerate() if thread.name.startswith("analysis-")}
            most = max(most, len(now - before))
        assert 1 <= most <= 2  # one may start while another ends


def test_clients_take_turns_whatever_their_priorities() -> None:
    evaluator = GatedEvaluator()
    with served(analysis_sessions(evaluator, threads=1)) as port, TcpClient(port) as many, TcpClient(port) as one:
        for number in range(8):
            many.query(query(id=f"m{number}", priority=100))
        assert evaluator.entered.wait(20)
        one.query(query(id="o", priority=-1))
        one.query({"id": "v", "action": "query_version"})
        assert one.answer()["id"] == "v"
        evaluator.gate.set()
        assert one.answer()["id"] == "o"
        assert [many.answer()["id"] for _ in range(8)] == [f"m{number}" for number in range(8)]


def test_terminating_all_ends_only_the_queries_of_that_client() -> None:
    with served(analysis_sessions(threads=2)) as port, TcpClient(port) as first, TcpClient(port) as second:
        first.query(query(id="x", maxVisits=ENDLESS, reportDuringSearchEvery=0.01))
        assert first.answer()["isDuringSearch"]
        second.query(query(id="x", maxVisits=ENDLESS))
        second.query({"id": "t", "action": "terminate_all"})
        assert {second.answer()["id"] for _ in range(2)} == {"t", "x"}
        second.query({"id": "u", "action": "terminate", "terminateId": "x"})
        assert second.answer()["id"] == "u"
        assert first.answer()["isDuringSearch"]


def test_a_client_beyond_its_queue_is_read_later_and_loses_nothing() -> None:
    evaluator = GatedEvaluator()
    with served(analysis_sessions(evaluator, threads=1, most_open=3)) as port, TcpClient(port) as client:
        for number in range(20):
            client.query(query(id=str(number)))
        client.query({"id": "v", "action": "query_version"})
        assert evaluator.entered.wait(20)
        client.socket.settimeout(0.3)
        with pytest.raises(TimeoutError):
            client.socket.recv(1)
        client.socket.settimeout(20)
        evaluator.gate.set()
        with client.socket.makefile("rb") as lines:
            found = [json.loads(lines.readline())["id"] for _ in range(21)]
        assert sorted(found) == sorted([*map(str, range(20)), "v"])


def test_a_query_of_more_positions_than_the_queue_holds_is_refused() -> None:
    moves = [["B" if turn % 2 == 0 else "W", "pass"] for turn in range(6)]
    with served(analysis_sessions(most_open=4)) as port, TcpClient(port) as client:
        client.query(query(id="a", moves=moves, analyzeTurns=[0, 1, 2, 3, 4]))
        assert client.answer() == {
            "error": "Must be at most 4 turns on this server",
            "field": "analyzeTurns",
            "id": "a",
        }
        client.query(query(id="b", moves=moves, analyzeTurns=[0, 1, 2, 3]))
        assert {client.answer()["id"] for _ in range(4)} == {"b"}


@pytest.mark.parametrize("reports", [{}, {"reportDuringSearchEvery": 0.01}])
def test_a_web_socket_that_is_closed_ends_its_searches(reports: dict[str, float]) -> None:
    cancelled: list[int] = []

    class Pool(AnalysisPool):
        def cancel(self, chosen: object) -> None:
            super().cancel(chosen)  # type: ignore[arg-type]
            cancelled.append(1)

    pool = Pool(FakeEvaluator(), 1, 16)
    with served(AnalysisSessions(Equipment(pool, SETTINGS), 50)) as port:
        with web_socket(port) as client:
            client.send(json.dumps(query(maxVisits=ENDLESS, **reports)))
            client.send(json.dumps({"id": "v", "action": "query_version"}))
            while json.loads(client.recv())["id"] != "v":
                pass
        wait_until(lambda: cancelled)
        with TcpClient(port) as other:  # with one thread, an extra one would be started for a waiting client
            other.query(query(id="o"))
            assert other.answer()["id"] == "o"


def test_the_end_of_input_on_tcp_lets_the_queries_finish() -> None:
    with served(analysis_sessions()) as port, TcpClient(port) as client:
        for number in range(5):
            client.query(query(id=str(number)))
        client.socket.shutdown(socket.SHUT_WR)
        found = client.rest().splitlines()
        assert sorted(json.loads(line)["id"] for line in found) == ["0", "1", "2", "3", "4"]


def test_a_client_on_tcp_that_is_gone_ends_its_searches() -> None:
    before = threading.active_count()
    with served(analysis_sessions(threads=1)) as port:
        with TcpClient(port) as client:
            client.query(query(maxVisits=ENDLESS, reportDuringSearchEvery=0.01))
            assert client.answer()["isDuringSearch"]
            busy = threading.active_count()
        wait_until(lambda: threading.active_count() < busy)
        with TcpClient(port) as client:
            client.query(query(id="o"))
            assert client.answer()["id"] == "o"
    wait_until(lambda: threading.active_count() <= before)


def test_a_client_that_reads_no_answers_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "SEND_SECONDS", 0.3)
    with served(analysis_sessions(most_open=20)) as port, TcpClient(port) as client:
        client.socket.settimeout(None)
        ended = threading.Event()

        def flood() -> None:
            try:
                while True:
                    client.query(query(includeOwnership=True, includePolicy=True, includeMovesOwnership=True))
            except OSError:
                ended.set()

        thread = threading.Thread(target=flood)
        thread.start()
        assert ended.wait(60)
        thread.join()


def test_a_client_that_leaves_more_bytes_unread_than_it_may_is_given_up() -> None:
    may_write, lost, written = threading.Event(), list[int](), list[bytes]()

    class Slow(io.BytesIO):
        def write(self, data: Any, /) -> int:
            may_write.wait(PATIENCE)
            written.append(bytes(data))
            return len(written[-1])

    output = Output(Slow(), lambda: lost.append(1), lambda: None, most_bytes=1000)
    line = {"id": "x" * 92}
    for _ in range(20):
        assert output.is_closed.is_set() == bool(lost)
        output.send(line)
    may_write.set()
    output.close()
    assert lost == [1]
    assert len(written) <= 1


def test_a_proof_that_takes_long_keeps_no_other_query_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_end, proofs = threading.Event(), threading.Event(), list[int]()

    def proves(game: Game, color: int) -> None:
        proofs.append(game.move_number)
        begun.set()
        assert may_end.wait(PATIENCE)

    monkeypatch.setattr("engine.apps.solve.proof.prove", proves)
    with served(analysis_sessions()) as port, TcpClient(port) as client:
        client.query(query(id="proved", maxVisits=2, prove=True, reportDuringSearchEvery=0.001))
        assert begun.wait(PATIENCE)
        client.query(query(id="plain", maxVisits=2))
        assert client.answer()["id"] == "plain"
        may_end.set()
        answers = [client.answer()]
        while answers[-1]["isDuringSearch"]:
            answers.append(client.answer())
    assert {each["proof"]["text"] for each in answers} == {"no proof"}
    assert proofs == [0]


def test_the_cache_of_all_clients_is_cleared_by_none() -> None:
    cleared: list[int] = []
    equipped = Equipment(AnalysisPool(FakeEvaluator(), 1, 16), SETTINGS, None, lambda: cleared.append(1))
    with served(AnalysisSessions(equipped, 50)) as port, TcpClient(port) as client:
        client.query({"id": "c", "action": "clear_cache"})
        assert client.answer() == {"id": "c", "action": "clear_cache"}
    assert cleared == []


def test_a_stopped_server_ends_every_search_and_its_threads() -> None:
    before = threading.active_count()
    with served(analysis_sessions(threads=2)) as port, TcpClient(port) as client:
        client.query(query(maxVisits=ENDLESS, reportDuringSearchEvery=0.01))
        assert client.answer()["isDuringSearch"]
    wait_until(lambda: threading.active_count() <= before)
