"""The parameters to tune and their ranges, as `--set` of `keima tune` names them. Imports nothing heavy."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.errors import GoError
from engine.search.params import SEARCH_SETTINGS
from engine.settings.setting import BadValue, Kind, Setting

Value = float | bool | str
Set = dict[str, Value]
"""A set of parameters: values by name."""
_RANGE = re.compile(r"(?P<low>.+?)\.\.(?P<high>[^:]+)(?::(?P<scale>log|linear))?")
_SYNTAX = "expected NAME, NAME=VALUE or NAME=LOW..HIGH, a range with :log for a logarithmic scale"
_LOG_RATIO = 100.0
"""High end over low end from which on a range of the table has a logarithmic scale."""
_DIGITS = 4
"""Significant digits of tuned values: further ones change no result."""


@dataclass(frozen=True)
class Range:
    """The values that one parameter may take: from `low` to `high`, or `choices` if there are any."""

    name: str
    kind: Kind
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    choices: tuple[Value, ...] = ()

    def __str__(self) -> str:
        if self.choices:
            return " or ".join(str(each).lower() for each in self.choices)
        return f"{self.low:g}..{self.high:g}{':log' if self.log else ''}"

    def rounded(self, value: Value) -> Value:
        """Return a proposed value with as many digits as are used."""
        if self.choices or self.kind is Kind.INTEGER:
            return value
        return min(max(float(f"{value:.{_DIGITS}g}"), self.low), self.high)

    def has(self, value: Value) -> bool:
        """Return whether a value lies in the range."""
        return value in self.choices if self.choices else self.low <= float(value) <= self.high


def read_ranges(texts: Sequence[str]) -> tuple[tuple[Range, ...], dict[str, str]]:
    """Return the ranges of the parameters to tune, and the fixed values of others by name. Raises GoError."""
    ranges, fixed = dict[str, Range](), dict[str, str]()
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if name not in SEARCH_SETTINGS:
            raise GoError(
                f"--set {text!r}: unknown setting {name!r}, expected one of {' '.join(sorted(SEARCH_SETTINGS))}"
            )
        if name in ranges or name in fixed:
            raise GoError(f"--set {text!r}: {name} is set twice")
        setting = SEARCH_SETTINGS[name]
        if not equals:
            ranges[name] = _whole(setting)
        elif ".." in value:
            ranges[name] = _part(setting, value, text)
        else:
            _checked(setting, value, text)
            fixed[name] = value
    return tuple(ranges.values()), fixed


def as_texts(values: Mapping[str, Value]) -> str:
    """Return a set as --set takes it, "c_puct=1.2 uses_lcb=false"."""
    return " ".join(
        f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in values.items()
    )


def _whole(setting: Setting) -> Range:
    """Return the range of a parameter in the table of settings. Raises GoError if it has none."""
    if setting.kind is Kind.TRUTH:
        return Range(setting.name, setting.kind, choices=(False, True))
    if setting.kind is Kind.CHOICE:
        return Range(setting.name, setting.kind, choices=setting.choices)
    low, high = setting.least, setting.most
    if setting.kind not in (Kind.INTEGER, Kind.NUMBER) or low is None or high is None:
        raise GoError(f"--set {setting.name}: {setting.name} is {setting.expected} and has no range")
    return Range(setting.name, setting.kind, low, high, log=low > 0 and high / low >= _LOG_RATIO)


def _part(setting: Setting, value: str, text: str) -> Range:
    """Return the range that a text gives. Raises GoError."""
    found = _RANGE.fullmatch(value)
    if setting.kind not in (Kind.INTEGER, Kind.NUMBER):
        raise GoError(f"--set {text!r}: {setting.name} is {setting.expected} and has no range: {_SYNTAX}")
    if found is None:
        raise GoError(f"--set {text!r}: {_SYNTAX}")
    low, high = (_checked(setting, found[end].strip(), text) for end in ("low", "high"))
    log = found["scale"] == "log"
    if not low < high or (log and low <= 0):
        raise GoError(f"--set {text!r}: expected LOW below HIGH{', both above 0' if log else ''}")
    return Range(setting.name, setting.kind, low, high, log)


def _checked(setting: Setting, value: str, text: str) -> float:
    try:
        found: float = setting.read(value)
    except BadValue as error:
        raise GoError(f"--set {text!r}: {error}") from None
    return found
