"""Where numba's private means do not work, kernels are compiled without them, and results stay right."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.native.jit import compiles

pytestmark = pytest.mark.skipif(not compiles(), reason="kernels are plain Python here")
ROOT = Path(__file__).resolve().parents[2]
CHANGES = {
    "a class of the cache is gone": "del caching._CacheLocator",
    "the class of dispatchers is gone": "del registry.CPUDispatcher",
    "an option is refused": "dispatcher.Dispatcher.__init__ = without_nrt",
    "types of arguments are chosen elsewhere": "functions.Dispatcher.get_call_type = chosen_elsewhere",
    "code has no address": "codegen.JITCodeLibrary.get_pointer_to_function = refused",
    "tuples are made in another way": "base.BaseContext.make_tuple = refused",
    "cached kernels cannot be loaded": "caching.CompileResultCacheImpl.rebuild = lambda *given: None",
    "attributes of functions are kept in another way": "ir.values.FunctionAttributes.__iter__ = lambda self: iter(())",
}
"""What a later numba or llvmlite could do, as a line that makes the installed one do it to Keima."""
CHANGED_NUMBA = """
import sys
from llvmlite import ir
from numba.core import base, caching, codegen, dispatcher, registry
from numba.core.types import functions

init, get_pointer = dispatcher.Dispatcher.__init__, codegen.JITCodeLibrary.get_pointer_to_function
make_tuple = base.BaseContext.make_tuple

def without_nrt(self, py_func, locals=None, targetoptions=None, **rest):
    if "_nrt" in targetoptions:
        raise KeyError("_nrt")
    init(self, py_func, locals, targetoptions, **rest)

def chosen_elsewhere(self, context, args, kws):
    template, pysig, args, kws = dispatcher.Dispatcher.get_call_template(self.dispatcher, args, kws)
    return template(context).apply(args, kws).replace(pysig=pysig)

def refused(self, *given):
    if sys._getframe(1).f_globals["__name__"].startswith("engine."):
        raise AttributeError("gone")
    return (get_pointer if len(given) == 1 else make_tuple)(self, *given)
"""
FULL_DISK = """
def full(self, key, data):
    raise OSError(28, "No space left on device")

caching.IndexDataCacheFile.save = full
from engine.native import kernel_cache
kernel_cache._KernelFiles.save = full
"""
"""No kernel can be kept."""
ONE_KERNEL = """
import numpy as np
from engine.native.closures import runs_closures
from engine.native.jit import has_private_means, kernel
from engine.native.locks import holding, new_lock

@kernel
def _double(number):
    return number + number

@kernel
def double_all(narrow, wide):
    return _double(narrow[0]) + _double(wide[0])

numbers = np.array([100], np.int8), np.array([1 << 40], np.int64)
with holding(new_lock()):
    print(double_all(*numbers) == 200 + (2 << 40), has_private_means(), runs_closures())
"""
GENMOVE = """
import keima
keima.main(["gtp", "--net", "none", "--visits", "8"])
"""


def run(folder: Path, change: str, program: str, typed: str = "", **environment: str) -> tuple[str, list[str]]:
    """Run a program with a changed numba; return what it wrote to stdout, and the lines on stderr."""
    script = folder / "changed.py"
    # The processor is chosen before numba is imported, as in every start.
    script.write_text(
        "import engine.native\n" + CHANGED_NUMBA + change + program if change else "import engine.native\n" + program
    )
    given = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(
        [sys.executable, str(script)], input=typed, env=given, capture_output=True, text=True, check=True, timeout=280
    )
    return done.stdout, done.stderr.splitlines()


def test_the_installed_numba_passes(tmp_path: Path) -> None:
    for _ in range(2):
        printed, lines = run(tmp_path, "", ONE_KERNEL, KEIMA_CACHE=str(tmp_path / "cache"))
        assert printed.startswith("True True ")
        assert [line for line in lines if "compiling kernels" not in line] == []


def test_a_warm_start_compiles_nothing_to_check(tmp_path: Path) -> None:
    program = "\nfrom engine.native import jit, progress\nprint(progress.compilations())\n"
    cold, warm = (run(tmp_path, "", program, KEIMA_CACHE=str(tmp_path / "cache"))[0] for _ in range(2))
    assert int(cold) > 0
    assert int(warm) == 0


def test_a_full_cache_of_another_processor_that_cannot_be_written_is_no_fault_of_numba(tmp_path: Path) -> None:
    cache = str(tmp_path / "cache")
    run(tmp_path, "", ONE_KERNEL, KEIMA_CACHE=cache)
    printed, lines = run(tmp_path, FULL_DISK, ONE_KERNEL, KEIMA_CACHE=cache, NUMBA_CPU_NAME="x86-64-v3")
    assert printed.startswith("True True ")
    assert [line for line in lines if "cannot be written" in line]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_changed_numba_leads_to_plain_kernels_and_one_line(tmp_path: Path, change: str) -> None:
    printed, lines = run(tmp_path, change, ONE_KERNEL, KEIMA_CACHE=str(tmp_path / "cache"))
    assert printed == "True False False\n"
    told = [line for line in lines if "does not work as expected" in line]
    assert len(told) == 1
    assert told[0].startswith("keima: numba ")


@pytest.mark.slow  # compiles every kernel of a search in its own way, once a change of the sources
def test_a_changed_numba_plays(tmp_path: Path) -> None:
    commands = "boardsize 5\ngenmove b\ngenmove w\nquit\n"
    # Little optimization makes compiling take half the time.
    printed, lines = run(tmp_path, CHANGES["a class of the cache is gone"], GENMOVE, commands, NUMBA_OPT="1")
    _, black, white, _ = [line for line in printed.splitlines() if line.startswith("=")]
    assert black != white and all(line[2:3] in "ABCDE" for line in (black, white))
    assert len([line for line in lines if "does not work as expected" in line]) == 1
