"""A whole engine process: start, stdout, streams' ends, and leaving in time."""

import signal
import subprocess
import sys

import pytest

from tests.conformity.driver import FAKE_ENGINE, ROOT, Controller
from tests.conformity.stress import Stress
from tests.gtp.analysis_lines import read_lz_line

HANDSHAKE = ["name", "version", "protocol_version", "list_commands"]
READY = b"GTP ready, beginning main protocol loop\n"
THINKING = [*FAKE_ENGINE, "thinking"]


def test_the_handshake_does_not_wait_for_the_player() -> None:
    with Controller([*FAKE_ENGINE, "slow-start", "3000"]) as engine:
        engine.send("".join(f"{line}\n" for line in HANDSHAKE).encode())
        replies = [engine.reply() for _ in HANDSHAKE]
        assert replies[2] == b"= 2\n\n"
        assert engine.ask("quit") == "= \n\n"
        assert engine.expect_end() == 0


def test_leaving_while_a_move_waits_for_the_player() -> None:
    with Controller([*FAKE_ENGINE, "slow-start", "3000"]) as engine:
        engine.ask("protocol_version")
        engine.send(b"genmove b\n")
        engine.expect_silence(0.4)
        engine.send(b"9 quit\n")
        assert engine.reply().startswith(b"? engine not available")
        assert engine.reply() == b"=9 \n\n"
        assert engine.expect_end() == 0


def test_what_libraries_print_never_reaches_stdout() -> None:
    with Controller([*FAKE_ENGINE, "noisy"]) as engine:
        assert engine.ask("genmove b") == "= A9\n\n"
        engine.expect_silence()
        assert engine.ask("quit") == "= \n\n"
        assert engine.expect_end() == 0
    assert b"a library greets you\n" in engine.errors
    assert b"and so does its C part\n" in engine.errors


@pytest.mark.parametrize("farewell", ["quit", "end of input"])
def test_leaving_in_mid_search_ends_it_with_its_best_move(farewell: str) -> None:
    with Controller(THINKING) as engine:
        engine.ask("play w a9")
        engine.send(b"1 genmove b\n")
        engine.expect_silence(0.5)
        if farewell == "quit":
            engine.send(b"2 quit\n")
        else:
            engine.close_input()
        assert engine.reply() == b"=1 B9\n\n"
        if farewell == "quit":
            assert engine.reply() == b"=2 \n\n"
        assert engine.expect_end() == 0


def test_interrupts_end_searches_without_stray_bytes() -> None:
    with Controller(THINKING) as engine:
        for number in range(20):
            engine.send(f"{number} genmove b\n".encode())
            engine.expect_silence(0.05 if number else 1.0)
            engine.send(b"# interrupt\n")
            assert engine.reply(5).startswith(f"={number} ".encode())
        engine.expect_silence()


def test_a_closed_stdout_ends_the_process() -> None:
    engine = subprocess.Popen(
        FAKE_ENGINE, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert engine.stdin is not None and engine.stdout is not None and engine.stderr is not None
    engine.stdin.write(b"protocol_version\n")
    engine.stdin.flush()
    assert engine.stdout.read(5) == b"= 2\n\n"
    engine.stdout.close()
    engine.stdin.write(b"name\n")
    engine.stdin.flush()
    assert engine.wait(60) == 0
    assert engine.stderr.read() == READY
    engine.stdin.close()
    engine.stderr.close()


def test_analysis_and_pondering_are_ended_without_stray_bytes() -> None:
    with Controller(FAKE_ENGINE) as engine:
        report = Stress(engine, size=5, seed=3, longest_wait=0.2).run(40)
    assert report.lines > 10
    assert min(len(latencies) for latencies in report.latencies.values()) > 5


def test_a_script_that_ends_with_analysis_ends() -> None:
    with Controller(FAKE_ENGINE) as engine:
        engine.send(b"1 kata-analyze 10\n2 lz-analyze\n3 name\n4 lz-genmove_analyze b\n5 kata-analyze 1\n")
        engine.close_input()
        assert engine.line() + engine.line() == b"=1\n\n"
        assert engine.line() + engine.line() == b"=2\n\n"
        assert engine.reply() == b"=3 Keima\n\n"
        assert engine.line() == b"=4\n"
        assert read_lz_line(engine.line()[:-1].decode(), 9, 9).moves
        assert engine.line() + engine.line() == b"play A9\n\n"
        assert engine.line() + engine.line() == b"=5\n\n"
        assert engine.expect_end() == 0


def test_output_closed_in_mid_analysis_ends_the_process() -> None:
    engine = subprocess.Popen(
        FAKE_ENGINE, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert engine.stdin is not None and engine.stdout is not None
    engine.stdin.write(b"kata-analyze 1\n")
    engine.stdin.flush()
    assert engine.stdout.readline() == b"=\n"
    engine.stdout.close()
    assert engine.wait(60) == 0
    engine.stdin.close()


def test_a_script_is_answered_whole() -> None:
    with Controller(FAKE_ENGINE) as engine:
        engine.send(b"boardsize 9\r\nclear_board\r\n1 genmove b\r\n2 genmove w")
        engine.close_input()
        assert [engine.reply() for _ in range(4)] == [b"= \n\n", b"= \n\n", b"=1 A9\n\n", b"=2 B9\n\n"]
        assert engine.expect_end() == 0


def test_hundreds_of_pipelined_commands_are_answered_in_order() -> None:
    with Controller(FAKE_ENGINE) as engine:
        engine.send(b"".join(b"%d protocol_version\n" % number for number in range(500)))
        assert [engine.reply() for _ in range(500)] == [b"=%d 2\n\n" % number for number in range(500)]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGHUP")
@pytest.mark.parametrize("end", ["SIGTERM", "SIGHUP"])
def test_a_signal_in_mid_search_closes_the_player_which_may_have_something_to_save(end: str) -> None:
    with Controller(THINKING) as engine:
        engine.ask("play w a9")
        engine.send(b"1 genmove b\n")
        engine.expect_silence(0.5)
        engine.process.send_signal(signal.Signals[end])
        assert engine.process.wait(60) == 130
    assert b"closed in good order\n" in engine.errors
