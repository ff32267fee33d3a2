"""The sessions that the pages show are what the program does: each is run, and its output compared."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import keima

ROOT = Path(__file__).resolve().parents[1]
PAGES = ["docs/playing.md"]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMPT = "to play> "
ELIDED = "..."
VARIES = re.compile(r"\b[A-HJ-T]\d{1,2}\b|\d+%")
"""Points and percentages, which differ between processors."""
COMPILING = "compiling kernels"


def sessions() -> Iterator[tuple[str, list[str]]]:
    """Yield the command and the lines of each session, in the order of the pages; later ones use files of others."""
    for page in PAGES:
        for block in BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
            for session in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, *lines = session.splitlines()
                yield command, lines


def typed(lines: list[str]) -> str:
    """Return what is typed in a session."""
    return "".join(line.partition(PROMPT)[2] + "\n" for line in lines if PROMPT in line)


def pattern(lines: list[str]) -> str:
    """Return the regular expression of a session's output, in which typed text has no echo."""
    found = ""
    for line in lines:
        if line == ELIDED:
            found += r"(?:.*\n)*?"
        elif PROMPT in line:
            found += re.escape(line.partition(PROMPT)[0] + PROMPT)
        else:
            shown = ".+".join(re.escape(part) for part in VARIES.split(line.removesuffix(ELIDED)))
            found += shown + (".*" if line.endswith(ELIDED) else "") + "\n"
    return found


def test_the_sessions_on_the_pages_are_what_the_program_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "damaged.safetensors").write_bytes((ROOT / "weights" / "keima-t7c96.safetensors").read_bytes()[:3000])
    (tmp_path / "file").write_text("not a directory", encoding="ascii")
    found = list(sessions())
    assert len(found) >= 6
    for command, lines in found:
        program, *words = command.split()
        assert program == "keima"
        done = CliRunner().invoke(keima.main, words, input=typed(lines))
        output = "".join(line for line in done.output.splitlines(keepends=True) if COMPILING not in line)
        assert re.fullmatch(pattern(lines), output), f"{command}:\n{output}"
        assert (done.exit_code != 0) == lines[0].startswith("Error: ")
