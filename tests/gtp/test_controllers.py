"""`keima setup`: configurations that their programs can read, with a command that starts this installation."""

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import keima
from engine.installation import installed_program
from gtp.controllers.texts import CONTROLLERS, configuration

KGS_KEYS = {
    *("name", "password", "room", "engine", "mode", "rules", "rules.boardSize", "rules.time", "undo", "reconnect"),
    *("talk", "gameNotes", "hint.cleanup", "hint.noArguing", "verbose", "logFile"),
}
LONGEST_GAME_NOTE = 80


def setup(*arguments: str) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(keima.main, ["setup", *arguments])


def properties(text: str) -> dict[str, str]:
    """Return the pairs of a Java property file, as Java would read the backslashes."""
    lines = [line for line in text.split("\n") if line and not line.startswith("#")]
    return {key: value.replace("\\\\", "\\") for key, value in (line.split("=", 1) for line in lines)}


def json_of(text: str) -> dict[str, object]:
    """Return what JSON5 of this project's plain kind says."""
    text = re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"([{,]\s*)(\w+):", r'\1"\2":', text)
    found: dict[str, object] = json.loads(re.sub(r",(\s*[}\]])", r"\1", text))
    return found


def command_of(name: str, text: str) -> list[str]:
    """Return the engine's command that a configuration holds."""
    if name == "sabaki":
        (engine,) = json.loads("{" + text + "}")["engines.list"]
        return [engine["path"], *shlex.split(engine["args"])]
    if name == "ogs":
        return json_of(text)["bot"]["command"]  # type: ignore[index,no-any-return]
    if name == "katrain":
        return shlex.split(json.loads(text)["engine"]["altcommand"])
    if name == "kgs":
        return shlex.split(properties(text)["engine"])
    return shlex.split(text if name == "gogui" else "".join(re.findall(r"CommandLine = (.*)", text)))


@pytest.mark.parametrize("name", CONTROLLERS)
def test_the_command_is_this_installation_with_the_options_given(name: str) -> None:
    given = ["--visits", "400"]
    result = setup(name, *given)
    assert result.exit_code == 0, result.output
    command = command_of(name, result.stdout)
    program = installed_program()
    assert command[: len(program)] == program
    assert all(Path(word).is_absolute() and Path(word).exists() for word in program)
    assert command[len(program)] == CONTROLLERS[name].verb
    assert command[len(command) - len(given) :] == given
    assert result.stderr.strip()


@pytest.mark.parametrize("name", [name for name, each in CONTROLLERS.items() if each.verb == "gtp"])
def test_the_options_that_a_controller_needs_are_options_of_keima(name: str) -> None:
    command = keima.main.get_command(None, "gtp")  # type: ignore[arg-type]
    assert command is not None
    command.make_context("gtp", list(CONTROLLERS[name].options))


@pytest.mark.parametrize("arguments", [["igs"], [], ["kgs", "--nonsense"], ["sabaki", "--visits", "none"]])
def test_what_is_unknown_is_refused(arguments: list[str]) -> None:
    assert setup(*arguments).exit_code == 2


def test_the_kgs_file_has_every_key_and_fits_its_limits() -> None:
    found = properties(setup("kgs").stdout)
    assert set(found) == KGS_KEYS
    assert len(found["gameNotes"]) <= LONGEST_GAME_NOTE
    assert re.fullmatch(r"\d+:\d\d\+\d+x\d+:\d\d", found["rules.time"])


@pytest.mark.parametrize("name", CONTROLLERS)
def test_paths_with_spaces_survive(name: str) -> None:
    program = ["/some where/keima"]
    text = configuration(CONTROLLERS[name], program, ["--net", "/a b.net"])
    command = command_of(name, text)
    assert command[0] == program[0]
    assert command[-1] == "/a b.net"


def test_the_ogs_file_says_all_that_a_bot_needs() -> None:
    found = json_of(setup("ogs").stdout)
    assert {"apikey", "bot", "allowed_board_sizes", "allowed_live_settings"} <= set(found)
