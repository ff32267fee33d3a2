"""What training draws from a window: it grows as it should, and chances follow losses."""

from pathlib import Path

import numpy as np
import pytest

from engine.errors import GoError
from engine.train.data.batches import WindowSource, WindowUnion
from engine.train.data.replay import Window, window_size
from engine.train.data.samples import (
    BadSamples,
    Samples,
    ShardLayout,
    arrays_of,
    empty_samples,
    shard_layout,
    unpacked,
    write_shard,
)


def numbered(first: int, count: int, width: int = 5, height: int = 5, encoder: str = "agz") -> Samples:
    """Return samples that differ in ply, with as many stones as ply has bits."""
    samples = empty_samples(encoder, width, height, count)
    samples.ply[:] = np.arange(first, first + count)
    samples.policy[:, 3] = 1
    samples.ownership[:, 3] = 100
    samples.planes[:, 0, 0] = 1 << 4  # point 3
    return samples


def folder_of(root: Path, shards: dict[str, Samples]) -> Path:
    for name, samples in shards.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        write_shard(root / name, samples, {})
    return root


def test_a_file_that_has_less_than_it_says_is_refused_at_once(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"5x5/a.safetensors": numbered(0, 8), "5x5/b.safetensors": numbered(8, 8)})
    data = (folder / "5x5/b.safetensors").read_bytes()
    (folder / "5x5/b.safetensors").write_bytes(data[:-40])
    with pytest.raises(BadSamples, match=r"b\.safetensors: .*truncated"):
        Window(folder)
    (folder / "5x5/b.safetensors").write_bytes(data.replace(b'\\"count\\": 8', b'\\"count\\": 9'))
    with pytest.raises(BadSamples, match=r"b\.safetensors"):
        Window(folder)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadSamples, match="absent: no such folder"):
        Window(tmp_path / "absent")


def window_plies(window: Window, generator: np.random.Generator, draws: int = 40) -> set[int]:
    return {int(ply) for _ in range(draws) for ply in window.draw(len(window), generator)[0].ply}


def test_the_window_is_all_of_the_first_samples_and_grows_ever_slower() -> None:
    sizes = [window_size(total, 1000, 0.75, 0.4) for total in (0, 10, 1000, 2000, 4000, 16000)]
    assert sizes[:3] == [0, 10, 1000]
    assert sizes[3:] == [int(1000 * (1 + 0.4 * (k**0.75 - 1) / 0.75)) for k in (2, 4, 16)]
    assert window_size(10**6, 1000, 1.0, 1.0) == 10**6


def test_the_newest_shards_are_in_the_window(tmp_path: Path) -> None:
    """Names count as numbers where they are numbers, and the folder of a board size not at all."""
    folder_of(
        tmp_path,
        {
            "gen-9/5x5/shard-1.safetensors": numbered(0, 10),
            "gen-10/5x5/shard-9.safetensors": numbered(10, 10),
            "gen-10/5x5/shard-10.safetensors": numbered(20, 10),
            "pending/5x5-12.safetensors": numbered(99, 10),
        },
    )
    generator = np.random.default_rng(1)
    for scale, plies in [(10, range(20, 30)), (20, range(10, 30)), (30, range(30))]:
        window = Window(tmp_path, scale=scale, alpha=0.01, beta=1e-9)
        assert (len(window), window.total) == (len(plies), 30)
        assert window_plies(window, generator) == set(plies)
    folder_of(tmp_path, {"gen-11/5x5/shard-0.safetensors": numbered(30, 10)})
    window.refresh()
    assert window_plies(window, generator) == set(range(10, 40))


def test_a_batch_has_one_board_size_and_sizes_come_in_proportion(tmp_path: Path) -> None:
    folder_of(tmp_path, {"5x5/a.safetensors": numbered(0, 30), "7x4/a.safetensors": numbered(0, 10, 7, 4)})
    window = Window(tmp_path)
    assert window.sizes == {(5, 5): 30, (7, 4): 10}
    generator = np.random.default_rng(2)
    drawn = [window.draw(4, generator)[0] for _ in range(600)]
    share = sum(samples.width == 5 for samples in drawn) / len(drawn)
    assert abs(share - 0.75) < 4 * (0.75 * 0.25 / len(drawn)) ** 0.5


def test_uniform_draws_are_uniform_and_have_no_weights(tmp_path: Path) -> None:
    window = Window(folder_of(tmp_path, {f"5x5/{name}.safetensors": numbered(10 * name, 10) for name in range(4)}))
    generator = np.random.default_rng(3)
    counts = np.zeros(40)
    for _ in range(1000):
        samples, indices, importance = window.draw(10, generator)
        assert importance is None
        assert len(set(indices.tolist())) == 10, "no sample twice in a batch"
        assert samples.ply.tolist() == indices.tolist()
        counts[samples.ply] += 1
    expected = 1000 * 10 / 40
    assert np.abs(counts - expected).max() < 5 * expected**0.5


@pytest.mark.parametrize("exponent", [0.5, 1.0])
def test_prioritized_draws_follow_the_losses(tmp_path: Path, exponent: float) -> None:
    folder_of(tmp_path, {f"5x5/{name}.safetensors": numbered(4 * name, 4) for name in range(2)})
    window = Window(tmp_path, prioritize=exponent, correct=0.7)
    losses = np.array([1, 2, 3, 4, 0.5, 1, 1, 8], dtype=np.float32)
    window.update(np.arange(8)[::-1], losses[::-1])
    generator = np.random.default_rng(4)
    counts = np.zeros(8)
    chances = losses.astype(float) ** exponent / np.sum(losses.astype(float) ** exponent)
    for _ in range(500):
        samples, indices, importance = window.draw(32, generator)
        counts += np.bincount(indices, minlength=8)
        wanted = (1 / (8 * chances[indices])) ** 0.7
        assert importance == pytest.approx(wanted / wanted.max(), rel=1e-5)
        assert samples.ply.tolist() == indices.tolist()
    expected = 500 * 32 * chances
    assert np.all(np.abs(counts - expected) < 5 * expected**0.5)


def test_new_samples_have_the_largest_chance_and_known_losses_stay(tmp_path: Path) -> None:
    folder_of(tmp_path, {"5x5/1.safetensors": numbered(0, 2)})
    window = Window(tmp_path, prioritize=1.0)
    window.update(np.array([0, 1]), np.array([3.0, 1.0], dtype=np.float32))
    folder_of(tmp_path, {"5x5/2.safetensors": numbered(2, 2)})
    window.refresh()
    _, indices, importance = window.draw(4000, np.random.default_rng(5))
    counts = np.bincount(indices)
    assert counts / 4000 == pytest.approx([0.3, 0.1, 0.3, 0.3], abs=0.04)
    assert importance is not None and importance.max() == 1
    with pytest.raises(GoError, match="finite"):
        window.update(np.array([0]), np.array([np.nan], dtype=np.float32))


def shares(window: Window) -> list[float]:
    _, indices, _ = window.draw(4000, np.random.default_rng(5))
    return list(np.bincount(indices, minlength=len(window)) / 4000)


@pytest.mark.parametrize("union", [False, True])
def test_priorities_outlive_the_window_and_new_files_get_the_largest(tmp_path: Path, union: bool) -> None:
    def opened() -> Window:
        return Window(tmp_path, prioritize=1.0)

    folder_of(tmp_path, {"5x5/1.safetensors": numbered(0, 2), "5x5/2.safetensors": numbered(2, 2)})
    window = opened()
    window.update(np.arange(4), np.array([3.0, 1.0, 5.0, 1.0], dtype=np.float32))
    assert shares(window) == pytest.approx([0.3, 0.1, 0.5, 0.1], abs=0.03)
    stored = WindowUnion([window, opened()]).priorities() if union else window.priorities()
    folder_of(tmp_path, {"5x5/3.safetensors": numbered(4, 2)})
    restored = opened()
    (WindowUnion([restored, opened()]) if union else restored).restore_priorities(stored)
    assert shares(restored) == pytest.approx([0.15, 0.05, 0.25, 0.05, 0.25, 0.25], abs=0.03)
    weights = {name: each.tolist() for name, each in restored.priorities().items()}
    assert weights["5x5/1.safetensors"] == [3.0, 1.0]
    assert weights["5x5/3.safetensors"] == [5.0, 5.0], "the largest so far"
    assert Window(tmp_path).priorities() == {}


def test_priorities_follow_a_changed_exponent(tmp_path: Path) -> None:
    folder_of(tmp_path, {"5x5/1.safetensors": numbered(0, 2)})
    window = Window(tmp_path, prioritize=1.0)
    window.update(np.arange(2), np.array([4.0, 9.0], dtype=np.float32))
    other = Window(tmp_path, prioritize=0.5)
    other.restore_priorities(window.priorities())
    assert other.priorities()["5x5/1.safetensors"].tolist() == [2.0, 3.0]


@pytest.mark.parametrize(("progress", "exponent"), [(0.0, 0.4), (0.5, 0.7), (1.0, 1.0)])
def test_the_correction_becomes_whole_at_the_end_of_the_training(
    tmp_path: Path, progress: float, exponent: float
) -> None:
    window = Window(folder_of(tmp_path, {"5x5/1.safetensors": numbered(0, 2)}), prioritize=1.0)
    window.update(np.arange(2), np.array([1.0, 4.0], dtype=np.float32))
    source = WindowSource(window, 64, 1)
    source.anneal(progress)
    batch = source.draw()
    assert batch.indices is not None and batch.importance is not None
    assert batch.importance[batch.indices == 1] == pytest.approx(0.25**exponent)
    assert batch.importance.max() == 1.0


def test_every_target_is_turned_with_the_position(tmp_path: Path) -> None:
    window = Window(folder_of(tmp_path, {"5x5/1.safetensors": numbered(0, 64)}))
    samples, _, _ = window.draw(64, np.random.default_rng(6))
    stone = unpacked(samples)[:, 0].reshape(64, -1).argmax(axis=1)
    assert np.array_equal(samples.policy.argmax(axis=1), stone)
    assert np.array_equal(samples.ownership.argmax(axis=1), stone)
    assert len(set(stone.tolist())) == 8, "all eight symmetries are drawn"


def test_the_same_generator_draws_the_same_batches(tmp_path: Path) -> None:
    folder_of(tmp_path, {"5x5/1.safetensors": numbered(0, 20), "7x4/1.safetensors": numbered(0, 20, 7, 4)})
    runs = []
    for _ in range(2):
        window, generator = Window(tmp_path), np.random.default_rng(7)
        runs.append([window.draw(5, generator)[0] for _ in range(5)])
    for one, other in zip(*runs, strict=True):
        assert all(
            np.array_equal(a, b) for a, b in zip(arrays_of(one).values(), arrays_of(other).values(), strict=True)
        )


def test_folders_without_samples_or_with_mixed_encoders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSamples, match="no samples"):
        Window(tmp_path)
    folder_of(tmp_path, {"5x5/1.safetensors": numbered(0, 2), "5x5/2.safetensors": numbered(0, 2, encoder="leela")})
    with pytest.raises(BadSamples, match=r"2\.safetensors: encoder: expected agz .* got leela"):
        Window(tmp_path)


def test_a_window_of_many_shards_needs_few_files_at_a_time_and_reads_each_header_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []

    def counted(path: Path) -> ShardLayout:
        read.append(path)
        return shard_layout(path)

    monkeypatch.setattr("engine.train.data.replay.shard_layout", counted)
    resource = pytest.importorskip("resource")
    folder_of(tmp_path, {f"5x5/{name}.safetensors": numbered(name, 1) for name in range(500)})
    window = Window(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (480, hard))
    try:
        assert window_plies(window, np.random.default_rng(8), draws=2) == set(range(500))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(read) == len(set(read)) == 500


def test_several_windows_share_the_files_that_may_be_open(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    shards = {f"5x5/{name}.safetensors": numbered(name, 1) for name in range(300)}
    windows = [Window(folder_of(tmp_path / name, shards)) for name in ("a", "b")]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (480, hard))
    try:
        for window in windows:
            assert window_plies(window, np.random.default_rng(8), draws=2) == set(range(300))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
