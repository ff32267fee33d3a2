"""Settings in TOML: what is read is what was written, and what is wrong is named."""

import re
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.train.learning.train_config import TrainConfig
from engine.train.toml_settings import ConfigError, differences, from_table, overridden, read_toml, to_toml


class Mood(Enum):
    """What an enumeration is for."""

    CALM = "calm"
    BOLD = "bold"


@dataclass(frozen=True)
class Inner:
    """A table in a table."""

    rate: float = 0.5
    name: str | None = None
    steps: tuple[tuple[int, float], ...] = ()

    def __post_init__(self) -> None:
        """Refuse negative rates."""
        if self.rate < 0:
            raise ValueError(f"rate: expected 0 or more, got {self.rate}")


@dataclass(frozen=True)
class Outer:
    """All kinds of fields."""

    games: int
    on: bool = True
    way: Literal["fast", "slow"] = "fast"
    mood: Mood = Mood.CALM
    pair: tuple[int, str] = (1, "a")
    folder: Path = Path("here")
    shares: dict[str, float] = field(default_factory=dict)
    inner: Inner = Inner()


@dataclass(frozen=True)
class Searching:
    """A table whose values are read elsewhere."""

    search: dict[str, str]


INNERS = st.builds(
    Inner,
    rate=st.floats(0, 1e9),
    name=st.none() | st.text(),
    steps=st.lists(st.tuples(st.integers(0, 2**40), st.floats(-1, 1))).map(tuple),
)
OUTERS = st.builds(
    Outer,
    games=st.integers(-(2**60), 2**60),
    on=st.booleans(),
    way=st.sampled_from(["fast", "slow"]),
    mood=st.sampled_from(Mood),
    pair=st.tuples(st.integers(0, 9), st.text()),
    folder=st.just(Path("over") / "there"),
    shares=st.dictionaries(st.text(), st.floats(0, 1)),
    inner=INNERS,
)


@settings(deadline=None, max_examples=50)
@given(OUTERS)
def test_what_is_written_is_read_again(outer: Outer) -> None:
    assert from_table(Outer, read_toml(to_toml(outer), "x"), "x") == outer


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("games = 1\nspeed = 2", "^run.toml: unknown key speed, expected one of folder games inner mood on pair "),
        ("games = 1\n[inner]\nspeed = 2", "^run.toml: unknown key inner.speed, expected one of name rate steps$"),
        ("on = true", "^run.toml: games is missing$"),
        ("games = 1.5", r"^run.toml: games: expected an integer, got 1.5$"),
        ("games = true", "^run.toml: games: expected an integer, got True$"),
        ("games = 1\non = 1", "^run.toml: on: expected true or false, got 1$"),
        ("games = 1\nway = 'odd'", "^run.toml: way: expected fast or slow, got 'odd'$"),
        ("games = 1\nmood = 'odd'", "^run.toml: mood: expected calm or bold, got 'odd'$"),
        ("games = 1\npair = [1]", r"^run.toml: pair: expected 2 values, got \[1\]$"),
        ("games = 1\ninner = 3", "^run.toml: inner: expected a table, got 3$"),
        ("games = 1\n[inner]\nrate = -1", "^run.toml: inner: rate: expected 0 or more, got -1.0$"),
        ("games = 1\n[inner]\nsteps = [[1, 'x']]", r"^run.toml: inner.steps\[0\]\[1\]: expected a number, got 'x'$"),
        ("games = 1\n[inner]\nname = 1", "^run.toml: inner.name: expected a text, got 1$"),
        ("games = ", "^run.toml: Invalid value"),
    ],
)
def test_an_error_names_file_key_and_value(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        from_table(Outer, read_toml(text, "run.toml"), "run.toml")


def test_whole_numbers_are_floats_where_floats_are_wanted() -> None:
    rate = from_table(Inner, {"rate": 3}, "x").rate
    assert (rate, type(rate)) == (3.0, float)


def test_numbers_are_texts_where_a_table_holds_texts() -> None:
    given = {"search": {"c_puct": 2.0, "visits": 8, "shares_nodes": True, "name": "x"}}
    texts = from_table(Searching, given, "x").search
    assert texts == {"c_puct": "2.0", "visits": "8", "shares_nodes": "true", "name": "x"}
    with pytest.raises(ConfigError, match=r"search.c_puct: expected a text, got \[1\]"):
        from_table(Searching, {"search": {"c_puct": [1]}}, "x")


def test_settings_of_the_command_line_replace_those_of_the_file() -> None:
    tables = {"games": 1, "inner": {"rate": 0.1, "name": "old"}}
    new = overridden(Outer, tables, ["inner.name=two words", "inner.rate = 2", "inner.steps=[[1, 0.5]]", "on=false"])
    assert from_table(Outer, new, "x") == Outer(1, on=False, inner=Inner(2.0, "two words", ((1, 0.5),)))
    assert tables == {"games": 1, "inner": {"rate": 0.1, "name": "old"}}


@pytest.mark.parametrize(
    ("setting", "field"),
    [
        ("human=on", True),
        ("human=Off", False),
        ("human=True", True),
        ("human=true", True),
        ("board_sizes=9,13", (9, 13)),
        ("board_sizes=[9, 13]", (9, 13)),
        ("rate_steps=0.25, 0.5", (0.25, 0.5)),
        ("rate_steps=0.5", (0.5,)),
        ("record_shares=none", ()),
        ("steps=1_000", 1000),
        ("learning_rate=1", 1.0),
        ("schedule=step", "step"),
        ("schedule='step'", "step"),
        ("freeze=none", "none"),
    ],
)
def test_a_value_is_typed_as_help_prints_it_or_as_toml(setting: str, field: object) -> None:
    config = from_table(TrainConfig, overridden(TrainConfig, {}, [setting]), "--set")
    assert getattr(config, setting.partition("=")[0]) == field


@pytest.mark.parametrize("setting", ["games", "=1", "inner.=2", "games.deep=1"])
def test_a_setting_of_another_form_is_an_error(setting: str) -> None:
    with pytest.raises(ConfigError, match=setting):
        overridden(Outer, {"games": 1}, [setting])


@pytest.mark.parametrize("text", ["[9, 13", "[9 13]", "{9}"])
def test_a_list_that_is_no_toml_is_not_taken_for_one_text(text: str) -> None:
    with pytest.raises(ConfigError, match=f"--set: board_sizes: {re.escape(repr(text))} is not TOML.*with commas"):
        overridden(TrainConfig, {}, [f"board_sizes={text}"])


def test_differences_are_named_by_their_keys() -> None:
    assert differences(Outer(1), Outer(1, on=False, inner=Inner(0.25))) == [
        ("on", True, False),
        ("inner.rate", 0.5, 0.25),
    ]
