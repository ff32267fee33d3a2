"""The gate: a candidate network replaces the best network only if it wins a match clearly enough.

Colors alternate and every opening is played twice, so that neither the opening nor the color decides. A sequential
test ends a match early if its outcome is nearly certain. This file only decides; it plays no games.

The default rule is from D. Silver et al., "Mastering the game of Go without human knowledge", Nature 550 (2017),
354-359, Methods: 55 % of 400 games. Another common rule is 262 of 480 games (54.6 %), the first count that is
significant at the one-sided 2.5 % level (K. Ferguson, M. Pumperla, "Deep Learning and the Game of Go", 2019,
chapter 14): `games = 480`, `threshold = 0.5458`. With `games = 0` every candidate is promoted, as in D. Silver et
al., "A general reinforcement learning algorithm that masters chess, shogi, and Go through self-play", Science 362
(2018), 1140-1144.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from engine.settings.setting import check_fields, declared, number
from engine.settings.table import settings_on
from engine.support.elo import Interval, elo_from_score, wilson_interval
from engine.support.files import append_line
from engine.support.json_text import json_text
from engine.support.run_folder import parsed_lines
from engine.support.sprt import PAIR_SCORES, PairedTest, Sprt

if TYPE_CHECKING:
    from engine.train.games.arena import GameResult

WIN, DRAW, LOSS = 1.0, 0.5, 0.0
"""Points for a game."""
Ending = Literal["sprt", "games", "no gate"]
_OPTIONS = settings_on("train gate")


@dataclass(frozen=True)
class GateSettings:
    """Settings of the gate."""

    games: int = declared(
        _OPTIONS["games"],
        help="Most games of a match, an even number; 0 promotes every candidate without a match.",
        least=0,
    )
    first_generation: int = number(1, "First generation that plays a match; earlier ones are promoted without.")
    threshold: float = declared(_OPTIONS["threshold"])
    margin: float = declared(_OPTIONS["margin"])
    alpha: float = number(
        0.05, "Error rate of the sequential test: promoting a share of threshold - margin.", 0, 1, above=True
    )
    beta: float = number(
        0.05, "Error rate of the sequential test: refusing a share of threshold + margin.", 0, 1, above=True
    )
    visits: int = declared(_OPTIONS["visits"])

    def __post_init__(self) -> None:
        """Raise ValueError on a value out of range."""
        check_fields(self)
        if self.games % 2:
            raise ValueError(f"games: expected an even number, 0 for no gate, got {self.games}")
        if not 0 < self.threshold < 1:
            raise ValueError(f"threshold: expected a share between 0 and 1, got {self.threshold}")
        if not self.margin < min(self.threshold, 1 - self.threshold):
            raise ValueError(f"margin: expected 0 or a share that keeps the hypotheses within 0..1, got {self.margin}")
        if self.test is not None:
            # Raises ValueError on hypotheses and error rates that are out of range.
            self.test.verdict([0] * PAIR_SCORES)

    @property
    def test(self) -> Sprt | None:
        """The sequential test, None if all games are played."""
        if self.margin == 0:
            return None
        return Sprt(self.threshold - self.margin, self.threshold + self.margin, self.alpha, self.beta)


class PairedGame(Protocol):
    """One game of a match; the games 2 p and 2 p + 1 have the same opening with colors exchanged."""

    @property
    def number(self) -> int:
        """The game's number from 0; games may end in any order."""

    @property
    def points(self) -> float:
        """The candidate's points: WIN, DRAW or LOSS."""


@dataclass(frozen=True)
class Gate:
    """The outcome of a gate, as in a line of gate.jsonl.

    candidate, best: generations. pairs: counts of game pairs with 0, 0.5, 1, 1.5 and 2 points.
    share: of points, with its Wilson interval. elo: of the candidate against the best. llr: log likelihood ratio.
    ended: "sprt" (the test decided), "games" (all played, the threshold decided) or "no gate".
    """

    candidate: int
    best: int
    promoted: bool
    ended: Ending
    wins: int = 0
    losses: int = 0
    draws: int = 0
    pairs: tuple[int, ...] = (0,) * PAIR_SCORES
    llr: float = 0.0

    @property
    def games(self) -> int:
        """The number of games played."""
        return self.wins + self.losses + self.draws

    @property
    def share(self) -> Interval:
        """The candidate's share of points with its 95 % Wilson interval."""
        return wilson_interval(self.wins + self.draws / 2, self.games)

    def to_json(self) -> dict[str, Any]:
        """Return the fields and derived statistics as JSON values."""
        elo = elo_from_score(self.wins, self.losses, self.draws)
        return asdict(self) | {"games": self.games, "share": list(self.share), "elo": list(elo)}

    def __str__(self) -> str:
        """Return the opponent and the current score as one readable line."""
        return f"against generation {self.best}: {self.score}"

    @property
    def score(self) -> str:
        """The current score as readable text."""
        share = self.share
        return (
            f"+{self.wins} -{self.losses} ={self.draws}, "
            f"{100 * share.value:.1f} % ({100 * share.low:.1f} to {100 * share.high:.1f}), llr {self.llr:+.2f}"
        )


def needs_match(candidate: int, settings: GateSettings) -> bool:
    """Return whether a candidate must win a match to be promoted."""
    return settings.games > 0 and candidate >= settings.first_generation


def without_match(candidate: int, best: int) -> Gate:
    """Return the promotion of a candidate that needs no match."""
    return Gate(candidate, best, promoted=True, ended="no gate")


def gate(
    candidate: int,
    best: int,
    games: Iterable[PairedGame],
    settings: GateSettings,
    report: Callable[[Gate], None] | None = None,
) -> Gate:
    """Consume the games of a match until it is decided, and return the outcome.

    games: in the order in which they end; at most `settings.games` are consumed. The test counts pairs in the order
    of their numbers, see `PairedTest`.
    report: called after every game. Raises ValueError if the games end before the match is decided.
    """
    match = _Match(settings)
    for game in games:
        match.add(game)
        current = match.state(candidate, best)
        if report is not None:
            report(current)
        if match.is_over:
            return current
    raise ValueError(f"the match of {candidate} against {best} ended after {match.games} of {settings.games} games")


def noted(
    games: "Iterator[GameResult]", records: list[str], check: Callable[[], None] = lambda: None
) -> "Iterator[GameResult]":
    """Pass games through and append their records to `records`. check: called before each game, and may raise."""
    for game in games:
        check()
        records.append(game.record)
        yield game


class _Match:
    """The games of a gate so far, and their test."""

    def __init__(self, settings: GateSettings) -> None:
        self._settings = settings
        self._test = PairedTest(settings.test)

    @property
    def games(self) -> int:
        """The number of games so far."""
        return self._test.games

    @property
    def is_over(self) -> bool:
        """True if the test has decided or all games are played."""
        return self._test.outcome is not None or self.games == self._settings.games

    def add(self, game: PairedGame) -> None:
        """Count a game."""
        self._test.add(game.number, game.points)

    def state(self, candidate: int, best: int) -> Gate:
        """Return the state or outcome of the match; games after those that decided the test are not counted."""
        test, scores = self._test, self._test.scores
        if test.outcome is not None:
            promoted = test.outcome == "accept"
        else:
            promoted = self.is_over and sum(scores) / len(scores) >= self._settings.threshold
        wins, losses, draws = (scores.count(points) for points in (WIN, LOSS, DRAW))
        ended: Ending = "games" if test.outcome is None else "sprt"
        return Gate(candidate, best, promoted, ended, wins, losses, draws, tuple(test.counts), test.llr)


def write_gate(path: Path, outcome: Gate, **facts: Any) -> None:
    """Append a gate's line to gate.jsonl, with further values such as seconds."""
    append_line(path, json_text(outcome.to_json() | facts))


def read_gates(path: Path) -> list[dict[str, Any]]:
    """Return the lines of gate.jsonl, only the last one for each candidate: an interrupted gate is repeated.

    Raises GoError with the line number on any other content.
    """
    lines = {line["candidate"]: line for line in parsed_lines(path, _gate_line, "gate")}
    return [lines[candidate] for candidate in sorted(lines)]


def _gate_line(line: Any) -> dict[str, Any]:
    if not isinstance(line, dict):
        raise ValueError(f"expected an object, got {line!r}")
    missing = [name for name in (*Gate.__dataclass_fields__, "games", "share") if name not in line]
    if missing:
        raise ValueError(f"expected {' '.join(missing)}, got {line!r}")
    return line
