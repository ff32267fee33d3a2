"""A person at a terminal: what is typed, what is shown, and what is saved."""

import io
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.apps.play import cli_play, play_terminal
from engine.color import BLACK, WHITE, opponent
from engine.game import Game
from engine.players import Decision, Limits
from engine.records.sgf import load_sgf
from engine.rules import CHINESE, TROMP_TAYLOR
from engine.vertex import PASS, format_vertex, parse_vertex


class ScriptedPlayer:
    """A player that plays the moves it was given, then passes; "resign" and "interrupt" are moves too."""

    name = "Script"

    def __init__(self, *moves: str, dead: tuple[str, ...] = ()) -> None:
        self.calls: list[tuple[int, int, Limits]] = []
        self.was_closed = False
        self.was_stopped = False
        self._moves = list(moves)
        self._dead = dead

    def genmove(self, game: Game, color: int, limits: Limits) -> Decision:
        """Take the next move of the script."""
        self.calls.append((game.move_number, color, limits))
        move = self._moves.pop(0) if self._moves else "pass"
        if move == "interrupt":
            raise KeyboardInterrupt
        if move == "resign":
            return Decision(PASS, resign=True)
        vertex = parse_vertex(move, game.width, game.height)
        if game.is_legal(color, vertex):
            game.play(color, vertex)  # its game is a copy: nothing may come of this
        return Decision(vertex, winrate=0.25)

    def dead_stones(self, game: Game, limits: Limits | None = None) -> list[list[int]]:
        """Return each scripted vertex as a chain."""
        return [[parse_vertex(name, game.width, game.height)] for name in self._dead]

    def seki_stones(self, game: Game) -> list[list[int]]:
        """Return nothing."""
        return []

    def expected_score(self, game: Game) -> float | None:
        """Return nothing."""
        return None

    def stop(self) -> None:
        """Note the call."""
        self.was_stopped = True

    def new_game(self) -> None:
        """Forget nothing."""

    def close(self) -> None:
        """Note the call."""
        self.was_closed = True


LIMITS = Limits(visits=7)


def play(player: ScriptedPlayer, typed: str, sgf: Path | None = None, human: int = BLACK) -> tuple[int, str]:
    """Play on 5x5 with the given typed words, one a line; return the status and what was shown."""
    screen = io.StringIO()
    status = play_terminal(
        player,
        Game(5, 5, rules=TROMP_TAYLOR, komi=0.5),
        human,
        limits=LIMITS,
        sgf_path=sgf,
        stdin=io.StringIO("".join(f"{word}\n" for word in typed.split(" "))),
        stdout=screen,
    )
    return status, screen.getvalue()


def moves_of(sgf: Path) -> list[str]:
    """Return the vertices of a saved game."""
    game = load_sgf(sgf).game()
    assert all(color == (BLACK, WHITE)[index % 2] for index, (color, _) in enumerate(game.moves))
    return [format_vertex(vertex, game.width, game.height) for _, vertex in game.moves]


def boards(shown: str) -> int:
    """Return how many boards were shown."""
    return len(re.findall(r"^ *5 .* 5\b", shown, re.MULTILINE))


def test_a_game_to_two_passes_is_counted_and_saved(tmp_path: Path) -> None:
    sgf = tmp_path / "game.sgf"
    player = ScriptedPlayer("C4", "pass")
    status, shown = play(player, "c3 pass", sgf)
    assert status == 0
    assert moves_of(sgf) == ["C3", "C4", "pass", "pass"]
    assert "Script (white): C4" in shown
    assert "The game is over: W+0.5" in shown
    text = sgf.read_text()
    assert "RE[W+0.5]" in text
    assert "PB[Human]" in text
    assert "PW[Script]" in text
    assert [call[:2] for call in player.calls] == [(1, WHITE), (3, WHITE)]
    assert player.calls[0][2] == LIMITS


def test_dead_stones_are_taken_off_before_counting() -> None:
    _, shown = play(ScriptedPlayer("C4", "pass", dead=("C4",)), "C3 pass")
    assert "The game is over: B+24.5" in shown


def test_the_engine_begins_when_the_person_is_white(tmp_path: Path) -> None:
    sgf = tmp_path / "game.sgf"
    _, shown = play(ScriptedPlayer("C3"), "D4 quit", sgf, human=WHITE)
    assert moves_of(sgf) == ["C3", "D4", "pass"]
    assert "You play white against Script." in shown
    assert "PB[Script]" in sgf.read_text()


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        ("Z9", "'Z9' is neither a point of this board nor a command"),
        ("nonsense", "'nonsense' is neither a point of this board nor a command"),
        ("D44", "'D44' is neither a point of this board nor a command"),
        ("C3", "Illegal move: C3: occupied."),
    ],
)
def test_invalid_input_is_answered_and_asked_again(tmp_path: Path, word: str, answer: str) -> None:
    sgf = tmp_path / "game.sgf"
    _, shown = play(ScriptedPlayer("C3", "C4"), f"{word} D4 quit", sgf, human=WHITE)
    assert answer in shown
    assert shown.count("white to play>") == 3
    assert moves_of(sgf) == ["C3", "D4", "C4"]


def test_thousands_of_invalid_lines_are_no_problem() -> None:
    status, shown = play(ScriptedPlayer(), "what " * 5000 + "quit")
    assert status == 0
    assert shown.count("'what' is neither") == 5000


def test_blank_lines_ask_again() -> None:
    assert play(ScriptedPlayer(), "  quit")[1].count("black to play>") == 3


def test_undo_takes_back_the_answer_and_the_own_move(tmp_path: Path) -> None:
    sgf = tmp_path / "game.sgf"
    _, shown = play(ScriptedPlayer("C4", "D4"), "C3 undo B2 quit", sgf)
    assert moves_of(sgf) == ["B2", "D4"]
    assert "You have no move to take back" not in shown


@pytest.mark.parametrize(("human", "typed"), [(BLACK, "undo quit"), (WHITE, "undo quit")])
def test_undo_without_an_own_move_changes_nothing(tmp_path: Path, human: int, typed: str) -> None:
    sgf = tmp_path / "game.sgf"
    player = ScriptedPlayer("C3")
    _, shown = play(player, typed, sgf, human=human)
    assert "You have no move to take back." in shown
    assert len(player.calls) == (human == WHITE)


def test_a_hint_is_shown_and_not_played(tmp_path: Path) -> None:
    sgf = tmp_path / "game.sgf"
    player = ScriptedPlayer("B2", "C4")
    _, shown = play(player, "hint C3 quit", sgf)
    assert "Script would play B2; black then wins 25%." in shown
    assert player.calls[0][1] == BLACK
    assert moves_of(sgf) == ["C3", "C4"]
    assert "Script would resign." in play(ScriptedPlayer("resign"), "hint quit")[1]


def test_score_board_and_help_leave_the_game_as_it_is() -> None:
    player = ScriptedPlayer("C4")
    shown = play(player, "C3 score board help quit")[1]
    assert "As it stands: W+0.5" in shown
    assert boards(shown) == 3  # at the start, after the engine's move, when asked
    assert "take back your last move" in shown
    assert len(player.calls) == 1


@pytest.mark.parametrize(
    ("player", "typed", "result"),
    [(ScriptedPlayer(), "C3 RESIGN", "W+R"), (ScriptedPlayer("resign"), "C3", "B+R")],
)
def test_resigning_ends_the_game(tmp_path: Path, player: ScriptedPlayer, typed: str, result: str) -> None:
    sgf = tmp_path / "game.sgf"
    status, shown = play(player, typed, sgf)
    assert status == 0
    assert f"The game is over: {result}" in shown
    assert f"RE[{result}]" in sgf.read_text()


def test_the_end_of_the_input_saves_and_ends(tmp_path: Path) -> None:
    sgf = tmp_path / "game.sgf"
    assert play(ScriptedPlayer("C4"), "C3", sgf)[0] == 0
    assert moves_of(sgf) == ["C3", "C4"]


class InterruptedInput(io.StringIO):
    """Lines, and Ctrl-C after the last."""

    def readline(self, *_: object) -> str:  # type: ignore[override]
        """Return the next line."""
        line = super().readline()
        if not line:
            raise KeyboardInterrupt
        return line


class SignalledInput(io.StringIO):
    """A terminal that is closed, or whose program is to end, after the lines that are typed."""

    end: signal.Signals

    def readline(self, size: int = -1) -> str:  # type: ignore[override]
        line = super().readline()
        if not line:
            signal.raise_signal(self.end)
        return line


@pytest.mark.parametrize("end", ["SIGTERM", "SIGHUP"])
def test_a_closed_terminal_saves_the_game(tmp_path: Path, end: str) -> None:
    sgf = tmp_path / "game.sgf"
    source = SignalledInput("C3\n")
    source.end = signal.Signals[end]
    # Under nohup SIGHUP is ignored, and stays so.
    before = signal.signal(source.end, signal.SIG_DFL)
    try:
        status, _ = command(lambda: ScriptedPlayer("C4"), source, size=5, sgf=sgf)
        assert (status, moves_of(sgf)) == (130, ["C3", "C4"])
        assert signal.getsignal(source.end) == signal.SIG_DFL
    finally:
        signal.signal(source.end, before)


def test_a_place_that_cannot_be_written_is_named_before_the_first_move(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError) as caught:
        command(ScriptedPlayer, io.StringIO("C3\n"), size=5, sgf=tmp_path / "file" / "game.sgf")
    assert caught.value.filename
    command(lambda: ScriptedPlayer("C4"), io.StringIO("C3\n"), size=5, sgf=tmp_path / "new" / "game.sgf")
    assert moves_of(tmp_path / "new" / "game.sgf") == ["C3", "C4"]


def test_ctrl_c_saves_the_game(tmp_path: Path) -> None:
    sgf = tmp_path / "game.sgf"
    screen = io.StringIO()
    status = play_terminal(
        ScriptedPlayer("C4"),
        Game(5, 5, rules=CHINESE, komi=7.5),
        BLACK,
        limits=LIMITS,
        sgf_path=sgf,
        stdin=InterruptedInput("C3\n"),
        stdout=screen,
    )
    assert status == 130
    assert moves_of(sgf) == ["C3", "C4"]
    assert "RE[" not in sgf.read_text()
    assert f"Saved as {sgf}." in screen.getvalue()
    assert list(tmp_path.iterdir()) == [sgf]


def test_ctrl_c_while_the_engine_thinks_saves_the_game(tmp_path: Path) -> None:
    sgf = tmp_path / "game.sgf"
    player = ScriptedPlayer("interrupt")
    assert play(player, "C3", sgf)[0] == 130
    assert player.was_stopped
    assert moves_of(sgf) == ["C3"]


class Meanwhile(io.StringIO):
    """Input during which something else happens on this machine."""

    def __init__(self, text: str, happens: Callable[[], object]) -> None:
        super().__init__(text)
        self._happens = happens

    def readline(self, size: int | None = -1, /) -> str:
        """Return the next line."""
        self._happens()
        return super().readline()


def test_a_game_that_another_program_saved_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    sgf, taken = tmp_path / "game.sgf", tmp_path / "game-2.sgf"
    others = Meanwhile("C3\n", lambda: [file.write_text("another game") for file in (sgf, taken)])
    _, shown = command(lambda: ScriptedPlayer("C4"), others, size=5, sgf=sgf)
    assert f"Saved as {tmp_path / 'game-3.sgf'}." in shown
    assert moves_of(tmp_path / "game-3.sgf") == ["C3", "C4"]


def test_a_game_that_cannot_be_saved_is_shown(tmp_path: Path) -> None:
    folder, screen = tmp_path / "new", io.StringIO()
    lost = Meanwhile("C3\n", lambda: folder.exists() and folder.rename(tmp_path / "old") and folder.touch())
    with pytest.raises(OSError):
        cli_play(lambda *_: ScriptedPlayer("C4"), LIMITS, size=5, sgf=folder / "x.sgf", stdin=lost, stdout=screen)  # type: ignore[arg-type, return-value]
    assert re.search(r"could not be saved. This is its record:\n\(;.*B\[cc\];W\[cb\]", screen.getvalue(), re.DOTALL)


def test_a_game_without_moves_is_not_saved(tmp_path: Path) -> None:
    play(ScriptedPlayer(), "quit", tmp_path / "game.sgf")
    assert list(tmp_path.iterdir()) == []


def command(player: Callable[[], ScriptedPlayer], typed: str | io.StringIO, **options: object) -> tuple[int, str]:
    """Run the command with typed words."""
    screen = io.StringIO()
    source = io.StringIO("".join(f"{word}\n" for word in typed.split(" "))) if isinstance(typed, str) else typed
    status = cli_play(lambda *_: player(), LIMITS, stdin=source, stdout=screen, **options)  # type: ignore[arg-type]
    return status, screen.getvalue()


def test_the_command_plays_with_its_options_and_closes_the_player(tmp_path: Path) -> None:
    player = ScriptedPlayer("A1")
    options = {"size": (7, 3), "komi": 3.5, "rules": "chinese", "color": "white", "sgf": tmp_path / "x.sgf"}
    status, shown = command(lambda: player, "G3 quit", **options)
    assert (status, player.was_closed) == (0, True)
    text = (tmp_path / "x.sgf").read_text()
    for part in ("SZ[7:3]", "KM[3.5]", "RU[Chinese]", "B[ac];W[ga]"):
        assert part in text
    assert opponent(WHITE) == player.calls[0][1]
    assert "You play white" in shown


def test_a_record_goes_before_the_options_and_the_game_says_so(tmp_path: Path) -> None:
    record = tmp_path / "old.sgf"
    record.write_text("(;SZ[5]KM[3.5]RU[Japanese];B[cc])")
    options = {"size": 9, "komi": 7.5, "rules": "chinese", "record": record, "sgf": tmp_path / "new.sgf"}
    assert "5x5, japanese rules, komi 3.5." in command(ScriptedPlayer, "quit", **options)[1]


def test_the_command_names_a_file_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command(ScriptedPlayer, "C3 quit")
    (saved,) = tmp_path.iterdir()
    assert re.fullmatch(r"keima-\d{8}-\d{6}\.sgf", saved.name)


def test_unknown_rules_are_status_2() -> None:
    status, shown = command(ScriptedPlayer, "quit", rules="nobody's")
    assert status == 2
    assert shown.startswith("keima play: unknown rules")


def test_a_handicap_game_begins_with_white_and_is_saved_with_its_stones(tmp_path: Path) -> None:
    player = ScriptedPlayer("E5")
    status, shown = command(lambda: player, "D3 quit", size=9, handicap=2, sgf=tmp_path / "x.sgf")
    assert status == 0
    assert player.calls[0][:2] == (0, WHITE)
    saved = load_sgf(tmp_path / "x.sgf")
    assert saved.handicap == 2
    assert [format_vertex(vertex, 9, 9) for _, vertex in saved.moves[:2]] == ["E5", "D3"]
    assert "Illegal move" not in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 9, "handicap": 1}, "--handicap: expected 2 to 9 stones on 9x9, got 1"),
        ({"size": 8, "handicap": 5}, "--handicap: expected 2 to 4 stones on 8x8, got 5"),
        ({"size": 5, "handicap": 2}, "--handicap: expected none on 5x5, got 2"),
        ({"record": "x.sgf", "handicap": 2}, "--handicap is for a new game; a record has its own stones"),
    ],
)
def test_a_handicap_that_cannot_be_is_status_2(options: dict[str, object], message: str) -> None:
    assert command(ScriptedPlayer, "quit", **options) == (2, f"keima play: {message}\n")
