"""The table of settings is consistent, and every surface is made from it."""

import dataclasses
import re
from collections import defaultdict

import click
import pytest

from engine.apps.web.settings import GameSettings
from engine.evaluators import backends
from engine.search.params import SEARCH_SETTINGS, SearchParams, with_settings
from engine.settings.options import SettingOption, shown
from engine.settings.setting import Heading, Kind, Setting, settings_by_key, settings_of
from engine.settings.table import TABLE, settings_on
from engine.settings.table import network as network_rows
from engine.settings.table.surfaces import FORM, GTP, JSON, SEARCH
from engine.train.games.selfplay_settings import SelfplaySettings
from engine.train.generations.gate import GateSettings
from engine.train.generations.rating import RatingSettings
from engine.train.generations.zero_config import EvaluatorSettings, RunSettings, WindowSettings, ZeroConfig
from engine.train.learning.train_config import TrainConfig
from engine.train.study.dqn_settings import DqnSettings
from engine.train.teaching.exploration_settings import ExplorationSettings
from engine.train.toml_settings import from_table, overridden
from gtp.json_analysis.settings import Settings
from gtp.params import PARAMS
from gtp.state import SessionConfig
from tests.settings.commands import COMMANDS

DECLARING = (ZeroConfig, SelfplaySettings, RunSettings, EvaluatorSettings, WindowSettings, TrainConfig, GateSettings)
DECLARING += (RatingSettings, ExplorationSettings, DqnSettings)
EVERY_ROW = (*TABLE, *settings_by_key(ZeroConfig).values(), *settings_by_key(DqnSettings).values())
SENTENCE = re.compile(r"[A-Z][^ ]* .* .*[.)]")


def surfaces() -> set[str]:
    """Return every surface that a row names."""
    return {surface for row in TABLE for surface in row.surfaces}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.name}-{row.surfaces[0]}")
def test_every_setting_has_a_surface(row: Setting) -> None:
    assert row.surfaces


@pytest.mark.parametrize("row", EVERY_ROW, ids=lambda row: row.name)
def test_every_setting_has_a_sentence_of_help(row: Setting) -> None:
    assert SENTENCE.fullmatch(row.help), row.help


@pytest.mark.parametrize("row", EVERY_ROW, ids=lambda row: row.name)
def test_every_default_is_a_value_that_the_setting_takes(row: Setting) -> None:
    defaults = row.default if isinstance(row.default, tuple) else (row.default,)
    for default in () if row.default is None else defaults:
        if row.kind in (Kind.INTEGER, Kind.NUMBER):
            assert row.read(default) == default
            assert type(default) is (int if row.kind is Kind.INTEGER else float)
        if row.kind is Kind.CHOICE:
            assert default in row.choices


def printed_default(row: Setting) -> str:
    """Return the default as docs/settings.md prints it."""
    if row.kind is Kind.TRUTH:
        return "on" if row.default else "off"
    return shown(row.default) or "none"


@pytest.mark.parametrize("kind", [ZeroConfig, DqnSettings])
def test_every_printed_default_of_training_can_be_typed(kind: type) -> None:
    rows = {key: row for key, row in settings_by_key(kind).items() if row.kind is not Kind.ASSIGNMENT}
    settings = [f"{key}={printed_default(row)}" for key, row in rows.items() if not row.default_text]
    assert from_table(kind, overridden(kind, {}, settings), "--set") == kind()


def test_every_printed_default_of_the_search_can_be_typed() -> None:
    typed = {name: printed_default(row) for name, row in SEARCH_SETTINGS.items() if row.default not in (None, "")}
    assert with_settings(SearchParams(), typed) == SearchParams()


@pytest.mark.parametrize("kind", DECLARING)
def test_every_field_of_the_training_settings_is_a_setting_or_a_section(kind: type) -> None:
    sections = {each.name for each in dataclasses.fields(kind) if dataclasses.is_dataclass(each.default_factory)}
    assert {each.name for each in dataclasses.fields(kind)} == settings_of(kind).keys() | sections


def test_options_have_the_range_and_default_of_the_training_settings_that_they_set() -> None:
    training, run = settings_of(TrainConfig), settings_on("train run")
    assert run["steps"].default_text == str(training["steps"].default)
    assert (run["steps"].least, run["freeze"].choices[0]) == (training["steps"].least, training["freeze"].choices[1])
    assert run["device"].choices == training["device"].choices
    selfplay, zero = settings_on("selfplay"), settings_of(RunSettings)
    sizes = settings_of(SelfplaySettings)["sizes"]
    assert (selfplay["size"].default_text, selfplay["size"].least) == (str(*sizes.default), sizes.least)
    assert selfplay["size"].most == sizes.most
    for name in ("hours", "generations"):
        assert settings_on("zero")[name].bounds == zero[name].bounds
    encoders = {settings_on("distill")["encoder"].default, settings_on("train samples")["encoder"].default}
    assert encoders == {SelfplaySettings.encoder, TrainConfig.encoder}


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
    assert COMMANDS.keys() - surfaces() == {"setup", "book use"}  # they hand all their options on


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
    for name in ("komi", "rules", "handicap", "seconds", "rank"):
        assert getattr(game, name) == settings_on(FORM)[name].default, name
    assert dataclasses.asdict(SearchParams()) == {name: row.default for name, row in SEARCH_SETTINGS.items()}


def test_backends_and_precisions_are_those_of_the_evaluators() -> None:
    assert (network_rows.BACKENDS, network_rows.PRECISIONS) == (backends.BACKENDS, backends.PRECISIONS)


def test_what_only_experts_need_is_under_their_heading() -> None:
    assert settings_on("gtp")["compat_name"].heading is Heading.EXPERT
    assert settings_on("gtp")["rank"].heading is Heading.PLAY
