"""Plays one game between two programs, with Keima's own rules as the arbiter of every move.

Owns legality, the end of a game, counting and the record. Processes and clocks belong to `engine_process`.
"""

import hashlib
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from engine.color import BLACK, WHITE, color_letter, color_name, opponent
from engine.errors import BadVertex
from engine.game import Game
from engine.match.clock import overtime_text
from engine.match.engine_process import EngineProcess, Forfeit, Score
from engine.match.openings import Opening
from engine.match.settings import MatchSettings
from engine.match.store import GameRecord
from engine.programs.program import printable
from engine.records.sgf_writer import write_game
from engine.scoring import VOID, final_score
from engine.vertex import PASS, format_vertex, parse_vertex

log = logging.getLogger(__name__)

# SGF's letter after B+ or W+; every other loss without counting is F, forfeit.
_FORFEIT_LETTER = {"resign": "R", "time": "T"}


class Interrupted(Exception):
    """The match was stopped during a game, which has no record then."""


@dataclass(frozen=True)
class Ending:
    """The end of a game: the winning color (None for a draw) and its SGF result."""

    winner: int | None
    result: str
    reason: str
    detail: str = ""
    scored_by: str = ""


class RefereedGame:
    """One game, from an empty board, handicap stones or an opening, to its record."""

    def __init__(
        self,
        settings: MatchSettings,
        number: int,
        players: Mapping[int, EngineProcess],
        opening: Opening | None = None,
        referee: EngineProcess | None = None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        """players: by color. stopping: checked before each of their moves."""
        self.game = Game(settings.width, settings.height, rules=settings.parsed_rules(), komi=settings.komi)
        if settings.handicap:
            self.game.place_handicap(settings.handicap_points)
        self._settings = settings
        self._number = number
        self._players = players
        self._opening = opening
        self._referee = referee
        self._stopping = stopping

    def play(self) -> GameRecord:
        """Play the game and return its record; a program that fails loses.

        Raises Interrupted when `stopping`, and CannotStart or Refusal if a program cannot play in this match.
        """
        try:
            ending = self._play()
        except Forfeit as forfeit:
            ending = self._forfeited(forfeit)
        if self._stopping():
            raise Interrupted
        return self._record(ending)

    def sgf(self, record: GameRecord) -> str:
        """Return the game as SGF, with all values of its record."""
        time = self._settings.time
        return write_game(
            self.game,
            result=record.result,
            black=record.names[record.black],
            white=record.names[record.white],
            comment=self._comment(record),
            main_time=None if time is None else time.main,
            overtime="" if time is None else overtime_text(time),
            date=f"{datetime.now(UTC):%Y-%m-%d}",
            round_name=str(record.number),
        )

    def _play(self) -> Ending:
        settings = self._settings
        for player in self._players.values():
            player.start(warm_up=settings.time is not None, settings=settings)
            player.new_game(settings, self.game.rules)
        self._start_referee()
        for color, vertex in () if self._opening is None else self._opening.moves:
            self._play_everywhere(color, vertex, self._players.values())
        while not self._both_passed():
            if self.game.no_result:
                return Ending(None, VOID, "repetition", "the same position for the third time")
            if len(self.game.moves) >= settings.move_limit:
                return self._counted("moves")
            if self._stopping():
                raise Interrupted
            color = self.game.to_play
            text = self._players[color].genmove(color_name(color), settings.grace)
            if text.lower() == "resign":
                return self._lost(color, "resign")
            self._make_move(color, text)
        return self._counted("passes")

    def _both_passed(self) -> bool:
        """True if the players have ended the game by two passes in a row, as GTP defines it.

        The button is taken by the first pass, which therefore does not count.
        """
        if self.game.rules.button:
            return self.game.is_over
        return [move.vertex for move in self.game.moves[-2:]] == [PASS, PASS]

    def _make_move(self, color: int, text: str) -> None:
        """Play a program's reply on the arbiter's board, then send it to the others."""
        game, player = self.game, self._players[color]
        try:
            vertex = parse_vertex(text, game.width, game.height)
        except BadVertex as error:
            raise Forfeit(player.label, "illegal", printable(str(error))) from error
        why = game.legality(color, vertex)
        # All play by the arbiter's rules, superko included.
        if why is not None:
            raise Forfeit(player.label, "illegal", f"move {len(game.moves) + 1} {color_name(color)} {text}: {why}")
        self._play_everywhere(color, vertex, [self._players[opponent(color)]])

    def _play_everywhere(self, color: int, vertex: int, players: Iterable[EngineProcess]) -> None:
        """Play a legal move on the arbiter's board and send it to the given players and the referee."""
        game = self.game
        game.play(color, vertex)
        name = format_vertex(vertex, game.width, game.height)
        for player in players:
            player.play(color_name(color), name)
        self._ask_referee(lambda referee: referee.play(color_name(color), name))

    def _start_referee(self) -> None:
        def start(referee: EngineProcess) -> None:
            referee.start(warm_up=False, settings=self._settings)
            referee.new_game(self._settings, self.game.rules)

        self._ask_referee(start)

    def _ask_referee(self, action: Callable[[EngineProcess], None]) -> None:
        """Run `action` on the referee, if there is one; do without it for this game if it fails."""
        if self._referee is None:
            return
        try:
            action(self._referee)
        except Forfeit as failure:
            log.warning("game %d goes on without its referee: %s", self._number, failure)
            self._referee = None

    def _counted(self, reason: str) -> Ending:
        """Count the current position: by the referee, else by both players, else by the arbiter.

        The arbiter does not judge life and death: only stones within pass-alive territory are dead, so its count is
        Tromp-Taylor's if the players have played to the end.
        """
        score, scored_by = self._referee_score(), "referee"
        if score is None:
            score, scored_by = self._players_score(), "players"
        if score is None:
            score, scored_by = Score.of(final_score(self.game)), "arbiter"
        winner = {1: BLACK, -1: WHITE, 0: None}[score.sign]
        return Ending(winner, str(score), reason, scored_by=scored_by)

    def _referee_score(self) -> Score | None:
        scores: list[Score | None] = []
        self._ask_referee(lambda referee: scores.append(referee.final_score()))
        return scores[0] if scores else None

    def _players_score(self) -> Score | None:
        """Return the score on which both players agree, or at least the winner, else None."""
        black, white = self._players[BLACK].final_score(), self._players[WHITE].final_score()
        if black is None or white is None or black.sign != white.sign:
            return None
        return black if black.margin == white.margin else Score(black.sign, None)

    def _lost(self, color: int, reason: str, detail: str = "") -> Ending:
        winner = opponent(color)
        return Ending(winner, f"{color_letter(winner)}+{_FORFEIT_LETTER.get(reason, 'F')}", reason, detail)

    def _forfeited(self, forfeit: Forfeit) -> Ending:
        # Labels, not names: both players may run the same program.
        loser = next(color for color, player in self._players.items() if player.label == forfeit.label)
        return self._lost(loser, forfeit.reason, forfeit.detail)

    def _record(self, ending: Ending) -> GameRecord:
        players = self._players
        clocks = {player.label: player.clock for player in players.values() if player.clock is not None}
        moves = " ".join(str(move.vertex) for move in self.game.moves)
        return GameRecord(
            number=self._number,
            black=players[BLACK].label,
            white=players[WHITE].label,
            winner=None if ending.winner is None else players[ending.winner].label,
            result=ending.result,
            reason=ending.reason,
            detail=ending.detail,
            scored_by=ending.scored_by,
            names={player.label: player.name for player in players.values()},
            seconds={player.label: round(player.seconds, 3) for player in players.values()},
            moves={player.label: player.moves for player in players.values()},
            longest={player.label: round(player.longest, 3) for player in players.values()},
            least_left={label: round(clock.least_left, 3) for label, clock in clocks.items()},
            main_share={
                label: round(clock.main_share, 4) for label, clock in clocks.items() if clock.main_share is not None
            },
            opening="" if self._opening is None else self._opening.name,
            # Identifies repeated games: deterministic programs repeat themselves, which must not count as evidence.
            digest=hashlib.sha256(moves.encode()).hexdigest()[:16],
        )

    def _comment(self, record: GameRecord) -> str:
        lines = [
            f"Result {record.result} by {record.reason}" + (f": {record.detail}" if record.detail else ""),
            f"Counted by: {record.scored_by}" if record.scored_by else "",
            f"Rules: {self._settings.rules}",
            f"Opening: {len(self._opening.moves)} moves of {record.opening}" if self._opening is not None else "",
            *(
                f"{color_name(color).capitalize()}: {_time_text(record, player.label)} ({player.command})"
                for color, player in self._players.items()
            ),
        ]
        return "\n".join(line for line in lines if line)


def _time_text(record: GameRecord, label: str) -> str:
    """Summarize a player's use of time in one line."""
    text = f"{record.moves[label]} moves in {record.seconds[label]:.1f} s, the longest {record.longest[label]:.1f} s"
    if label in record.main_share:
        text += f", {record.main_share[label]:.0%} of the main time"
    if label in record.least_left:
        text += f", never less than {record.least_left[label]:.1f} s left"
    return text
