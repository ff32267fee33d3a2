"""Options of the command line, made from the table of settings. Imports nothing heavy."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from engine.errors import GoError
from engine.settings.setting import Heading, Kind, Setting
from engine.settings.table import settings_on

Callback = Callable[[click.Context, click.Parameter, Any], Any]
_PATHS = {
    Kind.INPUT_FILE: click.Path(exists=True, dir_okay=False, path_type=Path),
    Kind.OUTPUT_FILE: click.Path(dir_okay=False, path_type=Path),
    Kind.INPUT_FOLDER: click.Path(exists=True, file_okay=False, path_type=Path),
    Kind.OUTPUT_FOLDER: click.Path(file_okay=False, path_type=Path),
    Kind.INPUT_PATH: click.Path(exists=True, path_type=Path),
}
_METAVARS = {
    Kind.INTEGER: "N",
    Kind.NUMBER: "NUMBER",
    Kind.SIZE: "SIZE",
    Kind.COUNTS: "N,N,..",
    Kind.RULES: "RULES",
    Kind.ASSIGNMENT: "KEY=VALUE",
    Kind.INPUT_FILE: "FILE",
    Kind.OUTPUT_FILE: "FILE",
    Kind.INPUT_FOLDER: "DIRECTORY",
    Kind.OUTPUT_FOLDER: "DIRECTORY",
    Kind.INPUT_PATH: "PATH",
}


class SettingType(click.ParamType[Any]):
    """The click type of a setting; reads values with `Setting.read`, as GTP and JSON do."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.name = str(setting.kind)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value of a text. Raises BadParameter."""
        # click also converts defaults, which already have the right type.
        if not isinstance(value, str):
            return value
        try:
            return self.setting.read(value)
        except GoError as error:
            raise click.BadParameter(str(error), ctx, param) from error


class SettingOption(click.Option):
    """The option of a setting; its help shows the default and the range."""

    def __init__(self, names: Sequence[str], setting: Setting, callback: Callback | None, is_eager: bool) -> None:
        self.setting = setting
        self.heading = setting.heading
        is_flag = setting.kind is Kind.TRUTH
        # click takes a default of None for a value, and would not miss an option that is required.
        default = {} if setting.required else {"default": setting.default}
        # With a value of its own, click takes an option that ends the line or comes before another one.
        alone: dict[str, Any] = {"flag_value": setting.bare} if setting.bare else {}
        super().__init__(
            names,
            **default,
            **alone,
            type=click.BOOL if is_flag else _type(setting),
            is_flag=is_flag,
            multiple=setting.many,
            required=setting.required,
            help=setting.help,
            metavar=setting.metavar or setting.unit.upper() or _METAVARS.get(setting.kind),
            callback=callback,
            is_eager=is_eager,
        )

    def get_help_extra(self, ctx: click.Context) -> click.types.OptionHelpExtra:
        """Return the text in brackets after the help: default, range (if it has an upper bound), whether required."""
        extra: click.types.OptionHelpExtra = {}
        default = self.setting.default_text or shown(self.setting.default)
        if default:
            extra["default"] = default
        if self.setting.most is not None:
            extra["range"] = self.setting.bounds
        if self.required:
            extra["required"] = "required"
        return extra


def _type(setting: Setting) -> click.ParamType[Any]:
    """Return the click type of an option that takes a value."""
    if setting.kind is Kind.CHOICE:
        return click.Choice(setting.choices)
    if setting.kind in (Kind.TEXT, Kind.ASSIGNMENT):
        return click.STRING
    return _PATHS.get(setting.kind) or SettingType(setting)


def shown(default: Any) -> str:
    """Return a default as a user would type it, "" for None and for a switch that is off."""
    if default is None or default is False:
        return ""
    if default is True:
        return "on"
    if isinstance(default, tuple):
        return str(default[0]) if len(set(default)) == 1 else ",".join(map(str, default))
    return f"{default:g}" if isinstance(default, float) else str(default)


def options_of(surface: str, **callbacks: Callback) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds all options of a command from the table of settings.

    surface: the command's words, such as "train run". callbacks: click callbacks by setting name.
    Raises ValueError for a callback of a setting that the command does not have.
    """
    rows = settings_on(surface)
    if not rows.keys() >= callbacks.keys():
        raise ValueError(f"{surface}: no settings {' '.join(callbacks.keys() - rows.keys())}")
    order = list(Heading)
    by_heading = sorted(rows.values(), key=lambda each: order.index(each.heading))

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        # Decorators add parameters from the last to the first.
        for row in reversed(by_heading):
            # A configuration file changes the defaults of the other options, so it is read before them.
            attributes = {"setting": row, "callback": callbacks.get(row.name), "is_eager": row.name == "config"}
            command = click.option(*row.options, row.name, cls=SettingOption, **attributes)(command)
        return command

    return decorate
