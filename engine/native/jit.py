"""The only import of numba and llvmlite: the `kernel` decorator, where compiled kernels are kept, and what is known of
the processor. Others take numba's and llvmlite's names from here, for intrinsics of their own.

Numba's own cache looks at the time stamp of one file, so a cached caller survives a change of a
callee in another file, and a frozen program has no file to look at. Here the cache lives in a
directory named after everything that the machine code depends on: the sources of all kernels and
of the modules that they import, and the versions of numba and Python. A change of any of them
starts a new directory; nothing in an old one can be stale. A directory that cannot be written
costs a compilation at each start, never a failure. With NUMBA_BOUNDSCHECK=1 kernels check every index,
and have a directory of their own.

On x86-64 with AVX2 the kernels are compiled for the x86-64-v3 level rather than for the very
machine, so that the binary ships one set of kernels for every recent computer.
"""

import hashlib
import logging
import os
import re
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from engine.support.installation import user_cache

F = TypeVar("F", bound=Callable[..., Any])

_log = logging.getLogger(__name__)
_ROOT = Path(__file__).resolve().parents[1]
_ENGINE = __name__.removesuffix(".native.jit")
"""What modules below `_ROOT` are imported from: `engine` in the repository, `keima.engine` in the wheel."""
_FROZEN_CACHE = "kernels"
"""Folder with the compiled kernels inside the frozen program."""
_KEPT = 4
"""How many cache directories stay when a new one is begun: those of the versions last run."""
_OWN = re.compile(r"kernels-[0-9a-f]{16}-numba.*")
_MODULE = rf"({re.escape(_ENGINE)}[\w.]*)"
_IMPORT = re.compile(
    rf"^\s*(?:from\s+{_MODULE}\s+import\s+(\([^)]*\)|[^\n]*)|import\s+{_MODULE})".encode(), re.MULTILINE
)


def is_frozen() -> bool:
    """True inside the PyInstaller binary."""
    return bool(getattr(sys, "frozen", False))


def _frozen_directory() -> Path:
    return Path(getattr(sys, "_MEIPASS", ".")) / _FROZEN_CACHE


def source_key(root: Path = _ROOT) -> str:
    """Return a hash over the files with kernels below `root` and all modules that these import.

    In the frozen program, which has no sources, the hash that was stored when it was built.
    """
    if is_frozen():
        return (_frozen_directory() / "KEY").read_text().strip()
    found: dict[Path, bytes] = {}
    waiting = [path for path in root.rglob("*.py") if b"@kernel" in path.read_bytes()]
    while waiting:
        path = waiting.pop()
        if path not in found and path.is_file():
            found[path] = path.read_bytes()
            waiting += _imported_files(found[path], root.parents[_ENGINE.count(".")])
    digest = hashlib.sha256()
    for path, source in sorted(found.items()):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + source)
    return digest.hexdigest()[:16]


def _imported_files(source: bytes, top: Path) -> list[Path]:
    """Return where the modules of `engine` that a source imports may lie; not every path exists."""
    modules: set[str] = set()
    for package, names, module in _IMPORT.findall(source):
        start = (package or module).decode()
        modules |= {start} | {f"{start}.{name}" for name in re.findall(r"\w+", names.decode())}
    bases = [top.joinpath(*module.split(".")) for module in modules]
    return [base.with_suffix(".py") for base in bases] + [base / "__init__.py" for base in bases]


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
from llvmlite import ir  # noqa: E402
from numba import typeof  # noqa: E402
from numba.core import caching, cgutils, event, types  # noqa: E402
from numba.core.registry import CPUDispatcher  # noqa: E402
from numba.core.types import Integer, int64, uint64  # noqa: E402
from numba.core.types.misc import unliteral  # noqa: E402
from numba.extending import intrinsic  # noqa: E402

__all__ = [
    "BYTE_PRODUCTS",
    "TILES",
    "cache_directory",
    "cgutils",
    "code_address",
    "compilations",
    "compiles",
    "instruction_sets",
    "intrinsic",
    "ir",
    "is_frozen",
    "kernel",
    "remove_old_caches",
    "source_key",
    "typeof",
    "types",
]

_KEY = source_key()


def cache_directory() -> Path | None:
    """Return the directory of compiled kernels that fits this program, existing or not."""
    if is_frozen():
        return _frozen_directory()
    parent = user_cache()
    version = f"numba{numba.__version__}-py{sys.version_info[0]}{sys.version_info[1]}"
    checks = "-checked" if numba.config.BOUNDSCHECK else ""
    return parent and parent / f"kernels-{_KEY}-{version}{checks}"


def remove_old_caches(directory: Path, kept: int = _KEPT) -> None:
    """Remove the neighbors of a cache directory that were not used for longest, so that `kept` are left with it."""
    others = [path for path in directory.parent.glob("kernels-*") if path != directory and _OWN.fullmatch(path.name)]
    for path in sorted(others, key=_time_of_use, reverse=True)[kept - 1 :]:
        shutil.rmtree(path, ignore_errors=True)


def _time_of_use(directory: Path) -> float:
    try:
        return directory.stat().st_mtime
    except OSError:  # another process removes it, too
        return 0.0


@cache
def _note_use(directory: Path) -> None:
    """Set a cache directory's time of use, once a process."""
    if not is_frozen():
        with suppress(OSError):
            os.utime(directory)


@cache
def _warn(message: str, *details: object) -> None:
    """Warn once: what is wrong with one kernel's file is as a rule wrong with all."""
    _log.warning(message, *details)


class _KernelLocator(caching._CacheLocator):  # type: ignore[misc]
    """Keeps a kernel in `cache_directory()`, valid for as long as the directory's name is."""

    def __init__(self, py_func: Callable[..., Any]) -> None:
        self._place = f"{py_func.__module__}-{py_func.__code__.co_firstlineno}"

    def get_cache_path(self) -> str:
        return str(cache_directory())

    def get_source_stamp(self) -> str:
        return _KEY

    def get_disambiguator(self) -> str:
        return self._place

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> "_KernelLocator":
        return cls(py_func)


class _KernelCacheImpl(caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_KernelLocator,)


class _KernelFiles(caching.IndexDataCacheFile):  # type: ignore[misc]
    """A file for each overload of a kernel, named by a hash of its signature and target.

    Numba numbers the files and keeps an index of them: two processes that compile at a time can give one number twice,
    and then hand out each other's machine code for ever; a damaged index stops every start.
    """

    def save(self, key: object, data: Any) -> None:
        self._save_data(self._name(key), data)

    def load(self, key: object) -> Any:
        with suppress(FileNotFoundError):
            data = self._load_data(self._name(key))
            _note_use(Path(self._cache_path))
            return data
        return None

    def _name(self, key: object) -> str:
        return f"{Path(self._index_name).stem}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc"


class _KernelCache(caching.FunctionCache):  # type: ignore[misc]
    """One kernel's cache: what cannot be read is compiled, what cannot be written is not kept."""

    _impl_class = _KernelCacheImpl

    def __init__(self, py_func: Callable[..., Any]) -> None:
        super().__init__(py_func)
        self._cache_file = _KernelFiles(self._cache_path, self._impl.filename_base, _KEY)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # noqa: BLE001 - whatever damaged bytes make of reading them
            _warn("compiled kernels in %s cannot be read and are made again: %s", self.cache_path, type(error).__name__)
            _log.debug("of %s", self._name, exc_info=True)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        if is_frozen():
            return
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _warn("compiled kernels cannot be kept in %s: %s", self.cache_path, error.strerror)
            self.disable()


def _machine_type(given: Any) -> Any:
    """Return the one type that whole numbers of every width become when one kernel calls another."""
    given = unliteral(given)
    is_narrow = isinstance(given, Integer) and given not in (uint64, int64)
    return int64 if is_narrow else given


class _Kernel(CPUDispatcher):  # type: ignore[misc]
    """A kernel that is compiled once for whole numbers of every width, not once for each."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        folded = self._compiler.fold_argument_types(args, kws)[1]
        return super().get_call_template(tuple(_machine_type(each) for each in folded), {})


class _InnerKernel(_Kernel):
    """A kernel that only kernels can call."""

    def __call__(self, *args: Any, **kws: Any) -> NoReturn:
        raise TypeError(f"only kernels call {self.py_func.__qualname__}: its name begins with an underscore")


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # no stderr, or a closed one
        return False


def _say(text: str) -> None:
    """Write to stderr if there is one; a controller may have closed it."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(text)
        sys.stderr.flush()


class _Progress(event.Listener):  # type: ignore[misc]
    """Counts compilations and says on stderr, in one line, that they are going on."""

    def __init__(self) -> None:
        self.compilations = 0
        self._began = 0.0

    def on_start(self, event: Any) -> None:
        if self.compilations == 0:
            self._began = time.monotonic()
            directory = cache_directory()
            if directory and not is_frozen():
                remove_old_caches(directory)
            if not _is_terminal():
                _say("keima: compiling kernels, once after each update ...\n")
        self.compilations += 1
        name = event.data["dispatcher"].py_func.__qualname__
        _log.info("compiling %s", name)
        _log.debug("%s takes %s", name, event.data["args"])
        self.on_end(event)

    def on_end(self, event: Any) -> None:
        if _is_terminal():
            # Ends at the start of the line, so that whatever is written next replaces it.
            _say(f"keima: compiling kernels, {time.monotonic() - self._began:.0f} s ...\r")


_PROGRESS = _Progress()
event.register("numba:compile", _PROGRESS)


def kernel(function: F) -> F:
    """Compile a free function on flat arrays: no Python objects, no allocation, no GIL, cached on disk.

    What allocates, or returns an array of its own, does not compile: references are not counted, which made half of
    a search's own work where structures of many arrays are handed on. A kernel whose name begins with an underscore
    is called by kernels alone, and has no entry for Python: entries made a tenth of all compilation.
    """
    is_inner = function.__name__.startswith("_")
    compiled: Any = numba.njit(
        nogil=True, error_model="numpy", no_cpython_wrapper=is_inner, no_cfunc_wrapper=True, _nrt=False
    )(function)
    if isinstance(compiled, CPUDispatcher):
        compiled.__class__ = _InnerKernel if is_inner else _Kernel
    if cache_directory() and not numba.config.DISABLE_JIT:
        compiled._cache = _KernelCache(function)
    return compiled  # type: ignore[no-any-return]


def code_address(function: Callable[..., Any], *given: Any) -> tuple[int, object]:
    """Compile a function as a kernel that only kernels call; return where its machine code is, and what keeps it there.

    given: numba's types of its arguments. The code's first argument is where to write what it returns, the second one
    nobody reads, and it returns 0 unless a check of bounds failed.
    """
    compiled: Any = numba.njit(
        nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False
    )(function)
    if cache_directory():
        compiled._cache = _KernelCache(function)
    compiled.compile(given)
    result = compiled.overloads[given]
    return result.library.get_pointer_to_function(result.fndesc.llvm_func_name), compiled


def compilations() -> int:
    """Return how many kernels this process has compiled, those loaded from disk not counted."""
    return _PROGRESS.compilations


def compiles() -> bool:
    """Return whether kernels are compiled; NUMBA_DISABLE_JIT runs them as plain Python."""
    return not numba.config.DISABLE_JIT


BYTE_PRODUCTS = frozenset({"avx512vnni", "avxvnni"})
"""Those of `instruction_sets` that multiply bytes and add the products, any of which will do."""
TILES = "amx-bf16"
"""That of `instruction_sets` that multiplies matrices of bf16."""


def instruction_sets() -> list[str]:
    """Return those of the processor's instruction sets that decide how fast numbers are crunched here."""
    from llvmlite import binding

    known = ("avx2", "fma", "avx512f", "avx512vnni", "avxvnni", "avx512bf16", "amx-tile", "amx-bf16", "neon", "sve")
    features = binding.get_host_cpu_features()
    return [name for name in known if features.get(name)]
