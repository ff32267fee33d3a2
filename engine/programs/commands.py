"""Writes the GTP commands for settings, according to the commands that a program lists."""

from collections.abc import Callable, Collection

from engine.programs.program import Reply, printable
from engine.rules import KGS_PRESETS, Rules, preset_name


def size_command(width: int, height: int) -> str:
    """Return the command that sets the board size, with one number for a square board as in the standard."""
    return f"boardsize {width}" if width == height else f"boardsize {width} {height}"


def rules_command(rules: Rules, listed: Collection[str]) -> str | None:
    """Return the command that sets the rules, `kata-set-rules` or `kgs-rules`; None if the program lists neither."""
    if "kata-set-rules" in listed:
        return f"kata-set-rules {preset_name(rules) or rules.to_json()}"
    kgs = next((name for name, preset in KGS_PRESETS.items() if preset == rules), None)
    return f"kgs-rules {kgs}" if kgs is not None and "kgs-rules" in listed else None


def introduced(ask: Callable[[str], Reply]) -> str:
    """Ask for the name and version of a program; "" if it has no name."""
    name, version = ask("name"), ask("version")
    return printable(f"{name.text} {version.text if version.ok else ''}".strip()) if name.ok else ""
