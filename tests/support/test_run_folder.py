"""The folder of a run: begun once, gone on with under the same settings alone, its lines named where they are wrong."""

import json
from pathlib import Path

import pytest

from engine.errors import GoError
from engine.support.run_folder import RunFolder, keep_settings


def number(line: dict[str, int]) -> int:
    return line["number"] + 0


def test_a_run_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    first = RunFolder(tmp_path / "run", {"visits": (1, 2)})
    assert (first.continues, first.read(number, "number")) == (False, [])
    for value in (1, 2):
        first.add({"number": value})
    with (tmp_path / "run" / "results.jsonl").open("a") as file:
        file.write('{"numb')
    again = RunFolder(tmp_path / "run", {"visits": (1, 2)})
    assert (again.continues, again.read(number, "number")) == (True, [1, 2])


def test_without_a_folder_nothing_is_kept() -> None:
    run = RunFolder(None, {})
    run.add({"number": 1})
    assert (run.continues, run.read(number, "number")) == (False, [])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"komi": 7, "size": 9}, "komi was 6 there and is 7 now"),
        ({"komi": 6}, "size was 9 there and is None now"),
        ({"komi": 6, "size": 9, "seed": 1}, "seed was None there and is 1 now"),
    ],
)
def test_other_settings_are_refused_by_name(tmp_path: Path, settings: dict[str, int], said: str) -> None:
    path = tmp_path / "settings.json"
    assert not keep_settings(path, {"komi": 6, "size": 9})
    with pytest.raises(LookupError, match=rf"settings\.json: {said}; use another folder"):
        keep_settings(path, settings, LookupError)
    assert json.loads(path.read_text()) == {"komi": 6, "size": 9}


def test_lines_without_settings_are_refused(tmp_path: Path) -> None:
    (tmp_path / "some.jsonl").touch()
    with pytest.raises(LookupError, match=r"has some\.jsonl but no settings\.json"):
        RunFolder(tmp_path, {}, "some.jsonl", LookupError)
    assert not (tmp_path / "settings.json").exists()


@pytest.mark.parametrize("line", ["{", '{"number": "one"}', "{}", "[]"])
def test_a_line_that_cannot_be_used_is_named(tmp_path: Path, line: str) -> None:
    run = RunFolder(tmp_path, {})
    (tmp_path / "results.jsonl").write_text(f'{{"number": 1}}\n{line}\n')
    with pytest.raises(GoError, match=r"results\.jsonl:2: no number: "):
        run.read(number, "number")
