"""Measures the ranges for rounding a network to int8 on one board size, and the accuracy that it costs.

The weights of a network do not show how well it tolerates rounding, so it is compared with fp32 before it plays in
int8, unless int8 was given by the user. Results that took long are stored in a folder. Rounding changes the winrates of
the compared positions by 0.001 to 0.003 on average, and the policy by 0.0004 to 0.0016 (Kullback-Leibler divergence),
with g170-b6c96, keima-b6c96 and zero9 on boards from 7x7 to 19x19.
"""

import hashlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from engine.evaluators.calibration import calibration_inputs
from engine.evaluators.kept_ranges import WORTH_KEEPING, file_of_ranges, read_ranges, write_ranges
from engine.evaluators.rounding_loss import COMPARED, Answers, Loss, loss_between
from engine.nets.openvino_graph.model import GLOBALS, OUTPUTS, PLANES
from engine.nets.openvino_graph.quantization import channels_to_round, measured
from engine.nets.rounding import Range, combined
from engine.nets.spec import Array, NetSpec, WeightsError

_LOG = logging.getLogger(__name__)
_POLICY, _RESULT = OUTPUTS[:2]
_VERSION = b"1"
"""To be changed when the measurement changes, so that old files are not used."""


class Rounding:
    """The ranges for rounding a model, and the loss by it: measured now, or read from a file.

    model: the network on boards of one size for some batch, not rounded.
    compile_exact: compiles a model to be computed in fp32, a call at a time. Raises what that does.
    compares: whether what is lost will be asked for.
    ranges: how large the numbers become that are to be rounded, for `quantize`.
    loss: None where it is not known yet.
    Raises WeightsError when the network computes NaN or infinity.
    """

    def __init__(
        self, spec: NetSpec, model: Any, width: int, height: int, compile_exact: Callable[[Any], Any], *, compares: bool
    ) -> None:
        self._name = f"{spec.name} on {width}x{height}"
        self._inputs = dict(zip((PLANES, GLOBALS), calibration_inputs(spec, width, height), strict=True))
        self._file = _file_of(model, self._inputs)
        self._exact: dict[str, Array] = {}
        self._seconds = 0.0
        known = read_ranges(self._file, channels_to_round(model))
        if known is None or (compares and known[1] is None):
            known = self._measure(model, compile_exact), None
            if not compares:
                self._keep(*known)
        self.ranges, lost = known
        self.loss = None if lost is None else Loss(*lost)

    def _measure(self, model: Any, compile_exact: Callable[[Any], Any]) -> list[Range]:
        """Compute all positions in fp32; return the ranges and store the outputs."""
        start = time.perf_counter()
        calls = list(_calls(compile_exact(measured(model, and_answers=True)), self._inputs))
        if not all(np.isfinite(array).all() for call in calls for array in call):
            raise WeightsError(f"network {self._name} computes numbers that are not finite")
        own = len(model.outputs)
        answers = _by_name(model, [call[-own:] for call in calls])
        self._exact = {name: array[COMPARED] for name, array in answers.items()}
        self._seconds += time.perf_counter() - start
        _LOG.info("network %s measured in %.2f s", self._name, self._seconds)
        return combined([call[:-own] for call in calls])

    def compare(self, infer: Callable[[], None], arrays: Mapping[str, Array]) -> Loss:
        """Return what is lost by the rounded model, for any batch.

        infer: computes a batch. arrays: its inputs and outputs by their names in a model.
        """
        start = time.perf_counter()
        calls: list[list[Array]] = []
        names = [name for name in arrays if name not in self._inputs]
        compared = {name: array[COMPARED] for name, array in self._inputs.items() if name in arrays}
        batch, total = len(arrays[PLANES]), len(compared[PLANES])
        for first in range(0, total, batch):
            count = min(batch, total - first)
            for name, array in compared.items():
                arrays[name][:count] = array[first : first + count]
            infer()
            calls.append([arrays[name][:count].copy() for name in names])
        rounded = dict(zip(names, map(np.concatenate, zip(*calls, strict=True)), strict=True))
        self.loss = loss_between(*(Answers(each[_POLICY], each[_RESULT]) for each in (self._exact, rounded)))
        self._seconds += time.perf_counter() - start
        self._keep(self.ranges, self.loss)
        return self.loss

    def _keep(self, ranges: list[Range], loss: Loss | None) -> None:
        """Store the results for later runs if they took long."""
        if self._file is not None and self._seconds >= WORTH_KEEPING:
            write_ranges(self._file, ranges, loss)


def _calls(compiled: Any, inputs: Mapping[str, Array]) -> Iterator[list[Array]]:
    """Yield the outputs of a compiled model for one batch of the inputs after the other."""
    request = compiled.create_infer_request()
    batch = compiled.inputs[0].shape[0]
    for first in range(0, len(inputs[PLANES]), batch):
        answers = request.infer({port: inputs[port.get_any_name()][first : first + batch] for port in compiled.inputs})
        yield [answers[port].copy() for port in compiled.outputs]


def _by_name(model: Any, calls: list[list[Array]]) -> dict[str, Array]:
    """Return the outputs of all calls together by the names that they have in a model."""
    together = map(np.concatenate, zip(*calls, strict=True))
    return {port.get_any_name(): array for port, array in zip(model.outputs, together, strict=True)}


def _file_of(model: Any, inputs: Mapping[str, Array]) -> Path | None:
    """Return the path of the file for a model and its calibration inputs, or None if the user has no cache."""
    digest = hashlib.sha256(_VERSION)
    for node in model.get_ordered_ops():
        digest.update(f"{node.get_type_name()} {node.get_output_partial_shape(0)}".encode())
        if node.get_type_name() == "Constant":
            digest.update(np.ascontiguousarray(node.data).data)
    for array in inputs.values():
        digest.update(array.data)
    return file_of_ranges(digest.hexdigest())
