"""Runs `keima review`: finds the games, analyzes them, writes reports as games are finished, prints a table."""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from engine.apps.analysis_server.pool import AnalysisPool, default_threads
from engine.apps.review.analyzer import AnalysisStore, Analyzer, Effort, Speed
from engine.apps.review.annotate import annotated_sgf
from engine.apps.review.games import ReviewGame, find_games
from engine.apps.review.judgement import COLUMNS, player_of
from engine.apps.review.rank import CALIBRATIONS, LEAST_MOVES, RankEstimate, basis, conditions, estimates
from engine.apps.review.report import index_page, report_page
from engine.apps.review.summary import Review, review_of, summary
from engine.errors import GoError
from engine.evaluators.backends import PRECISIONS
from engine.evaluators.named import NamedEvaluator
from engine.search.params import SearchParams
from engine.support.files import require_writable, write_atomically
from engine.support.json_text import json_page, json_text
from engine.support.progress import ProgressBar, duration
from engine.support.run_folder import SETTINGS_FILE
from engine.support.run_kinds import REVIEW, claimed_run
from engine.support.stopping import INTERRUPTED, interrupting
from engine.support.tables import print_tables

if TYPE_CHECKING:
    from rich.table import Table

_PROGRAM = "keima review"
_INDEX, RANKS = "index.html", "ranks.json"


@dataclass(frozen=True)
class ReviewOptions:
    """What to review and how.

    player: report on this player only. rank: of all players, instead of the records'. estimates: whether to estimate
    the players' ranks. search: search parameters that are not the defaults.
    """

    sources: tuple[Path, ...]
    out: Path
    effort: Effort
    player: str | None = None
    rank: str | None = None
    estimates: bool = False
    search: Mapping[str, str] | None = None


def cli_review(
    options: ReviewOptions,
    open_evaluator: Callable[[], NamedEvaluator],
    params: SearchParams,
    *,
    threads: int | None = None,
    stdout: IO[str] | None = None,
    stderr: IO[str] | None = None,
) -> int:
    """Review games and return the exit status: 0, 1 if a file could not be read, 130 after Ctrl-C.

    open_evaluator: called after the records were read. threads: positions at a time, None for as many as keep the
    evaluator busy. Raises GoError if there is no game, or for a folder of a review with other settings.
    """
    screen, errors = stdout or sys.stdout, stderr or sys.stderr
    require_writable(options.out / SETTINGS_FILE)
    with claimed_run(options.out, REVIEW):
        run = _Run(options, errors)
        games = run.find()
        opened = open_evaluator()
        games = run.supported(games, opened.board_sizes)
        interrupted = False
        with closing(opened.evaluator), interrupting():
            try:
                run.analyze(games, opened, params, threads or default_threads(opened.evaluator))
            except KeyboardInterrupt:
                interrupted = True
        reviews = [run.reviews[game.id] for game in games if game.id in run.reviews]
        # One that is there lists the games of an earlier command.
        if len(reviews) > 1 or (reviews and (options.out / _INDEX).exists()):
            write_atomically(options.out / _INDEX, index_page(reviews))
    if reviews:
        print_tables(screen, [_table(reviews, options.out)])
    if options.estimates:
        found = estimates(reviews)
        reviewed = _conditions_text(options, opened.name)
        for other in sorted({conditions(each.calibration) for each in found} - {reviewed}):
            errors.write(f"{_PROGRAM}: the ranks rest on {other}, not {reviewed}: they may be several ranks off\n")
        text = json_text([each.as_json(reviewed) for each in found], indent=1, ensure_ascii=False) + "\n"
        write_atomically(options.out / RANKS, text)
        print_tables(screen, [_ranks_table(found, options.out / RANKS)])
    if interrupted:
        errors.write(
            f"{_PROGRAM}: stopped with {len(reviews)} of {len(games)} games finished; the same command goes on\n"
        )
        return INTERRUPTED
    return 1 if run.is_incomplete else 0


class _Run:
    """One run of the command. reviews: the finished games, by id. is_incomplete: a file was skipped for an error."""

    def __init__(self, options: ReviewOptions, errors: IO[str]) -> None:
        self._options, self._errors = options, errors
        self.reviews: dict[str, Review] = {}
        self.is_incomplete = False

    def find(self) -> list[ReviewGame]:
        """Return the games of the sources that the player plays in. Raises GoError if there are none."""
        options = self._options
        games = find_games(options.sources, options.out, self._skip)
        if not games:
            raise GoError("no game to review in " + " ".join(map(str, options.sources)))
        chosen = [game for game in games if game.colors_of(options.player)]
        if not chosen:
            names = sorted({name for game in games for name in game.name.values()})
            raise GoError(f"no player is called {options.player!r}; the players are {', '.join(names[:20])}")
        return chosen

    def _skip(self, message: str) -> None:
        self.is_incomplete = True
        self._errors.write(f"{_PROGRAM}: skipped: {message}\n")

    def supported(self, games: Sequence[ReviewGame], board_sizes: tuple[int, int]) -> list[ReviewGame]:
        """Return the games on boards that the network supports; the others are skipped."""
        least, most = board_sizes
        found = []
        for game in games:
            sides = game.record.width, game.record.height
            if least <= min(sides) and max(sides) <= most:
                found.append(game)
            else:
                self._skip(f"{game.id}: the network supports boards from {least}x{least} to {most}x{most}")
        return found

    def analyze(self, games: Sequence[ReviewGame], opened: NamedEvaluator, params: SearchParams, threads: int) -> None:
        """Analyze what is missing, and write the files of each game once it is complete."""
        options, effort = self._options, self._options.effort
        settings = {
            "network": opened.identity,
            "visits": effort.visits,
            "seconds_per_game": effort.seconds,
            "search": dict(options.search or {}),
        }
        store = AnalysisStore(options.out, settings, games)
        made = {"network": opened.name, "effort": _effort_text(effort)}
        total = sum(len(game.record.moves) + 1 for game in games)
        missing = sum(len(store.missing(game)) for game in games)
        if missing < total:
            self._errors.write(f"{_PROGRAM}: {total - missing} of {total} positions are analyzed already\n")
        pool = AnalysisPool(opened.evaluator, threads, params.max_memory_mib)
        done, speed = total - missing, Speed(pool)

        def finish(game: ReviewGame) -> None:
            review = review_of(game, store.analyzed[game.id], options.player, options.rank, made)
            write_review(options.out, review)
            self.reviews[game.id] = review
            # The boards of the report are drawn; only the statistics are needed from here on.
            store.analyzed[game.id].ownership.clear()

        with ProgressBar(self._errors, total) as bar:

            def show() -> None:
                nonlocal done
                done += 1
                text = f"{len(self.reviews)} of {len(games)} games, {done}/{total} positions"
                bar.update(f"{text}, {speed.per_second:,.0f} evaluations/s", done)

            analyzer = Analyzer(pool, params, effort, store, show, finish)
            analyzer.run(games)
        if missing:
            speeds = f"{speed.per_second:,.0f} evaluations/s, {analyzer.visits / speed.seconds:,.0f} visits/s"
            self._errors.write(f"{_PROGRAM}: {missing} positions in {duration(speed.seconds)}, {speeds}\n")


def _conditions_text(options: ReviewOptions, network: str) -> str:
    """Return how games were reviewed, in the words of `rank.conditions`: the network's number format changes little."""
    words = network.split(" ")
    place = next((index for index, word in enumerate(words) if word in PRECISIONS), len(words))
    changes = words[place + 1 :] + [f"{key}={value}" for key, value in (options.search or {}).items()]
    return f"{_effort_text(options.effort)} by {' with '.join([' '.join(words[:place]), *changes])}"


def _effort_text(effort: Effort) -> str:
    texts = []
    if effort.visits is not None:
        texts.append(f"{effort.visits:,} visits a position")
    if effort.seconds is not None:
        texts.append(f"{effort.seconds:g} seconds a game")
    return ", ".join(texts)


def write_review(folder: Path, review: Review) -> None:
    """Write the report, the annotated record and the summary of a game."""
    base = folder / review.game.stem
    base.parent.mkdir(parents=True, exist_ok=True)
    files: dict[str, Any] = {
        ".html": report_page(review),
        ".sgf": annotated_sgf(review.game, review.mistakes, review.reasons),
        ".json": json_page(summary(review)),
    }
    for suffix, text in files.items():
        # Not `with_suffix`, which would cut a name such as "game 1.5".
        write_atomically(base.with_name(base.name + suffix), text)


def _table(reviews: Sequence[Review], out: Path) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(f"Reports in {out}"))
    for heading in ("game", "player", "color"):
        table.add_column(heading)
    columns = [each for each in COLUMNS if each.at_terminal]
    for each in columns:
        table.add_column(each.heading.replace("\u00ad", ""), justify="right")
    for review in reviews:
        for place, color in enumerate(review.colors):
            whole = review.tallies(color)[None]
            name = Text("" if place else review.game.id)
            player = Text(review.game.name[color])
            table.add_row(name, player, player_of(color), *(each.text(whole) for each in columns))
    return table


def _ranks_table(found: Sequence[RankEstimate], path: Path) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(f"Estimated ranks, also in {path}"))
    for heading in ("player", "board", "rank", "95 %", "games", "moves"):
        table.add_column(heading, justify="right" if heading in ("games", "moves") else "left")
    for each in found:
        table.add_row(Text(each.player), f"{each.side}x{each.side}", *each.texts, str(each.games), str(each.moves))
    sides = sorted({each.side for each in found})
    known = ", ".join(f"{side}x{side}" for side in CALIBRATIONS)
    rests = "; ".join(f"{side}x{side}: {basis(CALIBRATIONS[side])}" for side in sides)
    table.caption = (
        f"Rests on {rests}." if found else f"No named player in a game of {known} with {LEAST_MOVES} undecided moves."
    )
    return table
