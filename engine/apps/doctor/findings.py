"""What `keima doctor` finds: the machine, the network and its speed, folders and their sizes, what is not installed."""

import importlib.util
import os
import platform
from pathlib import Path
from typing import Any

from engine.errors import GoError
from engine.nets.spec import WeightsError
from engine.support.installation import this_program
from weights.shipped import SHIPPED_NETWORKS, network_named

SIZES = (9, 19)
"""Boards on which the network is measured."""
SECONDS = 0.5
"""Length of a measurement; the first one of a size also compiles and is not counted."""
OPTIONAL = {
    "torch": "networks on a GPU, --backend torch, training",
    "tensorboard": "training curves",
    "matplotlib": "plots",
    "ray": "self-play on many machines",
    "optuna": "tuning of search parameters",
    "onnx": "networks as ONNX files",
}
"""What the optional packages are needed for."""
_MIB = 1 << 20


def find_out(net: str | None) -> dict[str, Any]:
    """Return everything found, as JSON values; what does not work is listed under "problems".

    net: as `--net` names it.
    """
    problems: list[str] = []
    found = {
        "versions": _found(_versions, problems),
        "program": this_program(),
        "machine": _found(_machine, problems),
        "network": _found(lambda: _network(net), problems),
        "kernels": _found(_kernels, problems),
        "networks": {path.stem: _mib([path]) for path in sorted(SHIPPED_NETWORKS.glob("*.safetensors"))},
        "networks_folder": os.fspath(SHIPPED_NETWORKS),
        "missing": {name: use for name, use in OPTIONAL.items() if importlib.util.find_spec(name) is None},
    }
    return found | {"problems": problems}


def _found(find: Any, problems: list[str]) -> Any:
    """Return what a function finds; None, and one more problem, where it fails as an installation can fail."""
    try:
        return find()
    except (GoError, WeightsError, OSError, ImportError) as error:
        problems.append(" ".join(str(error).split()))
        return None


def _versions() -> dict[str, str]:
    from engine.native.machine import versions

    return versions()


def _machine() -> dict[str, Any]:
    """Return the system, the processor, and the memory in MiB, None where the system does not tell it."""
    from engine.evaluators.backends import has_gpu
    from engine.native.machine import machine, processor_name
    from engine.support.cores import usable_cores

    names = {"system": platform.platform(), "processor": processor_name(), "architecture": platform.machine()}
    return {**machine(), **names, "usable_cores": usable_cores(), "memory_mib": _memory_mib(), "gpu": has_gpu()}


def _memory_mib() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // _MIB
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return None


def _network(net: str | None) -> dict[str, Any] | None:
    """Return the network, how it is computed here, and its evaluations/s by board; None for playouts."""
    from engine.evaluators.factory import Computing, open_network
    from engine.evaluators.finding import find_network
    from engine.records.human_profiles import MEASURED_PROFILE
    from engine.search.evaluator_speed import Measured
    from weights.registry import load

    name = network_named(net)
    if name is None:
        return None
    file = find_network(name)
    spec = load(file)
    network = open_network(file, Computing(), default=MEASURED_PROFILE)
    try:
        speeds = {}
        smallest, largest = spec.board_sizes
        for size in [each for each in SIZES if smallest <= each <= largest] or [largest]:
            measured = Measured(network.evaluator, size, size)
            batch = measured.nearest(network.evaluator.attributes.preferred_batch)
            speeds[str(size)] = round(measured.per_second(SECONDS, batch))
    finally:
        network.evaluator.close()
    return {
        "name": network.facts.name,
        "file": os.fspath(file),
        "backend": network.evaluator.attributes.name.partition("-")[0],
        "precision": network.facts.precision,
        "evaluations_per_s": speeds,
    }


def _kernels() -> dict[str, Any]:
    """Return the folder of compiled kernels, its number of files and its size; all None where nothing can be kept."""
    from engine.native.cache_directory import cache_directory
    from engine.support.installation import is_frozen

    folder = cache_directory()
    files = sorted([*folder.glob("*.nbc"), *folder.glob("kernels-*.so")]) if folder and folder.is_dir() else []
    kept = os.fspath(folder) if folder else None
    return {"folder": kept, "files": len(files), "mib": _mib(files), "shipped": is_frozen()}


def _mib(files: list[Path]) -> float:
    return round(sum(path.stat().st_size for path in files) / _MIB, 1)
