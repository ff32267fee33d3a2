"""Writes a network as an ONNX file for one board, and checks it with ONNX Runtime before it takes its place."""

import logging
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch

from engine.errors import GoError
from engine.nets.spec import NetSpec
from engine.nets.torch_modules.model import Outputs, TorchModel
from engine.support.files import draft_of

INPUTS = ("planes", "globals")
OUTPUTS = Outputs._fields
MOST_DIFFERENCE = 1e-4
"""Between ONNX Runtime and PyTorch in fp32: of policies and results as shares, else of the numbers themselves."""
_OPSET = 18
_BATCHES = (1, 5)
_SEED = 11


def onnx_size(spec: NetSpec, size: tuple[int, int] | None) -> tuple[int, int]:
    """Return the board to write for: the size asked for, else 19x19 or the nearest square that the network supports.

    Raises GoError for a board that the network does not support.
    """
    least, most = spec.board_sizes
    if size is None:
        side = min(max(19, least), most)
        return side, side
    if not (least <= min(size) and max(size) <= most):
        raise GoError(f"the network supports boards from {least}x{least} to {most}x{most}, not {size[0]}x{size[1]}")
    return size


def write_onnx(spec: NetSpec, path: Path, size: tuple[int, int]) -> float:
    """Write the network for a board of (width, height); return the largest difference that the check found.

    The file has the inputs `planes` [B, planes, height, width] and `globals` [B, globals + metadata] and the outputs of
    `Outputs`, all float32, for batches of any size. Its metadata name the network, the encoder of its inputs, the board
    and the meaning of the outputs. Raises GoError if ONNX Runtime computes something else than PyTorch.
    """
    model = TorchModel(spec).eval().requires_grad_(False)
    with draft_of(path) as draft:
        program = _exported(model, _inputs(spec, size, 2))
        for key, value in _metadata(spec, size).items():
            program.metadata_props.add(key=key, value=value)
        onnx.save(program, draft)
        difference = max(_difference(model, draft, _inputs(spec, size, batch)) for batch in _BATCHES)
        if not difference <= MOST_DIFFERENCE:
            raise GoError(f"{path}: ONNX Runtime differs from PyTorch by {difference:.2g}: nothing was written")
    return difference


def _exported(model: TorchModel, example: tuple[torch.Tensor, ...]) -> Any:
    batch = torch.export.Dim("batch")
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)  # it warns of torchvision, which is not needed
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.onnx.export(
                model,
                example,
                dynamo=True,
                verbose=False,
                opset_version=_OPSET,
                input_names=INPUTS,
                output_names=OUTPUTS,
                dynamic_shapes=({0: batch}, {0: batch}),
            )
    finally:
        log.setLevel(level)
    if program is None:
        raise GoError("PyTorch exported nothing")
    return program.model_proto


def _inputs(spec: NetSpec, size: tuple[int, int], batch: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return random inputs: planes of bits, the first of them all ones, as encoders write them."""
    random = np.random.default_rng([_SEED, batch])
    width, height = size
    planes = (random.random((batch, spec.planes, height, width)) < 0.2).astype(np.float32)
    planes[:, 0] = 1
    vectors = random.random((batch, spec.globals + spec.metadata), np.float32)
    return torch.from_numpy(planes), torch.from_numpy(vectors)


def _metadata(spec: NetSpec, size: tuple[int, int]) -> dict[str, str]:
    width, height = size
    scores = ", ".join(each.value for each in spec.scores)
    return {f"provenance.{key}": value for key, value in spec.provenance.items()} | {
        "name": spec.name,
        "encoder": spec.encoder,
        "board": f"{width}x{height}",
        "planes": str(spec.planes),
        "globals": str(spec.globals),
        "metadata": str(spec.metadata),
        "policy": "[B, policies, area + 1] logits, points row by row from the top left corner, pass last",
        "result": "[B, 1] before tanh, or [B, 3] logits of win, loss and no result, for the side to move",
        "score": f"[B, scores]: {scores or 'none'}",
        "ownership": "[B, area] before tanh, for the side to move; [B, 0] if the network has none",
    }


def _difference(model: TorchModel, path: Path, inputs: tuple[torch.Tensor, torch.Tensor]) -> float:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])
    taken = {each.name for each in session.get_inputs()}  # a network without global inputs has none of that name
    fed = {name: each.numpy() for name, each in zip(INPUTS, inputs, strict=True) if name in taken}
    found = session.run(list(OUTPUTS), fed)
    expected = [each.numpy() for each in model(*inputs)]
    differences = [
        np.abs(_shares(one) - _shares(other)).max() if name in ("policy", "result") else np.abs(one - other).max()
        for name, one, other in zip(OUTPUTS, found, expected, strict=True)
        if other.size
    ]
    return float(max(differences))


def _shares(logits: np.ndarray) -> np.ndarray:
    """Return the softmax over the last axis, of a single number its tanh."""
    if logits.shape[-1] == 1:
        return np.asarray(np.tanh(logits))
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
