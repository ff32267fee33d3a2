"""Creates evaluators from the user's options: a network with its backend, or playouts."""

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from engine.errors import GoError
from engine.evaluation.evaluator import Evaluator
from engine.evaluators.backends import AUTO, network_evaluator
from engine.evaluators.cache import CachedEvaluator
from engine.evaluators.finding import find_network
from engine.evaluators.human_profile import HumanProfileEvaluator
from engine.evaluators.memory import CACHE_MIB, HUMAN_CACHE_MIB, shares_of
from engine.evaluators.network import NetworkEvaluator
from engine.evaluators.raw import NetworkFacts, RawNetwork
from engine.evaluators.rollout import RolloutEvaluator
from engine.nets.spec import FLATTER_BELOW, PEOPLE, WEAKEST_PEOPLE, NetSpec
from engine.settings.levels import RANKS, KnownPeople
from engine.support.cores import usable_cores
from engine.support.installation import user_cache
from weights.array_file import in_file
from weights.registry import load
from weights.shipped import network_named
from weights.sized import read_sized

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Computing:
    """Backend, precision, CPU threads and device of a network.

    threads: None for all cores. is_automatic: `auto` chose the precision before, see `network_evaluator`.
    """

    backend: str = AUTO
    precision: str = AUTO
    threads: int | None = None
    device: str = AUTO
    is_automatic: bool = False

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "Computing":
        """Return the values of --backend, --precision, --threads and --device."""
        is_automatic = options.get("is_automatic", False)
        return cls(
            options["backend"], options["precision"], options["threads"], options.get("device", AUTO), is_automatic
        )


class Opened(NamedTuple):
    """The networks of a session.

    evaluator: of the playing network with its cache, or playouts. network: it, or None for playouts. human: the human
    network beside it, whose evaluator has a cache, or None. tree_mib: memory limit of the search tree, None for none.
    """

    evaluator: Evaluator
    network: RawNetwork | None
    human: RawNetwork | None = None
    tree_mib: int | None = None

    def warn_of_idle_human(self, profile: str, used: str) -> None:
        """Warn of a human network that waits for a profile. used: when it has one all the same."""
        if self.human is not None and self.human.facts.imitates and not profile:
            _LOG.warning("%s: without humanSLProfile it is used %s only", self.human.facts.file, used)


def open_networks(options: Mapping[str, Any], profile: str = "", *, may_lack_profile: bool = False) -> Opened:
    """Open the networks that --net, --human-model, --human-profile and the options of the machine ask for.

    profile: KataGo's `humanSLProfile`; --human-profile counts more. may_lack_profile: a human network as the playing
    one needs none yet, because every search brings one. Takes seconds.
    Raises GoError or WeightsError, one line, if a network cannot be used.
    """
    computing, memory = Computing.of(options), options.get("max_memory")
    human = None if options.get("human_model") is None else open_human(options["human_model"], computing)
    asked = options["profile"] if human is None else None
    file = network_named(options["net"])
    if file is None:
        return Opened(open_rollouts(computing.threads), None, human, memory)
    if may_lack_profile and not (options["profile"] or profile):
        network = open_unprofiled(file, computing)
    else:
        network = open_network(file, computing, asked, options["profile"] or profile or None)
    if profile and human is None and not network.facts.imitates:
        _LOG.warning("humanSLProfile has no effect: no network imitates people (see --human-model)")
    if memory is None:
        return Opened(CachedEvaluator(network.evaluator, CACHE_MIB), network, human)
    try:
        shares = shares_of(memory, network.facts.model_bytes + (0 if human is None else human.facts.model_bytes))
    except GoError:
        # Or a process that compiles kernels beside this one goes on.
        for each in (network, human):
            if each is not None:
                each.evaluator.close()
        raise
    tree = shares.tree if human is None else max(1, shares.tree - HUMAN_CACHE_MIB)
    return Opened(CachedEvaluator(network.evaluator, shares.cache), network, human, tree)


def check_networks(options: Mapping[str, Any], profile: str = "") -> None:
    """Raise what `open_networks` would of networks that `require_networks` has found.

    Takes seconds only where options concern how a network is computed.
    """
    computed = ("backend", "precision", "device", "max_memory")
    file = network_named(options["net"])
    if any(options.get(name) not in (None, AUTO) for name in computed):
        opened = open_networks(options, profile)
        opened.evaluator.close()
        if opened.human is not None:
            opened.human.evaluator.close()
    elif file is not None:
        asked = options["profile"] if options.get("human_model") is None else None
        _profile_for(load(find_network(file)), asked, options["profile"] or profile or None)


def open_human(path: str, computing: Computing) -> RawNetwork:
    """Load the human network beside a playing one; searches and queries give it the profile."""
    file = find_network(path)
    spec = load(file)
    if not spec.metadata:
        _LOG.warning("%s does not vary with the players' ranks: is it the right file for --human-model?", file)
    opened = raw_network(file, spec, make_evaluator(spec, computing), None)
    return RawNetwork(CachedEvaluator(opened.evaluator, HUMAN_CACHE_MIB), opened.facts, opened.prepare)


def open_rollouts(threads: int | None) -> RolloutEvaluator:
    """Return the evaluator by playouts. threads: None for all cores."""
    return RolloutEvaluator(threads or usable_cores())


def open_network(
    path: str | os.PathLike[str], computing: Computing, profile: str | None = None, default: str | None = None
) -> RawNetwork:
    """Load the network of a file, of the newest file of a directory, or a shipped one by name.

    profile: the players that a human network imitates, see `engine.records.human_profiles`; an error for others.
    default: the same, but other networks ignore it.
    Raises GoError or WeightsError; the message is one line and names the file.
    """
    file = find_network(path)
    spec = load(file)
    profile = _profile_for(spec, profile, default)
    return raw_network(file, spec, make_evaluator(spec, computing, file), profile)


def _profile_for(spec: NetSpec, asked: str | None, default: str | None) -> str | None:
    """Return the profile that a network gets, see `open_network`. Raises GoError."""
    profile = default if asked is None and spec.metadata else asked
    check_profile(spec, profile)
    return profile


def open_unprofiled(path: str | os.PathLike[str], computing: Computing) -> RawNetwork:
    """Load a network as `open_network` does; a human one imitates whom the metadata of the positions name."""
    file = find_network(path)
    spec = load(file)
    return raw_network(file, spec, make_evaluator(spec, computing, file), None)


def raw_network(file: Path, spec: NetSpec, evaluator: NetworkEvaluator, profile: str | None) -> RawNetwork:
    """Return a network with the description that a session reports. Check the profile before, by `check_profile`.

    Raises GoError, and closes the evaluator, if the file says of people what is no rank.
    """
    ranks = {entry: spec.provenance.get(entry, "") for entry in PEOPLE}
    for entry, rank in ranks.items():
        if rank and rank not in RANKS:
            evaluator.close()
            raise GoError(f"{file}: {entry}: not a rank: {rank!r}; expected one such as 10k")
    facts = NetworkFacts(
        file=os.fspath(file),
        name=spec.name,
        version=spec.version,
        max_batch=evaluator.attributes.max_batch,
        precision=precision_of(evaluator),
        imitates=spec.metadata > 0,
        board_sizes=spec.board_sizes,
        model_bytes=evaluator.model_bytes,
        people=KnownPeople(ranks[WEAKEST_PEOPLE], ranks[FLATTER_BELOW]),
    )
    return RawNetwork(_profiled(evaluator, profile), facts, evaluator.prepare)


def profiled_evaluator(
    spec: NetSpec, computing: Computing, profile: str | None = None, file: Path | None = None
) -> Evaluator:
    """Create the evaluator of a network; a human network imitates the players of the profile.

    file: see `make_evaluator`.
    Raises GoError if backend or precision do not support it, or the profile does not fit.
    """
    check_profile(spec, profile)
    return _profiled(make_evaluator(spec, computing, file), profile)


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


def make_evaluator(spec: NetSpec, computing: Computing, file: Path | None = None) -> NetworkEvaluator:
    """Create the evaluator of a network. Raises GoError if backend or precision do not support it.

    file: where it was read; networks with the statistics of one board size, which belong to it, compute their sizes.
    """
    cache, sized = user_cache(), {} if file is None else read_sized(file, spec.name)
    return network_evaluator(
        in_file(spec, cache),
        computing.backend,
        computing.precision,
        computing.threads,
        computing.device,
        {size: in_file(each, cache) for size, each in sized.items()},
        is_automatic=computing.is_automatic,
    )
