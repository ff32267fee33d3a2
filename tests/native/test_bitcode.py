"""Kernels that kernels call are LLVM code alone; what is compiled from it returns what the Python functions do."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.native.closures import Closure, invoke
from engine.native.jit import compiles, kernel

pytestmark = pytest.mark.skipif(not compiles(), reason="kernels are plain Python here")
ROOT = Path(__file__).resolve().parents[2]
CALLS = """
import logging
import sys
import numpy as np
from engine.native import bitcode, progress
bitcode._LARGE = int(sys.argv[1])
from engine.native.closures import Closure, invoke
from engine.native.jit import kernel

class Names(logging.Handler):
    def emit(self, record):
        names.append(record.getMessage().split()[-1].split("-")[0])

names = []
progress._log.addHandler(Names())
progress._log.setLevel(logging.INFO)

@kernel
def _square(number):
    if number < 0:
        raise ValueError("negative")
    return number * number

@kernel
def total(numbers, first):
    found = first
    for each in numbers:
        found += _square(each)
    return found

@kernel
def twice(numbers, first):
    return 2 * total(numbers, first)

@kernel
def call(address, number):
    return invoke(address, number)

@kernel
def count(pair):
    return len(pair[0]) + pair[1]

numbers = np.arange(4)
found = [count((numbers, 2))]
closure = Closure(twice, numbers)
found += [total(numbers, 1), twice(numbers, 1), call(closure.address, 1), call(Closure(total, -numbers).address, 0)]
try:
    total(-numbers, 1)
except ValueError as error:
    found.append(str(error))
print(found, *sorted(name for name in names if name in ("_square", "total", "twice", "call", "count")))
"""
RESULTS = "[6, 15, 30, 30, -1, 'negative']"


def run(folder: Path, large: int = 100_000) -> str:
    """Run kernels that call each other in a process of its own; return their results and what was compiled."""
    script = folder / "calls.py"
    script.write_text(CALLS)
    given = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_DISABLE_JIT": "0", "KEIMA_CACHE": str(folder / "cache")}
    command = [sys.executable, str(script), str(large)]
    return subprocess.run(command, env=given, capture_output=True, text=True, check=True, timeout=120).stdout


@kernel
def _thrice(number: int) -> int:
    return 3 * number


@kernel
def from_array(numbers: NDArray[np.int64], index: int) -> int:
    return _thrice(numbers[index])


def test_a_callee_has_no_machine_code_and_its_callers_have() -> None:
    numbers = np.arange(5)
    assert from_array(numbers, 4) == 12
    [entry], callee = from_array.overloads.values(), from_array.callee  # type: ignore[attr-defined]
    engine = entry.library.codegen._engine
    assert engine.is_symbol_defined(entry.fndesc.llvm_cpython_wrapper_name)
    for compiled in (*_thrice.overloads.values(), *callee.overloads.values()):  # type: ignore[attr-defined]
        assert compiled.library._compiled_object is None
    assert invoke(Closure(from_array, numbers).address, 3) == 9


def test_a_kernel_is_compiled_once_for_python_kernels_and_closures(tmp_path: Path) -> None:
    # `total` and `twice` as a callee, as an entry for Python, and as a closure, of whose name the beginning is shown.
    assert run(tmp_path) == f"{RESULTS} _square call count total total total twice twice twice\n"
    assert run(tmp_path) == f"{RESULTS}\n"


@pytest.mark.parametrize(
    ("files", "compiled"),
    # Without the first kernels of a process, of the self-check, an entry is the first that needs numba's conversions.
    [("*.nbc", " call count total total twice twice"), ("calls.*.nbc", " call count total twice"), ("*.bc", "")],
    ids=["entries are compiled again", "entries alone are compiled again", "entries need no callees"],
)
@pytest.mark.parametrize("damage", [Path.unlink, lambda file: file.write_bytes(file.read_bytes()[:-1])])
def test_files_of_the_cache_that_are_lost_or_damaged(
    tmp_path: Path, files: str, compiled: str, damage: Callable[[Path], object]
) -> None:
    run(tmp_path)
    for file in (tmp_path / "cache").glob(f"*/{files}"):
        damage(file)
    assert run(tmp_path) == f"{RESULTS}{compiled}\n"


def test_a_callee_of_any_size_can_be_optimized_with_its_callers_alone(tmp_path: Path) -> None:
    assert run(tmp_path, large=0).startswith(RESULTS)


def test_the_binary_has_an_entry_for_python_of_what_only_kernels_have_called(tmp_path: Path) -> None:
    (tmp_path / "kernels_of_binary.py").write_text("""
from engine.native.jit import kernel

@kernel
def thrice(number):
    return 3 * number

@kernel
def thrice_more(number):
    return thrice(number) + 1
""")
    program = """
import engine.native
from engine.native.cache_directory import cache_directory
from engine.native.linking import _compile_entries
import kernels_of_binary

kernels_of_binary.thrice_more(2)
before = {file.name for file in cache_directory().glob("*.nbc")}
_compile_entries(cache_directory())
print(*(file.name.split("-")[0] for file in cache_directory().glob("*.nbc") if file.name not in before))
"""
    path = f"{tmp_path}{os.pathsep}{ROOT}"
    given = {**os.environ, "PYTHONPATH": path, "NUMBA_DISABLE_JIT": "0", "KEIMA_CACHE": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", program], env=given, capture_output=True, text=True, check=True)
    assert done.stdout == "kernels_of_binary.thrice\n"
