"""The folder of self-play: the same files, however often the run was interrupted and in whatever order games end."""

import hashlib
import threading
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pytest

from engine.errors import GoError
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.settings import setting
from engine.train.data.samples import empty_samples, read_shard, shard_info
from engine.train.games.selfplay import decisive_settings, selfplay
from engine.train.games.selfplay_settings import SelfplaySettings
from engine.train.games.selfplay_store import Store
from tests.search.fakes import FakeEvaluator
from tests.train.games.test_selfplay import TINY, play, records


def files_of(folder: Path) -> dict[str, str]:
    """Return a digest of each file of a run by its name."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


class Ending(FakeEvaluator):
    """Ends a run after a number of evaluations."""

    def __init__(self, evaluations: int) -> None:
        super().__init__()
        self.stop, self.left = threading.Event(), evaluations

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        self.left -= 1
        if self.left < 0:
            self.stop.set()
        super().evaluate(positions, count, out)


def test_a_run_that_was_interrupted_leaves_the_files_of_one_that_was_not(tmp_path: Path) -> None:
    settings = replace(TINY, sizes=(4, 5), shard_samples=20, games_at_once=4)
    evaluator = Ending(1 << 20)
    selfplay(settings, evaluator, tmp_path / "whole", 16, 1)
    whole, evaluations = files_of(tmp_path / "whole"), (1 << 20) - evaluator.left
    assert len([name for name in whole if "shard-" in name]) > 3
    for _ in range(2):
        evaluator = Ending(evaluations // 3)
        selfplay(settings, evaluator, tmp_path / "parts", 16, 1, stop=evaluator.stop)
        assert evaluator.stop.is_set()
        assert any("pending" in name for name in files_of(tmp_path / "parts"))
    selfplay(settings, FakeEvaluator(), tmp_path / "parts", 16, 1)
    assert files_of(tmp_path / "parts") == whole


def test_games_that_end_in_another_order_leave_the_same_files(tmp_path: Path) -> None:
    settings = decisive_settings(TINY, 1)
    play(tmp_path / "games", 8, shard_samples=1)
    shards = sorted((tmp_path / "games" / "5x5").glob("*.safetensors"))
    games = {int(shard_info(path).provenance["games"]): read_shard(path) for path in shards}
    lines, nothing = records(tmp_path / "games"), empty_samples(TINY.encoder, 5, 5)  # held-out games have no samples
    found = []
    for order in (range(8), (7, 1, 0, 2, 5, 6, 3, 4)):
        folder = tmp_path / str(len(found))
        for number in order:  # opened anew for each game, as after a kill
            Store(folder, settings, {}, 20).add(number, games.get(number, nothing), lines[number])
        store = Store(folder, settings, {}, 20)
        store.finish(9)
        assert list((folder / "pending").iterdir())  # one game is missing
        store.finish(8)
        found.append(files_of(folder))
    assert found[0] == found[1]


def test_a_run_of_fewer_games_than_its_folder_has_leaves_none_pending(tmp_path: Path) -> None:
    settings = replace(TINY, shard_samples=1000)
    samples = empty_samples(settings.encoder, 5, 5, 3)
    store = Store(tmp_path, decisive_settings(settings, 1), {}, settings.shard_samples)
    for number in (0, 1, 2, 5):  # as a longer run leaves them that was stopped
        store.add(number, samples, f"(;RO[{number}])")
    store.finish(4)
    assert len(list((tmp_path / "pending").iterdir())) == 4, "game 3 is missing"
    store.finish(3)
    assert list((tmp_path / "pending").iterdir()) == []
    (shard,) = (tmp_path / "5x5").iterdir()
    assert shard_info(shard).provenance["games"] == "0 1 2 5"


@dataclass(frozen=True)
class Later(SelfplaySettings):
    """Settings of a version that has one more."""

    newest: int = setting.number(0, "A setting that no folder names yet.", 0)


def test_a_folder_goes_on_with_a_setting_that_is_new_until_that_is_changed(tmp_path: Path) -> None:
    shared = {each.name: getattr(TINY, each.name) for each in fields(TINY)}
    play(tmp_path, 2)
    selfplay(Later(**shared), FakeEvaluator(), tmp_path, 3, 1)
    with pytest.raises(GoError, match="newest"):
        selfplay(Later(**shared, newest=1), FakeEvaluator(), tmp_path, 4, 1)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"komi_stdev": 2.0}, "komi_stdev"),
        ({"gumbel_moves": 4}, "gumbel_moves"),
        ({"games_at_once": 3, "batches": 1, "turns": 2, "shard_samples": 7}, None),
    ],
)
def test_a_folder_refuses_settings_that_change_its_games(
    tmp_path: Path, changes: dict[str, Any], said: str | None
) -> None:
    play(tmp_path, 2)
    if said is None:
        play(tmp_path, 3, **changes)
    else:
        with pytest.raises(GoError, match=said):
            play(tmp_path, 3, **changes)
