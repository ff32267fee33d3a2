"""No two commands work in the same folder at once: the second says so and changes nothing."""

from pathlib import Path

import pytest
from click.testing import CliRunner

import keima
from engine.records.sgf_writer import write_game
from engine.support.files import claimed
from tests.apps.solve.test_captures import capture_problems
from tests.positions import random_game

GAMES, PROBLEMS, OUT = "games.sgfl", "problems.jsonl", "out"
COMMANDS = [
    f"match --black keima --white keima --games 1 --out {OUT}",
    f"solve {PROBLEMS} --net none --visits 2 --out {OUT}",
    f"distill {OUT} --teacher playouts --visits 2 --records {GAMES}",
    f"selfplay {OUT} --net none --blocks 1 --channels 8 --size 5 --games 1 --processes 1",
    f"zero {OUT} --preset tiny",
    f"train run {OUT} --records {GAMES} --steps 1 --set blocks=1 --set channels=8",
    f"train samples --records {GAMES} --out {OUT} --processes 0",
    f"train dqn {OUT}",
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.partition(" --")[0])
def test_a_folder_where_another_is_at_work_is_left_alone(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(GAMES).write_text(write_game(random_game(1, 5, moves=8), result="B+3.5").replace("\n", "") + "\n")
    capture_problems(Path(PROBLEMS))
    with claimed(Path(OUT)):
        before = sorted(Path(OUT).iterdir())
        result = CliRunner().invoke(keima.main, command.split())
        assert f"{OUT}: another keima process is using this folder" in result.output
        assert result.exit_code in (1, 2)
        assert sorted(Path(OUT).iterdir()) == before
