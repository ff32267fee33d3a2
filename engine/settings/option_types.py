"""What options of several commands are made of, and what they ask for: a board's size, rules, an evaluator.

Imports nothing heavy before it is needed.
"""

import math
import os
from typing import TYPE_CHECKING, Any

import click

from engine.errors import BadRules, GoError
from engine.rules import MOST_KOMI, parse_rules
from engine.settings.network_options import network_named
from engine.vertex import MAX_SIZE

if TYPE_CHECKING:
    from engine.evaluation.evaluator import Evaluator
    from engine.evaluators.raw import RawNetwork
    from engine.search.params import SearchParams


class BoardSize(click.ParamType[tuple[int, int]]):
    """A board size: 19, or 13x9 for columns x rows."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """Return (width, height)."""
        if isinstance(value, tuple):
            return value
        try:
            return parse_size(value)
        except GoError as error:
            raise click.BadParameter(str(error), ctx, param) from error


def parse_size(value: object) -> tuple[int, int]:
    """Return the width and height that 19, "19" or "13x9" mean. Raises GoError."""
    parts = str(value).lower().split("x")
    if len(parts) in (1, 2) and all(part.isdecimal() and 2 <= int(part) <= MAX_SIZE for part in parts):
        return int(parts[0]), int(parts[-1])
    raise GoError(f"expected a size from 2 to {MAX_SIZE}, or two as in 13x9, got {value!r}")


class FiniteFloat(click.FloatRange):
    """A number within bounds that is neither infinite nor `nan`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        number: float = super().convert(value, param, ctx)
        return number if math.isfinite(number) else self.fail(f"{value!r} is no finite number.", param, ctx)


seed_option = click.option(
    "--seed", type=click.IntRange(min=1), help="Seed of all random numbers; without it every run draws others."
)
log_level_option = click.option(
    "--log-level", type=click.Choice(["error", "warning", "info", "debug"]), default="warning", show_default=True
)
KOMI = FiniteFloat(-MOST_KOMI, MOST_KOMI)
SECONDS = FiniteFloat(min=0, min_open=True)


class RuleSet(click.ParamType[str]):
    """Rules by shorthand, such as chinese, or as a JSON object."""

    name = "rules"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text unchanged when it names rules."""
        try:
            parse_rules(value)
        except BadRules as error:
            self.fail(str(error), param, ctx)
        return str(value)


def read_settings(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Return the key=value pairs of --set."""
    pairs = [value.partition("=") for value in values]
    wrong = [key for key, equals, _ in pairs if not equals]
    if wrong:
        raise click.BadParameter(f"expected key=value, got {wrong[0]!r}", ctx, param)
    return {key.strip(): text.strip() for key, _, text in pairs}


def search_params(
    net: str | None, config: dict[str, str], settings: dict[str, str], **options: int | None
) -> "SearchParams":
    """Return the parameters of a search: defaults for the evaluator, then the file, then --set, then options.

    Without any seed every run draws other random numbers.
    """
    from engine.search.params import ROLLOUT_PARAMS, SearchParams, with_settings

    defaults = ROLLOUT_PARAMS if network_named(net) is None else SearchParams()
    given = {key: str(value) for key, value in options.items() if value is not None}
    chosen = {"seed": "0"} | config | settings | given
    try:
        return with_settings(defaults, chosen)
    except GoError as error:
        raise click.ClickException(str(error)) from error


def open_evaluator(net: str | None, options: dict[str, Any]) -> "tuple[Evaluator, RawNetwork | None]":
    """Return what evaluates positions, and its network unless it plays them out. Takes seconds.

    options: those of `computing_options` and `threads_option`. Raises GoError or WeightsError, one line, where the
    network cannot be used.
    """
    file, threads = network_named(net), options["threads"] or os.cpu_count() or 1
    if file is None:
        from engine.evaluators.rollout import RolloutEvaluator

        return RolloutEvaluator(threads), None
    from engine.evaluators.cache import CachedEvaluator
    from engine.evaluators.factory import Computing, open_network

    network = open_network(file, Computing(options["backend"], options["precision"], threads), options["profile"])
    return CachedEvaluator(network.evaluator), network


def require_options_of(ctx: click.Context, command: str, options: tuple[str, ...]) -> None:
    """Refuse options that another command of this program would refuse later, where nobody sees it."""
    front_door = ctx.find_root().command
    assert isinstance(front_door, click.Group)
    other = front_door.get_command(ctx, command)
    if other is not None:
        other.make_context(command, list(options))
