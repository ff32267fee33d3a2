"""Statistics of self-play in one process or several, and their text."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from engine.color import BLACK, EMPTY, WHITE
from engine.train.games.selfplay_game import Ending, SelfplayGame


@dataclass
class SelfplayStats:
    """Statistics of the games of this session.

    games, moves, samples: finished and written. evaluations: positions evaluated. seconds: since the start.
    busy_seconds: seconds in which at least one call of the evaluator was running, as the mean over all processes.
    black_wins, white_wins, draws, no_results: numbers of games, as decided (played out quickly because a side had lost)
    and unfinished (counted as they stood). would_resign, false_resigns: games played on in full although a side would
    have resigned, and the games among them that this side did not lose. to_play: games wanted, None for no end.
    done: games finished in all sessions.
    """

    games: int = 0
    moves: int = 0
    samples: int = 0
    evaluations: int = 0
    seconds: float = 0.0
    busy_seconds: float = 0.0
    black_wins: int = 0
    white_wins: int = 0
    draws: int = 0
    no_results: int = 0
    decided: int = 0
    unfinished: int = 0
    would_resign: int = 0
    false_resigns: int = 0
    done: int = 0
    to_play: int | None = None

    def count(self, game: SelfplayGame, ending: Ending) -> None:
        """Count a finished game."""
        self.games += 1
        self.done += 1
        self.moves += len(game.plies)
        winner = ending.result.winner
        self.black_wins += winner == BLACK
        self.white_wins += winner == WHITE
        self.draws += winner == EMPTY
        self.no_results += winner is None
        self.decided += ending.decided
        self.unfinished += ending.unfinished
        self.would_resign += ending.false_resign is not None
        self.false_resigns += bool(ending.false_resign)

    def take_sums(self, parts: Sequence["SelfplayStats"]) -> None:
        """Replace the counts by the sums over worker processes; `seconds` and `done` are not changed."""
        for name in _COUNTS:
            setattr(self, name, sum(getattr(part, name) for part in parts))
        self.busy_seconds = round(sum(part.busy_seconds for part in parts) / max(1, len(parts)), 3)

    def to_json(self) -> dict[str, Any]:
        """Return all counts and derived rates as JSON values; None if a rate is undefined."""
        rates = {
            f"{name}_per_s": _ratio(getattr(self, name), self.seconds) for name in ("games", "evaluations", "samples")
        }
        won = self.black_wins + self.white_wins
        return asdict(self) | {
            **rates,
            "busy_share": _ratio(self.busy_seconds, self.seconds),
            "mean_length": _ratio(self.moves, self.games),
            "black_win_rate": _ratio(self.black_wins, won),
            "false_resign_rate": _ratio(self.false_resigns, self.would_resign),
        }

    def progress(self) -> str:
        """Return a one-line description of the progress."""
        figures = self.to_json()
        of = "" if self.to_play is None else f" of {self.to_play}"
        return (
            f"{self.done}{of} games, {figures['games_per_s'] or 0:.2f} games/s, "
            f"{figures['evaluations_per_s'] or 0:,.0f} evaluations/s, busy {figures['busy_share'] or 0:.1%}"
        )


def _ratio(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None


# All fields but these are counts, of which the total is the sum over processes.
_NO_COUNTS = {"seconds", "busy_seconds", "done", "to_play"}
_COUNTS = tuple(each.name for each in fields(SelfplayStats) if each.name not in _NO_COUNTS)
Report = Callable[[SelfplayStats], None]
