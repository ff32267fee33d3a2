"""Compiles and computes models by OpenVINO's C interface, so that kernels can call them without Python.

OpenVINO's wheels contain the library, and headers that document its functions (openvino/include/openvino/c).
"""

import ctypes
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.native.atomics import sleep_millisecond
from engine.native.calls import call_c
from engine.native.closures import FAILED, Closure
from engine.native.jit import kernel
from engine.nets.openvino_graph.runtime import openvino

_FILES = ("libopenvino_c.so*", "openvino_c.dll")
_ELEMENTS = {"float32": 4, "uint8": 16}
"""Values of ov_element_type_e by NumPy's names of types."""


class _Shape(ctypes.Structure):
    """ov_shape_t."""

    _fields_ = (("rank", ctypes.c_int64), ("dims", ctypes.POINTER(ctypes.c_int64)))


@cache
def _library() -> Any:
    """Load the library; return None if it is not installed."""
    folder = Path(openvino.__file__).parent / "libs"
    file = next((file for name in _FILES for file in sorted(folder.glob(name))), None)
    if file is None:
        return None
    library = ctypes.CDLL(str(file))
    library.ov_get_last_err_msg.restype = ctypes.c_char_p
    return library


def has_c_library() -> bool:
    """Return whether OpenVINO's C interface is installed."""
    return _library() is not None


def _call(name: str, *arguments: Any) -> None:
    """Call a function of the library. Raises RuntimeError if it fails."""
    library = _library()
    if getattr(library, name)(*arguments) != 0:
        raise RuntimeError(f"OpenVINO, {name}: {(library.ov_get_last_err_msg() or b'').decode(errors='replace')}")


class _Object:
    """An object of the library, freed with its last reference. read_from: objects that it keeps alive."""

    def __init__(self, kind: str, handle: ctypes.c_void_p, *read_from: object) -> None:
        self.handle, self._read_from = handle, read_from
        weakref.finalize(self, getattr(_library(), f"ov_{kind}_free"), handle)


def _tensor(array: NDArray[Any]) -> _Object:
    """Create a tensor that uses the memory of an array."""
    handle, sizes = ctypes.c_void_p(), (ctypes.c_int64 * array.ndim)(*array.shape)
    element, data = _ELEMENTS[array.dtype.name], ctypes.c_void_p(array.ctypes.data)
    _call("ov_tensor_create_from_host_ptr", element, _Shape(array.ndim, sizes), data, ctypes.byref(handle))
    return _Object("tensor", handle, array)


class Request:
    """A request that computes a model, in one thread at a time. address: the request's, for `InferRequests`."""

    def __init__(self, request: _Object) -> None:
        self._request = request
        self.address = request.handle.value or 0

    def infer(self) -> None:
        """Compute the request's arrays. Raises RuntimeError."""
        # In OpenVINO's own threads: if callers computed, two of them could get the same copy of the model.
        _call("ov_infer_request_start_async", self._request.handle)
        _call("ov_infer_request_wait", self._request.handle)


class NativeModel:
    """A model compiled for the CPU.

    weights: the constants of the model as bytes, which must not change.
    """

    def __init__(
        self, model: "openvino.Model", properties: Mapping[str, str], known: NDArray[np.uint8] | None = None
    ) -> None:
        """Compile a model. known: weights of an earlier model, shared if they are equal. Raises RuntimeError."""
        structure, self.weights = _serialized(model)
        if known is not None and np.array_equal(known, self.weights):
            self.weights = known
        core, read, compiled = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        _call("ov_core_create", ctypes.byref(core))
        self._core, tensor = _Object("core", core), _tensor(self.weights)
        size = ctypes.c_size_t(len(structure))
        _call("ov_core_read_model_from_memory_buffer", core, structure, size, tensor.handle, ctypes.byref(read))
        graph = _Object("model", read, tensor)
        texts = [ctypes.c_char_p(text.encode()) for pair in properties.items() for text in pair]
        count, into = ctypes.c_size_t(len(texts)), ctypes.byref(compiled)
        _call("ov_core_compile_model", core, graph.handle, b"CPU", count, into, *texts)
        self._compiled = _Object("compiled_model", compiled, self._core, graph)

    def request(self, arrays: Mapping[str, NDArray[np.float32]]) -> Request:
        """Create a request that reads and writes these arrays, given by the names of inputs and outputs."""
        handle, tensors = ctypes.c_void_p(), {name: _tensor(array) for name, array in arrays.items()}
        _call("ov_compiled_model_create_infer_request", self._compiled.handle, ctypes.byref(handle))
        request = _Object("infer_request", handle, self._compiled, tensors)
        for name, tensor in tensors.items():
            _call("ov_infer_request_set_tensor", handle, name.encode(), tensor.handle)
        return Request(request)


def _serialized(model: "openvino.Model") -> tuple[bytes, NDArray[np.uint8]]:
    """Return the structure and the weights of a model in OpenVINO's format."""
    with tempfile.TemporaryDirectory(prefix="keima-") as folder:
        files = [Path(folder) / name for name in ("network.xml", "network.bin")]
        openvino.serialize(model, *files)
        return files[0].read_bytes(), np.fromfile(files[1], dtype=np.uint8)


@kernel
def infer_first_fitting(
    start: int, wait: int, batches: NDArray[np.int64], requests: NDArray[np.int64], count: int
) -> int:
    """Run the request of the smallest batch of at least `count` rows; return `count`, or FAILED.

    start, wait: addresses of the library's functions. batches: ascending, the last one at least `count`. requests:
    their addresses; 0 until the model is compiled, which is waited for; negative if compiling failed.
    """
    index = 0
    while batches[index] < count:
        index += 1
    while requests[index] == 0:
        sleep_millisecond()
    if requests[index] < 0 or call_c(start, requests[index]) != 0 or call_c(wait, requests[index]) != 0:
        return FAILED
    return count


class InferRequests(Closure):
    """A closure that computes the first rows of a slot by the request of the best batch size."""

    def __init__(self, batches: Sequence[int]) -> None:
        """batches: the batch sizes, ascending. A call waits until `set_request` was called for its batch size."""
        library, self._batches, self._requests = _library(), list(batches), list[Request]()
        functions = library.ov_infer_request_start_async, library.ov_infer_request_wait
        addresses = (ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions)
        self._addresses = np.zeros(len(batches), dtype=np.int64)
        super().__init__(infer_first_fitting, *addresses, np.array(batches, dtype=np.int64), self._addresses)

    @property
    def is_complete(self) -> bool:
        """Whether `set_request` was called for every batch size."""
        return bool(self._addresses.all())

    def set_request(self, batch: int, request: Request | None) -> None:
        """Set the request of a batch size; None if its model could not be compiled."""
        if request is not None:
            self._requests.append(request)
        self._addresses[self._batches.index(batch)] = -1 if request is None else request.address
