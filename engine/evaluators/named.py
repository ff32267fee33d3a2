"""Evaluators whose results are kept in files, with what tells them from others."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.evaluation.evaluator import Evaluator
from engine.evaluators.factory import open_networks
from engine.evaluators.finding import find_network
from engine.support.files import digest_of
from engine.vertex import MAX_SIZE
from weights.shipped import network_named

PLAYOUTS = "playouts"


@dataclass(frozen=True)
class NamedEvaluator:
    """An evaluator whose results are kept.

    name: for people. identity: equal for equal results, so that no run goes on with another network of the same name.
    board_sizes: the least and the greatest side of boards. tree_mib: what --max-memory leaves for the search tree, None
    without that option.
    """

    name: str
    identity: str
    evaluator: Evaluator
    board_sizes: tuple[int, int] = (1, MAX_SIZE)
    tree_mib: int | None = None


def open_named_evaluator(options: Mapping[str, Any]) -> NamedEvaluator:
    """Open the network, or the playouts, that the options name. Raises GoError or WeightsError."""
    opened = open_networks(options)
    if opened.network is None:
        return NamedEvaluator(PLAYOUTS, PLAYOUTS, opened.evaluator, tree_mib=opened.tree_mib)
    facts, profile = opened.network.facts, options["profile"]
    file = Path(facts.file)
    name = " ".join([file.stem, facts.precision, *([profile] if profile else [])])
    identity = f"{network_identity(file, profile)} {facts.precision}"
    return NamedEvaluator(name, identity, opened.evaluator, facts.board_sizes, opened.tree_mib)


def identity_of(net: str | None, profile: str | None = None) -> str:
    """Return what tells the network of `--net` from others; of playouts, their name. Raises GoError, OSError."""
    named = network_named(net)
    return PLAYOUTS if named is None else network_identity(find_network(named), profile)


def network_identity(file: Path, profile: str | None = None) -> str:
    """Return a network file's name with a digest of its contents and the player profile. Raises OSError."""
    return f"{file.name} {digest_of(file)}" + ("" if profile is None else f" as {profile}")
