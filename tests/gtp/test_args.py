"""Reading arguments: what is accepted, and that all else is a syntax error."""

from collections.abc import Callable

import pytest

from engine.color import BLACK, WHITE
from engine.vertex import PASS, point_at
from gtp.args import parse_bool, parse_color, parse_float, parse_int, parse_point, parse_vertex
from gtp.errors import GtpError

ACCEPTED: list[tuple[Callable[[str], object], str, object]] = [
    (parse_color, "b", BLACK),
    (parse_color, "BLACK", BLACK),
    (parse_color, "W", WHITE),
    (parse_color, "White", WHITE),
    (parse_int, "0", 0),
    (parse_int, "-12", -12),
    (parse_int, "+7", 7),
    (parse_float, "7", 7.0),
    (parse_float, "-7.5", -7.5),
    (parse_float, "1e2", 100.0),
    (parse_float, ".5", 0.5),
    (parse_float, "6.", 6.0),
    (parse_bool, "true", True),
    (parse_bool, "FALSE", False),
    (lambda text: parse_vertex(text, 19, 19), "q16", point_at(3, 15, 19)),
    (lambda text: parse_vertex(text, 19, 19), "Q16", point_at(3, 15, 19)),
    (lambda text: parse_vertex(text, 9, 9), "J1", point_at(8, 8, 9)),
    (lambda text: parse_vertex(text, 9, 9), "PASS", PASS),
    (lambda text: parse_vertex(text, 25, 25), "z25", point_at(0, 24, 25)),
]
REFUSED: list[tuple[Callable[[str], object], str]] = [
    *[(parse_color, text) for text in ("", "green", "bl", "blackwhite", "1")],
    *[(parse_int, text) for text in ("", "1.0", "1_0", "1e2", "x", "--1", "٣", "9" * 5000, " 1")],
    *[(parse_float, text) for text in ("", "nan", "inf", "-inf", "1e999", "1_0", "0x1p3", "x", "1,5", "٣", "1e", ".")],
    *[(parse_bool, text) for text in ("", "1", "yes")],
    *[
        (lambda t: parse_vertex(t, 9, 9), text)
        for text in ("", "i5", "k1", "a10", "a0", "5a", "a", "aa1", "a-1", "resign")
    ],
    (lambda text: parse_point(text, 9, 9), "pass"),
    (lambda text: parse_int(text, least=0), "-1"),
    (lambda text: parse_float(text, least=0), "-0.5"),
]


@pytest.mark.parametrize(("parse", "text", "expected"), ACCEPTED)
def test_arguments_are_read(parse: Callable[[str], object], text: str, expected: object) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(("parse", "text"), REFUSED)
def test_other_text_is_a_syntax_error(parse: Callable[[str], object], text: str) -> None:
    with pytest.raises(GtpError, match=r"^syntax error$"):
        parse(text)
