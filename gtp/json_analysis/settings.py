"""The defaults of queries, and how configurations and `overrideSettings` change them by KataGo's names."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from engine.errors import GoError
from engine.settings.table import settings_on
from engine.settings.table.surfaces import JSON
from gtp.errors import GtpError
from gtp.params import PARAMS, refuse_human_params
from gtp.state import Perspective

if TYPE_CHECKING:
    from engine.search.params import SearchParams

_KNOWN = settings_on(JSON)


@dataclass(frozen=True)
class Settings:
    """What a query may change by `overrideSettings`, and a configuration for all queries.

    visits, seconds: limits of a search, None for none. perspective: whose winrate is reported. pv_length: moves of a
    variation after its first one. warns_unused: warn of fields of queries that mean nothing here. most_turns: positions
    of one query, None for any number. has_human: whether there is a human network beside the playing one; has_profile:
    whether any network imitates people; needs_profile: whether the playing one does.
    """

    params: "SearchParams"
    visits: int | None = _KNOWN["visits"].default
    seconds: float | None = _KNOWN["seconds"].default
    perspective: Perspective = field(default=Perspective(_KNOWN["perspective"].default))
    pv_length: int = _KNOWN["pv_length"].default
    warns_unused: bool = True
    most_turns: int | None = None
    has_human: bool = True
    has_profile: bool = True
    needs_profile: bool = False


def overridden(settings: Settings, changes: Mapping[str, str]) -> tuple[Settings, list[str]]:
    """Return settings with changes by KataGo's names, and the names that mean nothing here.

    Raises GoError, naming the key, for a value out of range or of another kind.
    """
    own: dict[str, Any] = {}
    of_search: dict[str, Any] = {}
    unknown = []
    try:
        for name, text in changes.items():
            param = PARAMS.get(name)
            if param is None or param.field not in _KNOWN:
                unknown.append(name)
            else:
                (own if param.of_session else of_search)[param.field] = param.read(name, text)
        new = replace(settings.params, **of_search)
        refuse_human_params(settings.params, new, has_human=settings.has_human, has_profile=settings.has_profile)
    except GtpError as error:
        raise GoError(str(error)) from None
    return replace(settings, params=new, **own), unknown
