"""What to say to a program, by the commands that it lists."""

from collections.abc import Callable, Collection

from engine.programs.program import Reply, printable
from engine.rules import KGS_PRESETS, Rules, preset_name


def size_command(width: int, height: int) -> str:
    """Return the command that sets the board: with one number where it is square, as the standard has it."""
    return f"boardsize {width}" if width == height else f"boardsize {width} {height}"


def rules_command(rules: Rules, listed: Collection[str]) -> str | None:
    """Return the command that tells rules in the first of two ways that a program lists; None if it has neither."""
    if "kata-set-rules" in listed:
        return f"kata-set-rules {preset_name(rules) or rules.to_json()}"
    kgs = next((name for name, preset in KGS_PRESETS.items() if preset == rules), None)
    return f"kgs-rules {kgs}" if kgs is not None and "kgs-rules" in listed else None


def introduced(ask: Callable[[str], Reply]) -> str:
    """Return what a program calls itself, with its version; "" if it does not say."""
    name, version = ask("name"), ask("version")
    return printable(f"{name.text} {version.text if version.ok else ''}".strip()) if name.ok else ""
