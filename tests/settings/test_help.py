"""Help: headings, a first screen that a person can read, and --help-all for the rest."""

import re

import click
import pytest
from click.testing import CliRunner

import keima
from engine.settings.command import KEYS, Command
from engine.settings.setting import Heading
from tests.settings.commands import COMMANDS

MOST_OPTIONS = 15
"""On the first screen of a command's help, --help and --help-all counted."""
OPTION = re.compile(r"^  (-[\w-]+(?:(?:, | / )-[\w-]+)*)", re.MULTILINE)
HEADING = re.compile(r"^(\w[-\w ]*):$", re.MULTILINE)


def help_of(words: str, option: str = "--help") -> str:
    """Return the help of a command."""
    result = CliRunner().invoke(keima.main, [*words.split(), option])
    assert result.exit_code == 0
    return result.output


@pytest.mark.parametrize("words", COMMANDS)
def test_the_first_screen_is_short(words: str) -> None:
    assert len(OPTION.findall(help_of(words))) <= MOST_OPTIONS


@pytest.mark.parametrize("words", COMMANDS)
def test_help_all_shows_every_option_and_help_all_but_those_for_experts(words: str) -> None:
    command = COMMANDS[words]
    assert isinstance(command, Command)
    first, everything = help_of(words), help_of(words, "--help-all")
    for param in command.params:
        if isinstance(param, click.Option):
            shown = [param.opts[0] in re.split(", | / ", each) for each in OPTION.findall(everything)]
            assert shown.count(True) == 1
            on_first = [param.opts[0] in re.split(", | / ", each) for each in OPTION.findall(first)]
            assert any(on_first) is (param.heading is not Heading.EXPERT)  # type: ignore[attr-defined]


@pytest.mark.parametrize("words", COMMANDS)
def test_options_stand_under_headings_in_one_order(words: str) -> None:
    known = [*map(str, Heading), "Help", KEYS]
    found = [each for each in HEADING.findall(help_of(words, "--help-all")) if each != "Usage"]
    assert found == sorted(found, key=known.index)


def test_help_all_lists_the_keys_of_set_and_help_leaves_them_out() -> None:
    with_set = {words for words, command in COMMANDS.items() if any("--set" in each.opts for each in command.params)}
    assert with_set == {words for words, command in COMMANDS.items() if isinstance(command, Command) and command.keys}
    assert {"selfplay", "zero", "train run", "train bench", "train dqn", "gtp"} <= with_set
    for words in with_set:
        command = COMMANDS[words]
        assert isinstance(command, Command)
        assert command.keys is not None
        listed = help_of(words, "--help-all").partition(f"{KEYS}:")[2]
        assert re.findall(r"^  (\w[\w.]*)", listed, re.MULTILINE) == list(command.keys()), words
        assert KEYS not in help_of(words)


def test_a_key_of_set_is_shown_with_its_default_and_range() -> None:
    text = " ".join(help_of("zero", "--help-all").split())
    assert "selfplay.full_share Share of the moves with a full search (KataGo: 0.25; AGZ: 1). [default: 0.25;" in text
    assert "train.optimizer Adam with decoupled weight decay" in text


def test_defaults_and_ranges_are_shown() -> None:
    text = " ".join(help_of("gtp").split())
    assert "[default: 7.5; from -400 to 400]" in text
    assert "[default: chinese-kgs]" in text
    assert "[default: keima-t7c96]" in text
    assert "[required]" in help_of("selfplay")


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        ("review .", "--out"),
        ("tune --set c_puct=0.5..3", "--out"),
        ("selfplay x", "--net"),
        ("distill x --records .", "--teacher"),
        ("train convert .", "--out"),
    ],
)
def test_a_required_option_is_missed(words: str, missing: str) -> None:
    result = CliRunner().invoke(keima.main, words.split())
    assert result.exit_code == 2
    assert f"Missing option '{missing}'" in result.output


def test_a_seed_promises_reproducible_searches() -> None:
    assert "Seed of all random numbers; makes searches reproducible" in " ".join(help_of("gtp", "--help-all").split())
