"""The split into games to train on and games held out: by the moves of a game, never by position."""

import hashlib
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.records.sgf import iterate_sgfl
from engine.train.data.held_out import game_hash, is_held_out, move_text
from tests.shared import require_shared


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (b"(;GM[1]SZ[9]C[;B];B[aa];W[bb])\n", b";B[aa];W[bb])"),
        (b"(;SZ[9]AB[aa][bb]PL[W];W[cc]C[x];B[dd]\r\n (;W[ee])) \n", b";W[cc]C[x];B[dd]\r\n (;W[ee]))"),
        (b"(;SZ[9];B[])", b";B[])"),
        (b"(;SZ[9]AB[aa])", b""),
        (b"", b""),
        (b"(;SZ[9]AB[aa]; B[bb]\n; W [ cc ];C[a B[zz\\]]B[])", b";B[bb];W[cc];B[])"),
        (b"(;SZ[9];MN[1]B[bb];MN[2]W[cc])", b";B[bb];W[cc])"),
    ],
)
def test_the_move_text_is_all_from_the_first_move_on(record: bytes, text: bytes) -> None:
    assert move_text(record) == text


@given(st.binary(max_size=40))
def test_a_game_is_held_out_if_the_md5_of_its_moves_is_divisible_by_50(tail: bytes) -> None:
    text = (b";B[aa]" + tail).rstrip()
    assert is_held_out(b"(;SZ[9]" + text) == (int(hashlib.md5(text).hexdigest(), 16) % 50 == 0)


def test_the_root_and_the_end_of_the_line_do_not_decide() -> None:
    moves = [b";B[aa];W[b" + bytes([letter]) + b"])" for letter in range(ord("a"), ord("z"))]
    for text in moves:
        copies = [b"(;SZ[9]RE[B+R]" + text, b"(;FF[4]PB[Somebody]RE[W+2]\n" + text + b"\r\n"]
        assert len({(is_held_out(copy), game_hash(copy)) for copy in copies}) == 1
    assert len({game_hash(text) for text in moves}) == len(moves)


def test_a_record_without_moves_is_not_held_out() -> None:
    assert not is_held_out(b"(;SZ[19]AB[aa])")


@pytest.mark.parametrize("name", ["strong9.sgfl.bz2", "ai19.sgfl.bz2"])
def test_about_one_game_in_fifty_is_held_out(name: str) -> None:
    records = list(islice(iterate_sgfl(require_shared(f"games/{name}")), 6000))
    held = sum(map(is_held_out, records))
    expected = len(records) / 50
    assert abs(held - expected) < 4 * (expected * 49 / 50) ** 0.5
