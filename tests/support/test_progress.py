"""Progress: one bar on a terminal, lines elsewhere, nothing when asked."""

import io

import pytest

from engine.support.progress import ProgressBar, duration
from tests.terminal import Terminal


@pytest.mark.parametrize(
    ("seconds", "text"), [(-1.0, "0 s"), (59.4, "59 s"), (60.0, "1 min"), (7199.0, "119 min"), (9000.0, "2.5 h")]
)
def test_a_duration_has_one_unit(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_the_first_line_and_the_last_are_written_and_those_between_now_and_then() -> None:
    stream = io.StringIO()
    with ProgressBar(stream, 50) as bar:
        for done in range(51):
            bar.update(f"{done} of 50", done)
    assert stream.getvalue() == "0 of 50\n50 of 50; 0 s left\n"


def test_the_last_piece_of_work_has_one_line_however_often_it_is_shown() -> None:
    stream = io.StringIO()
    with ProgressBar(stream, 2) as bar:
        for done, text in ((0, "a"), (2, "b"), (2, "c"), (2, "d")):
            bar.update(text, done)
    assert stream.getvalue() == "a\nb; 0 s left\n"


def test_every_line_is_written_where_no_time_has_to_pass() -> None:
    stream = io.StringIO()
    with ProgressBar(stream, every=0.0) as bar:
        bar.update("reading")
        bar.update("one", 1, line="the first")
        bar.print("kept")
        bar.update("two", 2, left=90.0)
    assert stream.getvalue() == "reading\nthe first\nkept\ntwo; 1 min left\n"


def test_the_time_left_is_not_estimated_from_the_first_piece_of_long_work() -> None:
    stream = io.StringIO()
    with ProgressBar(stream, 1000, every=0.0) as bar:
        for done in (0, 1, 20):
            bar.update(f"{done}", done)
    first, second, third = stream.getvalue().splitlines()
    assert (first, second) == ("0", "1")
    assert third.startswith("20; ")


def test_a_terminal_gets_a_bar_with_text_count_and_time_left() -> None:
    stream = Terminal()
    with ProgressBar(stream) as bar:
        bar.update("[b6] games", 1, 4, left=61.0, line="not on a terminal")
        bar.print("[kept]")
        bar.update("[b6] games", 2, 4)
    shown = stream.getvalue()
    assert all(text in shown for text in ("[b6] games", "1/4", "0:01:01", "[kept]", "2/4"))
    assert "not on a terminal" not in shown


def test_nothing_is_shown_without_a_stream() -> None:
    with ProgressBar(None, 2) as bar:
        bar.update("one", 1)
        bar.print("kept")
        bar.update("two", 2)
