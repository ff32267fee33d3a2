"""Commands `keima train test` (accuracy of a network on records) and `keima train samples` (records to shards).

Only parses the command lines; the implementations are imported when a command runs.
"""

import sys
from contextlib import ExitStack, closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engine.settings.command import Command
from engine.settings.options import options_of
from engine.support.json_text import json_text
from engine.support.progress import ProgressBar
from engine.support.tables import print_tables

if TYPE_CHECKING:
    from engine.evaluators.raw import RawNetwork
    from engine.train.data.accuracy import Accuracy, Predictor


@click.command("test", cls=Command)
@click.argument("net", type=click.Path())
@options_of("train test")
def accuracy_command(net: str, **options: Any) -> None:
    """Test a network, without a search, on held-out games: how well it predicts moves, results, owners and scores."""
    _test(net, **options)


# Its parameters are the options of `keima train test`; click passes them by name.
def _test(
    net: str,
    records: tuple[Path, ...],
    games: int,
    per_game: int | None,
    seed: int,
    bucket: int,
    all_games: bool,
    profile: str | None,
    against: str | None,
    as_json: bool,
    plot: Path | None,
    **computing: Any,
) -> None:
    from engine.errors import GoError
    from engine.evaluators.factory import Computing, open_network, open_unprofiled
    from engine.support.files import write_atomically
    from engine.train.data.accuracy import accuracy_of, held_out_records
    from engine.train.data.records import Tally

    asked = Computing.of(computing)
    network = open_unprofiled(net, asked) if profile is None else open_network(net, asked, profile)
    # The profile is for both networks, if both imitate people.
    beside = open_unprofiled if profile is None else partial(open_network, default=profile)
    other = None if against is None else beside(against, asked)
    with ExitStack() as opened, ProgressBar(sys.stderr) as bar:
        for each in (network, other):
            if each is not None:
                opened.enter_context(closing(each.evaluator))
        bar.update("reading records")
        tally = Tally()
        found = held_out_records(records, games, seed, held_out=not all_games, tally=tally)
        if not found:
            wanted, reasons = "game" if all_games else "held-out game", f": {tally.reasons}" if tally.skipped else ""
            raise GoError(f"no {wanted} among the records of {', '.join(map(str, records))}{reasons}")

        def report(done: int, positions: int) -> None:
            bar.update(f"{positions} positions", done, len(found))

        accuracy = accuracy_of(
            _tested(network),
            found,
            other=None if other is None else _tested(other),
            per_game=per_game,
            seed=seed,
            bucket=bucket,
            report=report,
            tally=tally,
        )
    if plot is not None:
        from engine.train.data.accuracy_report import plot_accuracy

        write_atomically(plot, plot_accuracy(accuracy))
    _show(accuracy, records, as_json=as_json)


def _tested(network: "RawNetwork") -> "Predictor":
    from engine.train.data.accuracy import Predictor

    return Predictor(network.facts.name, network.evaluator, network.facts.board_sizes)


def _show(accuracy: "Accuracy", records: tuple[Path, ...], *, as_json: bool) -> None:
    from engine.train.data.accuracy_report import accuracy_table

    if as_json:
        click.echo(json_text({"records": [str(path) for path in records], **asdict(accuracy)}))
        return
    print_tables(sys.stdout, [accuracy_table(accuracy)])
    for reason, count in accuracy.skipped.items():
        click.echo(f"{count} records left out: {reason}")


@click.command("samples", cls=Command)
@options_of("train samples")
def samples_command(**options: Any) -> None:
    """Turn game records into shards of samples, and print positions a second."""
    from engine.support.run_kinds import SAMPLES, claimed_run
    from engine.train.data.record_shards import make_shards

    with claimed_run(options["out"], SAMPLES):
        make_shards(**options)
