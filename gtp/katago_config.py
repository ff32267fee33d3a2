"""Configuration files of KataGo and `-override-config`: what they change in a session, and what has no effect.

An unknown key is an error that names the nearest known one; a key without effect here is one line on stderr.
"""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from engine.errors import BadRules, GoError
from engine.rules import Rules, parse_rules
from engine.settings.setting import BadValue
from engine.settings.table import settings_on
from gtp.errors import GtpError
from gtp.katago_names import NO_EFFECT, why_no_effect
from gtp.params import PARAMS

Assignments = dict[str, str]

_ASSIGNMENT = re.compile(r"\s*([A-Za-z_][\w.]*)\s*=\s*(.*)")
_RULES = {
    "koRule": "ko",
    "scoringRule": "scoring",
    "taxRule": "tax",
    "multiStoneSuicideLegal": "suicide",
    "hasButton": "hasButton",
    "whiteHandicapBonus": "whiteHandicapBonus",
    "friendlyPassOk": "friendlyPassOk",
}
"""KataGo's keys of single rules -> their names in `kata-set-rule`."""
_SIZES = ("defaultBoardSize", "defaultBoardXSize", "defaultBoardYSize")
_GAME = ("rules", *_RULES, *_SIZES)
ANALYSIS_KEYS = ("numAnalysisThreads", "warnUnusedFields")
"""Keys that `keima analysis` reads itself."""
_KNOWN = (*PARAMS, *_GAME, *ANALYSIS_KEYS)


class Changes(NamedTuple):
    """What a configuration changes. session: fields of `SessionConfig`. search: of `SearchParams`."""

    session: dict[str, Any]
    search: dict[str, Any]


def read_assignments(path: Path) -> Assignments:
    """Return the keys and values of a configuration file of KataGo's. Raises GoError naming a bad line or key."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise GoError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise GoError(f"{path}: {error}") from None
    return _assignments(lines, str(path))


def parse_assignments(text: str) -> Assignments:
    """Return what `KEY=VALUE,KEY=VALUE` says. Raises GoError, for an unknown key, too."""
    return _assignments(text.split(","), "the command line")


def _assignments(lines: Iterable[str], place: str) -> Assignments:
    found = {}
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        match = _ASSIGNMENT.fullmatch(text)
        if match is None:
            raise GoError(f"{place}, line {number}: expected key = value, got {text!r}")
        if why_no_effect(match[1]) is None and match[1] not in _KNOWN:
            near = get_close_matches(match[1], (*_KNOWN, *NO_EFFECT), n=1, cutoff=0.0)
            raise GoError(f"{place}, line {number}: unknown key {match[1]!r}; the nearest is {near[0]!r}")
        found[match[1]] = match[2].strip().strip('"')
    return found


def assignments(files: Iterable[Path], overrides: Iterable[str]) -> Assignments:
    """Return a configuration: of the files in order, then of the command line. Raises GoError."""
    given: Assignments = {}
    for file in files:
        given |= read_assignments(file)
    for text in overrides:
        given |= parse_assignments(text)
    return given


def lines_without_effect(names: Iterable[str]) -> list[str]:
    """Return a line for each of KataGo's keys, saying why it has no effect."""
    reasons = {name: why_no_effect(name) or "it belongs to another command" for name in names}
    return [f"keima: {name} has no effect: {reason}" for name, reason in reasons.items()]


def session_changes(given: Mapping[str, str]) -> tuple[Changes, list[str]]:
    """Return what a configuration changes in a GTP session, and the lines about keys without effect.

    Raises GoError, naming the key, for a bad value.
    """
    found, unused = Changes({}, {}), []
    for name, text in given.items():
        param = PARAMS.get(name)
        if param is not None:
            try:
                (found.session if param.of_session else found.search)[param.field] = param.read(name, text)
            except GtpError as error:
                raise GoError(str(error)) from None
        elif name not in _GAME:
            unused.append(name)
    lines = lines_without_effect(unused)
    found.session.update(_board(given))
    rules = _rules(given)
    if rules is not None:
        found.session["rules"] = rules
    return found, lines


def _board(given: Mapping[str, str]) -> dict[str, int]:
    """Return width and height, as far as given."""
    both, *sides = _SIZES
    row = settings_on("gtp")["size"]
    found = {}
    for side, name in zip(sides, ("width", "height"), strict=True):
        key = side if side in given else both
        if key in given:
            try:
                found[name] = row.read(given[key])[0]
            except BadValue as error:
                raise GoError(f"{key}: {error}") from None
    return found


def _rules(given: Mapping[str, str]) -> Rules | None:
    """Return the rules, None if the configuration has none. KataGo's keys of single rules change those of `rules`."""
    single = {name: given[key] for key, name in _RULES.items() if key in given}
    if "rules" not in given and not single:
        return None
    try:
        rules = parse_rules(given.get("rules", "tromp-taylor"))
        for name, value in single.items():
            rules = rules.with_field(name, value)
    except BadRules as error:
        raise GoError(f"rules: {error}") from None
    return rules
