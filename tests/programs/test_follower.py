"""A program is told only what it does not know of a game, by the words that it lists."""

from contextlib import closing
from pathlib import Path

import pytest

from engine.color import WHITE
from engine.errors import IllegalMove
from engine.game import Game
from engine.programs.commands import introduced, rules_command, size_command
from engine.programs.follower import Follower
from engine.programs.program import Reply
from engine.rules import AGA, CHINESE, CHINESE_KGS, JAPANESE, TROMP_TAYLOR, Rules
from engine.vertex import parse_vertex
from tests.positions import game_of
from tests.programs.analyst import analyst

SIZE = 5


def follower(log: Path, *options: str) -> Follower:
    made = Follower(analyst("--log", str(log), *options), 20.0)
    made.start()
    return made


def said(log: Path) -> list[str]:
    """Return what the program heard but for its start."""
    return [line for line in log.read_text(encoding="utf-8").splitlines() if line not in ("list_commands", "quit")]


def test_a_game_that_goes_on_is_sent_from_where_it_was(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with closing(follower(log)) as program:
        for moves in ("C3", "C3 D3 B2", "C3 D3 B2"):
            assert program.follow(game_of(moves, SIZE, rules=CHINESE, komi=6.5))
    begun = ["boardsize 5", "clear_board", "komi 6.5"]
    assert said(log) == [*begun, "play black C3", "play white D3", "play black B2"]


@pytest.mark.parametrize("other", ["C3 E5", "C3", ""])
def test_another_game_is_sent_whole(other: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with closing(follower(log)) as program:
        program.follow(game_of("C3 D3", SIZE))
        program.follow(game_of(other, SIZE))
    assert said(log).count("clear_board") == 2


def test_a_move_of_the_programs_own_is_not_sent(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with closing(follower(log)) as program:
        program.follow(game_of("C3", SIZE))
        assert program.ask("genmove white") == Reply(True, "A1")
        program.played(parse_vertex("A1", SIZE, SIZE))
        program.follow(game_of("C3 A1 D3", SIZE))
        with pytest.raises(IllegalMove):
            program.played(parse_vertex("C3", SIZE, SIZE))
        program.lose_track()
        program.follow(game_of("C3 A1 D3", SIZE))
    assert [line for line in said(log) if "A1" in line] == ["play white A1"]


def test_a_refusal_is_reported_and_everything_is_sent_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with closing(follower(log, "--refuse", "play")) as program:
        assert program.follow(Game(SIZE))
        assert not program.follow(game_of("C3", SIZE))
        assert not program.follow(game_of("C3", SIZE))
    assert said(log).count("clear_board") == 2


def test_handicap_stones_are_played_and_white_is_to_move(tmp_path: Path) -> None:
    log, game = tmp_path / "log", Game(SIZE)
    game.place_handicap([parse_vertex(name, SIZE, SIZE) for name in ("B2", "D4")])
    assert game.to_play == WHITE
    with closing(follower(log)) as program:
        program.follow(game)
    assert said(log)[-2:] == ["play black B2", "play black D4"]


def test_the_first_of_some_commands_that_a_program_lists(tmp_path: Path) -> None:
    with closing(follower(tmp_path / "log")) as program:
        assert program.first_listed("reg_genmove", "genmove", "undo") == "genmove"
        assert program.first_listed("reg_genmove") is None


@pytest.mark.parametrize(
    ("rules", "listed", "command"),
    [
        (JAPANESE, "kata-set-rules kgs-rules", "kata-set-rules japanese"),
        (JAPANESE, "kgs-rules", "kgs-rules japanese"),
        (CHINESE_KGS, "kgs-rules", "kgs-rules chinese"),
        (AGA, "kgs-rules", "kgs-rules aga"),
        (TROMP_TAYLOR, "kgs-rules", None),
        (JAPANESE, "", None),
    ],
)
def test_rules_are_sent_by_a_command_that_is_listed(rules: Rules, listed: str, command: str | None) -> None:
    assert rules_command(rules, listed.split()) == command


def test_rules_without_a_name_are_sent_by_their_fields() -> None:
    command = rules_command(TROMP_TAYLOR.with_field("hasButton", True), ["kata-set-rules"])
    assert command is not None
    assert command.startswith('kata-set-rules {"')


def test_square_boards_are_sent_with_one_number() -> None:
    assert (size_command(9, 9), size_command(13, 9)) == ("boardsize 9", "boardsize 13 9")


@pytest.mark.parametrize(
    ("replies", "called"),
    [
        ({"name": Reply(True, "GNU Go"), "version": Reply(True, "3.8")}, "GNU Go 3.8"),
        ({"name": Reply(True, "GNU Go"), "version": Reply(False, "unknown")}, "GNU Go"),
        ({"name": Reply(False, "unknown"), "version": Reply(True, "3.8")}, ""),
    ],
)
def test_a_program_is_called_what_it_says(replies: dict[str, Reply], called: str) -> None:
    assert introduced(replies.__getitem__) == called
