"""Measures the ranks of a board size: which games are played, and the ratings that follow. Stopped runs continue."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from engine.apps.levels.games import GNUGO, OPPONENTS, RULES, Players, Result, play_game
from engine.settings.levels import LEVELS
from engine.support.elo import Pairing, Rating, fit_ratings, fit_steps
from engine.support.run_folder import RunFolder

ANCHOR = GNUGO.players()[-1]
"""The player at 0 Elo, whom 8k is meant to equal."""


@dataclass(frozen=True)
class Measurement:
    """What is measured.

    games: of each pairing. opponents: names of the programs that meet some ranks. ranks: that play, empty for all.
    human: identity of the human network beside the playing one, "" without one. people: whom it imitates at each rank,
    see `people_of`.
    """

    size: int
    games: int
    network: str
    opponents: frozenset[str] = frozenset()
    ranks: tuple[str, ...] = ()
    human: str = ""
    people: Mapping[str, tuple[str, float]] = field(default_factory=dict)

    @property
    def fixed(self) -> dict[str, Any]:
        """What must not change when a run continues."""
        levels = {rank: asdict(level) for rank, level in LEVELS[self.size].items()}
        human = {"human_network": self.human, "people": dict(self.people)} if self.human else {}
        return {"size": self.size, "network": self.network, **human, "rules": RULES, "levels": levels}

    def pairings(self) -> list[tuple[str, str]]:
        """Return who meets whom: neighbors, ranks two apart, and the programs with the ranks that are to meet them."""
        ranks = self.ranks or tuple(LEVELS[self.size])
        found = [*pairwise(ranks), *zip(ranks, ranks[2:], strict=False)]
        for name, opponent in OPPONENTS.items():
            if name in self.opponents:
                found += [(rank, player) for player in opponent.players() for rank in opponent.meets if rank in ranks]
        return found

    def games_in_order(self) -> list[tuple[str, str, int]]:
        """Return the players and the number of each game; all pairings grow together, so that a stopped run has all."""
        return [(*players, number) for number in range(self.games) for players in self.pairings()]


def measure(
    asked: Measurement, players: Players, out: Path | None, is_stopped: Callable[[], bool]
) -> Iterator[list[Result]]:
    """Play the games that are missing, and yield all results so far, after each game. Raises GoError."""
    folder = RunFolder(out, asked.fixed)
    results = folder.read(lambda line: Result(**line), "result of a game")
    yield results
    known = {each.game for each in results}
    missing = [game for game in asked.games_in_order() if game not in known]
    with ThreadPoolExecutor(players.games_at_once, thread_name_prefix="games") as threads:
        games = [threads.submit(play_game, players, *each, is_stopped) for each in missing]
        try:
            for game in as_completed(games):
                result = game.result()
                if result is None:
                    continue
                folder.add(asdict(result))
                results.append(result)
                yield results
        finally:
            threads.shutdown(cancel_futures=True)


def ratings(results: Sequence[Result]) -> dict[str, Rating]:
    """Return the ratings of all players that met, above GNU Go at level 10 or, without it, above their mean.

    Empty until the games link all of them, which those of a run stopped early may not.
    """
    pairings = _pairings(results)
    names = {name for each in pairings for name in each[:2]}
    try:
        return fit_ratings(pairings, origin=ANCHOR if ANCHOR in names else None)
    except ValueError:
        return {}


def steps(size: int, results: Sequence[Result]) -> dict[str, Rating]:
    """Return how far each rank is above the one before it, if games link the two, directly or through others."""
    next_rank, found = dict(pairwise(LEVELS[size])), dict[str, Rating]()
    for linked in _linked(results):
        met = [rank for rank in LEVELS[size] if any(rank in each.game for each in linked)]
        of_these = zip(pairwise(met), fit_steps(_pairings(linked), met), strict=True) if met else ()
        found |= {rank: step for (before, rank), step in of_these if next_rank[before] == rank}
    return found


def _linked(results: Sequence[Result]) -> list[list[Result]]:
    """Return the results in groups whose players games link."""
    groups: list[tuple[set[str], list[Result]]] = []
    for each in results:
        players = {each.first, each.second}
        joined = [group for group in groups if group[0] & players]
        groups = [group for group in groups if not group[0] & players]
        names = players.union(*(group[0] for group in joined))
        groups.append((names, [*(result for group in joined for result in group[1]), each]))
    return [games for _, games in groups]


def _pairings(results: Sequence[Result]) -> list[Pairing]:
    pairs: dict[tuple[str, str], list[float]] = {}
    for each in results:
        pairs.setdefault((each.first, each.second), []).append(each.points)
    return [
        Pairing(first, second, points.count(1.0), points.count(0.0), points.count(0.5))
        for (first, second), points in pairs.items()
    ]
