"""Which lines end which thinking, and that a stop is not lost."""

import threading
import time

import pytest

from gtp.attention import Attention, Signal


@pytest.mark.parametrize("spoken", Signal)
@pytest.mark.parametrize("needed", Signal)
def test_a_line_ends_what_asks_for_no_more(spoken: Signal, needed: Signal) -> None:
    stops: list[None] = []
    attention = Attention(lambda: stops.append(None))
    line = attention.hear()
    with attention.thinking(line, needed):
        attention.hear(spoken)
    assert bool(stops) == (spoken >= needed) == attention.called(line, needed)


def test_earlier_lines_and_lines_after_the_end_do_not_count() -> None:
    stops: list[None] = []
    attention = Attention(lambda: stops.append(None))
    attention.hear(Signal.INTERRUPT)
    with attention.thinking(attention.hear(), Signal.LINE):
        assert stops == []
    attention.hear(Signal.INTERRUPT)
    assert stops == []


def test_thinking_within_thinking_ends_by_its_own_signal() -> None:
    stops: list[None] = []
    attention = Attention(lambda: stops.append(None))
    line = attention.hear()
    with attention.thinking(line, Signal.INTERRUPT):
        with attention.thinking(line, Signal.LINE):
            attention.hear()
            assert len(stops) == 1
        attention.hear()
        assert len(stops) == 1


def test_a_stop_is_repeated_until_the_thinking_ends() -> None:
    stopped = threading.Event()
    attention = Attention(stopped.set)
    attention.start()
    line = attention.hear()
    attention.hear()
    with attention.thinking(line, Signal.LINE):
        for _ in range(3):
            assert stopped.wait(5)
            stopped.clear()
    time.sleep(0.05)
    stopped.clear()
    assert not stopped.wait(0.1)
    attention.close()
