"""Signals end a program in good order, but for a SIGHUP that is ignored on purpose."""

import os
import signal
import sys
from collections.abc import Iterator

import pytest

from engine.support.stopping import interrupting, stopping

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGHUP")
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Put the handlers of all signals back."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS)
def test_every_signal_that_ends_a_program_sets_the_event_and_a_second_one_interrupts(number: signal.Signals) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with stopping() as stop:
        signal.raise_signal(number)
        assert stop.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_DFL


def test_a_person_at_a_terminal_is_told_that_ctrl_c_was_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, screen = os.openpty()
    with os.fdopen(terminal, "rb", buffering=0) as keys, os.fdopen(screen, "w", encoding="utf-8") as shown:
        monkeypatch.setattr(sys, "stderr", shown)
        with stopping():
            signal.raise_signal(signal.SIGINT)
        assert b"keima: stopping; a second Ctrl-C ends at once" in keys.read(200)


def test_an_ignored_hang_up_stays_ignored_and_an_ignored_ctrl_c_does_not() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    # As for the background commands of a shell without job control.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with stopping() as stop:
        signal.raise_signal(signal.SIGHUP)
        assert not stop.is_set()
        signal.raise_signal(signal.SIGINT)
        assert stop.is_set()
    with interrupting():
        signal.raise_signal(signal.SIGHUP)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_interrupt_what_has_nothing_to_finish(number: signal.Signals) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with pytest.raises(KeyboardInterrupt), interrupting():
        signal.raise_signal(number)
