"""One setting: its name, kind, range, default, unit and help, and the parser of its values.

Dataclasses of settings keep the range and the help of a field in its metadata (`number`, `truth`, `option`), so that
each is written once. Imports nothing heavy: the GTP handshake waits for this module.
"""

import math
import re
from dataclasses import field, fields, is_dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from engine.errors import GoError
from engine.records.human_profiles import NO_PROFILE, parse_profile
from engine.rules import parse_rules
from engine.vertex import MAX_SIZE

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_MOST_DIGITS = 9
_TRUTH = {"true": True, "false": False, "on": True, "off": False}
_METADATA = "setting"


class Kind(StrEnum):
    """The kind of values that a setting takes; its text stands in error messages and on docs/settings.md."""

    TRUTH = "true or false"
    INTEGER = "an integer"
    NUMBER = "a number"
    CHOICE = "a choice"
    TEXT = "a text"
    COUNTS = "ascending counts such as 1,100,800"
    SIZE = "a board size"
    RULES = "rules"
    PROFILE = "a human profile"
    ASSIGNMENT = "key=value"
    INPUT_FILE = "an existing file"
    OUTPUT_FILE = "a file"
    INPUT_FOLDER = "an existing directory"
    OUTPUT_FOLDER = "a directory"
    INPUT_PATH = "an existing file or directory"


_PLURALS = {Kind.INTEGER: "integers", Kind.NUMBER: "numbers", Kind.TEXT: "texts", Kind.RULES: "rules"}


class Heading(StrEnum):
    """The heading of an option in `--help`. Options under EXPERT are shown by `--help-all` only."""

    PLAY = "Play"
    TIME = "Time"
    NETWORK = "Network"
    TRAINING = "Training"
    DATA = "Input and output"
    MACHINE = "Machine"
    EXPERT = "Expert"


class BadValue(GoError):
    """A value that a setting cannot have.

    must_be: what was expected: for a number out of range (`is_of_kind`) the range alone, else kind and range.
    """

    def __init__(self, setting: "Setting", value: object, *, is_of_kind: bool = False) -> None:
        self.must_be = setting.bounds if is_of_kind else setting.expected
        super().__init__(f"expected {setting.expected}, got {value!r}")


class Setting(NamedTuple):
    """One row of the table of settings.

    name: the Python name of the value. least, most: bounds of a number; above: `least` itself is excluded.
    choices: the values of a CHOICE. katago: KataGo's name, which GTP and JSON use; "" if it has none.
    surfaces: the commands, and the other places in `table.surfaces`, that have it.
    flags: the command-line options; "--name" if empty. metavar: the placeholder of the value in `--help`.
    default_text: the default in words, where it is not a plain value. bare: the value of the option alone, "" where it
        needs one. many: the option may be repeated.
    reason: why its default or help differs from that of another row of the same name.
    """

    kind: Kind
    name: str
    help: str
    default: Any = None
    least: float | None = None
    most: float | None = None
    above: bool = False
    unit: str = ""
    choices: tuple[str, ...] = ()
    katago: str = ""
    heading: Heading = Heading.EXPERT
    surfaces: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    metavar: str = ""
    default_text: str = ""
    bare: str = ""
    many: bool = False
    required: bool = False
    reason: str = ""

    @property
    def options(self) -> tuple[str, ...]:
        """The command-line options of this setting."""
        return self.flags or (f"--{self.name.replace('_', '-')}",)

    @property
    def bounds(self) -> str:
        """The range of a number in words, "" if it has none."""
        if self.least is not None and self.most is not None and not self.above:
            return f"from {_plain(self.least)} to {_plain(self.most)}"
        words = []
        if self.least is not None:
            words.append(f"above {_plain(self.least)}" if self.above else f"{_plain(self.least)} or more")
        if self.most is not None:
            words.append(f"at most {_plain(self.most)}")
        return " and ".join(words)

    @property
    def expected(self) -> str:
        """The values that this setting takes, in words, for error messages."""
        match self.kind:
            case Kind.CHOICE:
                return " or ".join(self.choices)
            case Kind.SIZE:
                return f"a size from 2 to {MAX_SIZE}, or two as in 13x9"
        return self._with_bounds(self.kind)

    @property
    def expected_many(self) -> str:
        """The same in the plural, for a setting that takes many values."""
        return self._with_bounds(_PLURALS.get(self.kind, "values"))

    def _with_bounds(self, noun: str) -> str:
        return noun + ("," if self.bounds[:1].isdigit() else "") + f" {self.bounds}".rstrip()

    def read(self, value: object) -> Any:
        """Parse a text, or a plain value of JSON or TOML. Raises BadValue, BadRules, or GoError for a profile."""
        # Everything is parsed from text, so that JSON's 7.5 and the command line's "7.5" give the same error.
        text = str(value).lower() if isinstance(value, bool) else str(value)
        match self.kind:
            case Kind.TRUTH:
                if text.lower() not in _TRUTH:
                    raise BadValue(self, value)
                return _TRUTH[text.lower()]
            case Kind.INTEGER:
                return self._within(int(text) if _INTEGER.fullmatch(text) else None, value)
            case Kind.NUMBER:
                return self._within(float(text) if _NUMBER.fullmatch(text) else None, value)
            case Kind.CHOICE:
                known = {each.lower(): each for each in self.choices}
                if text.lower() not in known:
                    raise BadValue(self, value)
                return known[text.lower()]
            case Kind.SIZE:
                return self._size(text, value)
            case Kind.COUNTS:
                return self._counts(text, value)
            case Kind.RULES:
                parse_rules(text)
            case Kind.PROFILE:
                if text in NO_PROFILE:
                    return ""
                parse_profile(text)
        return text

    def check(self, value: Any) -> None:
        """Raise BadValue for a number out of range or an unknown choice; where there may be many, for any of them.

        None is accepted where it is the default. Values of other kinds are not checked.
        """
        if value is None and self.default is None:
            return
        for each in value if self.many else (value,):
            if self.kind in (Kind.INTEGER, Kind.NUMBER):
                self._within(each, value)
            elif self.kind is Kind.CHOICE and each not in self.choices:
                raise BadValue(self, value)

    def _within(self, number: float | None, given: object) -> float:
        if number is None:
            raise BadValue(self, given)
        too_small = self.least is not None and (number < self.least or (self.above and number == self.least))
        if not math.isfinite(number) or too_small or (self.most is not None and number > self.most):
            raise BadValue(self, given, is_of_kind=True)
        return number

    def _size(self, text: str, given: object) -> tuple[int, int]:
        parts = text.lower().split("x")
        if len(parts) in (1, 2) and all(_is_count(part) and 2 <= int(part) <= MAX_SIZE for part in parts):
            return int(parts[0]), int(parts[-1])
        raise BadValue(self, given)

    def _counts(self, text: str, given: object) -> tuple[int, ...]:
        parts = text.split(",")
        counts = tuple(int(part) for part in parts if _is_count(part))
        if len(counts) < len(parts) or counts[0] < 1 or list(counts) != sorted(set(counts)):
            raise BadValue(self, given)
        return counts


def _is_count(text: str) -> bool:
    """Return whether a text is a number of few digits: Python refuses those of thousands with another error."""
    return text.isdecimal() and len(text) <= _MOST_DIGITS


def _plain(number: float) -> str:
    """Format a bound without an exponent where possible: 1000000, not 1e+06."""
    return str(int(number)) if abs(number) < 1e10 and number == int(number) else f"{number:g}"


def declared(setting: Setting, **changes: Any) -> Any:
    """Return a dataclass field with the default, range and help of a setting. changes: its fields that differ."""
    row = setting._replace(**changes)
    return field(default=row.default, metadata={_METADATA: row})


def assignments(meaning: str, metavar: str) -> Any:
    """Return a dataclass field of a mapping that is empty by default, each of whose keys is set by key=value."""
    row = Setting(Kind.ASSIGNMENT, "", meaning, metavar=metavar, many=True)
    return field(default_factory=dict, metadata={_METADATA: row})


def option(kind: Kind, default: Any, meaning: str, **more: Any) -> Any:
    """Return a dataclass field of any kind; a tuple as default takes many values. more: further fields of `Setting`."""
    return declared(Setting(kind, "", meaning, default, many=isinstance(default, tuple), **more))


def number(default: float, meaning: str, least: float | None = None, most: float | None = None, **more: Any) -> Any:
    """Return a dataclass field of a number with its help and range. more: further fields of `Setting`."""
    kind = Kind.INTEGER if isinstance(default, int) else Kind.NUMBER
    return option(kind, default, meaning, least=least, most=most, **more)


def numbers(
    default: tuple[float, ...], meaning: str, least: float | None = None, most: float | None = None, **more: Any
) -> Any:
    """Return a dataclass field of any number of numbers. more: further fields of `Setting`."""
    kind = Kind.INTEGER if default and isinstance(default[0], int) else Kind.NUMBER
    return option(kind, default, meaning, least=least, most=most, **more)


def choice(default: str, meaning: str, choices: tuple[str, ...], **more: Any) -> Any:
    """Return a dataclass field that takes one of several texts. more: further fields of `Setting`."""
    return option(Kind.CHOICE, default, meaning, choices=choices, **more)


def truth(default: bool, meaning: str, **more: Any) -> Any:
    """Return a dataclass field of a truth value with its help. more: further fields of `Setting`."""
    return option(Kind.TRUTH, default, meaning, **more)


def settings_of(kind: type[Any]) -> dict[str, Setting]:
    """Return the settings that the fields of a dataclass declare, by name."""
    found: dict[str, Setting] = {each.name: each.metadata[_METADATA] for each in fields(kind) if each.metadata}
    return {name: each._replace(name=name) for name, each in found.items()}


def settings_by_key(kind: type[Any], prefix: str = "") -> dict[str, Setting]:
    """Return the settings of a dataclass and of the dataclasses in its fields by the dotted key that --set takes."""
    own, found = settings_of(kind), dict[str, Setting]()
    for each in fields(kind):
        if each.name in own:
            found[prefix + each.name] = own[each.name]
        elif is_dataclass(each.default_factory) and isinstance(each.default_factory, type):
            found |= settings_by_key(each.default_factory, f"{prefix}{each.name}.")
    return found


def check_fields(values: Any) -> None:
    """Raise GoError with the field's name for a value of a dataclass that its setting does not take."""
    for name, setting in settings_of(type(values)).items():
        try:
            setting.check(getattr(values, name))
        except BadValue as error:
            raise GoError(f"{name}: {error}") from error
