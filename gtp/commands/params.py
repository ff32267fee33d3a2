"""Commands that report and change parameters by KataGo's names; `gtp.params` has the table."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.support.json_text import json_text
from gtp.args import expect
from gtp.errors import GtpError
from gtp.params import PARAMS
from gtp.protocol import Command
from gtp.state import GtpState, Handler


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
    """Change one parameter."""
    expect(command.args, 2)
    return change_param(state, *command.args)


def change_param(state: GtpState, name: str, text: str) -> str:
    """Set one parameter and return the reply. Raises GtpError if its name or text is wrong."""
    return _change(state, {name: text})


def kata_set_params(state: GtpState, command: Command) -> str:
    """Change the parameters of a JSON object, all of them or none."""
    try:
        settings = json.loads(command.rest)
    except (ValueError, RecursionError):
        raise GtpError("expected a JSON object") from None
    if not isinstance(settings, dict):
        raise GtpError("expected a JSON object")
    return _change(state, {name: _text(value) for name, value in settings.items()})


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json_text(value)


def get_param(state: GtpState, name: str) -> Any:
    """Return a parameter as JSON can hold it. Raises GtpError if there is none of this name."""
    param = PARAMS.get(name)
    if param is None:
        raise GtpError(f"unknown parameter {name!r}")
    owner = state.config if param.of_session else state.player_loader.get().params
    return param.to_json(getattr(owner, param.field))


def _change(state: GtpState, settings: Mapping[str, str]) -> str:
    """Set parameters after all of them were read. Raises GtpError, and then nothing has changed."""
    of_session: dict[str, Any] = {}
    of_search: dict[str, Any] = {}
    for name, text in settings.items():
        param = PARAMS.get(name)
        if param is None:
            raise GtpError(f"unknown parameter {name!r}")
        (of_session if param.of_session else of_search)[param.field] = param.read(name, text)
    if of_search:
        player = state.player_loader.get()
        player.set_params(replace(player.params, **of_search))
    state.configure(replace(state.config, **of_session))
    return ""


def level(state: GtpState, command: Command) -> str:
    """Choose moves at a level from 1 to 10, which is full strength; `reg_genmove` and analysis ignore it."""
    expect(command.args, 1)
    return change_param(state, "level", command.args[0])


COMMANDS: dict[str, Handler] = {
    "kata-list-params": kata_list_params,
    "kata-get-param": kata_get_param,
    "kata-get-params": kata_get_params,
    "kata-set-param": kata_set_param,
    "kata-set-params": kata_set_params,
    "level": level,
}
