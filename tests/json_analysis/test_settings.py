"""Configurations of KataGo's analysis engine are read, and its command line is understood."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from engine.errors import GoError
from gtp.json_analysis.cli import analysis
from gtp.json_analysis.query import parse_query
from gtp.json_analysis.settings import Settings, overridden
from gtp.katago_config import parse_assignments, read_assignments
from gtp.state import Perspective
from tests.json_analysis.talk import SECONDS, SETTINGS, query

ROOT = Path(__file__).resolve().parent.parent.parent
CONFIG = """\
# A comment
logDir = analysis_logs  # and another
reportAnalysisWinratesAs = SIDETOMOVE
maxVisits = 3
numAnalysisThreads=2

cpuctExploration = "1.25"
"""


def test_a_configuration_is_read(tmp_path: Path) -> None:
    file = tmp_path / "analysis.cfg"
    file.write_text(CONFIG)
    given = read_assignments(file)
    assert given["numAnalysisThreads"] == "2"
    settings, unused = overridden(SETTINGS, given)
    assert (settings.visits, settings.perspective, settings.params.c_puct) == (3, Perspective.SIDETOMOVE, 1.25)
    assert unused == ["logDir", "numAnalysisThreads"]


def test_what_a_session_alone_knows_means_nothing_in_a_query() -> None:
    settings, unused = overridden(SETTINGS, {"ponderingEnabled": "true", "lagBuffer": "1"})
    assert (settings, unused) == (SETTINGS, ["ponderingEnabled", "lagBuffer"])


def test_a_querys_root_temperature_counts_at_the_start_of_the_game_too() -> None:
    given = query(rootPolicyTemperature=2.0, overrideSettings={"rootPolicyTemperatureEarly": 1.25})
    (task,) = parse_query(given, SETTINGS, (2, 25), lambda *_: None, lambda *_: None)
    assert (task.params.root_policy_temperature, task.params.early_root_policy_temperature) == (2.0, 2.0)


def test_the_defaults_are_those_of_katagos_example() -> None:
    settings = Settings(SETTINGS.params)
    assert (settings.visits, settings.perspective, settings.pv_length) == (500, Perspective.BLACK, 15)


def test_the_command_line_adds_lines() -> None:
    assert parse_assignments("maxVisits=5, wideRootNoise = 0.1") == {"maxVisits": "5", "wideRootNoise": "0.1"}


@pytest.mark.parametrize("text", ["maxVisits", "= 5", "[search]"])
def test_a_line_that_assigns_nothing_is_an_error(text: str, tmp_path: Path) -> None:
    file = tmp_path / "analysis.cfg"
    file.write_text(f"# first\n{text}\n")
    with pytest.raises(GoError, match="line 2: expected key = value"):
        read_assignments(file)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-config", "absent.cfg"], "absent.cfg"),
        (["-override-config", "cpuctExploration=much"], "cpuctExploration 'much'"),
        (["-override-config", "numAnalysisThreads=0"], "numAnalysisThreads: expected an integer from 1 to 16384"),
        (["-analysis-threads", "0"], "analysis-threads"),
        (["--set", "nonsense=1"], "unknown setting 'nonsense'"),
        (["--human-profile", "rank_5k"], "--human-profile is for human networks"),
    ],
)
def test_a_wrong_option_is_one_line(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(analysis, arguments)
    assert result.exit_code != 0
    assert message in result.output
    assert "Traceback" not in result.output


def start(*options: str) -> list[str]:
    """Return the command line of a quick engine."""
    return [sys.executable, str(ROOT / "keima.py"), "analysis", *options]


@pytest.mark.skipif(sys.platform == "win32", reason="cannot poll pipes")
def test_a_client_that_closes_both_pipes_ends_the_program_in_the_middle_of_its_query() -> None:
    with subprocess.Popen(start(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write(json.dumps(query(maxVisits=1 << 50, firstReportDuringSearchAfter=0.01)).encode() + b"\n")
        program.stdin.flush()
        assert json.loads(program.stdout.readline())["isDuringSearch"] is True
        program.stdout.close()
        program.stdin.close()
        try:
            assert program.wait(SECONDS) == 0
        finally:
            program.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends a process without asking it")
def test_a_program_that_is_ended_by_a_signal_writes_what_it_remembers(tmp_path: Path) -> None:
    file = tmp_path / "remembered"
    options = ["--net", "none", "--eval-cache", str(file)]
    with subprocess.Popen(start(*options), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write(json.dumps(query(maxVisits=300)).encode() + b"\n")
        program.stdin.flush()
        assert json.loads(program.stdout.readline())["rootInfo"]["visits"] == 300
        program.terminate()
        assert program.wait(SECONDS) == 130
    assert file.stat().st_size > 100


def test_the_program_answers_on_stdout_with_katagos_options_and_nothing_else(tmp_path: Path) -> None:
    config, other = tmp_path / "analysis.cfg", tmp_path / "more.cfg"
    config.write_text(CONFIG)
    other.write_text("maxVisits = 4\nlogFile = x\n")
    options = [
        "-config",
        str(config),
        "-config",
        str(other),
        "-override-config",
        "homeDataDir=x,maxVisits=2",
        "-quit-without-waiting",
    ]
    lines = [json.dumps({"id": "v", "action": "query_version"}), json.dumps(query()), json.dumps(query(boardXSize=29))]
    with subprocess.Popen(
        start(*options), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdin.write("\n".join(lines) + "\n")
        program.stdin.flush()
        found = {(each["id"], "error" in each): each for each in (json.loads(program.stdout.readline()) for _ in lines)}
        program.stdin.close()
        assert program.stdout.read() == ""
        reported = program.stderr.read()
    assert program.returncode == 0
    assert found["q", False]["rootInfo"]["visits"] == 2
    assert found["q", True]["field"] == "boardXSize"
    assert "ready to begin handling requests: 2 positions at a time" in reported
    for key in ("logDir", "logFile", "homeDataDir"):
        assert f"keima: {key} has no effect: Keima writes no log files" in reported


def test_a_network_that_is_not_there_is_reported_on_stderr_and_the_program_ends() -> None:
    done = subprocess.run(
        start("-model", "absent.bin.gz"), input="", capture_output=True, text=True, timeout=240, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "absent.bin.gz" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_benchmark_reports_both_ways(tmp_path: Path) -> None:
    file = tmp_path / "queries.jsonl"
    file.write_text("\n".join(json.dumps(query(moves=[["B", name]], maxVisits=2)) for name in ("A1", "B2", "C3")))
    done = subprocess.run(start("--benchmark", str(file)), capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    head, alone, together, gain = done.stdout.splitlines()
    assert head == "3 positions"
    assert alone.startswith("one by one")
    assert "at a time" in together
    assert float(gain.split()[1]) > 0
