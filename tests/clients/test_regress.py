"""gogui-regress runs GNU Go's and Pachi's suites against Keima; only GNU Go's reading commands are unknown.

GOGUI_REGRESS is the command of gogui-regress, such as `gogui-regress` or
`java -cp CLASSES net.sf.gogui.tools.regress.Main`.
"""

import shlex
import sys
from pathlib import Path

import pytest

from tests.clients.regress import ARCHIVE, pachi_suite, regress_command, run, table, unpack
from tests.shared import require_shared

pytestmark = pytest.mark.clients
ROOT = Path(__file__).resolve().parent.parent.parent
NET = "nets/g170-b6c96-s175395328-d26788732.bin.gz"
READING = {"attack", "defend", "owl_attack", "owl_defend", "dragon_status", "same_dragon", "eval_eye"}
SUITES = {"9x9": 0.5, "blunder": 0.5, "tiny": 0.4, "viking": 0.5, "pachi-fixed": 0.6}
"""Small suites, and the share of right answers below which something is broken."""


def test_scripts_of_pachi_become_suites() -> None:
    script = "boardsize 9\nplay b e5\ntunit genmove W  d4 pass\ntunit genmove b !A1 !b2\ngenmove b\n"
    expected = "boardsize 9\nplay b e5\n10 reg_genmove W\n#? [(D4|PASS)]\n20 reg_genmove b\n#? [!(A1|B2)]\n\n"
    assert pachi_suite(script) == expected
    assert pachi_suite("tunit genmove w A1\n", "*") == "10 reg_genmove w\n#? [(A1)]*\n\n"
    assert pachi_suite("boardsize 9\ngenmove b\n") == ""


def test_suites_are_understood_and_most_answers_are_right(tmp_path: Path) -> None:
    command = regress_command() or pytest.skip("needs GOGUI_REGRESS, the command of gogui-regress")
    archive = require_shared(str(ARCHIVE.relative_to(ARCHIVE.parent.parent)))
    engine = shlex.join([sys.executable, str(ROOT / "keima.py"), "--net", str(require_shared(NET)), "--visits", "30"])
    suites = [path for path in unpack(archive, tmp_path / "suites") if path.stem in SUITES]
    assert {path.stem for path in suites} == set(SUITES)
    found = [run(command, engine, path, tmp_path / "out") for path in suites]
    print(table(found))
    for each in found:
        assert each.unknown.keys() <= READING
        assert 0 < each.asked <= each.tests
        assert each.passed >= SUITES[each.name] * each.asked, each
