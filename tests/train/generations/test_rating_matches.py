"""The matches behind a rating: networks and rollouts in this process, GNU Go, or what stands in for it, over GTP."""

import json
import shlex
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.encoders import ENCODERS
from engine.evaluation.evaluator import Evaluator
from engine.evaluators.uniform import UniformEvaluator
from engine.match.settings import MatchSettings
from engine.match.store import GameRecord, Store
from engine.nets.random import random_spec
from engine.search.params import SearchParams
from engine.train.games.arena import ArenaSettings, GameResult
from engine.train.generations import rating_matches
from engine.train.generations.rating_matches import RatingMatches
from engine.train.generations.zero import Stopped
from engine.train.generations.zero_config import read_config
from tests.match.players import fake
from weights import native

SIZE = 5
SETTINGS = ArenaSettings(size=SIZE, komi=0.5, games_at_once=4, opening_moves=2)


def matches(folder: Path, *, gnugo: str = "", stopped: bool = False) -> RatingMatches:
    """Return matches of generations that know nothing, four games with 16 visits each."""
    config = read_config("tiny", ["rating.games=4", "rating.visits=16", "rating.gnugo_visits=16"])
    config = replace(config, rating=replace(config.rating, gnugo=gnugo))

    def evaluator(generation: int) -> AbstractContextManager[Evaluator]:
        return closing(UniformEvaluator())

    def noted(games: Iterator[GameResult], records: list[str]) -> Iterator[GameResult]:
        for game in games:
            records.append(game.record)
            yield game

    return RatingMatches(
        folder, config, SearchParams(), lambda _: folder / "net", evaluator, lambda: 1.5, noted, lambda: stopped
    )


def test_a_generation_meets_another_one(tmp_path: Path) -> None:
    line, records = matches(tmp_path).play(3, "gen-0002", SETTINGS)
    assert (line.first, line.second, line.games, line.hours) == ("gen-0003", "gen-0002", 4, 1.5)
    assert len(records) == 4
    assert all("PB[gen-000" in record for record in records)


def test_the_rollout_player_beats_a_generation_that_knows_nothing(tmp_path: Path) -> None:
    line, _ = matches(tmp_path).play(3, "rollout-200", SETTINGS)
    assert line.wins <= 1


@pytest.mark.parametrize(
    ("gnugo", "size", "reason"),
    [
        ("no-such-program --mode gtp", 9, "no-such-program is not installed"),
        (fake(), 3, "GNU Go has no 3x3 board"),
    ],
)
def test_who_cannot_play_is_skipped_with_a_reason(tmp_path: Path, gnugo: str, size: int, reason: str) -> None:
    line, records = matches(tmp_path, gnugo=gnugo).play(3, "gnugo-1", replace(SETTINGS, size=size))
    assert (line.skipped, line.games, records) == (reason, 0, [])


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """Return a folder with a network file."""
    native.write(random_spec(1, 8, ENCODERS["katago-v7"], 1), tmp_path / "net")
    return tmp_path


# What follows the command of a shell is an argument that it passes over, such as GNU Go's level.
PASSES = f"sh -c {shlex.quote(fake())} gnugo"


def test_a_match_that_was_interrupted_goes_on_and_begins_anew_after_other_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[int] = []

    def interrupted(settings: MatchSettings, folder: Path, on_game: object) -> None:
        store = Store(settings, folder)
        found.append(len(store.records))
        black, white = settings.labels
        names = {black: "a", white: "b"}
        store.add(GameRecord(len(store.records), black, white, None, "0", "passes", names=names), "(;)")
        raise Stopped

    monkeypatch.setattr(rating_matches, "run_match", interrupted)
    monkeypatch.chdir(tmp_path)
    first = matches(Path("run"), gnugo="sh")
    moved = replace(first, network=lambda _: tmp_path / "run" / "net")
    visits = replace(moved, config=replace(moved.config, rating=replace(moved.config.rating, gnugo_visits=5)))
    for each in (first, first, moved, visits, visits):
        with pytest.raises(Stopped):
            each.play(3, "gnugo-7", SETTINGS)
    assert found == [0, 1, 2, 0, 1]


@pytest.mark.slow
def test_gnugo_is_met_over_gtp_with_a_record_of_every_game(network: Path) -> None:
    line, _ = matches(network, gnugo=PASSES).play(3, "gnugo-7", SETTINGS)
    assert (line.games, line.skipped) == (4, "")
    folder = network / "matches" / "gen-0003-gnugo-7"
    assert len(list(folder.glob("*.sgf"))) == 4
    records = [GameRecord(**each) for each in _lines(folder / "results.jsonl")]
    assert {record.black for record in records} == {"gen-0003", "gnugo-7"}, "colors alternate"
    won = [{"B": record.black, "W": record.white}.get(record.result[:1]) == "gen-0003" for record in records]
    assert (line.wins, line.losses) == (sum(won), 4 - sum(won))
    assert "--level 7" in (folder / "settings.json").read_text()


@pytest.mark.slow
def test_a_match_over_gtp_stops_when_the_run_is_to_stop(network: Path) -> None:
    with pytest.raises(Stopped):
        matches(network, gnugo=PASSES, stopped=True).play(3, "gnugo-7", SETTINGS)


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]
