"""The directory of compiled kernels: one for each state of the sources and each version of numba and Python.

Numba's own cache compares the time stamp of one file, so a cached caller survives a change of a callee in another file,
and a frozen program has no source file. The name of Keima's directory depends on everything that the machine code
depends on: the sources of all kernels and of the modules that they import, and the versions of numba and Python. A
change of any of them starts a new directory, so no directory can be stale. Kernels compiled with numba's environment
variables, such as NUMBA_BOUNDSCHECK=1, with which they check every index, are kept in a separate directory.
"""

import hashlib
import os
import re
import shutil
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from engine.native.frozen import KEY_FILE, frozen_directory
from engine.support.installation import is_frozen, is_private, user_cache

_ROOT = Path(__file__).resolve().parents[1]
_ENGINE = __name__.removesuffix(".native.cache_directory")
"""Package of the modules below `_ROOT`: `engine` in the repository, `keima.engine` in the wheel."""
_KEPT = 4
"""Number of cache directories to keep, by last use: enough to switch between a few versions without compiling."""
_USUAL = {"OPT": 3, "LOOP_VECTORIZE": 1, "SLP_VECTORIZE": 0, "DEBUGINFO_DEFAULT": 0}
"""Numba's settings that change the machine code, with their defaults."""
_OWN = re.compile(r"kernels-[0-9a-f]{16}-numba.*")
_MODULE = rf"({re.escape(_ENGINE)}[\w.]*)"
_IMPORT = re.compile(
    rf"^\s*(?:from\s+{_MODULE}\s+import\s+(\([^)]*\)|[^\n]*)|import\s+{_MODULE})".encode(), re.MULTILINE
)


def source_key(root: Path = _ROOT) -> str:
    """Return a hash of the files with kernels below `root` and of all modules that they import.

    In the frozen program, which has no sources, return the hash that was stored when it was built.
    """
    if is_frozen():
        return (frozen_directory() / KEY_FILE).read_text().strip()
    sources = _sources(root)
    found, waiting = set[str](), [module for module, source in sources.items() if b"@kernel" in source]
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting += [each for each in _imported_modules(sources[module]) if each in sources]
    digest = hashlib.sha256()
    for module in sorted(found):
        digest.update(module.removeprefix(_ENGINE).encode() + b"\0" + sources[module])
    return digest.hexdigest()[:16]


def _sources(root: Path) -> dict[str, bytes]:
    """Return the sources of all modules below `root`, by name."""
    # By strings: at every start, sorting and asking for a thousand instances of `Path` took 0.05 s.
    found: dict[str, bytes] = {}
    for folder, _, names in os.walk(root):
        package = _ENGINE + folder[len(str(root)) :].replace(os.sep, ".")
        for name in names:
            if name.endswith(".py"):
                module = package if name == "__init__.py" else f"{package}.{name[:-3]}"
                found[module] = Path(folder, name).read_bytes()
    return found


def _imported_modules(source: bytes) -> set[str]:
    """Return what may be modules of `engine` that a source imports; not every one exists."""
    # By a regular expression, not `ast`: this runs at every start, before the cache can be used.
    modules: set[str] = set()
    for package, names, module in _IMPORT.findall(source):
        start = (package or module).decode()
        modules |= {start} | {f"{start}.{name}" for name in re.findall(r"\w+", names.decode())}
    return modules


KEY = source_key()


def cache_directory() -> Path | None:
    """Return the directory of compiled kernels for this program, which need not exist.

    None if there is no folder for it that others cannot change, or no home; then nothing is cached.
    """
    if is_frozen():
        return frozen_directory()
    import numba  # here, because the frozen program may have none

    parent = user_cache()
    version = f"numba{numba.__version__}-py{sys.version_info[0]}{sys.version_info[1]}"
    checks = "-checked" if numba.config.BOUNDSCHECK else ""
    settings = {name: int(getattr(numba.config, name)) for name in _USUAL}
    unusual = "".join(f"-{name.lower()}{value}" for name, value in settings.items() if value != _USUAL[name])
    unusual += "-max" if getattr(numba.config.OPT, "is_opt_max", False) else ""
    directory = parent and parent / f"kernels-{KEY}-{version}{checks}{unusual}"
    return directory if directory and is_private(directory) else None


def remove_old_caches(directory: Path, kept: int = _KEPT) -> None:
    """Remove the least recently used cache directories beside `directory`, so that `kept` remain with it."""
    others = [path for path in directory.parent.glob("kernels-*") if path != directory and _OWN.fullmatch(path.name)]
    for path in sorted(others, key=_time_of_use, reverse=True)[kept - 1 :]:
        shutil.rmtree(path, ignore_errors=True)


def _time_of_use(directory: Path) -> float:
    try:
        return directory.stat().st_mtime
    except OSError:  # another process removed it, too
        return 0.0


@cache
def note_use(directory: Path) -> None:
    """Set the modification time of a cache directory to now, once per process."""
    if not is_frozen():
        with suppress(OSError):
            os.utime(directory)
