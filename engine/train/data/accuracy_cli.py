"""`keima train test` and `keima train samples`: how well a network foresees records; records to shards of samples.

Parses the command lines; the work is imported when it begins.
"""

import json
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engine.settings.network_options import computing_options, threads_option
from engine.settings.one_line_errors import one_line_errors
from engine.support.progress import ProgressBar

if TYPE_CHECKING:
    from engine.train.data.accuracy import Accuracy

_TABLE_WIDTH = 150
_PATHS = click.Path(exists=True, path_type=Path)
records_option = click.option(
    "--records",
    multiple=True,
    required=True,
    type=_PATHS,
    help="Game records: SGF files, folders, archives (.zip, .tar.*), files of one game a line (.sgfl, .sgfl.bz2).",
)


@click.command("test")
@click.argument("net", type=click.Path())
@records_option
@click.option("--games", type=click.IntRange(min=1), default=500, show_default=True, help="Games drawn at random.")
@click.option("--per-game", type=click.IntRange(min=1), help="Positions drawn from each game; all if not given.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Decides which are drawn.")
@click.option("--bucket", type=click.IntRange(min=1), default=30, show_default=True, help="Moves to a row.")
@click.option("--all-games", is_flag=True, help="Take any games, not only those that no training sees.")
@computing_options
@threads_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write a PNG.")
def accuracy_command(net: str, **options: Any) -> None:
    """Test a network, unsearched, on held-out games: moves, results, owners and scores that it foresees."""
    with one_line_errors():
        _test(net, **options)


def _test(
    net: str,
    records: tuple[Path, ...],
    games: int,
    per_game: int | None,
    seed: int,
    bucket: int,
    all_games: bool,
    backend: str,
    precision: str,
    profile: str | None,
    threads: int | None,
    as_json: bool,
    plot: Path | None,
) -> None:
    from engine.errors import GoError
    from engine.evaluators.factory import Computing, open_network
    from engine.support.files import write_atomically
    from engine.train.data.accuracy import accuracy_of, held_out_records

    network = open_network(net, Computing(backend, precision, threads), profile)
    with closing(network.evaluator), ProgressBar(sys.stderr) as bar:
        bar.update("reading records")
        found = held_out_records(records, games, seed, held_out=not all_games)
        if not found:
            raise GoError(f"no held-out game among the records of {', '.join(map(str, records))}")

        def report(done: int, positions: int) -> None:
            bar.update(f"{positions} positions", done, len(found))

        accuracy = accuracy_of(
            network.evaluator,
            found,
            network=network.facts.name,
            per_game=per_game,
            seed=seed,
            bucket=bucket,
            board_sizes=network.facts.board_sizes,
            report=report,
        )
    if plot is not None:
        from engine.train.data.accuracy_report import plot_accuracy

        write_atomically(plot, plot_accuracy(accuracy))
    _show(accuracy, records, as_json=as_json)


def _show(accuracy: "Accuracy", records: tuple[Path, ...], *, as_json: bool) -> None:
    from rich.console import Console

    from engine.train.data.accuracy_report import accuracy_table

    if as_json:
        click.echo(json.dumps({"records": [str(path) for path in records], **accuracy.to_json()}))
        return
    console = Console(width=None if sys.stdout.isatty() else _TABLE_WIDTH)
    console.print(accuracy_table(accuracy))
    for reason, count in accuracy.skipped.items():
        console.print(f"{count} records left out: {reason}")


@click.command("samples")
@records_option
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="A folder for shards; none to measure only."
)
@click.option("--encoder", default="katago-v7", show_default=True, help="What positions are encoded for.")
@click.option("--games", type=click.IntRange(min=1), help="The first games only.")
@click.option("--per-game", type=click.IntRange(min=1), help="Positions drawn from each game; all if not given.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Decides which are drawn.")
@click.option("--held-out", is_flag=True, help="Take the games that no training sees, and only those.")
@click.option("--processes", type=click.IntRange(min=0), help="Worker processes; one a core if not given.")
@click.option("--shard", type=click.IntRange(min=1), default=16_384, show_default=True, help="Samples to a file.")
def samples_command(**options: Any) -> None:
    """Turn game records into shards of samples, and print positions a second."""
    with one_line_errors():
        from engine.support.files import claimed
        from engine.train.data.sampling import make_shards

        with claimed(options["out"]):
            make_shards(**options)
