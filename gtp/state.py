"""What a GTP session remembers: game, komi, rules, clocks, player. Knows no command and no stream.

Komi, rules and time settings survive a new board, as controllers send them in every order. The
engine's heavy modules are imported when the first stone needs them, not before.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from engine import __version__
from engine.clock import DEFAULT_LAG_BUFFER, Clock
from engine.errors import IllegalMove
from engine.rules import CHINESE_KGS, Rules
from engine.settings.levels import FULL_LEVEL
from engine.vertex import points
from gtp.errors import GtpError
from gtp.interrupts import Interrupts
from gtp.player_loader import PlayerFactory, PlayerLoader
from gtp.protocol import Command

if TYPE_CHECKING:
    from engine.game import Game
    from engine.players.cleanup import CleanUp
    from gtp.last_search import LastSearch

MIN_SIZE = 2
DEFAULT_MOVE_SECONDS = 5.0
DEFAULT_REG_VISITS = 400
DEFAULT_PV_LENGTH = 15
DEFAULT_ANALYSIS_NOISE = 0.04
_COUNT_IS_GOOD = 3.0
"""Points by which a game that goes on may be expected to end otherwise than it counts now, before that is told."""

Emit = Callable[[str], None]
"""Sends one whole line, given without its newline."""
Stream = Callable[[Emit], str]
"""The rest of a reply that comes line by line: sends lines, returns the last one or "" for none."""
Handler = Callable[["GtpState", Command], str | Stream]


class Perspective(StrEnum):
    """Whose chances analysis tells: KataGo's `reportAnalysisWinratesAs`."""

    SIDETOMOVE = "SIDETOMOVE"
    BLACK = "BLACK"
    WHITE = "WHITE"


@dataclass(frozen=True)
class SessionConfig:
    """What a session starts with.

    seconds, visits: the most that one move may take, clock or not; None for no such cap.
    fallback_seconds: a move's time when neither a cap nor a clock bounds it.
    level: of play, see `engine.settings.levels`.
    reg_visits: search effort of `reg_genmove`, which must not depend on time, if `visits` is None.
    lag_buffer: seconds of each move that are left to the controller and the connection.
    ponder: think in the opponent's time, after each own move.
    perspective, pv_length: of analysis; moves in a variation after its first one.
    analysis_noise: wide root noise (KataGo's `analysisWideRootNoise`), so that analysis looks at more moves.
    live_graphics, leela_lines: what searches write on stderr for GoGui and for gtp2ogs, see `gtp.stderr`.
    """

    name: str = "Keima"
    version: str = __version__
    rules: Rules = field(default=CHINESE_KGS)
    komi: float = 7.5
    width: int = 19
    height: int = 19
    seconds: float | None = None
    visits: int | None = None
    fallback_seconds: float = DEFAULT_MOVE_SECONDS
    level: int = FULL_LEVEL
    reg_visits: int = DEFAULT_REG_VISITS
    lag_buffer: float = DEFAULT_LAG_BUFFER
    ponder: bool = False
    perspective: Perspective = Perspective.SIDETOMOVE
    pv_length: int = DEFAULT_PV_LENGTH
    analysis_noise: float = DEFAULT_ANALYSIS_NOISE
    live_graphics: bool = False
    leela_lines: bool = False


@dataclass(frozen=True)
class Status:
    """Chains by their fate, one judgment for score and status lists alike."""

    alive: list[list[int]]
    seki: list[list[int]]
    dead: list[list[int]]


class GtpState:
    """One session's memory.

    commands: every listed command; `list_commands` tells nothing else. awaits_reply: an own move was
    the last thing to happen on the board, so the time until the next line is the opponent's. last_search: the last
    search for a move in this game. trials: how many of the last moves are on trial.
    """

    def __init__(self, config: SessionConfig, factory: PlayerFactory, commands: Mapping[str, "Handler"]) -> None:
        self.config = config
        self.commands = commands
        self.player_loader = PlayerLoader(factory, lambda: (self.width, self.height))
        self.interrupts = Interrupts(self.player_loader.stop)
        self.awaits_reply = False
        self.last_search: LastSearch | None = None
        self.trials = 0
        self._clean_up: CleanUp | None = None
        self.clock = Clock(lag_buffer=config.lag_buffer)
        self.rules = config.rules
        self.komi = config.komi
        self.width = config.width
        self.height = config.height
        self._game: Game | None = None
        self._status: Status | None = None

    @property
    def game(self) -> "Game":
        """The game in progress. Change it by the methods of this class only."""
        if self._game is None:
            from engine.game import Game

            self._game = Game(self.width, self.height, rules=self.rules, komi=self.komi)
        return self._game

    @property
    def clean_up(self) -> "CleanUp":
        """What this game's clean-up knows of dead stones."""
        if self._clean_up is None:
            from engine.players.cleanup import CleanUp

            self._clean_up = CleanUp()
        return self._clean_up

    @property
    def may_ponder(self) -> bool:
        """True in the opponent's time, if the session ponders."""
        return self.config.ponder and self.awaits_reply

    @property
    def is_board_empty(self) -> bool:
        """True without a single stone; costs nothing on a fresh board."""
        return self._game is None or not any(map(self._game.color_at, points(self.width, self.height)))

    def configure(self, config: SessionConfig) -> None:
        """Go on with other settings of the session; board, rules and komi stay as they are."""
        self.config = config
        self.clock.lag_buffer = config.lag_buffer

    def reset(self, width: int | None = None, height: int | None = None) -> None:
        """Start a new game, on a board of another size if given. Komi, rules and time settings stay."""
        self.width = self.width if width is None else width
        self.height = self.height if height is None else height
        self.clock.reset()
        self._replace(None)

    def adopt(self, game: "Game") -> None:
        """Go on with a game from elsewhere; its size, rules and komi become the session's."""
        self.width, self.height = game.width, game.height
        self.rules, self.komi = game.rules, game.komi
        self.clock.reset()
        self._replace(game)

    def _replace(self, game: "Game | None") -> None:
        self._game, self._status, self._clean_up = game, None, None
        self.awaits_reply, self.last_search, self.trials = False, None, 0
        player = self.player_loader.if_ready()
        if player is not None:
            player.new_game()
            player.prepare(self.width, self.height)

    def set_komi(self, komi: float) -> None:
        """Change the komi of this game and all later ones."""
        self.komi = komi
        if self._game is not None:
            self._game.set_komi(komi)

    def set_rules(self, rules: Rules) -> None:
        """Change the rules of this game and all later ones."""
        self.rules, self._status = rules, None
        if self._game is not None:
            self._game.set_rules(rules)

    def play(self, color: int, vertex: int) -> None:
        """Play a move, whoever's turn it is and whatever superko says; ends all trials. Raises IllegalMove."""
        self.game.play(color, vertex, lenient=True)
        self._status, self.awaits_reply, self.trials = None, False, 0
        if self.game.is_over and not self.clean_up.goes_on(self.game):
            self.clean_up.expect(self.game)

    def undo(self, count: int = 1) -> None:
        """Take back `count` moves, or none of them; none while there are moves on trial. Raises IllegalMove."""
        if count > (0 if self.trials or self._game is None else self.game.move_number):
            raise IllegalMove("cannot undo")
        for _ in range(count):
            self.game.undo()
        self._status, self.awaits_reply = None, False

    def place_handicap(self, vertices: Sequence[int]) -> None:
        """Set up handicap stones on an empty board; passes played before are forgotten. Raises IllegalMove."""
        from engine.game import Game

        game = Game(self.width, self.height, rules=self.rules, komi=self.komi)
        game.place_handicap(vertices)
        self._replace(game)

    def set_up(self, black: Sequence[int], white: Sequence[int], to_play: int) -> None:
        """Start a new game from a position. Raises IllegalMove, changing nothing, if it cannot stand so."""
        from engine.game import Game

        game = Game(self.width, self.height, rules=self.rules, komi=self.komi)
        game.setup(black, white, to_play)
        self._replace(game)

    def status(self) -> Status:
        """Return the fate of every chain. Judged once a position, so that score and lists agree."""
        if self.is_board_empty:
            return Status([], [], [])
        if self._status is None:
            from engine.players import chains

            player = self.player_loader.get()
            dead = {vertex for chain in player.dead_stones(self.game) for vertex in chain}
            seki = {vertex for chain in player.seki_stones(self.game) for vertex in chain}
            fates: tuple[list[list[int]], ...] = ([], [], [])
            for chain in chains(self.game):
                fates[2 if dead & set(chain) else 1 if seki & set(chain) else 0].append(chain)
            self._status = Status(*fates)
            self.clean_up.learn(self.game, dead)
        return self._status

    def final_score(self) -> float:
        """Return the score by the fates that `status` tells, Black minus White.

        Of a game that goes on, where much is open and a count would tell nothing, the score that is expected.
        """
        from engine.scoring import final_score

        status = self.status()
        dead, seki = ([vertex for chain in chains for vertex in chain] for chains in (status.dead, status.seki))
        counted = final_score(self.game, dead, seki)
        if self.is_board_empty or self.game.is_over:
            return counted
        expected = self.player_loader.get().expected_score(self.game)
        if expected is None or abs(expected - counted) < _COUNT_IS_GOOD:
            return counted
        return counted + round(expected - counted)

    def require_empty_board(self) -> None:
        """Raise the standard's error unless the board is empty."""
        if not self.is_board_empty:
            raise GtpError("board not empty")
