"""The command `keima bench`."""

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from engine.settings.network_options import NO_NETWORK, network_named, network_options, refuse_unused, threads_option
from engine.settings.one_line_errors import one_line_errors
from engine.settings.option_types import SECONDS, BoardSize
from engine.support.command_line import joined, startable
from engine.support.installation import this_program
from engine.support.stopping import interrupting

if TYPE_CHECKING:
    from engine.evaluation.evaluator import Evaluator


def well_quoted(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """Return a command; one with an open quote is an error."""
    try:
        startable(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r}: {error}", ctx, param) from error
    return value


@click.command()
@click.option("--size", "sizes", type=BoardSize(), multiple=True, help="Boards to measure; 9 and 19 by default.")
@network_options
@threads_option
@click.option("--cold", is_flag=True, help="Also measure compiling every kernel.")
@click.option("--runs", type=click.IntRange(min=1), default=5, show_default=True, help="A figure is their median.")
@click.option(
    "--seconds",
    type=SECONDS,
    default=0.5,
    show_default=True,
    help="Length of a run that counts per second.",
)
@click.option(
    "--katago",
    metavar="COMMAND",
    default="",
    callback=well_quoted,
    help="Let KataGo's benchmark take turns on the same --net: 'katago benchmark -config gtp.cfg'. Positions, threads "
    "and length are added; it runs with one thread a core or two, whichever is faster.",
)
@click.option(
    "--memory-visits",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Also measure the engine's memory after a move of N visits on the last --size. Takes long.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def bench(
    net: str | None,
    backend: str,
    precision: str,
    profile: str | None,
    threads: int | None,
    katago: str,
    **options: Any,
) -> None:
    """Measure start-up, rollouts, evaluations and visits.

    The network's in all backends and precisions that are fast here, or in those of --backend and --precision.
    """
    from engine.apps.bench.effort import NO_PRECISION
    from engine.apps.bench.measure import cli_bench
    from engine.evaluators.rollout import RolloutEvaluator
    from engine.evaluators.uniform import UniformEvaluator

    refuse_unused(net, backend, precision, profile)
    if katago and net in (None, NO_NETWORK):
        raise click.UsageError("--katago needs the --net that both evaluate")
    file, count = network_named(net), threads or os.cpu_count() or 1
    factories: dict[tuple[str, str], Callable[[], Evaluator]] = {
        ("uniform", NO_PRECISION): UniformEvaluator,
        ("rollout", NO_PRECISION): partial(RolloutEvaluator, count),
    }
    rival = ""
    playing = ["--threads", str(count), "--net", file or NO_NETWORK]
    with one_line_errors(), interrupting():
        if file is not None:
            from engine.evaluators.backends import to_compare
            from engine.evaluators.factory import Computing, open_network
            from engine.evaluators.finding import find_network
            from weights.registry import load

            def network(computing: Computing) -> "Evaluator":
                return open_network(file, computing, profile).evaluator

            for pair in to_compare(load(find_network(file)), backend, precision):
                factories[pair] = partial(network, Computing(*pair, threads=count))
            playing += [
                "--backend",
                backend,
                "--precision",
                precision,
                *(["--human-profile", profile] if profile else []),
            ]
            rival = f"{katago} {joined(['-model', str(find_network(file))])}" if katago else ""
        program = this_program()
        sys.exit(cli_bench(program, factories, katago=rival, playing=playing, **options))
