"""What a run shows of itself: totals, generations and opponents, from its files alone."""

import io
import json
from pathlib import Path

import pytest

from engine.support.elo import fit_ratings
from engine.support.files import claimed
from engine.train.generations import rating
from engine.train.generations.gate import Gate, write_gate
from engine.train.generations.rating import MatchLine, write_line
from engine.train.generations.zero_cli import write_reports
from engine.train.generations.zero_config import config_of_run, keep_config
from engine.train.generations.zero_progress import rate, read_progress, warnings
from engine.train.generations.zero_report import sheets, status, write_report
from engine.train.generations.zero_state import State, add_step, write_state


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a run that has come to the self-play of generation 3."""
    for generation in (1, 2):
        play = {"games": 200, "samples": 3000, "sitting_games": 100, "sitting_evaluations": 10_000, "hours": 0.1}
        add_step(tmp_path / "steps.jsonl", State(generation, "selfplay"), play | {"sitting_seconds": 50.0})
        learn = {
            "loss": 3.5 - generation,
            "steps": 16 * generation,
            "sitting_samples": 1000,
            "sitting_seconds": 2.0,
            "hours": 0.2,
        }
        add_step(tmp_path / "steps.jsonl", State(generation, "train"), learn)
    write_gate(tmp_path / "gate.jsonl", Gate(1, 0, True, "sprt", 30, 10))
    write_gate(tmp_path / "gate.jsonl", Gate(2, 1, False, "games", 9, 11))
    write_line(tmp_path / "ratings.jsonl", MatchLine("gen-0001", "gen-0000", 18, 2, hours=0.3))
    write_line(tmp_path / "ratings.jsonl", MatchLine("gen-0001", "rollout-1000", 5, 15, hours=0.3))
    write_line(tmp_path / "ratings.jsonl", MatchLine("gen-0001", "gnugo-1", skipped="gnugo is not installed"))
    (tmp_path / "clock.json").write_text(json.dumps({"selfplay": 5400, "train": 1800}))
    write_state(tmp_path / "state.json", State(3, "selfplay", 1))
    return tmp_path


def test_rates_count_what_a_sitting_did_in_its_time(folder: Path) -> None:
    steps = read_progress(folder).steps
    assert rate(steps, "selfplay", "sitting_games") == 2.0
    assert rate(steps, "selfplay", "sitting_evaluations") == 200.0
    assert rate(steps, "train", "sitting_samples") == 500.0
    assert rate(steps, "gate", "sitting_games") is None


def test_the_tables_say_how_far_how_fast_and_how_strong(folder: Path) -> None:
    run, generations, opponents = sheets(read_progress(folder))
    facts = dict(run.rows)
    assert facts["now"] == "selfplay of generation 3; generation 1 plays"
    assert (facts["hours"], facts["games"], facts["games/s"]) == ("2.00", "400", "2.00")
    assert "selfplay 75 %, train 25 %" in facts["of which"]
    first, second = generations.rows
    assert first[:5] == ("1", "0.20", "200", "3,000", "2.5000")
    assert first[5].startswith("75 % of 40")
    assert first[5].endswith("yes")
    assert second[5].endswith("no")
    assert int(first[6]) > 200
    assert [row[:3] for row in opponents.rows] == [
        ("rollout-1000", "gen-0001", "+5 -15 =0"),
        ("gnugo-1", "gen-0001", "gnugo is not installed"),
    ]


def test_the_report_holds_every_table(folder: Path) -> None:
    write_report(read_progress(folder), "Run 9x9")
    text = (folder / "report.md").read_text()
    assert text.startswith("# Run 9x9\n")
    assert "| rollout-1000 | gen-0001 | +5 -15 =0 |" in text
    assert "| games/s | 2.00 |" in text


def test_ratings_are_fitted_once_for_the_matches_there_are(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fits: list[int] = []
    keep_config(folder, config_of_run(folder, "tiny"))
    monkeypatch.setattr(rating, "fit_ratings", lambda *args, **more: fits.append(1) or fit_ratings(*args, **more))
    write_line(folder / "ratings.jsonl", MatchLine("gen-0002", "gen-0001", 11, 9, hours=0.7))
    for _ in range(2):
        write_reports(folder, io.StringIO())
    assert len(fits) == 1
    assert json.loads((folder / "ratings.json").read_text())["5x5"]["ratings"]["gen-0000"] == [0, 0, 0, 0]
    write_line(folder / "ratings.jsonl", MatchLine("gen-0002", "gen-0000", 15, 5, hours=0.7))
    write_reports(folder, io.StringIO())
    assert len(fits) == 2


def test_a_terminal_shows_a_headline_and_the_same_tables(folder: Path) -> None:
    progress = read_progress(folder)
    first, *tables = status(progress)
    assert str(first).startswith(f"{folder} stopped 0 s ago; `keima zero {folder}` continues it")
    assert [table.row_count for table in tables] == [len(sheet.rows) for sheet in sheets(progress)]  # type: ignore[union-attr]
    with claimed(folder):
        assert status(progress)[0] == f"{folder} is running"


def test_ratings_that_begin_late_name_whom_they_are_above(folder: Path) -> None:
    (folder / "ratings.jsonl").unlink()
    for line in (MatchLine("gen-0050", "rollout-1000", 6, 14), MatchLine("gen-0055", "gen-0050", 12, 8)):
        write_line(folder / "ratings.jsonl", line)
    progress = read_progress(folder)
    run, _, opponents = sheets(progress)
    assert "Elo above gen-0050" in dict(run.rows)
    assert opponents.title == "Fixed opponents (Elo above gen-0050)"
    assert "Elo above gen-0000" not in dict(run.rows)


def test_each_board_has_ratings_of_its_own(folder: Path) -> None:
    keep_config(folder, config_of_run(folder, "tiny"))
    on_seven = [
        MatchLine("gen-0001", "gen-0000", 2, 18, size=7),
        MatchLine("gen-0002", "gen-0001", 5, 15, size=7),
        MatchLine("gen-0002", "gnugo-1", 1, 19, size=7),
    ]
    for line in on_seven:
        write_line(folder / "ratings.jsonl", line)
    progress = read_progress(folder)
    run, generations, small, large = sheets(progress)
    assert generations.columns[6:] == ("Elo on 5x5", "Elo on 7x7")
    first, second = generations.rows
    assert int(first[6]) > 200
    assert int(first[7]) < -200
    assert second[6] == "", "it was not rated there"
    assert dict(run.rows)["Elo above gen-0000 on 7x7"].endswith(f"for generation 2, {_more(second, first)} since 1")
    assert (small.title, large.title) == (
        "Fixed opponents on 5x5 (Elo above gen-0000)",
        "Fixed opponents on 7x7 (Elo above gen-0000)",
    )
    assert [row[:3] for row in large.rows] == [("gnugo-1", "gen-0002", "+1 -19 =0")]
    assert "generation 2 is weaker than generation 0 on 7x7" in warnings(progress)
    pytest.importorskip("matplotlib")
    write_reports(folder, io.StringIO())
    assert json.loads((folder / "ratings.json").read_text()).keys() == {"5x5", "7x7"}
    assert (folder / "progress.png").stat().st_size > 0


def _more(later: tuple[str, ...], earlier: tuple[str, ...]) -> str:
    return f"{int(later[7]) - int(earlier[7]):+d}"


def test_the_komi_of_each_board_that_was_played_on_is_shown(folder: Path) -> None:
    sizes = ["selfplay.sizes=[5, 7, 6]", "run.sizes_from=[1, 9, 2]", "run.fair_komi_rate=0.5"]
    keep_config(folder, config_of_run(folder, "tiny", sizes))
    play = {"games": 9, "samples": 9, "black_win_rate": 0.5, "komi": 2.5, "komis": [2.5, 9.0, -1.0]}
    add_step(folder / "steps.jsonl", State(3, "selfplay"), play | {"hours": 0.3, "sitting_seconds": 1.0})
    assert dict(sheets(read_progress(folder))[0].rows)["Black won"] == "50.0%, mean komi 2.5 on 5x5, -1.0 on 6x6"


def test_without_fixed_opponents_there_is_no_table_of_them(folder: Path) -> None:
    (folder / "ratings.jsonl").unlink()
    write_line(folder / "ratings.jsonl", MatchLine("gen-0002", "gen-0000", 6, 4))
    assert len(sheets(read_progress(folder))) == 2


def test_nothing_is_under_way_in_a_complete_run(folder: Path) -> None:
    keep_config(folder, config_of_run(folder, "tiny", generations=4))
    assert "now" in dict(sheets(read_progress(folder))[0].rows)
    keep_config(folder, config_of_run(folder, generations=2))
    assert "now" not in dict(sheets(read_progress(folder))[0].rows)


def test_a_run_that_has_not_begun_has_a_report(tmp_path: Path) -> None:
    run, generations = sheets(read_progress(tmp_path))
    assert dict(run.rows)["hours"] == "0.00"
    assert generations.rows == ()
