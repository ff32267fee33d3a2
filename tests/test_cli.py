"""The command line: what it starts, what it refuses, and how soon the first answer comes."""

import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

import keima
from engine.clock import DEFAULT_MOVE_SECONDS
from tests.settings.commands import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
KEIMA = [sys.executable, str(ROOT / "keima.py")]
HEAVY = {"numpy", "numba", "torch", "openvino", "rich", "llvmlite"}
READY = "GTP ready, beginning main protocol loop\n"
"""What LizGoban waits for on stderr."""
FIRST_REPLY = 0.3
"""Seconds from the start of the process to the first reply, on a quiet machine."""


def invoke(*arguments: str) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(keima.main, list(arguments))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, object]]:
    """Keep sessions from running; return the (session's configuration, search parameters) of each."""
    sessions: list[tuple[object, object]] = []

    def run(config: object, factory: object) -> int:
        sessions.append((config, factory(9, 9)))  # type: ignore[operator]
        return 0

    monkeypatch.setattr("gtp.session.run", run)
    monkeypatch.setattr(keima, "make_player", lambda params, *_: params)
    return sessions


def test_no_command_means_gtp() -> None:
    for arguments in ([], ["gtp"], ["--visits", "7"]):
        result = subprocess.run(
            [*KEIMA, *arguments], input="1 name\n2 quit\n", capture_output=True, text=True, timeout=60
        )
        assert (result.stdout, result.stderr, result.returncode) == ("=1 Keima\n\n=2 \n\n", READY, 0)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], (None, DEFAULT_MOVE_SECONDS)),
        (["--visits", "9"], (9, None)),
        (["--time", "2"], (None, 2.0)),
    ],
)
def test_a_game_at_the_terminal_always_has_a_limit(
    options: list[str], expected: tuple[int | None, float | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    monkeypatch.setattr("engine.apps.play.cli_play", lambda _, limits, **__: found.append(limits) or 0)
    assert invoke("play", "--size", "5", "--net", "none", *options).exit_code == 0
    assert [(each.visits, each.seconds) for each in found] == [expected]


def test_play_refuses_a_board_that_the_network_does_not_support_before_it_shows_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke("play", "--size", "5", "--net", "zero9")
    expected = "Error: network zero9 does not support this board, expected sides of 7 to 19, got 5x5"
    assert (result.exit_code, result.output.splitlines()) == (1, [expected])
    assert not list(tmp_path.iterdir())


def test_too_little_memory_is_one_line_in_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 9 GiB")

    for name in ("gtp", "play", "net"):
        command = keima.main.get_command(click.Context(keima.main), name)
        assert command is not None
        monkeypatch.setattr(command, "invoke", fail)
        result = invoke(name, *(["show", "none"] if name == "net" else []))
        assert (result.exit_code, result.output) == (1, "Error: not enough memory: Unable to allocate 9 GiB\n")


def test_the_session_ponders_only_on_request(started: list[tuple[object, object]]) -> None:
    for arguments in ([], ["gtp", "--ponder"]):
        assert invoke(*arguments).exit_code == 0
    assert [getattr(config, "ponder", None) for config, _ in started] == [False, True]


def test_nothing_heavy_is_imported_before_the_handshake() -> None:
    names = ("keima", "gtp.session", "engine.search.params", "engine.search.memory_header", "engine.book.finding")
    script = f"import sys, {', '.join(names)}; print(*sys.modules)"
    listed = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "gtp.session" in listed.stdout.split()
    assert HEAVY & set(listed.stdout.split()) == set()


def test_options_reach_the_session_and_the_search(started: list[tuple[object, object]]) -> None:
    result = invoke(
        *("--size", "13x9", "--komi", "-3.5", "--rules", "japanese", "--visits", "70", "--time", "1.5"),
        *("--seed", "9", "--set", "c_puct=1.5", "--set", "resign_turns = 4"),
    )
    assert result.exit_code == 0, result.output
    [(config, params)] = started
    assert (config.width, config.height, config.komi) == (13, 9, -3.5)  # type: ignore[attr-defined]
    assert (config.visits, config.seconds) == (70, 1.5)  # type: ignore[attr-defined]
    assert config.rules.scoring == "TERRITORY"  # type: ignore[attr-defined]
    assert (params.seed, params.c_puct, params.resign_turns) == (9, 1.5, 4)  # type: ignore[attr-defined]


def test_a_file_gives_defaults_that_the_command_line_overrides(
    tmp_path: Path, started: list[tuple[object, object]]
) -> None:
    file = tmp_path / "keima.toml"
    file.write_text(
        "komi = 6.5\nsize = 9\nvisits = 50\nponder = true\nmax-memory = 64\n[search]\nc_puct = 1.75\nbatch_size = 8\n"
    )
    result = invoke("--config", str(file), "--visits", "60", "--set", "batch_size=4")
    assert result.exit_code == 0, result.output
    [(config, params)] = started
    assert (config.width, config.komi, config.visits) == (9, 6.5, 60)  # type: ignore[attr-defined]
    assert (params.c_puct, params.batch_size, params.max_memory_mib) == (1.75, 4, 64)  # type: ignore[attr-defined]
    assert config.ponder is True  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--size", "26"], "expected a size from 2 to 25"),
        (["--size", "9x"], "expected a size from 2 to 25"),
        (["--size", "1"], "expected a size from 2 to 25"),
        (["--rules", "chess"], "unknown rules 'chess'"),
        (["--visits", "0"], "'--visits'"),
        (["--time", "0"], "'--time'"),
        (["--set", "c_puct"], "expected key=value"),
        (["--set", "nonsense=1"], "unknown setting 'nonsense'"),
        (["--set", "batch_size=1.5"], "'batch_size': expected an integer from 0 to 65536, got '1.5'"),
        (["--set", "root_symmetries=0"], "'root_symmetries': expected an integer from 1 to 8, got '0'"),
        (["--set", "root_policy_temperature=0"], "expected a number from 0.01 to 100, got '0'"),
        (["--set", "c_puct=nan"], "expected a number from 0 to 10, got 'nan'"),
        (["--set", "resign_turns=-1"], "'resign_turns': expected an integer from 1 to 100, got '-1'"),
        (["--seed", "0"], "'--seed'"),
        (["--seed", "-1"], "'--seed'"),
        (["--komi", "nan"], "'--komi': expected a number from -400 to 400, got 'nan'"),
        (["--komi", "inf"], "'--komi'"),
        (["--time", "nan"], "'--time': expected a number above 0, got 'nan'"),
        (["--time", "inf"], "'--time': expected a number above 0, got 'inf'"),
        (["--nonsense"], "No such option"),
        (["nonsense"], "No such command"),
        (["revew", "game.sgf"], "Did you mean 'review'?"),
        (["levels", "--games", "3"], "--games is only for --measure"),
        (["levels", "--size", "9", "--gnugo", "gnugo"], "--gnugo is only for --measure"),
        (["bench", "--choose", "--backend", "torch"], "--backend does nothing with --choose"),
        (["bench", "--shapes", "--katago", "x"], "--katago does nothing with --shapes"),
        (["bench", "--net", "x", "--katago", "no-such-program"], "got 'no-such-program': no such program"),
        (
            ["bench", "--quality", "--net", "x", "--katago", "no-such-program gtp"],
            "'no-such-program gtp': no such program",
        ),
        (["bench", "--quality", "--runs", "3"], "--runs does nothing with --quality"),
        (["book", "solve", "x.book", "--moves", "4"], "--moves is only for boards of more than 16 points"),
        (["book", "solve", "x.book", "--max-memory", "5"], "--max-memory is only for boards of more than 16 points"),
        (["book", "use", "7x7", "--size", "9"], "--size: the book decides this"),
        (["book", "use", "7x7", "--komi=3"], "--komi=3: the book decides this"),
        (["gtp", "--net", "none", "--connections", "3"], "--connections is only for --listen"),
        (["analysis", "--net", "none", "--queue", "3"], "--queue is only for --listen"),
        (["web", "--size", "9" * 5000], "expected a size from 2 to 25"),
        (["web", "--clock", f"byoyomi:600+{'9' * 400}x30"], "expected byoyomi:MAIN+PERIODSxPERIOD"),
        (["web", "--engine", "no-such-program"], "got 'no-such-program': no such program"),
        (["web", "--engine", "'gnugo"], "No closing quotation"),
        (["--backend", "abacus"], "'--backend'"),
        (["--precision", "int4"], "'--precision'"),
        (["--human-profile", "rank_5k"], "--human-profile is for human networks"),
        (["--net", "none", "--human-profile", "rank_5k"], "--human-profile is for human networks"),
        (["--net", "none", "--precision", "int8"], "--net none plays without one"),
        (["--net", "none", "--backend", "torch"], "--net none plays without one"),
        (["--book", "nosuch"], "'--book': nosuch: no such book; books that ship with Keima: 3x3"),
        (["play", "--book", __file__], "test_cli.py: expected a book that begins with b'keima-book 1"),
        (["--eval-cache", __file__], "test_cli.py: expected a file of remembered positions"),
        (
            ["play", "--eval-cache", "nosuch/x"],
            "nosuch/x: expected a file in a folder that exists, got no folder nosuch",
        ),
        (["analysis", "--eval-cache", "nosuch/x"], "nosuch/x: expected a file in a folder that exists"),
        (["--eval-cache", "x", "--set", "remembers=false"], "not with --set remembers=false"),
        (["analysis", "--eval-cache", "x", "--set", "remembers=false"], "not with --set remembers=false"),
        (["--config", "absent.toml"], "absent.toml"),
        (["gtp", "left-over"], "unexpected extra argument"),
    ],
)
def test_what_is_unknown_or_wrong_is_refused(
    arguments: list[str], message: str, started: list[tuple[object, object]]
) -> None:
    result = invoke(*arguments)
    assert (result.exit_code != 0, started) == (True, [])
    assert message in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("nonsense = 1\n", "unknown key 'nonsense'"),
        ("search = 1\n", "[search]"),
        ("visits = 'many'\n", "'--visits'"),
        ("visits = 7.5\n", "'--visits'"),
        ("komi = [7.5]\n", "'--komi'"),
        ("profile = 'rank_5k'\n", "unknown key 'profile'"),
        ("human-profile = 'rank_5k'\n", "--human-profile is for human networks"),
        ("[search]\nnonsense = 1\n", "unknown setting 'nonsense'"),
        ("[[[\n", "keima.toml"),
    ],
)
def test_a_wrong_file_is_refused(
    tmp_path: Path, content: str, message: str, started: list[tuple[object, object]]
) -> None:
    (tmp_path / "keima.toml").write_text(content)
    result = invoke("--config", str(tmp_path / "keima.toml"))
    assert (result.exit_code != 0, started) == (True, [])
    assert message in result.output


def test_every_command_explains_itself() -> None:
    assert {"gtp", "play", "match", "bench", "net info", "net check", "net convert"} <= COMMANDS.keys()
    for name, command in COMMANDS.items():
        words = name.split()
        assert words[-1] in invoke(*words[:-1], "--help").output
        help_text = invoke(*words, "--help-all")
        assert help_text.exit_code == 0
        options = [each for each in command.params if isinstance(each, click.Option)]
        assert all(each.opts[-1] in help_text.output for each in options)


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """Write a small random network and return its path."""
    from engine.encoders import ENCODERS
    from engine.nets.random import random_spec
    from weights import native

    path = tmp_path / "small.safetensors"
    native.write(random_spec(2, 8, ENCODERS["liberties"], 1), path)
    return path


def replies(commands: str, *arguments: str) -> list[str]:
    """Return what a process answers to some commands, without the blank lines between."""
    played = subprocess.run(
        [*KEIMA, *arguments], input=commands, capture_output=True, text=True, timeout=200, check=True
    )
    return played.stdout.rstrip("\n").split("\n\n")


@pytest.mark.parametrize("fault", ["absent", "empty folder", "text", "truncated"])
def test_a_network_that_cannot_be_used_is_reported_when_it_is_needed(tmp_path: Path, network: Path, fault: str) -> None:
    path = tmp_path / fault.replace(" ", "-")
    if fault == "empty folder":
        path.mkdir()
    elif fault == "text":
        path.write_text("not a network")
    elif fault == "truncated":
        path.write_bytes(network.read_bytes()[:-5])
    answers = replies("name\nplay b d4\ngenmove w\nkata-raw-nn 0\nquit\n", "--net", str(path), "--size", "9")
    assert answers[:2] + answers[4:] == ["= Keima", "= ", "= "]
    for answer in answers[2:4]:
        assert answer.startswith(f"? engine not available: {path}")
        assert "\n" not in answer


def test_a_memory_limit_too_small_for_the_network_names_one_that_works(network: Path) -> None:
    def genmove(limit: str) -> str:
        options = ("--net", str(network), "--size", "9", "--visits", "2", "--max-memory", limit)
        return replies("genmove b\nquit\n", *options)[0]

    refused = genmove("1")
    found = re.fullmatch(
        r"\? engine not available: --max-memory 1 is too small: at least (\d+), \d+ for the network", refused
    )
    assert found, refused
    assert genmove(found[1]).startswith("= ")


def test_a_folder_means_its_newest_network(network: Path) -> None:
    pytest.importorskip("torch")
    [models, _] = replies("kata-get-models\nquit\n", "--net", str(network.parent), "--backend", "torch")
    [model] = json.loads(models.removeprefix("= "))
    assert (model["name"], model["internalName"]) == (str(network), "random-b2c8-1")


def test_a_network_plays(network: Path) -> None:
    pytest.importorskip("torch")
    answers = replies("genmove b\ngenmove w\nquit\n", "--net", str(network), "--visits", "20", "--size", "9")
    assert all(answer.startswith("=") for answer in answers), answers
    assert len(set(answers)) == 3


def test_a_command_that_is_interrupted_ends_with_the_status_of_that(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("engine.apps.doctor.findings.find_out", interrupted)
    result = CliRunner().invoke(keima.main, ["doctor"])
    assert (result.exit_code, result.stderr) == (130, "Aborted!\n")


@pytest.mark.parametrize(("measures", "runs"), [("0", False), ("1", True), (None, True)])
def test_no_session_measures_in_its_opponents_time_where_a_match_forbids_it(
    measures: str | None, runs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KEIMA_MEASURES", raising=False)
    if measures is not None:
        monkeypatch.setenv("KEIMA_MEASURES", measures)
    options = {"backend": "auto", "precision": "auto", "max_memory": None, "human_model": None}
    options |= {"device": "auto", "listen": None, "net": "keima-t7c96", "threads": None}
    assert (keima.idle_command(options) is not None) is runs
