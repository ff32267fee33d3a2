"""Transcripts: the exact bytes of replies, in one process and through the pipes of another."""

import re
import sys

import pytest

from tests.conformity.driver import FAKE_ENGINE, Controller, FramingError, check_frame
from tests.conformity.transcripts import NAMES, read_transcript
from tests.gtp.talk import converse


@pytest.mark.parametrize("name", NAMES)
def test_replies_are_exactly_as_written(name: str) -> None:
    pairs = read_transcript(name)
    assert len(pairs) > 10
    output = converse("".join(f"{command}\n" for command, _ in pairs).encode()).decode()
    replies = re.findall(r"(?s).*?\n\n", output)
    assert [(command, reply) for (command, _), reply in zip(pairs, replies, strict=True)] == pairs


@pytest.mark.parametrize("name", NAMES)
def test_windows_line_ends_tabs_and_comments_change_nothing(name: str) -> None:
    pairs = read_transcript(name)
    data = "".join(f"\t{command.replace(' ', chr(9))} # said so\r\n\r\n" for command, _ in pairs)
    assert converse(data.encode()).decode() == "".join(reply for _, reply in pairs)


def test_a_process_answers_one_by_one_and_in_one_burst() -> None:
    with Controller(FAKE_ENGINE) as engine:
        for command, reply in read_transcript("errors"):
            assert (command, engine.ask(command)) == (command, reply)
        pairs = read_transcript("survival")
        engine.send(b"boardsize 9\n" + b"".join(command.encode() + b"\n" for command, _ in pairs))
        assert engine.reply() == b"= \n\n"
        assert [engine.reply().decode() for _ in pairs] == [reply for _, reply in pairs]
        engine.expect_silence()


@pytest.mark.parametrize(
    "reply",
    [
        b"=name\n\n",
        b"= a\n",
        b"= a\n\nb\n\n",
        b"= a\n\n\n",
        b"x a\n\n",
        b"=\n\n",
        b"=5\n\n",
        b"=x5 a\n\n",
        b"= a\r\n\n",
    ],
)
def test_the_driver_refuses_bad_frames(reply: bytes) -> None:
    with pytest.raises(FramingError):
        check_frame(reply)


# Writes the bytes of its arguments one after the other, each when a line has come.
_PIECES = "import os, sys; [(sys.stdin.buffer.readline(), os.write(1, each.encode())) for each in sys.argv[1:]]"


def test_the_driver_waits_for_the_rest_of_a_word_that_came_in_part() -> None:
    with Controller([sys.executable, "-c", _PIECES, "info move D4\npla", "y D4\n", "pxy"]) as engine:
        engine.send(b"\n")
        assert engine.line(b"info ", b"play ") == b"info move D4\n"
        with pytest.raises(FramingError, match="only b'pla'"):
            engine.line(b"info ", b"play ", timeout=0.2)
        engine.send(b"\n")
        assert engine.line(b"info ", b"play ") == b"play D4\n"
        engine.send(b"\n")
        with pytest.raises(FramingError, match="got b'pxy'"):
            engine.line(b"info ", b"play ")
