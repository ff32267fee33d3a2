"""Files that outlive a crash: written whole or not at all, or a line at a time."""

import os
from pathlib import Path


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a whole file or none: under another name, synced, then renamed. Text is UTF-8."""
    partial = path.with_name(path.name + ".part")
    try:
        with partial.open("wb") as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def append_line(path: Path, line: str) -> None:
    """Add a line to a file and wait until the disk has it."""
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
        file.flush()
        os.fsync(file.fileno())


def whole_lines(path: Path) -> list[str]:
    """Return the lines of a file that `append_line` wrote, none if it is absent, and cut off a torn last one."""
    if not path.exists():
        return []
    whole, _, torn = path.read_text(encoding="utf-8").rpartition("\n")
    if torn:
        write_atomically(path, whole + "\n" if whole else "")
    return whole.splitlines()
