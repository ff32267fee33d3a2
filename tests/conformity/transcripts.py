"""Reading transcripts: text files of commands and the exact replies to them.

A line `> COMMAND` is sent. The lines up to the next command are its reply, blank line included; a
bare status character stands for itself and one space. `#` starts a comment outside replies.
"""

import re
from pathlib import Path

FOLDER = Path(__file__).parent / "transcripts"
NAMES = sorted(path.stem for path in FOLDER.glob("*.txt"))

_BARE_STATUS = re.compile(r"[=?]\d*")


def read_transcript(name: str) -> list[tuple[str, str]]:
    """Return (command line, exact reply) pairs."""
    pairs: list[tuple[str, list[str]]] = []
    for line in (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("> "):
            pairs.append((line[2:], []))
        elif line.strip() and not line.startswith("#"):
            pairs[-1][1].append(f"{line.strip()} " if _BARE_STATUS.fullmatch(line.strip()) else line)
    return [(command, "\n".join(reply) + "\n\n") for command, reply in pairs]
