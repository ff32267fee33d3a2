"""KataGo's JSON analysis protocol, ten lines a case: every line is answered in strict JSON, once for each turn."""

import io
import json
import random
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from engine.vertex import format_vertex, points
from tests.fuzz.target import Target

if TYPE_CHECKING:
    from engine.evaluators.rollout import RolloutEvaluator

LINES = 10
_RULES: tuple[Any, ...] = (
    *("tromp-taylor", "chinese", "japanese", "korean", "aga", "stone-scoring", "new-zealand", "nonsense", "", 7),
    *({"ko": "SIMPLE"}, {"ko": []}, {"scoring": "TERRITORY", "tax": "ALL"}, {"koRule": "POSITIONAL"}, [], None),
)
_ODD: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 0.5, 1e308, -1e308, 10**40, "", "x", [], {}, [[]], [None], {"a": {"b": [1]}}),
    *("é", "\u0000", "\ud800", "a" * 5000, [1] * 500, [["b", "C3"]] * 3),
)
_FIELDS = (
    *("id", "action", "terminateId", "turnNumbers", "boardXSize", "boardYSize", "initialStones", "moves", "komi"),
    *("initialPlayer", "analyzeTurns", "priorities", "rules", "whiteHandicapBonus", "overrideSettings", "priority"),
    *("analysisPVLen", "rootFpuReductionMax", "rootPolicyTemperature", "includeMovesOwnership", "includeOwnership"),
    *("includeOwnershipStdev", "includeMovesOwnershipStdev", "includePolicy", "includePVVisits"),
    *(
        "reportDuringSearchEvery",
        "firstReportDuringSearchAfter",
        "allowMoves",
        "avoidMoves",
        "includeNoResultValue",
        "frame",
        "prove",
    ),
)
_SETTINGS = (
    "wideRootNoise",
    "analysisWideRootNoise",
    "cpuctExploration",
    "reportAnalysisWinratesAs",
    "rootNoiseEnabled",
)
_EXPLAIN = "explain"
_ACTIONS = ("query_version", "query_models", "clear_cache", "terminate", "terminate_all", _EXPLAIN, "dance", "")
_KNOWN = 6
"""The first of them are known."""
_LIMITS = re.compile(rb'"?max(?:Visits|Time|Playouts)"?\s*[:=]\s*"?\s*([^,}"\s]*)', re.IGNORECASE)
_MOST_VISITS = 30
_WORDS = (
    b'{"id":"x",',
    b"[",
    b"]",
    b"{",
    b"}",
    b'"',
    b",",
    b'"pass"',
    b"null",
    b"NaN",
    b"Infinity",
    b"1e999",
    b"\\ud800",
)


def make(generator: random.Random) -> bytes:
    """Return the lines of one session; most have an id of their own."""
    found = [_line(generator, f"q{number}") for number in range(LINES)]
    return b"".join(json.dumps(each).encode() + b"\n" if not isinstance(each, bytes) else each for each in found)


def _line(generator: random.Random, name: str) -> Any:
    kind = generator.random()
    if kind < 0.1:
        action = {"id": name, "action": generator.choice(_ACTIONS)}
        if generator.random() < 0.6:
            action["terminateId"] = f"q{generator.randrange(LINES)}"
        return action
    if kind < 0.14:
        return generator.choice([b"{\n", b"[1]\n", b"\n", b"7\n", b'{"id":1}\n', b"[" * 5000 + b"\n", b"\xff\xfe\n"])
    width, height = generator.choice([(5, 5), (5, 5), (7, 3), (9, 9), (2, 2), (19, 19), (25, 25), (1, 1), (3, 4)])
    names = [format_vertex(each, width, height) for each in points(width, height)]
    count = generator.choice([0, 1, 2, 5, 12, 40])
    played = [["BW"[index % 2], generator.choice([*names, "pass"])] for index in range(count)]
    query: dict[str, Any] = {
        "id": name,
        "boardXSize": width,
        "boardYSize": height,
        "rules": generator.choice(_RULES[:3]),
        "moves": played,
        "maxVisits": generator.choice([1, 2, 4, 20]),
    }
    if generator.random() < 0.2:
        query["action"] = _EXPLAIN
    for field in generator.sample(_FIELDS[4:], generator.choice([0, 1, 2, 5])):
        query[field] = _value(generator, field, names, count)
    if generator.random() < 0.2:
        query[generator.choice([*_FIELDS, "unknown"])] = generator.choice(_ODD)
    return query


def _value(generator: random.Random, field: str, names: list[str], count: int) -> Any:
    """Return a value that a field may have, or nearly."""
    point = generator.choice([*names, "pass", "Z99"])
    if field == "frame" and generator.random() < 0.3:
        return "auto"
    if field.startswith("include") or field in ("frame", "prove"):
        return generator.random() < 0.8
    if field in ("allowMoves", "avoidMoves"):
        return [
            {"player": generator.choice("BW"), "moves": [point], "untilDepth": generator.choice([1, 3, 0, -1, 10**9])}
        ]
    values: dict[str, Any] = {
        "initialStones": [
            ["BW"[index % 2], each] for index, each in enumerate(generator.sample(names, len(names) // 3))
        ],
        "initialPlayer": generator.choice("bwX"),
        "analyzeTurns": [generator.randrange(count + 2) for _ in range(generator.choice([0, 1, 3, count + 1]))],
        "priorities": [generator.randrange(-5, 5)],
        "rules": generator.choice(_RULES),
        "komi": generator.choice([7.5, 0, -400, 400, 401, 0.25, 1e308, "7"]),
        "overrideSettings": {generator.choice(_SETTINGS): generator.choice([0.1, 0, 1, "BLACK", "true", 1e308, -1])},
    }
    return values.get(field, generator.choice([0, 1, 5, 0.1, 1.5, "0", "N-1"]))


def _is_allowed(line: bytes) -> bool:
    """Return whether no long search is asked for."""
    for limit in _LIMITS.findall(line):
        try:
            if float(limit) > _MOST_VISITS:
                return False
        except ValueError:
            continue
    return True


def _parse(line: bytes) -> Any:
    """Return the JSON value of a line as the protocol demands it, None for any other line."""
    try:
        value = json.loads(line.decode("utf-8-sig"), parse_constant=_refuse)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except (ValueError, RecursionError):
        return None
    return value


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _turns(query: dict[str, Any]) -> set[int]:
    """Return the turns that a correct query asks about."""
    return set(query.get("analyzeTurns", [len(query.get("moves", []))]))


def check_answers(data: bytes, written: bytes) -> int:
    """Check that each line is answered as often as it must be; return how many there were. Raises AssertionError."""
    asked: dict[str, list[dict[str, Any]]] = {}
    nameless = 0
    lines = [line for line in data.split(b"\n") if line.strip()]
    for line in lines:
        query = _parse(line)
        if isinstance(query, dict) and isinstance(query.get("id"), str):
            asked.setdefault(query["id"], []).append(query)
        else:
            nameless += 1
    answers: dict[str | None, list[dict[str, Any]]] = {}
    for line in written.split(b"\n")[:-1]:
        answer = json.loads(line, parse_constant=_refuse)
        assert "internal error" not in answer.get("error", ""), answer
        if "warning" not in answer and not answer.get("isDuringSearch"):
            answers.setdefault(answer.get("id"), []).append(answer)
    unnamed = answers.pop(None, [])
    actions = [each["action"] for queries in asked.values() for each in queries if isinstance(each.get("action"), str)]
    nameless += sum(action not in _ACTIONS[:_KNOWN] for action in actions)
    assert len(unnamed) == nameless, f"{nameless} lines without an id or a known action, {len(unnamed)} answers"
    for name, queries in asked.items():
        if len(queries) == 1 and not (isinstance(queries[0].get("action"), str) and name not in answers):
            _check_query(queries[0], answers.get(name, []))
    return len(lines)


def _check_query(query: dict[str, Any], answers: list[dict[str, Any]]) -> None:
    if (isinstance(query.get("action"), str) and query["action"] != _EXPLAIN) or any(
        "error" in answer for answer in answers
    ):
        assert len(answers) == 1, f"{query} was answered {answers}"
    else:
        turns = sorted(answer["turnNumber"] for answer in answers)
        assert turns == sorted(_turns(query)), f"turns {sorted(_turns(query))} were answered for turns {turns}"


@cache
def _evaluator() -> "RolloutEvaluator":
    from engine.evaluators.factory import open_rollouts

    return open_rollouts(1)


def allowed(data: bytes, most: int = 3 * LINES) -> bytes:
    """Return at most `most` lines that ask for no long search: mutations may double all of them, many times."""
    return b"".join(line + b"\n" for line in data.split(b"\n")[:most] if _is_allowed(line))


def check(data: bytes) -> int:
    """Answer the lines of a session in this process."""
    from engine.apps.analysis_server.pool import AnalysisPool
    from engine.search.params import SearchParams
    from gtp.json_analysis.server import AnalysisServer, Equipment
    from gtp.json_analysis.settings import Settings

    data = allowed(data)
    sink = io.BytesIO()
    params = SearchParams(seed=1, max_memory_mib=64, judge_visits=16)
    equipment = Equipment(AnalysisPool(_evaluator(), 2, 64), Settings(params, visits=4))
    AnalysisServer(equipment, sink).run(io.BytesIO(data))
    return check_answers(data, sink.getvalue())


TARGET = Target(
    make,
    check,
    "queries",
    words=[*(f'"{each}":'.encode() for each in _FIELDS), *_WORDS],
)
