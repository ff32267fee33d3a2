"""Lines on stderr for GoGui and gtp2ogs: as their readers want them, and none unless asked for."""

import io
import re
import subprocess
import sys

import pytest

from gtp.state import SessionConfig
from gtp.stderr import variation, write_lines
from tests.conformity.driver import ROOT
from tests.gtp.fake_player import FakePlayer
from tests.gtp.talk import ask, new_state

SUMMARY = re.compile(
    r"([A-Z]\d+|pass) -> +(\d+) \(V: +(\d+.\d\d)%\) (\(LCB: +(\d+.\d\d)%\) )?\(N: +(\d+.\d\d)%\)"
    r" PV:(( ([A-Z][0-9]+|pass)+)+)"
)
"""What gtp2ogs looks for, and Lizzie's reader of the same line wants no more."""
END = re.compile(r"(\d+) visits, (\d+) nodes, (\d+) playouts, (\d+) n/s")


def after_a_move(capsys: pytest.CaptureFixture[str], script: list[str] | None = None, **switches: bool) -> list[str]:
    """Return the lines that a session wrote on stderr for one move of its player."""
    config = SessionConfig(width=9, height=9, seconds=0.03, **switches)  # type: ignore[arg-type]
    assert not ask(new_state(FakePlayer(script or [], thinking=True), config), "genmove b").startswith("?")
    capsys.readouterr()  # the first move of all may have compiled kernels, and said so
    state = new_state(FakePlayer(script or [], thinking=True), config)
    assert not ask(state, "genmove b").startswith("?")
    return capsys.readouterr().err.split("\n")[:-1]


def test_nothing_is_said_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert after_a_move(capsys) == []


def test_a_search_is_summed_up_as_leela_zero_does(capsys: pytest.CaptureFixture[str]) -> None:
    *moves, end = after_a_move(capsys, leela_lines=True)
    matched = [SUMMARY.search(line) for line in moves]
    assert matched and all(matched) and END.search(end)
    assert matched[0] is not None and matched[0].group(1) == "A9"


@pytest.mark.parametrize("answer", ["b9", "j1", "pass", "resign"])
def test_the_move_played_comes_first_in_the_summary(capsys: pytest.CaptureFixture[str], answer: str) -> None:
    first, *_ = after_a_move(capsys, [answer], leela_lines=True)
    match = SUMMARY.search(first)
    assert match
    assert match.group(1) == {"b9": "B9", "j1": "J1"}.get(answer, "pass")


def test_a_move_is_drawn_while_it_is_sought_and_then_taken_off(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gtp.stderr.REDRAW_SECONDS", 0.0)
    lines = after_a_move(capsys, live_graphics=True)
    assert lines[-1] == "gogui-gfx: CLEAR"
    starts = [number for number, line in enumerate(lines) if line == "gogui-gfx:"]
    assert starts
    for start in starts:
        drawn, reported, end = lines[start + 1 : start + 4]
        assert re.fullmatch(r"VAR b [A-Z]\d+( [bw] ([A-Z]\d+|pass))*", drawn)
        assert re.fullmatch(r"TEXT \d+ visits, winrate \d+\.\d %, lead [+-]\d+\.\d", reported)
        assert end == ""


def test_variations_alternate_from_the_side_to_move() -> None:
    assert variation([11, 0, 12], 2, 9, 9) == "w A9 b pass w B9"


class Full(io.StringIO):
    """A stream on a full device."""

    def flush(self) -> None:
        """Fail."""
        raise OSError("no space left")


def closed() -> io.StringIO:
    """Return a stream that was closed."""
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("stream", [None, Full(), closed()], ids=["none", "full", "closed"])
def test_a_stderr_that_cannot_be_written_costs_no_move(
    stream: io.StringIO | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr("gtp.stderr.REDRAW_SECONDS", 0.0)
    config = SessionConfig(width=9, height=9, seconds=0.03, leela_lines=True, live_graphics=True)
    state = new_state(FakePlayer(thinking=True), config)
    write_lines(["hello"])
    assert ask(state, "genmove b") == "A9"


@pytest.mark.skipif(sys.platform != "linux", reason="has no /dev/full")
@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full"])
def test_the_program_needs_no_stderr(redirection: str) -> None:
    script = f'exec "$0" keima.py --net none {redirection}'
    done = subprocess.run(
        ["sh", "-c", script, sys.executable], cwd=ROOT, input=b"name\nquit\n", stdout=subprocess.PIPE, timeout=60
    )
    assert (done.stdout, done.returncode) == (b"= Keima\n\n= \n\n", 0)
