"""`keima net average`: one network whose every number is a weighted mean of those of several.

Of snapshots of one training run the mean is steadier than each; between a network and what it was tuned to on a few
data, it keeps what the few data do not show (M. Wortsman et al., "Robust fine-tuning of zero-shot models", 2022).
Networks that were trained apart have nothing in common that could be averaged.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

import numpy as np

from engine import __version__
from engine.errors import GoError
from engine.nets.spec import Array, NetSpec, WeightsError, parameters, tensors
from weights import native
from weights.architecture import from_json, to_json
from weights.registry import load

_OWN = ("name", "provenance", "format", "version")
"""What networks of one architecture may differ in."""


def average(networks: Sequence[NetSpec], shares: Sequence[float], name: str) -> NetSpec:
    """Return the network of weighted means.

    shares: as many as networks, in proportion. Raises WeightsError on architectures that differ, GoError on shares
    that are not positive.
    """
    if len(shares) != len(networks) or any(not 0 < share < math.inf for share in shares):
        raise GoError(f"expected {len(networks)} finite shares above 0, got {' '.join(map(str, shares))}")
    first, parts = networks[0], [dict(tensors(each)) for each in networks]
    for other, arrays in zip(networks[1:], parts[1:], strict=True):
        for place in sorted(parts[0].keys() | arrays.keys()):
            shapes = [part[place].shape if place in part else "nothing" for part in (parts[0], arrays)]
            if shapes[0] != shapes[1]:
                raise WeightsError(
                    f"{first.name} and {other.name} differ", layer=place, expected=shapes[0], got=shapes[1]
                )
        if _shape(other) != _shape(first):
            raise WeightsError(f"{first.name} and {other.name} differ in more than their numbers")
    weights = [share / sum(shares) for share in shares]

    def mean(place: str, _: tuple[int, ...]) -> Array:
        total = sum(weight * part[place].astype(np.float64) for weight, part in zip(weights, parts, strict=True))
        return np.asarray(total, dtype=np.float32)

    told = ", ".join(f"{weight:.3g} {each.name}" for weight, each in zip(weights, networks, strict=True))
    provenance = {"made by": f"keima {__version__} net average", "average of": told}
    return replace(from_json(to_json(first), mean), name=name, provenance=provenance)


def _shape(spec: NetSpec) -> object:
    """Return all that is not a number of a network, nor its own."""
    return {key: value for key, value in to_json(spec).items() if key not in _OWN}


def cli_average(
    target: str,
    sources: Sequence[str],
    shares: Sequence[float],
    *,
    name: str | None = None,
    force: bool = False,
    stdout: IO[str] | None = None,
) -> int:
    """Write the average of network files as a file of Keima's and return the exit status 0.

    shares: one for each source, none for equal ones. name: of the network, its file's if None.
    Raises GoError, WeightsError, OSError.
    """
    path = Path(target)
    if path.exists() and not force:
        raise GoError(f"{target} exists already: --force replaces it")
    networks = [load(source) for source in sources]
    spec = average(networks, shares or [1.0] * len(networks), name or path.stem)
    native.write(spec, path)
    screen = stdout or sys.stdout
    screen.write(f"{target}: {spec.provenance['average of']}; {parameters(spec):,} parameters\n")
    return 0
