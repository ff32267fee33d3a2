"""Keeps a GTP program at the position of a game by sending only what has changed."""

from engine.color import BLACK, WHITE, color_name, opponent
from engine.game import Game
from engine.programs.commands import rules_command, size_command
from engine.programs.program import Program, Reply
from engine.vertex import format_vertex


class Follower:
    """One program, started when first needed and again after a failure.

    All requests raise ProgramFailure when the process fails; kill it then.
    """

    def __init__(self, command: str, seconds: float = 120.0) -> None:
        """seconds: the longest wait for a reply."""
        self.command = command
        self.commands: frozenset[str] = frozenset()
        self._seconds = seconds
        self._program: Program | None = None
        self._at: Game | None = None

    @property
    def program(self) -> Program:
        """The running process."""
        assert self._program is not None
        return self._program

    @property
    def is_running(self) -> bool:
        """True from the start of the process until its end was noticed."""
        return self._program is not None

    def start(self) -> None:
        """Start the program and read its list of commands."""
        self._at = None
        self._program = Program(self.command)
        listed = self.ask("list_commands")
        self.commands = frozenset(listed.text.split()) if listed.ok else frozenset()

    def lists(self, command: str) -> bool:
        """True if `list_commands` contains the command."""
        return command in self.commands

    def first_listed(self, *commands: str) -> str | None:
        """Return the first of the commands that the program lists, or None."""
        return next((command for command in commands if command in self.commands), None)

    def ask(self, command: str) -> Reply:
        """Send a command and return its reply."""
        return self.program.ask(command, self._seconds)

    def follow(self, game: Game) -> bool:
        """Bring the program to the position of a game; return False if it refuses."""
        at = self._at
        self._at = None
        if at is None or not _leads_to(at, game):
            if not self._set_up(game):
                return False
            done = 0
        else:
            done = len(at.moves)
        for color, vertex in game.moves[done:]:
            if not self._play(game, color, vertex):
                return False
        # A copy: the caller goes on with its game.
        self._at = game.copy()
        return True

    def take_back(self, played: str) -> None:
        """Undo a move that the program played by itself; "resign" needs nothing."""
        if played.lower() != "resign" and not (self.lists("undo") and self.ask("undo").ok):
            self._at = None

    def played(self, vertex: int) -> None:
        """Record the move that the program played by itself. Raises IllegalMove."""
        assert self._at is not None
        self._at.play(self._at.to_play, vertex)

    def lose_track(self) -> None:
        """Forget the program's position, so that the next request sends the whole game."""
        self._at = None

    def interrupt(self, seconds: float) -> None:
        """Stop a running `watch` within `seconds`. Thread-safe."""
        program = self._program
        if program is not None:
            program.interrupt(seconds)

    def kill(self) -> None:
        """Kill the program."""
        program, self._program = self._program, None
        if program is not None:
            program.kill()

    def close(self) -> None:
        """Ask the program to quit, if it runs."""
        program, self._program = self._program, None
        if program is not None:
            program.close()

    def _set_up(self, game: Game) -> bool:
        if not all(self.ask(line).ok for line in (size_command(game.width, game.height), "clear_board")):
            return False
        self.ask(f"komi {game.komi:g}")
        # Refused rules and komi are ignored: the game's own rules decide.
        rules = rules_command(game.rules, self.commands)
        if rules is not None:
            self.ask(rules)
        # The opponent's stones come last, so that the program knows whose turn it is.
        first = game.moves[0].color if game.moves else game.to_play
        stones = {BLACK: game.setup_black, WHITE: game.setup_white}
        return all(self._play(game, color, vertex) for color in (first, opponent(first)) for vertex in stones[color])

    def _play(self, game: Game, color: int, vertex: int) -> bool:
        return self.ask(f"play {color_name(color)} {format_vertex(vertex, game.width, game.height)}").ok


def _leads_to(at: Game, game: Game) -> bool:
    """True if `game` continues `at`."""
    return (
        (at.width, at.height, at.rules, at.komi) == (game.width, game.height, game.rules, game.komi)
        and (at.setup_black, at.setup_white) == (game.setup_black, game.setup_white)
        and len(at.moves) <= len(game.moves)
        and game.moves[: len(at.moves)] == at.moves
    )
