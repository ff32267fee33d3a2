"""Creates evaluators from the user's options: a network with its backend, or playouts."""

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import GoError
from engine.evaluation.evaluator import Evaluator
from engine.evaluators.backends import AUTO, network_evaluator
from engine.evaluators.cache import CachedEvaluator
from engine.evaluators.finding import find_network
from engine.evaluators.human_profile import HumanProfileEvaluator
from engine.evaluators.memory import CACHE_MIB, shares_of
from engine.evaluators.network import NetworkEvaluator
from engine.evaluators.raw import NetworkFacts, RawNetwork
from engine.evaluators.rollout import RolloutEvaluator
from engine.nets.spec import NetSpec
from weights.registry import load
from weights.shipped import network_named

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Computing:
    """Backend, precision and CPU threads of a network. threads: None for all cores."""

    backend: str = AUTO
    precision: str = AUTO
    threads: int | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "Computing":
        """Return the values of --backend, --precision and --threads."""
        return cls(options["backend"], options["precision"], options["threads"])


def open_evaluator(
    net: str | None, computing: Computing, profile: str | None = None, memory_mib: int | None = None
) -> tuple[Evaluator, RawNetwork | None]:
    """Return the evaluator for `--net`, and its network, or None for playouts. Takes seconds.

    net: the value of `--net`. memory_mib: of `--max-memory`; None does not limit the network and the cache.
    Raises GoError or WeightsError, one line, if the network cannot be used.
    """
    file = network_named(net)
    if file is None:
        return open_rollouts(computing.threads), None
    network = open_network(file, computing, profile)
    limit = None if memory_mib is None else shares_of(memory_mib, network.facts.model_bytes).cache
    return CachedEvaluator(network.evaluator, CACHE_MIB if limit is None else limit), network


def tree_memory(memory_mib: int, network: RawNetwork | None) -> int:
    """Return what the search tree may take of `--max-memory`, in MiB: what network and cache leave.

    Raises GoError if that is too little.
    """
    return memory_mib if network is None else shares_of(memory_mib, network.facts.model_bytes).tree


def open_rollouts(threads: int | None) -> RolloutEvaluator:
    """Return the evaluator by playouts. threads: None for all cores."""
    return RolloutEvaluator(threads or os.cpu_count() or 1)


def open_network(path: str | os.PathLike[str], computing: Computing, profile: str | None = None) -> RawNetwork:
    """Load the network of a file, of the newest file of a directory, or a shipped one by name.

    profile: the players that a human network imitates, see `engine.encoders.human`.
    Raises GoError or WeightsError; the message is one line and names the file.
    """
    file = find_network(path)
    spec = load(file)
    check_profile(spec, profile)
    return raw_network(file, spec, make_evaluator(spec, computing), profile)


def raw_network(file: Path, spec: NetSpec, evaluator: NetworkEvaluator, profile: str | None) -> RawNetwork:
    """Return a network with the description that a session reports. Check the profile before, by `check_profile`."""
    facts = NetworkFacts(
        file=os.fspath(file),
        name=spec.name,
        version=spec.version,
        max_batch=evaluator.attributes.max_batch,
        precision=precision_of(evaluator),
        imitates=spec.metadata > 0,
        board_sizes=spec.board_sizes,
        model_bytes=evaluator.model_bytes,
    )
    return RawNetwork(_profiled(evaluator, profile), facts, evaluator.prepare)


def profiled_evaluator(spec: NetSpec, computing: Computing, profile: str | None = None) -> Evaluator:
    """Create the evaluator of a network; a human network imitates the players of the profile.

    Raises GoError if backend or precision do not support it, or the profile does not fit.
    """
    check_profile(spec, profile)
    return _profiled(make_evaluator(spec, computing), profile)


def _profiled(evaluator: NetworkEvaluator, profile: str | None) -> Evaluator:
    return evaluator if profile is None else HumanProfileEvaluator(evaluator, profile)


def precision_of(evaluator: Evaluator) -> str:
    """Return the precision of a network's evaluator: the last part of its name."""
    return evaluator.attributes.name.rpartition("-")[2]


def check_profile(spec: NetSpec, profile: str | None) -> None:
    """Raise GoError if a human network has no profile, or another network has one."""
    if spec.metadata and profile is None:
        raise GoError(
            f"network {spec.name} imitates people: choose them with --human-profile rank_5k (9d to 20k), "
            "rank_3d_1k (Black's and White's), preaz_5k (before 2017), or proyear_1985 (1800 to 2023)"
        )
    if profile is not None and not spec.metadata:
        raise GoError(f"network {spec.name} is not a human network: --human-profile does not apply")


def make_evaluator(spec: NetSpec, computing: Computing) -> NetworkEvaluator:
    """Create the evaluator of a network. Raises GoError if backend or precision do not support it."""
    return network_evaluator(spec, computing.backend, computing.precision, computing.threads)
