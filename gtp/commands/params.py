"""Commands that report and change parameters by KataGo's names; `gtp.params` has the table."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.search.params import ROLLOUT_PARAMS, SEARCH_SETTINGS, SearchParams
from engine.support.json_text import json_text
from gtp.args import expect
from gtp.errors import GtpError
from gtp.katago_names import why_no_effect
from gtp.params import PARAMS, Param, refuse_human_params
from gtp.protocol import Command
from gtp.state import GtpState, Handler, SessionConfig


def kata_list_params(state: GtpState, command: Command) -> str:
    """List the names of all parameters in one line."""
    expect(command.args, 0)
    return " ".join(PARAMS)


def kata_get_param(state: GtpState, command: Command) -> str:
    """Report one parameter."""
    expect(command.args, 1)
    value = get_param(state, command.args[0])
    return value if isinstance(value, str) else json_text(value)


def kata_get_params(state: GtpState, command: Command) -> str:
    """Report all parameters as one line of JSON."""
    expect(command.args, 0)
    values = {name: get_param(state, name) for name in PARAMS}
    texts = {name: json_text(values[name]) for name, param in PARAMS.items() if param.as_text}
    return json_text(values | texts, separators=(",", ":"))


def kata_set_param(state: GtpState, command: Command) -> str:
    """Change one parameter; without a value, reset it to Keima's default, whatever the command line said."""
    expect(command.args, 1, 2)
    return change_param(state, *command.args) if len(command.args) == 2 else _reset(state, command.args[0])


def _reset(state: GtpState, name: str) -> str:
    """Reset a parameter to the default that it has without options. Raises GtpError if its name is wrong."""
    param = _param(name)
    if param.of_session:
        return _change(state, {name: getattr(SessionConfig(), param.field)})
    # Searches without a network have other defaults.
    defaults = ROLLOUT_PARAMS if state.player_loader.get().network is None else SearchParams()
    return _change(state, {name: getattr(defaults, param.field)})


def change_param(state: GtpState, name: str, text: str) -> str:
    """Set one parameter and return the reply. Raises GtpError if its name or text is wrong."""
    return _change(state, {name: _param(name).read(name, text)})


def kata_set_params(state: GtpState, command: Command) -> str:
    """Change the parameters of a JSON object, all of them or none."""
    try:
        settings = json.loads(command.rest)
    except (ValueError, RecursionError):
        raise GtpError("expected a JSON object") from None
    if not isinstance(settings, dict):
        raise GtpError("expected a JSON object")
    return _change(state, {name: _param(name).read(name, _text(value)) for name, value in settings.items()})


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json_text(value)


def get_param(state: GtpState, name: str) -> Any:
    """Return a parameter as JSON can hold it. Raises GtpError if there is none of this name."""
    param = _param(name)
    owner = state.config if param.of_session else state.player_loader.get().params
    return param.to_json(getattr(owner, param.field))


def _param(name: str) -> Param:
    """Return the parameter of a name. Raises GtpError if there is none."""
    param = PARAMS.get(name)
    if param is None:
        reason = why_no_effect(name)
        raise GtpError(_unknown(name) if reason is None else f"{name} has no effect: {reason}")
    return param


def _unknown(name: str) -> str:
    """Return the error for a name that is no parameter here: another one, if it has one, as of `--set`."""
    own = SEARCH_SETTINGS.get(name)
    if own is None:
        return f"unknown parameter {name!r}"
    return f"{name} is called {own.katago} here" if own.katago else f"{name} is for --set and configuration files only"


def _change(state: GtpState, values: Mapping[str, Any]) -> str:
    """Set parameters to values of their fields."""
    of_session: dict[str, Any] = {}
    of_search: dict[str, Any] = {}
    for name, value in values.items():
        param = PARAMS[name]
        (of_session if param.of_session else of_search)[param.field] = value
    if of_search:
        player = state.player_loader.get()
        new, networks = replace(player.params, **of_search), (player.network, player.human)
        imitates = any(each is not None and each.facts.imitates for each in networks)
        refuse_human_params(player.params, new, has_human=player.human is not None, has_profile=imitates)
        player.set_params(new)
    state.configure(replace(state.config, **of_session))
    return ""


def keima_rank(state: GtpState, command: Command) -> str:
    """Choose moves as a player of a rank, or at `full` strength; `reg_genmove` and analysis ignore it."""
    expect(command.args, 1)
    return change_param(state, "rank", command.args[0])


COMMANDS: dict[str, Handler] = {
    "kata-list-params": kata_list_params,
    "kata-get-param": kata_get_param,
    "kata-get-params": kata_get_params,
    "kata-set-param": kata_set_param,
    "kata-set-params": kata_set_params,
    "keima-rank": keima_rank,
}
