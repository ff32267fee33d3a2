"""Variations of a record: which are read, in which order, and how many."""

import pytest

from engine.records.sgf import load_sgf, load_variations
from engine.records.sgf_source import MAX_NODES
from engine.vertex import format_sgf


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("(;SZ[5];B[aa])", ["aa"]),
        ("(;SZ[5](;B[aa];W[bb])(;B[cc]))", ["aa bb", "cc"]),
        ("(;SZ[5](;B[aa](;W[bb])(;W[cc]))\n(;B[dd]))(;B[ee])", ["aa bb", "aa cc", "dd"]),
        ("(;SZ[5]C[(;\\])];B[aa](;W[bb]C[a)b])(;W[cc]))", ["aa bb", "aa cc"]),
        ("noise (;SZ[5];B[aa](;W[bb])(;W[cc]", ["aa bb", "aa cc"]),
        ("(;SZ[5];B[aa](;W[bb])(", ["aa bb"]),
        ("(;SZ[5];B[aa](;W[bb])(;W[zz])(;W[cc]))", ["aa bb", "aa cc"]),
        ("(;SZ[5];B[aa](;W[bb])(;W[cc];?", ["aa bb", "aa cc"]),
    ],
)
def test_variations_are_read_in_the_order_of_the_file(text: str, lines: list[str]) -> None:
    main = load_sgf(text.encode())
    found = [main, *load_variations(text.encode(), main, 10)]
    assert [" ".join(format_sgf(move.vertex, 5) for move in each.moves) for each in found] == lines
    assert load_variations(text.encode(), main, 1) == found[1:2]


def test_variations_keep_their_characters_whatever_their_encoding() -> None:
    data = "(;SZ[5]CA[GB18030]PB[围棋](;B[aa])(;B[bb]C[围棋]))".encode("gb18030")
    (variation,) = load_variations(data, load_sgf(data), 10)
    assert (variation.black, variation.comments) == ("围棋", {1: "围棋"})


def test_a_tree_of_too_many_nodes_is_read_up_to_the_limit() -> None:
    data = b"(;SZ[5]" + b"(;B[aa])" * 100_000 + b")"
    assert len(load_variations(data, load_sgf(data), 100_000)) == MAX_NODES - 1
