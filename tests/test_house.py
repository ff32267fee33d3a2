"""What every file of the project keeps to: its length, one version, and no trace of one machine."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import engine

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 450
"""Lines of a Python file; the aim is 400."""
MACHINE_PATHS = re.compile(r"(?<![\w./~])/(?:home|Users|root|work|opt)/\w+")


def tracked_files() -> list[Path]:
    """Return every file under version control that is text."""
    try:
        listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"this is no checkout: {error}")
    paths = [ROOT / name for name in listing.stdout.split("\0") if name]
    return [path for path in paths if path.is_file() and b"\0" not in path.read_bytes()[:4096]]


def test_no_file_is_too_long() -> None:
    lengths = {path: path.read_text(encoding="utf-8").count("\n") for path in tracked_files() if path.suffix == ".py"}
    assert len(lengths) > 20
    assert {str(path.relative_to(ROOT)): lines for path, lines in lengths.items() if lines > LONGEST} == {}


def test_no_file_names_a_path_of_one_machine() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in tracked_files()
        for match in MACHINE_PATHS.finditer(path.read_text(encoding="utf-8", errors="replace"))
    }
    assert found == set()


def test_the_changelog_knows_the_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    unreleased = changelog.split("## [Unreleased]")[1].split("\n## ")[0]
    assert f"## [{engine.__version__}]" in changelog or engine.__version__ in unreleased


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    pinned = {name.lower().replace("_", "-") for name in pins}
    wanted = project["dependencies"] + [each for extra in project["optional-dependencies"].values() for each in extra]
    assert {re.split(r"[<>=]", each)[0] for each in wanted} <= pinned


def test_the_makefile_lists_every_target_that_is_no_file() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    declared = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert declared
    explained = re.findall(r"^([a-z-]+):.*## \S", makefile, re.MULTILINE)
    assert sorted(explained) == sorted(declared.group(1).split())


@pytest.mark.parametrize("document", [".ci/run", ".github/workflows/ci.yml"])
def test_what_a_document_tells_to_make_can_be_made(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    told = set(re.findall(r"(?:^\s*|`|run: )make ([a-z-]+)", text, re.MULTILINE))
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert told
    assert told <= known
