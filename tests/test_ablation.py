"""The matches that say what each parameter of the search is worth."""

import json
from io import StringIO

import pytest
from rich.console import Console

from engine.errors import GoError
from engine.evaluators.uniform import UniformEvaluator
from engine.search.params import SearchParams
from tests.ablation import PARTS, changes_of, chunks, play_chunk, table


@pytest.mark.parametrize("name", PARTS)
def test_a_part_changes_what_the_search_does_by_itself(name: str) -> None:
    base = SearchParams()
    assert all(getattr(base, field) != value for field, value in PARTS[name].items())


def test_settings_are_parameters_of_a_part_and_unknown_ones_are_named() -> None:
    assert changes_of("c_puct=1.2,uses_lcb=false") == {"c_puct": 1.2, "uses_lcb": False}
    with pytest.raises(GoError, match="unknown setting 'cpuct'"):
        changes_of("cpuct=1.2")


def test_a_chunk_counts_every_game_for_the_changed_search() -> None:
    changes = {"temperature": 5.0, "early_temperature": 5.0}
    assert sum(play_chunk(UniformEvaluator(), changes, 0, size=5, visits=8, games=6)) == 6


def test_a_run_goes_on_with_the_chunks_that_are_missing() -> None:
    line = {"part": "b", "chunk": 0, "wins": 30, "draws": 2, "losses": 8}
    assert list(chunks([json.dumps(line)], ["a", "b"], 80)) == [("a", 0), ("a", 1), ("b", 1)]


def test_the_table_adds_up_the_chunks_of_a_part() -> None:
    lines = [json.dumps({"part": "b", "chunk": n, "wins": 30, "draws": 2, "losses": 8}) for n in range(2)]
    console = Console(width=200, file=StringIO())
    console.print(table(lines))
    assert "│ b       │ 80    │ 60   │ 4     │ 16     │ 77.5% │" in console.file.getvalue()
