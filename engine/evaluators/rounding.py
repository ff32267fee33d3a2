"""How a network is rounded to bytes on boards of one size, and what it loses by it.

Owns the comparison with what the network answers in fp32, and the folder where that is kept which took long to find
out. A network's weights say little of how much of its numbers it can do without, so it is compared before it plays in
int8, unless somebody asked for that. Rounding changes the winrates of these positions by 0.001 to 0.003 on average,
and the policy by 0.0004 to 0.0016 (Kullback-Leibler divergence), with g170-b6c96, keima-b6c96 and zero9 on boards from
7x7 to 19x19.
"""

import hashlib
import io
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.evaluators.calibration import calibration_inputs
from engine.nets.openvino_graph.model import GLOBALS, OUTPUTS, PLANES
from engine.nets.openvino_graph.quantization import Range, channels_to_round, combined, measured
from engine.nets.spec import Array, NetSpec, WeightsError
from engine.support.files import write_atomically
from engine.support.installation import user_cache
from weights.keras import DAMAGED_NPZ

_LOG = logging.getLogger(__name__)
_POLICY, _RESULT = OUTPUTS[:2]
_COMPARED = slice(None, None, 4)
"""Which of the positions are compared: they may take a call each, and consecutive ones are of one game."""
MOST_LOST = 0.02
"""Of winrates and of the policy, on average: several times what known networks lose."""
WORTH_KEEPING = 1.0
"""Seconds from which on what was found out is kept."""
MOST_FILES = 32
"""How many files stay."""
_LOSS = "loss"
"""The name of the loss in a file; ranges have their numbers."""
_VERSION = b"1"
"""To be changed with what is measured and how."""


class Loss(NamedTuple):
    """What rounding changes on average: winrates (0 to 1), and the policy (Kullback-Leibler divergence)."""

    winrate: float
    policy: float

    @property
    def is_small(self) -> bool:
        """Whether the network is worth its speed; numbers that are none are not small."""
        return self.winrate <= MOST_LOST and self.policy <= MOST_LOST


class Rounding:
    """What rounding a model takes and costs: measured, or known from an earlier time.

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
        known = _read(self._file, channels_to_round(model))
        if known is None or (compares and known[1] is None):
            known = self._measure(model, compile_exact), None
            if not compares:
                self._keep(*known)
        self.ranges, self.loss = known

    def _measure(self, model: Any, compile_exact: Callable[[Any], Any]) -> list[Range]:
        """Compute all positions in fp32; return the ranges and note the answers."""
        start = time.perf_counter()
        calls = list(_calls(compile_exact(measured(model, and_answers=True)), self._inputs))
        if not all(np.isfinite(array).all() for call in calls for array in call):
            raise WeightsError(f"network {self._name} computes numbers that are not finite")
        own = len(model.outputs)
        answers = _by_name(model, [call[-own:] for call in calls])
        self._exact = {name: array[_COMPARED] for name, array in answers.items()}
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
        compared = {name: array[_COMPARED] for name, array in self._inputs.items() if name in arrays}
        for first in range(0, len(compared[PLANES]), len(arrays[PLANES])):
            for name, array in compared.items():
                rows = array[first : first + len(arrays[name])]
                arrays[name][: len(rows)] = rows
            infer()
            calls.append([arrays[name][: len(rows)].copy() for name in names])
        rounded = dict(zip(names, map(np.concatenate, zip(*calls, strict=True)), strict=True))
        self.loss = loss_between(self._exact, rounded)
        self._seconds += time.perf_counter() - start
        self._keep(self.ranges, self.loss)
        return self.loss

    def _keep(self, ranges: list[Range], loss: Loss | None) -> None:
        """Write what took long to find out, for the next time."""
        if self._file is not None and self._seconds >= WORTH_KEEPING:
            _write(self._file, ranges, loss)


def loss_between(exact: Mapping[str, Array], rounded: Mapping[str, Array]) -> Loss:
    """Return what the answers of a rounded network lack. Both: policy [rows, policies, moves], result [rows, 1..3]."""
    winrates = _winrates(exact[_RESULT]) - _winrates(rounded[_RESULT])
    before, after = (_log_softmax(answers[_POLICY][:, 0]) for answers in (exact, rounded))
    return Loss(float(np.abs(winrates).mean()), float((np.exp(before) * (before - after)).sum(axis=1).mean()))


def _winrates(result: Array) -> NDArray[np.float64]:
    """Return the chances to win of the side to move, a draw as half a win."""
    value: NDArray[np.float64]
    if result.shape[1] == 1:
        value = np.tanh(result[:, 0].astype(np.float64))
    else:
        chances = np.exp(_log_softmax(result))
        value = chances[:, 0] - chances[:, 1]
    return 0.5 + value / 2


def _log_softmax(logits: Array) -> NDArray[np.float64]:
    """Return the logarithms of chances [rows, n]."""
    shifted = logits - logits.max(axis=1, keepdims=True).astype(np.float64)
    chances: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return chances


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
    """Return the file about a model and the inputs it is measured with, existing or not."""
    folder = user_cache()
    if folder is None:
        return None
    digest = hashlib.sha256(_VERSION)
    for node in model.get_ordered_ops():
        digest.update(f"{node.get_type_name()} {node.get_output_partial_shape(0)}".encode())
        if node.get_type_name() == "Constant":
            digest.update(np.ascontiguousarray(node.data).data)
    for array in inputs.values():
        digest.update(array.data)
    return folder / "ranges" / f"{digest.hexdigest()[:32]}.npz"


def _write(file: Path, ranges: list[Range], loss: Loss | None) -> None:
    """Write a file and remove the oldest ones, as far as that can be done."""
    arrays = {str(index): np.stack([each.lowest, each.largest, each.mean]) for index, each in enumerate(ranges)}
    if loss is not None:
        arrays[_LOSS] = np.array(loss)
    content = io.BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]  # no array has the name of an option
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, content.getvalue())
        files = sorted(file.parent.glob("*.npz"), key=lambda path: path.stat().st_mtime)
        for path in files[:-MOST_FILES]:
            path.unlink(missing_ok=True)


def _read(file: Path | None, channels: Sequence[int]) -> tuple[list[Range], Loss | None] | None:
    """Return what a file says of inputs of so many channels; None where there is none, or it is damaged and removed."""
    if file is None:
        return None
    try:
        with file.open("rb") as stream, np.load(stream) as arrays:
            loss = Loss(*arrays[_LOSS].tolist()) if _LOSS in arrays else None
            found = [arrays[name] for name in arrays if name != _LOSS]
        if [array.shape for array in found] != [(3, count) for count in channels]:
            raise ValueError("the ranges are not of the network's inputs")
        return [Range(*array) for array in found], loss
    except FileNotFoundError:
        return None
    except DAMAGED_NPZ as error:
        _LOG.warning("%s cannot be read, the network is measured again: %s", file, error)
        with suppress(OSError):
            file.unlink()
        return None
