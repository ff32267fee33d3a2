"""A cache of compiled kernels on disk: numba's cache with one file for each overload, in `cache_directory()`.

A file that cannot be read or written costs a compilation, never a failure.
"""

import hashlib
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from engine.native.cache_directory import KEY, cache_directory, is_frozen, note_use
from engine.native.numba_internals import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator

_log = logging.getLogger(__name__)


@cache
def _warn(message: str, *details: object) -> None:
    """Log a warning once: if one kernel's file is unreadable, usually all are."""
    _log.warning(message, *details)


class _KernelLocator(_CacheLocator):  # type: ignore[misc]
    """Puts a kernel into `cache_directory()`; it is valid as long as the directory has this name."""

    def __init__(self, py_func: Callable[..., Any]) -> None:
        self._disambiguator = f"{py_func.__module__}-{py_func.__code__.co_firstlineno}"

    def get_cache_path(self) -> str:
        return str(cache_directory())

    def get_source_stamp(self) -> str:
        return KEY

    def get_disambiguator(self) -> str:
        return self._disambiguator

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> "_KernelLocator":
        return cls(py_func)


class _KernelCacheImpl(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_KernelLocator,)


class _KernelFiles(IndexDataCacheFile):  # type: ignore[misc]
    """One file for each overload of a kernel, named by a hash of its signature and target.

    Numba numbers the files and keeps an index of them. Two processes that compile at the same time can use the same
    number, and then load each other's machine code in every later run; a damaged index makes every start fail.
    """

    def save(self, key: object, data: Any) -> None:
        self._save_data(self._name(key), data)

    def load(self, key: object) -> Any:
        with suppress(FileNotFoundError):
            data = self._load_data(self._name(key))
            note_use(Path(self._cache_path))
            return data
        return None

    def _name(self, key: object) -> str:
        return f"{Path(self._index_name).stem}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc"


class KernelCache(FunctionCache):  # type: ignore[misc]
    """The cache of one kernel."""

    _impl_class = _KernelCacheImpl

    def __init__(self, py_func: Callable[..., Any]) -> None:
        super().__init__(py_func)
        self._cache_file = _KernelFiles(self._cache_path, self._impl.filename_base, KEY)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # noqa: BLE001 - damaged bytes can raise anything
            _warn("unreadable kernels in %s are compiled again: %s", self.cache_path, type(error).__name__)
            _log.debug("cannot load %s", self._name, exc_info=True)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        if is_frozen():
            return  # the program's own folder may be read-only
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _warn("compiled kernels cannot be written to %s: %s", self.cache_path, error.strerror)
            self.disable()
