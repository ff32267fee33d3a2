"""The state of a GTP session: game, komi, rules, clocks, player. Knows no command and no stream.

Komi, rules and time settings survive a new board, because controllers send them in any order. Heavy modules of the
engine are imported when the first stone needs them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from engine import __version__
from engine.clock import DEFAULT_MOVE_SECONDS, Clock
from engine.errors import IllegalMove
from engine.rules import Rules, parse_rules
from engine.settings.table import settings_on
from engine.settings.table.surfaces import GTP
from engine.vertex import points
from gtp.errors import GtpError
from gtp.interrupts import Interrupts
from gtp.player_loader import PlayerFactory, PlayerLoader
from gtp.protocol import Command

if TYPE_CHECKING:
    from engine.game import Game
    from engine.players.cleanup import CleanUp
    from engine.search.search import Search
    from gtp.last_search import LastSearch

MIN_SIZE = 2
DEFAULT_REG_VISITS = 400
_SETTINGS = settings_on("gtp") | settings_on(GTP)
# In an unfinished game, `final_score` counts the board unless the expected score differs by this many points.
_COUNT_IS_GOOD = 3.0

Emit = Callable[[str], None]
"""Sends one whole line, given without its newline."""
Stream = Callable[[Emit], str]
"""The rest of a reply that comes line by line: sends lines, and returns the last one, "" for none."""
Handler = Callable[["GtpState", Command], str | Stream]


class Perspective(StrEnum):
    """Point of view of winrates in analysis: KataGo's `reportAnalysisWinratesAs`."""

    SIDETOMOVE = "SIDETOMOVE"
    BLACK = "BLACK"
    WHITE = "WHITE"


@dataclass(frozen=True)
class SessionConfig:
    """The initial settings of a session.

    seconds, visits: limits of one move, with or without a clock; None for no limit.
    fallback_seconds: time of a move that has neither a limit nor a clock.
    rank: of the moves to play, see `engine.settings.levels`.
    reg_visits: visits of `reg_genmove`, which must not depend on time, if `visits` is None.
    lag_buffer: seconds of each move that are kept for the controller and the connection.
    ponder: search in the opponent's time, after each own move.
    perspective, pv_length: of analysis; moves in a variation after its first one.
    analysis_noise: wide root noise (KataGo's `analysisWideRootNoise`), so that analysis searches more moves.
    analysis_ignores_past: analysis hides the moves before the position from the evaluator.
    idle_command: the command to run beside the session, for a board size, while it waits for the opponent and does not
        ponder; None for none.
    live_graphics, leela_lines: whether searches write to stderr for GoGui and for gtp2ogs, see `gtp.stderr`.
    """

    name: str = "Keima"
    version: str = __version__
    rules: Rules = field(default=parse_rules(_SETTINGS["rules"].default))
    komi: float = _SETTINGS["komi"].default
    width: int = _SETTINGS["size"].default[0]
    height: int = _SETTINGS["size"].default[1]
    seconds: float | None = None
    visits: int | None = None
    fallback_seconds: float = DEFAULT_MOVE_SECONDS
    rank: str = _SETTINGS["rank"].default
    reg_visits: int = DEFAULT_REG_VISITS
    lag_buffer: float = _SETTINGS["lag_buffer"].default
    ponder: bool = _SETTINGS["ponder"].default
    perspective: Perspective = field(default=Perspective(_SETTINGS["perspective"].default))
    pv_length: int = _SETTINGS["pv_length"].default
    analysis_noise: float = _SETTINGS["analysis_noise"].default
    analysis_ignores_past: bool = _SETTINGS["analysis_ignores_past"].default
    idle_command: Callable[[int, int], Sequence[str]] | None = None
    live_graphics: bool = _SETTINGS["live_graphics"].default
    leela_lines: bool = _SETTINGS["leela_lines"].default


@dataclass(frozen=True)
class Status:
    """All chains by their fate; the same judgement serves score and status lists."""

    alive: list[list[int]]
    seki: list[list[int]]
    dead: list[list[int]]


class GtpState:
    """The state of one session.

    commands: all listed commands, as in `list_commands`. awaits_reply: the last move was the engine's own, so the time
    until the next line is the opponent's. chosen: the move of the last search that played none: the number of moves
    before it, color and vertex. last_search: the last search for a move in this game. searched: the search
    of this game, whose tree is that of the last analyzed position. trials: number of last moves
    that were played on trial (`trymove`).
    """

    def __init__(self, config: SessionConfig, factory: PlayerFactory, commands: Mapping[str, "Handler"]) -> None:
        self.config = config
        self.commands = commands
        self.player_loader = PlayerLoader(factory, lambda: (self.width, self.height))
        self.interrupts = Interrupts(self.player_loader.stop)
        self.awaits_reply = False
        self.chosen: tuple[int, int, int] | None = None
        self.last_search: LastSearch | None = None
        self.searched: Search | None = None
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
        """The current game. Change it through this class only."""
        if self._game is None:
            from engine.game import Game

            self._game = Game(self.width, self.height, rules=self.rules, komi=self.komi)
        return self._game

    @property
    def clean_up(self) -> "CleanUp":
        """This game's knowledge of dead stones, for the clean-up."""
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
        """True if there is no stone; costs nothing on a fresh board."""
        return self._game is None or not any(map(self._game.color_at, points(self.width, self.height)))

    def can_play_on(self, width: int, height: int) -> bool:
        """Return False for boards that the network is known not to play on; before it is loaded, True for all."""
        player = self.player_loader.if_ready()
        return player is None or player.network is None or player.network.knows(width, height)

    def configure(self, config: SessionConfig) -> None:
        """Change the settings of the session; board, rules and komi stay."""
        self.config = config
        self.clock.lag_buffer = config.lag_buffer

    def reset(self, width: int | None = None, height: int | None = None) -> None:
        """Start a new game, on a board of another size if given. Komi, rules and time settings stay."""
        self.width = self.width if width is None else width
        self.height = self.height if height is None else height
        self.clock.reset()
        self._replace(None)

    def adopt(self, game: "Game") -> None:
        """Continue with a loaded game; its size, rules and komi become the session's."""
        self.width, self.height = game.width, game.height
        self.rules, self.komi = game.rules, game.komi
        self.clock.reset()
        self._replace(game)

    def _replace(self, game: "Game | None") -> None:
        self._game, self._status, self._clean_up = game, None, None
        self.awaits_reply, self.chosen, self.last_search, self.searched, self.trials = False, None, None, None, 0
        player = self.player_loader.if_ready()
        if player is not None:
            player.new_game()
            # Networks are compiled for each board size: starting now hides part of that time.
            player.prepare(self.width, self.height)

    def set_komi(self, komi: float) -> None:
        """Set the komi of this game and all later ones."""
        self.komi = komi
        if self._game is not None:
            self._game.set_komi(komi)

    def set_rules(self, rules: Rules) -> None:
        """Set the rules of this game and all later ones."""
        self.rules, self._status = rules, None
        if self._game is not None:
            self._game.set_rules(rules)

    def play(self, color: int, vertex: int) -> None:
        """Play a move without checking turn and superko; ends all trials. Raises IllegalMove."""
        self.game.play(color, vertex, lenient=True)
        # A controller that plays the move of a `kata-search` waits for the opponent's then.
        is_own, self.chosen = self.chosen == (self.game.move_number - 1, color, vertex), None
        self._status, self.awaits_reply, self.trials = None, is_own and not self.game.is_over, 0
        if self.game.is_over and not self.clean_up.goes_on(self.game):
            # KGS lets players dispute dead stones after the passes and play on from here.
            self.clean_up.expect(self.game)

    def undo(self, count: int = 1) -> None:
        """Take back `count` moves, or none if there are fewer or moves on trial. Raises IllegalMove."""
        if count > (0 if self.trials or self._game is None else self.game.move_number):
            raise IllegalMove("cannot undo")
        for _ in range(count):
            self.game.undo()
        self._status, self.awaits_reply, self.chosen = None, False, None

    def place_handicap(self, vertices: Sequence[int]) -> None:
        """Place handicap stones on an empty board; earlier passes are forgotten. Raises IllegalMove."""
        from engine.game import Game

        game = Game(self.width, self.height, rules=self.rules, komi=self.komi)
        game.place_handicap(vertices)
        self._replace(game)

    def set_up(self, black: Sequence[int], white: Sequence[int], to_play: int) -> None:
        """Start a new game from a position. Raises IllegalMove, without changing anything, if it is illegal."""
        from engine.game import Game

        game = Game(self.width, self.height, rules=self.rules, komi=self.komi)
        game.setup(black, white, to_play)
        self._replace(game)

    def status(self) -> Status:
        """Return the fate of every chain, judged once for each position, so that score and lists agree."""
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
            if self.interrupts.is_ending:
                return Status(*fates)  # what was judged in a hurry is not kept
            self._status = Status(*fates)
            self.clean_up.learn(self.game, dead)
        return self._status

    def final_score(self) -> float:
        """Return the score with the fates of `status`, Black minus White.

        An unfinished game with much open territory gives the expected score instead, because counting it would mean
        nothing.
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
        # A whole number of points away from the count keeps the fraction of the komi.
        return counted + round(expected - counted)

    def require_empty_board(self) -> None:
        """Raise the standard's error unless the board is empty."""
        if not self.is_board_empty:
            raise GtpError("board not empty")
