"""What a query that says nothing gets, and how KataGo's names change it: configuration files, `overrideSettings`."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import GoError
from gtp.errors import GtpError
from gtp.params import PARAMS
from gtp.state import DEFAULT_PV_LENGTH, Perspective

if TYPE_CHECKING:
    from engine.search.params import SearchParams

DEFAULT_VISITS = 500
"""Of KataGo's example of a configuration, as is the perspective BLACK."""
_ASSIGNMENT = re.compile(r"\s*([A-Za-z_][\w.]*)\s*=\s*(.*)")


@dataclass(frozen=True)
class Settings:
    """What a query may change by `overrideSettings`, and a configuration for all queries.

    visits, seconds: limits of a search, None for none. perspective: whose chances are told. pv_length: moves of a
    variation after its first one. warns_unused: tell of fields of queries that mean nothing here.
    """

    params: "SearchParams"
    visits: int | None = DEFAULT_VISITS
    seconds: float | None = None
    perspective: Perspective = Perspective.BLACK
    pv_length: int = DEFAULT_PV_LENGTH
    warns_unused: bool = True


def overridden(settings: Settings, changes: Mapping[str, str]) -> tuple[Settings, list[str]]:
    """Return settings with changes by KataGo's names, and the names that mean nothing here.

    Raises GoError for a value that cannot be.
    """
    own: dict[str, Any] = {}
    of_search: dict[str, Any] = {}
    unknown = []
    for name, text in changes.items():
        param = PARAMS.get(name)
        if param is None or (param.of_session and not hasattr(settings, param.field)):
            unknown.append(name)
            continue
        try:
            value = param.kind.parse(text)
        except GtpError as error:
            raise GoError(f"{name} {text!r}: {error}") from None
        (own if param.of_session else of_search)[param.field] = value
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
