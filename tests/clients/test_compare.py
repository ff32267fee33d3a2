"""What docs/compare.md says that KataGo can do, and what it cannot, is so.

KEIMA_KATAGO: see test_katago.
"""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.clients.test_katago import katago
from tests.clients.test_raw_nn import NETS
from tests.compared import NO, gtp_commands, json_options, lines
from tests.shared import require_shared

pytestmark = pytest.mark.clients
GTP_CONFIG = """
logDir = logs
logToStderr = false
logAllGTPCommunication = false
logSearchInfo = false
rules = tromp-taylor
maxVisits = 4
numSearchThreads = 1
nnMaxBatchSize = 4
"""
ANALYSIS_CONFIG = """
logDir = logs
logToStderr = false
numAnalysisThreads = 1
numSearchThreadsPerAnalysisThread = 1
nnMaxBatchSize = 4
maxVisits = 4
reportAnalysisWinratesAs = BLACK
"""
HUMAN = {"kata-set-param humanSLProfile rank_8k"}
"""Commands for which KataGo must have a human network."""


def run(mode: str, config: str, given: list[str], folder: Path, setting: str = "") -> list[str]:
    """Return what KataGo writes, in parts that an empty line ends for GTP, in lines otherwise.

    setting: of -override-config.
    """
    (folder / "katago.cfg").write_text(config, encoding="ascii")
    command = [katago(), mode, "-model", str(require_shared(f"nets/{NETS[0]}")), "-config", "katago.cfg"]
    command += ["-override-config", setting] if setting else []
    done = subprocess.run(
        command, cwd=folder, input="\n".join([*given, ""]), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nused key" not in done.stderr
    return [part for part in done.stdout.split("\n\n" if mode == "gtp" else "\n") if part.strip()]


def test_katago_answers_what_the_tables_say_that_it_answers(tmp_path: Path) -> None:
    commands = sorted({each for line in lines() for each in gtp_commands(line.katago)} - HUMAN)
    assert len(commands) > 20
    for command in commands:
        parts = run("gtp", GTP_CONFIG, ["boardsize 9", "clear_board", command, "quit"], tmp_path)
        assert len(parts) >= 3, command
        assert all(part.lstrip().startswith(("=", "info")) for part in parts), (command, parts)


def test_katago_takes_the_settings_of_the_tables(tmp_path: Path) -> None:
    settings = [found for line in lines() for found in re.findall(r"-override-config ([^` ]+)", line.katago)]
    assert len(settings) == 3
    for setting in settings:
        assert len(run("gtp", GTP_CONFIG, ["quit"], tmp_path, setting)) == 1


def test_katago_does_not_know_what_the_tables_say_that_only_keima_knows(tmp_path: Path) -> None:
    lacking = [line for line in lines() if line.katago.startswith(NO)]
    commands = sorted({each for line in lacking for each in gtp_commands(line.keima)})
    assert "keima-prove b" in commands
    for command in commands:
        parts = run("gtp", GTP_CONFIG, [command, "quit"], tmp_path)
        assert parts[0].startswith("?"), (command, parts)


def test_katago_knows_the_options_of_the_json_analysis(tmp_path: Path) -> None:
    cells = [options for line in lines() for options in json_options(line.katago)]
    assert cells
    asked = {"id": "q", "moves": [], "rules": "tromp-taylor", "boardXSize": 9, "boardYSize": 9, "maxVisits": 4}
    queries = [json.dumps(asked | json.loads(f"{{{options}}}")) for options in cells]
    found = [json.loads(line) for line in run("analysis", ANALYSIS_CONFIG, queries, tmp_path)]
    assert len(found) >= len(queries)
    assert not [each for each in found if "error" in each or "warning" in each]
