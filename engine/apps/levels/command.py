"""The command line of `keima levels`."""

import sys
from pathlib import Path
from typing import Any

import click

from engine.errors import GoError
from engine.settings.command import Command, refuse_given
from engine.settings.levels import LEVELS, KnownPeople, people_of, ranks_between, side_of_levels
from engine.settings.options import options_of
from engine.settings.searching import refuse_unused, search_params
from engine.support.stopping import INTERRUPTED, stopping
from engine.support.tables import print_tables


@click.command(cls=Command)
@options_of("levels")
def levels(measures: bool, size: int, out: Path | None, **options: Any) -> None:
    """Print how players of each rank choose their moves, or measure how strong they are by matches.

    With --measure, neighboring ranks play each other, GNU Go and KataGo, limited by visits, so that the load of the
    machine does not matter. To continue a stopped run, repeat the command with the same --out; more games of each
    pairing, other ranks or another program add to it.
    """
    if size not in LEVELS and measures:
        raise GoError(f"{size}x{size} has no ranks of its own: {', '.join(f'{each}x{each}' for each in LEVELS)}")
    if not measures:
        names = {each.name for each in click.get_current_context().command.params} - {"measures", "size"}
        refuse_given(names, "is only for --measure")
        from engine.apps.levels.report import levels_table

        print_tables(sys.stdout, [levels_table(side_of_levels(size, size), [])])
        return
    sys.exit(_measure(size, out, options))


def _measure(size: int, out: Path | None, options: dict[str, Any]) -> int:
    """Play the missing games and print the table; return the exit status."""
    from engine.apps.levels.games import OPPONENTS, Players, Result
    from engine.apps.levels.measure import Measurement, measure
    from engine.apps.levels.report import levels_table
    from engine.evaluators.factory import open_networks
    from engine.evaluators.named import identity_of
    from engine.support.progress import ProgressBar
    from engine.support.run_kinds import LEVELS as KIND
    from engine.support.run_kinds import claimed_run

    refuse_unused(options)
    if options["human_model"] is not None and options["profile"] is not None:
        raise click.UsageError("--human-profile does not go with --human-model: each rank imitates its own people")
    between = ranks_between(options["ranks"], size) if options["ranks"] else []
    if len(between) == 1 and not any(options[each] for each in OPPONENTS):
        raise GoError(f"--ranks {between[0]}: a single rank meets nobody without --gnugo or --katago")
    opened = open_networks(options)
    commands = {each: options[each] for each in OPPONENTS if options[each]}
    identity = identity_of(options["net"], options["profile"])
    human, known = "", KnownPeople()
    if opened.human is not None:
        human, known = identity_of(options["human_model"]), opened.human.facts.people
    people = {rank: people_of(rank, known, size, size) for rank in LEVELS[size]}
    asked = Measurement(size, options["games"], identity, frozenset(commands), tuple(between), human, people)
    players = Players(opened, search_params(options["net"], {}, {}), size, commands)
    results: list[Result] = []
    wanted = {*asked.games_in_order()}
    with claimed_run(out, KIND), stopping() as stop, ProgressBar(sys.stderr, len(wanted)) as progress:
        for results in measure(asked, players, out, stop.is_set):
            # A run may have games of other ranks as well.
            done = sum(each.game in wanted for each in results)
            progress.update(f"{size}x{size}", done, line=f"{size}x{size}: {done} of {len(wanted)} games")
        stopped = stop.is_set()
    print_tables(sys.stdout, [levels_table(size, results)])
    opened.evaluator.close()
    if opened.human is not None:
        opened.human.evaluator.close()
    return INTERRUPTED if stopped else 0
