"""Games of the best set: as many as the test needs, in any order, and never twice."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("optuna", reason="optuna is not installed")

from engine.apps.quality.positions import Position
from engine.apps.tune.confirm import confirm
from engine.apps.tune.games import GAMES, Chunk
from engine.apps.tune.measuring import Chosen, Report
from engine.apps.tune.ranges import Range, Value
from engine.apps.tune.settings import TuneSettings
from engine.errors import GoError
from engine.settings.setting import Kind

BEST = {"c_puct": 1.5}


class Played:
    """Stands in for the games. points: of a game by visits and number. chunks: those that were asked for."""

    def __init__(self, points: Callable[[int, int], float], *, backwards: bool = False) -> None:
        self._points, self._backwards = points, backwards
        self.chunks = list[Chunk]()

    def choose(self, positions: Sequence[Position], values: Mapping[str, Value], report: Report) -> Chosen:
        """Choose nothing: games need no positions."""
        raise NotImplementedError

    def play(self, chunks: Sequence[Chunk], values: Mapping[str, Value]) -> Iterator[tuple[Chunk, list[float]]]:
        """Yield the points of each chunk."""
        assert values == BEST
        for chunk in reversed(chunks) if self._backwards else chunks:
            self.chunks.append(chunk)
            yield chunk, [self._points(chunk.visits, chunk.number * GAMES + each) for each in range(chunk.games)]


def settings(folder: Path, games: int, jobs: int = 1) -> TuneSettings:
    """Return settings with this number of games."""
    known = (Range("c_puct", Kind.NUMBER, 0.5, 3.0),)
    return TuneSettings("fake", known, folder, visits=(100, 400), confirm=games, jobs=jobs)


def mixed(visits: int, number: int) -> float:
    """Return the points of games that the tuned side wins clearly at 100 visits and loses at 400."""
    return float(number % 8 != 0) if visits == 100 else float(number % 8 == 0)


def test_a_clear_match_ends_early_and_a_close_one_plays_all_games(tmp_path: Path) -> None:
    found = confirm(settings(tmp_path, 400), Played(mixed), BEST, lambda _: None)
    assert [each.verdict for each in found] == ["stronger", "not stronger"]
    assert all(len(each.points) < 400 for each in found)
    even = Played(lambda visits, number: float(number // 2 % 2))
    close = confirm(settings(tmp_path / "close", 100), even, BEST, lambda _: None)
    assert [(each.verdict, len(each.points), each.counts) for each in close] == [("undecided", 100, (50, 0, 50))] * 2
    assert sum(chunk.games for chunk in even.chunks) == 200


def test_the_order_in_which_chunks_end_changes_nothing(tmp_path: Path) -> None:
    straight = confirm(settings(tmp_path / "1", 400), Played(mixed), BEST, lambda _: None)
    several = Played(mixed, backwards=True)
    assert confirm(settings(tmp_path / "3", 400, jobs=3), several, BEST, lambda _: None) == straight


def test_a_stopped_match_goes_on_with_the_missing_chunks(tmp_path: Path) -> None:
    asked = settings(tmp_path, 200)
    whole = confirm(
        replace(asked, out=tmp_path / "whole"), Played(lambda v, n: float(n // 2 % 2)), BEST, lambda _: None
    )
    first = Played(lambda visits, number: float(number // 2 % 2))

    def stop(found: object) -> None:
        if len(first.chunks) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        confirm(asked, first, BEST, stop)
    second = Played(lambda visits, number: float(number // 2 % 2))
    assert confirm(asked, second, BEST, lambda _: None) == whole
    assert len(second.chunks) == 2 * 200 // GAMES - 3


def test_a_match_that_becomes_longer_plays_its_short_last_chunk_in_full(tmp_path: Path) -> None:
    def even(visits: int, number: int) -> float:
        return float(number // 2 % 2)

    confirm(settings(tmp_path, GAMES + 20), Played(even), BEST, lambda _: None)
    longer = confirm(settings(tmp_path, 3 * GAMES), Played(even), BEST, lambda _: None)
    assert [len(each.points) for each in longer] == [3 * GAMES] * 2
    whole = confirm(settings(tmp_path / "whole", 3 * GAMES), Played(even), BEST, lambda _: None)
    assert longer == whole


def test_games_of_another_set_are_kept_apart(tmp_path: Path) -> None:
    asked, other = settings(tmp_path, 40), {"c_puct": 2.0}
    confirm(asked, Played(mixed), BEST, lambda _: None)
    again = Played(mixed)
    confirm(asked, again, BEST, lambda _: None)
    assert again.chunks == []
    with pytest.raises(AssertionError):
        confirm(asked, again, other, lambda _: None)


def test_a_damaged_file_of_games_is_refused(tmp_path: Path) -> None:
    asked = settings(tmp_path, 40)
    confirm(asked, Played(mixed), BEST, lambda _: None)
    lines = next(tmp_path.rglob("results.jsonl"))
    lines.write_text(lines.read_text() + '{"visits": 100, "chunk": 1, "points": [2]}\n')
    with pytest.raises(GoError, match="no chunk of games"):
        confirm(asked, Played(mixed), BEST, lambda _: None)
