"""A cache of compiled kernels on disk: numba's cache with one file for each overload, in `cache_directory()`.

A file that cannot be read or written costs a compilation, never a failure. Each file begins with a checksum over its
content and its name, which holds the signature, because a damaged file is machine code that ends the process.
"""

import hashlib
import logging
import os
import pickle
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba

from engine.native.bitcode import rebuilt
from engine.native.cache_directory import KEY, cache_directory, note_use
from engine.native.numba_internals import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from engine.support.installation import is_frozen, is_trusted, make_private

_log = logging.getLogger(__name__)
CHECKSUM_BYTES = 32


class _DamagedFile(Exception):
    """A file that is not as it was written."""


@cache
def _warn(message: str, *details: object) -> None:
    """Log a warning once: if one kernel's file is unreadable, usually all are."""
    _log.warning(message, *details)


class _KernelLocator(_CacheLocator):  # type: ignore[misc]
    """Puts a kernel into `cache_directory()`; it is valid as long as the directory has this name."""

    def __init__(self, py_func: Callable[..., Any]) -> None:
        self._disambiguator = f"{py_func.__module__}-{py_func.__code__.co_firstlineno}"
        self._py_file = py_func.__code__.co_filename  # numba names it in its warnings

    def get_cache_path(self) -> str:
        return str(cache_directory())

    def ensure_cache_path(self) -> None:
        """Create the directory if needed, for this user alone. Raises OSError."""
        make_private(Path(self.get_cache_path()))
        super().ensure_cache_path()

    def get_source_stamp(self) -> str:
        return KEY

    def get_disambiguator(self) -> str:
        return self._disambiguator

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> "_KernelLocator":
        return cls(py_func)


class _KernelCacheImpl(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_KernelLocator,)


class _BitcodeCacheImpl(_KernelCacheImpl):
    def rebuild(self, target_context: Any, payload: tuple[Any, ...]) -> Any:
        return rebuilt(target_context, payload)


class _KernelFiles(IndexDataCacheFile):  # type: ignore[misc]
    """One file for each overload of a kernel, named by a hash of its signature and target.

    Numba numbers the files and keeps an index of them. Two processes that compile at the same time can use the same
    number, and then load each other's machine code in every later run; a damaged index makes every start fail.
    """

    suffix = "nbc"

    def save(self, key: object, data: Any) -> None:
        self._save_data(self._name(key), data)

    def load(self, key: object) -> Any:
        with suppress(FileNotFoundError):
            data = self._load_data(self._name(key))
            note_use(Path(self._cache_path))
            return data
        return None

    def _save_data(self, name: str, data: Any) -> None:
        content = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(_checksum(name, content))
            file.write(content)

    def _load_data(self, name: str) -> Any:
        """Return the data of a file. Raises _DamagedFile before anything in it is used; OSError."""
        with Path(self._data_path(name)).open("rb") as file:
            if not is_trusted(os.fstat(file.fileno())):
                raise _DamagedFile("a file belongs to another user")
            found, content = file.read(CHECKSUM_BYTES), file.read()
        # blake2b of all 185 files (15 MB) takes 11 ms.
        if found != _checksum(name, content):
            raise _DamagedFile("a checksum is wrong")
        return pickle.loads(content)

    def _name(self, key: object) -> str:
        return f"{Path(self._index_name).stem}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.{self.suffix}"


class _BitcodeFiles(_KernelFiles):
    suffix = "bc"


def _checksum(name: str, content: bytes) -> bytes:
    digest = hashlib.blake2b(f"{KEY} {numba.__version__} {name} ".encode(), digest_size=CHECKSUM_BYTES)
    digest.update(content)
    return digest.digest()


class KernelCache(FunctionCache):  # type: ignore[misc]
    """The cache of one kernel's machine code."""

    _impl_class, _files_class = _KernelCacheImpl, _KernelFiles

    def __init__(self, py_func: Callable[..., Any]) -> None:
        super().__init__(py_func)
        self._cache_file = self._files_class(self._cache_path, self._impl.filename_base, KEY)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            # `super().load_overload` refreshes the context first, which only compilations and `with_python_entry` need;
            # they do it themselves.
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        except Exception as error:  # noqa: BLE001 - damaged bytes can raise anything
            reason = str(error) if isinstance(error, _DamagedFile) else type(error).__name__
            _warn("unreadable kernels in %s are compiled again: %s", self.cache_path, reason)
            _log.debug("cannot load %s", self._name, exc_info=True)
            return None

    @property
    def enabled(self) -> bool:
        """Whether kernels are read and written; not after a failure to write one."""
        return bool(self._enabled)

    def has_saved(self, sig: Any, target_context: Any) -> bool:
        """Return whether there is a file of an overload for this CPU."""
        name = self._cache_file._name(self._index_key(sig, target_context.codegen()))
        return Path(self._cache_file._data_path(name)).exists()

    def save_overload(self, sig: Any, data: Any) -> None:
        if is_frozen():
            return  # the program's own folder may be read-only
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _warn("compiled kernels cannot be written to %s: %s", self.cache_path, error.strerror)
            self.disable()


class BitcodeCache(KernelCache):
    """The cache of one kernel's LLVM code, as other kernels call it."""

    _impl_class, _files_class = _BitcodeCacheImpl, _BitcodeFiles
