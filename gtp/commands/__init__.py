"""Collects all GTP commands, from one file for each family. `list_commands` lists exactly this table."""

from gtp.commands import (
    admin,
    analyze,
    debug,
    explain,
    gogui,
    gogui_views,
    handicap,
    move,
    networks,
    params,
    problems,
    queries,
    records,
    rules,
    scoring,
    servers,
    setup,
    timing,
)
from gtp.state import Handler

MODULES = (
    admin,
    setup,
    rules,
    move,
    handicap,
    timing,
    analyze,
    params,
    scoring,
    records,
    networks,
    problems,
    queries,
    servers,
    gogui,
    gogui_views,
    explain,
    debug,
)
FAMILIES: tuple[dict[str, Handler], ...] = tuple(module.COMMANDS for module in MODULES)

HANDLERS: dict[str, Handler] = {name: handler for family in FAMILIES for name, handler in family.items()}
"""Command name -> handler. A handler takes the session's state and the command, and returns the reply or raises
GtpError."""

UNLISTED: dict[str, Handler] = servers.UNLISTED
"""Commands that are answered but not listed."""
