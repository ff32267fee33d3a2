"""Takes kernels from the library that was linked when the program was built; it has no numba and no LLVM.

`engine.native.linking` writes the library. It has a function for each kernel and combination of argument types that the
build met. Kernels called from Python are C functions of Python's own interface, written by numba, which need six small
functions of numba's module `_helperlib` and a place that is not empty for numba's environment.
"""

import ctypes
import logging
import pickle
from collections.abc import Callable
from functools import cache
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from inspect import signature
from typing import Any

from engine.native.frozen import LEVELS, frozen_directory, library_name
from engine.native.kinds import kind_of, symbol, type_name
from engine.native.processor import has_level

HELPERS = ("adapt_ndarray", "do_raise", "extract_record_data", "release_buffer", "runtime_build_excinfo_struct")
"""Functions of numba's module `_helperlib` that kernels called from Python use."""
HELPER_MODULE = "_helperlib"
UNPICKLE = "unpickle"
"""The sixth, which numba writes in C and which imports numba; it is replaced by `_unpickled`."""
POINTER, ENVIRONMENT = "pointer_of_", "environment_of_"
"""Beginnings of the names of the variables that hold the address of a helper, and numba's environment of a kernel."""
_VARARGS_AND_KEYWORDS = 3
_NARROW = ("int8", "int16", "int32", "uint8", "uint16", "uint32")
_log = logging.getLogger(__name__)


class _Method(ctypes.Structure):
    """Python's PyMethodDef."""

    _fields_ = (("name", ctypes.c_char_p), ("code", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


@ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)  # type: ignore[untyped-decorator]
def _unpickled(data: int, size: int, _: int) -> object:
    """Return what numba pickled into a kernel: the exception that it raises."""
    return pickle.loads(ctypes.string_at(data, size))


@cache
def _library() -> ctypes.PyDLL:
    """Load the library for this processor and give it the addresses of its helpers."""
    folder = frozen_directory()
    library = ctypes.PyDLL(str(folder / library_name(next(filter(has_level, LEVELS), LEVELS[-1]))))
    loader = ExtensionFileLoader(HELPER_MODULE, str(folder / f"{HELPER_MODULE}.so"))
    helpers = module_from_spec(spec_from_loader(HELPER_MODULE, loader))  # type: ignore[arg-type]
    loader.exec_module(helpers)
    addresses = {name: helpers.c_helpers[name] for name in HELPERS}
    addresses[UNPICKLE] = ctypes.cast(_unpickled, ctypes.c_void_p).value
    for name, address in addresses.items():
        ctypes.c_void_p.in_dll(library, f"{POINTER}{name}").value = address
    return library


def _address(name: str) -> int | None:
    """Return the address of a function of the library, None if it has none of this name."""
    try:
        return ctypes.cast(_library()[name], ctypes.c_void_p).value
    except AttributeError:
        return None


class _Kernel:
    """A kernel, called as the Python function that it was compiled from."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.py_func = function
        self.__name__ = function.__name__  # as numba's kernels have it
        self._codes: dict[Any, Callable[..., Any]] = {}

    def __call__(self, *given: Any, **named: Any) -> Any:
        if named:
            given = signature(self.py_func).bind(*given, **named).args
        kinds = tuple(map(kind_of, given))
        code = self._codes.get(kinds)
        if code is None:
            code = self._codes[kinds] = self._code(given)
        return code(*given)

    def _code(self, given: tuple[Any, ...]) -> Callable[..., Any]:
        """Return the compiled function for arguments of these types; the Python function, slow, if there is none."""
        types = list(map(type_name, given))
        # Code for int64 takes narrower integers, too.
        for names in (types, ["int64" if name in _NARROW else name for name in types]):
            name = symbol(self.py_func.__module__, self.py_func.__qualname__, names)
            address = _address(name)
            if address is not None:
                return _callable(self.py_func.__name__, name, address)
        _log.warning("this program has no compiled %s for its arguments and is slow", self.py_func.__qualname__)
        _log.debug("types of the arguments: %s", types)
        return self.py_func


def _callable(shown: str, name: str, address: int) -> Callable[..., Any]:
    """Return the Python function whose code in C is at an address. shown, name: in tracebacks and in the library."""
    # Any object serves: kernels test that there is an environment, and none has constants that are read from it.
    ctypes.c_void_p.in_dll(_library(), f"{ENVIRONMENT}{name}").value = id(None)
    method = _Method(shown.encode(), address, _VARARGS_AND_KEYWORDS, None)
    _METHODS.append(method)
    create = ctypes.pythonapi.PyCFunction_NewEx
    create.restype, create.argtypes = ctypes.py_object, (ctypes.POINTER(_Method), ctypes.c_void_p, ctypes.c_void_p)
    return create(method, None, None)  # type: ignore[no-any-return]


_METHODS: list[_Method] = []
"""Python keeps only pointers to these."""


def compile_kernel(function: Callable[..., Any]) -> Any:
    """Return a function as a kernel; see `engine.native.jit.kernel`."""
    return _Kernel(function)


def code_address(function: Callable[..., Any], *_: object) -> tuple[int, object]:
    """Return the address of the code of a closure's entry, and its owner. Raises LookupError if there is none.

    The code takes two integers, see `engine.native.dispatcher.code_address`.
    """
    address = _address(symbol(function.__module__, function.__qualname__, ("int64", "int64")))
    if address is None:
        raise LookupError(f"this program has no compiled {function.__qualname__} for these arguments")
    return address, _library()
