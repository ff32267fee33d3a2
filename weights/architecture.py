"""Converts a `NetSpec` to JSON and a table of arrays, and back.

Owns the conversion and its type checks; reads no files. A node of the spec becomes an object with its kind and its
fields; an array becomes {"shape": [...]} in its place and is stored in the table under its path, such as
"blocks.0.conv1.weight". The allowed fields are read from the dataclasses of `engine.nets.spec`, so a new kind of layer
needs no change here. A field with a default may be missing: a file written before that field existed is still valid.
"""

import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from enum import StrEnum
from typing import Any

import numpy as np

from engine.nets.spec import KINDS, Array, NetSpec, WeightsError, validate

_NAMES = {kind: name for name, kind in KINDS.items()}
# Limit of nested nodes: a deeper file would exhaust Python's stack.
_MAX_DEPTH = 64


def to_json(value: object) -> Any:
    """Convert a node, or the value of one of its fields, to JSON values."""
    if isinstance(value, np.ndarray):
        return {"shape": list(value.shape)}
    if isinstance(value, tuple):
        return [to_json(each) for each in value]
    if isinstance(value, Mapping):
        return dict(value)
    kind = _NAMES.get(type(value))  # type: ignore[arg-type]
    if kind is None:
        return value
    return {"kind": kind} | {entry.name: to_json(getattr(value, entry.name)) for entry in fields(value)}  # type: ignore[arg-type]


def from_json(document: object, fetch: Callable[[str, tuple[int, ...]], Array]) -> NetSpec:
    """Return the validated network that a document describes.

    fetch: returns the array of a path with the shape that the document declares, or raises.
    Raises WeightsError for anything unknown, missing or misplaced.
    """
    spec = _Reader(fetch).node(document, (NetSpec,), "")
    assert isinstance(spec, NetSpec)
    return validate(spec)


class _Reader:
    """Builds nodes from JSON values according to the type of each field."""

    def __init__(self, fetch: Callable[[str, tuple[int, ...]], Array]) -> None:
        self._fetch = fetch

    def value(self, given: object, wanted: Any, path: str) -> Any:
        """Return the value at a path, converted to the expected type."""
        if path.count(".") > _MAX_DEPTH:
            raise WeightsError("too many levels", layer=path[:80], expected=f"at most {_MAX_DEPTH}")
        origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
        if origin in (typing.Union, types.UnionType):
            if given is None and type(None) in arguments:
                return None
            rest = tuple(each for each in arguments if each is not type(None))
            return self.value(given, rest[0], path) if len(rest) == 1 else self.node(given, rest, path)
        if wanted == Array:  # its origin depends on the version of NumPy
            return self._array(given, path)
        if origin is tuple:
            return self._sequence(given, arguments, path)
        if origin is Mapping:
            return self._texts(given, path)
        if wanted in _NAMES:
            return self.node(given, (wanted,), path)
        return _scalar(given, wanted, path)

    def node(self, given: object, allowed: tuple[type, ...], path: str) -> object:
        """Return the node, which must be of one of the allowed classes."""
        names = [_NAMES[each] for each in allowed]
        if not isinstance(given, dict) or given.get("kind") not in names:
            got = given.get("kind") if isinstance(given, dict) else given
            raise WeightsError("unknown layer", layer=path or "net", expected=" or ".join(names), got=_short(got))
        kind = KINDS[given["kind"]]
        wanted = typing.get_type_hints(kind)
        required = {entry.name for entry in fields(kind) if entry.default is entry.default_factory is MISSING}
        for problem, names_found in (
            ("unknown field", given.keys() - wanted.keys() - {"kind"}),
            ("missing field", required - given.keys()),
        ):
            if names_found:
                raise WeightsError(f"{problem} {_short(min(names_found))}", layer=path or "net")
        prefix = f"{path}." if path else ""
        return kind(**{name: self.value(given[name], wanted[name], prefix + name) for name in wanted if name in given})

    def _array(self, given: object, path: str) -> Array:
        shape = given.get("shape") if isinstance(given, dict) and given.keys() == {"shape"} else None
        if not isinstance(shape, list) or not all(type(side) is int and side >= 0 for side in shape):
            raise WeightsError("bad array", layer=path, expected='{"shape": [...]}', got=_short(given))
        return self._fetch(path, tuple(shape))

    def _sequence(self, given: object, arguments: tuple[Any, ...], path: str) -> tuple[Any, ...]:
        endless = len(arguments) == 2 and arguments[1] is Ellipsis
        if not isinstance(given, list) or not (endless or len(given) == len(arguments)):
            size = "" if endless else f" of {len(arguments)}"
            raise WeightsError("bad value", layer=path, expected=f"a list{size}", got=_short(given))
        kinds = [arguments[0]] * len(given) if endless else arguments
        return tuple(
            self.value(each, kind, f"{path}.{index}")
            for index, (each, kind) in enumerate(zip(given, kinds, strict=True))
        )

    def _texts(self, given: object, path: str) -> Mapping[str, str]:
        if not isinstance(given, dict) or not all(isinstance(text, str) for text in given.values()):
            raise WeightsError("bad value", layer=path, expected="texts by name", got=_short(given))
        # Read-only, as everything in a `NetSpec`.
        return types.MappingProxyType(given)


def _scalar(given: object, wanted: type, path: str) -> object:
    """Return a text, a number or a member of an enumeration."""
    if issubclass(wanted, StrEnum):
        if isinstance(given, str) and given in list(wanted):
            return wanted(given)
        raise WeightsError("bad value", layer=path, expected=" or ".join(wanted), got=_short(given))
    if wanted is float:
        number = _finite(given)
        if number is not None:
            return number
    # `isinstance` would accept True where an integer is expected.
    elif type(given) is wanted:
        return given
    raise WeightsError("bad value", layer=path, expected=f"type {wanted.__name__}", got=_short(given))


def _finite(given: object) -> float | None:
    """Return a JSON number as a float, or None if it is not a finite number."""
    if not isinstance(given, int | float) or isinstance(given, bool):
        return None
    try:
        return float(given) if math.isfinite(given) else None
    except OverflowError:
        return None


def _short(value: object) -> str:
    """Return a value for an error message, shortened to 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
