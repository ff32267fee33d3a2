"""A person at a terminal against a player: one game, typed moves, saved as SGF.

Owns the conversation. Legality and counting are the game's, moves and advice the player's.
"""

import sys
from collections.abc import Callable
from datetime import datetime
from io import TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING

from engine.color import BLACK, WHITE, color_letter, color_name, opponent
from engine.errors import BadVertex, GoError, IllegalMove
from engine.game import Game
from engine.records.diagram import showboard
from engine.records.sgf_writer import write_game
from engine.rules import Rules, parse_rules
from engine.scoring import VOID, final_score, format_score
from engine.settings.levels import FULL_LEVEL
from engine.settings.table import settings_on
from engine.support.files import require_writable, write_atomically
from engine.support.stopping import INTERRUPTED, interrupting
from engine.vertex import format_vertex, parse_vertex

if TYPE_CHECKING:
    from engine.players import Limits, Player

_PLAY = settings_on("play")

HELP = """D4      play there (any point; columns have no I)
pass    pass; two passes in a row end the game
undo    take back your last move and the answer to it
hint    what the engine would play in your place
score   the count as it stands, dead stones taken off
board   show the board again
resign  give the game up
quit    stop here; the game is saved"""


# More than 8 parameters: they are the command's options, which click passes by name.
def cli_play(
    make_player: "Callable[[int, int], Player]",
    limits: "Limits",
    *,
    size: int | tuple[int, int] = _PLAY["size"].default,
    komi: float = _PLAY["komi"].default,
    rules: str = _PLAY["rules"].default,
    color: str = _PLAY["color"].default,
    level: int = _PLAY["level"].default,
    sgf: str | Path | None = None,
    stdin: IO[str] | None = None,
    stdout: IO[str] | None = None,
) -> int:
    """Play one game and return the exit status: 0, 130 after an interruption, 2 on options that cannot be.

    limits: what the engine may spend on a move, or on a hint. level: of its moves, not of its hints.
    color: the person's. sgf: where the game is saved; by default a name made of date and time in the current directory.
    Raises OSError where it cannot be.
    """
    output = stdout or sys.stdout
    width, height = (size, size) if isinstance(size, int) else size
    try:
        parsed = parse_rules(rules)
    except GoError as error:
        output.write(f"keima play: {error}\n")
        return 2
    path = Path(sgf) if sgf is not None else Path(f"keima-{datetime.now():%Y%m%d-%H%M%S}.sgf")
    require_writable(path)
    if stdin is None and isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # a stray byte is a typing error like others
    player = make_player(width, height)
    try:
        return play_terminal(
            player,
            width,
            height,
            parsed,
            komi,
            WHITE if color.lower() in ("white", "w") else BLACK,
            limits=limits,
            level=level,
            sgf_path=path,
            stdin=stdin,
            stdout=output,
        )
    finally:
        player.close()


# More than 8 parameters: they are the command's options, which click passes by name.
def play_terminal(
    player: "Player",
    width: int,
    height: int,
    rules: Rules,
    komi: float,
    human_color: int,
    *,
    limits: "Limits",
    level: int = FULL_LEVEL,
    sgf_path: Path | None = None,
    stdin: IO[str] | None = None,
    stdout: IO[str] | None = None,
) -> int:
    """Play one game over the given streams and return the exit status: 0, or 130 after Ctrl-C, SIGTERM or SIGHUP.

    However the game stops, its moves are saved to `sgf_path`, if there is one and there are any.
    """
    game = Game(width, height, rules=rules, komi=komi)
    conversation = _Conversation(player, game, human_color, limits, level, stdin or sys.stdin, stdout or sys.stdout)
    try:
        with interrupting():
            conversation.run()
        return 0
    except KeyboardInterrupt:
        player.stop()
        conversation.say("\nInterrupted.")
        return INTERRUPTED
    finally:
        conversation.save(sgf_path)


class _Conversation:
    """One game in progress between the person at the streams and the player."""

    def __init__(
        self, player: "Player", game: Game, human: int, limits: "Limits", level: int, source: IO[str], screen: IO[str]
    ) -> None:
        from engine.players.hidden_moves import at_level

        self._player = player
        self._game = game
        self._human = human
        self._limits_of_hints = limits
        self._limits = at_level(limits, level)
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
        self.say(f"You are {color_name(self._human)} against {self._player.name}. help lists what you can type.")
        self._show()
        while self._running:
            if self._game.is_over:
                self._count()
            elif self._game.to_play == self._human:
                self._ask()
            else:
                self._answer()

    def say(self, text: str) -> None:
        """Write a line to the person."""
        self._screen.write(text + "\n")
        self._screen.flush()

    def save(self, path: Path | None) -> None:
        """Write the game to `path`, whole or not at all, if it has moves."""
        if path is None or not self._game.moves:
            return
        names = {self._human: "Human", opponent(self._human): self._player.name}
        text = write_game(self._game, result=self._result, black=names[BLACK], white=names[WHITE])
        write_atomically(path, text)
        self.say(f"Saved as {path}.")

    def _ask(self) -> None:
        """Take one line from the person: a command, a move, or nonsense, which changes nothing."""
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
            self.say(f"{word!r} is neither a point of this board nor a command; help lists them.")
        except IllegalMove as error:
            self.say(f"Illegal move, {error}.")

    def _answer(self) -> None:
        """Let the player move."""
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
        """Take back moves down to and with the person's last one."""
        if all(move.color != self._human for move in self._game.moves):
            self.say("There is no move of yours to take back.")
            return
        while self._game.undo().color != self._human:
            pass
        self._show()

    def _hint(self) -> None:
        decision = self._player.genmove(self._game.copy(), self._human, self._limits_of_hints)
        chance = "" if decision.winrate is None else f" (win rate {decision.winrate:.0%})"
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
        """Return the score of the position without the stones that the player holds dead; a void game has none."""
        if self._game.no_result:
            return VOID
        dead, seki = (
            [vertex for chain in chains for vertex in chain]
            for chains in (self._player.dead_stones(self._game), self._player.seki_stones(self._game))
        )
        return format_score(final_score(self._game, dead, seki))

    def _name(self, vertex: int) -> str:
        return format_vertex(vertex, self._game.width, self._game.height)
