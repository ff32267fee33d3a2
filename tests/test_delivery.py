"""What is installed is known by its hash, what builds it by its commit, and an unsupported Python is refused."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parent.parent
LOCKED = sorted((ROOT / "requirements").glob("*.txt"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")
MAKE = shutil.which("make")


def name_of(requirement: str) -> str:
    """Return the name in a requirement, as indexes compare it."""
    return re.sub(r"[-_.]+", "-", Requirement(requirement).name).lower()


def locked(file: Path) -> dict[str, tuple[str, int]]:
    """Return version and number of hashes by the name of each package in a file of requirements."""
    text = re.sub(r"^#.*\n", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = {}
    for entry in text.replace("\\\n", " ").splitlines():
        requirement = Requirement(entry.partition("--hash")[0])
        [pin] = requirement.specifier
        assert pin.operator == "==", entry
        found[name_of(requirement.name)] = (pin.version, len(HASH.findall(entry)))
    return found


@pytest.mark.parametrize("file", LOCKED, ids=lambda file: file.stem)
def test_every_locked_package_has_hashes_and_the_version_of_the_constraints(file: Path) -> None:
    pins = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, version = line.partition("==")
            pins[name_of(name)] = version
    found = locked(file)
    assert len(found) > 4
    assert {name: version for name, (version, _) in found.items()} == {name: pins.get(name) for name in found}
    assert [name for name, (_, hashes) in found.items() if hashes == 0] == []


def test_what_an_installed_program_needs_is_locked() -> None:
    assert {name_of(each) for each in PROJECT["dependencies"]} <= locked(ROOT / "requirements" / "keima.txt").keys()


@pytest.mark.parametrize("extra", ["dev", "binary"])
def test_what_an_extra_needs_is_locked_but_torch(extra: str) -> None:
    wanted = {name_of(each) for each in PROJECT["optional-dependencies"][extra]}
    assert wanted - {"torch"} <= locked(ROOT / "requirements" / f"{extra}.txt").keys()


@pytest.mark.parametrize("workflow", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda path: path.stem)
def test_every_action_is_pinned_by_its_commit_beside_its_version(workflow: Path) -> None:
    used = re.findall(r"uses: (.*)", workflow.read_text(encoding="utf-8"))
    assert used
    assert [each for each in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)] == []


@pytest.mark.parametrize(
    ("version", "is_supported"), [("3.10", False), ("3.11", True), ("3.14", True), ("3.15", False)]
)
def test_pip_refuses_a_python_that_is_not_supported(version: str, is_supported: bool) -> None:
    assert SpecifierSet(PROJECT["requires-python"]).contains(f"{version}.0") is is_supported


@pytest.mark.skipif(MAKE is None or os.name == "nt", reason="needs make and a POSIX shell")
@pytest.mark.parametrize("version", ["3.10", "3.15"])
def test_make_refuses_a_python_that_is_not_supported_in_one_sentence(version: str, tmp_path: Path) -> None:
    python = tmp_path / "python"
    major, minor = version.split(".")
    faked = f"import sys; sys.version_info = ({major}, {minor}, 0); exec(sys.argv[1])"
    answer = f'[ "$1" = --version ] && {{ echo Python {version}.0; exit; }}'
    python.write_text(f'#!/bin/sh\n{answer}\nexec {sys.executable} -c "{faked}" "$2"\n')
    python.chmod(0o755)
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "requirements"):
        (tmp_path / name).symlink_to(ROOT / name)
    assert MAKE is not None
    result = subprocess.run([MAKE, "install", f"PYTHON={python}"], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode != 0
    assert result.stderr.splitlines()[0] == (
        f"keima needs Python 3.11 to 3.14; {python} is Python {version}.0 (make PYTHON=...)"
    )
    assert not (tmp_path / ".venv").exists()
