"""`keima net average`: averages the weights of several networks of the same architecture.

The mean of snapshots of one training run is often better than each of them; the mean of a network and a fine-tuned
version of it keeps abilities that the few data of the fine-tuning do not contain (M. Wortsman et al., "Robust
fine-tuning of zero-shot models", 2022). Networks that were trained separately cannot be averaged.
"""

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

import numpy as np

from engine import __version__
from engine.apps.net.convert import KEIMA, ONNX, report_changes, target_kind, write_checked
from engine.errors import GoError
from engine.evaluators.finding import find_network
from engine.nets.spec import PEOPLE, Array, NetSpec, WeightsError, parameters, tensors
from weights.architecture import from_json, to_json
from weights.registry import load
from weights.sized import write_sized

_OWN = ("name", "provenance", "format", "version")
"""Fields in which networks of the same architecture may differ."""


def average(networks: Sequence[NetSpec], shares: Sequence[float], name: str) -> NetSpec:
    """Return the network with the weighted means of all weights.

    shares: the proportion of each network. Raises WeightsError if architectures differ, GoError for shares that are not
    positive.
    """
    if len(shares) != len(networks) or not all(share > 0 for share in shares) or not sum(shares) < math.inf:
        raise GoError(f"expected {len(networks)} shares above 0 of a finite sum, got {' '.join(map(str, shares))}")
    first, parts = networks[0], [dict(tensors(each)) for each in networks]
    for other, arrays in zip(networks[1:], parts[1:], strict=True):
        if _architecture(other) != _architecture(first):
            odd = [path for path in parts[0].keys() | arrays.keys() if _shape(parts[0], path) != _shape(arrays, path)]
            place = min(odd, default="net")
            raise WeightsError(
                f"{first.name} and {other.name} have different architectures",
                layer=place,
                expected=_shape(parts[0], place),
                got=_shape(arrays, place),
            )
    weights = [share / sum(shares) for share in shares]

    def mean(place: str, _: tuple[int, ...]) -> Array:
        # In double precision, so that the mean of equal networks is equal to them.
        total = sum(weight * part[place].astype(np.float64) for weight, part in zip(weights, parts, strict=True))
        return np.asarray(total, dtype=np.float32)

    sources = ", ".join(f"{weight:.3g} {each.name}" for weight, each in zip(weights, networks, strict=True))
    provenance = {"made by": f"keima {__version__} net average", "average of": sources}
    provenance |= {entry: first.provenance[entry] for entry in PEOPLE if entry in first.provenance}
    return replace(from_json(to_json(first), mean), name=name, provenance=provenance)


def _architecture(spec: NetSpec) -> object:
    """Return a network's description without its weights and the fields in `_OWN`."""
    return {key: value for key, value in to_json(spec).items() if key not in _OWN}


def _shape(arrays: Mapping[str, Array], path: str) -> tuple[int, ...] | None:
    return arrays[path].shape if path in arrays else None


def cli_average(
    target: str,
    sources: Sequence[str],
    shares: Sequence[float],
    *,
    name: str | None = None,
    force: bool = False,
    stdout: IO[str] | None = None,
) -> int:
    """Write the average of network files, in the format of the target's suffix, and return the exit status 0.

    shares: one for each source, none for equal ones. name: of the network, its file's if None.
    Raises GoError, WeightsError, OSError.
    """
    path, kind = Path(target), target_kind(target, force=force)
    if kind == ONNX:
        raise GoError(f"{target}: an average is a network of Keima's or KataGo's; convert it afterwards")
    networks = [load(find_network(source)) for source in sources]
    spec = average(networks, shares or [1.0] * len(networks), name or path.name.partition(".")[0])
    if kind == KEIMA:
        # Those of an earlier network of this name.
        write_sized(path, spec.name, {})
    written = write_checked(spec, kind, path)
    screen = stdout or sys.stdout
    screen.write(f"{target}: {spec.provenance['average of']}; {parameters(spec):,} parameters\n")
    report_changes(screen, spec, written)
    return 0
