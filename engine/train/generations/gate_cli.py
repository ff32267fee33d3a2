"""The command `keima train gate`: decides by the rule of `keima zero` whether one network may replace another.

Only parses the command line; the implementation is imported when the command runs.
"""

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engine.settings.command import Command
from engine.settings.options import options_of
from engine.support.json_text import json_text
from engine.support.progress import ProgressBar

if TYPE_CHECKING:
    from engine.evaluators.factory import Computing
    from engine.evaluators.raw import RawNetwork
    from engine.train.games.arena import ArenaSettings
    from engine.train.generations.gate import Gate, GateSettings

REFUSED = 3
"""The exit status if the candidate is not promoted; 1 is that of errors, 2 that of a wrong command line."""


@click.command("gate", cls=Command)
@click.argument("candidate", type=click.Path())
@click.argument("best", type=click.Path())
@options_of("train gate")
def gate_command(**options: Any) -> None:
    """Play CANDIDATE against BEST; exit with 0 if it wins clearly enough to take its place, else with 3.

    Openings are drawn from the networks' policies, and each is played twice with changed colors. Example, after
    fine-tuning: keima train gate RUN/net.safetensors BEST.safetensors --promote BEST.safetensors
    """
    sys.exit(0 if _is_promoted(**options) else REFUSED)


# Its parameters are the command's options; click passes them by name, and `rule` collects those of `GateSettings`.
def _is_promoted(
    candidate: str,
    best: str,
    size: int,
    rules: str,
    seed: int,
    promote: Path | None,
    records: Path | None,
    backend: str,
    precision: str,
    profile: str | None,
    threads: int | None,
    as_json: bool,
    **rule: Any,
) -> bool:
    from engine.errors import GoError
    from engine.evaluators.factory import Computing, open_network
    from engine.support.files import require_writable
    from engine.train.games.arena import ArenaSettings
    from engine.train.generations.gate import GateSettings
    from weights.sized import write_packed

    if rule["games"] % 2:
        raise click.UsageError(f"--games: expected an even number of at least 2, got {rule['games']}")
    if promote is not None:
        _refuse_bare_name(promote, candidate)
    try:
        settings = GateSettings(**rule)
    except ValueError as error:
        raise GoError(str(error)) from error
    # Checked first: an hour of games must not end with a file that cannot be written.
    for path in (promote, records):
        if path is not None:
            require_writable(path)
    computing, played = Computing(backend, precision, threads), list[str]()
    new, content = _with_bytes(candidate, computing, profile)
    old = open_network(best, computing, profile)
    with closing(new.evaluator), closing(old.evaluator):
        for each in (new, old):
            if not each.knows(size, size):
                raise GoError(f"{each.facts.file} is not for boards of {size}x{size}")
        try:
            outcome = _match(new, old, ArenaSettings(size, rules, seed=seed), settings, played)
        except BaseException:
            if played:
                _keep(played, records)  # also after Ctrl-C
            raise
    _tell(outcome, new, old, as_json)
    _keep(played, records)
    if outcome.promoted and promote is not None:
        write_packed(content, promote)
    return outcome.promoted


def _refuse_bare_name(promote: Path, candidate: str) -> None:
    """Raise UsageError unless a file is named like the candidate's: one called zero9 would hide the shipped network."""
    from engine.evaluators.finding import find_network
    from weights.native import SUFFIX

    file = find_network(candidate)
    suffix = ".bin.gz" if file.name.endswith(".bin.gz") else file.suffix or SUFFIX
    if not promote.name.endswith(suffix):
        raise click.UsageError(f"--promote: expected a file name that ends in {suffix}, got {promote}")


def _with_bytes(candidate: str, computing: "Computing", profile: str | None) -> "tuple[RawNetwork, bytes]":
    """Open a network and return it as `packed` by `weights.sized`. Raises GoError if its file changes meanwhile.

    The contents are what gets promoted: training may replace the file during the match.
    """
    from engine.errors import GoError
    from engine.evaluators.factory import open_network
    from engine.evaluators.finding import find_network
    from weights.sized import packed

    file = find_network(candidate)
    content = packed(file)
    network = open_network(file, computing, profile)
    if packed(file) != content:
        network.evaluator.close()
        raise GoError(f"{file}: was replaced while it was read; run the command again")
    return network, content


def _match(
    new: "RawNetwork", old: "RawNetwork", how: "ArenaSettings", settings: "GateSettings", played: list[str]
) -> "Gate":
    """Play the match with a progress bar and return its outcome. played: receives the records of the games."""
    from engine.train.games.arena import ArenaPlayer, arena
    from engine.train.generations.gate import gate, noted

    first, second = (ArenaPlayer(each.evaluator, settings.visits, name=each.facts.name) for each in (new, old))
    with ProgressBar(sys.stderr, settings.games) as bar, closing(arena(how, first, second, settings.games)) as games:

        def report(current: "Gate") -> None:
            text = f"{current.games} of {settings.games} games"
            bar.update(current.score, current.games, line=f"{text}: {current.score}")

        bar.update(f"0 of {settings.games} games", 0)
        return gate(1, 0, noted(games, played), settings, report)


def _keep(played: list[str], records: Path | None) -> None:
    from engine.support.files import write_atomically

    if records is not None:
        write_atomically(records, "".join(f"{record}\n" for record in played))


def _tell(outcome: "Gate", new: "RawNetwork", old: "RawNetwork", as_json: bool) -> None:
    if as_json:
        values = {key: value for key, value in outcome.to_json().items() if key not in ("candidate", "best")}
        click.echo(json_text({"candidate": new.facts.file, "best": old.facts.file, **values}))
    else:
        click.echo(f"{'promoted' if outcome.promoted else 'refused'}: {outcome.score}")
