"""Reads plain Keras networks for Go: convolutions with ReLU, a hidden dense layer, a dense softmax over points.

These are the networks `small`, `medium` and `large` of the book "Deep Learning and the Game of Go" (Pumperla and
Ferguson 2019). A file is written by `numpy.savez(FILE, *model.get_weights())`: kernels [height, width, in, out] and
biases in turn, with channels first in the model. The book counts rows from the bottom of the board, Keima from the top,
so kernels and dense layers are flipped here, once.

A chain of convolutions becomes blocks of `NetSpec`: a block carries its input x >= 0 beside the convolution's result h
= relu(conv(x)) and returns relu(x + (h - x)) = h, equal except for rounding. The book's networks have no pass and no
value: a pass gets PASS_LOGIT, and every position the value 0.
"""

import math
import os
import zipfile
from pathlib import Path
from types import MappingProxyType

import numpy as np

from engine.nets.spec import (
    MAX_SIDE,
    Activation,
    Array,
    Conv,
    DensePolicyHead,
    DenseValueHead,
    Linear,
    NetSpec,
    Norm,
    PostActivationBlock,
    Stem,
    WeightsError,
    validate,
)
from weights.bounds import check_shape, check_size
from weights.npz import DAMAGED_NPZ, declared_array
from weights.token_reader import FREE_SIZE, MAX_RATIO

PASS_LOGIT = -30.0
_ZIP_MAGIC = b"PK\x03\x04"
_FIRST_NAME, _NAME_AT = b"arr_0.npy", 30
"""The name of the first array's file, and where the first name of a zip file stands."""
_SEVEN_PLANES, _SEVEN_FIRST = 7, 1
_LIBERTIES_PLANES, _LIBERTIES_GLOBALS = 11, 3
# Epsilon too small to change a float32, so that a norm without statistics is the identity.
_TINY = 1e-12


def looks_keras(start: bytes) -> bool:
    """True if a file that starts like this may be written by `numpy.savez`."""
    return start.startswith(_ZIP_MAGIC) and start.startswith(_FIRST_NAME, _NAME_AT)


def read(path: str | os.PathLike[str]) -> NetSpec:
    """Read the network of a file. Raises WeightsError with file and array, in one line."""
    name = os.fspath(path)
    try:
        return validate(_net(_arrays(name)))
    except WeightsError as error:
        raise error.in_file(name) from None


def _arrays(name: str) -> list[Array]:
    """Return the arrays of a file in order. Raises WeightsError."""
    try:
        with zipfile.ZipFile(name) as archive:
            _check_members(archive, Path(name).stat().st_size)
        # Pickled arrays could execute code when loaded.
        with np.load(name, allow_pickle=False) as file:
            wanted = [f"arr_{index}" for index in range(len(file.files))]
            if sorted(file.files) != sorted(wanted):
                raise WeightsError("wrong names of arrays", expected="arr_0, arr_1 and so on", got=" ".join(file.files))
            return [_floats(file[each], each) for each in wanted]
    except DAMAGED_NPZ as error:
        if isinstance(error, WeightsError):
            raise
        raise WeightsError(f"npz: {error}", damaged=True) from None


def _check_members(archive: zipfile.ZipFile, packed: int) -> None:
    """Raise WeightsError, before anything is unpacked, for a zip bomb and for arrays that no network has.

    packed: length of the file.
    """
    members = archive.infolist()
    size, limit = sum(member.file_size for member in members), max(FREE_SIZE, MAX_RATIO * packed)
    if size > limit:
        raise WeightsError("too long when unpacked", expected=f"at most {limit} bytes", got=size)
    for member in members:
        shape, dtype, declared = declared_array(archive, member)
        layer = member.filename.removesuffix(".npy")
        check_shape((*shape[2:], *shape[:2]) if len(shape) == 4 else shape, layer)
        if dtype.hasobject:
            raise WeightsError("bad type", layer=layer, expected="floating point", got=dtype)
        if declared != member.file_size:
            raise WeightsError("wrong length of an array", layer=layer, expected=declared, got=member.file_size)


def _floats(array: Array, name: str) -> Array:
    if array.dtype.kind != "f":
        raise WeightsError("bad type", layer=name, expected="floating point", got=array.dtype)
    return array.astype(np.float32)


def _net(arrays: list[Array]) -> NetSpec:
    """Build the network from kernels and biases in turn."""
    kernels, biases = arrays[::2], arrays[1::2]
    convolutions = sum(kernel.ndim == 4 for kernel in kernels)
    shapes = [kernel.ndim for kernel in kernels]
    if convolutions < 1 or shapes != [4] * convolutions + [2, 2] or len(biases) != len(kernels):
        got = " ".join(str(list(array.shape)) for array in arrays[:12])
        raise WeightsError(
            "not a plain network", expected="convolutions and two dense layers, each with a bias", got=got
        )
    convs = [_conv(kernel, bias) for kernel, bias in zip(kernels[:convolutions], biases, strict=False)]
    side = math.isqrt(kernels[-1].shape[1])
    if side * side != kernels[-1].shape[1] or not 2 <= side <= MAX_SIDE:
        raise WeightsError("not a square board", layer=f"arr_{len(arrays) - 2}", got=list(kernels[-1].shape))
    width = max(conv.outputs for conv in convs)
    # Every layer is widened to the widest: a small file could ask for much more memory than it has.
    check_size(sum(8 * width * width * (conv.weight[0, 0].size + 1) for conv in convs))
    encoder, stem = _stem(convs[0], width)
    return NetSpec(
        name=f"keras-{convolutions}x{width}",
        encoder=encoder,
        board_sizes=(side, side),
        stem=stem,
        blocks=tuple(_block(conv, width) for conv in convs[1:]),
        tip=None,
        policy=_policy(kernels[-2:], biases[-2:], convs[-1].outputs, width, side),
        value=_no_value(width, side),
        format="keras",
        provenance=MappingProxyType({"numbers": "npz"}),
    )


def _conv(kernel: Array, bias: Array) -> Conv:
    weight = np.ascontiguousarray(kernel.transpose(3, 2, 0, 1)[:, :, ::-1])
    return Conv(weight, bias)


def _no_norm(channels: int) -> Norm:
    return Norm(np.zeros(channels, np.float32), np.ones(channels, np.float32), epsilon=_TINY)


def _padded(conv: Conv, inputs: int, outputs: int) -> tuple[Array, Array]:
    """Return weight and bias of a convolution between more channels, the added ones 0. Raises WeightsError."""
    out, into, *size = conv.weight.shape
    if conv.bias is None or conv.bias.shape != (out,) or into > inputs:
        raise WeightsError("layers do not fit", expected=f"{inputs} inputs, a bias each", got=list(conv.weight.shape))
    weight, bias = np.zeros((outputs, inputs, *size), np.float32), np.zeros(outputs, np.float32)
    weight[:out, :into], bias[:out] = conv.weight, conv.bias
    return weight, bias


def _stem(conv: Conv, width: int) -> tuple[str, Stem]:
    """Return the encoder that has the planes of the first convolution, and the stem."""
    planes = conv.weight.shape[1]
    if planes == 1:
        weight, bias = _padded(conv, 1, width)
        return "oneplane", Stem(Conv(weight, bias), norm=_no_norm(width), activation=Activation.RELU)
    if planes != _SEVEN_PLANES:
        raise WeightsError("unknown input planes", layer="arr_0", expected="1 (oneplane) or 7 (sevenplane)", got=planes)
    narrow, bias = _padded(conv, _SEVEN_PLANES, width)
    weight = np.zeros((width, _LIBERTIES_PLANES, *narrow.shape[2:]), np.float32)
    weight[:, _SEVEN_FIRST : _SEVEN_FIRST + _SEVEN_PLANES] = narrow
    nothing = Linear(np.zeros((_LIBERTIES_GLOBALS, width), np.float32))
    return "liberties", Stem(Conv(weight, bias), nothing, norm=_no_norm(width), activation=Activation.RELU)


def _block(conv: Conv, width: int) -> PostActivationBlock:
    """Return the block that computes relu(conv(x)) for x >= 0."""
    weight, bias = _padded(conv, width, 2 * width)
    carried = np.arange(width)
    weight[width + carried, carried, weight.shape[2] // 2, weight.shape[3] // 2] = 1
    difference = np.concatenate([np.eye(width), -np.eye(width)], axis=1).astype(np.float32)[:, :, None, None]
    return PostActivationBlock(Conv(weight, bias), _no_norm(2 * width), Conv(difference), _no_norm(width))


def _policy(kernels: list[Array], biases: list[Array], channels: int, width: int, side: int) -> DensePolicyHead:
    area, hidden = side * side, kernels[0].shape[1]
    for kernel, bias, shape in zip(kernels, biases, ((channels * area, hidden), (hidden, area)), strict=True):
        if kernel.shape != shape or bias.shape != shape[1:]:
            raise WeightsError("wrong shape", layer="dense layer", expected=list(shape), got=list(kernel.shape))
    # The dense layers see the board flattened, so their rows are flipped as in the convolutions.
    upright = kernels[0].reshape(channels, side, side, hidden)[:, ::-1].reshape(channels * area, hidden)
    weight = np.zeros((hidden, area + 1), np.float32)
    weight[:, :area] = kernels[1].reshape(hidden, side, side)[:, ::-1].reshape(hidden, area)
    bias = np.append(biases[1].reshape(side, side)[::-1].ravel(), np.float32(PASS_LOGIT)).astype(np.float32)
    chosen = np.eye(channels, width, dtype=np.float32)[:, :, None, None]
    first = Linear(np.ascontiguousarray(upright), biases[0])
    return DensePolicyHead(Conv(chosen), _no_norm(channels), Linear(weight, bias), hidden=first)


def _no_value(width: int, side: int) -> DenseValueHead:
    hidden = Linear(np.zeros((side * side, 1), np.float32))
    nothing = Linear(np.zeros((1, 1), np.float32))
    return DenseValueHead(Conv(np.zeros((1, width, 1, 1), np.float32)), _no_norm(1), hidden, nothing)
