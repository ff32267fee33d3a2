"""A short soak against the real engine, and a verdict that finds what grows."""

import sys
from pathlib import Path

import pytest

from tests.conformity.driver import ROOT, Controller, FramingError
from tests.soak.__main__ import soak
from tests.soak.figures import Sample, curve, growth, quantiles, write_csv
from tests.soak.kgs import KgsSession

ENGINE = [sys.executable, str(ROOT / "keima.py"), "--net", "none", "--visits", "2", "--ponder"]


def samples(**changes: float) -> list[Sample]:
    """Return the samples of a flat hour, to which the changes are added from its middle on."""
    flat = [Sample(60.0 * minute, minute, 300.0 + minute % 2, 8, 4, 0.001) for minute in range(61)]
    return flat[:30] + [
        Sample(**{name: value + changes.get(name, 0) for name, value in vars(each).items()}) for each in flat[30:]
    ]


def test_a_run_without_growth_is_flat() -> None:
    assert growth(samples()) == []


@pytest.mark.parametrize(
    ("name", "added", "word"),
    [
        ("memory", 50.0, "memory grows"),
        ("threads", 1, "threads grow"),
        ("handles", 1, "handles grow"),
        ("reply", 0.02, "replies slow down"),
    ],
)
def test_what_grows_in_the_second_half_is_found(name: str, added: float, word: str) -> None:
    (found,) = growth(samples(**{name: added}))
    assert found.startswith(word)


def test_reply_times_are_summed_up_by_command() -> None:
    (line,) = quantiles([(0.0, "play", 0.001 * number) for number in range(1, 101)])
    assert line.split() == ["play", "100", "51.0", "91.0", "100.0", "100.0"]


def test_a_curve_has_a_bar_for_each_stretch() -> None:
    assert curve([0.0, 1.0, 2.0]) == "▁▅█"


def test_the_samples_are_written_as_csv(tmp_path: Path) -> None:
    write_csv(samples()[:2], tmp_path / "soak.csv")
    text = (tmp_path / "soak.csv").read_text()
    assert text.splitlines() == [
        "seconds,games,memory,threads,handles,reply",
        "0.0,0,300.0,8,4,0.001",
        "60.0,1,301.0,8,4,0.001",
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="memory, threads and handles are read from /proc")
def test_sessions_with_the_engine_are_recorded(tmp_path: Path) -> None:
    with Controller(ENGINE) as engine:
        report = soak(engine, [5], 3.0, seed=1, path=tmp_path / "soak.csv", every=0.5)
    assert "kgs-time_settings" in report and "moves of the engine" in report
    assert len((tmp_path / "soak.csv").read_text().splitlines()) > 2


@pytest.mark.slow
def test_games_with_all_that_happens_on_a_server_are_answered() -> None:
    with Controller(ENGINE) as engine:
        session = KgsSession(engine, [5, 7], seed=3)
        session.greet()
        for _ in range(25):
            for _ in session.play():
                pass
    assert session.played.games == 25
    assert session.played.events.keys() >= {"adjournments", "resumptions", "disputes", "undos", "games to the end"}


class SameMove:
    """An engine that answers every `genmove` by the same point."""

    def ask(self, command: str, timeout: float) -> str:
        """Return the reply to a command."""
        return "= a1\n\n" if command.startswith("genmove") else "= \n\n"


def test_an_engine_that_plays_illegal_moves_is_found_out() -> None:
    session = KgsSession(SameMove(), [5], seed=1)  # type: ignore[arg-type]
    with pytest.raises(FramingError, match="is illegal"):
        for _ in session.play():
            pass
