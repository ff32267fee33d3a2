"""The only import of numba: the `kernel` decorator and where compiled kernels are kept.

Numba's own cache looks at the time stamp of one file, so a cached caller survives a change of a
callee in another file, and a frozen program has no file to look at. Here the cache lives in a
directory named after everything that the machine code depends on: the sources of all kernels, the
versions of numba and Python, and the processor it was compiled for. A change of any of them starts
a new directory; nothing in an old one can be stale.

On x86-64 with AVX2 the kernels are compiled for the x86-64-v3 level rather than for the very
machine, so that the binary ships one set of kernels for every recent computer.
"""

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_ROOT = Path(__file__).resolve().parent
_FROZEN_CACHE = "kernels"
"""Folder with the compiled kernels inside the frozen program."""


def _source_key() -> str:
    """Return a hash over the sources of every kernel, or the one stored when the program was frozen."""
    if is_frozen():
        return (_frozen_directory() / "KEY").read_text().strip()
    digest = hashlib.sha256()
    for path in sorted(_ROOT.rglob("*.py")):
        source = path.read_bytes()
        if b"@kernel" in source or b"engine.board.layout" in source or path.name in _CONSTANT_FILES:
            digest.update(str(path.relative_to(_ROOT)).encode() + b"\0" + source)
    return digest.hexdigest()[:16]


_CONSTANT_FILES = {"layout.py", "vertex.py", "color.py", "jit.py"}


def is_frozen() -> bool:
    """True inside the PyInstaller binary."""
    return bool(getattr(sys, "frozen", False))


def _frozen_directory() -> Path:
    return Path(getattr(sys, "_MEIPASS", ".")) / _FROZEN_CACHE


def _user_cache() -> Path:
    chosen = os.environ.get("KEIMA_CACHE")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", str(Path.home()))) / "keima"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "keima"
    return Path(os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))) / "keima"


def _choose_processor() -> None:
    """Set numba's target to x86-64-v3 where this machine has it, unless the user chose another."""
    if "NUMBA_CPU_NAME" in os.environ:
        return
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    if all(features.get(name) for name in ("avx2", "bmi2", "fma", "lzcnt", "movbe")):
        os.environ["NUMBA_CPU_NAME"] = "x86-64-v3"
        os.environ["NUMBA_CPU_FEATURES"] = _V3_FEATURES


_V3_FEATURES = (
    "+64bit,+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,+movbe,"
    "+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+xsave"
)

_choose_processor()

import numba  # noqa: E402  (the processor must be chosen before numba reads its configuration)
from numba.core import caching  # noqa: E402


def cache_directory() -> Path:
    """Return the directory of compiled kernels that fits this program, existing or not."""
    if is_frozen():
        return _frozen_directory()
    return _user_cache() / f"kernels-{_KEY}-numba{numba.__version__}-py{sys.version_info[0]}{sys.version_info[1]}"


class _KernelLocator(caching._CacheLocator):  # type: ignore[misc]
    """Keeps every kernel in `cache_directory()`, valid for as long as the directory's name is."""

    def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
        self._place = f"{py_func.__module__}-{py_func.__code__.co_firstlineno}"

    def ensure_cache_path(self) -> None:
        if not is_frozen():
            super().ensure_cache_path()

    def get_cache_path(self) -> str:
        return str(cache_directory())

    def get_source_stamp(self) -> str:
        return _KEY

    def get_disambiguator(self) -> str:
        return self._place

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> "_KernelLocator":
        return cls(py_func, py_file)


_KEY = _source_key()
caching.CacheImpl._locator_classes = [_KernelLocator]
_KERNELS: list[Any] = []


def kernel(function: F) -> F:
    """Compile a free function on flat arrays: no Python objects, no GIL, cached on disk."""
    compiled = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    _KERNELS.append(compiled)
    return compiled  # type: ignore[no-any-return]


def compiled_kernels() -> int:
    """Return how many kernel signatures this process has compiled or loaded."""
    return sum(len(kernel.signatures) for kernel in _KERNELS if hasattr(kernel, "signatures"))
