"""The pages: what they link to, and what they ask a reader to run, exists; the walks of the architecture are true."""

import importlib.util
import io
import re
import shutil
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

from engine.encoders import ENCODERS
from engine.nets.random import random_spec
from engine.search.params import SearchParams
from engine.train.data.batches import WindowSource
from engine.train.data.record_shards import make_shards
from engine.train.data.replay import Window
from gtp.commands import HANDLERS
from gtp.session import serve
from gtp.state import GtpState, SessionConfig
from keima import make_player
from tests.test_architecture import TREES, imports
from tests.train.random_data import ENCODER, tiny_config
from tests.walks import Function, Step, called_by, kernels_below, walk_of
from weights import native

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
        "[a page](../README.md#what-it-does) and [a site](https://example.org/#x)",
        "`engine/search/` and `[not](a-link.md)` in code",
        '    make bench ARGS="--net none --cold"\n    keima analysis -model NET -override-config maxVisits=1\n',
        "    keima web --net FILE --port 1\n    gnugo --mode gtp --level 10 && keima COMMAND --help\n",
    ],
)
def test_what_is_right_with_a_page_is_not_an_error(text: str) -> None:
    assert CHECKER.errors_in(PAGE, text) == []


def test_the_walk_of_a_genmove_is_what_happens(tmp_path: Path) -> None:
    steps = walk_of("The path of a `genmove`")
    network = tmp_path / "tiny.safetensors"
    native.write(random_spec(1, 4, ENCODERS["katago-v7"], 1), network)
    options = {"net": str(network), "backend": "openvino", "precision": "fp32", "threads": 1, "profile": None}
    factory = partial(make_player, SearchParams(seed=1), {**options, "reflexes": False})
    replies = io.BytesIO()

    def genmove() -> None:
        state = GtpState(SessionConfig(width=5, height=5, visits=20), factory, HANDLERS)
        serve(state, io.BytesIO(b"genmove b\nquit\n"), replies)

    assert untrue(steps, called_by(genmove)) == []
    assert re.match(rb"= [A-E][1-5]\n\n", replies.getvalue())
    assert 10 < len(steps) <= 20


def test_the_walk_of_a_training_sample_is_what_happens(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    from engine.train.learning.train import train

    steps = walk_of("The path of a training sample")
    record = tmp_path / "game.sgf"
    record.write_text("(;SZ[5]KM[7]RU[Chinese]RE[B+R];B[cc];W[bb];B[dd];W[db])")

    def sample_to_loss() -> None:
        make_shards((record,), tmp_path / "shards", ENCODER, None, None, 1, False, 0, 100)
        window = Window(tmp_path / "shards")
        train(tiny_config(steps=1), WindowSource(window, 4, 1), tmp_path / "run")

    assert untrue(steps, called_by(sample_to_loss)) == []
    assert 10 < len(steps) <= 15


def untrue(steps: list[Step], called: set[Function]) -> list[str]:
    """Return what a walk names that was not called, files that do not exist, and files that it names twice."""
    known = called | kernels_below(called)
    files = [step.file for step in steps]
    found = [f"{step.file}: names no function" for step in steps if not step.functions]
    found += [f"{file}: no such file" for file in files if not (ROOT / file).is_file()]
    found += [f"{file}: named twice" for file in sorted(set(files)) if files.count(file) > 1]
    named = [Function(step.file, name) for step in steps for name in step.functions]
    return found + [f"{each.file}: {each.name} is not called" for each in named if each not in known]


def test_a_walk_that_is_not_true_is_found() -> None:
    steps = [Step("keima.py", ("nothing",)), Step("keima.py", ()), Step("engine/nowhere.py", ("main",))]
    assert untrue(steps, {Function("keima.py", "main")}) == [
        "keima.py: names no function",
        "engine/nowhere.py: no such file",
        "keima.py: named twice",
        "keima.py: nothing is not called",
        "engine/nowhere.py: main is not called",
    ]


def test_the_map_lists_every_room() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `([a-z/]+)`", page, re.MULTILINE))
    packages = {path.parent.relative_to(ROOT).as_posix() + "/" for path in ROOT.glob("engine/*/__init__.py")}
    assert listed == packages | {"engine/", "gtp/", "weights/"}


def test_the_arrows_of_the_map_are_imports() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    drawn = set(re.findall(r"^ +(\w+)(?:\[.*?\])? --> (\w+)", page, re.MULTILINE))
    found = {(room_of(name), room_of(each)) for name in TREES for each in imports(name) if each in TREES}
    assert len(drawn) > 15
    assert drawn <= found


def room_of(module: str) -> str:
    """Return the name of a module's room in the drawing."""
    parts = module.split(".")
    return parts[1] if parts[0] == "engine" and len(parts) > 1 else parts[0]
