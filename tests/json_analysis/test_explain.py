"""The action "explain": an answer with facts for each turn, from four searches."""

import math

from tests.json_analysis.talk import Conversation, GatedEvaluator, answers, equipment, query
from tests.search.fakes import FakeEvaluator

MOVES = [["B", "C3"], ["W", "C4"], ["B", "D4"]]


def test_an_answer_explains_the_position_and_the_move_that_led_to_it() -> None:
    [found] = answers(query(action="explain", moves=MOVES))
    assert {key: found[key] for key in ("id", "action", "turnNumber", "isDuringSearch")} == {
        "id": "q",
        "action": "explain",
        "turnNumber": 3,
        "isDuringSearch": False,
    }
    assert (found["move"]["player"], found["move"]["move"], found["move"]["moveNumber"]) == ("B", "D4", 3)
    assert found["position"]["currentPlayer"] == "W"
    assert {"name": "turn", "stones": ["C4"]} not in found["move"]["shapes"]
    assert {shape["name"] for shape in found["move"]["shapes"]} == {"hane"}
    assert {"threat", "sente", "refutation", "groups", "regions"} <= found["move"].keys()
    assert found["position"]["visits"] >= 4


def test_each_turn_has_an_answer_and_the_first_no_move() -> None:
    found = answers(query(action="explain", moves=MOVES, analyzeTurns=[0, 2]))
    by_turn = {each["turnNumber"]: each for each in found}
    assert by_turn.keys() == {0, 2}
    assert "move" not in by_turn[0]
    assert by_turn[2]["move"]["move"] == "C4"


def test_numbers_are_black_s_whatever_the_settings_say() -> None:
    class BlackWins(FakeEvaluator):
        def evaluate(self, positions, count, out):  # type: ignore[no-untyped-def]
            super().evaluate(positions, count, out)
            out.value[:count] = [0.9 if color == 1 else -0.9 for color in positions.to_play[:count]]

    asked = query(
        action="explain", moves=MOVES[:1], overrideSettings={"reportAnalysisWinratesAs": "SIDETOMOVE"}, maxVisits=2
    )
    [found] = answers(asked, equipped=equipment(BlackWins()))
    assert found["position"]["currentPlayer"] == "W"
    assert found["position"]["winrate"] > 0.9
    assert found["move"]["before"]["winrate"] > 0.9


def test_the_costs_agree_with_the_leads() -> None:
    [found] = answers(query(action="explain", moves=MOVES, maxVisits=20))
    move = found["move"]
    lost = max(0.0, move["before"]["scoreLead"] - move["after"]["scoreLead"])
    assert move["better"] is None or math.isclose(move["pointsLost"], lost, abs_tol=1e-3)
    assert move["refutation"]["points"] == move["pointsLost"]


def test_errors_of_queries_are_those_of_an_analysis() -> None:
    [found] = answers({"id": "q", "action": "explain"})
    assert "error" in found
    assert found["field"] == "boardXSize"


def test_a_failed_search_is_reported_once() -> None:
    found = answers(query(action="explain", moves=MOVES), equipped=equipment(FakeEvaluator(fail_at=2), threads=1))
    assert [each for each in found if "error" in each] == [{"error": "made to fail", "id": "q"}]
    assert len(found) == 1


def test_an_explanation_can_be_terminated() -> None:
    evaluator = GatedEvaluator()
    conversation = Conversation(equipment(evaluator, threads=1))
    conversation.send(query(action="explain", moves=MOVES))
    conversation.send({"id": "t", "action": "terminate", "terminateId": "q"})
    assert conversation.receive()["id"] in ("q", "t")
    evaluator.gate.set()
    rest = [each for each in conversation.end() if each["id"] == "q"]
    assert len(rest) <= 1
    assert all(each.get("noResults") for each in rest)
