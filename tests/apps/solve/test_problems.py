"""Files of problems: what is read from them, and what is said of those that cannot be read."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from engine.apps.solve.problems import ProblemError, rank_order, read_problems
from engine.color import BLACK, WHITE
from engine.vertex import parse_vertex
from tests.apps.solve.problems import CAPTURE, CAPTURE_BY_WHITE, entry, write
from tests.shared import require_shared

GOOD = entry(CAPTURE, "E4", id="first")


def without(key: str) -> dict[str, Any]:
    """Return the good line without a key."""
    return {name: value for name, value in GOOD.items() if name != key}


@pytest.mark.parametrize("name", ["some.jsonl", "some.jsonl.gz"])
def test_problems_are_read_in_the_order_of_the_file(tmp_path: Path, name: str) -> None:
    later = entry(CAPTURE_BY_WHITE, "C4", id="second", type="lifeAndDeath", rank="15k")
    first, second = read_problems(write(tmp_path / name, GOOD, "", later))
    assert (first.name, first.size, first.to_play, len(first.black), len(first.white)) == ("first", 7, BLACK, 9, 5)
    assert first.correct == {parse_vertex("E4", 7, 7)}
    assert (first.kind, first.rank) == ("", "")
    assert (second.name, second.to_play, second.kind, second.rank) == ("second", WHITE, "lifeAndDeath", "15k")


def test_a_compressed_file_is_known_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "problems"
    path.write_bytes(gzip.compress(json.dumps(GOOD).encode()))
    assert [each.name for each in read_problems(path)] == ["first"]


def test_the_mark_of_an_editor_of_windows_before_the_first_line_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "problems.jsonl"
    path.write_text(json.dumps(GOOD), encoding="utf-8-sig")
    assert [each.name for each in read_problems(path)] == ["first"]


def test_a_problem_without_id_is_called_by_its_line(tmp_path: Path) -> None:
    assert [each.name for each in read_problems(write(tmp_path / "a.jsonl", "", without("id")))] == ["2"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "expected a JSON object, got '{'"),
        ("[1]", "expected a JSON object, got '[1]'"),
        pytest.param("[" * 200_000, "expected a JSON object, got '[[[", id="nested"),
        (without("size"), "size: expected a number from 1 to 25, got None"),
        (GOOD | {"size": 26}, "size: expected a number from 1 to 25, got 26"),
        (GOOD | {"size": True}, "size: expected a number from 1 to 25, got True"),
        (GOOD | {"to_play": "black"}, "to_play: expected 'B' or 'W', got 'black'"),
        (GOOD | {"to_play": []}, "to_play: expected 'B' or 'W', got []"),
        (GOOD | {"correct": []}, "correct: expected at least one move, got none"),
        (GOOD | {"correct": ["bc", ""]}, "correct: expected points of the board, got a pass"),
        (without("correct"), 'correct: expected a list of points such as "ab", got None'),
        (GOOD | {"B": "ab"}, "B: expected a list of points such as \"ab\", got 'ab'"),
        (GOOD | {"W": ["zz"]}, "W: SGF point 'zz' is outside the 7x7 board"),
        (GOOD | {"B": ["a1"]}, "B: expected an SGF point such as pd, got 'a1'"),
        (GOOD | {"B": [""]}, "expected points of the board as stones, got a pass"),
        (GOOD | {"B": ["aa", "aa"]}, "expected stones that are a position, got A7: occupied"),
        (GOOD | {"B": ["ab", "ba"], "W": ["aa"]}, "expected stones that are a position, got A7: chain without"),
        (GOOD | {"correct": ["cc"]}, "correct: expected legal moves, got C5: occupied"),
        (GOOD | {"rank": 5}, "rank: expected text, got 5"),
        (GOOD, "expected a new id, got 'first', as in line 1"),
    ],
)
def test_a_malformed_line_is_named_with_what_was_expected(tmp_path: Path, line: Any, said: str) -> None:
    path = write(tmp_path / "bad.jsonl", GOOD, line)
    with pytest.raises(ProblemError) as error:
        read_problems(path)
    assert str(error.value).startswith(f"{path}:2: {said}")


def test_a_file_without_problems_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="expected problems"):
        read_problems(write(tmp_path / "empty.jsonl", ""))


@pytest.mark.parametrize("content", [gzip.compress(b"{}" * 500, mtime=0)[:20], b"\xff\xfe\x00", b"\x1f\x8b\x00"])
def test_a_file_that_is_broken_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "broken").write_bytes(content)
    with pytest.raises(ProblemError, match="broken: cannot be read"):
        read_problems(tmp_path / "broken")


def test_ranks_are_ordered_from_weak_to_strong() -> None:
    ranks = ["15k", "9k", "1k", "1d", "6d", "1p", ""]
    assert sorted(set(ranks), key=rank_order) == ranks


def test_every_problem_of_the_collection_is_read() -> None:
    problems = read_problems(require_shared("problems/tsumego.jsonl.gz"))
    assert len(problems) == 1454
    assert sum(1 for each in problems if each.kind == "lifeAndDeath") == 715
    assert {each.size for each in problems} == {5, 19}
