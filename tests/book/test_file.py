"""A book's file: written and read, and refused in one line where it is damaged."""

import random
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.book.file import Entries, read, write
from engine.book.finding import BookError
from tests.book.books import small_book
from tests.weights.test_bad_files import MEGABYTE, memory_below


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a small book."""
    return small_book(tmp_path_factory.mktemp("book"))


def reads_or_is_refused(path: Path, data: bytes) -> bool:
    """Return whether a file with these contents is read; otherwise one line names file, expected and got."""
    path.write_bytes(data)
    try:
        read(path)
    except BookError as error:
        text = str(error)
        assert text.startswith(f"{path}: expected ")
        assert ", got " in text
        assert re.fullmatch(r"[ -~]+", text.removeprefix(str(path))), text
        assert len(text) < len(str(path)) + 400
        return False
    return True


def test_a_book_that_was_written_is_read_and_written_to_the_same_bytes(book: Path, tmp_path: Path) -> None:
    about, entries = read(book)
    write(tmp_path / "again", about, entries)
    assert (tmp_path / "again").read_bytes() == book.read_bytes()
    assert len(entries.key) > 30
    assert int(entries.first[-1]) == len(entries.move) > 20


def test_every_truncation_is_refused(book: Path, tmp_path: Path) -> None:
    data = book.read_bytes()
    for length in range(0, len(data), 7):
        assert not reads_or_is_refused(tmp_path / "cut", data[:length]), length
    assert not reads_or_is_refused(tmp_path / "longer", data + b"x")


def test_a_damaged_name_in_the_header_is_shown_in_letters_that_print(book: Path, tmp_path: Path) -> None:
    data = book.read_bytes().replace(b'"network"', b'"net\x7fork"')
    assert not reads_or_is_refused(tmp_path / "damaged", data)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 30), count=st.integers(1, 4))
def test_a_damaged_byte_is_refused_or_changes_only_the_text_of_the_header(
    seed: int, count: int, book: Path, tmp_path: Path
) -> None:
    chance, data = random.Random(seed), bytearray(book.read_bytes())
    for _ in range(count):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    with memory_below(8 * MEGABYTE):
        is_read = reads_or_is_refused(tmp_path / "damaged", bytes(data))
    if is_read:
        for mine, its in zip(read(tmp_path / "damaged")[1], read(book)[1], strict=True):
            assert np.array_equal(mine, its)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=200))
def test_any_bytes_after_the_first_line_are_refused(data: bytes, tmp_path: Path) -> None:
    assert not reads_or_is_refused(tmp_path / "any", b"keima-book 1\n" + data)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("positions", 1 << 31, "bytes"),
        ("positions", -1, "positions from 0"),
        ("moves", True, "moves from 0"),
        ("width", 26, "a board of 1x1 to 25x25"),
        ("komi", 1e9, "a komi"),
        ("rules", {"ko": "NEVER"}, "rules"),
        ("network", 7, "rules, network and made"),
    ],
)
def test_a_header_that_lies_is_refused_before_memory_is_taken(
    name: str, value: object, text: str, book: Path, tmp_path: Path
) -> None:
    import json

    data = book.read_bytes()
    start = len(b"keima-book 1\n") + 4
    length = int.from_bytes(data[start - 4 : start], "little")
    header = json.dumps(json.loads(data[start : start + length]) | {name: value}).encode()
    path = tmp_path / "lying"
    path.write_bytes(data[: start - 4] + len(header).to_bytes(4, "little") + header + data[start + length :])
    with memory_below(8 * MEGABYTE), pytest.raises(BookError, match=text):
        read(path)


@pytest.mark.parametrize(
    ("array", "change", "text"),
    [
        ("child", lambda a: a * 0 + 10_000, "positions below"),
        ("child", lambda a: a * 0 - 1, "positions below"),
        ("child", lambda a: a[::-1], "one ply after"),
        ("move", lambda a: a + 16, "moves on 4x4"),
        ("key", lambda a: a[::-1], "ascending"),
        ("first", lambda a: a[::-1], "in the order"),
        ("lead", lambda a: a * np.nan, "leads"),
    ],
)
def test_arrays_that_lead_nowhere_are_refused(
    array: str, change: object, text: str, book: Path, tmp_path: Path
) -> None:
    about, entries = read(book)
    assert callable(change)
    changed: Entries = entries._replace(**{array: change(getattr(entries, array))})
    write(tmp_path / "wrong", about, changed)
    with pytest.raises(BookError, match=text):
        read(tmp_path / "wrong")


def test_a_book_of_a_later_version_is_refused_by_its_first_line(tmp_path: Path) -> None:
    path = tmp_path / "later"
    path.write_bytes(b"keima-book 2\nsomething")
    with pytest.raises(BookError, match=r"begins with b'keima-book 1\\n', got b'keima-book 2'"):
        read(path)
