"""Which lines end which thinking, and that a stop is not lost."""

import threading
import time

import pytest

from gtp.interrupts import Interrupts, Signal


@pytest.mark.parametrize("spoken", Signal)
@pytest.mark.parametrize("needed", Signal)
def test_a_line_ends_what_asks_for_no_more(spoken: Signal, needed: Signal) -> None:
    stops: list[None] = []
    interrupts = Interrupts(lambda: stops.append(None))
    line = interrupts.receive()
    with interrupts.searching(line, needed):
        interrupts.receive(spoken)
    assert bool(stops) == (spoken >= needed) == interrupts.requested(line, needed)


def test_earlier_lines_and_lines_after_the_end_do_not_count() -> None:
    stops: list[None] = []
    interrupts = Interrupts(lambda: stops.append(None))
    interrupts.receive(Signal.INTERRUPT)
    with interrupts.searching(interrupts.receive(), Signal.LINE):
        assert stops == []
    interrupts.receive(Signal.INTERRUPT)
    assert stops == []


def test_thinking_within_thinking_ends_by_its_own_signal() -> None:
    stops: list[None] = []
    interrupts = Interrupts(lambda: stops.append(None))
    line = interrupts.receive()
    with interrupts.searching(line, Signal.INTERRUPT):
        with interrupts.searching(line, Signal.LINE):
            interrupts.receive()
            assert len(stops) == 1
        interrupts.receive()
        assert len(stops) == 1


def test_a_stop_is_repeated_until_the_thinking_ends() -> None:
    stopped = threading.Event()
    interrupts = Interrupts(stopped.set)
    interrupts.start()
    line = interrupts.receive()
    interrupts.receive()
    with interrupts.searching(line, Signal.LINE):
        for _ in range(3):
            assert stopped.wait(5)
            stopped.clear()
    time.sleep(0.05)
    stopped.clear()
    assert not stopped.wait(0.1)
    interrupts.close()
