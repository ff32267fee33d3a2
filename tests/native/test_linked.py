"""Kernels that are linked when the program is built need neither numba nor LLVM, on old processors too."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from engine.native.frozen import LEVELS, LINKS_KERNELS, library_name

pytestmark = pytest.mark.skipif(not (LINKS_KERNELS and shutil.which("cc")), reason="links on Linux, with a C compiler")
ROOT = Path(__file__).resolve().parents[2]
RESULTS = "[3, 6, 7.5, 0.5, 43, 'total']\n"


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.native.linked_kernels", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_DISABLE_JIT": "0", "NUMBA_BOUNDSCHECK": "0"}
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a program whose kernels are linked."""
    folder = tmp_path_factory.mktemp("program")
    process = run("link", folder / "cache", folder)
    assert (process.stdout, process.returncode) == (RESULTS, 0), process.stderr
    return folder


def test_linked_kernels_return_what_compiled_ones_do(linked: Path) -> None:
    assert run("run", linked).stdout.splitlines()[0] + "\n" == RESULTS


def test_a_kernel_without_code_for_its_arguments_runs_as_python_after_one_line(linked: Path) -> None:
    process = run("run", linked)
    assert process.stdout == f"{RESULTS}0.75\n"
    assert process.stderr == "this program has no compiled add for its arguments and is slow\n"


def test_the_library_for_old_processors_computes_the_same(linked: Path, tmp_path: Path) -> None:
    shutil.copytree(linked / "kernels", tmp_path / "kernels")
    new, old = (tmp_path / "kernels" / library_name(level) for level in LEVELS)
    shutil.copy(old, new)
    assert run("run", tmp_path).stdout.startswith(RESULTS)


def test_the_library_for_old_processors_has_no_newer_instructions(linked: Path) -> None:
    counts = []
    for level in LEVELS:
        library = linked / "kernels" / library_name(level)
        listed = subprocess.run(["objdump", "-d", library], capture_output=True, text=True, check=True).stdout
        counts.append(listed.count("\tv"))  # the names of AVX's instructions begin with v
    assert counts[0] > 0
    assert counts[1] == 0
