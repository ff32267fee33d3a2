"""What programs answer is read as numbers and vertices, and what cannot be read is None."""

import pytest

from engine.programs.answers import Candidate, parse_analysis, parse_move, parse_raw, parse_score
from engine.vertex import PASS, parse_vertex, policy_index

SIZE = 5
A1 = (SIZE - 1) * SIZE
"""Policy index of A1."""


def vertices(*names: str) -> tuple[int, ...]:
    return tuple(parse_vertex(name, SIZE, SIZE) for name in names)


def test_katago_reports_moves_with_variations_the_root_and_who_owns_what() -> None:
    owned = " ".join(["-0.5"] * SIZE * SIZE)
    answer = parse_analysis(
        "info move A1 visits 9 winrate 0.5 order 0 pv A1\n"
        "info move A1 visits 3 edgeVisits 3 winrate 0.625 scoreLead -1.5 order 0 pv A1 pass C3 pvVisits 3 2 1 "
        "info move pass visits 1 winrate 1 scoreLead 2 order 1 pv pass "
        f"rootInfo winrate 0.75 scoreLead 2 ownership {owned}\n"
        "play A1",
        SIZE,
        SIZE,
    )
    assert answer is not None
    (a1,), (c3,) = vertices("A1"), vertices("C3")
    assert answer.candidates == (Candidate(a1, 3, 0.625, -1.5, (a1, PASS, c3)), Candidate(PASS, 1, 1.0, 2.0, (PASS,)))
    assert (answer.winrate, answer.score, answer.move) == (0.75, 2.0, "A1")
    assert answer.ownership is not None and answer.ownership.tolist() == [-0.5] * SIZE * SIZE


def test_leela_zero_reports_winrates_in_ten_thousandths() -> None:
    answer = parse_analysis("info move A1 visits 3 winrate 6250 prior 100 lcb 6000 order 0 pv A1 C3", SIZE, SIZE)
    assert answer is not None
    assert answer.candidates == (Candidate(*vertices("A1"), 3, 0.625, None, vertices("A1", "C3")),)
    assert (answer.winrate, answer.ownership, answer.move) == (None, None, "")


def test_what_is_no_number_is_unknown() -> None:
    owned = " ".join(["nan"] * SIZE * SIZE)
    answer = parse_analysis(f"info move A1 visits 3 winrate nan scoreLead inf pv A1 ownership {owned}", SIZE, SIZE)
    assert answer is not None
    assert answer.candidates == (Candidate(*vertices("A1"), 3, None, None, vertices("A1")),)
    assert answer.ownership is None


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("B+3.5", 3.5),
        ("W+12.2 (upper bound: 1.5, lower: -20)", -12.2),
        ("0", 0.0),
        ("jigo", 0.0),
        ("B+Resign", None),
        ("", None),
        ("b+7", 7.0),
        ("B+.5", 0.5),
        ("0.0", 0.0),
        ("0.5", None),
        ("Draw.", 0.0),
        ("W+0", 0.0),
        ("score?", None),
    ],
)
def test_scores_are_read_for_black(text: str, score: float | None) -> None:
    assert parse_score(text) == score


@pytest.mark.parametrize(
    ("text", "index"), [("A1", A1), ("pass", SIZE * SIZE), ("PASS", SIZE * SIZE), ("resign", None), ("", None)]
)
def test_moves_are_read_in_any_case(text: str, index: int | None) -> None:
    vertex = parse_move(text, SIZE, SIZE)
    assert (None if vertex is None else policy_index(vertex, SIZE, SIZE)) == index


@pytest.mark.parametrize(
    "text", ["", "symmetry 0", "whiteWin 1 whiteLoss 0 noResult 0 policy 1 2 3", "whiteWin x whiteLoss 0 noResult 0"]
)
def test_an_answer_that_is_cut_off_is_none(text: str) -> None:
    assert parse_raw(text, SIZE, SIZE) is None
    assert parse_analysis(text, SIZE, SIZE) is None


RAW = """symmetry 0
whiteWin {win}
whiteLoss {loss}
noResult 0
whiteScoreSelfplay {score}
policy
0.2 0.2 0.2 0.2
policyPass 0.2
whiteOwnership
{owner} 0.5 0.5 -0.5
"""
SANE = {"win": "0.5", "loss": "0.5", "score": "1.5", "owner": "0.5"}


@pytest.mark.parametrize("field", [{}, *({name: "nan"} for name in SANE), {"win": "0", "loss": "0"}, {"win": "-0.5"}])
def test_numbers_that_are_none_make_a_raw_answer_none(field: dict[str, str]) -> None:
    found = parse_raw(RAW.format(**(SANE | field)), 2, 2)
    assert (found is None) == bool(field)


def test_an_analysis_with_a_word_for_a_number_is_none() -> None:
    assert parse_analysis("info move A1 visits many", SIZE, SIZE) is None
