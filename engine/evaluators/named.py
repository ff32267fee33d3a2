"""Evaluators whose results are kept in files, with what tells them from others."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.evaluation.evaluator import Evaluator
from engine.evaluators.backends import AUTO, PRECISIONS
from engine.evaluators.factory import open_networks
from engine.evaluators.finding import find_network
from engine.support.files import digest_of, read_object
from engine.support.run_folder import SETTINGS_FILE
from engine.vertex import MAX_SIZE
from weights.shipped import network_named
from weights.sized import files_of

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


def open_named_evaluator(options: Mapping[str, Any], folder: Path | None = None) -> NamedEvaluator:
    """Open the network, or the playouts, that the options name. Raises GoError or WeightsError.

    folder: of the run, which goes on in the number format in which it began, see `as_begun`.
    """
    opened = open_networks(as_begun(options, folder, "network"))
    if opened.network is None:
        return NamedEvaluator(PLAYOUTS, PLAYOUTS, opened.evaluator, tree_mib=opened.tree_mib)
    facts, profile = opened.network.facts, options["profile"]
    file = Path(facts.file)
    name = " ".join([file.stem, facts.precision, *([profile] if profile else [])])
    identity = f"{network_identity(file, profile)} {facts.precision}"
    return NamedEvaluator(name, identity, opened.evaluator, facts.board_sizes, opened.tree_mib)


def as_begun(options: Mapping[str, Any], folder: Path | None, setting: str) -> Mapping[str, Any]:
    """Return options of a run with the number format with which it began, if they leave that to Keima.

    What `auto` takes changes with a measurement and with a new version, but a run goes on by the same command.
    setting: of the folder's settings.json, the one with the network's identity, which names the format.
    """
    file = None if folder is None else folder / SETTINGS_FILE
    if options["precision"] != AUTO or file is None or not file.exists():
        return options
    words = str(read_object(file).get(setting, "")).replace(",", " ").split()
    kept = [word for word in words if word in PRECISIONS]
    return {**options, "precision": kept[-1], "is_automatic": True} if kept else options


def identity_of(net: str | None, profile: str | None = None) -> str:
    """Return what tells the network of `--net` from others; of playouts, their name. Raises GoError, OSError."""
    named = network_named(net)
    return PLAYOUTS if named is None else network_identity(find_network(named), profile)


def network_identity(file: Path, profile: str | None = None) -> str:
    """Return a network file's name with a digest of its contents and the player profile. Raises OSError.

    Networks with the statistics of one board size, which belong to it, are named by their board and digest.
    """
    sized = "".join(f" {each.stem} {digest_of(each)}" for each in files_of(file))
    return f"{file.name} {digest_of(file)}{sized}" + ("" if profile is None else f" as {profile}")
