"""`keima selfplay`: what it prints, that it goes on, and how it refuses."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import keima
from engine.encoders import ENCODERS
from engine.nets.random import random_spec
from tests.train.teaching.test_gtp_teacher import fake
from weights import native

TINY = ["--size", "5", "--precision", "fp32", "--threads", "1"]
RANDOM = ["--net", "none", "--blocks", "1", "--channels", "4"]
QUICK = ["--set", "full_visits=8", "--set", "quick_visits=2", "--set", "games_at_once=3"]


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(keima.main, ["selfplay", *map(str, arguments)])


def test_a_run_is_told_and_goes_on_with_the_same_command(tmp_path: Path) -> None:
    command = (tmp_path / "out", *RANDOM, *TINY, *QUICK, "--set", "search.c_puct=1.5", "--json")
    first = json.loads(invoke(*command, "--games", "2").stdout)
    assert (first["games"], first["done"]) == (2, 2)
    assert first["evaluations"] > 0
    second = json.loads(invoke(*command, "--games", "3").stdout)
    assert (second["games"], second["done"]) == (1, 3)
    assert len((tmp_path / "out" / "games.sgfl").read_text().splitlines()) == 3
    assert "random-b1c4-1" in (tmp_path / "out" / "games.sgfl").read_text()
    for games in ("3", "1"):
        again = invoke(*command[:-1], "--games", games)
        assert again.stdout == f"{tmp_path / 'out'} has 3 games already; play more with a larger --games than 3\n"
        assert "of 1 games" not in again.stderr
    assert "4 of 4 games" in invoke(*command[:-1], "--games", "4").stdout
    refused = invoke(*command, "--games", "3", "--set", "full_visits=9")
    assert refused.exit_code == 1
    assert "full_visits was 8 there and is 9 now" in refused.stderr


def test_two_processes_play_with_a_network_of_a_file_and_with_a_random_one(tmp_path: Path) -> None:
    native.write(random_spec(1, 4, ENCODERS["katago-v7"], 1), tmp_path / "tiny.net")
    for out, net in ((tmp_path / "random", RANDOM), (tmp_path / "file", ["--net", tmp_path / "tiny.net"])):
        result = invoke(out, *net, *TINY, *QUICK, "--games", "4", "--processes", "2", "--json")
        statistics = json.loads(result.stdout)
        assert (statistics["games"], statistics["done"]) == (4, 4)
        assert len((out / "games.sgfl").read_text().splitlines()) == 4


def test_a_folder_goes_on_with_no_other_network_or_teacher(tmp_path: Path) -> None:
    file = tmp_path / "same.net"
    command = (tmp_path / "out", "--net", file, *TINY, *QUICK, "--set", "exploration.start=0.1", "--games", "1")
    native.write(random_spec(1, 4, ENCODERS["katago-v7"], 1), file)
    assert invoke(*command).exit_code == 0
    taught = invoke(*command, "--teacher", fake("reg_genmove"))
    native.write(random_spec(1, 4, ENCODERS["katago-v7"], 2), file)
    for refused, said in ((taught, "teacher was None there"), (invoke(*command), "network was 'same.net ")):
        assert refused.exit_code == 1
        assert said in refused.stderr
        assert len(refused.stderr.strip().splitlines()) == 1


def test_a_teacher_that_cannot_be_started_is_one_line(tmp_path: Path) -> None:
    words = (*RANDOM, *TINY, *QUICK, "--set", "exploration.start=0.5", "--games", "1")
    refused = invoke(tmp_path / "out", *words, "--teacher", "./no-such-program")
    assert refused.exit_code == 1
    assert "no teacher: cannot start './no-such-program'" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1


def test_a_seed_below_0_is_refused(tmp_path: Path) -> None:
    refused = invoke(tmp_path / "out", *RANDOM, *TINY, "--games", "1", "--seed", "-1")
    assert refused.exit_code == 2
    assert "expected an integer, 0 or more, got '-1'" in refused.stderr


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("full_visit=8", "unknown key full_visit"),
        ("full_visits=0", "full_visits: expected an integer, 1 or more, got 0"),
        ("full_share='half'", "full_share"),
        ("search.c_pukt=1", "unknown setting 'c_pukt'"),
        ("encoder=foo", "encoder: expected one of "),
        ("fork_share=0.5", "fork_share: expected records in forks"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_in_one_line(tmp_path: Path, option: str, said: str) -> None:
    result = invoke(tmp_path / "out", *RANDOM, *TINY, "--games", "1", "--set", option)
    assert result.exit_code == 1
    assert said in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_network_that_is_not_there_is_named(tmp_path: Path) -> None:
    result = invoke(tmp_path / "out", "--net", tmp_path / "absent.bin.gz", "--games", "1", *TINY)
    assert result.exit_code == 1
    assert "absent.bin.gz" in result.stderr


@pytest.mark.parametrize("shape", [("--blocks", "7"), ("--channels", "8")])
def test_the_shape_of_a_network_that_has_its_own_is_refused(tmp_path: Path, shape: tuple[str, ...]) -> None:
    result = invoke(tmp_path / "out", "--net", "zero9", *shape, "--games", "1")
    assert result.exit_code == 2
    assert f"{shape[0]} is only for --net none: the network has its own" in " ".join(result.stderr.split())
