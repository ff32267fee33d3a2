"""Writes docs/commands.md from the handlers of commands: `python -m gtp.commands_page > docs/commands.md`."""

import sys
from collections.abc import Mapping
from inspect import getdoc

from gtp.commands import MODULES, UNLISTED
from gtp.state import Handler

_INTRODUCTION = """\
# GTP commands

Generated from `gtp/commands/` by `python -m gtp.commands_page > docs/commands.md`: every command that `list_commands`
lists, with what it does. Commands of the standard, GNU Go, gomill, GoGui, KGS, CGOS, Leela Zero and KataGo have the
names and arguments that they have there, and the same replies but for
[these](analysis.md#where-gtps-answers-are-not-katagos); those that only Keima has begin with `keima-`. More about
analysis: [analysis.md](analysis.md); the parameters: [settings.md](settings.md#gtp-and-json-parameters).
"""
_NOT_LISTED = "Not in `list_commands`: kgsGtp stops with an error if `kgs-chat` is listed."


def render() -> str:
    """Return the whole page."""
    sections = [_section(_title(module.__name__), _first_line(module), module.COMMANDS) for module in MODULES]
    return "\n".join([_INTRODUCTION, *sections, _section("Not listed", _NOT_LISTED, UNLISTED)])


def _title(module: str) -> str:
    words = module.rpartition(".")[2].replace("_", " ")
    return words[0].upper() + words[1:]


def _section(title: str, introduction: str, commands: Mapping[str, Handler]) -> str:
    """Return a heading and a line for each handler, with all its names."""
    names: dict[Handler, list[str]] = {}
    for name, handler in commands.items():
        names.setdefault(handler, []).append(f"`{name}`")
    lines = [f"- {', '.join(each)}: {_first_line(handler)}\n" for handler, each in names.items()]
    return f"## {title}\n\n{introduction}\n\n{''.join(lines)}"


def _first_line(described: object) -> str:
    return (getdoc(described) or "").partition("\n")[0]


if __name__ == "__main__":
    sys.stdout.write(render())
