"""Writes docs/settings.md from the table of settings: `python -m engine.apps.settings_page > docs/settings.md`."""

import sys
from collections.abc import Iterable
from typing import Any

from engine.settings.options import shown
from engine.settings.setting import Heading, Kind, Setting, settings_by_key
from engine.settings.table import TABLE, settings_on
from engine.settings.table.surfaces import FORM, GTP, JSON, SEARCH
from engine.train.generations.zero_config import ZeroConfig
from engine.train.study.dqn_settings import DqnSettings

_INTRODUCTION = """\
# Settings

Generated from the table in `engine/settings/table` and the dataclasses of search and training by
`python -m engine.apps.settings_page > docs/settings.md`. Command-line options, GTP parameters, `overrideSettings` of
JSON queries, the fields of the web page and TOML keys all come from there, so each setting has one name, range, default
and meaning. Where a default differs between them, [the reason is given](#where-defaults-differ).

An unknown name or a value out of range is an error that names the setting, what was expected and what was given.
`keima COMMAND --help` shows the options that most people need; `--help-all` also shows those under "Expert".
"""
_SEARCH = """\
## Search parameters

For `--set name=value` of `keima gtp`, `play`, `analysis`, `solve`, `bench` and `tune`, and for the `[search]` table of
the TOML file given with `--config`. GTP and JSON use KataGo's name of a parameter, if it has one. Searches without a
network have other defaults: `ROLLOUT_PARAMS` in `engine/search/params.py`.
"""
_GTP = """\
## GTP and JSON parameters

The parameters of `kata-set-param` and `kata-get-param` in addition to the search parameters with a KataGo name; the
column of JSON shows which of them `overrideSettings` and a configuration file of `keima analysis` accept. KataGo writes
"no limit" as 1125899906842624 visits or 1e20 seconds, and `resignThreshold` as a utility from -1 to 0 instead of a
winrate.
"""
_FORM = """\
## Fields of the web page

The settings of a new game in `keima web`.
"""
_TRAINING = """\
## Settings of training

Keys of the TOML file and of `--set` of `keima zero`, as in `--set selfplay.full_visits=200`. `keima selfplay --set`
accepts those of `selfplay` without the prefix; `keima train run` and `train bench` accept those of `train`, `train run`
also in the file of `--config`. `keima COMMAND --help-all` lists them.
"""
_DQN = """\
## Settings of Q-learning

For `keima train dqn --set`.
"""
_REASONS = """\
## Where defaults differ

| setting | surfaces | default | reason |
| --- | --- | --- | --- |
"""


def render() -> str:
    """Return the whole page."""
    commands = dict.fromkeys(surface for row in TABLE for surface in row.surfaces)
    for place in (GTP, JSON, FORM, SEARCH):
        del commands[place]
    return "\n".join(
        [
            *(_INTRODUCTION, *map(_command, sorted(commands)), _search(), _session(), _form()),
            *(_declared(_TRAINING, ZeroConfig), _declared(_DQN, DqnSettings), _REASONS + _reasons()),
        ]
    )


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(head), *map(list, rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def _value(row: Setting) -> str:
    """Return the values that a setting takes, with their unit, as a table cell."""
    if row.kind is Kind.CHOICE:
        return ", ".join(row.choices)
    if row.kind in (Kind.INTEGER, Kind.NUMBER) and row.bounds:
        return f"{row.bounds}{f' {row.unit}' if row.unit else ''}"
    if row.kind is Kind.SIZE:
        return "19 or 13x9"
    return "switch" if row.kind is Kind.TRUTH else row.metavar or row.unit or str(row.kind)


def _default(row: Setting) -> str:
    if row.kind is Kind.TRUTH:
        return "on" if row.default else "off"
    return "required" if row.required else row.default_text or shown(row.default)


def _command(surface: str) -> str:
    order = list(Heading)
    rows = sorted(settings_on(surface).values(), key=lambda row: order.index(row.heading))
    cells = ((_words(row), _value(row), _default(row), str(row.heading), f"{row.help}{_many(row)}") for row in rows)
    return f"## keima {surface}\n\n{_table(('option', 'value', 'default', 'heading', 'meaning'), cells)}"


def _words(row: Setting) -> str:
    """Return the command-line options of a setting, each in backticks."""
    return ", ".join(f"`{word}`" for option in row.options for word in option.split("/"))


def _many(row: Setting) -> str:
    return " May be given several times." if row.many else ""


def _declared(introduction: str, kind: type[Any]) -> str:
    """Return the table of what a dataclass declares."""
    rows = settings_by_key(kind).items()
    cells = ((f"`{key}`", _value(row), _default(row) or "none", row.help) for key, row in rows)
    return f"{introduction}\n{_table(('key', 'value', 'default', 'meaning'), cells)}"


def _search() -> str:
    rows = settings_on(SEARCH).values()
    cells = ((f"`{row.name}`", row.katago, _value(row), _default(row), row.help) for row in rows)
    return f"{_SEARCH}\n{_table(('name', 'KataGo', 'value', 'default', 'meaning'), cells)}"


def _session() -> str:
    in_json = settings_on(JSON)
    rows = [row for row in settings_on(GTP).values() if SEARCH not in row.surfaces]
    cells = (
        (
            f"`{row.katago or row.name}`",
            _value(row),
            _default(row) or "none",
            (_default(in_json[row.name]) or "none") if row.name in in_json else "not accepted",
            row.help,
        )
        for row in rows
    )
    return f"{_GTP}\n{_table(('parameter', 'value', 'default in GTP', 'default in JSON', 'meaning'), cells)}"


def _form() -> str:
    rows = settings_on(FORM).values()
    cells = ((f"`{row.name}`", _value(row), _default(row), row.help) for row in rows)
    return f"{_FORM}\n{_table(('field', 'value', 'default', 'meaning'), cells)}"


def _name(row: Setting) -> str:
    """Return the name of a setting on its first surface."""
    if row.surfaces[0] in (GTP, JSON):
        return row.katago or row.name
    return row.name if row.surfaces[0] == FORM else row.options[0]


def _reasons() -> str:
    rows = sorted((row for row in TABLE if row.reason), key=lambda row: row.name)
    return "".join(f"| `{_name(row)}` | {', '.join(row.surfaces)} | {_default(row)} | {row.reason} |\n" for row in rows)


if __name__ == "__main__":
    sys.stdout.write(render())
