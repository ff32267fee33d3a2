"""What a run's answers come to."""

from pathlib import Path

from engine.apps.solve.plot import plot
from engine.apps.solve.report import groupings, progress_text, rank_bands, summary, total
from engine.apps.solve.settings import SolveSettings
from engine.apps.solve.solver import Answer
from engine.support.elo import wilson_interval


def answer(number: int, kind: str, rank: str, *solved: bool, stones: int = 12) -> Answer:
    """Return an answer at 1 and 100 visits."""
    return Answer(f"p{number}", kind, rank, 19, "BW"[number % 2], stones, (1, 100), ("aa", "ab"), solved, 0.5)


ANSWERS = [
    answer(0, "capture", "12k", True, True),
    answer(1, "capture", "12k", False, True),
    answer(2, "lifeAndDeath", "3d", False, False),
    answer(3, "", "", False, True),
]


def test_shares_have_wilson_intervals() -> None:
    assert total(ANSWERS).solved == (wilson_interval(1, 4), wilson_interval(3, 4))


def test_answers_are_grouped_by_kind_and_rank() -> None:
    by_kind, by_rank = groupings(ANSWERS)
    assert [(row.label, row.problems) for row in by_kind.rows] == [("capture", 2), ("lifeAndDeath", 1), ("unknown", 1)]
    assert [(row.label, row.problems) for row in by_rank.rows] == [("12k", 2), ("3d", 1), ("unknown", 1)]
    assert [round(share.value, 9) for share in by_kind.rows[0].solved] == [0.5, 1.0]


def test_without_kinds_and_ranks_answers_are_grouped_by_what_is_seen() -> None:
    answers = [answer(0, "", "", True, True, stones=9), answer(1, "", "", True, True, stones=100)]
    by_stones, by_color = groupings(answers)
    assert [row.label for row in by_stones.rows] == ["0 to 9", "100 to 109"]
    assert (by_color.title, [row.label for row in by_color.rows]) == ("to play", ["B", "W"])


def test_bands_of_ranks_leave_out_the_unknown() -> None:
    ranks = ["15k", "10k", "9k", "5k", "4k", "1k", "1d", "3d", "4d", "9p", "", "odd"]
    rows = rank_bands([answer(0, "", rank, True, True) for rank in ranks]).rows
    assert [(row.label, row.problems) for row in rows] == [
        ("10k and below", 2),
        ("9k to 5k", 2),
        ("4k to 1k", 2),
        ("1d to 3d", 2),
        ("4d and above", 2),
    ]


def test_progress_tells_the_shares_so_far() -> None:
    assert progress_text(ANSWERS, 9) == "4/9 problems: 25.0% at 1, 75.0% at 100"
    assert progress_text([], 9) == "0/9 problems"


def test_the_summary_has_every_group_and_the_settings(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text("{}\n")
    found = summary(ANSWERS, SolveSettings(tmp_path / "p.jsonl", (1, 100), network="some", identity="some net"))
    assert found["settings"]["network"] == "some net"
    assert found["all"] == {"problems": 4, "solved": {"1": [*wilson_interval(1, 4)], "100": [*wilson_interval(3, 4)]}}
    assert list(found["by rank"]) == ["12k", "3d", "unknown"]
    assert found["seconds"] == 2.0


def test_the_plot_is_a_picture_with_a_panel_a_grouping() -> None:
    many = [answer(number, "capture", "12k", True, True) for number in range(12)]
    picture = plot(many, "some problems")
    assert picture.startswith(b"\x89PNG\r\n")
    width, height = int.from_bytes(picture[16:20], "big"), int.from_bytes(picture[20:24], "big")
    assert width > 2 * height
