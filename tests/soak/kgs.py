"""Games through the commands of kgsGtp: rules, handicap, clocks, pauses, undo, chat, adjournment, disputes at the end.

The opponent plays random moves that fill no eye, and each game begins with a different board, rules and clock. Every
answer is checked: its frame, that moves are legal, that lists of dead stones are whole chains on the board.
"""

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from engine.board.layout import HEAD
from engine.color import BLACK, EMPTY, WHITE, color_letter, opponent
from engine.game import Game, Move
from engine.handicap import fixed_handicap_points
from engine.match.clock import Clock, parse_clock, settings_command
from engine.rules import KGS_PRESETS
from engine.vertex import PASS, format_vertex, neighbors, parse_vertex
from tests.conformity.driver import Controller, FramingError

_START_SECONDS = 900.0
_CLOCKS = ("byoyomi:20+5x10", "canadian:15+10/20", "absolute:120", "byoyomi:0+3x8")
_LISTED = ("kgs-time_settings",)
_CHAT = ("game", "private")
_LONGEST_PAUSE, _LONGEST_PONDERING = 0.2, 2.0
_MOST_CLEAN_UP = 60


@dataclass(frozen=True)
class Adjourned:
    """A game that was left, to be taken up again."""

    rules: str
    clock: str
    size: int
    komi: float
    color: int
    stones: tuple[str, ...]
    moves: tuple[Move, ...]


@dataclass
class Played:
    """What was played so far: games, and moves of the engine; how often the rarer things happened, by name."""

    games: int = 0
    moves: int = 0
    events: dict[str, int] = field(default_factory=dict)

    def count(self, event: str) -> None:
        """Count an event."""
        self.events[event] = self.events.get(event, 0) + 1


class KgsSession:
    """One engine process, and the game that it should have on its board.

    times: (seconds since the start, name of the command, seconds until its reply) of every command.
    """

    def __init__(self, engine: Controller, sizes: list[int], seed: int) -> None:
        self._engine = engine
        self._sizes = sizes
        self._random = random.Random(seed)
        self._began = time.monotonic()
        self._adjourned: Adjourned | None = None
        self.played = Played()
        self.times: list[tuple[float, str, float]] = []

    def ask(self, command: str) -> str:
        """Return the answer to a command that must succeed. Raises FramingError."""
        start = time.monotonic()
        reply = self._engine.ask(command, _START_SECONDS)
        self.times.append((start - self._began, command.split(" ")[0], time.monotonic() - start))
        if not reply.startswith("="):
            raise FramingError(f"{command} was answered {reply!r}")
        return reply[1:].strip()

    def greet(self) -> None:
        """Ask what kgsGtp asks at its start, and wait until the player has loaded."""
        for command in ("list_commands", "name", "version", "boardsize 9", "clear_board", "genmove b"):
            self._engine.ask(command, _START_SECONDS)
        self._began = time.monotonic()

    def play(self) -> Iterator[None]:
        """Play a game, or the rest of an adjourned one; yield after each move. Raises FramingError."""
        if self._adjourned is not None and self._random.random() < 0.5:
            start, self._adjourned = self._adjourned, None
            self.played.count("resumptions")
        else:
            start = self._new_game()
        game, clock = self._begin(start)
        most = self._random.randrange(start.size**2 // 2, start.size**2)
        while not game.is_over:
            yield
            if self._random.random() < 0.01 and self._adjourned is None and game.moves:
                self._adjourned = Adjourned(
                    start.rules, start.clock, start.size, start.komi, start.color, start.stones, tuple(game.moves)
                )
                self.played.count("adjournments")
                break
            if game.to_play == start.color:
                if not self._own_move(game, start.color, clock):
                    break
            else:
                self._opponent_moves(game, passes=game.move_number > most)
        else:
            yield from self._finish(game, start.color)
        self.ask("kgs-game_over")
        self.played.games += 1

    def _new_game(self) -> Adjourned:
        size = self._sizes[self.played.games % len(self._sizes)]
        stones: tuple[str, ...] = ()
        if self._random.random() < 0.25 and size >= 7:
            points = fixed_handicap_points(self._random.randrange(2, 5), size, size)
            stones = tuple(format_vertex(each, size, size) for each in points)
        return Adjourned(
            rules=self._random.choice(["chinese", "japanese", "aga", "new_zealand"]),
            clock=self._random.choice(_CLOCKS),
            size=size,
            komi=0.5 if stones else 7.5,
            color=self._random.choice((BLACK, WHITE)),
            stones=stones,
            moves=(),
        )

    def _begin(self, start: Adjourned) -> tuple[Game, Clock]:
        settings = parse_clock(start.clock)
        self.ask(f"kgs-rules {start.rules}")
        self.ask(f"boardsize {start.size}")
        self.ask("clear_board")
        self.ask(f"komi {start.komi:g}")
        command = settings_command(settings, _LISTED)
        assert command is not None
        self.ask(command)
        game = Game(start.size, rules=KGS_PRESETS[start.rules], komi=start.komi)
        if start.stones:
            self.ask(f"set_free_handicap {' '.join(start.stones)}")
            game.place_handicap([parse_vertex(each, start.size, start.size) for each in start.stones])
        for color, vertex in start.moves:
            game.play(color, vertex, lenient=True)
            self.ask(f"play {color_letter(color)} {format_vertex(vertex, start.size, start.size)}")
        return game, Clock(settings)

    def _own_move(self, game: Game, color: int, clock: Clock) -> bool:
        """Let the engine move; return False if it resigned or lost on time."""
        self.ask(clock.command(color_letter(color), fractions=False))
        start = time.monotonic()
        answer = self.ask(f"genmove {color_letter(color)}").lower()
        self.played.moves += 1
        if not clock.spend(time.monotonic() - start, grace=1.0):
            self.played.count("losses on time")
            return False
        if answer == "resign":
            self.played.count("resignations")
            return False
        self._accept(game, color, answer)
        if self._random.random() < 0.03:
            self.ask(f"kgs-chat {self._random.choice(_CHAT)} somebody what do you think of move {game.move_number}")
            self.played.count("chats")
        return True

    def _accept(self, game: Game, color: int, answer: str) -> None:
        """Play the engine's move on the own board. Raises FramingError if it is illegal."""
        vertex = parse_vertex(answer, game.width, game.height)
        if not game.is_legal(color, vertex):
            raise FramingError(f"move {game.move_number + 1} {answer} is illegal")
        game.play(color, vertex)

    def _opponent_moves(self, game: Game, *, passes: bool) -> None:
        """Think for a while, in which the engine ponders, then play, or take back the last two moves."""
        longest = _LONGEST_PONDERING if self._random.random() < 0.02 else _LONGEST_PAUSE
        time.sleep(self._random.random() * longest)
        if self._random.random() < 0.02 and game.move_number >= 2:
            for _ in range(2):
                self.ask("undo")
                game.undo()
            self.played.count("undos")
            return
        color = game.to_play
        vertex = PASS if passes else self._random_move(game)
        game.play(color, vertex)
        self.ask(f"play {color_letter(color)} {format_vertex(vertex, game.width, game.height)}")

    def _random_move(self, game: Game) -> int:
        """Return a legal move that fills no point surrounded by own stones; a pass if there is none."""
        color = game.to_play

        def is_eye(vertex: int) -> bool:
            return all(game.color_at(each) not in (EMPTY, opponent(color)) for each in neighbors(vertex, game.width))

        moves = [each for each in game.legal_vertices() if not is_eye(each)]
        return self._random.choice(moves) if moves else PASS

    def _finish(self, game: Game, color: int) -> Iterator[None]:
        """Ask who is dead after both passed; now and then disagree, and let the engine capture the dead stones."""
        self._dead_stones(game)
        if self._random.random() < 0.5:
            self.played.count("disputes")
            for _ in range(2):
                self.ask("undo")
                game.undo()
            for _ in range(_MOST_CLEAN_UP):
                yield
                if game.to_play != color:
                    self.ask(f"play {color_letter(opponent(color))} pass")
                    game.play(opponent(color), PASS)
                self._accept(game, color, self.ask(f"kgs-genmove_cleanup {color_letter(color)}").lower())
                self.played.moves += 1
                if game.moves[-1].vertex == PASS:
                    break
            if not game.is_over:
                self.ask(f"play {color_letter(opponent(color))} pass")
                game.play(opponent(color), PASS)
            self._dead_stones(game)
        self.ask("final_score")
        self.played.count("games to the end")

    def _dead_stones(self, game: Game) -> None:
        """Ask for the dead stones. Raises FramingError unless they are whole chains on the board."""
        for line in filter(None, self.ask("final_status_list dead").split("\n")):
            vertices = {parse_vertex(each, game.width, game.height) for each in line.split(" ")}
            heads = {int(game.board[HEAD, each]) for each in vertices}
            if len(heads) != 1 or any(game.color_at(each) == EMPTY for each in vertices):
                raise FramingError(f"dead stones {line!r} are not one chain")
