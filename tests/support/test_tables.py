"""Tables are drawn by what the screen can show, and in a pipe their lines are not wrapped."""

import io

import pytest
from rich.table import Table

from engine.support.tables import print_tables


@pytest.mark.parametrize(("encoding", "corner"), [("cp1252", "+"), ("ascii", "+"), ("utf-8", "\u250f")])
def test_lines_are_drawn_by_what_a_pipe_can_encode(encoding: str, corner: str) -> None:
    raw = io.BytesIO()
    screen = io.TextIOWrapper(raw, encoding=encoding, errors="backslashreplace", newline="\n")
    table = Table("name", "note")
    table.add_row("\u56f2", "x" * 200)
    print_tables(screen, [table])
    screen.flush()
    lines = raw.getvalue().decode(encoding).splitlines()
    assert lines[0][0] == corner
    assert any("x" * 200 in line for line in lines)
    assert any(("\u56f2" if encoding == "utf-8" else "\\u56f2") in line for line in lines)
