"""Every controller, as it would talk to the engine, against the real one; and what the checks themselves let pass."""

import sys
from pathlib import Path

import pytest

from tests.conformity.driver import ROOT
from tests.conformity.oracles import ORACLES
from tests.conformity.replay import NAMES, read_script
from tests.conformity.suite import TRANSCRIPTS, assertions, every_handicap, replay_controller, replay_transcript, walk
from tests.gtp.analysis_lines import BadLine

KEIMA = [sys.executable, str(ROOT / "keima.py")]
CONTROLLERS = {
    *("sabaki", "gogui", "twogtp", "regress", "kgs-ranked", "kgs-free", "kgs-cleanup", "gtp2ogs", "cgos"),
    *("lizzie", "lizzie-kata", "lizzieyzy", "lizgoban"),
}
KATA = (
    "info move C3 visits 4 edgeVisits 4 winrate 0.500000 scoreMean 1.0 scoreStdev 2.0 scoreLead 1.0 prior 0.5 lcb 0.4"
)
LZ = "info move C3 visits 4 winrate 5000 prior 100 lcb 4000 order 0 pv C3 D4"
CGOS = '{"winrate":0.5,"score":1.0,"visits":3,"moves":[{"move":"C3","winrate":0.5,"score":1.0,"prior":0.1,"visits":3,'
REFUSED = [
    ("sabaki-kata", f"{KATA} order 0 pv".replace("0.500000", "1")),
    ("sabaki-kata", f"{KATA} order 0 pv C3 pvVisits 4"),
    ("sabaki-kata", f"{KATA} order 0 pv C3 D4".replace("0.500000", "1")),
    ("sabaki-kata", f"{KATA} order 0 pv C3".replace("visits 4", "visits 0")),
    ("sabaki-kata", f"{KATA} order 0 pv C3 {KATA.replace(' scoreLead 1.0', '')} order 1 pv D4"),
    ("sabaki-lz", LZ.replace("5000", "0.5")),
    ("lizzie-lz", LZ.replace("5000", "50.0")),
    ("lizzie-lz", LZ.replace(" pv C3 D4", "")),
    ("lizzie-kata", f"{KATA} order 0 pv C3".replace("scoreMean 1.0 ", "")),
    ("lizzie-kata", f"{KATA} order 0 pv C3 ownership 0.1 0.2"),
    ("lizzie-kata", f"{KATA} order 0 pv C3 ownership {'0.1 ' * 80}rootInfo"),
    ("lizzieyzy-lz", LZ.replace("lcb 4000", "lcb 40.0")),
    ("lizzieyzy-kata", f"{KATA} order 0 pv C3 D4 pvVisits 4"),
    ("lizgoban-kata", f"{KATA} order 0 pv C3 ownership 0.1"),
    ("lizgoban-kata", f"{KATA} pv C3"),
    ("lizgoban-lz", LZ.replace("lcb 4000 ", "")),
    ("cgos", CGOS + '"pv":"C3 D4"}]}'),
    ("cgos", CGOS + '"pv":"D4"}],"ownership":"AB"}'),
    ("cgos", CGOS + '"pv":"D4"}],"note":"AB"}'),
]
ACCEPTED = [
    *((name, f"{KATA} order 0 pv C3 D4") for name in ORACLES if name.endswith("kata")),
    *((name, LZ) for name in ORACLES if name.endswith("lz")),
    ("cgos", CGOS + '"pv":"D4"}],"ownership":"' + "f" * 81 + '"}'),
    ("lizzie-kata", f"{KATA} order 0 pv C3 ownership {' '.join(['-0.100000'] * 81)}"),
]


@pytest.mark.parametrize("name", NAMES)
def test_a_controller_gets_what_it_expects(name: str) -> None:
    replay_controller(name, KEIMA)


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_the_engine_itself_answers_as_written(name: str) -> None:
    replay_transcript(name, KEIMA)


def test_undoing_at_random_keeps_both_boards_equal() -> None:
    walk(KEIMA, steps=150, seed=5)


@pytest.mark.parametrize("size", [9, 13, 19])
def test_handicap_counts_for_white_however_it_is_given(tmp_path: Path, size: int) -> None:
    every_handicap(KEIMA, tmp_path, size)


def test_every_controller_has_its_script_and_states_what_it_asserts() -> None:
    assert set(NAMES) == CONTROLLERS
    assert {name for name, _ in assertions()} == CONTROLLERS
    assert all(read_script(name).lines[-1][1] == "exit" for name in NAMES)


@pytest.mark.parametrize(("name", "line"), REFUSED)
def test_a_line_that_a_program_cannot_read_is_refused(name: str, line: str) -> None:
    with pytest.raises(BadLine):
        ORACLES[name](line, 9, 9)


@pytest.mark.parametrize(("name", "line"), ACCEPTED)
def test_a_line_that_a_program_reads_is_accepted(name: str, line: str) -> None:
    ORACLES[name](line, 9, 9)
