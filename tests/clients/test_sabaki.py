"""Sabaki's own GTP driver attaches Keima, synchronizes positions, plays, undoes and stops.

SABAKI_GTP is the folder of the package @sabaki/gtp, or a node_modules folder that holds it.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.clients
ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_driver_of_sabaki_plays_with_keima(tmp_path: Path) -> None:
    node, package = shutil.which("node"), os.environ.get("SABAKI_GTP")
    if node is None or package is None:
        pytest.skip("needs Node.js, and SABAKI_GTP set to where @sabaki/gtp is installed")
    nested = Path(package).resolve() / "@sabaki" / "gtp"
    module = nested if nested.is_dir() else Path(package).resolve()
    script = Path(__file__).with_name("sabaki.js")
    command = [node, str(script), str(module), sys.executable, str(ROOT / "keima.py"), "gtp", "--visits", "100000"]
    played = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert played.returncode == 0, played.stderr
    print(played.stdout)
    figures = json.loads(played.stdout)
    assert len(figures["moves"]) >= 10
    assert figures["stop"] < 2000
