"""Ogatak's own engine class walks through a game with Keima, and finds each position that it asked for.

KEIMA_OGATAK is a checkout of rooklift/ogatak.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared import require_shared

pytestmark = [
    pytest.mark.clients,
    pytest.mark.skipif(os.name == "nt", reason="the engine is a shell script here"),
]
ROOT = Path(__file__).resolve().parent.parent.parent
NET = "nets/g170-b6c96-s175395328-d26788732.bin.gz"
RECORD = "(;GM[1]FF[4]SZ[9]KM[7]RU[Chinese];B[ee];W[cg];B[gc];W[cc];B[dc];W[cd];B[eg])"
POSITIONS = 8


def test_the_engine_class_of_ogatak_works_with_keima(tmp_path: Path) -> None:
    node, checkout = shutil.which("node"), os.environ.get("KEIMA_OGATAK")
    if node is None or checkout is None:
        pytest.skip("needs Node.js, and KEIMA_OGATAK, a checkout of rooklift/ogatak")
    modules = Path(checkout).resolve() / "src" / "modules"
    program, settings, record = (tmp_path / name for name in ("keima", "empty.cfg", "game.sgf"))
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{ROOT / "keima.py"}" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    settings.write_text("", encoding="ascii")
    record.write_text(RECORD, encoding="ascii")
    script = Path(__file__).with_name("ogatak.js")
    command = [node, str(script), str(modules), str(program), str(settings), str(require_shared(NET)), str(record)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    reported = json.loads(done.stdout.splitlines()[-1])
    print(reported)
    assert reported["alerts"] == []
    assert reported["hashes"] == POSITIONS
    assert reported["reports"] >= POSITIONS
    assert reported["ownership"] == 81
    assert reported["left"] == [0, None]
