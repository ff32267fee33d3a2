"""Games of the best set against the default at each number of visits, until a sequential test has decided."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from engine.apps.tune.games import GAMES, Chunk, chunks_of
from engine.apps.tune.measuring import Measuring
from engine.apps.tune.ranges import Set
from engine.apps.tune.settings import TuneSettings
from engine.support.elo import Interval, elo_from_score, wilson_interval
from engine.support.json_text import json_text
from engine.support.run_folder import RunFolder
from engine.support.sprt import PairedTest, Sprt

_POINTS = (0.0, 0.5, 1.0)
VERDICTS = {"accept": "stronger", "reject": "not stronger", None: "undecided"}


class Confirmation(NamedTuple):
    """The games at one number of visits. points: of the tuned side, in order, as far as the test counts them."""

    visits: int
    points: Sequence[float]
    llr: float
    verdict: str

    @property
    def counts(self) -> tuple[int, int, int]:
        """Games won, drawn and lost."""
        won, drawn, lost = (sum(each == points for each in self.points) for points in reversed(_POINTS))
        return won, drawn, lost

    @property
    def share(self) -> Interval:
        """The tuned side's share of the points with its 95 % Wilson interval."""
        return wilson_interval(sum(self.points), len(self.points))

    @property
    def elo(self) -> float:
        """The Elo difference of that share."""
        won, drawn, lost = self.counts
        return elo_from_score(won, lost, drawn).value


class _Match:
    """The games at one number of visits: the chunks that are played, in any order, and the test of those in order."""

    def __init__(self, settings: TuneSettings, visits: int) -> None:
        self._visits = visits
        self._test = PairedTest(Sprt(0.5, 0.5 + settings.gain))
        self._waiting = list(chunks_of(settings.size[0], visits, settings.confirm, settings.seed))
        self._played = dict[int, list[float]]()
        self._next = 0

    def add(self, number: int, points: list[float]) -> None:
        """Count a chunk as soon as all before it are counted: long games must not count less than short ones.

        The short last chunk of a match that has become longer is not counted, but played again in full.
        """
        if any(each.number == number and len(points) < each.games for each in self._waiting):
            return
        self._played[number] = points
        self._waiting = [each for each in self._waiting if each.number != number]
        while self._next in self._played:
            for place, each in enumerate(self._played[self._next]):
                self._test.add(self._next * GAMES + place, each)
            self._next += 1

    @property
    def waiting(self) -> list[Chunk]:
        """The chunks to play; none once the test has decided."""
        return [] if self._test.outcome is not None else self._waiting

    def state(self) -> Confirmation:
        """Return the result so far."""
        return Confirmation(self._visits, self._test.scores, self._test.llr, VERDICTS[self._test.outcome])


def confirm(
    settings: TuneSettings, measuring: Measuring, best: Set, report: Callable[[list[Confirmation]], None]
) -> list[Confirmation]:
    """Play what is missing of the games, all numbers of visits in turns, and return the results.

    The games are kept in a folder of the run for this set. report: called at the start and after each chunk.
    """
    folder = RunFolder(_folder_of(settings, best), _fixed(settings, best))
    matches = {visits: _Match(settings, visits) for visits in settings.visits}
    for visits, number, points in folder.read(_parsed, "chunk of games"):
        if visits in matches:
            matches[visits].add(number, points)
    report([each.state() for each in matches.values()])
    while waiting := [each.waiting[turn] for turn, each in _in_turns(matches.values())][: settings.jobs]:
        for chunk, points in measuring.play(waiting, best):
            folder.add({"visits": chunk.visits, "chunk": chunk.number, "points": points})
            matches[chunk.visits].add(chunk.number, points)
            report([each.state() for each in matches.values()])
    return [each.state() for each in matches.values()]


def _in_turns(matches: Any) -> Iterator[tuple[int, _Match]]:
    """Yield the places of the waiting chunks, those of all matches by turns."""
    each_waiting = [(match, len(match.waiting)) for match in matches]
    for turn in range(max((count for _, count in each_waiting), default=0)):
        yield from ((turn, match) for match, count in each_waiting if turn < count)


def _folder_of(settings: TuneSettings, best: Set) -> Path:
    return settings.out / f"games-{hashlib.sha256(json_text(best).encode()).hexdigest()[:8]}"


def _fixed(settings: TuneSettings, best: Set) -> dict[str, Any]:
    return {
        "format": "keima-tune-games",
        "version": 1,
        "network": settings.network,
        "set": best,
        "fixed": settings.fixed,
        "size": list(settings.size),
        "seed": settings.seed,
    }


def _parsed(line: Any) -> tuple[int, int, list[float]]:
    """Return visits, number and points of a stored chunk. Raises ValueError or TypeError."""
    try:
        points = [float(each) for each in line["points"]]
        if not set(points) <= set(_POINTS):
            raise ValueError(f"expected points of 0, 0.5 and 1, got {points}")
        return int(line["visits"]), int(line["chunk"]), points
    except KeyError as error:
        raise ValueError(f"expected visits, chunk and points: {error!r}") from None
