"""`keima learn`: which games are for testing, what the command writes, how it goes on, what it refuses."""

import json
import random
import re
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from click.testing import CliRunner, Result

import keima
from engine.errors import GoError
from engine.support.run_kinds import LEARN
from engine.train.data.held_out import is_held_out
from engine.train.fine_tuning.games import LEAST_TRAINING, divided_games

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from engine.nets.spec import tensors  # noqa: E402
from engine.train.fine_tuning.learn import Learned, LearnOptions, learn  # noqa: E402
from engine.train.fine_tuning.report import verdict  # noqa: E402
from engine.train.learning.network import default_spec, human_spec  # noqa: E402
from weights import native  # noqa: E402
from weights.sized import read_sized, write_sized  # noqa: E402

GAMES = 60


def game(seed: int, moves: int = 10, about: str = "") -> str:
    """Return a game of 5x5: the players fill the board in an order that begins alike in all games."""
    points = [f"{column}{row}" for row in "abcde" for column in "abcde"]
    rest = points[4:]
    random.Random(seed).shuffle(rest)
    played = "".join(f";{'BW'[number % 2]}[{point}]" for number, point in enumerate((points[:4] + rest)[:moves]))
    return f"(;GM[1]SZ[5]KM[24.5]RU[Chinese]RE[{'BW'[seed % 2]}+R]{about}{played})"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of games, with a repeated and a broken one."""
    games = tmp_path / "mine"
    games.mkdir()
    for seed in range(GAMES):
        (games / f"{seed:03d}.sgf").write_text(game(seed), encoding="ascii")
    (games / "again.sgf").write_text(game(0), encoding="ascii")
    (games / "broken.sgf").write_text("no record", encoding="ascii")
    return games


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """Return the file of a small network with random weights."""
    path = tmp_path / "small.safetensors"
    native.write(default_spec(1, 8, 1), path)
    return path


def run(folder: Path, network: Path, out: Path, *options: str) -> Result:
    arguments = ["learn", str(folder), "--net", str(network), "--out", str(out), "--threads", "1", *options]
    return CliRunner().invoke(keima.main, arguments)


def test_each_game_is_either_for_learning_or_for_testing_and_equal_games_count_once(folder: Path) -> None:
    found = divided_games([folder])
    assert len(found.training) + len(found.testing) == GAMES
    assert (found.repeated, len(found.unreadable)) == (1, 1)
    assert "broken.sgf" in found.unreadable[0]
    assert not {data for _, data in found.training} & {data for _, data in found.testing}


def test_no_game_that_is_held_out_of_all_training_is_learned_from(tmp_path: Path) -> None:
    games = tmp_path / "many"
    games.mkdir()
    for seed in range(400):
        (games / f"{seed}.sgf").write_text(game(seed), encoding="ascii")
    found = divided_games([games])
    assert [name for name, data in found.training if is_held_out(data)] == []
    assert any(is_held_out(data) for _, data in found.testing)


def test_the_same_games_in_other_files_are_divided_alike(folder: Path, tmp_path: Path) -> None:
    lines = [path.read_text(encoding="ascii") for path in sorted(folder.glob("0*.sgf"), reverse=True)]
    (tmp_path / "all.sgfl").write_text("\n".join(lines), encoding="ascii")
    assert divided_games([tmp_path / "all.sgfl"]).fingerprint == divided_games([folder]).fingerprint


def test_too_few_games_are_refused_with_their_number_and_that_of_those_left_out(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.sgf").write_text(game(1), encoding="ascii")
    (tmp_path / "three.sgf").write_text("no record", encoding="ascii")
    wanted = rf"games to learn from.*, 1 repeated or without moves, 1 unreadable; at least {LEAST_TRAINING}"
    with pytest.raises(GoError, match=wanted):
        divided_games([tmp_path])


@pytest.mark.parametrize("when", ["reading games, 30", "testing", "reading games, 1"])
def test_a_request_to_stop_is_heard_at_once_and_the_same_command_goes_on(
    folder: Path, network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    stop, shown = threading.Event(), list[str]()

    class Bar:
        def update(self, text: str, *_: object, **more: object) -> None:
            assert not stop.is_set()
            shown.append(text)
            if text.startswith(when):
                stop.set()

    options = LearnOptions(tmp_path / "out", str(network), threads=1)
    assert learn([folder], options, Bar(), stop) is None  # type: ignore[arg-type]
    assert stop.is_set() and "training" not in shown
    assert run(folder, network, tmp_path / "out").exit_code == 0


def test_a_folder_of_games_becomes_a_network_and_a_report(folder: Path, network: Path, tmp_path: Path) -> None:
    done = run(folder, network, tmp_path / "out")
    assert done.exit_code == 0, done.output
    report = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    losses = re.search(r"policy loss, nats \| ([0-9.]+) \| ([0-9.]+)", report)
    assert losses is not None and float(losses[2]) < float(losses[1])  # the first moves are always the same
    assert "the heads alone were trained" in report and "broken.sgf" in report
    assert (tmp_path / "out" / "report.png").read_bytes().startswith(b"\x89PNG")
    before, after = dict(tensors(native.read(network))), dict(tensors(native.read(tmp_path / "out/net.safetensors")))
    changed = {path.split(".")[0] for path in before if (before[path] != after[path]).any()}
    assert changed <= {"policy", "value"} and changed


def test_statistics_of_single_sizes_stay_with_the_network_that_learned(
    folder: Path, network: Path, tmp_path: Path
) -> None:
    start = native.read(network)
    mean = start.blocks[0].norm1.mean  # type: ignore[union-attr]
    sized = replace(start, blocks=(replace(start.blocks[0], norm1=replace(start.blocks[0].norm1, mean=mean + 0.25)),))  # type: ignore[call-arg, union-attr]
    write_sized(network, start.name, {(5, 5): sized})
    assert run(folder, network, tmp_path / "out").exit_code == 0
    learned = native.read(tmp_path / "out" / "net.safetensors")
    found = read_sized(tmp_path / "out" / "net.safetensors", learned.name)
    assert list(found) == [(5, 5)]
    pairs = zip(tensors(learned), tensors(found[5, 5]), strict=True)
    assert [path for (path, one), (_, two) in pairs if not np.array_equal(one, two)] == ["blocks.0.norm1.mean"]


def test_the_report_counts_the_games_that_could_be_played(folder: Path, network: Path, tmp_path: Path) -> None:
    for seed in range(200, 210):
        text = game(seed, 24)
        (folder / f"{seed}.sgf").write_text(text[:-1] + text[text.index(";B") :][:6] + ")", encoding="ascii")
    assert run(folder, network, tmp_path / "out").exit_code == 0
    report = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    left_out = re.search(r"their moves cannot be played: (\d+)", report)
    assert left_out is not None and int(left_out[1]) > 0
    stored = json.loads((tmp_path / "out" / "samples" / "done.json").read_text(encoding="utf-8"))
    assert f"Learned from {stored['games']} games" in report


def test_a_network_that_imitates_people_learns_from_games_with_ranks(folder: Path, tmp_path: Path) -> None:
    network = tmp_path / "human.safetensors"
    native.write(human_spec(default_spec(1, 8, 1), 1), network)
    refused = run(folder, network, tmp_path / "none")
    assert refused.exit_code == 1
    assert f"0 games to learn from and 0 to test on, {GAMES} without the players' ranks" in refused.output
    for seed in range(100, 100 + GAMES):
        (folder / f"{seed}.sgf").write_text(game(seed, about="BR[5k]WR[3k]"), encoding="ascii")
    done = run(folder, network, tmp_path / "out", "--freeze", "none")
    assert done.exit_code == 0, done.output
    report = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    losses = re.search(r"policy loss, nats \| ([0-9.]+) \| ([0-9.]+)", report)
    assert losses is not None and float(losses[2]) < float(losses[1])
    assert f"do not have the players' ranks: {GAMES}." in report
    assert "--human-profile rank_5k" in report
    assert native.read(tmp_path / "out" / "net.safetensors").metadata > 0


@pytest.mark.parametrize(
    ("top_1", "policy_loss", "words"),
    [(0.55, 1.4, "better: 55.0%"), (0.5, 1.4, "better: 50.0%"), (0.45, 1.4, "about as well"), (0.55, 1.5, "keep the")],
)
def test_the_verdict_is_better_only_if_both_figures_are(top_1: float, policy_loss: float, words: str) -> None:
    before, after = (
        SimpleNamespace(games=30, total=SimpleNamespace(top_1=top, policy_loss=loss))
        for top, loss in ((0.5, 1.5), (top_1, policy_loss))
    )
    assert words in verdict(cast(Learned, SimpleNamespace(before=before, after=after)))


def test_a_finished_run_is_read_again_and_not_trained_again(folder: Path, network: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = run(folder, network, out)
    written = (out / "net.safetensors").read_bytes()
    lines = (out / "train" / "metrics.jsonl").read_text(encoding="utf-8")
    again = run(folder, network, out)
    assert (again.exit_code, again.stdout) == (0, first.stdout)
    assert (out / "net.safetensors").read_bytes() == written
    assert (out / "train" / "metrics.jsonl").read_text(encoding="utf-8") == lines


def test_a_run_goes_on_with_the_same_games_only(folder: Path, network: Path, tmp_path: Path) -> None:
    run(folder, network, tmp_path / "out")
    (folder / "new.sgf").write_text(game(1000), encoding="ascii")
    refused = run(folder, network, tmp_path / "out")
    assert refused.exit_code == 1
    assert "games" in refused.output and len(refused.output.strip().splitlines()) <= 2


def test_the_settings_say_what_was_learned_from(folder: Path, network: Path, tmp_path: Path) -> None:
    run(folder, network, tmp_path / "out", "--freeze", "none")
    settings = json.loads((tmp_path / "out" / "settings.json").read_text(encoding="utf-8"))
    assert settings["freeze"] == "none" and settings["games"] == divided_games([folder]).fingerprint
    assert LEARN.is_in(tmp_path / "out")
