"""`keima bench --quality` measures, prints tables or JSON, and continues from its folder."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import keima
from engine.apps.quality.choices import Limit, ProgramChooser, SearchChooser
from engine.apps.quality.positions import Position, positions_of
from engine.errors import GoError
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.search.params import SearchParams
from engine.support.command_line import joined
from tests.apps.quality.records import SIZE, file_of
from tests.match.players import fake
from tests.search.fakes import FakeEvaluator, LeadEvaluator

QUICK = ["bench", "--quality", "--net", "none", "--threads", "1", "--size", str(SIZE), "--positions", "3"]
SHALLOW = ["--visits", "20,40", "--reference-visits", "60"]


def run(*arguments: str) -> str:
    """Return what the command prints."""
    result = CliRunner().invoke(keima.main, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


def failed(*arguments: str) -> str:
    """Return the error of a command that fails."""
    result = CliRunner().invoke(keima.main, list(arguments))
    assert result.exit_code != 0
    return result.output


class SizesEvaluator(FakeEvaluator):
    """A fake that keeps the number of positions of each call."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the made-up evaluation."""
        super().evaluate(positions, count, out)
        self.sizes.append(count)


@pytest.fixture
def positions(tmp_path: Path) -> list[Position]:
    """Return two positions."""
    return positions_of([file_of(tmp_path, 12)], (SIZE, SIZE), 2, LeadEvaluator(0.0))


def test_json_has_every_setting_at_every_limit(tmp_path: Path) -> None:
    records, out = ["--records", str(file_of(tmp_path, 60))], tmp_path / "out"
    command = [*QUICK, *SHALLOW, *records, "--out", str(out), "--compare", "c_puct=3,rave_bias=0.1", "--json"]
    found: dict[str, Any] = json.loads(run(*command))
    assert sum(found["positions"][str(SIZE)].values()) == 3
    rows = {(row["limit"], row["setting"]): row for row in found["results"]}
    assert set(rows) == {
        (f"{visits} visits", name) for visits in (20, 40) for name in ("default", "c_puct=3,rave_bias=0.1")
    }
    for (limit, name), row in rows.items():
        assert row["positions"] == 3
        assert row["visits"] >= int(limit.split()[0])
        mean, low, high = row["regret"]["winrate"]
        assert 0 <= low <= mean <= high <= 1
        assert (row["difference"] is None) == (name == "default")
    size = next(out.rglob("results.jsonl")).stat().st_size
    again = json.loads(run(*command))
    assert again == found
    assert next(out.rglob("results.jsonl")).stat().st_size == size


def test_the_table_shows_settings_limits_and_differences(tmp_path: Path) -> None:
    records = ["--records", str(file_of(tmp_path, 12))]
    shown = run(*QUICK, *SHALLOW, *records, "--set", "c_puct=2", "--compare", "c_puct=3")
    assert "20 visits" in shown and "40 visits" in shown
    assert "c_puct=2" in shown and "c_puct=3" in shown
    assert "difference" in shown


def test_searches_by_time_are_judged_too(tmp_path: Path) -> None:
    records = ["--records", str(file_of(tmp_path, 12))]
    found = json.loads(run(*QUICK, *records, "--move-time", "0.05", "--reference-visits", "60", "--json"))
    assert [row["limit"] for row in found["results"]] == ["0.05 s"]
    assert found["results"][0]["visits"] > 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bench", "--positions", "3"], "--positions is only for --quality"),
        ([*QUICK, "--compare", "c_puct"], "expected key=value"),
        ([*QUICK, "--compare", "nothing=1"], "unknown setting"),
        (
            [*QUICK, "--visits", "40,400", "--reference-visits", "400"],
            "--reference-visits: expected more than the 400 of --visits, got 400",
        ),
        ([*QUICK, "--reference-visits", "10"], "expected more than the 3,200 of --visits, got 10"),
        ([*QUICK, "--katago", "katago gtp"], "--katago needs the --net"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, arguments: list[str], message: str) -> None:
    records = ["--records", str(file_of(tmp_path, 12))] if "--quality" in arguments else []
    assert message in failed(*arguments, *records)


def test_records_without_positions_are_an_error(tmp_path: Path) -> None:
    records = ["--records", str(file_of(tmp_path, 3))]
    command = ["bench", "--quality", "--net", "none", "--threads", "1", "--size", "9", *SHALLOW]
    assert "no positions on boards of 9" in failed(*command, *records)


def test_a_search_by_visits_has_as_many_in_flight_as_its_settings_say(positions: list[Position]) -> None:
    largest = dict[int, int]()
    for in_flight in (1, 4):
        evaluator = SizesEvaluator()
        chooser = SearchChooser(evaluator, evaluator, SearchParams(visits_in_flight=in_flight))
        chooser.choose(positions[:1], Limit(visits=60), lambda: None)
        chooser.close()
        largest[in_flight] = max(evaluator.sizes)
    assert largest == {1: 1, 4: 4}


def test_another_program_searches_the_same_positions(positions: list[Position]) -> None:
    command = joined([sys.executable, "-m", "keima", "gtp", "--net", "none", "--size", str(SIZE), "--threads", "1"])
    chooser, done = ProgramChooser(command), list[int]()
    try:
        found = chooser.choose(positions, Limit(visits=20), lambda: done.append(1))
        timed = chooser.choose(positions[:1], Limit(seconds=0.05), lambda: None)
    finally:
        chooser.close()
    assert len(done) == 2 and len(timed) == 1
    for each in positions:
        game = each.game
        assert game.is_legal(game.to_play, found[each.key].vertex)


def test_a_program_without_the_commands_is_an_error(positions: list[Position]) -> None:
    chooser = ProgramChooser(fake(also="rules"))
    try:
        with pytest.raises(GoError, match="kata-set-param"):
            chooser.choose(positions, Limit(visits=20), lambda: None)
    finally:
        chooser.close()
