"""The command `keima tune`. Heavy modules are imported when it runs."""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from engine.settings.command import Command, search_keys
from engine.settings.options import options_of
from engine.settings.searching import refuse_unused

if TYPE_CHECKING:
    from engine.evaluation.evaluator import Evaluator
    from engine.evaluators.factory import Computing


@click.command(cls=Command, keys=search_keys)
@options_of("tune")
def tune(ranges: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Tune search parameters by what the search's moves lose beside a deep search of the same network.

    Each parameter of --set is tuned, in the range that is given or in the whole range of --help-all; with one value
    (--set KEY=VALUE) it is fixed instead. The best set is compared with the default on positions that were not tuned
    on, and with --confirm in games. A run stopped at any moment goes on with the same command; more --trials extend it.
    """
    from engine.apps.quality.settings import require_deeper
    from engine.apps.tune.ranges import read_ranges
    from engine.apps.tune.run import cli_tune
    from engine.apps.tune.settings import TuneSettings
    from engine.evaluators.named import identity_of
    from engine.support.stopping import interrupting

    refuse_unused(options)
    tuned, fixed = read_ranges(ranges)
    if not tuned:
        raise click.UsageError("--set: name at least one parameter to tune")
    if options["confirm"] % 2:
        raise click.UsageError("--confirm: expected an even number: each opening is played with both colors")
    require_deeper(options["reference_visits"], options["visits"])
    width, height = options["size"]
    if options["confirm"] and width != height:
        raise click.UsageError("--confirm plays on square boards only")
    names = ["size", "visits", "positions", "held", "trials", "objective", "reference_visits", "records"]
    names += ["seed", "confirm", "gain", "out"]
    processes, threads = options["jobs"], options["threads"]
    asked = TuneSettings(
        network=identity_of(options["net"], options["profile"]),
        ranges=tuned,
        fixed=fixed,
        jobs=processes,
        **{name: options[name] for name in names},
    )
    with interrupting():
        sys.exit(cli_tune(asked, opening(options, threads, processes), as_json=as_json))


@dataclass(frozen=True)
class Opening:
    """Opens the evaluator of a process; picklable."""

    net: str | None
    computing: "Computing"
    profile: str | None

    def __call__(self) -> "Evaluator":
        """Open the network, or playouts. Raises GoError or WeightsError."""
        from engine.evaluators.factory import open_network, open_rollouts
        from weights.shipped import network_named

        file = network_named(self.net)
        if file is None:
            return open_rollouts(self.computing.threads)
        return open_network(file, self.computing, self.profile).evaluator


def opening(options: dict[str, Any], threads: int | None, processes: int) -> Opening:
    """Return what opens the evaluator of each of several processes, which share the threads."""
    from dataclasses import replace

    from engine.evaluators.factory import Computing
    from engine.support.worker_processes import divide_threads

    computing = Computing.of(options)
    if processes > 1:
        computing = replace(computing, threads=divide_threads(threads or 0, processes)[1])
    return Opening(options["net"], computing, options["profile"])
