"""Reads --set and --config of the commands that search, and checks their network options. Heavy imports are late."""

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engine.errors import GoError
from engine.settings.setting import settings_of
from engine.settings.table.network import AUTO
from weights.shipped import NO_NETWORK, network_named

if TYPE_CHECKING:
    from engine.search.params import SearchParams


def read_settings(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Return the key=value pairs of --set as a dict. Raises BadParameter."""
    pairs = [value.partition("=") for value in values]
    wrong = [key for key, equals, _ in pairs if not equals]
    if wrong:
        raise click.BadParameter(f"expected key=value, got {wrong[0]!r}", ctx, param)
    return {key.strip(): text.strip() for key, _, text in pairs}


KATAGO_FILES = "keima.katago_files"
"""The key in a click context's `meta` of the files of --config that are KataGo's."""


def read_configs(ctx: click.Context, param: click.Parameter, paths: tuple[Path, ...]) -> dict[str, str]:
    """Read the .toml files as `read_config` does, the last one counting most; leave KataGo's in `ctx.meta`."""
    ctx.meta[KATAGO_FILES] = [path for path in paths if path.suffix != ".toml"]
    search, defaults = dict[str, str](), dict[str, Any]()
    for path in paths:
        if path.suffix == ".toml":
            search |= read_config(ctx, param, path)
            defaults |= ctx.default_map or {}
            ctx.default_map = defaults
    return search


def read_config(ctx: click.Context, param: click.Parameter, path: Path | None) -> dict[str, str]:
    """Return the [search] table of a TOML file; make its other keys the defaults of the options they name.

    Raises BadParameter for a file that cannot be read or has an unknown key.
    """
    if path is None:
        return {}
    import tomllib

    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise click.BadParameter(f"{path}: {error}", ctx, param) from error
    search = content.pop("search", {})
    names = {word.removeprefix("--"): each.name or "" for each in ctx.command.params for word in each.opts}
    options = {word: name for word, name in names.items() if name not in ("config", "settings", "override_config")}
    given = {key.replace("_", "-"): value for key, value in content.items()}
    unknown = [key for key in given if key not in options]
    if unknown or not isinstance(search, dict):
        known = " ".join(sorted(options))
        raise click.BadParameter(f"{path}: unknown key {' '.join(unknown)!r}, expected {known} or [search]", ctx, param)
    # As text, which click validates: it would silently truncate the number 7.5 to 7 visits, and crash on a list.
    ctx.default_map = {options[key]: str(value) for key, value in given.items()}
    return {key: str(value) for key, value in search.items()}


def search_params(
    net: str | None, config: dict[str, str], settings: dict[str, str], **options: int | str | None
) -> "SearchParams":
    """Return the search parameters. Later sources win: defaults for the evaluator, --config, --set, `options`.

    Without a seed, every run draws other random numbers. Raises ClickException.
    """
    from engine.search.params import ROLLOUT_PARAMS, SearchParams, with_settings

    defaults = ROLLOUT_PARAMS if network_named(net) is None else SearchParams()
    given = {key: str(value) for key, value in options.items() if value is not None}
    try:
        return with_settings(defaults, {"seed": "0"} | config | settings | given)
    except GoError as error:
        raise click.ClickException(str(error)) from error


def refuse_without_human(params: "SearchParams", options: dict[str, Any]) -> None:
    """Raise UsageError for a parameter of the human network if there is none."""
    from engine.search.human_params import HumanParams

    changed = [each.name for each in fields(HumanParams) if getattr(params, each.name) != each.default]
    changed = [name for name in changed if name != "human_profile"]
    if changed and options["human_model"] is None:
        katago = settings_of(HumanParams)[changed[0]].katago
        name = f"{changed[0]} ({katago})" if katago else changed[0]
        raise click.UsageError(f"{name} is for a human network beside the playing one: give it with --human-model")


def refuse_unused(options: dict[str, Any]) -> None:
    """Raise UsageError for --human-profile, --backend or --precision without a network that they apply to."""
    net, profile = options["net"], options["profile"]
    if profile is not None and net in (None, NO_NETWORK) and options.get("human_model") is None:
        raise click.UsageError("--human-profile is for human networks: say which with --net or --human-model")
    if net == NO_NETWORK and (options["backend"], options["precision"]) != (AUTO, AUTO):
        raise click.UsageError("--backend and --precision are for networks: --net none plays without one")
