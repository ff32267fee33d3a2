"""What options of several commands are made of: a board's size, rules. Imports nothing heavy."""

from typing import Any

import click

from engine.errors import BadRules
from engine.rules import parse_rules
from engine.vertex import MAX_SIZE


class BoardSize(click.ParamType[tuple[int, int]]):
    """A board size: 19, or 13x9 for columns x rows."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """Return (width, height)."""
        if isinstance(value, tuple):
            return value
        parts = str(value).lower().split("x")
        if len(parts) in (1, 2) and all(part.isdecimal() and 2 <= int(part) <= MAX_SIZE for part in parts):
            return int(parts[0]), int(parts[-1])
        raise click.BadParameter(f"expected a size from 2 to {MAX_SIZE}, or two as in 13x9, got {value!r}", ctx, param)


class RuleSet(click.ParamType[str]):
    """Rules by shorthand, such as chinese, or as a JSON object."""

    name = "rules"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text unchanged when it names rules."""
        try:
            parse_rules(value)
        except BadRules as error:
            self.fail(str(error), param, ctx)
        return str(value)
