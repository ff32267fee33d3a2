"""Small books that tests make by hand or by the builder with a made-up evaluator."""

from pathlib import Path

from engine.apps.book.build import BookSettings, Builder
from engine.book.book import Book
from engine.book.file import read
from engine.rules import TROMP_TAYLOR
from engine.search.params import SearchParams
from tests.search.fakes import FakeEvaluator

VISITS = 24


def asked(width: int = 4, height: int = 4, at_once: int = 5) -> BookSettings:
    """Return what a small book is built from."""
    return BookSettings(width, height, TROMP_TAYLOR, 0.5, VISITS, "fake", at_once)


def builder(folder: Path | None = None, of: BookSettings | None = None) -> Builder:
    """Return a builder with a made-up evaluator."""
    return Builder(FakeEvaluator(), SearchParams(seed=1), of or asked(), folder)


def small_book(folder: Path, steps: int = 8, of: BookSettings | None = None) -> Path:
    """Write a book of some steps and return its file."""
    made = builder(None, of)
    for _ in range(steps):
        assert made.step()
    path = folder / "small.book"
    made.write(path)
    return path


def opened(path: Path) -> Book:
    """Return the book of a file."""
    return Book(*read(path), path.name)
