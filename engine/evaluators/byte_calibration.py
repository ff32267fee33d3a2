"""The ranges by which Keima's kernels round a network to int8 on one board size: measured, or read from a file."""

import hashlib
import logging
import time

import numpy as np

from engine.evaluators.calibration import calibration_inputs
from engine.evaluators.kept_ranges import WORTH_KEEPING, file_of_ranges, read_ranges, write_ranges
from engine.nets.kernels.byte_ranges import measured_ranges
from engine.nets.rounding import Range
from engine.nets.spec import NetSpec, WeightsError, tensors
from engine.support.json_text import json_text
from weights.architecture import to_json

_LOG = logging.getLogger(__name__)
_VERSION = b"kernels 2"
"""To be changed when the measurement changes, so that old files are not used."""


def calibrated_ranges(spec: NetSpec, width: int, height: int) -> list[Range]:
    """Return the ranges of what a network multiplies in int8, over the calibration positions.

    g170-b6c96 takes 0.12 s on 19x19. A measurement that took long is kept in a file. Raises WeightsError when the
    network computes NaN or infinity.
    """
    start = time.perf_counter()
    inputs = calibration_inputs(spec, width, height)
    # Not the weights alone: other activations give the same weights other ranges.
    digest = hashlib.sha256(_VERSION + json_text(to_json(spec)).encode())
    for _, array in tensors(spec):
        digest.update(array.tobytes())
    for array in inputs:
        digest.update(array.tobytes())
    file = file_of_ranges(digest.hexdigest())
    known = read_ranges(file)
    if known is not None:
        return known[0]
    ranges = measured_ranges(spec, *inputs)
    if not all(np.isfinite([each.lowest, each.largest, each.mean]).all() for each in ranges):
        raise WeightsError(f"network {spec.name} on {width}x{height} computes numbers that are not finite")
    seconds = time.perf_counter() - start
    _LOG.info("network %s on %dx%d measured in %.2f s", spec.name, width, height, seconds)
    if file is not None and seconds >= WORTH_KEEPING:
        write_ranges(file, ranges, None)
    return ranges
