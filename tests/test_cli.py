"""The command line: what it starts, what it refuses, and how soon the first answer comes."""

import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

import keima

ROOT = Path(__file__).resolve().parent.parent
KEIMA = [sys.executable, str(ROOT / "keima.py")]
HEAVY = {"numpy", "numba", "torch", "openvino", "rich", "llvmlite"}
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
        sessions.append((config, factory()))  # type: ignore[operator]
        return 0

    monkeypatch.setattr("gtp.session.run", run)
    monkeypatch.setattr(keima, "make_player", lambda params, *_: params)
    return sessions


def test_no_command_means_gtp() -> None:
    for arguments in ([], ["gtp"], ["--visits", "7"]):
        result = subprocess.run(
            [*KEIMA, *arguments], input="1 name\n2 quit\n", capture_output=True, text=True, timeout=60
        )
        assert (result.stdout, result.stderr, result.returncode) == ("=1 Keima\n\n=2 \n\n", "", 0)


def test_the_first_reply_comes_at_once() -> None:
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        with subprocess.Popen(KEIMA, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin and process.stdout
            process.stdin.write("name\n")
            process.stdin.flush()
            reply = process.stdout.readline()
            seconds.append(time.perf_counter() - start)
            process.communicate("quit\n", timeout=20)
        assert reply == "= Keima\n"
    assert min(seconds) < FIRST_REPLY


def test_nothing_heavy_is_imported_before_the_handshake() -> None:
    script = "import sys, keima, gtp.session, engine.search.params; print(*sys.modules)"
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
    file.write_text("komi = 6.5\nsize = 9\nvisits = 50\n[search]\nc_puct = 1.75\nbatch_size = 8\n")
    result = invoke("--config", str(file), "--visits", "60", "--set", "batch_size=4")
    assert result.exit_code == 0, result.output
    [(config, params)] = started
    assert (config.width, config.komi, config.visits) == (9, 6.5, 60)  # type: ignore[attr-defined]
    assert (params.c_puct, params.batch_size) == (1.75, 4)  # type: ignore[attr-defined]


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
        (["--set", "batch_size=1.5"], "expected int, got '1.5'"),
        (["--nonsense"], "No such option"),
        (["nonsense"], "No such command"),
        (["--net", "absent.bin.gz"], "absent.bin.gz"),
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
    assert {"gtp", "play", "match", "bench"} <= keima.main.commands.keys()
    listing = invoke("--help").output
    for name, command in keima.main.commands.items():
        assert name in listing
        help_text = invoke(name, "--help")
        assert help_text.exit_code == 0
        options = [each for each in _all_parameters(command) if isinstance(each, click.Option)]
        assert all(each.opts[-1] in help_text.output for each in options)


def _all_parameters(command: click.Command) -> list[click.Parameter]:
    return [] if isinstance(command, click.Group) else command.params


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """Write a small random network and return its path."""
    from engine.encoders import ENCODERS
    from engine.nets.random import random_spec
    from weights import native

    path = tmp_path / "small.safetensors"
    native.write(random_spec(2, 8, ENCODERS["liberties"], 1), path)
    return path


def test_a_network_file_is_explained(network: Path) -> None:
    result = invoke("net", "info", str(network), "--tensors")
    assert result.exit_code == 0, result.output
    facts = dict(line.split(maxsplit=1) for line in result.output.splitlines())
    assert facts["trunk"] == "2 blocks of 8 channels"
    assert facts["encoder"].startswith("liberties")
    arrays = [line.split()[0].replace(",", "") for line in result.output.splitlines() if line.endswith("]")]
    assert sum(map(int, arrays)) == int(facts["parameters"].replace(",", "")) > 0


def test_a_file_that_is_no_network_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a network")
    result = invoke("net", "info", str(tmp_path / "text"))
    assert result.exit_code == 1
    assert "no known network format" in result.output


def test_a_network_plays(network: Path) -> None:
    pytest.importorskip("torch")
    played = subprocess.run(
        [*KEIMA, "--net", str(network), "--visits", "20", "--size", "9"],
        input="genmove b\ngenmove w\nquit\n",
        capture_output=True,
        text=True,
        timeout=200,
    )
    replies = played.stdout.split("\n\n")[:3]
    assert all(reply.startswith("=") for reply in replies), played.stdout
    assert len({reply for reply in replies if reply != "= "}) == 2
