"""Answers have KataGo's fields, in the view that was asked for."""

import json
from dataclasses import replace
from typing import Any

import pytest

from engine.apps.analysis_server.answer import hashes_of, rounded, to_line
from engine.color import BLACK, WHITE
from engine.game import Game
from engine.rules import CHINESE
from engine.vertex import parse_vertex
from tests.json_analysis.talk import SETTINGS, Conversation, Object, answers, equipment, query

MOVE = {"move", "visits", "edgeVisits", "weight", "edgeWeight", "utility", "winrate", "prior", "lcb", "utilityLcb"}
MOVE |= {"order", "playSelectionValue", "pv", "scoreMean", "scoreLead", "scoreSelfplay", "scoreStdev"}
ROOT = {"currentPlayer", "visits", "weight", "utility", "winrate", "thisHash", "symHash", "scoreLead", "scoreSelfplay"}
ROOT |= {"scoreStdev", "rawWinrate", "rawLead", "rawScoreSelfplay", "rawScoreSelfplayStdev", "rawNoResultProb"}
ROOT |= {"rawStWrError", "rawStScoreError", "rawVarTimeLeft"}
MOVES = [["B", "C3"], ["W", "C4"], ["B", "D3"]]


def one(**fields: Any) -> Object:
    """Return the only answer to a query."""
    (answer,) = answers(query(**fields))
    return answer


def test_a_plain_answer_has_these_fields() -> None:
    answer = one(moves=MOVES, maxVisits=10)
    assert answer.keys() == {"id", "turnNumber", "isDuringSearch", "moveInfos", "rootInfo"}
    assert (answer["id"], answer["turnNumber"], answer["isDuringSearch"]) == ("q", 3, False)
    assert answer["rootInfo"].keys() == ROOT
    assert (answer["rootInfo"]["visits"], answer["rootInfo"]["currentPlayer"]) == (10, "W")
    assert all(each.keys() == MOVE for each in answer["moveInfos"])
    assert [each["order"] for each in answer["moveInfos"]] == list(range(len(answer["moveInfos"])))
    assert all(each["pv"][0] == each["move"] for each in answer["moveInfos"])
    assert all(each["scoreMean"] == each["scoreLead"] for each in answer["moveInfos"])


@pytest.mark.parametrize(
    ("flag", "field", "length"),
    [
        ("includeOwnership", "ownership", 25),
        ("includeOwnershipStdev", "ownershipStdev", 25),
        ("includePolicy", "policy", 26),
    ],
)
def test_a_flag_adds_a_field(flag: str, field: str, length: int) -> None:
    assert field not in one(**{flag: False})
    assert len(one(**{flag: True})[field]) == length


@pytest.mark.parametrize(
    ("flag", "fields"),
    [
        ("includeMovesOwnership", {"ownership"}),
        ("includeMovesOwnershipStdev", {"ownershipStdev"}),
        ("includePVVisits", {"pvVisits", "pvEdgeVisits"}),
        ("includeNoResultValue", {"noResultValue"}),
    ],
)
def test_a_flag_adds_fields_to_each_move(flag: str, fields: set[str]) -> None:
    infos = one(moves=MOVES, **{flag: True})["moveInfos"]
    assert infos
    assert all(each.keys() == MOVE | fields for each in infos)


def test_the_visits_of_a_variation_go_with_its_moves() -> None:
    infos = one(moves=MOVES, maxVisits=20, includePVVisits=True)["moveInfos"]
    assert all(len(each["pvVisits"]) == len(each["pv"]) == len(each["pvEdgeVisits"]) for each in infos)
    assert all(each["pvVisits"][0] == each["visits"] for each in infos)


def test_the_policy_of_an_illegal_move_is_minus_one_and_the_others_sum_to_one() -> None:
    policy = one(moves=MOVES, includePolicy=True)["policy"]
    illegal = [index for index, each in enumerate(policy) if each == -1]
    assert illegal == [1 * 5 + 2, 2 * 5 + 2, 2 * 5 + 3]
    assert sum(each for each in policy if each >= 0) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("moves", [MOVES, [["B", "C3"], ["W", "pass"]]])
def test_winrates_are_blacks_by_default(moves: list[list[str]]) -> None:
    by_view = {
        view: one(moves=moves, maxVisits=12, overrideSettings={"reportAnalysisWinratesAs": view})
        for view in ("BLACK", "WHITE", "SIDETOMOVE")
    }
    black, white = by_view["BLACK"], by_view["WHITE"]
    assert one(moves=moves, maxVisits=12) == black
    assert by_view["SIDETOMOVE"] == (white if len(moves) % 2 else black)
    pairs = [(black["rootInfo"], white["rootInfo"]), *zip(black["moveInfos"], white["moveInfos"], strict=True)]
    for one_side, other in pairs:
        assert one_side["winrate"] + other["winrate"] == pytest.approx(1.0)
        assert one_side["scoreLead"] == pytest.approx(-other["scoreLead"])
        assert one_side["utility"] == pytest.approx(-other["utility"])
    for one_side, other in zip(black["moveInfos"], white["moveInfos"], strict=True):
        assert one_side["lcb"] + other["lcb"] == pytest.approx(1.0)
        assert one_side["utilityLcb"] == pytest.approx(-other["utilityLcb"])
    assert black["rootInfo"]["rawWinrate"] + white["rootInfo"]["rawWinrate"] == pytest.approx(1.0)
    assert black["rootInfo"]["rawLead"] == -white["rootInfo"]["rawLead"] != 0


def test_every_turn_asked_for_is_answered_once() -> None:
    found = answers(query(moves=MOVES, analyzeTurns=[3, 0, 1, 1]))
    assert sorted(each["turnNumber"] for each in found) == [0, 1, 3]
    assert {each["turnNumber"]: each["rootInfo"]["currentPlayer"] for each in found} == {0: "B", 1: "W", 3: "W"}


@pytest.mark.parametrize(
    ("fields", "player"),
    [
        ({}, "B"),
        ({"initialPlayer": "w"}, "W"),
        ({"moves": [["W", "A1"]], "analyzeTurns": [0]}, "W"),
        ({"initialStones": [["B", "C3"]]}, "B"),
        ({"initialStones": [["B", "C3"], ["B", "D4"]]}, "W"),
        ({"initialStones": [["B", "C3"], ["B", "D4"], ["W", "A1"]]}, "B"),
        ({"moves": [["B", "C3"], ["B", "D4"]]}, "W"),
    ],
)
def test_whose_turn_it_is(fields: Object, player: str) -> None:
    assert one(**fields)["rootInfo"]["currentPlayer"] == player


def test_a_move_can_be_named_by_its_coordinates_from_the_top_left_corner() -> None:
    by_name = one(moves=[["black", "b4"], ["W", "Pass"]])
    by_place = one(moves=[["B", "(1,1)"], ["w", "pass"]])
    assert by_name == by_place


@pytest.mark.parametrize(
    "rules",
    ["new zealand", "stone_scoring", "Chinese", {"ko": "SIMPLE", "komi": 5.5}, '{"ko": "SIMPLE", "komi": 5.5}'],
)
def test_rules_are_read_as_controllers_write_them(rules: object) -> None:
    assert one(rules=rules)["rootInfo"]["visits"] == 4


@pytest.mark.parametrize(("rules", "komi"), [("chinese", 7.5), ("japanese", 6.5), ("nz", 7.0), ('{"komi": 3}', 3.0)])
def test_missing_komi_follows_from_the_rules(rules: str, komi: float) -> None:
    given = query(rules=rules)
    del given["komi"]
    assert answers(given) == answers(given | {"komi": komi})


def test_moves_to_avoid_are_not_reported() -> None:
    avoided = [{"player": "B", "moves": ["C3", "pass"], "untilDepth": 1}]
    allowed = [{"player": "B", "moves": ["A1", "B2"], "untilDepth": 1}]
    reported = {each["move"] for each in one(maxVisits=40, avoidMoves=avoided)["moveInfos"]}
    assert reported
    assert not reported & {"C3", "pass"}
    assert {each["move"] for each in one(maxVisits=40, allowMoves=allowed)["moveInfos"]} == {"A1", "B2"}


def test_a_query_overrides_settings_and_its_own_fields_count_more() -> None:
    changes = {"maxVisits": 70, "analysisPVLen": 1}
    answer = one(moves=MOVES, overrideSettings=changes)
    assert answer["rootInfo"]["visits"] == 70
    assert max(len(each["pv"]) for each in answer["moveInfos"]) == 2  # KataGo does not count the first move
    assert one(moves=MOVES, maxVisits=90, overrideSettings=changes)["rootInfo"]["visits"] == 90


def test_what_a_query_finds_is_remembered_where_its_settings_say_so() -> None:
    equipped = equipment(threads=1)
    equipped = replace(equipped, clear_cache=equipped.pool.memory.clear)
    remembering = {"useEvalCache": True, "evalCacheMinVisits": 10}
    talk = Conversation(equipped)

    def moves(visits: int, settings: Object) -> list[tuple[str, int]]:
        talk.send(query(moves=MOVES, maxVisits=visits, overrideSettings=settings))
        return [(each["move"], each["visits"]) for each in talk.receive()["moveInfos"]]

    plain = moves(40, {})
    assert moves(40, remembering) == plain
    moves(400, remembering)
    assert moves(40, {}) == plain
    assert moves(40, remembering) != plain
    talk.send({"id": "c", "action": "clear_cache"})
    talk.receive()
    assert moves(40, remembering) == plain
    talk.end()


def test_a_time_limit_ends_a_search() -> None:
    answer = one(maxVisits=10**12, overrideSettings={"maxTime": 0.05})
    assert 1 < answer["rootInfo"]["visits"] < 10**6
    assert one(maxVisits=10**12, overrideSettings={"maxTime": 1e-9})["moveInfos"], "there is a move at least"


def test_a_finished_game_is_analyzed_all_the_same() -> None:
    assert one(moves=[["B", "C3"], ["W", "pass"], ["B", "pass"]], maxVisits=6)["moveInfos"]


def test_hashes_distinguish_positions_and_the_second_not_their_symmetries() -> None:
    def hashes(name: str, color: int = WHITE) -> tuple[str, str]:
        game = Game(5)
        game.play(BLACK, parse_vertex(name, 5, 5))
        return hashes_of(game, color)

    corners = [hashes(name) for name in ("A2", "B1", "D1", "E2", "E4", "D5", "B5", "A4")]
    assert len({this for this, _ in corners}) == 8
    assert len({symmetric for _, symmetric in corners}) == 1
    assert hashes("A2", BLACK)[1] != corners[0][1] != hashes("A3")[1]
    assert all(len(each) == 32 and int(each, 16) >= 0 and each.upper() == each for each in hashes("A2"))


KO = "C4 D4 D5 E5 D3 E3 B2 F4 E4"
HASHES = [
    (19, 19, "", "47E1EBDAE69A5DED3FF8DB1FA4E91845", "47E1EBDAE69A5DED3FF8DB1FA4E91845"),
    (9, 9, "D4 C6 G7", "FC852ACA35BD0B637992B329230B5176", "13B765FDCB220A7CEBB359D702DF3642"),
    (13, 7, "D4 K6", "9081A476A8B37CFB5E4F8A26885A119E", "2C8FA295DCAA7E3B9248FDCCA03A0957"),
    (7, 7, KO, "70A4D2ADDC01570FDF700D4DE4681C8B", "70A4D2ADDC01570FDF700D4DE4681C8B"),
]
"""Positions with what KataGo 1.17.2 answers: width, height, moves, thisHash, symHash."""


@pytest.mark.parametrize(("width", "height", "moves", "this", "symmetric"), HASHES)
def test_hashes_are_those_of_katago(width: int, height: int, moves: str, this: str, symmetric: str) -> None:
    game = Game(width, height, rules=CHINESE)
    for name in moves.split():
        game.play(game.to_play, parse_vertex(name, width, height))
    assert hashes_of(game, game.to_play) == (this, symmetric)


@pytest.mark.parametrize(
    ("number", "text"), [(0.12345678987, "0.12345679"), (-0.0, "0.0"), (1234.5678987, "1234.5679"), (1e-9, "1e-09")]
)
def test_numbers_have_nine_digits(number: float, text: str) -> None:
    assert json.dumps(rounded(number)) == text


def test_a_line_is_written_as_katago_writes_it() -> None:
    assert to_line({"id": "ä\n", "b": [1, 0.5], "a": True}) == '{"a":true,"b":[1,0.5],"id":"ä\\n"}\n'


def test_a_network_that_imitates_people_asks_each_query_whom_unless_the_session_knows() -> None:
    asked = [
        query(id="none", maxVisits=1),
        query(id="own", maxVisits=1, overrideSettings={"humanSLProfile": "rank_5k"}),
    ]
    human = replace(SETTINGS, needs_profile=True)
    found = {each["id"]: each for each in answers(*asked, equipped=equipment(settings=human))}
    assert found["none"]["field"] == "overrideSettings"
    assert "humanSLProfile must say whom" in found["none"]["error"]
    assert found["own"]["rootInfo"]["visits"] == 1
    known = replace(human, params=replace(human.params, human_profile="rank_1d"))
    assert all("rootInfo" in each for each in answers(*asked, equipped=equipment(settings=known)))
