"""No two commands work in the same folder, at once or one after the other: the second says so and changes nothing."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import keima
from engine.records.sgf_writer import write_game
from engine.support.files import claimed
from engine.support.run_kinds import MATCH, REVIEW, SELFPLAY, RunKind, claimed_run
from tests.apps.solve.test_captures import capture_problems
from tests.positions import random_game

GAMES, PROBLEMS, OUT = "games.sgfl", "problems.jsonl", "out"
COMMANDS = [
    f"match --black no-such-program --white keima --games 1 --out {OUT}",
    f"solve {PROBLEMS} --net none --visits 2 --out {OUT}",
    f"distill {OUT} --teacher playouts --visits 2 --records {GAMES}",
    f"selfplay {OUT} --net none --blocks 1 --channels 8 --size 5 --games 1 --processes 1",
    f"zero {OUT} --preset tiny --hours 1e-9",
    f"train run {OUT} --records {GAMES} --steps 1 --set blocks=1 --set channels=8",
    f"train samples --records {GAMES} --out {OUT} --processes 0",
    f"train dqn {OUT} --set games=4 --test-games 2",
    f"book build {OUT} --net none --size 5 --visits 2 --positions 1",
]


def keima_command(command: str) -> Result:
    """Run a command with the games and problems that it reads."""
    if not Path(GAMES).exists():
        Path(GAMES).write_text(write_game(random_game(1, 5, moves=8), result="B+3.5").replace("\n", "") + "\n")
        capture_problems(Path(PROBLEMS))
    return CliRunner().invoke(keima.main, command.split())


def contents(folder: Path) -> dict[str, bytes]:
    return {str(each): each.read_bytes() for each in sorted(folder.rglob("*")) if each.is_file()}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.partition(" --")[0])
def test_a_folder_where_another_is_at_work_is_left_alone(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with claimed(Path(OUT)):
        before = sorted(Path(OUT).iterdir())
        result = keima_command(command)
        assert f"{OUT}: another keima process is using this folder" in result.output
        assert result.exit_code in (1, 2)
        assert sorted(Path(OUT).iterdir()) == before


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.partition(" --")[0])
def test_a_folder_that_holds_a_run_of_another_command_is_left_alone(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    begun = keima_command(command)
    # The match has no player: what it wrote before is enough.
    assert begun.exit_code == 0 or "does not start" in begun.output, begun.output
    before = contents(Path(OUT))
    kind = command.partition(" --")[0].removesuffix(f" {OUT}").removesuffix(f" {PROBLEMS}")
    for other in COMMANDS:
        if other != command:
            result = keima_command(other)
            assert f"{OUT} holds a run of keima {kind}" in result.output, (other, result.output)
            assert result.exit_code in (1, 2)
    assert contents(Path(OUT)) == before


@pytest.mark.parametrize(
    ("command", "file"),
    [
        (f"zero {OUT} --preset tiny --hours 1e-9", "report.md"),
        (f"train run {OUT} --records {GAMES} --steps 1 --set blocks=1 --set channels=8", "net.safetensors"),
        (f"train run {OUT} --records {GAMES} --steps 1 --set blocks=1 --set channels=8", "config.toml"),
        (f"selfplay {OUT} --net none --blocks 1 --channels 8 --size 5 --games 1 --processes 1", "games.sgfl"),
    ],
)
def test_a_file_that_no_run_has_written_is_not_replaced_by_a_new_one(
    command: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(OUT).mkdir()
    (Path(OUT) / file).write_text("mine = 1\n")
    result = keima_command(command)
    assert f"{OUT} has {file}, which keima {command.partition(f' {OUT}')[0]} would replace" in result.output
    assert (result.exit_code, (Path(OUT) / file).read_text()) == (1, "mine = 1\n")


@pytest.mark.parametrize("kind", [MATCH, REVIEW, SELFPLAY])
def test_files_of_other_programs_are_no_run(kind: RunKind, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("visits = 100\n")
    (tmp_path / "metrics.jsonl").write_text('{"of": "another program"}\n')
    (tmp_path / "settings.json").write_text('{"of": "another program"}\n')
    with claimed_run(tmp_path, kind):
        pass


def test_a_run_may_begin_in_a_folder_of_games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(OUT).mkdir()
    (Path(OUT) / "mine.sgf").write_text("(;SZ[5])")
    for _ in range(2):
        assert keima_command(f"zero {OUT} --preset tiny --hours 1e-9").exit_code == 0
    assert (Path(OUT) / "mine.sgf").read_text() == "(;SZ[5])"
