"""A session is asynchronous: priorities, reports on the way, ends ahead of time, the end of input."""

import io
import random
import threading
from dataclasses import replace

import pytest

from engine.apps.analysis_server.pool import AnalysisPool
from engine.apps.analysis_server.task import Task
from engine.search.tree import bytes_per_node
from tests.json_analysis.talk import (
    SECONDS,
    SETTINGS,
    Conversation,
    GatedEvaluator,
    answers,
    equipment,
    query,
    reported,
)
from tests.search.fakes import FakeEvaluator

ENDLESS = 1 << 50


def test_answers_come_by_priority_and_earlier_queries_first_among_equals() -> None:
    evaluator = GatedEvaluator()
    conversation = Conversation(equipment(evaluator, threads=1))
    conversation.send(query(id="first"))
    assert evaluator.entered.wait(SECONDS)
    for name, priority in (("low", -1), ("b", 0), ("high", 5), ("c", 0)):
        conversation.send(query(id=name, priority=priority))
    turns = query(id="t", moves=[["B", "C3"], ["W", "C4"]], analyzeTurns=[0, 1, 2], priorities=[6, 8, 7])
    conversation.send(turns)
    conversation.send({"id": "read", "action": "query_version"})
    assert conversation.receive()["id"] == "read"
    evaluator.gate.set()
    assert [(each["id"], each["turnNumber"]) for each in conversation.end()] == [
        ("first", 0),
        *(("t", turn) for turn in (1, 2, 0)),
        *((name, 0) for name in ("high", "b", "c", "low")),
    ]


def test_a_quick_query_is_answered_before_a_long_one_that_came_first() -> None:
    conversation = Conversation(equipment(threads=2))
    conversation.send(query(id="long", maxVisits=ENDLESS))
    conversation.send(query(id="quick"))
    assert conversation.receive()["id"] == "quick"
    conversation.send({"id": "t", "action": "terminate", "terminateId": "long"})
    assert {each["id"] for each in conversation.end()} == {"t", "long"}


def test_what_is_terminated_reports_what_it_has_or_that_it_has_nothing() -> None:
    conversation = Conversation(equipment(threads=1))
    conversation.send(query(id="long", maxVisits=ENDLESS, reportDuringSearchEvery=0.01))
    assert conversation.receive()["isDuringSearch"] is True
    conversation.send(query(id="waits", moves=[["B", "C3"]], analyzeTurns=[0, 1]))
    conversation.send({"id": "t", "action": "terminate", "terminateId": "waits", "turnNumbers": [1]})
    conversation.send({"id": "u", "action": "terminate_all"})
    rest = [each for each in conversation.end() if not each.get("isDuringSearch")]
    nothing = {"id": "waits", "isDuringSearch": False, "noResults": True}
    assert [each for each in rest if each["id"] == "waits"] == [nothing | {"turnNumber": turn} for turn in (1, 0)]
    (long,) = (each for each in rest if each["id"] == "long")
    assert long["rootInfo"]["visits"] > 1
    assert {"id": "t", "action": "terminate", "terminateId": "waits", "turnNumbers": [1]} in rest
    assert {"id": "u", "action": "terminate_all"} in rest


def test_reports_on_the_way_grow_and_one_final_answer_follows() -> None:
    conversation = Conversation(equipment())
    given = query(maxVisits=ENDLESS, reportDuringSearchEvery=0.02, overrideSettings={"maxTime": 0.3})
    conversation.send(given)
    found = conversation.end()
    assert [each["isDuringSearch"] for each in found] == [True] * (len(found) - 1) + [False]
    visits = [each["rootInfo"]["visits"] for each in found]
    assert len(visits) > 2
    assert visits == sorted(visits)


def test_without_an_interval_there_is_one_first_report() -> None:
    conversation = Conversation(equipment())
    conversation.send(query(maxVisits=ENDLESS, firstReportDuringSearchAfter=0.02, overrideSettings={"maxTime": 0.2}))
    assert [each["isDuringSearch"] for each in conversation.end()] == [True, False]


def test_the_end_of_input_waits_for_what_was_asked() -> None:
    found = answers(*(query(id=str(number)) for number in range(30)))
    assert sorted(int(each["id"]) for each in found) == list(range(30))


def test_a_session_that_quits_at_once_does_not_wait() -> None:
    conversation = Conversation(equipment(threads=1), quits_at_once=True)
    conversation.send(query(id="long", maxVisits=ENDLESS, reportDuringSearchEvery=0.01))
    conversation.send(query(id="waits"))
    assert conversation.receive()["id"] == "long"
    assert all(each["isDuringSearch"] for each in conversation.end())


def test_a_failed_search_is_reported_and_the_next_one_works() -> None:
    equipped = equipment(FakeEvaluator(fail_at=1), threads=1)
    first, second = reported(b"".join(b"%s\n" % _line(name) for name in ("a", "b")), equipped)
    assert first == {"error": "made to fail", "id": "a"}
    assert second["rootInfo"]["visits"] == 4


def _line(name: str) -> bytes:
    return b'{"id":"%s","moves":[],"rules":"chinese","boardXSize":5,"boardYSize":5}' % name.encode()


def test_a_client_that_left_ends_every_search() -> None:
    class Closed(io.RawIOBase):
        def write(self, data: object, /) -> int:
            raise BrokenPipeError

    from gtp.json_analysis.server import AnalysisServer
    from tests.gtp.talk import Pipe

    source = Pipe()
    server = AnalysisServer(equipment(threads=1), Closed())
    thread = threading.Thread(target=server.run, args=(source,), daemon=True)
    thread.start()
    source.send(_line("a").replace(b"}", b',"maxVisits":1000000000,"reportDuringSearchEvery":0.01}') + b"\n")
    source.close()
    thread.join(SECONDS)
    assert not thread.is_alive()


@pytest.mark.parametrize("seed", range(4))
def test_every_query_ends_exactly_once_whatever_is_terminated_meanwhile(seed: int) -> None:
    choose = random.Random(seed)
    conversation = Conversation(equipment(threads=3))
    asked, echoed = [], []
    for number in range(80):
        name = str(choose.randrange(number + 1))
        match choose.randrange(4):
            case 0:
                given = {"id": f"end {number}", "action": "terminate", "terminateId": name}
            case 1:
                given = {"id": f"all {number}", "action": choose.choice(["terminate_all", "clear_cache"])}
            case _:
                visits, size = choose.choice([1, 20, ENDLESS]), choose.choice([4, 5])
                given = query(id=str(number), maxVisits=visits, priority=choose.randrange(3), boardXSize=size)
                asked.append(given["id"])
        if "action" in given:
            echoed.append(given["id"])
        conversation.send(given)
    conversation.send({"id": "last", "action": "terminate_all"})
    found = [each["id"] for each in conversation.end()]
    assert sorted(found) == sorted([*asked, *echoed, "last"])


def test_the_version_and_the_models_are_reported() -> None:
    version, models = answers({"id": "v", "action": "query_version"}, {"id": "m", "action": "query_models"})
    assert version.keys() == {"id", "action", "version", "git_hash"}
    assert models == {"id": "m", "action": "query_models", "models": []}


def test_the_trees_of_all_searches_stay_within_the_bound() -> None:
    pool = AnalysisPool(FakeEvaluator(), 4, 100)
    try:
        task = _task(visits=None)
        assert pool.memory_of(task) == 25
        assert pool.memory_of(replace(task, visits=ENDLESS)) == 25
        node = bytes_per_node(25, rave=False, ownership=True)
        assert 10 * node <= pool.memory_of(replace(task, visits=10)) * 2**20 <= 2 * 2**20
    finally:
        pool.close()


def _task(visits: int | None) -> Task:
    from engine.game import Game

    game = Game(5)
    return Task(game, game.to_play, game.to_play, SETTINGS.params, lambda task, report: None, visits=visits)


def test_a_search_that_fills_its_memory_goes_on() -> None:
    reports = []
    pool = AnalysisPool(FakeEvaluator(), 1, 1)
    task = replace(_task(visits=6000), on_report=lambda task, report: reports.append(report))
    pool.submit([task])
    pool.close()
    (report,) = reports
    assert report.analysis.root.visits == 6000
