"""The wheel holds one package, `keima`, and works whatever else is on the path; the sdist holds the whole repository.

The tests marked slow install the wheel and use it beside foreign packages `engine`, `gtp` and `weights`.
"""

import ast
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

import engine
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("engine", "gtp", "weights")
"""What the repository has at its top, beside keima.py and the tests."""
QUALIFIED = runpy.run_path(str(ROOT / ".ci" / "wheel_namespace.py"))["qualified"]
WINDOWS = sys.platform == "win32"


def listed(*arguments: str) -> set[str]:
    """Return the files that `git ls-files` lists; skip where this is no checkout."""
    try:
        listing = subprocess.run(
            ["git", "ls-files", "-z", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"this is no checkout: {error}")
    return {name for name in listing.stdout.split("\0") if name and (ROOT / name).exists()}


def build(kind: str, source: Path, folder: Path) -> Path:
    """Build a wheel or an sdist of a source tree and return the file."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)],
        cwd=source,
        check=True,
        capture_output=True,
    )
    [built] = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a wheel of this checkout."""
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an sdist of this checkout."""
    return build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))


def contents(wheel: Path) -> dict[str, bytes]:
    """Return the files of a wheel by name."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_configuration_lists_every_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert sorted(packages) == sorted({path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests"})


def test_the_wheel_has_one_package_with_every_file(wheel: Path) -> None:
    information = f"keima-{engine.__version__}.dist-info/"
    found = {name for name in contents(wheel) if not name.startswith(information)}
    moved = {f"keima/{name}" for name in listed("--cached", "--others", "--exclude-standard", *PACKAGES)}
    assert found == moved | {"keima/__init__.py", "keima/__main__.py", "keima/py.typed"}


def test_no_module_of_the_wheel_uses_a_name_of_the_repository(wheel: Path) -> None:
    """Neither by an import nor by a text that names a module, as `importlib` takes it."""
    module = re.compile(rf"(?:{'|'.join(PACKAGES)})(?:\.\w+)+")
    sources = {name: data for name, data in contents(wheel).items() if name.endswith(".py")}
    assert len(sources) > 200
    for name, data in sources.items():
        for node in ast.walk(ast.parse(data)):
            used = []
            if isinstance(node, ast.Import):
                used = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                used = [str(node.module)]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and module.fullmatch(node.value):
                used = [node.value]
            assert [each for each in used if each.partition(".")[0] in PACKAGES] == [], name


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from engine.game import Game\n", "from keima.engine.game import Game\n"),
        ("from gtp import session\r\n", "from keima.gtp import session\r\n"),
        ("import os, engine.game as g, gtp as t\n", "import os, keima.engine.game as g, keima.gtp as t\n"),
        ("def f():\n    from weights import native  # of engine.nets\n", None),
        ('"""See `engine.game`."""\nx = "é"; from engine import (\n    game,\n)\n', None),
        ("from engines import x\nimport gtpx.engine\nfrom os import engine\n", "\\g<0>"),
        ("engine = 1\nengine.real\nfrom . import engine\n", "\\g<0>"),
    ],
)
def test_only_imports_of_the_packages_are_changed(source: str, expected: str | None) -> None:
    if expected is None:
        expected = source.replace("from engine", "from keima.engine").replace("from weights", "from keima.weights")
    assert QUALIFIED(source, PACKAGES) == (source if expected == "\\g<0>" else expected)


@pytest.mark.parametrize("source", ["import engine\n", "x = 1\nimport os, engine.game\n"])
def test_an_import_of_a_name_that_the_wheel_lacks_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match=r"line \d: import engine[.\w]*: expected `from` or `as`"):
        QUALIFIED(source, PACKAGES)


def test_the_sdist_has_every_file_of_the_repository(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert listed() - names == set()


def test_the_sdist_builds_the_same_wheel(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    [source] = tmp_path.iterdir()
    assert contents(build("wheel", source, tmp_path / "built")) == contents(wheel)


def test_what_a_container_is_built_from_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    context = tmp_path / "context"
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        if line.startswith("!/"):
            path = ROOT / line.removeprefix("!/")
            target = context / path.name
            target.parent.mkdir(exist_ok=True)
            if path.is_dir():
                shutil.copytree(path, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(path, target)
    assert contents(build("wheel", context, tmp_path / "built")) == contents(wheel)
    assert (context / "requirements" / "keima.txt").is_file()


@pytest.mark.slow
def test_the_sdist_passes_its_tests(sdist: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    [source] = tmp_path.iterdir()
    shown = "import engine, tests; print(engine.__file__, tests.__file__)"
    found = subprocess.run([sys.executable, "-c", shown], cwd=source, capture_output=True, text=True, check=True).stdout
    assert found.split() == [str(source / name / "__init__.py") for name in ("engine", "tests")]
    some = ("tests/test_rules.py", "tests/test_vertex.py", "tests/support", "tests/settings", "tests/test_house.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *some]
    result = subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stdout
    assert int(re.findall(r"(\d+) passed", result.stdout)[0]) > 100


class Installed:
    """The wheel in a virtual environment with the dependencies of the running one, but nothing of this checkout.

    Programs start in a folder with foreign packages that refuse to be imported, which PYTHONPATH names, too.
    """

    def __init__(self, wheel: Path, folder: Path) -> None:
        self.foreign = folder / "foreign"
        for name in PACKAGES:
            (self.foreign / name).mkdir(parents=True)
            (self.foreign / name / "__init__.py").write_text('raise RuntimeError(f"{__name__} is not Keima\'s")\n')
        home = folder / "environment"
        venv.create(home, symlinks=not WINDOWS)
        self.scripts = home / ("Scripts" if WINDOWS else "bin")
        self.python = self.scripts / ("python.exe" if WINDOWS else "python")
        [libraries] = home.rglob("site-packages")
        # A path in a .pth file brings what lies there, but not what .pth files there name: the editable installation.
        (libraries / "dependencies.pth").write_text("\n".join({sysconfig.get_path(n) for n in ("purelib", "platlib")}))
        pip = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(self.python),
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
        ]
        subprocess.run([*pip, str(wheel)], check=True)
        self.package = libraries / "keima"

    def start(self, *command: str | Path) -> "subprocess.Popen[str]":
        """Start a program."""
        return subprocess.Popen(
            [str(word) for word in command],
            cwd=self.foreign,
            env={**os.environ, "PYTHONPATH": str(self.foreign)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *command: str | Path, lines: str = "") -> str:
        """Return what a program prints, which must succeed."""
        with self.start(*command) as process:
            output, errors = process.communicate(lines, timeout=600)
        assert process.returncode == 0, errors
        return output

    def keima(self, *arguments: str | Path, lines: str = "") -> str:
        """Return what the command `keima` prints."""
        return self.run(self.scripts / "keima", *arguments, lines=lines)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """Install the wheel."""
    folder = tmp_path_factory.mktemp("installed")
    yield Installed(wheel, folder)
    shutil.rmtree(folder)


def version_line(program: str) -> str:
    """Return what --version prints."""
    return f"{program}, version {engine.__version__}\n"


@pytest.mark.slow
def test_the_foreign_packages_are_found_by_others(installed: Installed) -> None:
    for name in PACKAGES:
        with installed.start(installed.python, "-c", f"import {name}") as process:
            _, errors = process.communicate(timeout=60)
        assert f"RuntimeError: {name} is not Keima's" in errors


@pytest.mark.slow
def test_it_starts_by_its_script_its_module_and_its_path(installed: Installed) -> None:
    assert installed.keima("--version") == version_line("keima")
    assert installed.run(installed.python, "-m", "keima", "--version") == version_line("keima")
    assert installed.run(installed.python, installed.package, "--version") == version_line("keima")


@pytest.mark.slow
@pytest.mark.parametrize("words", ["bench --help", "train run --help", "zero --help", "net info zero9", "setup sabaki"])
def test_its_commands_load(installed: Installed, words: str) -> None:
    assert installed.keima(*words.split())


@pytest.mark.slow
def test_it_knows_its_presets(installed: Installed, tmp_path: Path) -> None:
    with installed.start(installed.scripts / "keima", "zero", tmp_path, "--preset", "nonsense") as process:
        _, errors = process.communicate(timeout=60)
    presets = sorted(path.stem for path in (ROOT / "engine" / "train" / "generations" / "presets").glob("*.toml"))
    assert process.returncode != 0
    assert all(name in errors for name in presets)


@pytest.mark.slow
def test_it_is_a_library_with_types(installed: Installed) -> None:
    [code] = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE | re.DOTALL)
    assert re.search(r"^[BW]\+\S+$", installed.run(installed.python, "-c", code), re.MULTILINE)
    assert (installed.package / "py.typed").is_file()


@pytest.mark.slow
def test_it_plays_over_gtp_with_the_network_that_it_ships(installed: Installed) -> None:
    commands = "boardsize 9\n" + "genmove b\ngenmove w\n" * 3 + "kata-get-models\nfinal_score\nquit\n"
    answers = installed.keima("gtp", "--visits", "8", lines=commands).split("\n\n")
    assert all(answer.startswith("=") for answer in answers[:-1]), answers
    assert str(installed.package / "weights" / "keima-t7c96.safetensors") in answers[7].replace("\\\\", "\\")


@pytest.mark.slow
def test_its_processes_play_against_themselves(installed: Installed, tmp_path: Path) -> None:
    options = ("--net", "zero9", "--games", "4", "--size", "9", "--processes", "2", "--set", "full_visits=8")
    assert "4 of 4 games" in installed.keima("selfplay", tmp_path / "games", *options)


@pytest.mark.slow
def test_it_starts_itself_to_be_measured(installed: Installed) -> None:
    words = ("--net", "none", "--size", "5", "--runs", "1", "--seconds", "0.01", "--json")
    assert json.loads(installed.keima("bench", *words))["first_genmove_s"] > 0


@pytest.mark.slow
def test_it_serves_its_page(installed: Installed, tmp_path: Path) -> None:
    words = ("--size", "9", "--visits", "5", "--port", "0", "--no-browser", "--out", tmp_path / "game")
    with installed.start(installed.scripts / "keima", "web", *words) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline().split()[0].rstrip("/").rpartition(":")[2])
            assert "<title>Keima</title>" in page(port, "/")
            page(port, "/do/play", '{"move": "E5"}')
            wait_until(lambda: "W[" in page(port, "/game.sgf"), 300)
        finally:
            process.terminate()
            process.wait(timeout=30)


def page(port: int, path: str, body: str | None = None) -> str:
    """Return what a page of `keima web` answers."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET" if body is None else "POST", path, body)
        answer = connection.getresponse()
        assert answer.status == 200
        return answer.read().decode()
