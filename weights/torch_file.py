"""Reads the tensors of a file that PyTorch saved, without PyTorch and without executing anything in it.

Such a file is a zip archive of raw storages and of `data.pkl`, a pickle that arranges them. Unpickling would call
whatever function the file names, so its opcodes are interpreted here: they build numbers, texts, tuples, lists and
dicts, and the few functions by which PyTorch rebuilds tensors are known by their names. Any other name is refused.
Tensors stay in the file until they are asked for.
"""

import math
import os
import pickletools
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from engine.nets.spec import Array, WeightsError
from weights.npz import DAMAGED_NPZ

_ZIP_MAGIC, _NAME_SIZE_AT, _NAME_AT = b"PK\x03\x04", 26, 30
_PICKLE = "/data.pkl"
# A checkpoint of KataGo's largest network, with its optimizer, has a pickle of some 300 KiB.
MAX_PICKLE = 1 << 22
_MAX_DIMENSIONS = 8
_BFLOAT16 = "bfloat16"
_STORAGES = {
    "torch FloatStorage": "<f4",
    "torch DoubleStorage": "<f8",
    "torch HalfStorage": "<f2",
    "torch BFloat16Storage": _BFLOAT16,
    "torch LongStorage": "<i8",
    "torch IntStorage": "<i4",
    "torch ShortStorage": "<i2",
    "torch CharStorage": "<i1",
    "torch ByteStorage": "<u1",
    "torch BoolStorage": "<u1",
}
_VALUES = ("builtins float", "builtins int", "__builtin__ float", "__builtin__ int")


class _Global(NamedTuple):
    """A function or class that the file names. It is never imported."""

    name: str


class _Storage(NamedTuple):
    key: str
    dtype: str
    size: int


class StoredTensor(NamedTuple):
    """A tensor in the file: its storage, first element, shape and strides, all in elements."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def looks_torch(start: bytes) -> bool:
    """True if a file that starts like this may have been saved by PyTorch 1.6 or later."""
    size = int.from_bytes(start[_NAME_SIZE_AT:_NAME_AT], "little") & 0xFFFF
    return start.startswith(_ZIP_MAGIC) and start[_NAME_AT : _NAME_AT + size].endswith(_PICKLE.encode())


class TorchFile:
    """A file that PyTorch saved. content: what it holds, with a `StoredTensor` for each tensor."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Raises WeightsError for damaged files and for those that would execute code."""
        try:
            self._archive = zipfile.ZipFile(path)
        except DAMAGED_NPZ as error:
            raise _as_weights_error(error) from None
        try:
            self._names = set(self._archive.namelist())
            # Every number takes at least a byte of the file; tensors that share a storage could ask for more.
            self._left = Path(path).stat().st_size
            self.content = self._content()
        except DAMAGED_NPZ as error:
            self._archive.close()
            raise _as_weights_error(error) from None

    def __enter__(self) -> "TorchFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._archive.close()

    def _content(self) -> Any:
        pickles = [name for name in self._names if name.endswith(_PICKLE)]
        if len(pickles) != 1:
            raise WeightsError("not one pickle in the archive", expected=1, got=len(pickles))
        self._folder = pickles[0].removesuffix(_PICKLE)
        order = self._member("byteorder", b"little").strip()
        if order != b"little":
            raise WeightsError("saved on a machine of another byte order", expected="little", got=order)
        return interpreted(self._member("data.pkl"))

    def array(self, tensor: StoredTensor, name: str) -> Array:
        """Return a tensor as float32. Raises WeightsError with `name` as the layer."""
        storage = tensor.storage
        self._left -= math.prod(tensor.shape)
        if self._left < 0:
            raise WeightsError("more numbers than the file has", layer=name, expected="tensors that share nothing")
        size = 2 if storage.dtype == _BFLOAT16 else np.dtype(storage.dtype).itemsize
        try:
            data = self._member(f"data/{storage.key}")
        except DAMAGED_NPZ as error:
            raise _as_weights_error(error, name) from None
        if len(data) != size * storage.size:
            raise WeightsError("wrong length of a storage", layer=name, expected=size * storage.size, got=len(data))
        raw = np.frombuffer(data, "<u2" if storage.dtype == _BFLOAT16 else storage.dtype)
        if storage.dtype == _BFLOAT16:
            # The upper half of a float32.
            raw = (raw.astype(np.uint32) << 16).view(np.float32)
        strides = [raw.itemsize * stride for stride in tensor.strides]
        view = np.lib.stride_tricks.as_strided(raw[tensor.offset :], tensor.shape, strides, writeable=False)
        return np.array(view, np.float32, order="C")

    def _member(self, name: str, default: bytes | None = None) -> bytes:
        """Return a file of the archive. PyTorch doesn't compress, so that no file can unpack to more than it is."""
        path = f"{self._folder}/{name}"
        if path not in self._names:
            if default is not None:
                return default
            raise WeightsError("missing in the archive", layer=name)
        entry = self._archive.getinfo(path)
        if entry.compress_type != zipfile.ZIP_STORED:
            raise WeightsError("compressed", layer=name, expected="a plain file, as PyTorch writes")
        if name == "data.pkl" and entry.file_size > MAX_PICKLE:
            raise WeightsError(
                "pickle too long", layer=name, expected=f"at most {MAX_PICKLE} bytes", got=entry.file_size
            )
        return self._archive.read(entry)


def _as_weights_error(error: Exception, name: str | None = None) -> WeightsError:
    return error if isinstance(error, WeightsError) else WeightsError(f"zip: {error}", layer=name, damaged=True)


def interpreted(pickled: bytes) -> Any:
    """Return what a pickle describes. Raises WeightsError for everything but data and tensors."""
    machine = _Machine()
    try:
        for opcode, argument, place in pickletools.genops(pickled):
            if opcode.name == "STOP":
                break
            machine.offset = place or 0
            step = _STEPS.get(opcode.name)
            if step is None:
                raise machine.refusal(opcode.name)
            step(machine, argument)
        return machine.stack.pop()
    except (ValueError, IndexError, KeyError, TypeError, OverflowError) as error:
        if isinstance(error, WeightsError):
            raise
        raise WeightsError("pickle: not a well-formed one", layer="data.pkl", offset=machine.offset) from None


class _Machine:
    """The stack, the marks and the memo of the pickle format; only plain data gets onto them."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        self.offset = 0

    def refusal(self, what: object) -> WeightsError:
        """Return the error of something that is not data."""
        return WeightsError(
            "refused, because it is not data",
            layer="data.pkl",
            offset=self.offset,
            expected="tensors, numbers and texts",
            got=what,
        )

    def mark(self, _: object) -> None:
        self.marks.append(self.stack)
        self.stack = []

    def marked(self) -> list[Any]:
        """Return the values above the last mark, and drop it."""
        values, self.stack = self.stack, self.marks.pop()
        return values

    def put(self, index: int) -> None:
        self.memo[index] = self.stack[-1]

    def memoize(self, _: object) -> None:
        self.memo[len(self.memo)] = self.stack[-1]

    def get(self, index: int) -> None:
        self.stack.append(self.memo[index])

    def take(self, count: int) -> None:
        """Replace the last `count` values by a tuple of them."""
        values = tuple(self.stack.pop() for _ in range(count))
        self.stack.append(values[::-1])

    def append(self, values: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not list:
            raise self.refusal(type(target).__name__)
        target.extend(values)

    def set_items(self, values: list[Any]) -> None:
        target = self.stack[-1]
        keys = values[::2]
        # Hashing a deeply nested tuple would exhaust the C stack.
        if type(target) is not dict or len(values) % 2 or not all(type(key) in (str, int) for key in keys):
            raise self.refusal("items of another object than a dict of names and numbers")
        target.update(zip(keys, values[1::2], strict=True))

    def named(self, name: str) -> None:
        if name not in _CALLS and name not in _STORAGES and name not in _VALUES:
            raise self.refusal(name.replace(" ", ".", 1))
        self.stack.append(_Global(name))

    def stack_global(self, _: object) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        if type(name) is not str or type(module) is not str:
            raise self.refusal("a name that is not a text")
        self.named(f"{module} {name}")

    def reduce(self, _: object) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        if type(function) is not _Global or function.name not in _CALLS or type(arguments) is not tuple:
            raise self.refusal("a call")
        self.stack.append(_CALLS[function.name](self, arguments))

    def storage(self, _: object) -> None:
        kind, storage_type, key, _device, count = self.stack.pop()
        if kind != "storage" or type(storage_type) is not _Global or storage_type.name not in _STORAGES:
            raise self.refusal("an unknown storage")
        if type(key) is not str or type(count) is not int or count < 0:
            raise self.refusal("a bad storage")
        self.stack.append(_Storage(key, _STORAGES[storage_type.name], count))

    def build(self, _: object) -> None:
        """Drop the attributes of an ordered dict: PyTorch keeps the versions of its modules there."""
        self.stack.pop()
        if type(self.stack[-1]) is not dict:
            raise self.refusal("attributes of an object")

    def tensor(self, arguments: tuple[Any, ...]) -> StoredTensor:
        storage, offset, shape, strides = arguments[:4]
        numbers = (offset, *shape, *strides)
        if type(storage) is not _Storage or not all(type(each) is int and each >= 0 for each in numbers):
            raise self.refusal("a bad tensor")
        last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
        # Strides of 0 could make a large array of a small file.
        if math.prod(shape) > storage.size or (0 not in shape and last >= storage.size):
            raise self.refusal("a tensor that is larger than its storage")
        if len(shape) > _MAX_DIMENSIONS:
            raise self.refusal(f"{len(shape)} dimensions")
        return StoredTensor(storage, offset, tuple(shape), tuple(strides))

    def parameter(self, arguments: tuple[Any, ...]) -> StoredTensor:
        if type(arguments[0]) is not StoredTensor:
            raise self.refusal("a parameter without a tensor")
        return arguments[0]

    def mapping(self, arguments: tuple[Any, ...]) -> dict[Any, Any]:
        if arguments and type(arguments[0]) is not _Global:
            raise self.refusal("a dict made of something")
        return {}

    def only(self, arguments: tuple[Any, ...]) -> Any:
        (value,) = arguments
        return value


_CALLS: dict[str, Callable[[_Machine, tuple[Any, ...]], Any]] = {
    "collections OrderedDict": _Machine.mapping,
    "collections defaultdict": _Machine.mapping,
    "torch._utils _rebuild_tensor_v2": _Machine.tensor,
    "torch._utils _rebuild_parameter": _Machine.parameter,
    "torch Size": _Machine.only,
    "torch device": _Machine.only,
}


def _push(machine: _Machine, value: object) -> None:
    machine.stack.append(value)


_Step = Callable[[_Machine, Any], None]
_PLAIN: dict[str, _Step] = dict.fromkeys(
    ("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"), _push
)
_STEPS: dict[str, _Step] = _PLAIN | {
    "PROTO": lambda machine, _: None,
    "FRAME": lambda machine, _: None,
    "NONE": lambda machine, _: _push(machine, None),
    "NEWTRUE": lambda machine, _: _push(machine, True),
    "NEWFALSE": lambda machine, _: _push(machine, False),
    "EMPTY_DICT": lambda machine, _: _push(machine, {}),
    "EMPTY_LIST": lambda machine, _: _push(machine, []),
    "EMPTY_TUPLE": lambda machine, _: _push(machine, ()),
    "TUPLE1": lambda machine, _: machine.take(1),
    "TUPLE2": lambda machine, _: machine.take(2),
    "TUPLE3": lambda machine, _: machine.take(3),
    "TUPLE": lambda machine, _: _push(machine, tuple(machine.marked())),
    "MARK": _Machine.mark,
    "APPEND": lambda machine, _: machine.append([machine.stack.pop()]),
    "APPENDS": lambda machine, _: machine.append(machine.marked()),
    "SETITEM": lambda machine, _: machine.set_items([machine.stack.pop(), machine.stack.pop()][::-1]),
    "SETITEMS": lambda machine, _: machine.set_items(machine.marked()),
    "BINPUT": _Machine.put,
    "LONG_BINPUT": _Machine.put,
    "MEMOIZE": _Machine.memoize,
    "BINGET": _Machine.get,
    "LONG_BINGET": _Machine.get,
    "GLOBAL": _Machine.named,
    "STACK_GLOBAL": _Machine.stack_global,
    "REDUCE": _Machine.reduce,
    "BINPERSID": _Machine.storage,
    "BUILD": _Machine.build,
}
