"""The pages: what they link to and tell a reader to run exists; the README stays short."""

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
README_BYTES = 10_240


def page_checker() -> ModuleType:
    """Return the program that `make lint` checks the pages with."""
    spec = importlib.util.spec_from_file_location("check_pages", ROOT / ".ci" / "check_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CHECKER = page_checker()
PAGE = ROOT / "docs" / "README.md"


@pytest.fixture(scope="module")
def pages() -> list[Path]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is no checkout")
    found: list[Path] = CHECKER.pages()
    return found


def test_links_paths_and_commands_of_all_pages_exist(pages: list[Path]) -> None:
    assert len(pages) > 10
    found = {
        str(page.relative_to(ROOT)): errors
        for page in pages
        if (errors := CHECKER.errors_in(page, page.read_text(encoding="utf-8")))
    }
    assert found == {}


def test_every_page_is_listed_in_the_index(pages: list[Path]) -> None:
    index = PAGE.read_text(encoding="utf-8")
    unlisted = [page.name for page in pages if page.parent == PAGE.parent and f"({page.name})" not in index]
    assert unlisted == [PAGE.name]


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_bytes()) <= README_BYTES


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[here](nowhere.md)", "link to nowhere.md: no such file"),
        ("[here](../README.md#no-heading)", "link to ../README.md#no-heading: no such heading"),
        ("![a picture](pictures/none.png)", "link to pictures/none.png: no such file"),
        ("See `engine/nowhere.py`.", "`engine/nowhere.py`: no such file"),
        ("Run `make nothing`.", "make nothing: no such target"),
        ("Run:\n\n    make nothing\n", "make nothing: no such target"),
        ('    make run ARGS="--no-option"\n', "keima gtp --no-option: no such option"),
        ("```sh\nkeima dance\n```\n", "keima dance: no such command"),
        ("    keima train run RUN --dance 3\n", "keima train run --dance: no such option"),
        ('    keima match --games 1 \\\n      --black "keima gtp --dance"\n', "keima gtp --dance: no such option"),
        ("    echo quit | .venv/bin/keima --dance\n", "keima gtp --dance: no such option"),
        ("    keima.exe setup kgs --dance\n", "keima setup --dance: no such option"),
        ("The option `--dance 3`.", "`--dance 3`: no command has the option --dance"),
        ("    python -m tests.nothing\n", "python -m tests.nothing: no such program"),
    ],
)
def test_what_is_wrong_with_a_page_is_found(text: str, error: str) -> None:
    assert CHECKER.errors_in(PAGE, text) == [error]


@pytest.mark.parametrize(
    "text",
    [
        "[a page](../README.md#two-commands) and [a site](https://example.org/#x)",
        "`engine/search/` and `[not](a-link.md)` in code",
        '    make bench ARGS="--net none --cold"\n    keima analysis -model NET -override-config maxVisits=1\n',
        "    keima web --net FILE --port 1\n    gnugo --mode gtp --level 10 && keima COMMAND --help\n",
    ],
)
def test_what_is_right_with_a_page_is_not_an_error(text: str) -> None:
    assert CHECKER.errors_in(PAGE, text) == []
