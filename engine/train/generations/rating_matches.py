"""Plays rating matches: a generation against another one, the playout player, or GNU Go.

Networks and the playout player play in this process. GNU Go plays over GTP in `engine.match`, which stores every game
and can resume a match.
"""

import shlex
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path

from engine.errors import GoError
from engine.evaluation.evaluator import Evaluator
from engine.match.errors import MatchError
from engine.match.settings import Entrant, MatchSettings
from engine.match.store import GameRecord, Store
from engine.match.tournament import run_match
from engine.search.params import SearchParams
from engine.support.command_line import joined
from engine.support.cores import usable_cores
from engine.support.installation import this_program
from engine.support.worker_processes import divide_threads
from engine.train.games.arena import ArenaPlayer, ArenaSettings, GameResult, arena
from engine.train.generations.gate import DRAW, LOSS, WIN
from engine.train.generations.rating import MatchLine, generation_of, gnugo_level, player_of, rollout_visits
from engine.train.generations.zero import Stopped
from engine.train.generations.zero_config import ZeroConfig

_GTP_KOMI = 7.5
_GTP_RULES = "chinese"
# GNU Go's board sizes.
_GTP_SIZES = range(5, 20)

Noted = Callable[[Iterator[GameResult], list[str]], Iterator[GameResult]]
"""Passes games through and collects their records; raises Stopped if the run must stop."""


@dataclass(frozen=True)
class RatingMatches:
    """Plays rating matches.

    network: returns the file of a generation. evaluator: opens it. hours: returns the run time until now.
    stopping: returns whether the run must stop; called after every game over GTP.
    """

    folder: Path
    config: ZeroConfig
    params: SearchParams
    network: Callable[[int], Path]
    evaluator: Callable[[int], AbstractContextManager[Evaluator]]
    hours: Callable[[], float]
    noted: Noted
    stopping: Callable[[], bool]

    def play(self, generation: int, opponent: str, settings: ArenaSettings) -> tuple[MatchLine, list[str]]:
        """Play a match; return its result, and the records of its games unless they are stored already.

        Raises Stopped.
        """
        start = time.monotonic()
        records: list[str] = []
        level, points = gnugo_level(opponent), list[float]()
        if level is None:
            points = [game.points for game in self._meet(generation, opponent, settings, records)]
            skipped = ""
        else:
            skipped = self._gnugo_missing(settings.size)
            if not skipped:
                points = [_points(record, generation) for record in self._meet_gnugo(generation, level, settings.size)]
        wins, losses, draws = (points.count(each) for each in (WIN, LOSS, DRAW))
        seconds = round(time.monotonic() - start, 3)
        name, hours = player_of(generation), round(self.hours(), 4)
        return MatchLine(name, opponent, wins, losses, draws, hours, seconds, skipped, settings.size), records

    def _meet(
        self, generation: int, opponent: str, settings: ArenaSettings, records: list[str]
    ) -> Iterator[GameResult]:
        """Play a match in this process."""
        visits, games = self.config.rating.visits, self.config.rating.games
        with self.evaluator(generation) as own, self._opponent(opponent) as other:
            first = ArenaPlayer(own, visits, self.params, player_of(generation))
            strength, fixed = rollout_visits(opponent), generation_of(opponent) is None
            second = ArenaPlayer(other, strength or visits, None if fixed else self.params, opponent)
            with closing(arena(settings, first, second, games)) as results:
                yield from self.noted(results, records)

    def _opponent(self, opponent: str) -> AbstractContextManager[Evaluator]:
        generation = generation_of(opponent)
        if generation is not None:
            return self.evaluator(generation)
        from engine.evaluators.rollout import RolloutEvaluator

        return closing(RolloutEvaluator(self.config.evaluator.threads or usable_cores()))

    def _gnugo_missing(self, size: int) -> str:
        """Return the reason why GNU Go cannot play, "" if it can."""
        program = shlex.split(self.config.rating.gnugo)[0]
        if shutil.which(program) is None:
            return f"{program} is not installed"
        return "" if size in _GTP_SIZES else f"GNU Go has no {size}x{size} board"

    def _meet_gnugo(self, generation: int, level: int, size: int) -> list[GameRecord]:
        """Play a match over GTP; its folder stores the games. Raises Stopped, or MatchError if it cannot be played.

        A match that was interrupted goes on, or begins anew if a setting has changed since: it has no result yet.
        """
        rating, network = self.config.rating, self.network(generation).resolve()
        engine = [*this_program(), "gtp", "--net", str(network), "--visits", str(rating.gnugo_visits)]
        engine += ["--backend", self.config.evaluator.backend, "--precision", self.config.evaluator.precision]
        # One game per core is best for these small networks: six games took 24 s so, 28 s with both cores on one.
        games, threads = divide_threads(self.config.evaluator.threads, 0)
        engine += ["--threads", str(threads)]
        settings = MatchSettings(
            (
                Entrant(player_of(generation), joined(engine), player_of(generation)),
                Entrant(f"gnugo-{level}", f"{rating.gnugo} --level {level}"),
            ),
            games=rating.games,
            width=size,
            height=size,
            komi=_GTP_KOMI,
            rules=_GTP_RULES,
            alternate=True,
            concurrency=games,
        )

        def look_up(records: list[GameRecord]) -> None:
            if self.stopping():
                raise Stopped

        folder = self.folder / "matches" / f"{player_of(generation)}-gnugo-{level}-{size}x{size}"
        try:
            Store(settings, folder)
        except (GoError, MatchError):
            shutil.rmtree(folder)
        result = run_match(settings, folder, on_game=look_up)
        if result.interrupted:
            raise Stopped
        if len(result.records) < rating.games:
            raise MatchError(f"{folder}: {len(result.records)} of {rating.games} games")
        return result.records


def _points(record: GameRecord, generation: int) -> float:
    if record.winner is None:
        return DRAW
    return WIN if record.winner == player_of(generation) else LOSS
