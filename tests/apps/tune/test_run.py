"""`keima tune` tries sets, compares the best one on held positions, plays games, and continues where it was stopped."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("optuna", reason="optuna is not installed")

import keima
from engine.support.run_kinds import TUNE
from tests.apps.quality.records import SIZE, file_of

LIMITS = ["--visits", "8,16", "--positions", "4", "--held", "3", "--reference-visits", "40"]
QUICK = ["tune", "--net", "none", "--threads", "1", "--size", str(SIZE), *LIMITS]
SETS = ["--set", "c_puct=0.3..4:log", "--set", "rave_bias=0.001..0.1:log"]


@pytest.fixture
def records(tmp_path: Path) -> list[str]:
    """Return the option with records of random games."""
    return ["--records", str(file_of(tmp_path, 60))]


def run(*arguments: str) -> str:
    """Return what the command prints."""
    result = CliRunner().invoke(keima.main, [*QUICK, *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file of results by its path."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.jsonl"))}


def test_a_run_reports_the_best_set_beside_the_default(tmp_path: Path, records: list[str]) -> None:
    out = tmp_path / "out"
    found: dict[str, Any] = json.loads(
        run(*SETS, *records, "--trials", "3", "--confirm", "4", "--out", str(out), "--json")
    )
    trials = [json.loads(line) for line in (out / "trials.jsonl").read_text().splitlines()]
    assert [each["trial"] for each in trials] == [1, 2, 3]
    assert all(0.3 <= each["set"]["c_puct"] <= 4 for each in trials)
    assert all(each["loss"] == pytest.approx(sum(each["winrate"].values()) / 2, abs=1e-7) for each in trials)
    assert found["best"]["values"] == min(trials, key=lambda each: each["loss"])["set"]
    assert [each["visits"] for each in found["held"]] == [8, 16]
    for each in found["held"]:
        difference = each["best"]["winrate"][0] - each["default"]["winrate"][0]
        assert each["difference"]["winrate"][0] == pytest.approx(difference, abs=2e-6)
    assert [sum(each["counts"]) for each in found["games"]] == [4, 4]
    assert (out / "tune.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((out / "report.json").read_text()) == found
    assert TUNE.is_in(out)


def test_the_same_command_again_changes_nothing_and_more_trials_extend_the_run(
    tmp_path: Path, records: list[str]
) -> None:
    out = tmp_path / "out"
    command = [*SETS, *records, "--out", str(out)]
    shown = run(*command, "--trials", "2")
    before = contents(out)
    assert run(*command, "--trials", "2") == shown
    assert contents(out) == before
    run(*command, "--trials", "3")
    assert contents(out)["trials.jsonl"].startswith(before["trials.jsonl"])
    assert contents(out)["trials.jsonl"].count(b"\n") == 3


def test_games_are_played_though_no_positions_are_held(tmp_path: Path, records: list[str]) -> None:
    out = ["--out", str(tmp_path / "out")]
    found = json.loads(run(*SETS, *records, "--trials", "1", "--held", "0", "--confirm", "4", *out, "--json"))
    assert [sum(each["counts"]) for each in found["games"]] == [4, 4]


def test_a_run_that_was_killed_ends_as_one_that_was_not(tmp_path: Path, records: list[str]) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    run(*SETS, *records, "--trials", "3", "--out", str(whole))
    run(*SETS, *records, "--trials", "1", "--out", str(killed))
    torn = (whole / "trials.jsonl").read_bytes().splitlines(keepends=True)[1][:20]
    with (killed / "trials.jsonl").open("ab") as file:
        file.write(torn)
    run(*SETS, *records, "--trials", "3", "--out", str(killed))
    assert (killed / "trials.jsonl").read_bytes() == (whole / "trials.jsonl").read_bytes()
    reports = [json.loads((each / "report.json").read_text()) for each in (whole, killed)]
    assert reports[0] == reports[1]


@pytest.mark.slow
def test_two_processes_find_what_one_finds(tmp_path: Path, records: list[str]) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for out, jobs in ((one, "1"), (two, "2")):
        run(*SETS, *records, "--trials", "2", "--confirm", "4", "--jobs", jobs, "--out", str(out))
    reports = [json.loads((each / "report.json").read_text()) for each in (one, two)]
    assert reports[0] == reports[1]
    assert (one / "trials.jsonl").read_bytes() == (two / "trials.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name at least one parameter to tune"),
        (["--set", "c_puct=1.5"], "name at least one parameter to tune"),
        (["--set", "nothing"], "unknown setting 'nothing'"),
        ([*SETS, "--confirm", "3"], "expected an even number"),
        ([*SETS, "--reference-visits", "16"], "--reference-visits: expected more than the 16 of --visits, got 16"),
        ([*SETS, "--positions", "4000"], "the records have"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, records: list[str], arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(keima.main, [*QUICK, *records, "--out", str(tmp_path / "out"), *arguments])
    assert result.exit_code != 0
    assert message in result.output


def test_a_folder_of_another_run_is_refused(tmp_path: Path, records: list[str]) -> None:
    out = ["--out", str(tmp_path / "out")]
    run("--set", "c_puct=1..2", *records, "--trials", "1", *out)
    result = CliRunner().invoke(keima.main, [*QUICK, "--set", "c_puct=1..3", *records, "--trials", "1", *out])
    assert result.exit_code == 1
    assert "ranges was {'c_puct': '1..2'} there" in result.output
