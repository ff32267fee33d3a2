"""The table of settings is consistent, and every surface is made from it."""

import dataclasses
import re
from collections import defaultdict

import click
import pytest

from engine.apps.web.settings import GameSettings
from engine.evaluators import backends
from engine.search.params import SEARCH_SETTINGS, SearchParams
from engine.settings.options import SettingOption
from engine.settings.setting import Heading, Kind, Setting
from engine.settings.table import TABLE, settings_on
from engine.settings.table import network as network_rows
from engine.settings.table.surfaces import FORM, GTP, JSON, SEARCH
from gtp.json_analysis.settings import Settings
from gtp.params import PARAMS
from gtp.state import SessionConfig
from tests.settings.commands import COMMANDS

SENTENCE = re.compile(r"[A-Z][^ ]* .* .*[.)]")


def surfaces() -> set[str]:
    """Return every surface that a row names."""
    return {surface for row in TABLE for surface in row.surfaces}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.name}-{row.surfaces[0]}")
def test_every_setting_has_a_surface_and_a_sentence_of_help(row: Setting) -> None:
    assert row.surfaces
    assert SENTENCE.fullmatch(row.help), row.help


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.name}-{row.surfaces[0]}")
def test_every_default_is_a_value_that_the_setting_takes(row: Setting) -> None:
    if row.kind in (Kind.INTEGER, Kind.NUMBER) and row.default is not None:
        assert row.read(row.default) == row.default
        assert type(row.default) is (int if row.kind is Kind.INTEGER else float)
    if row.kind is Kind.CHOICE:
        assert row.default is None or row.default in row.choices


def test_no_surface_has_a_name_or_a_word_twice() -> None:
    for surface in surfaces():
        rows = [row for row in TABLE if surface in row.surfaces]
        assert len({row.name for row in rows}) == len(rows), surface
        if surface in COMMANDS:
            words = [word for row in rows for option in row.options for word in option.split("/")]
            assert len(set(words)) == len(words), surface


def test_rows_of_one_option_differ_only_for_a_reason() -> None:
    rows: dict[str, list[Setting]] = defaultdict(list)
    for row in TABLE:
        if surfaces_of_commands := [each for each in row.surfaces if each in COMMANDS]:
            rows[row.options[0]].append(row._replace(surfaces=tuple(surfaces_of_commands)))
    for option, same in rows.items():
        assert [row.surfaces for row in same[1:] if not row.reason] == [], option


def test_surfaces_are_commands_and_the_other_known_places() -> None:
    assert surfaces() <= COMMANDS.keys() | {GTP, JSON, FORM, SEARCH}
    assert COMMANDS.keys() - surfaces() == {"setup"}  # it hands all its options on to another command


@pytest.mark.parametrize("words", COMMANDS)
def test_every_option_of_a_command_is_a_row_of_the_table(words: str) -> None:
    options = [each for each in COMMANDS[words].params if isinstance(each, click.Option)]
    assert all(isinstance(each, SettingOption) for each in options)
    assert {each.name for each in options} == settings_on(words).keys()


def test_people_play_by_one_rule_set_wherever_they_play() -> None:
    defaults = {surface: settings_on(surface)["rules"].default for surface in ("gtp", "play", "web", FORM)}
    assert set(defaults.values()) == {"chinese-kgs"}
    others = [row for row in TABLE if row.name == "rules" and row.default != "chinese-kgs"]
    assert all(row.reason for row in others)


def test_gtp_and_json_know_what_the_table_says() -> None:
    assert set(PARAMS) == {row.katago or row.name for row in settings_on(GTP).values()}
    assert settings_on(JSON).keys() <= settings_on(GTP).keys()
    assert SEARCH_SETTINGS.keys() == settings_on(SEARCH).keys()


def test_defaults_of_sessions_queries_pages_and_searches_are_those_of_the_table() -> None:
    session, query, game = SessionConfig(), Settings(SearchParams()), GameSettings()
    for name, row in settings_on(GTP).items():
        owner = SearchParams() if name in SEARCH_SETTINGS else session
        assert getattr(owner, name) == row.default, name
    for name in settings_on(JSON).keys() - SEARCH_SETTINGS.keys():
        assert getattr(query, name) == settings_on(JSON)[name].default, name
    for name in ("komi", "rules", "handicap", "seconds", "level"):
        assert getattr(game, name) == settings_on(FORM)[name].default, name
    assert dataclasses.asdict(SearchParams()) == {name: row.default for name, row in SEARCH_SETTINGS.items()}


def test_backends_and_precisions_are_those_of_the_evaluators() -> None:
    assert (network_rows.BACKENDS, network_rows.PRECISIONS) == (backends.BACKENDS, backends.PRECISIONS)


def test_what_only_experts_need_is_under_their_heading() -> None:
    assert settings_on("gtp")["compat_name"].heading is Heading.EXPERT
    assert settings_on("gtp")["level"].heading is Heading.PLAY
