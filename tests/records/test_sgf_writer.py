"""Records that are written: they have what controllers look for, and are read again as they were."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.color import BLACK, WHITE
from engine.game import Game, Move
from engine.records.sgf import load_sgf, load_variations
from engine.records.sgf_writer import Variation, write_game
from engine.rules import PRESETS
from engine.vertex import PASS, parse_vertex


def test_written_game_has_what_controllers_look_for() -> None:
    game = Game(9, 13, rules=PRESETS["chinese"], komi=6.5)
    game.place_handicap([parse_vertex("C3", 9, 13), parse_vertex("G10", 9, 13)])
    game.play(WHITE, parse_vertex("E5", 9, 13))
    game.play(BLACK, PASS)
    text = write_game(game, result="W+R", black="a]b", white="c\\", move_comments={1: "x"}, main_time=300, overtime="")
    assert text.startswith("(;FF[4]")
    for part in ("GM[1]", "CA[UTF-8]", "SZ[9:13]", "KM[6.5]", "HA[2]", "PL[W]", "RE[W+R]", "AB[gd][ck]", "TM[300]"):
        assert part in text
    assert "C[x]W[ei]" in text.replace("\n", "")
    assert text.rstrip().endswith(";B[])")
    record = load_sgf(text.encode())
    assert (record.black, record.white, record.rules) == ("a]b", "c\\", PRESETS["chinese"])
    assert record.game().moves == game.moves
    assert write_game(record.game(), result="W+R", black="a]b", white="c\\") == write_game(
        game, result="W+R", black="a]b", white="c\\"
    )


def test_what_a_record_says_besides_is_handed_on() -> None:
    about = {"DT": "1985-03-07", "EV": "10th [Kisei]", "BR": "9d"}
    record = load_sgf(b"(;SZ[9]DT[1985-03-07]EV[10th [Kisei\\]]BR[9d]C[Root];B[aa]C[one\ntwo];C[three];W[bb])")
    assert record.about == about
    assert record.comments == {0: "Root", 1: "one\ntwo\nthree"}
    text = write_game(record.game(), about=about, comment="Root", move_comments=record.comments)
    again = load_sgf(text.encode())
    assert (again.about, again.comments) == (record.about, record.comments)


@pytest.mark.parametrize("komi", [375.0, -400.0, 7.5, 100.0])
def test_every_komi_of_keimas_own_records_is_read_again(komi: float) -> None:
    record = load_sgf(write_game(Game(2, 2, komi=komi)).encode())
    assert (record.komi, record.warnings) == (komi, ())


@given(st.lists(st.lists(st.integers(0, 3), max_size=6), min_size=1, max_size=6), st.randoms())
def test_variations_are_written_as_a_tree_and_read_again(lines: list[list[int]], chance: random.Random) -> None:
    corners = [parse_vertex(name, 5, 5) for name in ("A1", "B2", "C3", "D4")]
    ways = [[Move((BLACK, WHITE)[index % 2], corners[each]) for index, each in enumerate(line)] for line in lines]
    comments = [dict.fromkeys(range(1, len(way) + 1), f"way {index}") for index, way in enumerate(ways)]
    game = Game(5)
    for move in ways[0]:
        if not game.is_legal(*move):
            break
        game.play(*move)
    ways[0] = list(game.moves)
    variations = [Variation(way, comment) for way, comment in zip(ways[1:], comments[1:], strict=True)]
    text = write_game(game, move_comments=comments[0], variations=variations).encode()
    main = load_sgf(text)
    found = [list(line.moves) for line in (main, *load_variations(text, main, 100))]
    whole = {tuple(way) for way in ways if not any(other[: len(way)] == way and other != way for other in ways)}
    assert {*whole, tuple(ways[0])} <= set(map(tuple, found)) <= set(map(tuple, ways))
    assert found[0] == ways[0]
    assert text.count(b"C[way 0]") == len(ways[0])
