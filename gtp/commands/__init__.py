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

FAMILIES: tuple[dict[str, Handler], ...] = (
    admin.COMMANDS,
    setup.COMMANDS,
    rules.COMMANDS,
    move.COMMANDS,
    handicap.COMMANDS,
    timing.COMMANDS,
    analyze.COMMANDS,
    params.COMMANDS,
    scoring.COMMANDS,
    records.COMMANDS,
    networks.COMMANDS,
    problems.COMMANDS,
    queries.COMMANDS,
    servers.COMMANDS,
    gogui.COMMANDS,
    gogui_views.COMMANDS,
    explain.COMMANDS,
    debug.COMMANDS,
)

HANDLERS: dict[str, Handler] = {name: handler for family in FAMILIES for name, handler in family.items()}
"""Command name -> handler. A handler takes the session's state and the command, and returns the reply or raises
GtpError."""

UNLISTED: dict[str, Handler] = servers.UNLISTED
"""Commands that are answered but not listed."""
