"""What `json_text` writes is valid JSON, whatever the numbers are."""

import json
import math
from typing import Any

import pytest

from engine.support.json_text import json_page, json_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (math.nan, "null"),
        ([1.5, -math.inf, {"share": (math.inf, 2)}], '[1.5, null, {"share": [null, 2]}]'),
        ({"a": 1.0, "b": None, "c": "NaN"}, '{"a": 1.0, "b": null, "c": "NaN"}'),
    ],
)
def test_a_number_that_is_not_finite_becomes_null(value: Any, text: str) -> None:
    assert json_text(value) == text


def test_options_hold_with_and_without_nulls() -> None:
    for value in (1.0, math.nan):
        assert json_text({"b": value, "a": "桂"}, sort_keys=True, ensure_ascii=False).startswith('{"a": "桂", "b": ')


def test_a_page_has_members_and_elements_of_lists_on_lines_of_their_own() -> None:
    value = {"name": "桂", "none": [], "moves": [{"pv": ["D4", "Q16"]}, {"pv": []}], "size": {"width": 9}}
    text = json_page(value)
    assert json.loads(text) == value
    assert text.splitlines()[2:5] == [' "none": [],', ' "moves": [', '  {"pv": ["D4", "Q16"]},']
    assert json.loads(json_page({"loss": [math.nan]})) == {"loss": [None]}


def test_the_value_itself_is_not_changed() -> None:
    value = {"losses": [math.inf]}
    assert json.loads(json_text(value)) == {"losses": [None]}
    assert value == {"losses": [math.inf]}
