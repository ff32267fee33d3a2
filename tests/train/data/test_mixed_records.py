"""Records of several sources in one random order: each once, long and short sources side by side."""

from itertools import islice
from pathlib import Path

import numpy as np

from engine.train.data.mixed_records import mixed_records
from engine.train.data.records import Tally


def sources(tmp_path: Path) -> list[Path]:
    """Return a source of 3000 records and one of 1000 as long ones."""
    paths = [tmp_path / "long.sgfl", tmp_path / "short.sgfl"]
    for path, count in zip(paths, (3000, 1000), strict=True):
        path.write_text("".join(f"(;B[aa]C[{path.stem} {number:05d}])\n" for number in range(count)))
    return paths


def order(paths: list[Path], seed: int, ahead: int) -> list[str]:
    return [name for name, _ in mixed_records(paths, np.random.default_rng(seed), Tally(), ahead)]


def test_every_record_comes_once_in_an_order_that_the_seed_decides(tmp_path: Path) -> None:
    paths = sources(tmp_path)
    first = order(paths, 1, 500)
    assert len(first) == len(set(first)) == 4000
    assert first == order(paths, 1, 500) != order(paths, 2, 500)
    numbers = [int(name.partition(":")[2]) for name in first if name.startswith("long")]
    places = np.corrcoef(np.arange(len(numbers)), numbers)[0, 1]
    assert places < 0.99 and numbers != sorted(numbers)
    everything = order(paths, 1, 10_000)
    assert sorted(everything) == sorted(first)


def test_an_epoch_has_the_given_part_of_each_source(tmp_path: Path) -> None:
    paths = sources(tmp_path)

    def part(seed: int) -> list[str]:
        found = mixed_records(paths, np.random.default_rng(seed), Tally(), 100, shares=(0.1, 1.0))
        return [name for name, _ in found]

    first, other = part(1), part(2)
    assert len(first) == len(set(first))
    long = {name for name in first if name.startswith("long")}
    assert len(first) - len(long) == 1000
    assert abs(len(long) - 300) < 80
    assert first == part(1)
    assert long != {name for name in other if name.startswith("long")}


def test_sources_last_about_equally_long(tmp_path: Path) -> None:
    long = sum(name.startswith("long") for name in islice(order(sources(tmp_path), 3, 100), 2000))
    assert abs(long / 2000 - 0.75) < 0.05


def test_the_first_records_of_a_short_source_are_from_all_of_it(tmp_path: Path) -> None:
    first = [name for name in order(sources(tmp_path), 5, 2000) if name.startswith("short")][:100]
    assert 400 < np.mean([int(name.partition(":")[2]) for name in first]) < 600


def test_files_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"no archive")
    (tmp_path / "b.sgf").write_bytes(b"(;B[aa])")
    tally = Tally()
    paths = [tmp_path / "a.zip", tmp_path / "b.sgf", tmp_path / "absent.sgf"]
    assert [name for name, _ in mixed_records(paths, np.random.default_rng(4), tally)] == ["b.sgf"]
    assert tally.skipped == {"not readable": 2}
