"""Where this program is, and how others start it."""

import shlex

import pytest

from engine.support.installation import this_program, with_own_path


@pytest.mark.parametrize("command", ["keima gtp --visits 400", "keima.exe gtp", "  keima"])
def test_the_program_keima_is_the_one_that_runs(command: str) -> None:
    words = shlex.split(with_own_path(command))
    assert words == [*this_program(), *command.split()[1:]]


@pytest.mark.parametrize(
    "command", ["gnugo --mode gtp", "bin/keima gtp", "./keima", "keima2 gtp", "python keima.py", ""]
)
def test_other_programs_are_left_alone(command: str) -> None:
    assert with_own_path(command) == command
