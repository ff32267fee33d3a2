"""Names of vertices: every one of every size goes there and back, and nothing else is accepted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BadVertex
from engine.vertex import (
    MAX_SIZE,
    PASS,
    array_length,
    format_sgf,
    format_vertex,
    from_policy_index,
    parse_sgf,
    parse_vertex,
    point_at,
    points,
    policy_index,
    row_column,
    stride,
)

sizes = st.tuples(st.integers(1, MAX_SIZE), st.integers(1, MAX_SIZE))


@given(sizes)
def test_every_vertex_survives_every_notation(size: tuple[int, int]) -> None:
    width, height = size
    for index, vertex in enumerate([*points(width, height), PASS]):
        assert policy_index(vertex, width, height) == index
        assert from_policy_index(index, width, height) == vertex
        name = format_vertex(vertex, width, height)
        assert parse_vertex(name, width, height) == parse_vertex(name.lower(), width, height) == vertex
        assert parse_sgf(format_sgf(vertex, width), width, height) == vertex
        if vertex != PASS:
            assert point_at(*row_column(vertex, width), width) == vertex


@pytest.mark.parametrize("size", range(1, MAX_SIZE + 1))
def test_neighbors_of_every_point_are_inside_the_array(size: int) -> None:
    places = points(size, MAX_SIZE + 1 - size)
    step = stride(size)
    length = array_length(size, MAX_SIZE + 1 - size)
    assert all(vertex - step - 1 >= 0 and vertex + step + 1 < length for vertex in places)
    assert PASS not in places
    right_edge = [vertex for vertex in places if row_column(vertex, size)[1] == size - 1]
    assert all(vertex + 1 not in places for vertex in right_edge)


@pytest.mark.parametrize(
    ("text", "row", "column"),
    [("A19", 0, 0), ("T1", 18, 18), ("H10", 9, 7), ("j10", 9, 8), ("Q16", 3, 15), ("A01", 18, 0)],
)
def test_gtp_names(text: str, row: int, column: int) -> None:
    assert row_column(parse_vertex(text, 19, 19), 19) == (row, column)


@pytest.mark.parametrize(
    "text",
    ["", "I5", "A0", "A20", "U1", "A", "5", "AA1", "A1 ", " A1", "A-1", "A+1", "A1.0", "A100", "A\u0661", "A\u00b2",
     "\uff211", "\u01315", "pas", "passs", "resign", "A1\n"],
)  # fmt: skip
def test_what_is_no_gtp_vertex_is_refused(text: str) -> None:
    with pytest.raises(BadVertex):
        parse_vertex(text, 19, 19)


@pytest.mark.parametrize("text", ["a", "abc", "AA", "a1", "zz", "jj", "tt ", "\u00e4a"])
def test_what_is_no_sgf_point_is_refused(text: str) -> None:
    with pytest.raises(BadVertex):
        parse_sgf(text, 9, 9)


def test_pass_has_one_name_each_way() -> None:
    assert parse_vertex("PASS", 9, 9) == parse_vertex("Pass", 9, 9) == parse_sgf("", 9, 9) == PASS
    assert parse_sgf("tt", 19, 19) == PASS
    assert parse_sgf("tt", 20, 20) != PASS
    assert (format_vertex(PASS, 9, 9), format_sgf(PASS, 9)) == ("pass", "")


@given(st.text(max_size=4), sizes)
def test_any_text_is_a_vertex_of_the_board_or_refused(text: str, size: tuple[int, int]) -> None:
    for parse in (parse_vertex, parse_sgf):
        try:
            vertex = parse(text, *size)
        except BadVertex as error:
            assert str(error)
            continue
        assert vertex == PASS or vertex in set(points(*size))
