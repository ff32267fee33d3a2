"""A short fuzz, in the test's process and against another; `make fuzz` runs the long one."""

import re

import pytest

from tests.conformity.driver import FAKE_ENGINE, Controller, check_frame
from tests.conformity.fuzz import expected_start, fuzz_lines, run_fuzz
from tests.gtp.talk import converse


def test_fuzz_every_command_has_one_reply() -> None:
    lines = list(fuzz_lines(2000, seed=4))
    starts = [(line, start) for line in lines if (start := expected_start(line)) is not None]
    replies = re.findall(rb"(?s).*?\n\n", converse(b"".join(lines)))
    assert len(replies) == len(starts) > 1500
    for (line, start), reply in zip(starts, replies, strict=True):
        check_frame(reply)
        assert reply.startswith(start), line
        assert b"internal error" not in reply, line


def test_fuzz_lines_depend_on_the_seed_alone() -> None:
    assert list(fuzz_lines(200, 7)) == list(fuzz_lines(200, 7)) != list(fuzz_lines(200, 8))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_fuzz_against_a_process(seed: int) -> None:
    with Controller(FAKE_ENGINE) as engine:
        assert run_fuzz(engine, 20_000, seed) > 15_000
