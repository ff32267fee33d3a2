"""`keima setup`: configurations that their programs can read, with a command that starts this installation."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import keima
from engine.errors import GoError
from engine.support.installation import installed_program
from gtp.controllers.texts import CONTROLLERS, OTHER_NAMES, configuration
from weights.shipped import SHIPPED_NETWORKS

KGS_KEYS = {
    *("name", "password", "room", "engine", "mode", "rules", "rules.boardSize", "rules.time", "undo", "reconnect"),
    *("talk", "gameNotes", "hint.cleanup", "hint.noArguing", "verbose", "logFile"),
}
LONGEST_GAME_NOTE = 80
LONGEST_LINE = 110


def setup(*arguments: str) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(keima.main, ["setup", *arguments])


def properties(text: str) -> dict[str, str]:
    """Return the pairs of a Java property file, which Java reads as Latin-1."""
    text = text.encode().decode("latin-1")
    lines = [line for line in text.split("\n") if line and not line.startswith("#")]
    return {key: json.loads(f'"{value}"') for key, value in (line.split("=", 1) for line in lines)}


def json_of(text: str) -> dict[str, object]:
    """Return what JSON5 of this project's plain kind says."""
    text = re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"([{,]\s*)(\w+):", r'\1"\2":', text)
    found: dict[str, object] = json.loads(re.sub(r",(\s*[}\]])", r"\1", text))
    return found


def quoted_words(text: str) -> list[str]:
    """Return the words of a command line as GoGui splits it."""
    return [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|([^"\s]+)', text)]


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
        return properties(text)["engine"].split()
    if name == "lizzie":
        return quoted_words(json.loads(text)["leelaz"]["engine-command"])
    if name == "lizgoban":
        (preset,) = json.loads(text)["preset"]
        return preset["engine"]  # type: ignore[no-any-return]
    if name == "ogatak":
        keys = json.loads(text)
        return [keys["arbitrary_command"], *keys["arbitrary_argslist"]]
    return quoted_words(text) if name == "gogui" else "".join(re.findall(r"CommandLine = (.*)", text)).split()


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


@pytest.mark.parametrize(("program", "name"), OTHER_NAMES.items())
def test_a_program_is_known_by_its_own_name_too(program: str, name: str) -> None:
    assert setup(program).output == setup(name).output


@pytest.mark.parametrize(
    ("name", "system", "place"),
    [
        ("sabaki", "linux", "~/.config/Sabaki/settings.json"),
        ("sabaki", "darwin", "~/Library/Application Support/Sabaki/settings.json"),
        ("sabaki", "win32", "%APPDATA%\\Sabaki\\settings.json"),
        ("ogatak", "win32", "%APPDATA%\\Ogatak\\config.json"),
        ("katrain", "win32", "%USERPROFILE%\\.katrain\\config.json"),
        ("katrain", "freebsd14", "~/.katrain/config.json"),
        ("lizgoban", "win32", "in the folder of lizgoban_windows.vbs"),
        ("lizgoban", "darwin", "npm start -- -c"),
    ],
)
def test_the_steps_name_the_places_of_the_system(name: str, system: str, place: str) -> None:
    assert place in CONTROLLERS[name].advice_on(system)


@pytest.mark.parametrize("name", CONTROLLERS)
@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
def test_every_system_has_steps_without_gaps(name: str, system: str) -> None:
    advice = CONTROLLERS[name].advice_on(system)
    assert "$" not in advice
    assert "  ." not in advice
    assert max(map(len, advice.splitlines())) <= LONGEST_LINE


def test_a_damaged_network_is_found_before_a_controller_hides_the_message(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.safetensors"
    damaged.write_bytes((SHIPPED_NETWORKS / "zero9.safetensors").read_bytes()[:3000])
    result = setup("lizzie", "--net", str(damaged))
    assert (result.exit_code, result.stdout) == (1, "")
    assert str(damaged) in result.stderr


def test_a_missing_network_is_an_error_of_one_line() -> None:
    result = setup("sabaki", "--net=nowhere.net")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "Error: nowhere.net: cannot be read: No such file or directory\n"


def test_the_kgs_file_has_every_key_and_fits_its_limits() -> None:
    found = properties(setup("kgs").stdout)
    assert set(found) == KGS_KEYS
    assert len(found["gameNotes"]) <= LONGEST_GAME_NOTE
    assert re.fullmatch(r"\d+:\d\d\+\d+x\d+:\d\d", found["rules.time"])


@pytest.mark.parametrize("name", CONTROLLERS)
@pytest.mark.parametrize("program", ["/囲碁/é", "C:\\new\\keima.exe", "/some where/keima"])
def test_a_command_survives_or_is_refused(name: str, program: str) -> None:
    options = ["--net", f"{program}.net"]
    if " " in program and name in ("kgs", "cgos"):
        with pytest.raises(GoError, match="cannot start a command with spaces in a word, got '/some where/keima'"):
            configuration(CONTROLLERS[name], [program], options)
        return
    command = command_of(name, configuration(CONTROLLERS[name], [program], options))
    assert (command[0], command[-1]) == (program, options[-1])


def test_gogui_cannot_start_a_command_with_quotes() -> None:
    result = setup("gogui", "--rules", '{"ko":"SIMPLE"}')
    assert (result.exit_code, result.stdout) == (1, "")
    assert "cannot start a command with quotes in a word" in result.stderr


@pytest.mark.parametrize("options", [("--net", "./a.net"), ("--net=a.net",), ("--net", "zero9")])
def test_files_get_their_full_paths(options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(SHIPPED_NETWORKS / "zero9.safetensors", tmp_path / "a.net")
    monkeypatch.chdir(tmp_path)
    expected = "zero9" if options[-1] == "zero9" else str(tmp_path / "a.net")
    assert command_of("ogs", setup("ogs", *options).stdout)[-1].removeprefix("--net=") == expected


def test_files_beside_the_network_get_their_full_paths_and_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.net").write_text("no network")
    command = command_of("ogs", setup("ogs", "--eval-cache", "memory.bin").stdout)
    assert command[-1] == str(tmp_path / "memory.bin")
    for name in ("people.net", "nowhere.net"):
        refused = setup("ogs", "--human-model", name)
        assert (refused.exit_code, refused.stdout, name in refused.stderr) == (1, "", True)


def test_the_ogs_file_has_all_that_a_bot_needs() -> None:
    found = json_of(setup("ogs").stdout)
    assert {"apikey", "bot", "allowed_board_sizes", "allowed_live_settings"} <= set(found)
    assert "lagBuffer=1" in command_of("ogs", setup("ogs").stdout)
    # What gtp2ogs allows unless it is told otherwise would be played beside the one live game.
    assert (found["allowed_correspondence_settings"], found["allowed_blitz_settings"]) == (None, None)
    assert found["allowed_rapid_settings"]["concurrent_games"] == 1
