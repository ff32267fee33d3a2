"""`keima explain`: which position it takes, its text and its JSON."""

import io
import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

import keima
from engine.apps.explain.cli import cli_explain, position_of
from engine.color import BLACK, WHITE
from engine.errors import GoError
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.search.params import SearchParams
from tests.search.fakes import FakeEvaluator

RECORD = "(;SZ[7]KM[6.5]RU[Chinese];B[dd];W[cd];B[ce];W[de])"
PARAMS = SearchParams(max_memory_mib=16, seed=1)


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """Return a record of four moves."""
    path = tmp_path / "game.sgf"
    path.write_text(RECORD, encoding="utf-8")
    return path


def explained(record: Path, move: int | None = None, play: str | None = None, *, as_json: bool = False) -> str:
    """Return what the command prints, with a fake evaluator."""
    stdout = io.StringIO()
    position = position_of(record, move, play)
    assert cli_explain(position, FakeEvaluator(), PARAMS, visits=5, seconds=None, as_json=as_json, stdout=stdout) == 0
    return stdout.getvalue()


class SlowToStart(FakeEvaluator):
    """A fake whose first call takes a second, as if it compiled kernels."""

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Wait once, then evaluate."""
        if self.calls == 0:
            time.sleep(1.0)
        super().evaluate(positions, count, out)


def test_the_time_to_think_does_not_begin_before_kernels_are_loaded(record: Path) -> None:
    stdout = io.StringIO()
    position = position_of(record, None, None)
    cli_explain(position, SlowToStart(), PARAMS, visits=None, seconds=0.8, as_json=True, stdout=stdout)
    assert json.loads(stdout.getvalue())["position"]["visits"] > 1


def test_the_last_move_is_explained_unless_another_is_named(record: Path) -> None:
    assert explained(record).startswith("Move 4, White D3: cut (D4 C3)")
    assert explained(record, move=3).startswith("Move 3, Black C3: hane (C4 D4)")


def test_before_the_first_move_there_is_only_a_position(record: Path) -> None:
    text = explained(record, move=0)
    assert text.startswith("Black to play: ")
    assert "Move" not in text


def test_a_move_that_is_not_in_the_record_is_explained_in_its_place(record: Path) -> None:
    assert explained(record, move=3, play="d3").startswith("Move 4, White D3")
    assert explained(record, move=3, play="G7").startswith("Move 4, White G7: first line")


def test_moves_before_stones_that_are_set_up_count(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record.write_text(RECORD.replace(";B[ce]", ";AB[aa]PL[B];B[ce]"), encoding="utf-8")
    assert explained(record).startswith("Move 4, White D3")
    assert json.loads(explained(record, as_json=True))["move"]["moveNumber"] == 4
    assert capsys.readouterr().err == ""
    assert not explained(record, move=2).startswith("Move")
    assert capsys.readouterr().err == f"{record}: stones are set up after move 2: only the position is explained\n"


def test_the_json_has_the_same_facts(record: Path) -> None:
    found = json.loads(explained(record, as_json=True))
    assert found.keys() == {"move", "position"}
    assert found["move"]["shapes"] == [{"name": "cut", "stones": ["D4", "C3"]}]
    assert found["position"]["currentPlayer"] == "B"


def test_the_side_to_move_is_the_record_s(tmp_path: Path) -> None:
    path = tmp_path / "handicap.sgf"
    path.write_text("(;SZ[7]AB[bb][ff];W[dd])", encoding="utf-8")
    assert position_of(path, 0, None)[1] == WHITE
    assert position_of(path, None, None)[1] == BLACK


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--move", "5"], "expected a move from 0 to 4, got 5"),
        (["--play", "D3"], "occupied"),
        (["--play", "D"], "expected a vertex such as Q16 or pass, got 'D'"),
    ],
)
def test_what_cannot_be_explained_is_one_line_of_error(record: Path, options: list[str], message: str) -> None:
    done = CliRunner().invoke(keima.main, ["explain", str(record), "--net", "none", *options])
    assert done.exit_code == 1
    assert message in done.output
    assert len(done.output.splitlines()) == 1


def test_a_board_that_the_network_does_not_support_is_one_line_of_error(tmp_path: Path) -> None:
    path = tmp_path / "five.sgf"
    path.write_text("(;SZ[5]KM[6.5];B[cc];W[cd])", encoding="utf-8")
    done = CliRunner().invoke(keima.main, ["explain", str(path), "--net", "zero9", "--visits", "3"])
    assert done.exit_code == 1
    assert "does not support this board, expected sides of 7 to 19, got 5x5" in done.output
    assert len(done.output.splitlines()) == 1


def test_the_command_explains_with_a_network(record: Path) -> None:
    done = CliRunner().invoke(keima.main, ["explain", str(record), "--net", "zero9", "--visits", "3", "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["move"]["move"] == "D3"
    assert {group["status"] for group in found["position"]["groups"]} <= {"safe", "unsettled", "dead"}


def test_a_move_that_superko_forbids_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ko.sgf"
    path.write_text("(;SZ[5]RU[Chinese]AB[ba][ab][bc]AW[ca][db][cc][bb];B[cb])", encoding="utf-8")
    with pytest.raises(GoError, match="ko"):
        position_of(path, None, "B4")
