"""What is wrong with a line is said in KataGo's words, and ends nothing."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.json_analysis.talk import answers, query, reported

_LINES = Path(__file__).with_name("errors.txt").read_text(encoding="utf-8").splitlines()[1:]
PAIRS = list(zip(_LINES[::2], _LINES[1::2], strict=True))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 40)
    | st.just(2**63)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["B", "C3", "pass"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
FIELDS = ["id", "moves", "rules", "boardXSize", "komi", "initialStones", "initialPlayer", "analyzeTurns", "priorities"]
FIELDS += [
    "maxVisits",
    "whiteHandicapBonus",
    "overrideSettings",
    "avoidMoves",
    "allowMoves",
    "includeOwnership",
    "action",
]
FIELDS += ["reportDuringSearchEvery", "terminateId", "priority", "analysisPVLen", "rootPolicyTemperature", "odd"]


@pytest.mark.parametrize(("line", "answer"), PAIRS)
def test_an_odd_line_has_its_answer(line: str, answer: str) -> None:
    assert (line[:2], answer[:2]) == ("> ", "< ")
    assert reported(line[2:].encode()) == [json.loads(answer[2:])]


@pytest.mark.parametrize(
    "line", ["nonsense", "{", '{"id":"a"', "{'id':1}", "[" * 100_000, '{"id":NaN}', '{"id":"\\ud800"}']
)
def test_what_is_no_json_is_echoed(line: str) -> None:
    (answer,) = reported(line.encode() + b"\r\n\n  \n")
    assert answer.keys() == {"error"}
    assert answer["error"].endswith(f" - could not parse input line as json request: {line}")


def test_bytes_that_are_no_text_are_an_error() -> None:
    (answer,) = reported(b'{"id":"\xff"}\n')
    assert "could not parse input line" in answer["error"]


def test_an_unused_field_and_an_unknown_setting_are_warnings_and_the_query_goes_on() -> None:
    given = query(maxVisit=3, overrideSettings={"foo": 1, "bar": 2, "wideRootNoise": 0.1})
    *warnings, answer = answers(given)
    assert [(each["field"], each["id"]) for each in warnings] == [("overrideSettings", "q"), ("maxVisit", "q")]
    assert warnings[0]["warning"] == "Unknown config params: bar,foo"
    assert warnings[1]["warning"].startswith("Unexpected or unused field, do you have a typo?")
    assert answer["rootInfo"]["visits"] == 4


@settings(max_examples=60, deadline=None)
@given(lines=st.lists(st.binary(max_size=30), max_size=5))
def test_random_bytes_are_answered_line_by_line(lines: list[bytes]) -> None:
    data = b"\n".join(lines)
    asked = [line for line in data.split(b"\n") if line.strip()]
    assert len(reported(data)) == len(asked)


@settings(max_examples=150, deadline=None)
@given(fields=st.dictionaries(st.sampled_from(FIELDS), JSON, min_size=1, max_size=3))
def test_random_fields_never_go_unanswered_and_never_break_the_session(fields: dict[str, object]) -> None:
    after = query(id="after", maxVisits=1)
    lines = [json.dumps(query(maxVisits=2) | fields), json.dumps(after)]
    found = reported("\n".join(lines).encode())
    assert [each["rootInfo"]["visits"] for each in found if each.get("id") == "after" and "rootInfo" in each] == [1]
    assert len(found) > 1 or fields.get("analyzeTurns") == []
    assert not [each for each in found if "internal error" in str(each.get("error"))]
