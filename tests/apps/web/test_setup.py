"""Stones that a record sets up between moves: steps of its lines, which stay in it."""

import pytest

from engine.apps.web.game_session import GameSession
from engine.apps.web.snapshot import Kind
from engine.apps.web.view import view
from engine.color import BLACK, EMPTY, WHITE
from engine.errors import BadSgf, GoError
from engine.game import Move
from engine.records.setup import Setup
from engine.records.sgf import load_sgf
from tests.apps.web.sessions import MIXED, PEOPLE, answer, moves, session, snapshot, task, vertex, wanted

RECORD = b"(;SZ[5]KM[1]RU[AGA]C[root];B[cc]C[first];W[cd];AE[cd]AW[bb][dd]PL[B]C[changed];B[db];W[bd])"
"""Black C3, White C2; C2 is removed, B4 and D2 are White's, Black to play; then Black D4, White B2."""


def opened(record: bytes = RECORD) -> GameSession:
    at = session(PEOPLE)
    at.open(record)
    return at


def stones(at: GameSession) -> str:
    """Return the position shown as rows from the top: X for Black, O for White."""
    rows = view(snapshot(at))["stones"]
    return " ".join(rows[start : start + 5] for start in range(0, 25, 5))


def test_a_walk_through_the_record_shows_every_move_and_the_stones_that_are_set_up() -> None:
    at = opened()
    seen = {}
    for number in (5, 4, 3, 2, 1, 0):
        at.command("go", {"to": number})
        seen[number] = stones(at)
    assert seen == {
        0: "..... ..... ..... ..... .....",
        1: "..... ..... ..X.. ..... .....",
        2: "..... ..... ..X.. ..O.. .....",
        3: "..... .O... ..X.. ...O. .....",
        4: "..... .O.X. ..X.. ...O. .....",
        5: "..... .O.X. ..X.. .O.O. .....",
    }
    for number in range(6):
        at.command("go", {"to": number})
        assert stones(at) == seen[number]


def test_the_view_names_the_points_that_were_set_up_and_no_last_move() -> None:
    at = opened()
    at.command("go", {"to": 2})
    shown = view(snapshot(at))
    assert (shown["shown"], shown["moves"], shown["following"], shown["changed"]) == (2, 5, [None], {})
    assert [each["colors"] for each in shown["variations"]] == ["BwSbw"]
    at.command("go", {"by": 1})
    shown = view(snapshot(at))
    assert (shown["shown"], shown["last"], shown["to_play"]) == (3, None, "black")
    assert (shown["note"], shown["changed"]) == ("changed", {"B4": "O", "C2": ".", "D2": "O"})
    assert snapshot(at).changed == {vertex("B4"): WHITE, vertex("C2"): EMPTY, vertex("D2"): WHITE}


def test_a_review_sends_each_position_with_the_stones_that_were_set_up() -> None:
    at = opened()
    at.command("switch", {"review": True})
    seen = []
    while wanted(at) is Kind.REVIEW:
        asked = task(at)
        at.analysis_received(asked, answer(0.4 + 0.1 * (asked.number % 2)))
        seen.append((asked.number, len(asked.game.setup_black), len(asked.game.setup_white), len(asked.game.moves)))
        at.task_finished(asked)
    assert seen == [(0, 0, 0, 0), (1, 0, 0, 1), (2, 0, 0, 2), (3, 1, 2, 0), (4, 1, 2, 1), (5, 1, 2, 2)]
    assert sorted(snapshot(at).estimates) == [0, 1, 2, 3, 4, 5]
    assert {each["number"] for each in view(snapshot(at))["mistakes"]} <= {1, 2, 4, 5}


def test_an_analysis_belongs_to_the_position_after_the_setup() -> None:
    at = opened()
    at.command("go", {"to": 3})
    at.command("switch", {"analysis": True})
    asked = task(at)
    assert (asked.kind, asked.game.to_play, asked.game.color_at(vertex("C3"))) == (Kind.ANALYSIS, BLACK, BLACK)
    at.analysis_received(asked, answer(0.75))
    assert {number: each.winrate for number, each in snapshot(at).estimates.items()} == {3: 0.75}


def test_an_edited_record_keeps_its_setup_and_the_comments_of_every_node() -> None:
    at = opened()
    at.command("go", {"to": 3})
    at.command("mark", {"at": "C2", "mark": "MA"})
    moves(at, "E5", "E4")
    told = "".join(at.record()[0].split())
    assert told.endswith(";B[cc]C[first];W[cd];AE[cd]AW[bb][dd]C[changed]MA[cd]PL[B](;B[db];W[bd])(;B[ea];W[eb]))")
    assert "C[root]" in told
    again = opened(told.encode())
    assert [each.colors for each in snapshot(again).variations] == ["BwSbw", "bw"]
    assert at.record()[0] == again.record()[0]


def test_every_variation_has_its_own_setup_also_before_the_first_move() -> None:
    at = opened(b"(;SZ[5]RU[AGA];AB[aa];W[bb](;AE[aa];B[cc])(;AE[bb];B[dd]))")
    assert [(each.branch_point, each.colors) for each in snapshot(at).variations] == [(0, "wsb"), (1, "sb")]
    at.command("go", {"to": 3, "variation": 1})
    assert stones(at) == "X.... ..... ..... ...X. ....."
    at = opened(b"(;SZ[5]RU[AGA]C[two problems](;AB[aa];W[bb])(;AB[ee];W[dd]))")
    assert [(each.branch_point, each.colors) for each in snapshot(at).variations] == [(0, "sw"), (0, "sw")]
    at.command("go", {"to": 1, "variation": 1})
    assert stones(at) == "..... ..... ..... ..... ....X"


def test_a_handicap_in_the_second_node_is_the_start_of_the_game() -> None:
    at = opened(b"(;SZ[5]RU[AGA]HA[2];AB[ad][da]C[handicap];W[cc])")
    at.command("go", {"to": 0})
    shown = view(snapshot(at))
    assert (shown["handicap"], shown["moves"], shown["note"], shown["to_play"]) == (2, 1, "handicap", "white")
    assert "HA[2]" in at.record()[0]


def test_the_side_of_the_next_move_is_to_play_where_the_setup_does_not_say() -> None:
    at = opened(b"(;SZ[5]RU[AGA];B[cc];AB[aa];B[bb])")
    at.command("go", {"to": 2})
    assert view(snapshot(at))["to_play"] == "black"


def test_a_setup_that_changes_nothing_is_a_step_and_the_moves_before_it_still_count() -> None:
    at = opened(b"(;SZ[5]RU[AGA];B[cc];AB[cc]C[look];W[dd])")
    at.command("go", {"to": 2})
    now = snapshot(at)
    assert (now.note, now.changed, now.game.move_number, len(now.line)) == ("look", {}, 1, 3)


def test_the_engine_plays_on_after_a_setup_and_its_move_is_taken_back_with_the_persons() -> None:
    at = opened(b"(;SZ[5]RU[AGA];B[cc];AW[dd]PL[B])")
    at.command("configure", {"white": "engine"})
    moves(at, "B2")
    at.engine_moved(task(at), vertex("D4"))
    assert [type(step) for step in snapshot(at).line] == [Move, Setup, Move, Move]
    at.command("undo", {})
    assert len(snapshot(at).line) == 2
    at.command("undo", {})
    assert [step for step in snapshot(at).line if isinstance(step, Setup)] == []
    assert stones(at) == "..... ..... ..X.. ..... ....."


def test_stones_that_a_record_sets_up_are_taken_back_by_the_person_who_plays_against_the_engine() -> None:
    at = session(MIXED)
    at.open(b"(;SZ[5]RU[AGA];W[cc];AW[dd]PL[W])")
    at.command("configure", {"white": "engine"})
    at.command("undo", {})
    with pytest.raises(GoError, match="no move of yours"):
        at.command("undo", {})


def test_a_setup_that_leaves_a_chain_without_liberties_is_refused_and_a_variation_with_it_left_out() -> None:
    at = session(PEOPLE)
    with pytest.raises(BadSgf, match="setup after move 1: AB/AW: A5: chain without liberties"):
        at.open(b"(;SZ[5]RU[AGA];B[cc];AB[aa]AW[ba][ab])")
    at.open(b"(;SZ[5]RU[AGA];B[cc](;W[dd])(;W[ee];AB[aa]AW[ba][ab]))")
    assert (len(snapshot(at).variations), snapshot(at).notice.left_out) == (1, 1)
    assert load_sgf(at.record()[0].encode()).setups == ()
