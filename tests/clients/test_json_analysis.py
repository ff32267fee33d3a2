"""The analysis protocol as its programs know it: KataGo answers with the same fields, KaTrain's engine class works.

KEIMA_KATAGO: see test_katago. KEIMA_KATRAIN is a Python that has the package katrain; without it this one is tried.
"""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.clients.test_katago import katago
from tests.shared import require_shared

pytestmark = pytest.mark.clients
ROOT = Path(__file__).resolve().parent.parent.parent
KEIMA = [sys.executable, str(ROOT / "keima.py"), "analysis"]
NET = "nets/g170-b6c96-s175395328-d26788732.bin.gz"
CONFIG = """
logToStderr = false
logDir = logs
reportAnalysisWinratesAs = BLACK
numAnalysisThreads = 1
numSearchThreadsPerAnalysisThread = 1
nnRandomize = false
nnMaxBatchSize = 4
nnCacheSizePowerOfTwo = 14
nnMutexPoolSizePowerOfTwo = 10
ignorePreRootHistory = false
wideRootNoise = 0
"""
GAME = {"moves": [["B", "D4"], ["W", "C6"], ["B", "G7"]], "boardXSize": 9, "boardYSize": 9, "komi": 7.5}
PLAIN = {"id": "plain", "rules": "tromp-taylor", "maxVisits": 30} | GAME
FULL = PLAIN | {"id": "full", "includePolicy": True, "includeOwnership": True, "includeOwnershipStdev": True}
FULL |= {"includeMovesOwnership": True, "includeMovesOwnershipStdev": True, "includePVVisits": True}
FULL |= {"includeNoResultValue": True, "analyzeTurns": [0, 3], "maxVisits": 2}
LINES: list[Any] = [
    PLAIN,
    FULL,
    {"id": "version", "action": "query_version"},
    {"id": "models", "action": "query_models"},
    {"id": "cache", "action": "clear_cache", "more": {"b": [1.5, None]}},
    {"id": "end", "action": "terminate", "terminateId": "nobody", "turnNumbers": [3]},
    {"id": "none", "action": "dance"},
    PLAIN | {"id": "large", "boardXSize": 29},
    PLAIN | {"id": "typo", "maxVisit": 3, "maxVisits": 1},
    PLAIN | {"id": "setting", "overrideSettings": {"foo": 1}, "maxVisits": 1},
    PLAIN | {"id": "illegal", "moves": [["B", "D4"], ["W", "D4"]]},
    PLAIN | {"id": "rules", "rules": "martian"},
    PLAIN | {"id": "player", "moves": [["X", "D4"]]},
    PLAIN | {"id": "avoid", "avoidMoves": [{"player": "B"}]},
    {"moves": []},
    [1],
]


def answers_of(command: list[str], folder: Path) -> dict[str, Any]:
    """Return a program's answers by their id, turn and kind."""
    text = "\n".join(json.dumps(each) for each in LINES) + "\n"
    done = subprocess.run(command, cwd=folder, input=text, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {_name(each): each for each in found}


def _name(answer: dict[str, Any]) -> str:
    """Return the id of an answer, or its error, with its turn and its kind."""
    kinds = [kind for kind in ("error", "warning") if kind in answer]
    return f"{answer.get('id', answer.get('error'))} {answer.get('turnNumber')} {kinds}"


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the answers of KataGo and of Keima to the same lines."""
    folder = tmp_path_factory.mktemp("analysis")
    config, net = folder / "analysis.cfg", require_shared(NET)
    config.write_text(CONFIG, encoding="ascii")
    options = ["-model", str(net), "-config", str(config)]
    exact = ["--precision", "fp32", "--set", "random_symmetries=false"]
    return answers_of([katago(), "analysis", *options], folder), answers_of([*KEIMA, *options, *exact], folder)


def shape(answer: Any) -> Any:
    """Return the fields of an answer and the kinds of their values, of all moves together."""
    if isinstance(answer, dict):
        return {key: shape(value) for key, value in answer.items() if key != "isSymmetryOf"}
    if isinstance(answer, list):
        return [shape(each) for each in answer[:1]]
    return type(answer).__name__


def test_both_answer_with_the_same_fields(both: tuple[dict[str, Any], dict[str, Any]]) -> None:
    katagos, keimas = both
    assert keimas.keys() == katagos.keys()
    for name, answer in katagos.items():
        assert shape(keimas[name]) == shape(answer), name


def test_both_report_errors_in_the_same_words(both: tuple[dict[str, Any], dict[str, Any]]) -> None:
    katagos, keimas = both
    reported = [name for name, answer in katagos.items() if "error" in answer or "warning" in answer]
    assert len(reported) == 10
    differing = [name.split()[0] for name in reported if katagos[name] != keimas[name]]
    assert differing in ([], ["large"])  # programs differ in the largest board


def test_both_see_the_same_in_a_position(both: tuple[dict[str, Any], dict[str, Any]]) -> None:
    for turn in (0, 3):
        katagos, keimas = (each[f"full {turn} []"] for each in both)
        for field in ("thisHash", "symHash"):
            assert keimas["rootInfo"][field] == katagos["rootInfo"][field]
        assert keimas["policy"] == pytest.approx(katagos["policy"], abs=1e-4)
        for field in ("rawWinrate", "rawLead", "rawScoreSelfplay", "rawScoreSelfplayStdev", "rawStWrError"):
            assert keimas["rootInfo"][field] == pytest.approx(katagos["rootInfo"][field], abs=1e-3), field
    katagos, keimas = (each["plain 3 []"] for each in both)
    assert keimas["rootInfo"]["winrate"] == pytest.approx(katagos["rootInfo"]["winrate"], abs=0.03)
    assert keimas["moveInfos"][0]["move"] in [each["move"] for each in katagos["moveInfos"][:3]]


def test_the_engine_class_of_katrain_works_with_keima(tmp_path: Path) -> None:
    python = os.environ.get("KEIMA_KATRAIN", sys.executable)
    environment = os.environ | {"KIVY_HOME": str(tmp_path), "KIVY_NO_ARGS": "1", "PYTHONWARNINGS": "ignore"}
    there = subprocess.run(
        [python, "-c", "import katrain.core.engine"], env=environment, capture_output=True, timeout=120, check=False
    )
    if there.returncode != 0:
        pytest.skip("needs KEIMA_KATRAIN, a Python with the package katrain")
    engine = shlex.join([*KEIMA, "-model", str(require_shared(NET))])
    script = Path(__file__).with_name("katrain_engine.py")
    done = subprocess.run(
        [python, str(script), engine], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    reported = json.loads(done.stdout.splitlines()[-1])
    assert reported["errors"] == []
    assert reported["visits"] == [5, 5, 5, 5, 40]
    assert (reported["ownership"], reported["policy"]) == (81, 82)
    assert reported["candidates"] > 0
    assert 0.0 < reported["winrate"] < 1.0
    assert reported["region"]
    assert all(name[0] in "ABC" and int(name[1:]) <= 3 for name in reported["region"] if name != "pass")
    assert reported["pondered"] > 40
