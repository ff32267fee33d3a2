"""The table knows whose turn it is, what its engine is to do next, and what is no longer wanted."""

import threading
from typing import Any

import pytest

from engine.apps.web.facts import Count, Kind
from engine.apps.web.settings import Sitting
from engine.color import BLACK, WHITE
from engine.errors import GoError
from engine.vertex import PASS
from tests.apps.web.tables import ENGINES, MIXED, PEOPLE, answer, facts, moves, table, task, vertex, wanted


def test_the_engine_answers_a_person() -> None:
    at = table(MIXED)
    assert wanted(at) is None
    moves(at, "C3")
    asked = task(at)
    assert (asked.kind, asked.game.move_number) == (Kind.MOVE, 1)
    assert facts(at).busy is Kind.MOVE
    assert at.moves(asked, vertex("D3"))
    assert [move.vertex for move in facts(at).line] == [vertex("C3"), vertex("D3")]
    assert wanted(at) is None


def test_a_person_waits_for_the_engine() -> None:
    at = table(MIXED)
    moves(at, "C3")
    with pytest.raises(GoError, match="it is engine's turn"):
        moves(at, "D3")


def test_what_the_engine_thought_about_a_position_that_is_gone_is_dropped() -> None:
    at = table(MIXED)
    moves(at, "C3")
    asked = task(at)
    at.command("undo", {})
    assert not at.moves(asked, vertex("D3"))
    at.thinks(asked, answer())
    at.resigns(asked)
    at.counts(asked, Count("B+1.5"))
    assert facts(at).line == ()
    assert facts(at).result is None
    assert facts(at).shown.answer is None


def test_a_take_back_goes_to_the_persons_last_move() -> None:
    at = table(MIXED)
    moves(at, "C3")
    at.moves(task(at), vertex("D3"))
    at.command("undo", {})
    assert facts(at).line == ()
    with pytest.raises(GoError, match="no move to take back"):
        at.command("undo", {})


def test_a_take_back_among_people_is_one_move() -> None:
    at = table(PEOPLE)
    moves(at, "C3", "D3")
    at.command("undo", {})
    assert len(facts(at).line) == 1


def test_the_engines_moves_alone_cannot_be_taken_back() -> None:
    at = table({BLACK: Sitting.ENGINE, WHITE: Sitting.PERSON})
    at.moves(task(at), vertex("C3"))
    with pytest.raises(GoError, match="no move of yours"):
        at.command("undo", {})
    assert facts(at).game.move_number == 1


def test_two_passes_are_counted_and_the_count_is_the_result() -> None:
    at = table(PEOPLE)
    moves(at, "C3", "pass", "pass")
    asked = task(at)
    assert asked.kind is Kind.SCORE
    at.counts(asked, Count("B+17.5", (vertex("C3"),)))
    assert (facts(at).result, facts(at).shown.count) == ("B+17.5", Count("B+17.5", (vertex("C3"),)))
    assert wanted(at) is None
    with pytest.raises(GoError, match="the game is over"):
        moves(at, "D3")
    at.command("undo", {})
    assert facts(at).result is None


def test_a_count_in_between_ends_nothing_and_the_game_goes_on() -> None:
    at = table(MIXED)
    at.command("count", {})
    at.counts(task(at), Count("W+7.5"))
    assert (facts(at).result, facts(at).shown.count, wanted(at)) == (None, Count("W+7.5"), None)
    moves(at, "C3")
    assert facts(at).shown.count is None


@pytest.mark.parametrize(("sittings", "result"), [(MIXED, "W+R"), (PEOPLE, "W+R"), (ENGINES, "W+R")])
def test_a_person_resigns(sittings: dict[int, Sitting], result: str) -> None:
    at = table(sittings)
    at.command("resign", {})
    assert facts(at).result == result
    with pytest.raises(GoError, match="the game is over"):
        at.command("resign", {})


def test_a_person_resigns_while_the_engine_thinks() -> None:
    at = table(MIXED)
    moves(at, "C3")
    asked = task(at)
    at.command("resign", {})
    assert facts(at).result == "W+R"
    assert not at.moves(asked, vertex("D3"))


def test_the_engine_resigns() -> None:
    at = table(MIXED)
    moves(at, "C3")
    at.resigns(task(at))
    assert facts(at).result == "B+R"
    assert wanted(at) is None


def test_an_analysis_goes_on_until_nobody_wants_it() -> None:
    at = table(PEOPLE)
    at.command("switch", {"territory": True})
    asked = task(at)
    assert asked.kind is Kind.ANALYSIS
    at.thinks(asked, answer())
    at.command("switch", {"analysis": True})
    assert at.is_wanted(asked)
    assert facts(at).shown.answer is not None
    at.command("switch", {"territory": False, "analysis": False})
    assert not at.is_wanted(asked)
    assert wanted(at) is None


def test_an_analysis_that_ended_by_itself_is_not_asked_for_again_and_again() -> None:
    at = table(PEOPLE)
    at.command("switch", {"analysis": True})
    at.finished(task(at))
    assert wanted(at) is None
    moves(at, "C3")
    assert wanted(at) is Kind.ANALYSIS


def test_estimates_are_blacks_and_are_kept_along_the_line() -> None:
    at = table(PEOPLE)
    at.command("switch", {"analysis": True})
    at.thinks(task(at), answer(0.75))
    moves(at, "C3")
    at.thinks(task(at), answer(0.75))
    assert {number: (each.winrate, each.lead) for number, each in facts(at).estimates.items()} == {
        0: (0.75, 1.5),
        1: (0.25, -1.5),
    }
    at.command("undo", {})
    assert list(facts(at).estimates) == [0]


def test_a_failure_is_told_and_the_engine_rests_until_it_is_asked_again() -> None:
    at = table(MIXED)
    moves(at, "C3")
    at.failed(task(at), "out of ideas")
    assert (facts(at).shown.error, wanted(at)) == ("out of ideas", None)
    at.command("go", {"to": 1})
    assert (facts(at).shown.error, wanted(at)) == (None, Kind.MOVE)


def test_who_sits_where_may_change_in_the_game() -> None:
    at = table(PEOPLE)
    at.command("sit", {"black": "engine", "seconds": "0.5"})
    asked = task(at)
    assert (asked.kind, asked.seconds) == (Kind.MOVE, 0.5)
    at.command("sit", {"black": "person", "seconds": ""})
    assert not at.is_wanted(asked)
    assert wanted(at) is None


def test_a_new_game_has_what_the_page_says_and_else_what_was_before() -> None:
    at = table(MIXED, komi=6.5)
    at.command("new", {"size": "13x9", "handicap": 2, "rules": "japanese", "white": "person"})
    now = facts(at)
    assert (now.game.width, now.game.height, now.game.komi, now.settings.rules) == (13, 9, 6.5, "japanese")
    assert len(now.game.setup_black) == 2
    assert now.game.to_play == WHITE
    assert now.settings.sittings == PEOPLE


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("new", {"size": 1}, "expected a size from 2 to 25, or two as in 13x9, got 1"),
        ("new", {"size": "big"}, "expected a size from 2 to 25.*got 'big'"),
        ("new", {"komi": "much"}, "komi: expected a number from -400 to 400, got 'much'"),
        ("switch", {"tea": True}, "expected analysis, territory, review, got tea"),
        ("new", {"komi": "nan"}, "komi: expected a number from -400 to 400, got 'nan'"),
        ("new", {"komi": 0.3}, "expected a komi of whole or half points"),
        ("new", {"rules": "chess"}, "chess"),
        ("new", {"handicap": 1}, "expected a handicap of 0, or of 2 to"),
        ("new", {"black": "nobody"}, "nobody"),
        ("new", {"seconds": 0}, "seconds: expected a number above 0 and at most 3600, got 0"),
        ("new", {"color": "black"}, "got color"),
        ("sit", {"level": 0}, "level: expected an integer from 1 to 10, got 0"),
        ("sit", {"level": "strong"}, "level: expected an integer from 1 to 10, got 'strong'"),
        ("play", {"move": "Z9"}, "Z9"),
        ("play", {}, "''"),
        ("go", {"to": "end"}, "expected the number of a move, got 'end'"),
        ("sit", {"size": 5}, "got size"),
        ("dance", {}, "expected one of new, play"),
    ],
)
def test_nonsense_is_one_line_and_changes_nothing(name: str, fields: dict[str, Any], message: str) -> None:
    at = table(PEOPLE)
    moves(at, "C3")
    before = facts(at)
    with pytest.raises(GoError, match=message) as error:
        at.command(name, fields)
    assert "\n" not in str(error.value)
    assert (facts(at).settings, facts(at).line, facts(at).version) == (before.settings, before.line, before.version)


def test_an_illegal_move_is_refused() -> None:
    at = table(PEOPLE)
    moves(at, "C3")
    with pytest.raises(GoError, match="occupied"):
        moves(at, "C3")


def test_those_who_wait_hear_of_every_change_and_of_the_end() -> None:
    at = table(PEOPLE)
    version = facts(at).version
    assert not at.wait_for_change(version, 0.0)
    threading.Timer(0.1, at.command, ("play", {"move": "C3"})).start()
    assert at.wait_for_change(version, 10)
    assert len(facts(at).line) == 1
    threading.Timer(0.1, at.close).start()
    assert at.next_task() is None
    assert at.is_closed


def test_a_pass_is_a_move() -> None:
    at = table(PEOPLE)
    moves(at, "pass")
    assert facts(at).line[0].vertex == PASS


def test_an_analysis_that_nobody_looks_at_ends_and_begins_again_for_the_next_who_comes() -> None:
    at = table(PEOPLE)
    at.command("switch", {"analysis": True})
    asked = task(at)
    at.enter()
    at.leave()
    assert at.is_wanted(asked)
    at.leave()
    assert not at.is_wanted(asked)
    assert wanted(at) is None
    at.enter()
    assert task(at).kind is Kind.ANALYSIS


def test_the_engine_answers_a_person_who_has_left() -> None:
    at = table(MIXED)
    moves(at, "C3")
    asked = task(at)
    at.leave()
    assert at.moves(asked, vertex("D3"))
