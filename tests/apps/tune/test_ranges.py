"""The parameters that `keima tune --set` names: ranges from the text or the table, fixed values, errors."""

import pytest

from engine.apps.tune.ranges import Range, as_texts, read_ranges
from engine.errors import GoError
from engine.settings.setting import Kind

NUMBER = Kind.NUMBER


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("c_puct=0.5..3", Range("c_puct", NUMBER, 0.5, 3.0)),
        ("c_puct=0.5..3:log", Range("c_puct", NUMBER, 0.5, 3.0, log=True)),
        ("c_puct=.5..3.:linear", Range("c_puct", NUMBER, 0.5, 3.0)),
        ("c_puct = 1 .. 2", Range("c_puct", NUMBER, 1.0, 2.0)),
        ("c_puct", Range("c_puct", NUMBER, 0.0, 10.0)),
        ("c_puct_base", Range("c_puct_base", NUMBER, 10.0, 100000.0, log=True)),
        ("root_symmetries", Range("root_symmetries", Kind.INTEGER, 1, 8)),
        ("uses_lcb", Range("uses_lcb", Kind.TRUTH, choices=(False, True))),
    ],
)
def test_a_range_is_that_of_the_text_or_of_the_table(text: str, expected: Range) -> None:
    assert read_ranges([text]) == ((expected,), {})


def test_one_value_fixes_a_parameter() -> None:
    assert read_ranges(["c_puct=1.5", "uses_lcb=false"]) == ((), {"c_puct": "1.5", "uses_lcb": "false"})


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["nothing=1..2"], "unknown setting 'nothing'"),
        (["c_puct=1..2", "c_puct"], "c_puct is set twice"),
        (["c_puct=2..1"], "expected LOW below HIGH"),
        (["c_puct=0..1:log"], "both above 0"),
        (["c_puct=1..11"], "a number from 0 to 10, got '11'"),
        (["c_puct=1..2:cubic"], "expected NAME"),
        (["root_symmetries=1..2.5"], "an integer from 1 to 8, got '2.5'"),
        (["uses_lcb=0..1"], "uses_lcb is true or false and has no range"),
        (["human_profile"], "human_profile is a human profile and has no range"),
        (["c_puct=many"], "a number from 0 to 10, got 'many'"),
    ],
)
def test_what_makes_no_sense_is_refused(texts: list[str], message: str) -> None:
    with pytest.raises(GoError, match=message):
        read_ranges(texts)


def test_values_are_rounded_within_the_range() -> None:
    narrow = Range("c_puct", NUMBER, 1.23456, 1.23457)
    assert narrow.rounded(1.234565) == 1.23457
    assert Range("c_puct", NUMBER, 0.0, 10.0).rounded(1.234565) == 1.235


def test_a_set_is_written_as_set_takes_it() -> None:
    values = {"c_puct": 1.25, "uses_lcb": False, "root_symmetries": 8}
    assert as_texts(values) == "c_puct=1.25 uses_lcb=false root_symmetries=8"
    assert read_ranges(as_texts(values).split())[1].keys() == values.keys()
