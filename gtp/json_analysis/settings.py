"""The defaults of queries, and how configuration files and `overrideSettings` change them by KataGo's names."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import GoError
from engine.settings.table import settings_on
from engine.settings.table.surfaces import JSON
from gtp.errors import GtpError
from gtp.params import PARAMS
from gtp.state import Perspective

if TYPE_CHECKING:
    from engine.search.params import SearchParams

_KNOWN = settings_on(JSON)
_ASSIGNMENT = re.compile(r"\s*([A-Za-z_][\w.]*)\s*=\s*(.*)")


@dataclass(frozen=True)
class Settings:
    """What a query may change by `overrideSettings`, and a configuration for all queries.

    visits, seconds: limits of a search, None for none. perspective: whose winrate is reported. pv_length: moves of a
    variation after its first one. warns_unused: warn of fields of queries that mean nothing here.
    """

    params: "SearchParams"
    visits: int | None = _KNOWN["visits"].default
    seconds: float | None = _KNOWN["seconds"].default
    perspective: Perspective = field(default=Perspective(_KNOWN["perspective"].default))
    pv_length: int = _KNOWN["pv_length"].default
    warns_unused: bool = True


def overridden(settings: Settings, changes: Mapping[str, str]) -> tuple[Settings, list[str]]:
    """Return settings with changes by KataGo's names, and the names that mean nothing here.

    Raises GoError, naming the key, for a value out of range or of another kind.
    """
    own: dict[str, Any] = {}
    of_search: dict[str, Any] = {}
    unknown = []
    for name, text in changes.items():
        param = PARAMS.get(name)
        if param is None or param.field not in _KNOWN:
            unknown.append(name)
            continue
        try:
            (own if param.of_session else of_search)[param.field] = param.read(name, text)
        except GtpError as error:
            raise GoError(str(error)) from None
    return replace(settings, params=replace(settings.params, **of_search), **own), unknown


def read_assignments(path: Path) -> dict[str, str]:
    """Return the keys and values of a configuration file of KataGo's. Raises GoError naming the line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise GoError(f"{path}: {error}") from None
    return _assignments(lines, str(path))


def parse_assignments(text: str) -> dict[str, str]:
    """Return what `KEY=VALUE,KEY=VALUE` says. Raises GoError."""
    return _assignments(text.split(","), "the command line")


def _assignments(lines: Iterable[str], place: str) -> dict[str, str]:
    found = {}
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        match = _ASSIGNMENT.fullmatch(text)
        if match is None:
            raise GoError(f"{place}, line {number}: expected key = value, got {text!r}")
        found[match[1]] = match[2].strip().strip('"')
    return found
