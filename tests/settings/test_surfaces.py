"""Unknown keys and bad values are refused on every surface; errors name the key, the range and the value."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import keima
from engine.apps.web.settings import GameSettings
from engine.apps.web.settings import read_settings as read_form
from engine.errors import GoError
from engine.search.params import SearchParams, with_settings
from engine.train.games.selfplay_settings import SelfplaySettings
from engine.train.learning.train_config import TrainConfig
from engine.train.toml_settings import from_table, overridden
from gtp.json_analysis.settings import Settings
from gtp.json_analysis.settings import overridden as override_query
from tests.gtp.fake_player import FakePlayer
from tests.gtp.talk import ask, new_state

Refuse = Callable[[str, str, Path], str]
"""Gives a surface a key and a value; returns what it says."""


def option(key: str, value: str, folder: Path) -> str:
    result = CliRunner().invoke(keima.main, ["gtp", f"--{key}", value])
    assert result.exit_code == 2
    return result.output


def setting(key: str, value: str, folder: Path) -> str:
    result = CliRunner().invoke(keima.main, ["gtp", "--set", f"{key}={value}"])
    assert result.exit_code == 1
    return result.output


def file(key: str, value: str, folder: Path) -> str:
    (folder / "keima.toml").write_text(f"{key} = {value}\n")
    result = CliRunner().invoke(keima.main, ["gtp", "--config", str(folder / "keima.toml")])
    assert result.exit_code == 2
    return result.output


def search_table(key: str, value: str, folder: Path) -> str:
    (folder / "keima.toml").write_text(f"[search]\n{key} = {value}\n")
    result = CliRunner().invoke(keima.main, ["gtp", "--config", str(folder / "keima.toml")])
    assert result.exit_code == 1
    return result.output


def gtp(key: str, value: str, folder: Path) -> str:
    reply = ask(new_state(FakePlayer()), f"kata-set-param {key} {value}")
    assert reply.startswith("? ")
    return reply


def json(key: str, value: str, folder: Path) -> str:
    settings, unknown = None, []
    try:
        settings, unknown = override_query(Settings(SearchParams()), {key: value})
    except GoError as error:
        return str(error)
    assert settings == Settings(SearchParams())
    return f"unused: {' '.join(unknown)}"


def form(key: str, value: str, folder: Path) -> str:
    with pytest.raises(GoError) as error:
        read_form({key: value}, GameSettings())
    return str(error.value)


def selfplay(key: str, value: str, folder: Path) -> str:
    with pytest.raises(GoError) as error:
        from_table(SelfplaySettings, overridden(SelfplaySettings, {}, [f"{key}={value}"]), "--set")
    return str(error.value)


def training(key: str, value: str, folder: Path) -> str:
    with pytest.raises(GoError) as error:
        from_table(TrainConfig, overridden(TrainConfig, {}, [f"{key}={value}"]), "--set")
    return str(error.value)


@pytest.mark.parametrize("surface", [option, setting, file, search_table, gtp, json, form, selfplay, training])
def test_an_unknown_key_is_refused_by_its_name(surface: Refuse, tmp_path: Path) -> None:
    assert "no-such" in surface("no-such", "1", tmp_path)


@pytest.mark.parametrize(
    ("surface", "key", "value", "expected"),
    [
        (option, "visits", "0", "an integer, 1 or more"),
        (option, "rank", "11", "21k"),
        (option, "komi", "much", "a number from -400 to 400"),
        (option, "size", "9x", "a size from 2 to 25"),
        (setting, "c_puct", "11", "a number from 0 to 10"),
        (setting, "batch_size", "1.5", "an integer from 0 to 65536"),
        (setting, "shares_nodes", "maybe", "true or false"),
        (file, "komi", "401", "a number from -400 to 400"),
        (search_table, "c_puct", "11", "a number from 0 to 10"),
        (gtp, "rank", "11", "21k or 20k"),
        (gtp, "cpuctExploration", "11", "from 0 to 10"),
        (gtp, "cpuctExploration", "much", "a number from 0 to 10"),
        (gtp, "resignThreshold", "0.5", "from -1 to 0"),
        (gtp, "reportAnalysisWinratesAs", "MINE", "SIDETOMOVE or BLACK or WHITE"),
        (json, "cpuctExploration", "11", "from 0 to 10"),
        (json, "maxVisits", "0", "1 or more"),
        (form, "rank", "11", "21k or 20k"),
        (form, "seconds", "3601", "a number above 0 and at most 3600"),
        (form, "black", "nobody", "person or engine"),
        (selfplay, "full_visits", "0", "an integer, 1 or more"),
        (selfplay, "full_share", "2", "a number from 0 to 1"),
        (training, "blocks", "0", "an integer, 1 or more"),
        (training, "blocks", "many", "an integer, 1 or more"),
        (training, "learning_rate", "0,5", "a number above 0"),
        (training, "human", "yes", "true or false"),
        (training, "human", "1", "true or false"),
        (training, "board_sizes", "9", "2 integers from 2 to 25"),
        (training, "board_sizes", "x", "an integer from 2 to 25"),
        (training, "schedule", "linear", "cosine or step"),
        (selfplay, "rules", "checkers", "tromp-taylor chinese"),
    ],
)
def test_a_bad_value_is_refused_by_key_range_and_value(
    surface: Refuse, key: str, value: str, expected: str, tmp_path: Path
) -> None:
    said = surface(key, value, tmp_path)
    assert key in said
    assert expected in said
    assert value in said


def test_texts_and_plain_values_are_read_alike() -> None:
    given = {"c_puct": 1.5, "batch_size": 4, "shares_nodes": False}
    as_texts = {key: str(value) for key, value in given.items()}
    assert with_settings(SearchParams(), given) == with_settings(SearchParams(), as_texts)
