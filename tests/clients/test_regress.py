"""gogui-regress runs GNU Go's and Pachi's suites against Keima; only GNU Go's reading commands are unknown.

GOGUI_REGRESS is the command of gogui-regress, such as `gogui-regress` or
`java -cp CLASSES net.sf.gogui.tools.regress.Main`.
"""

import shlex
import sys
import tarfile
from pathlib import Path

import pytest

from tests.clients.regress import ARCHIVE, main, pachi_suite, regress_command, run, table, unpack
from tests.shared import require_shared

ROOT = Path(__file__).resolve().parent.parent.parent
NET = "nets/g170-b6c96-s175395328-d26788732.bin.gz"
READING = {"attack", "defend", "owl_attack", "owl_defend", "dragon_status", "same_dragon", "eval_eye"}
SUITES = {"9x9": 0.5, "blunder": 0.5, "tiny": 0.4, "viking": 0.5, "pachi-fixed": 0.6}
"""Small suites, and the share of right answers below which something is broken."""

FAKE_REGRESS = """
import pathlib, sys
out, suite = pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[5])
if suite.stem == "broken":
    sys.exit("the program died")
log = "<pre>1 reg_genmove b\\n=1 A1\\n\\n2 attack A1\\n?2 unknown command\\n\\n</pre>"
(out / f"{suite.stem}.out.html").write_text(log)
print("1 passed\\n2 failed: expected '1', got 'unknown command'\\nSummary:")
"""
"""Speaks as gogui-regress does of a suite of two tests, and fails at a suite that is called broken."""


def test_scripts_of_pachi_become_suites() -> None:
    script = "boardsize 9\nplay b e5\ntunit genmove W  d4 pass\ntunit genmove b !A1 !b2\ngenmove b\n"
    expected = "boardsize 9\nplay b e5\n10 reg_genmove W\n#? [(D4|PASS)]\n20 reg_genmove b\n#? [!(A1|B2)]\n\n"
    assert pachi_suite(script) == expected
    assert pachi_suite("tunit genmove w A1\n", "*") == "10 reg_genmove w\n#? [(A1)]*\n\n"
    assert pachi_suite("boardsize 9\ngenmove b\n") == ""


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_suites_side_by_side_give_one_table_in_their_order_without_those_that_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], jobs: str
) -> None:
    suites = tmp_path / "gnugo" / "regression"
    suites.mkdir(parents=True)
    for name in ("one", "broken", "two"):
        (suites / f"{name}.tst").write_text("1 reg_genmove b\n#? [A1]\n2 attack A1\n#? [1]\n")
    with tarfile.open(tmp_path / "suites.tar", "w") as archive:
        archive.add(tmp_path / "gnugo", "gnugo")
    (tmp_path / "fake.py").write_text(FAKE_REGRESS)
    monkeypatch.setenv("GOGUI_REGRESS", shlex.join([sys.executable, str(tmp_path / "fake.py")]))
    options = ["--jobs", jobs, "--archive", str(tmp_path / "suites.tar"), "--out", str(tmp_path / "new" / "out")]
    monkeypatch.setattr(sys, "argv", ["regress", *options])
    assert main() == 1, "a suite that could not be run is no success"
    reported = capsys.readouterr()
    assert "broken.tst: " in reported.err and "the program died" in reported.err
    rows = [line.split() for line in reported.out.splitlines()[1:-1]]
    row = ["2", "1", "2", "1", "1", "100.0%", "1"]
    assert rows == [["one", *row], ["two", *row], ["all", "4", "2", "4", "2", "2", "100.0%", "2"]]
    assert reported.out.splitlines()[-1] == "unknown commands: attack (2)"


@pytest.mark.clients
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
