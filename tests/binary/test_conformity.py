"""The frozen program passes the conformity suite: what every controller sends, and what it expects."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformity.driver import ROOT
from tests.conformity.replay import NAMES
from tests.conformity.suite import TRANSCRIPTS, every_handicap, replay_controller, replay_transcript, walk

pytestmark = pytest.mark.binary
PROGRAM = ROOT / "dist" / "keima" / ("keima.exe" if sys.platform == "win32" else "keima")


@pytest.fixture
def keima() -> list[str]:
    """Return the command of the program, or skip."""
    if not PROGRAM.exists():
        pytest.skip("there is no dist/keima; run `make binary`")
    return [str(PROGRAM)]


@pytest.mark.parametrize("name", NAMES)
def test_a_controller_gets_what_it_expects(name: str, keima: list[str]) -> None:
    replay_controller(name, keima)


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_the_program_answers_as_written(name: str, keima: list[str]) -> None:
    replay_transcript(name, keima)


def test_undoing_at_random_keeps_both_boards_equal(keima: list[str]) -> None:
    walk(keima, steps=150, seed=5)


def test_handicap_counts_for_white_however_it_is_given(keima: list[str], tmp_path: Path) -> None:
    every_handicap(keima, tmp_path)


def test_setup_names_the_program_itself(keima: list[str]) -> None:
    printed = subprocess.run([*keima, "setup", "gogui"], capture_output=True, text=True, check=True).stdout
    assert printed.startswith((str(PROGRAM), f"'{PROGRAM}'", f'"{PROGRAM}"'))
