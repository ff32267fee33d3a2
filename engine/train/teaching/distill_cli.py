"""The command `keima distill`: labels game records with a teacher. Heavy modules are imported when it runs."""

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from engine.settings.command import Command, refuse_given
from engine.settings.options import options_of
from engine.support.progress import ProgressBar
from engine.support.run_kinds import DISTILL, claimed_run
from engine.support.stopping import INTERRUPTED, stopping

if TYPE_CHECKING:
    from engine.train.teaching.distill import Chunk, Distiller, DistillSettings, Progress, SourceGame
    from engine.train.teaching.teacher import Teacher

PLAYOUTS = "playouts"
_OF_NETWORKS = ("symmetries", "backend", "precision", "device", "profile")
# Options that do nothing with other teachers.
_OF_PROGRAMS = ("programs", "hang")
_SELFPLAY_GAMES = "games.sgfl"


@click.command(cls=Command)
@click.argument("out", type=click.Path(file_okay=False, path_type=Path))
@options_of("distill")
def distill(**options: Any) -> None:
    """Label positions of game records with the answers of a stronger player, for training.

    OUT is the directory of the samples, with the teacher's policy, value, score and ownership as far as it has them;
    `keima train run --samples OUT` trains on it. A run stopped at any moment goes on with the same command.
    Games that are held out for measuring are passed over.
    """
    sys.exit(cli_distill(options, sys.stderr))


def cli_distill(options: dict[str, Any], stderr: IO[str]) -> int:
    """Run the command and return its exit status. Raises GoError, WeightsError or TeacherError with one line."""
    from engine.train.teaching.distill import Distiller

    paths = (*options["records"], *(games for folder in options["samples"] for games in selfplay_games(folder)))
    if not paths:
        raise click.UsageError("nothing to label: give --records or --samples")
    if options["shaping"] and options["positions"] is None:
        raise click.UsageError("--shaping falls to 0 over --positions: say how many")
    with closing(make_teacher(options)) as teacher, claimed_run(options["out"], DISTILL):
        settings = _settings(teacher, paths, options)
        with ProgressBar(stderr, options["positions"]) as bar, stopping() as stop:

            def show(progress: "Progress") -> None:
                bar.update(progress_text(progress), progress.total.positions)

            distiller = Distiller(options["out"], settings, teacher, wanted=options["positions"], report=show)
            total = distiller.run(source_games(paths, settings), stop)
            if stop.is_set():
                return INTERRUPTED
    if total.positions == 0:
        from engine.errors import GoError

        counts = f"{total.games} games, {total.held_out} held out, {_unusable(total, distiller)}"
        raise GoError(f"no position to label in {' '.join(map(str, paths))}: {counts}")
    masked = f", {total.masked} of them without a policy and left out" if total.masked else ""
    stderr.write(
        f"{total.positions} positions of {total.games} games{masked}; {total.held_out} games held out, "
        f"{_unusable(total, distiller)}; labelled in {total.seconds:.0f} s; in {options['out']}\n"
    )
    return 0


def _settings(teacher: "Teacher", paths: tuple[Path, ...], options: dict[str, Any]) -> "DistillSettings":
    from engine.train.teaching.distill import DistillSettings

    return DistillSettings(
        teacher=teacher.name,
        sources=tuple(str(path) for path in paths),
        **{name: options[name] for name in ("encoder", "per_game", "own_move", "shaping", "seed")},
    )


def make_teacher(options: dict[str, Any]) -> "Teacher":
    """Return the teacher that the options select. Raises GoError, WeightsError or TeacherError with one line."""
    from engine.evaluators.finding import find_network

    name = options["teacher"]
    if name == PLAYOUTS:
        refuse_given({*_OF_PROGRAMS, *_OF_NETWORKS}, f"does nothing with --teacher {PLAYOUTS}")
        return _playouts(options)
    if find_network(name).exists():
        refuse_given(_OF_PROGRAMS, "does nothing with a network")
        return _network(options)
    from engine.train.teaching.gtp_teacher import GtpTeacher

    refuse_given({*_OF_NETWORKS, "threads"}, "does nothing with a GTP program")
    return GtpTeacher(name, visits=options["visits"], programs=options["programs"], seconds=options["hang"])


def _playouts(options: dict[str, Any]) -> "Teacher":
    from engine.evaluators.factory import open_rollouts
    from engine.search.params import ROLLOUT_PARAMS
    from engine.train.teaching.teacher import SearchTeacher

    visits = options["visits"]
    if visits is None:
        raise click.UsageError(f"--teacher {PLAYOUTS} needs --visits: one playout is not enough")
    rollouts = open_rollouts(options["threads"] or 1)
    return SearchTeacher(rollouts, ROLLOUT_PARAMS, visits, f"{PLAYOUTS}, {visits} visits")


def _network(options: dict[str, Any]) -> "Teacher":
    from engine.evaluators.cache import CachedEvaluator
    from engine.evaluators.factory import Computing, open_network
    from engine.evaluators.named import as_begun, network_identity
    from engine.search.params import SearchParams
    from engine.train.teaching.teacher import NetworkTeacher, SearchTeacher

    visits, symmetries, profile = options["visits"], options["symmetries"], options["profile"]
    if visits is not None:
        refuse_given({"symmetries"}, "does nothing with --visits")
    computing = Computing.of(as_begun(options, options["out"], "teacher"))
    network = open_network(options["teacher"], computing, profile)
    facts, evaluator = network.facts, network.evaluator
    called = f"{network_identity(Path(facts.file), profile)} {facts.precision}"
    if visits is None:
        return NetworkTeacher(evaluator, f"{called}, {symmetries} symmetries", symmetries, facts.board_sizes)
    called = f"{called}, {visits} visits"
    return SearchTeacher(CachedEvaluator(evaluator), SearchParams(), visits, called, facts.board_sizes)


def selfplay_games(folder: Path) -> list[Path]:
    """Return the game files below a self-play folder. Raises GoError if there are none."""
    found = sorted(folder.rglob(_SELFPLAY_GAMES))
    if not found:
        from engine.errors import GoError

        raise GoError(f"{folder}: expected {_SELFPLAY_GAMES} of self-play in it or below, found none")
    return found


def source_games(paths: tuple[Path, ...], settings: "DistillSettings") -> Iterator["SourceGame"]:
    """Yield the unparsed games of all sources in order. Raises BadSgf on a source that cannot be read."""
    from functools import partial

    from engine.records.sgf_source import iterate_records
    from engine.train.data.held_out import is_held_out
    from engine.train.teaching.distill import SourceGame
    from engine.train.teaching.labelling import GameReader

    reader = GameReader(settings.per_game, settings.seed)
    for name, text in iterate_records(paths):
        yield SourceGame(is_held_out(text), partial(reader.read, text, name))


def _unusable(total: "Chunk", distiller: "Distiller") -> str:
    """Say how many games could not be used, and why the first of this session could not."""
    return f"{total.unusable} unusable" + (f" ({distiller.first_unusable})" if distiller.first_unusable else "")


def progress_text(progress: "Progress") -> str:
    """Return a one-line description of the progress."""
    return f"{progress.total.positions} positions of {progress.total.games} games, {progress.rate:.0f} positions/s"
