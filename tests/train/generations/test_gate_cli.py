"""`keima train gate`: a network takes another's place only after it has won, whatever made it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from engine.encoders import ENCODERS
from engine.nets.random import random_spec
from engine.records.sgf_source import iterate_records
from engine.train.cli import train
from engine.train.generations.gate import Gate
from engine.train.generations.gate_cli import REFUSED
from weights import native
from weights.sized import folder_of, write_sized

pytest.importorskip("openvino", reason="openvino is not installed")


@pytest.fixture
def networks(tmp_path: Path) -> tuple[Path, Path]:
    """Return the files of two small networks of random weights."""
    candidate, best = tmp_path / "candidate.safetensors", tmp_path / "best.safetensors"
    for seed, path in enumerate((candidate, best)):
        native.write(random_spec(1, 8, ENCODERS["liberties"], seed, board_sizes=(5, 5)), path)
    return candidate, best


def gated(candidate: Path, best: Path, *words: str) -> Result:
    """Run the command on 5x5: a dozen games with one visit a move, all of them played."""
    given = ["--size", "5", "--visits", "1", "--games", "12", "--margin", "0", "--precision", "fp32"]
    return CliRunner().invoke(train, ["gate", str(candidate), str(best), *given, *words])


def test_who_wins_enough_is_copied_and_who_does_not_is_not(networks: tuple[Path, Path], tmp_path: Path) -> None:
    candidate, best = networks
    goal, records = tmp_path / "promoted.safetensors", tmp_path / "games.sgfl"
    refused = gated(candidate, best, "--threshold", "0.999", "--promote", str(goal))
    assert refused.exit_code == REFUSED == 3, refused.output
    assert refused.stdout.startswith("refused: +")
    assert refused.stderr.startswith("0 of 12 games\n")
    assert not goal.exists()
    words = ["--threshold", "0.001", "--promote", str(goal), "--records", str(records), "--json"]
    promoted = gated(candidate, best, *words)
    assert promoted.exit_code == 0, promoted.output
    outcome = json.loads(promoted.stdout)
    assert outcome["promoted"]
    assert 0 < outcome["share"][0] < 1
    assert goal.read_bytes() == candidate.read_bytes()
    assert len(list(iterate_records([records]))) == outcome["games"] == 12


def test_networks_for_single_sizes_are_copied_too_and_replace_earlier_ones(tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.safetensors" for name in ("candidate", "best")]
    for seed, file in enumerate(files):
        spec = random_spec(1, 8, ENCODERS["liberties"], seed, board_sizes=(5, 7))
        native.write(spec, file)
        own = random_spec(1, 8, ENCODERS["liberties"], seed + 7, board_sizes=(5, 7))
        write_sized(file, spec.name, {(5 + 2 * seed, 5 + 2 * seed): own})
    candidate, best = files
    assert gated(candidate, best, "--threshold", "0.001", "--promote", str(best)).exit_code == 0
    assert best.read_bytes() == candidate.read_bytes()
    (copied,) = folder_of(best).iterdir()
    assert copied.read_bytes() == (folder_of(candidate) / "5x5.safetensors").read_bytes()
    fresh = tmp_path / "fresh.safetensors"
    assert gated(candidate, files[1], "--threshold", "0.001", "--promote", str(fresh)).exit_code == 0
    assert [each.name for each in folder_of(fresh).iterdir()] == ["5x5.safetensors"]


def test_the_network_that_played_is_copied_though_its_file_is_replaced_meanwhile(
    networks: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidate, goal = networks[0], tmp_path / "promoted.safetensors"
    played = candidate.read_bytes()

    def replaced(*_: object) -> Gate:
        candidate.write_bytes(b"another")
        return Gate(1, 0, True, "games", 7, 5)

    monkeypatch.setattr("engine.train.generations.gate.gate", replaced)
    assert gated(*networks, "--promote", str(goal)).exit_code == 0
    assert goal.read_bytes() == played


def test_a_file_that_is_replaced_while_it_is_read_is_refused(
    networks: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = iter([b"one", b"other"])
    monkeypatch.setattr("weights.sized.packed", lambda _: next(contents))
    result = gated(*networks)
    assert (result.exit_code, "was replaced while it was read" in result.stderr) == (1, True)


def test_a_match_of_an_odd_number_of_games_is_refused_in_the_words_of_the_command(networks: tuple[Path, Path]) -> None:
    result = gated(*networks, "--games", "7")
    assert result.exit_code == 2
    assert "--games: expected an even number of at least 2, got 7" in result.stderr


def test_a_seed_below_0_is_refused(networks: tuple[Path, Path]) -> None:
    assert "--seed" in gated(*networks, "--seed", "-1").stderr


def test_a_network_is_not_promoted_to_a_name_that_would_hide_a_shipped_one(
    networks: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = gated(*networks, "--threshold", "0.001", "--promote", "zero9")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--promote: expected a file name that ends in .safetensors, got zero9" in " ".join(result.stderr.split())
    assert not Path("zero9").exists()


@pytest.mark.parametrize("option", ["--promote", "--records"])
def test_what_cannot_be_written_is_said_before_the_match(networks: tuple[Path, Path], option: str) -> None:
    result = gated(*networks, option, str(networks[0] / "below.safetensors"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "Traceback" not in result.stderr


def test_games_of_a_match_that_is_interrupted_are_kept(
    networks: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(number: int, best: int, games: Iterator[object], *_: object) -> Gate:
        next(games)
        raise KeyboardInterrupt

    monkeypatch.setattr("engine.train.generations.gate.gate", interrupted)
    records = tmp_path / "games.sgfl"
    gated(*networks, "--records", str(records))
    assert len(list(iterate_records([records]))) == 1


def test_the_verdict_is_said_though_nothing_can_be_written(
    networks: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "games.sgfl"

    def blocked(*_: object) -> Gate:
        folder.mkdir()
        return Gate(1, 0, True, "games", 7, 5)

    monkeypatch.setattr("engine.train.generations.gate.gate", blocked)
    result = gated(*networks, "--records", str(folder))
    assert (result.exit_code, result.stdout[:8]) == (1, "promoted")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--threshold", "2"], "expected a share"),
        (["--size", "9"], "is not for boards of 9x9"),
        (["--rules", "japanese"], "expected rules that score area"),
    ],
)
def test_what_makes_no_gate_is_said_in_one_line(networks: tuple[Path, Path], words: list[str], message: str) -> None:
    result = gated(*networks, *words)
    assert result.exit_code == 1
    assert message in result.stderr
    assert "Traceback" not in result.output
