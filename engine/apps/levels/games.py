"""Games between players of ranks and programs, many at a time in one process, limited by visits alone.

The players of one process share the evaluator.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from engine.apps.analysis_server.pool import default_threads
from engine.color import BLACK, WHITE, color_name, opponent
from engine.errors import BadVertex, GoError, IllegalMove
from engine.evaluators.factory import Opened
from engine.evaluators.joined import joined
from engine.evaluators.raw import RawNetwork
from engine.game import Game
from engine.players import Limits, SearchPlayer, at_rank
from engine.players.sharing import RunningSearches
from engine.programs.program import RESTING, Program, ProgramFailure
from engine.rules import parse_rules
from engine.scoring import final_score
from engine.search.params import SearchParams
from engine.vertex import format_vertex, parse_vertex

RULES = "tromp-taylor"
"""What stands on the board counts, and nobody has to judge dead stones."""
_LONGEST = 3
"""Most moves of a game, as a multiple of the board's points; then it is counted as it stands."""
_MEMORY_MIB = 8
_REPLY_SECONDS = 600.0


def komi_on(size: int) -> float:
    """Return the komi of games on a board: 7 is fair on 9x9."""
    return 7.0 if size <= 9 else 7.5


@dataclass(frozen=True)
class Opponent:
    """A program that ranks meet at several strengths; the player's name is `NAME-STRENGTH`.

    setup: GTP commands before a game, in which {} is the strength. meets: the ranks that play it.
    """

    name: str
    setup: tuple[str, ...]
    strengths: tuple[int, ...]
    meets: tuple[str, ...]

    def players(self) -> list[str]:
        """Return the names of the players, the weakest first."""
        return [f"{self.name}-{strength}" for strength in self.strengths]


GNUGO = Opponent("gnugo", ("level {}",), (1, 4, 7, 10), ("10k", "7k"))
KATAGO = Opponent("katago", (f"kata-set-rules {RULES}", "kata-set-param maxVisits {}"), (8, 32), ("1d", "4d"))
OPPONENTS = {each.name: each for each in (GNUGO, KATAGO)}


class Mover(Protocol):
    """One side of a game."""

    def genmove(self, game: Game, color: int) -> int | None:
        """Return a move, None to resign."""

    def played(self, game: Game, color: int, vertex: int) -> None:
        """Take note of the opponent's move."""


class RankMover:
    """A player of a rank."""

    def __init__(self, player: SearchPlayer, rank: str) -> None:
        self._player, self._rank = player, rank

    def genmove(self, game: Game, color: int) -> int | None:
        """Return a move, None to resign."""
        decision = self._player.genmove(game, color, at_rank(Limits(), self._rank, game.width, game.height))
        return None if decision.resign else decision.vertex

    def played(self, game: Game, color: int, vertex: int) -> None:
        """Do nothing: the game is passed with each request."""


class ProgramMover:
    """A GTP program. setup: further commands before the game."""

    def __init__(self, program: Program, size: int, setup: Iterable[str]) -> None:
        self._program = program
        for command in (f"boardsize {size}", "clear_board", *setup, f"komi {komi_on(size):g}"):
            self._ask(command)

    def _ask(self, command: str) -> str:
        reply = self._program.ask(command, _REPLY_SECONDS)
        if not reply.ok:
            raise GoError(f"{self._program.command}: {command}: {reply.text}")
        return reply.text

    def genmove(self, game: Game, color: int) -> int | None:
        """Return a move, None to resign. Raises GoError and ProgramFailure."""
        text = self._ask(f"genmove {color_name(color)}").strip()
        try:
            return None if text.lower() == "resign" else parse_vertex(text, game.width, game.height)
        except BadVertex as error:
            raise GoError(f"{self._program.command}: genmove: {error}") from error

    def played(self, game: Game, color: int, vertex: int) -> None:
        """Take note of the opponent's move."""
        self._ask(f"play {color_name(color)} {format_vertex(vertex, game.width, game.height)}")


@dataclass(frozen=True)
class Result:
    """A finished game. points: of the first player, 1, 0.5 or 0. The first player has Black in games of even number."""

    first: str
    second: str
    number: int
    points: float
    moves: int

    @property
    def game(self) -> tuple[str, str, int]:
        """Who played, and the number of the game between them."""
        return self.first, self.second, self.number


class Players:
    """Creates the players of games by their names: a rank, or one of an opponent. Thread-safe.

    opened: the networks, of which a human one draws the moves of ranks. commands: the command line of each opponent, by
    its name. games_at_once: how many keep the evaluator busy.
    """

    def __init__(self, opened: Opened, params: SearchParams, size: int, commands: Mapping[str, str]) -> None:
        self.size, self._network, self._commands = size, opened.network, commands
        self._evaluator, self.games_at_once = joined(opened.evaluator), default_threads(opened.evaluator)
        human = opened.human
        self._human = None if human is None else RawNetwork(joined(human.evaluator), human.facts)
        # Each search has few visits.
        self._params = replace(params, max_memory_mib=_MEMORY_MIB)
        self._running = RunningSearches()
        self._local = threading.local()

    @contextmanager
    def movers(self, names: tuple[str, str]) -> Iterator[list[Mover]]:
        """Yield both sides of one game; a program runs for this game only."""
        with ExitStack() as stack:
            yield [self._mover(name, side, stack) for side, name in enumerate(names)]

    def _mover(self, name: str, side: int, stack: ExitStack) -> Mover:
        kind, _, strength = name.partition("-")
        if kind in self._commands:
            program = Program(self._commands[kind], RESTING)
            stack.callback(program.close)
            return ProgramMover(program, self.size, (each.format(strength) for each in OPPONENTS[kind].setup))
        # Two players for each thread: their searches' memory is allocated once.
        players = self._local.__dict__.setdefault("players", {})
        if side not in players:
            players[side] = SearchPlayer(
                self._evaluator, self._params, network=self._network, shared=self._running, human=self._human
            )
        players[side].new_game()
        return RankMover(players[side], name)


def play_game(players: Players, first: str, second: str, number: int, is_stopped: Callable[[], bool]) -> Result | None:
    """Play a game and return its result, None if it was stopped. Raises GoError for a program that fails."""
    game = Game(players.size, rules=parse_rules(RULES), komi=komi_on(players.size))
    black = number % 2
    try:
        with players.movers((first, second)) as sides:
            while not game.is_over and game.move_number < _LONGEST * players.size**2:
                if is_stopped():
                    return None
                color = game.to_play
                mover, other = (sides[black], sides[1 - black]) if color == BLACK else (sides[1 - black], sides[black])
                vertex = mover.genmove(game, color)
                if vertex is None:
                    return _result(first, second, number, opponent(color), game)
                other.played(game, color, vertex)
                game.play(color, vertex)
    except (ProgramFailure, IllegalMove) as error:
        raise GoError(f"{first} against {second}, game {number}: {error}") from error
    score = final_score(game, [])
    return _result(first, second, number, BLACK if score > 0 else WHITE if score < 0 else None, game)


def _result(first: str, second: str, number: int, winner: int | None, game: Game) -> Result:
    first_color = BLACK if number % 2 == 0 else WHITE
    return Result(first, second, number, 0.5 if winner is None else float(winner == first_color), game.move_number)
