"""GoGui's own match program drives Keima against GNU Go, with GNU Go as the referee.

GOGUI_TWOGTP is the command of gogui-twogtp, such as `gogui-twogtp` or
`java -cp CLASSES net.sf.gogui.tools.twogtp.Main`.
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.clients
ROOT = Path(__file__).resolve().parent.parent.parent
GAMES = 4
VISITS = 50


def require(program: str | None, what: str) -> str:
    """Return the command, or skip the running test."""
    return program or pytest.skip(f"{what} is not here")


def results(path: Path) -> list[dict[str, str]]:
    """Return the rows of a twogtp result file by their column names."""
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    names = next(line[1:].split("\t") for line in reversed(lines) if line.startswith("#GAME"))
    return [dict(zip(names, row, strict=False)) for row in rows]


@pytest.mark.parametrize("size", [9, 13])
def test_twogtp_plays_a_match_without_errors(tmp_path: Path, size: int) -> None:
    twogtp = require(os.environ.get("GOGUI_TWOGTP") or shutil.which("gogui-twogtp"), "GoGui (set GOGUI_TWOGTP)")
    gnugo = require(shutil.which("gnugo", path=f"{os.environ['PATH']}{os.pathsep}/usr/games"), "GNU Go")
    keima = shlex.join([sys.executable, str(ROOT / "keima.py"), "gtp", "--visits", str(VISITS)])
    opponent = shlex.join([gnugo, "--mode", "gtp", "--chinese-rules", "--level", "1"])
    match = {
        "-black": keima,
        "-white": opponent,
        "-referee": opponent,
        "-size": str(size),
        "-komi": "7.5",
        "-games": str(GAMES),
        "-time": "60s+5s/1",
        "-sgffile": "match",
    }
    arguments = [each for pair in match.items() for each in pair]
    command = [*shlex.split(twogtp), "-auto", "-alternate", *arguments]
    played = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=1500)
    assert played.returncode == 0, played.stderr
    rows = results(tmp_path / "match.dat")
    for row in rows:
        print(size, {name: row[name] for name in ("GAME", "RES_B", "RES_W", "RES_R", "LEN", "TIME_B", "TIME_W", "ERR")})
    assert len(rows) == GAMES
    assert [(row["ERR"], row.get("ERR_MSG", "")) for row in rows] == [("0", "")] * GAMES
    assert all(row["RES_R"].startswith(("B+", "W+")) for row in rows)
