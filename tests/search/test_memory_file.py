"""What searches remember outlives the session in a file; damaged files are refused."""

import struct
from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import GoError
from engine.search.memory import ENTRIES, Memory
from engine.search.memory_file import LARGEST, StoredMemory, read_entries, write_entries
from engine.search.search import Search
from engine.search.tree import MEMORY, MEMORY_MOVES, REMEMBERED_MOVE
from tests.search.test_memory import DEEP, GAME, QUICK, REMEMBERING, search_again
from tests.search.test_values import DetailedEvaluator
from tests.waiting import wait_until

HEADER = 57
Change = Callable[[bytearray], bytes]


def table(count: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return entries of made-up positions with their moves."""
    chance = np.random.default_rng(seed)
    entries, moves = np.zeros(count, dtype=MEMORY), np.zeros((count, MEMORY_MOVES), dtype=REMEMBERED_MOVE)
    entries["key"] = chance.integers(0, 1 << 63, count, dtype=np.uint64) | np.uint64(1)
    entries["weight"], entries["moves"] = chance.integers(1, 900, count), chance.integers(0, MEMORY_MOVES + 1, count)
    for name in ("value", "no_result", "score", "lead"):
        entries[name] = chance.normal(size=count)
    for name in ("weight", "value", "score"):
        moves[name] = chance.random((count, MEMORY_MOVES))
    moves["vertex"] = chance.integers(0, 400, (count, MEMORY_MOVES))
    return entries, moves


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file of 20 positions."""
    path = tmp_path / "evaluations"
    write_entries(path, *table(20))
    return path


def with_checksum(data: bytes) -> bytes:
    """Return a file with its contents' checksum."""
    content = bytes(data[HEADER:])
    return bytes(data[: HEADER - 32]) + blake2b(content, digest_size=32).digest() + content


def changed(place: int, value: bytes) -> Change:
    """Return a change of the contents with a right checksum."""

    def change(data: bytearray) -> bytes:
        data[HEADER + place : HEADER + place + len(value)] = value
        return with_checksum(data)

    return change


def searched(memory: Memory, visits: int) -> dict[int, int]:
    """Return the visits by move of a new search that uses a table."""
    search = Search(DetailedEvaluator(), REMEMBERING)
    search.memory = memory
    return search_again(search, GAME, visits)


def test_a_later_session_goes_on_with_what_an_earlier_one_found(tmp_path: Path) -> None:
    path, alone = tmp_path / "evaluations", Memory("net")
    searched(alone, DEEP)
    first = StoredMemory(path, "net")
    searched(first, DEEP)
    first.close()
    assert 0 < path.stat().st_size < LARGEST
    assert searched(StoredMemory(path, "net"), QUICK) == searched(alone, QUICK)


def test_another_network_has_its_own_positions_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "evaluations"
    first = StoredMemory(path, "net")
    searched(first, DEEP)
    first.close()
    other = StoredMemory(path, "another")
    assert searched(other, QUICK) == searched(Memory(), QUICK)
    searched(other, DEEP)
    other.close()
    keys = set(first.entries["key"][first.entries["key"] != 0].tolist())
    assert keys < set(read_entries(path)[0]["key"].tolist())


def test_a_session_that_remembers_nothing_writes_no_file(tmp_path: Path) -> None:
    memory = StoredMemory(tmp_path / "evaluations", "net")
    search = Search(DetailedEvaluator(), replace(REMEMBERING, remembers=False))
    search.memory = memory
    search_again(search, GAME, DEEP)
    memory.close()
    assert list(tmp_path.iterdir()) == []


def test_sessions_at_the_same_time_add_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "evaluations"
    sessions = [StoredMemory(path, "net") for _ in range(3)]
    for seed, session in enumerate(sessions):
        session.add(*table(50, seed))
        session.save()
    assert len(read_entries(path)[0]) == 150


def test_the_table_and_the_file_are_bounded_and_keep_the_positions_with_the_most_visits(tmp_path: Path) -> None:
    path, memory = tmp_path / "evaluations", Memory()
    entries, moves = table(3 * ENTRIES)
    memory.add(entries, moves)
    write_entries(path, memory.entries, memory.moves)
    assert path.stat().st_size <= LARGEST
    kept, left = memory.entries["key"] != 0, ~np.isin(entries["key"], memory.entries["key"])
    assert np.count_nonzero(kept) > ENTRIES / 2
    assert memory.entries["weight"][kept].mean() > entries["weight"][left].mean()
    again = Memory()
    again.add(*read_entries(path))
    assert np.array_equal(again.entries, memory.entries)
    assert np.array_equal(again.moves[kept], memory.moves[kept])


def test_of_two_entries_of_a_position_the_one_with_more_visits_stays() -> None:
    (entries, moves), memory = table(40), Memory()
    memory.add(entries, moves)
    fewer, more = entries.copy(), entries.copy()
    fewer["weight"], more["weight"] = entries["weight"] - 0.5, entries["weight"] + 0.5
    memory.add(fewer[:20], moves[:20])
    memory.add(more[20:], moves[20:])
    found = {int(each["key"]): float(each["weight"]) for each in memory.entries if each["key"]}
    expected = np.concatenate([entries["weight"][:20], more["weight"][20:]])
    assert found == dict(zip(entries["key"].tolist(), expected.tolist(), strict=True))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: b"", "begins with b'keima evaluations', got b''"),
        (lambda data: b"(;FF[4])" * 40, "begins with b'keima evaluations', got b'"),
        (lambda data: bytes(data[:17]) + struct.pack("<I", 2) + bytes(data[21:]), "expected version 1, got 2"),
        (lambda data: bytes(data[:-1]), "bytes for 20 positions, got"),
        (lambda data: bytes(data) + b"\0", "bytes for 20 positions, got"),
        (lambda data: bytes(data) + bytes(LARGEST), "expected at most"),
        (lambda data: bytes(data[:-1]) + b"\x7f", "expected checksum"),
        (changed(0, b"\x02"), "expected odd keys, got"),
        (changed(28, struct.pack("<i", 9)), "expected 0 to 8 moves of a position, got"),
        (changed(28, struct.pack("<i", -1)), "expected 0 to 8 moves of a position, got -1"),
        (changed(8, struct.pack("<f", float("nan"))), "expected a weight from 0 to 1e+12, got nan"),
        (changed(12, struct.pack("<f", float("inf"))), "expected a value from -1e+12 to 1e+12, got inf"),
    ],
)
def test_a_damaged_file_is_refused_with_what_is_wrong_and_stays_as_it_is(
    file: Path, change: Change, message: str
) -> None:
    file.write_bytes(change(bytearray(file.read_bytes())))
    before = file.read_bytes()
    with pytest.raises(GoError) as error:
        StoredMemory(file, "net")
    assert str(error.value).startswith(f"{file}: expected ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert file.read_bytes() == before


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)
@given(data=st.data())
def test_no_damage_is_overlooked(file: Path, data: st.DataObject) -> None:
    whole = file.with_name("whole")
    if not whole.exists():
        whole.write_bytes(file.read_bytes())
    content = bytearray(whole.read_bytes())
    first = data.draw(st.integers(0, len(content) - 1))
    old, new = content[first], data.draw(st.integers(0, 255))
    content[first] = new
    content = content[: data.draw(st.integers(0, len(content)) | st.just(len(content)))]
    file.write_bytes(content)
    if new == old and len(content) == whole.stat().st_size:
        assert len(read_entries(file)[0]) == 20
    else:
        with pytest.raises(GoError, match="expected"):
            read_entries(file)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100, deadline=None)
@given(content=st.binary(max_size=400))
def test_what_a_stranger_wrote_is_refused_or_safe(file: Path, content: bytes) -> None:
    data = bytearray(file.read_bytes())
    place = len(content) % 20
    data[HEADER + place : HEADER + place + len(content)] = content
    file.write_bytes(with_checksum(data))
    try:
        entries, _ = read_entries(file)
    except GoError:
        return
    assert np.all(entries["moves"] <= MEMORY_MOVES)
    assert np.all(np.isfinite(entries["value"]))


def test_a_file_that_is_damaged_during_the_session_is_not_overwritten(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "evaluations"
    memory = StoredMemory(path, "net")
    searched(memory, DEEP)
    path.write_bytes(b"another program's")
    memory.close()
    assert path.read_bytes() == b"another program's"
    assert "not saved" in caplog.text


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="directory"):
        StoredMemory(tmp_path, "net")


def test_the_file_is_written_during_the_session(tmp_path: Path) -> None:
    path = tmp_path / "evaluations"
    memory = StoredMemory(path, "net", save_seconds=0.0)
    searched(memory, DEEP)
    wait_until(path.exists)
    memory.close()
