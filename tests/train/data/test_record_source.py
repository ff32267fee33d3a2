"""Batches of game records: every position has its share, and a stopped run continues with the same batches."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from engine.records.sgf_writer import write_game
from engine.train.data.batches import Batch
from engine.train.data.held_out import is_held_out
from engine.train.data.record_source import RecordSource
from engine.train.data.records import RecordOptions, Tally, read_samples
from engine.train.data.samples import BadSamples, apply_symmetries, arrays_of
from tests.positions import random_game

ALL = RecordOptions()


def sgfl(path: Path, seeds: range, width: int = 5) -> list[str]:
    texts = [write_game(random_game(seed, width, moves=20)).replace("\n", "") for seed in seeds]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return texts


def same(one: Batch, other: Batch) -> bool:
    pairs = zip(arrays_of(one.samples).values(), arrays_of(other.samples).values(), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def test_every_position_to_train_on_is_drawn_about_once_an_epoch(tmp_path: Path) -> None:
    texts = sgfl(tmp_path / "a.sgfl", range(40)) + sgfl(tmp_path / "b.sgfl", range(200, 208), 4)
    assert any(is_held_out(text.encode()) for text in texts)
    drawn: Counter[tuple[int, int, int]] = Counter()
    epochs = 4
    source = RecordSource([tmp_path], 16, [1], ALL, processes=0, block=6400)
    while source.state()["epoch"] < epochs:
        samples = source.draw().samples
        assert len(samples) == 16
        drawn.update((samples.width, *each) for each in zip(samples.game.tolist(), samples.ply.tolist(), strict=True))
    every = {
        (part.width, *each)
        for part in read_samples([tmp_path], ALL)
        for each in zip(part.game.tolist(), part.ply.tolist(), strict=True)
    }
    assert set(drawn) == every
    for width in (4, 5):
        times = [count for (size, *_), count in drawn.items() if size == width]
        assert sum(times) / len(times) == pytest.approx(epochs, rel=0.2), width
    # Once an epoch, and at times once more to fill a batch.
    assert max(drawn.values()) < 2.5 * epochs


def test_a_batch_holds_positions_of_many_games(tmp_path: Path) -> None:
    sgfl(tmp_path / "a.sgfl", range(160))
    source = RecordSource([tmp_path], 32, [1], RecordOptions(per_game=4), processes=0)
    for _ in range(4):
        assert len(set(source.draw().samples.game.tolist())) > 16


@pytest.mark.parametrize("processes", [0, 1])
def test_a_restored_source_continues_with_the_same_batches(tmp_path: Path, processes: int) -> None:
    sgfl(tmp_path / "a.sgfl", range(90))
    sgfl(tmp_path / "b.sgfl", range(100, 130), 4)

    def source(number: int) -> RecordSource:
        return RecordSource([tmp_path], 8, [3, 1], RecordOptions(per_game=3), processes=number, block=150)

    whole, states, batches = source(0), [], []
    for _ in range(90):
        states.append(whole.state())
        batches.append(whole.draw())
    assert {state["epoch"] for state in states} >= {0, 1}
    assert len({state["block"] for state in states}) > 5
    assert not any(same(one, other) for one, other in pairwise(batches) if one.samples.width == other.samples.width)
    for stopped in (0, 17, 60) if processes == 0 else (17,):
        other = source(processes)
        other.restore(states[stopped])
        assert all(same(other.draw(), batch) for batch in batches[stopped : stopped + 8])


def test_the_state_of_another_source_begins_anew(tmp_path: Path) -> None:
    sgfl(tmp_path / "a.sgfl", range(40))
    first, second = (RecordSource([tmp_path], 8, [1], processes=0) for _ in range(2))
    second.restore(np.random.default_rng(1).bit_generator.state)
    assert same(first.draw(), second.draw())


def test_the_first_batch_needs_few_games(tmp_path: Path) -> None:
    sgfl(tmp_path / "a.sgfl", range(80))
    tally = Tally()
    source = RecordSource([tmp_path], 4, [1], RecordOptions(per_game=4), processes=0, tally=tally)
    source.draw()
    assert tally.positions == 16 * 4, "one task of 16 games"
    for _ in range(16):
        source.draw()
    assert tally.positions == 3 * 16 * 4, "the second block has two tasks"


def test_other_positions_are_drawn_in_each_epoch_and_turned(tmp_path: Path) -> None:
    sgfl(tmp_path / "a.sgfl", range(20))
    seen: dict[tuple[int, int], set[bytes]] = {}
    source = RecordSource([tmp_path], 16, [2], RecordOptions(per_game=2), processes=0, block=16)
    while source.state()["epoch"] < 20:
        batch = source.draw().samples
        for row in range(len(batch)):
            key = int(batch.game[row]), int(batch.ply[row])
            seen.setdefault(key, set()).add(batch.planes[row].tobytes())
    assert len({ply for _, ply in seen}) > 15
    assert max(map(len, seen.values())) > 2
    for samples in read_samples([tmp_path], ALL):
        for row in range(len(samples)):
            one = samples[row : row + 1]
            eight = {apply_symmetries(one, np.array([symmetry])).planes.tobytes() for symmetry in range(8)}
            assert seen.get((int(samples.game[row]), int(samples.ply[row])), set()) <= eight


@pytest.mark.parametrize("name", ["a.sgf", "nothing"])
def test_nothing_to_train_on_is_an_error_and_no_endless_loop(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("no game")
    with pytest.raises(BadSamples, match=r"no position to train on in .*: [a-z, ]+$"):
        RecordSource([tmp_path], 8, [3], processes=0).draw()
