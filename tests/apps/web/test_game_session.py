"""The session knows whose turn it is, what its engine is to do next, and what is no longer wanted."""

import threading
from typing import Any

import pytest

from engine.apps.web.counting import counted, sums
from engine.apps.web.settings import PlayerKind
from engine.apps.web.snapshot import Count, Kind
from engine.color import BLACK, WHITE, color_name
from engine.errors import GoError
from engine.programs.answers import AnalysisAnswer, Candidate
from engine.records.sgf import load_sgf
from engine.rules import parse_rules
from engine.vertex import PASS, parse_vertex, points
from tests.apps.web.sessions import ENGINES, MIXED, PEOPLE, SIZE, answer, moves, session, snapshot, task, vertex, wanted
from tests.positions import game_from_diagram


def test_the_engine_answers_a_person() -> None:
    at = session(MIXED)
    assert wanted(at) is None
    moves(at, "C3")
    asked = task(at)
    assert (asked.kind, asked.game.move_number) == (Kind.MOVE, 1)
    assert snapshot(at).busy is Kind.MOVE
    assert at.engine_moved(asked, vertex("D3"))
    assert [move.vertex for move in snapshot(at).line] == [vertex("C3"), vertex("D3")]
    assert wanted(at) is None


def test_a_person_waits_for_the_engine() -> None:
    at = session(MIXED)
    moves(at, "C3")
    with pytest.raises(GoError, match="it is engine's turn"):
        moves(at, "D3")


def test_what_the_engine_thought_about_a_position_that_is_gone_is_dropped() -> None:
    at = session(MIXED)
    moves(at, "C3")
    asked = task(at)
    at.command("undo", {})
    assert not at.engine_moved(asked, vertex("D3"))
    at.analysis_received(asked, answer())
    at.engine_resigned(asked)
    at.position_counted(asked, Count("B+1.5"))
    assert snapshot(at).line == ()
    assert snapshot(at).result is None
    assert snapshot(at).shown.answer is None


def test_a_take_back_goes_to_the_persons_last_move() -> None:
    at = session(MIXED)
    moves(at, "C3")
    at.engine_moved(task(at), vertex("D3"))
    at.command("undo", {})
    assert snapshot(at).line == ()
    with pytest.raises(GoError, match="no move to take back"):
        at.command("undo", {})


def test_a_take_back_among_people_is_one_move() -> None:
    at = session(PEOPLE)
    moves(at, "C3", "D3")
    at.command("undo", {})
    assert len(snapshot(at).line) == 1


def test_the_engines_moves_alone_cannot_be_taken_back() -> None:
    at = session({BLACK: PlayerKind.ENGINE, WHITE: PlayerKind.PERSON})
    at.engine_moved(task(at), vertex("C3"))
    with pytest.raises(GoError, match="no move of yours"):
        at.command("undo", {})
    assert snapshot(at).game.move_number == 1


def test_two_passes_are_counted_and_the_count_is_the_result_once_it_is_accepted() -> None:
    at = session(PEOPLE)
    moves(at, "C3", "pass", "pass")
    asked = task(at)
    assert asked.kind is Kind.SCORE
    at.position_counted(asked, Count("B+17.5", (vertex("C3"),)))
    assert (snapshot(at).result, snapshot(at).is_proposed) == (None, True)
    at.command("accept", {})
    assert not snapshot(at).is_proposed
    assert (snapshot(at).result, snapshot(at).shown.count) == ("B+17.5", Count("B+17.5", (vertex("C3"),)))
    assert wanted(at) is None
    with pytest.raises(GoError, match="the game is over"):
        moves(at, "D3")
    at.command("undo", {})
    assert snapshot(at).result is None


@pytest.mark.parametrize(("players", "rules"), [(ENGINES, "chinese"), (PEOPLE, "tromp-taylor")])
def test_a_count_that_nobody_has_to_agree_on_is_the_result_at_once(players: dict[int, PlayerKind], rules: str) -> None:
    at = session(players, rules=rules)
    while not snapshot(at).game.is_over:
        if players is ENGINES:
            at.engine_moved(task(at), PASS)
        else:
            moves(at, "pass")
    at.position_counted(task(at), Count("W+7.5"))
    assert snapshot(at).result == "W+7.5"


def test_a_chain_toggles_between_dead_and_alive_until_the_count_is_accepted() -> None:
    at = session(PEOPLE, rules="japanese", komi=0.5)
    # Black's wall on the third column, a white chain of two to its left, and White's wall to its right.
    moves(at, "C1", "D1", "C2", "D2", "C3", "D3", "C4", "D4", "C5", "D5", "pass", "A1", "pass", "A2", "pass", "pass")
    at.position_counted(task(at), counted(snapshot(at).game))
    # A1 and A2 separate nothing: by the rules without agreement, no territory on the left.
    assert snapshot(at).shown.count.score == "W+5.5"  # type: ignore[union-attr]
    at.command("dead", {"at": "A1"})
    shown = snapshot(at).shown.count
    assert shown is not None
    assert (shown.score, shown.dead) == ("B+6.5", (vertex("A2"), vertex("A1")))
    assert sums(snapshot(at).game, shown) == {
        "is_area": False,
        "komi": 0.5,
        "bonus": 0.0,
        "black": {"area": 10, "prisoners": 2, "tax": 0, "total": 12.0},
        "white": {"area": 5, "prisoners": 0, "tax": 0, "total": 5.5},
    }
    at.command("dead", {"at": "A2"})
    assert snapshot(at).shown.count.dead == ()  # type: ignore[union-attr]
    at.command("dead", {"at": "A2"})
    with pytest.raises(GoError, match="no stone at E5"):
        at.command("dead", {"at": "E5"})
    at.command("accept", {})
    assert snapshot(at).result == "B+6.5"
    for name in ("dead", "accept"):
        with pytest.raises(GoError, match="no count to agree on"):
            at.command(name, {"at": "A1"})


def test_a_chain_in_seki_that_is_marked_and_unmarked_leaves_the_count_as_it_was() -> None:
    at = session(PEOPLE, rules="japanese", komi=0.5)
    moves(at, "C1", "D1", "C2", "D2", "C3", "D3", "C4", "D4", "C5", "D5", "pass", "A1", "pass", "A2", "pass", "pass")
    game = snapshot(at).game
    seki = tuple(each for each in points(SIZE, SIZE) if game.color_at(each) == BLACK)
    at.position_counted(task(at), counted(game, (), seki))
    before = snapshot(at).shown.count
    at.command("dead", {"at": "C1"})
    assert snapshot(at).shown.count != before
    at.command("dead", {"at": "C1"})
    assert snapshot(at).shown.count == before
    assert sums(game, before) is not None  # type: ignore[arg-type]


def test_a_glance_does_not_replace_what_a_longer_search_found() -> None:
    at = session(PEOPLE)
    moves(at, "C3")
    at.command("switch", {"analysis": True})
    found = []
    for visits, winrate in ((500, 0.6), (3, 0.2), (800, 0.7)):
        candidate = Candidate(vertex("D3"), visits, winrate, None, ())
        at.analysis_received(task(at), AnalysisAnswer((candidate,)))
        at.command("go", {"to": 0})
        at.command("go", {"to": 1})
        found.append(snapshot(at).estimates[1].winrate)
    assert found == pytest.approx([0.4, 0.4, 0.3])
    again = session(PEOPLE)
    again.open(at.record()[0].encode())
    assert again.snapshot().estimates[1].visits == 800


def test_nothing_is_taken_back_while_an_earlier_position_is_shown() -> None:
    at = session(PEOPLE)
    at.open(b"(;SZ[5]RE[B+R];B[aa];W[bb];B[cc])")
    at.command("go", {"to": 1})
    with pytest.raises(GoError, match="only the last move"):
        at.command("undo", {})
    assert (len(snapshot(at).line), snapshot(at).result) == (3, "B+R")


def test_the_engine_plays_on_in_a_record_under_the_names_of_its_players() -> None:
    at = session(PEOPLE)
    at.open(b"(;SZ[5]PB[Lee]PW[Cho];B[aa])")
    at.command("configure", {"white": "engine"})
    at.command("edit", {"PB": "Lee Changho"})
    record = load_sgf(at.record()[0].encode())
    assert (record.black, record.white) == ("Lee Changho", "Cho")


def test_a_score_that_is_not_the_sum_of_its_parts_has_none() -> None:
    at = session(PEOPLE)
    moves(at, "C3", "pass", "pass")
    game = snapshot(at).game
    assert sums(game, Count("B+17.5")) is not None
    assert sums(game, Count("B+3.5")) is None


OPEN_BORDERS = """
. . . X . O . . .
. . . X . O . X .
. . . X . O . . .
. . . X . O . . .
. . . X . O . . .
. . . X . O . . .
. . . X . O . . .
. O . X . O . . .
. . . X . O . . .
"""


@pytest.mark.parametrize("rules", ["japanese", "stone-scoring", "chinese", "aga", "tromp-taylor"])
@pytest.mark.parametrize("dead", ["", "B2", "B2 H8"])
def test_the_points_that_are_shown_as_owned_are_those_of_the_sum(rules: str, dead: str) -> None:
    game = game_from_diagram(OPEN_BORDERS, rules=parse_rules(rules))
    removed = tuple(parse_vertex(each, 9, 9) for each in dead.split())
    count = counted(game, removed)
    parts = sums(game, count)
    assert parts is not None
    for color, owner in ((BLACK, 1.0), (WHITE, -1.0)):
        alive = [each for each in points(9, 9) if game.color_at(each) == color and each not in removed]
        stones = len(alive) if parts["is_area"] else 0
        assert count.owners.count(owner) == parts[color_name(color)]["area"] - stones
    assert count.owners.count(-1.0) == (27 if "H8" in dead and rules != "stone-scoring" else 0)


def test_steps_are_relative_so_that_two_at_once_are_two() -> None:
    at = session(PEOPLE)
    moves(at, "C3", "D3", "B2")
    for _ in range(2):
        at.command("go", {"by": -1})
    assert snapshot(at).game.move_number == 1
    at.command("go", {"by": -5})
    assert snapshot(at).game.move_number == 0
    at.command("go", {"by": 9})
    assert snapshot(at).game.move_number == 3


def test_a_review_takes_its_own_time_for_each_position() -> None:
    at = session(PEOPLE, seconds=9.0)
    moves(at, "C3")
    at.command("switch", {"review": True})
    assert task(at).seconds == 1.0
    at.command("configure", {"review_seconds": 0.25})
    asked = task(at)
    assert (asked.kind, asked.seconds) == (Kind.REVIEW, 0.25)


def test_a_count_in_between_ends_nothing_and_the_game_goes_on() -> None:
    at = session(MIXED)
    at.command("count", {})
    at.position_counted(task(at), Count("W+7.5"))
    assert (snapshot(at).result, snapshot(at).shown.count, wanted(at)) == (None, Count("W+7.5"), None)
    moves(at, "C3")
    assert snapshot(at).shown.count is None


@pytest.mark.parametrize(("players", "result"), [(MIXED, "W+R"), (PEOPLE, "W+R"), (ENGINES, "W+R")])
def test_a_person_resigns(players: dict[int, PlayerKind], result: str) -> None:
    at = session(players)
    at.command("resign", {})
    assert snapshot(at).result == result
    with pytest.raises(GoError, match="the game is over"):
        at.command("resign", {})


def test_a_person_resigns_while_the_engine_thinks() -> None:
    at = session(MIXED)
    moves(at, "C3")
    asked = task(at)
    at.command("resign", {})
    assert snapshot(at).result == "W+R"
    assert not at.engine_moved(asked, vertex("D3"))


def test_the_engine_resigns() -> None:
    at = session(MIXED)
    moves(at, "C3")
    at.engine_resigned(task(at))
    assert snapshot(at).result == "B+R"
    assert wanted(at) is None


def test_an_analysis_goes_on_until_nobody_wants_it() -> None:
    at = session(PEOPLE)
    at.command("switch", {"territory": True})
    asked = task(at)
    assert asked.kind is Kind.ANALYSIS
    at.analysis_received(asked, answer())
    at.command("switch", {"analysis": True})
    assert at.is_wanted(asked)
    assert snapshot(at).shown.answer is not None
    at.command("switch", {"territory": False, "analysis": False})
    assert not at.is_wanted(asked)
    assert wanted(at) is None


def test_an_analysis_that_ended_by_itself_is_not_asked_for_again_and_again() -> None:
    at = session(PEOPLE)
    at.command("switch", {"analysis": True})
    at.task_finished(task(at))
    assert wanted(at) is None
    moves(at, "C3")
    assert wanted(at) is Kind.ANALYSIS


def test_estimates_are_blacks_and_are_kept_along_the_line() -> None:
    at = session(PEOPLE)
    at.command("switch", {"analysis": True})
    at.analysis_received(task(at), answer(0.75))
    moves(at, "C3")
    at.analysis_received(task(at), answer(0.75))
    assert {number: (each.winrate, each.lead) for number, each in snapshot(at).estimates.items()} == {
        0: (0.75, 1.5),
        1: (0.25, -1.5),
    }
    at.command("undo", {})
    assert list(snapshot(at).estimates) == [0]


def test_a_failure_is_told_and_the_engine_rests_until_it_is_asked_again() -> None:
    at = session(MIXED)
    moves(at, "C3")
    at.task_failed(task(at), "out of ideas")
    assert (snapshot(at).shown.error, wanted(at)) == ("out of ideas", None)
    at.command("go", {"to": 1})
    assert (snapshot(at).shown.error, wanted(at)) == (None, Kind.MOVE)


def test_who_sits_where_may_change_in_the_game() -> None:
    at = session(PEOPLE)
    at.command("configure", {"black": "engine", "seconds": "0.5"})
    asked = task(at)
    assert (asked.kind, asked.seconds) == (Kind.MOVE, 0.5)
    at.command("configure", {"black": "person", "seconds": ""})
    assert not at.is_wanted(asked)
    assert wanted(at) is None


def test_a_new_game_has_what_the_page_says_and_else_what_was_before() -> None:
    at = session(MIXED, komi=6.5)
    at.command("new", {"size": "13x9", "handicap": 2, "rules": "japanese", "white": "person"})
    now = snapshot(at)
    assert (now.game.width, now.game.height, now.game.komi, now.settings.rules) == (13, 9, 6.5, "japanese")
    assert len(now.game.setup_black) == 2
    assert now.game.to_play == WHITE
    assert now.settings.players == PEOPLE


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("new", {"size": 1}, "expected a size from 2 to 25, or two as in 13x9, got 1"),
        ("new", {"size": "big"}, "expected a size from 2 to 25.*got 'big'"),
        ("new", {"komi": "much"}, "komi: expected a number from -400 to 400, got 'much'"),
        ("switch", {"tea": True}, "expected analysis, territory, review, book, got tea"),
        ("new", {"komi": "nan"}, "komi: expected a number from -400 to 400, got 'nan'"),
        ("new", {"komi": 0.3}, "expected a komi of whole or half points"),
        ("new", {"rules": "chess"}, "chess"),
        ("new", {"handicap": 1}, "expected a handicap of none on 5x5, got 1"),
        ("new", {"black": "nobody"}, "nobody"),
        ("new", {"seconds": 0}, "seconds: expected a number above 0 and at most 3600, got 0"),
        ("new", {"color": "black"}, "got color"),
        ("configure", {"rank": 0}, "rank: expected 21k or 20k or "),
        ("configure", {"rank": "strong"}, "rank: expected 21k or 20k or "),
        ("play", {"move": "Z9"}, "Z9"),
        ("play", {}, "''"),
        ("go", {"to": "end"}, "expected the number of a move, got 'end'"),
        ("configure", {"size": 5}, "got size"),
        ("dance", {}, "expected one of new, play"),
    ],
)
def test_nonsense_is_one_line_and_changes_nothing(name: str, fields: dict[str, Any], message: str) -> None:
    at = session(PEOPLE)
    moves(at, "C3")
    before = snapshot(at)
    with pytest.raises(GoError, match=message) as error:
        at.command(name, fields)
    assert "\n" not in str(error.value)
    assert (snapshot(at).settings, snapshot(at).line, snapshot(at).version) == (
        before.settings,
        before.line,
        before.version,
    )


def test_an_illegal_move_is_refused() -> None:
    at = session(PEOPLE)
    moves(at, "C3")
    with pytest.raises(GoError, match="occupied"):
        moves(at, "C3")


def test_those_who_wait_hear_of_every_change_and_of_the_end() -> None:
    at = session(PEOPLE)
    version = snapshot(at).version
    assert not at.wait_for_change(version, 0.0)
    threading.Timer(0.1, at.command, ("play", {"move": "C3"})).start()
    assert at.wait_for_change(version, 10)
    assert len(snapshot(at).line) == 1
    threading.Timer(0.1, at.close).start()
    assert at.next_task() is None
    assert at.is_closed


def test_a_pass_is_a_move() -> None:
    at = session(PEOPLE)
    moves(at, "pass")
    assert snapshot(at).line[0].vertex == PASS


def test_an_analysis_that_nobody_looks_at_ends_and_begins_again_for_the_next_who_comes() -> None:
    at = session(PEOPLE)
    at.command("switch", {"analysis": True})
    asked = task(at)
    at.page_connected()
    at.page_disconnected()
    assert at.is_wanted(asked)
    at.page_disconnected()
    assert not at.is_wanted(asked)
    assert wanted(at) is None
    at.page_connected()
    assert task(at).kind is Kind.ANALYSIS


def test_the_engine_answers_a_person_who_has_left() -> None:
    at = session(MIXED)
    moves(at, "C3")
    asked = task(at)
    at.page_disconnected()
    assert at.engine_moved(asked, vertex("D3"))
