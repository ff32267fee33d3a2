"""The page of commands says what the handlers say."""

from pathlib import Path

from gtp.commands import HANDLERS, UNLISTED
from gtp.commands_page import render

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_what_the_handlers_say_of_themselves() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert page == render(), "make it again: python -m gtp.commands_page > docs/commands.md"


def test_every_command_is_on_the_page_once_with_a_sentence() -> None:
    lines = [line.partition(": ") for line in render().splitlines() if line.startswith("- ")]
    names = [name.strip("`") for listed, _, _ in lines for name in listed.removeprefix("- ").split(", ")]
    assert sorted(names) == sorted([*HANDLERS, *UNLISTED])
    assert all(sentence.endswith(".") for _, _, sentence in lines)
