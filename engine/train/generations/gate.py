"""The gate: a candidate network takes the place of the best one only when it wins clearly enough.

Colors alternate and every opening is played twice, so that neither luck of the opening nor the color decides.
A sequential test ends a match early whose outcome is as good as certain. It plays nothing itself: results
come in, a verdict goes out.

The rule is that of D. Silver et al., "Mastering the game of Go without human knowledge", Nature 550 (2017),
354-359, Methods: 55 % of 400 games. Another one in use is 262 of 480 games (54.6 %), the first count
that is significant at the one-sided 2.5 % level (K. Ferguson, M. Pumperla, "Deep Learning and the Game of Go",
2019, chapter 14): `games = 480`, `threshold = 0.5458`. With `games = 0` every candidate is promoted, as in
D. Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go through
self-play", Science 362 (2018), 1140-1144.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from engine.support.elo import Interval, elo_from_score, wilson_interval
from engine.support.files import append_line, whole_lines
from engine.support.json_text import json_text
from engine.train.generations.sprt import PAIR_SCORES, Outcome, Sprt

if TYPE_CHECKING:
    from engine.train.games.arena import GameResult

WIN, DRAW, LOSS = 1.0, 0.5, 0.0
"""Points of a game."""
Ending = Literal["sprt", "games", "no gate"]


@dataclass(frozen=True)
class GateSettings:
    """When a candidate is promoted.

    games: the longest match, an even number; 0 for no match at all, every candidate is promoted.
    first_generation: earlier candidates are promoted without a match.
    threshold: share of points that the candidate needs at the end of the longest match.
    margin: the sequential test tells an expected share of threshold - margin from threshold + margin, with the
        error rates alpha (promoting the first) and beta (refusing the second); 0 plays every match to its end.
    visits: of each move of both sides.
    """

    games: int = 400
    first_generation: int = 1
    threshold: float = 0.55
    margin: float = 0.05
    alpha: float = 0.05
    beta: float = 0.05
    visits: int = 100

    def __post_init__(self) -> None:
        """Raise ValueError on a value that makes no gate."""
        if self.games < 0 or self.games % 2:
            raise ValueError(f"games: expected an even number, 0 for no gate, got {self.games}")
        if not 0 < self.threshold < 1:
            raise ValueError(f"threshold: expected a share between 0 and 1, got {self.threshold}")
        if not 0 <= self.margin < min(self.threshold, 1 - self.threshold):
            raise ValueError(f"margin: expected 0 or a share that keeps the hypotheses within 0..1, got {self.margin}")
        if self.visits < 1:
            raise ValueError(f"visits: expected 1 or more, got {self.visits}")
        if self.test is not None:
            self.test.verdict([0] * PAIR_SCORES)

    @property
    def test(self) -> Sprt | None:
        """The sequential test, None where a match is played to its end."""
        if self.margin == 0:
            return None
        return Sprt(self.threshold - self.margin, self.threshold + self.margin, self.alpha, self.beta)


class PairedGame(Protocol):
    """One game of a match in which two games, of numbers 2 p and 2 p + 1, share an opening with changed colors."""

    @property
    def number(self) -> int:
        """From 0; games may be told in any order."""

    @property
    def points(self) -> float:
        """The candidate's: WIN, DRAW or LOSS."""


@dataclass(frozen=True)
class Gate:
    """The outcome of a gate, as a line of gate.jsonl.

    candidate, best: generations. pairs: how many pairs of games made 0, 0.5, 1, 1.5 and 2 points.
    share: of points with its Wilson interval. elo: of the candidate against the best. llr: of the sequential test.
    ended: "sprt" (sure enough), "games" (all played, the threshold decides) or "no gate".
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
        """Games played."""
        return self.wins + self.losses + self.draws

    @property
    def share(self) -> Interval:
        """The candidate's share of points with its 95 % Wilson interval."""
        return wilson_interval(self.wins + self.draws / 2, self.games)

    def to_json(self) -> dict[str, Any]:
        """Return the line's content: the fields, and what follows from them."""
        elo = elo_from_score(self.wins, self.losses, self.draws)
        return asdict(self) | {"games": self.games, "share": list(self.share), "elo": list(elo)}

    def __str__(self) -> str:
        """Return the score so far, and against whom, in one line for people."""
        return f"against generation {self.best}: {self.score}"

    @property
    def score(self) -> str:
        """The score so far for people."""
        share = self.share
        return (
            f"+{self.wins} -{self.losses} ={self.draws}, "
            f"{100 * share.value:.1f} % ({100 * share.low:.1f} to {100 * share.high:.1f}), llr {self.llr:+.2f}"
        )


def needs_match(candidate: int, settings: GateSettings) -> bool:
    """Return whether a candidate has to win a match before it is promoted."""
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
    """Take in the games of a match until it is decided and return its outcome.

    games: as they are finished; more than `settings.games` are not asked for. The test looks at pairs in the
    order of their numbers: short games end first, and counting them first would favor whoever wins quickly.
    report: gets the state after every game. Raises ValueError when the match ends before it is decided.
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
    """Pass games on and remember their records. check: is called before each is counted, and may raise."""
    for game in games:
        check()
        records.append(game.record)
        yield game


class _Match:
    """The games of a gate so far, and what the test says of the pairs that are complete up to some number."""

    def __init__(self, settings: GateSettings) -> None:
        self._settings = settings
        self._scores: dict[int, float] = {}
        self._counts = [0] * PAIR_SCORES
        self._next_pair = 0
        self._llr = 0.0
        self._outcome: Outcome | None = None

    @property
    def games(self) -> int:
        """Games told so far."""
        return len(self._scores)

    @property
    def is_over(self) -> bool:
        """True once the test has ended, or all games are played."""
        return self._outcome is not None or self.games == self._settings.games

    def add(self, game: PairedGame) -> None:
        """Count a game, and test after every pair that is now complete."""
        self._scores[game.number] = game.points
        while self._outcome is None and {2 * self._next_pair, 2 * self._next_pair + 1} <= self._scores.keys():
            first, second = self._scores[2 * self._next_pair], self._scores[2 * self._next_pair + 1]
            self._counts[round(2 * (first + second))] += 1
            self._next_pair += 1
            if self._settings.test is not None:
                verdict = self._settings.test.verdict(self._counts)
                self._llr, self._outcome = verdict.llr, verdict.outcome

    def state(self, candidate: int, best: int) -> Gate:
        """Return how the match stands, or has ended: a game beyond those that ended the test changes nothing."""
        tested = 2 * self._next_pair if self._outcome is not None else max(self._scores, default=0) + 1
        scores = [score for number, score in self._scores.items() if number < tested]
        if self._outcome is not None:
            promoted = self._outcome == "accept"
        else:
            promoted = self.is_over and sum(scores) / len(scores) >= self._settings.threshold
        wins, losses, draws = (scores.count(points) for points in (WIN, LOSS, DRAW))
        ended: Ending = "games" if self._outcome is None else "sprt"
        return Gate(candidate, best, promoted, ended, wins, losses, draws, tuple(self._counts), self._llr)


def write_gate(path: Path, outcome: Gate, **facts: Any) -> None:
    """Add the line of a gate to gate.jsonl, with further facts such as seconds."""
    append_line(path, json_text(outcome.to_json() | facts))


def read_gates(path: Path) -> list[dict[str, Any]]:
    """Return the lines of gate.jsonl, the last one of each candidate: a gate that was cut short is held again."""
    lines = {line["candidate"]: line for line in map(json.loads, whole_lines(path))}
    return [lines[candidate] for candidate in sorted(lines)]
