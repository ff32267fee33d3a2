"""A slice of `make fuzz`: the corpus and the first cases of each target, and a watch that misses nothing."""

import sys
from pathlib import Path

import pytest

from tests.fuzz import target as target_module
from tests.fuzz.faulty import FAULTS
from tests.fuzz.target import CORPUS, case, corpus, load_target, names
from tests.fuzz.targets.networks import seeds
from tests.fuzz.watch import Watch, save
from weights.registry import FORMATS, format_of

FAULTY = "tests.fuzz.faulty"
CASES = {"gtp": 40, "remote": 60, "json_queries": 40, "sgf": 40, "networks": 150, "http": 60, "kernels": 5}
STUCK_SECONDS = 4.0


@pytest.mark.parametrize("name", CASES)
def test_the_first_cases_of_a_target_and_its_corpus_are_answered_as_they_must_be(name: str) -> None:
    target = load_target(name)
    for label, data in corpus(name).items():
        assert target.check(data) >= 0, label
    assert sum(target.check(case(name, 1, number)) for number in range(CASES[name])) >= CASES[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gtp_program", "json_program"])
def test_the_program_itself_answers_every_line(name: str) -> None:
    assert load_target(name).check(case(name, 2, 0)) > 100


@pytest.mark.parametrize("name", names())
def test_a_case_follows_from_target_seed_and_number_alone(name: str) -> None:
    first = [case(name, 7, number) for number in range(8)]
    assert first == [case(name, 7, number) for number in range(8)]
    assert first != [case(name, 8, number) for number in range(8)]
    assert len(set(first)) >= 6, "a mutation may leave a case as it is"


def test_every_target_but_the_programs_has_a_corpus() -> None:
    assert set(CASES) <= {folder.name for folder in CORPUS.iterdir()} <= set(names())
    assert set(names()) - set(CASES) == {"gtp_program", "json_program"}


def test_the_networks_that_are_damaged_are_of_every_format(tmp_path: Path) -> None:
    found = set()
    for number, (_, data) in enumerate(seeds()):
        (tmp_path / str(number)).write_bytes(data)
        found.add(format_of(tmp_path / str(number)).name)
    assert found == {each.name for each in FORMATS}


def fault_of(number: int) -> str | None:
    """Return how a case of the faulty target errs."""
    data = case(FAULTY, 1, number)
    return FAULTS.get(data[0]) if data else None


def test_the_watch_notices_a_crash_a_hang_an_exception_a_slow_case_and_memory() -> None:
    count = next(count for count in range(99) if {fault_of(each) for each in range(count)} == {*FAULTS.values(), None})
    found: dict[str, str] = {}
    outcome = Watch(FAULTY, 1, stuck_seconds=STUCK_SECONDS).run(count, None, found.__setitem__)
    assert (outcome.following, outcome.failures) == (count, list(found.items()))
    expected = {"crash": "crashes", "hang": "hangs", "raise": "check has failed", "slow": "it took", "grow": "memory"}
    if sys.platform == "win32":
        del expected["grow"]  # the memory of a process is not known there
    wrong = {str(each): expected[fault] for each in range(count) if (fault := fault_of(each)) in expected}
    assert found.keys() == wrong.keys()
    assert [label for label in found if wrong[label] not in found[label]] == []


def test_a_failing_case_is_saved_and_not_changed_by_later_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target_module, "CORPUS", tmp_path)
    monkeypatch.setattr("tests.fuzz.watch.CORPUS", tmp_path)
    corpus.cache_clear()
    try:
        data = case("networks", 3, 17)
        path = save("networks", 3, "17")
        corpus.cache_clear()
        assert (path.name, path.read_bytes()) == ("found-3-17", data)
        assert corpus("networks") == {"found-3-17": data}
        assert case("networks", 3, 17) == data
    finally:
        corpus.cache_clear()
