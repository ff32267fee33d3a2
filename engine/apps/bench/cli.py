"""The command line of `keima bench`."""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from engine.settings.command import Command, refuse_given, search_keys
from engine.settings.commands import require_program, well_quoted
from engine.settings.options import options_of
from engine.settings.searching import read_settings, refuse_unused
from engine.support.command_line import joined
from engine.support.cores import usable_cores
from engine.support.installation import this_program, with_own_path
from engine.support.stopping import interrupting
from weights.shipped import NO_NETWORK, network_named

if TYPE_CHECKING:
    from engine.apps.bench.effort import Size
    from engine.evaluation.evaluator import Evaluator
    from engine.nets.spec import NetSpec


_QUALITY = ("positions", "visits", "move_seconds", "compared", "reference_visits", "records", "out", "settings")
"""Options that need --quality."""
_EVALUATING = ("net", "backend", "precision", "profile", "threads", "katago")
"""Options that decide what is measured; the others decide how and are passed to `cli_bench`."""
_SPEEDS = ("cold", "runs", "seconds", "memory_visits")
"""Options that decide how speeds are measured."""


@click.command(cls=Command, keys=search_keys)
@options_of("bench", katago=well_quoted, settings=read_settings)
def bench(**options: Any) -> None:
    """Measure start-up, playouts, evaluations and visits.

    The network is measured in every backend and precision that runs at full speed on this machine, or only in those of
    --backend and --precision.

    With --quality, moves are judged instead. A deep search of the same network values every move that the search
    chooses in positions from game records. The mean loss is printed, with the paired difference of the settings of
    --compare.

    With --shapes, networks of the shapes that people use are measured, with random weights.
    """
    has_choice = options.pop("chooses")
    has_shapes, shapes = options.pop("shapes"), options.pop("shape_names")
    if options.pop("quality"):
        refuse_given({"chooses", "once", "shapes", "shape_names", *_SPEEDS}, "does nothing with --quality")
        sys.exit(_quality(options))
    refuse_given(_QUALITY, "is only for --quality")
    for name in _QUALITY:
        del options[name]
    if has_choice:
        refuse_given(
            {"shapes", "shape_names", *_SPEEDS, *_EVALUATING} - {"net", "threads"}, "does nothing with --choose"
        )
        sys.exit(_choose(options))
    refuse_given({"once"}, "is only for --choose")
    del options["once"]
    if has_shapes:
        unused = {"net", "profile", "katago", "cold", "memory_visits"}
        refuse_given(unused, "does nothing with --shapes")
        sys.exit(_shapes(options, shapes))
    refuse_given({"shape_names"}, "is only for --shapes")
    sys.exit(_speeds(options))


def _speeds(options: dict[str, Any]) -> int:
    """Measure start-up, playouts, evaluations and visits, and return the exit status."""
    from engine.apps.bench.effort import NO_PRECISION, USUAL_SIZES
    from engine.apps.bench.measure import cli_bench
    from engine.evaluators.factory import Computing, open_network, open_rollouts
    from engine.evaluators.uniform import UniformEvaluator

    refuse_unused(options)
    net, backend, precision, profile, threads, katago = (options.pop(name) for name in _EVALUATING)
    if katago and net in (None, NO_NETWORK):
        raise click.UsageError("--katago needs the --net that both evaluate")
    if katago:
        require_program("--katago", katago)
    file, count = network_named(net), threads or usable_cores()
    factories: dict[tuple[str, str], Callable[[], Evaluator]] = {
        ("uniform", NO_PRECISION): UniformEvaluator,
        ("rollout", NO_PRECISION): partial(open_rollouts, count),
    }
    rival = ""
    playing = ["--threads", str(count), "--net", file or NO_NETWORK]
    with interrupting():
        if file is not None:
            from engine.evaluators.backends import to_compare
            from engine.evaluators.finding import find_network
            from weights.registry import load

            def network(computing: Computing) -> "Evaluator":
                return open_network(file, computing, profile).evaluator

            spec = load(find_network(file))
            options["sizes"] = options["sizes"] or _known(USUAL_SIZES, spec)
            options["start"] = _known(((9, 9), *options["sizes"]), spec)[0]
            for pair in to_compare(spec, backend, precision):
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
        return cli_bench(program, factories, katago=rival, playing=playing, **options)


def _known(sizes: Sequence["Size"], spec: "NetSpec") -> "tuple[Size, ...]":
    """Return those boards that a network can play on, or its largest one."""
    least, most = spec.board_sizes
    return tuple(size for size in sizes if least <= min(size) and max(size) <= most) or ((most, most),)


def _choose(options: dict[str, Any]) -> int:
    """Run `keima bench --choose` and return the exit status."""
    from engine.apps.bench.choose import cli_choose

    net, sizes = network_named(options["net"]), options["sizes"] or ((19, 19),)
    if net is None or len(sizes) > 1:
        raise click.UsageError("--choose measures one network on one --size")
    threads = options["threads"] or usable_cores()
    return cli_choose(net, sizes[0], threads, once=options["once"], as_json=options["as_json"])


def _shapes(options: dict[str, Any], names: tuple[str, ...]) -> int:
    """Run `keima bench --shapes` and return the exit status."""
    from engine.apps.bench.effort import USUAL_SIZES, Effort
    from engine.apps.bench.shapes import ShapesWanted, cli_shapes
    from engine.nets.shapes import SHAPES

    unknown = [name for name in names if name not in SHAPES]
    if unknown:
        raise click.UsageError(f"unknown shape {unknown[0]}, expected {' or '.join(SHAPES)}")
    threads, sizes = options["threads"] or usable_cores(), options["sizes"] or USUAL_SIZES
    asked = ShapesWanted(names or tuple(SHAPES), sizes, options["backend"], options["precision"], threads)
    with interrupting():
        effort = Effort(options["runs"], options["seconds"])
        return cli_shapes(this_program(), asked, effort, as_json=options["as_json"])


def _quality(options: dict[str, Any]) -> int:
    """Run `keima bench --quality` and return the exit status."""
    from engine.apps.quality.run import cli_quality
    from engine.apps.quality.settings import (
        DEFAULT_SECONDS,
        DEFAULT_SIZES,
        DEFAULT_VISITS,
        QualitySettings,
        require_deeper,
    )
    from engine.evaluators.factory import Computing, open_network, open_rollouts
    from engine.evaluators.named import identity_of

    refuse_unused(options)
    file, katago = network_named(options["net"]), options["katago"]
    if katago and file is None:
        raise click.UsageError("--katago needs the --net that both evaluate")
    if katago and file is not None:
        require_program("--katago", with_own_path(katago))
        from engine.evaluators.finding import find_network

        katago = f"{katago} {joined(['-model', str(find_network(file))])}"
    has_limit = options["visits"] or options["move_seconds"]
    visits = (options["visits"] or ()) if has_limit else DEFAULT_VISITS
    require_deeper(options["reference_visits"], visits)
    asked = QualitySettings(
        network=identity_of(options["net"], options["profile"]),
        sizes=options["sizes"] or DEFAULT_SIZES,
        visits=visits,
        seconds=options["move_seconds"] if has_limit else DEFAULT_SECONDS,
        base=options["settings"],
        katago=katago,
        **{name: options[name] for name in ("positions", "compared", "reference_visits", "records", "out")},
    )

    def open_evaluator() -> "Evaluator":
        computing = Computing.of(options)
        if file is None:
            return open_rollouts(computing.threads)
        return open_network(file, computing, options["profile"]).evaluator

    with interrupting():
        return cli_quality(asked, open_evaluator, as_json=options["as_json"])
