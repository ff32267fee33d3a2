"""The parameters that `kata-set-param` and `overrideSettings` know, made from the table of settings.

Each name, KataGo's where KataGo has one, stands for a field of the search's parameters or of the session's
configuration. A name without such a field is unknown rather than accepted and ignored.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from engine.errors import GoError
from engine.search.params import SEARCH_SETTINGS, SearchParams
from engine.settings.setting import BadValue, Setting
from engine.settings.table import settings_on
from engine.settings.table.surfaces import GTP
from gtp.errors import GtpError
from gtp.state import Perspective

_NO_VISITS = 1 << 50
_NO_SECONDS = 1e20
"""What KataGo reports for limits that are not set."""
_DIGITS = 9


@dataclass(frozen=True)
class Param:
    """One parameter.

    setting: its name is the field's, of `SessionConfig` if `of_session`, else of `SearchParams`. as_text:
    `kata-get-params` writes it as a string whatever its kind, as KataGo does with these. to_field, to_json: between
    KataGo's values and the field's, where they differ.
    """

    setting: Setting
    of_session: bool
    as_text: bool = False
    to_field: Callable[[Any], Any] = lambda value: value
    to_json: Callable[[Any], Any] = lambda value: value

    @property
    def field(self) -> str:
        """The name of the field."""
        return self.setting.name

    def read(self, name: str, text: str) -> Any:
        """Return the field's value. Raises GtpError naming the parameter, what it must be and what was given."""
        try:
            return self.to_field(self.setting.read(text))
        except BadValue as error:
            raise GtpError(f"{name} {text!r}: must be {error.must_be}") from None
        except GoError as error:
            raise GtpError(f"{name}: {error}") from None


_AS_TEXT = {"allowResignation", "analysisIgnorePreRootHistory", "analysisWideRootNoise", "ponderingEnabled"}


def _params() -> dict[str, Param]:
    """Return the parameters by name, sorted."""
    rows = {each.katago or each.name: each for each in settings_on(GTP).values()}
    return {
        name: _as_katago_has_it(Param(row, row.name not in SEARCH_SETTINGS, name in _AS_TEXT))
        for name, row in sorted(rows.items())
    }


def _as_katago_has_it(param: Param) -> Param:
    """Return a parameter with KataGo's range and values where Keima has others."""
    row = param.setting
    match row.name:
        case "visits":
            return replace(
                param,
                to_field=lambda value: None if value >= _NO_VISITS else value,
                to_json=lambda value: _NO_VISITS if value is None else value,
            )
        case "ponder_visits" | "max_playouts" | "ponder_playouts":
            return replace(
                param,
                setting=row._replace(least=1, most=_NO_VISITS),
                to_field=lambda value: 0 if value >= _NO_VISITS else value,
                to_json=lambda value: value or _NO_VISITS,
            )
        case "seconds":
            return replace(
                param,
                to_field=lambda value: None if value >= _NO_SECONDS else value,
                to_json=lambda value: _NO_SECONDS if value is None else value,
            )
        case "ponder_seconds":
            return replace(
                param,
                setting=row._replace(least=0.001, most=_NO_SECONDS),
                to_field=lambda value: 0.0 if value == _NO_SECONDS else value,
                to_json=lambda value: value or _NO_SECONDS,
            )
        case "resign_threshold":  # KataGo's is a utility from -1 for a certain loss to 0 for an even game
            return replace(
                param,
                setting=row._replace(least=-1.0, most=0.0),
                to_field=lambda value: round((1.0 + value) / 2.0, _DIGITS),
                to_json=lambda value: round(2.0 * value - 1.0, _DIGITS),
            )
        case "perspective":
            return replace(param, to_field=Perspective, to_json=str)
    return param


PARAMS: dict[str, Param] = _params()
"""Name -> what it stands for."""
_OF_HUMAN = {name: each for name, each in PARAMS.items() if name.startswith("humanSL")}


def refuse_human_params(old: SearchParams, new: SearchParams, *, has_human: bool, has_profile: bool) -> None:
    """Raise GtpError, with KataGo's words, for changed parameters of a human network that is not there.

    has_human: whether there is one beside the playing network. has_profile: whether any network imitates people.
    """
    for name, param in _OF_HUMAN.items():
        if getattr(new, param.field) == getattr(old, param.field):
            continue
        if name != "humanSLProfile" and not has_human:
            raise GtpError(
                f"Provided parameter {name} but no human model was specified "
                "(e.g -human-model b18c384nbt-humanv0.bin.gz)"
            )
        if name == "humanSLProfile" and not has_profile and new.human_profile:
            raise GtpError("humanSLProfile is specified as config param but no model uses it")
