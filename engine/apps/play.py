"""`keima play`: one game at the terminal, a person who types moves against the engine, saved as SGF."""

import sys
from collections.abc import Callable
from datetime import datetime
from io import TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING

from engine.color import BLACK, WHITE, color_letter, color_name, opponent
from engine.errors import BadVertex, GoError, IllegalMove
from engine.game import Game
from engine.handicap import fixed_handicap_points, possible_handicaps
from engine.records.diagram import showboard
from engine.records.setup import Setup
from engine.records.sgf import load_sgf, load_variations
from engine.records.sgf_source import count_games, is_packed, read_file
from engine.records.sgf_writer import write_game
from engine.rules import Rules, parse_rules, rules_text
from engine.scoring import VOID, final_score, format_score
from engine.settings.levels import FULL
from engine.settings.table import settings_on
from engine.support.files import require_writable, unused, write_atomically
from engine.support.stopping import INTERRUPTED, interrupting
from engine.vertex import format_vertex, parse_vertex

if TYPE_CHECKING:
    from engine.players import Limits, Player

_PLAY = settings_on("play")
_HUMAN = "Human"

HELP = """D4      play there (any point; columns have no I)
pass    pass; two passes in a row end the game
undo    take back your last move and the answer to it
hint    show the move that the engine would play for you
score   count the present position, without dead stones
board   show the board again
resign  resign the game
quit    stop; the game is saved"""


# More than 8 parameters: they are the command's options, which click passes by name, and the streams of the tests.
def cli_play(
    make_player: "Callable[[int, int], Player]",
    limits: "Limits",
    *,
    size: int | tuple[int, int] = _PLAY["size"].default,
    komi: float = _PLAY["komi"].default,
    rules: str = _PLAY["rules"].default,
    color: str = _PLAY["color"].default,
    handicap: int = _PLAY["handicap"].default,
    rank: str = _PLAY["rank"].default,
    record: str | Path | None = None,
    sgf: str | Path | None = None,
    stdin: IO[str] | None = None,
    stdout: IO[str] | None = None,
) -> int:
    """Play one game and return the exit status: 0, 130 after an interruption, 2 for bad rules or a bad handicap.

    make_player: creates the player for a width and height. limits: of the engine's search for a move or a hint.
    rank: of the engine's moves; hints have full strength. color: the person's.
    record: an SGF file that is continued from its end; its size, komi and rules go before the options'.
    sgf: where the game is saved, no file yet or the record's; by default keima-DATE-TIME.sgf in the current directory.
    Raises OSError if the game cannot be saved there or the record cannot be read.
    """
    output = stdout or sys.stdout
    path = Path(sgf) if sgf is not None else Path(f"keima-{datetime.now():%Y%m%d-%H%M%S}.sgf")
    try:
        if path.is_file() and not (record is not None and path.samefile(record)):
            raise GoError(f"--sgf: {path} exists, and the game would replace it; --record goes on with a saved game")
        if record is None:
            game = _new_game(size, parse_rules(rules), komi, handicap)
        elif handicap:
            raise GoError("--handicap is for a new game; a record has its own stones")
        else:
            game = _continued(Path(record), parse_rules(rules), komi)
            if path.is_file():
                _refuse_loss(path)
    except GoError as error:
        output.write(f"keima play: {error}\n")
        return 2
    require_writable(path)
    if stdin is None and isinstance(sys.stdin, TextIOWrapper):
        # A byte that is not valid in the terminal's encoding becomes an unknown command, not a crash.
        sys.stdin.reconfigure(errors="replace")
    player = make_player(game.width, game.height)
    try:
        return play_terminal(
            player,
            game,
            WHITE if color.lower() in ("white", "w") else BLACK,
            limits=limits,
            rank=rank,
            sgf_path=path,
            stdin=stdin,
            stdout=output,
        )
    finally:
        player.close()


def _new_game(size: int | tuple[int, int], rules: Rules, komi: float, handicap: int) -> Game:
    """Return a game before its first move. Raises GoError if the board does not have that fixed handicap."""
    width, height = (size, size) if isinstance(size, int) else size
    game = Game(width, height, rules=rules, komi=komi)
    if handicap:
        try:
            game.place_handicap(fixed_handicap_points(handicap, width, height))
        except IllegalMove:
            possible = possible_handicaps(width, height)
            raise GoError(f"--handicap: expected {possible} on {width}x{height}, got {handicap}") from None
    return game


def _continued(path: Path, rules: Rules, komi: float) -> Game:
    """Return the game at the end of a record; rules and komi are for a record without. Raises GoError, OSError."""
    record = load_sgf(path)
    if komi == _PLAY["komi"].default and record.is_handicap_game:
        komi = record.usual_komi
    return record.game(rules=record.rules or rules, komi=komi if record.komi is None else record.komi)


def _refuse_loss(path: Path) -> None:
    """Raise GoError if a record has what a saved game has not: it would be lost when the game takes its place."""
    if is_packed(path):
        raise GoError(f"--sgf: {path} holds games that are packed, and the saved game is not: name another file")
    data = read_file(path)
    record = load_sgf(data, name=str(path))
    names = [name for name in (record.black, record.white) if name not in ("", _HUMAN) and not name.startswith("Keima")]
    lost = {
        "names of players": names,
        "facts about the game": record.about,
        "comments": record.comments,
        "marks": record.markup,
        "variations": load_variations(data, record, 1),
        "stones that are set up between moves": any(isinstance(step, Setup) for step in record.steps),
        "a handicap without its stones": record.handicap and record.handicap > 1 and record.start is None,
        "other games": count_games(data) > 1,
    }
    if any(lost.values()):
        found = " and ".join(what for what, there in lost.items() if there)
        raise GoError(f"--sgf: {path} has {found}, which the saved game would not have: name another file")


def play_terminal(
    player: "Player",
    game: Game,
    human_color: int,
    *,
    limits: "Limits",
    rank: str = FULL,
    sgf_path: Path | None = None,
    stdin: IO[str] | None = None,
    stdout: IO[str] | None = None,
) -> int:
    """Play a game to its end over the given streams; return the exit status: 0, or 130 after Ctrl-C, SIGTERM, SIGHUP.

    A game in which something was played, or that was resigned, is saved to `sgf_path` however it stops, or beside a
    file that came to be there meanwhile; None saves nothing.
    """
    replaces, begun = sgf_path is not None and sgf_path.exists(), list(game.moves)
    session = _Session(player, game, human_color, limits, rank, stdin or sys.stdin, stdout or sys.stdout)
    try:
        with interrupting():
            session.run()
        return 0
    except KeyboardInterrupt:
        player.stop()
        session.say("\nInterrupted.")
        return INTERRUPTED
    finally:
        # A record that was only looked at stays as it is, with its result.
        if sgf_path is not None and game.moves and (list(game.moves) != begun or session.is_resigned):
            session.save(sgf_path if replaces else unused(sgf_path))


class _Session:
    """One game in progress between the person at the streams and the player."""

    def __init__(
        self, player: "Player", game: Game, human: int, limits: "Limits", rank: str, source: IO[str], screen: IO[str]
    ) -> None:
        # Late: numba need not be loaded to report a bad option.
        from engine.players.base import at_rank

        self._player = player
        self._game = game
        self._human = human
        self._limits_of_hints = limits
        self._limits = at_rank(limits, rank, game.width, game.height)
        self._source = source
        self._screen = screen
        self._result: str | None = None
        self._running = True
        self._commands: dict[str, Callable[[], None]] = {
            "undo": self._undo,
            "hint": self._hint,
            "score": self._score,
            "board": self._show,
            "resign": self._resign,
            "help": lambda: self.say(HELP),
            "quit": self._quit,
        }

    def run(self) -> None:
        """Play until the game is over or the person stops."""
        game = self._game
        self.say(f"You play {color_name(self._human)} against {self._player.name}. Type help for the commands.")
        self.say(f"{game.width}x{game.height}, {rules_text(game.rules)} rules, komi {game.komi:g}.")
        self._show()
        while self._running:
            if self._game.is_over:
                self._count()
            elif self._game.to_play == self._human:
                self._ask()
            else:
                self._answer()

    @property
    def is_resigned(self) -> bool:
        """Whether one side has resigned."""
        return self._result is not None and self._result.endswith("+R")

    def say(self, text: str) -> None:
        """Write a line to the screen."""
        self._screen.write(text + "\n")
        self._screen.flush()

    def save(self, path: Path) -> None:
        """Save the game to `path` atomically; where that fails, show its record and raise OSError."""
        names = {self._human: _HUMAN, opponent(self._human): self._player.name}
        text = write_game(self._game, result=self._result, black=names[BLACK], white=names[WHITE])
        try:
            write_atomically(path, text)
        except OSError:
            self.say(f"The game could not be saved. This is its record:\n{text}")
            raise
        self.say(f"Saved as {path}.")

    def _ask(self) -> None:
        """Read one line and run it: a command or a move; anything else is reported and changes nothing."""
        self._screen.write(f"{color_name(self._human)} to play> ")
        self._screen.flush()
        line = self._source.readline()
        word = line.strip()
        if not line:
            self._quit()
        elif word.lower() in self._commands:
            self._commands[word.lower()]()
        elif word:
            self._move(word)

    def _move(self, word: str) -> None:
        game = self._game
        try:
            game.play(self._human, parse_vertex(word, game.width, game.height))
        except BadVertex:
            self.say(f"{word!r} is neither a point of this board nor a command; type help for a list.")
        except IllegalMove as error:
            self.say(f"Illegal move: {error}.")

    def _answer(self) -> None:
        """Play the engine's move."""
        game, color = self._game, opponent(self._human)
        decision = self._player.genmove(game.copy(), color, self._limits)
        if decision.resign:
            self.say(f"{self._player.name} resigns.")
            self._end(f"{color_letter(self._human)}+R")
            return
        game.play(color, decision.vertex)
        self.say(f"{self._player.name} ({color_name(color)}): {self._name(decision.vertex)}")
        self._show()

    def _undo(self) -> None:
        """Take back the person's last move and everything after it."""
        if all(move.color != self._human for move in self._game.moves):
            self.say("You have no move to take back.")
            return
        while self._game.undo().color != self._human:
            pass
        self._show()

    def _hint(self) -> None:
        decision = self._player.genmove(self._game.copy(), self._human, self._limits_of_hints)
        chance = "" if decision.winrate is None else f"; {color_name(self._human)} then wins {decision.winrate:.0%}"
        advice = "resign" if decision.resign else f"play {self._name(decision.vertex)}"
        self.say(f"{self._player.name} would {advice}{chance}.")

    def _score(self) -> None:
        self.say(f"As it stands: {self._counted()}")

    def _show(self) -> None:
        self.say(showboard(self._game))

    def _resign(self) -> None:
        self._end(f"{color_letter(opponent(self._human))}+R")

    def _quit(self) -> None:
        self._running = False

    def _count(self) -> None:
        self._end(self._counted())

    def _end(self, result: str) -> None:
        self._result = result
        self._running = False
        self.say(f"The game is over: {result}")

    def _counted(self) -> str:
        """Return the result of the position, after removing the stones that the player judges dead, or "Void"."""
        if self._game.no_result:
            return VOID
        dead, seki = (
            [vertex for chain in chains for vertex in chain]
            for chains in (self._player.dead_stones(self._game), self._player.seki_stones(self._game))
        )
        return format_score(final_score(self._game, dead, seki))

    def _name(self, vertex: int) -> str:
        return format_vertex(vertex, self._game.width, self._game.height)
