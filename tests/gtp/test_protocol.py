"""The line grammar: what is a command, and what a reply looks like on the wire."""

import pytest

from gtp.protocol import Command, clean_text, decode, format_reply, is_interrupt, parse_command

COMMANDS = [
    ("name", ("", "name", [])),
    ("  name  ", ("", "name", [])),
    ("12 name", ("12", "name", [])),
    ("0 name", ("0", "name", [])),
    ("000 name", ("0", "name", [])),
    ("0002 name", ("2", "name", [])),
    ("-3 name", ("", "-3", ["name"])),
    ("4name", ("", "4name", [])),
    ("+5 name", ("", "+5", ["name"])),
    ("٣ name", ("", "٣", ["name"])),
    ("6", ("6", "", [])),
    ("9" * 5000 + " name", ("9" * 5000, "name", [])),
    ("play b  q16", ("", "play", ["b", "q16"])),
    ("play\tb\tq16", ("", "play", ["b", "q16"])),
    ("\tplay b\t \tq16\t", ("", "play", ["b", "q16"])),
    ("name\r", ("", "name", [])),
    ("na\x00me", ("", "name", [])),
    ("na\x07me\x7f", ("", "name", [])),
    ("name # the name", ("", "name", [])),
    ("name#5", ("", "name", [])),
    ("\ufeffname", ("", "name", [])),
    ("name\u00a0x", ("", "name\u00a0x", [])),
    ("echo a\u2028b", ("", "echo", ["a\u2028b"])),
]


@pytest.mark.parametrize(("line", "expected"), COMMANDS)
def test_a_line_is_read_as_the_standard_says(line: str, expected: tuple[str, str, list[str]]) -> None:
    command = parse_command(line)
    assert command is not None
    assert command[:3] == expected


@pytest.mark.parametrize("line", ["", " ", "\t", "\r", "#", "# name", "   # name", "\x00\x01", "\r# x", "\ufeff"])
def test_blank_lines_and_comments_are_no_commands(line: str) -> None:
    assert parse_command(line) is None


def test_the_argument_text_keeps_its_inner_spaces() -> None:
    assert parse_command("3 loadsgf  a  b.sgf  7 ") == Command("3", "loadsgf", ["a", "b.sgf", "7"], "a  b.sgf  7")


@pytest.mark.parametrize("line", ["# interrupt", "#interrupt\r", "  # interrupt", "#\tinterrupt now"])
def test_an_interrupt_is_seen_in_a_comment(line: str) -> None:
    assert is_interrupt(line)
    assert parse_command(line) is None


@pytest.mark.parametrize("line", ["interrupt", "name # interrupt", "# interrupted", "# please interrupt"])
def test_other_lines_are_no_interrupt(line: str) -> None:
    assert not is_interrupt(line)


REPLIES = [
    ("", "", True, "= \n\n"),
    ("", "ok", True, "= ok\n\n"),
    ("7", "", True, "=7 \n\n"),
    ("7", "ok", True, "=7 ok\n\n"),
    ("", "illegal move", False, "? illegal move\n\n"),
    ("0", "illegal move", False, "?0 illegal move\n\n"),
    ("", "\n  A B\n\n\n1 . .  \n\n", True, "= \n  A B\n1 . .\n\n"),
    ("", "a\n \t \nb", True, "= a\nb\n\n"),
    ("", "a\r\nb\x00\x1b[1m", True, "= a\nb[1m\n\n"),
    ("", "a\tb", True, "= a b\n\n"),
    ("", "\n\n\n", True, "= \n\n"),
]


@pytest.mark.parametrize(("identity", "text", "ok", "expected"), REPLIES)
def test_a_reply_has_one_blank_line_and_that_at_its_end(identity: str, text: str, ok: bool, expected: str) -> None:
    assert format_reply(identity, text, ok) == expected


def test_cleaning_is_done_at_once() -> None:
    for _, text, _, _ in REPLIES:
        assert clean_text(clean_text(text)) == clean_text(text)


def test_any_byte_can_be_read() -> None:
    assert decode(bytes(range(256))).encode("utf-8", "surrogateescape") == bytes(range(256))
