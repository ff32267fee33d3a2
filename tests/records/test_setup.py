"""Stones that a record sets up between its moves: which steps they are, how they are written and read again."""

from engine.color import BLACK, WHITE
from engine.game import Move
from engine.records.sgf import load_sgf, load_variations
from engine.records.sgf_writer import Variation, write_game
from engine.scoring import area_score, territory_score


def test_comments_belong_to_the_step_of_their_node_and_the_first_node_is_none() -> None:
    record = load_sgf(b"(;SZ[9]AB[aa]C[root];B[bb]C[move];AE[aa]C[setup]TR[aa];PL[B];W[cc]C[last])")
    assert record.comments == {0: "root", 1: "move", 2: "setup", 4: "last"}
    assert list(record.markup) == [2]
    assert record.start is not None and record.start.after == 0
    assert [isinstance(step, Move) for step in record.steps] == [True, False, False, True]
    assert [setup.after for setup in record.setups] == [0, 1, 1]


def test_stones_set_up_between_moves_are_written_and_read_again() -> None:
    text = b"(;SZ[9]AB[cc];W[gg](;AE[cc]AW[cd:ce]PL[W];W[aa]C[x])(;AB[dd];B[ee]))"
    record = load_sgf(text)
    lines = [Variation(each.steps, each.comments) for each in (record, *load_variations(text, record, 9))]
    written = write_game(
        record.first_game(), steps=record.steps, move_comments=record.comments, variations=lines[1:]
    ).encode()
    again = load_sgf(written)
    assert b"".join(written.split()).endswith(b";W[gg](;AE[cc]AW[cd][ce]PL[W];C[x]W[aa])(;AB[dd];B[ee]))")
    assert (again.moves, again.comments) == (record.moves, record.comments)
    assert (again.game().board == record.game().board).all()
    assert [each.steps for each in load_variations(written, again, 9)] == [lines[1].steps]


def test_prisoners_stay_where_stones_are_set_up() -> None:
    text = b"(;SZ[5]RU[Japanese]KM[0];B[ab];W[aa];B[ba];W[ee]%b)"
    played, changed = (load_sgf(text % setup).game() for setup in (b"", b";PL[W]"))
    assert not changed.moves
    assert [changed.captured(color) for color in (BLACK, WHITE)] == [0, 1]
    assert area_score(changed) == area_score(played)
    assert territory_score(changed) == territory_score(played)
