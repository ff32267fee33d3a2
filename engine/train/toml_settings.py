"""Converts TOML tables to frozen dataclasses and back; unknown keys and wrong types are errors.

Only types are checked here; the dataclasses check ranges themselves (`__post_init__` raises ValueError). The words of
an error are those of the field's `Setting`, where it declares one.
"""

import dataclasses
import tomllib
import types
import typing
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from engine.errors import GoError
from engine.settings.setting import Kind, Setting, settings_by_key, settings_of
from engine.support.json_text import json_text

T = TypeVar("T")
_KINDS = {bool: Kind.TRUTH, int: Kind.INTEGER, float: Kind.NUMBER, str: Kind.TEXT, Path: Kind.OUTPUT_FILE}


class ConfigError(GoError):
    """Raised for an unusable configuration; the text has the file, the key, and expected and actual values."""


def read_toml(text: str, place: str) -> dict[str, Any]:
    """Parse a TOML text. Raises ConfigError, whose text begins with `place`."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{place}: {error}") from error


def read_toml_file(path: Path) -> dict[str, Any]:
    """Parse a TOML file. Raises ConfigError with its name, OSError."""
    try:
        return read_toml(path.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: no text in UTF-8: {error}") from error


def from_table(kind: type[T], table: Mapping[str, Any], place: str, prefix: str = "") -> T:
    """Return an instance of the dataclass `kind` with a table's values and its own defaults for missing keys.

    place: the beginning of error messages, usually the file name. prefix: the dotted key of the table itself.
    Raises ConfigError on an unknown key, a value of the wrong type, or one that the dataclass refuses.
    """
    fields = {field.name: field for field in dataclasses.fields(kind) if field.init}  # type: ignore[arg-type]
    hints = typing.get_type_hints(kind)
    for key in table:
        if key not in fields:
            raise ConfigError(f"{place}: unknown key {prefix}{key}, expected one of {' '.join(sorted(fields))}")
    required = (dataclasses.MISSING, dataclasses.MISSING)
    for name, field in fields.items():
        if name not in table and (field.default, field.default_factory) == required:
            raise ConfigError(f"{place}: {prefix}{name} is missing")
    rows = settings_of(kind)
    values = {key: _value(hints[key], value, place, prefix + key, rows.get(key)) for key, value in table.items()}
    try:
        return kind(**values)
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(f"{place}: {prefix.rstrip('.') + ': ' if prefix else ''}{error}") from error


def overridden(kind: type[Any], tables: Mapping[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """Return a copy of the tables of a dataclass with `section.key=value` settings applied.

    A value is TOML or what help prints: `off`, `2,25`, `cosine`. Raises ConfigError on a setting of any other form.
    """
    rows = {key: row for key, row in settings_by_key(kind).items() if row.kind is not Kind.ASSIGNMENT}
    result = {key: dict(value) if isinstance(value, Mapping) else value for key, value in tables.items()}
    for setting in settings:
        path, equals, text = setting.partition("=")
        keys = path.strip().split(".")
        if not equals or not all(keys):
            raise ConfigError(f"expected section.key=value, got {setting!r}")
        value = _assigned(text.strip(), rows.get(path.strip()), path.strip())
        table = result
        for key in keys[:-1]:
            table = table.setdefault(key, {})
            if not isinstance(table, dict):
                raise ConfigError(f"{setting!r}: {key} is a value, not a section")
        table[keys[-1]] = value
    return result


def _assigned(text: str, row: Setting | None, key: str) -> Any:
    """Return the value of a text of `--set`. row: its setting, None where no field declares one."""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except ValueError as broken:
        if row is None:
            return text
        if row.many and text[:1] in ("[", "{"):
            advice = "or write the values with commas between them"
            raise ConfigError(f"--set: {key}: {text!r} is not TOML: {broken}; {advice}") from broken
        try:
            value = _as_help_prints(text, row)
        except GoError as error:
            raise ConfigError(f"--set: {key}: {error}") from error
    return [value] if row is not None and row.many and not isinstance(value, list) else value


def _as_help_prints(text: str, row: Setting) -> Any:
    """Read a text as the command line reads that of an option, several values with commas between them."""
    # docs/settings.md prints an empty default so.
    if text == "none" and row.default in ("", ()):
        return [] if row.many else row.default
    return [row.read(each.strip()) for each in text.split(",")] if row.many else row.read(text)


def to_toml(value: Any) -> str:
    """Format a frozen dataclass as TOML: plain fields first, then dataclass fields as tables, without None."""
    lines: list[str] = []
    _write_table(value, "", lines)
    return "\n".join(lines).strip("\n") + "\n"


def differences(first: Any, second: Any, prefix: str = "") -> list[tuple[str, Any, Any]]:
    """Return (dotted key, first value, second value) for every field in which two instances of a class differ."""
    found: list[tuple[str, Any, Any]] = []
    for field in dataclasses.fields(first):
        one, other = getattr(first, field.name), getattr(second, field.name)
        if dataclasses.is_dataclass(one) and type(one) is type(other):
            found += differences(one, other, f"{prefix}{field.name}.")
        elif one != other:
            found.append((prefix + field.name, one, other))
    return found


def _value(hint: Any, value: Any, place: str, key: str, row: Setting | None = None) -> Any:
    """Convert a TOML value to the type of a field, which `row` declares. Raises ConfigError on another type."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        wanted = [each for each in arguments if each is not type(None)]
        if len(wanted) == 1:
            return _value(wanted[0], value, place, key, row)
        for each in wanted:
            try:
                return _value(each, value, place, key)
            except ConfigError:
                continue
    elif dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if isinstance(value, Mapping):
            return from_table(hint, value, place, key + ".")
    elif origin is typing.Literal:
        if value in arguments:
            return value
    elif origin is tuple:
        kinds = [arguments[0]] * len(value) if arguments[-1] is Ellipsis and isinstance(value, list) else arguments
        if isinstance(value, list) and len(value) == len(kinds):
            each = enumerate(zip(kinds, value, strict=True))
            return tuple(_value(kind, item, place, f"{key}[{index}]") for index, (kind, item) in each)
    elif origin in (dict, Mapping):
        if isinstance(value, Mapping):
            taken = {str(name): _as_text(each) if arguments[1] is str else each for name, each in value.items()}
            return {name: _value(arguments[1], each, place, f"{key}.{name}") for name, each in taken.items()}
    else:
        scalar = _scalar(hint, value)
        if scalar is not None:
            return scalar
    raise ConfigError(f"{place}: {key}: expected {_named(hint, row)}, got {value!r}")


def _scalar(hint: Any, value: Any) -> Any:
    """Return a scalar if it has the wanted type, else None. Integers are accepted as floats."""
    if hint is float and type(value) is int:
        return float(value)
    # Exact types: for `isinstance`, true would be an int.
    if hint in (int, float, bool, str) and type(value) is hint:
        return value
    if hint is Path and type(value) is str:
        return Path(value)
    if isinstance(hint, type) and issubclass(hint, Enum) and value in {each.value for each in hint}:
        return hint(value)
    return None


def _as_text(value: Any) -> Any:
    """Return a number or boolean as its TOML text, for tables whose values are strings; return other values as is."""
    return _toml_value(value) if isinstance(value, (int, float)) else value


def _named(hint: Any, row: Setting | None) -> str:
    """Return the values that a field takes in words, for error messages."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        count = "" if arguments[-1] is Ellipsis else f"{len(arguments)} "
        return count + (row.expected_many if row is not None else "values")
    if dataclasses.is_dataclass(hint) or origin in (dict, Mapping):
        return "a table"
    if row is not None:
        return row.expected
    if origin is typing.Literal:
        return " or ".join(map(str, arguments))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return " or ".join(str(each.value) for each in hint)
    return str(_KINDS.get(hint, hint))


def _write_table(value: Any, prefix: str, lines: list[str]) -> None:
    inner = []
    for field in dataclasses.fields(value):
        content = getattr(value, field.name)
        if dataclasses.is_dataclass(content):
            inner.append((field.name, content))
        elif content is not None:
            lines.append(f"{field.name} = {_toml_value(content)}")
    for name, content in inner:
        lines += ["", f"[{prefix}{name}]"]
        _write_table(content, f"{prefix}{name}.", lines)


def _toml_value(value: Any) -> str:
    """Return one value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Enum):
        return _toml_value(value.value)
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (str, Path)):
        # A JSON string is a TOML basic string, except that TOML has no surrogate pairs and forbids DEL.
        return json_text(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_toml_value(str(key))} = {_toml_value(each)}" for key, each in value.items()) + " }"
    if isinstance(value, Sequence):
        return "[" + ", ".join(_toml_value(each) for each in value) + "]"
    raise TypeError(f"no TOML for {value!r}")
