"""Reads and writes the training rows of KataGo (.npz), of networks with the inputs of its version 7.

The channels are those of cpp/dataio/trainingwrite.h of KataGo 1.17. Boards stand in the top left corner of a square of
`side` points, and a row's first plane says which points are on the board.
"""

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.support.files import draft_of
from engine.train.data.samples import HORIZONS, TARGETS, BadSamples, Samples, empty_samples, packed
from engine.train.data.targets import OWNERSHIP_SCALE
from weights.npz import DAMAGED_NPZ, declared_array

SUFFIX = ".npz"
ENCODER = "katago-v7"
PLANES, GLOBALS, SIDE = 22, 19, 19
_TARGET_CHANNELS, _POLICIES, _SPATIAL = 80, 2, 5
_FORMAT = 3
_RADIUS = 60
"""Scores beyond the area that the score distribution has places for."""
_POLICY_SCALE = 10_000
# Channels of globalTargetsNC.
_OUTCOME, _LATER, _SCORE = 0, 4, 20
_WHOLE, _POLICY, _OWNERSHIP, _REPLY = 25, 26, 27, 28
_NO_LATER, _NO_VALUE, _HISTORY, _GAME, _PLY, _FINISHED, _VERSION = 24, 35, 36, 41, 51, 62, 63
_GAME_BITS = (22, 22, 20)
_ARRAYS = {
    "binaryInputNCHWPacked": (np.uint8, 3),
    "globalInputNC": (np.float32, 2),
    "policyTargetsNCMove": (np.int16, 3),
    "globalTargetsNC": (np.float32, 2),
    "scoreDistrN": (np.int8, 2),
    "valueTargetsNCHW": (np.int8, 4),
}
_MOST_BYTES = 1 << 32
_Arrays = dict[str, NDArray[Any]]


def read_npz(path: Path) -> Iterator[Samples]:
    """Yield the rows of a file as samples, one batch for each board size. Raises BadSamples, OSError."""
    arrays = _arrays(path)
    side = arrays["valueTargetsNCHW"].shape[-1]
    bits = np.unpackbits(arrays["binaryInputNCHWPacked"], axis=2, count=side * side).reshape(-1, PLANES, side, side)
    widths, heights = bits[:, 0, 0, :].sum(axis=1), bits[:, 0, :, 0].sum(axis=1)
    for width, height in sorted({*zip(widths.tolist(), heights.tolist(), strict=True)}):
        rows = (widths == width) & (heights == height)
        board = bits[rows, 0]
        on_board = board[:, :height, :width]
        if width == 0 or not on_board.all() or board.sum() != on_board.size:
            raise BadSamples(f"{path}: binaryInputNCHWPacked: expected a rectangle of points in the first plane")
        yield _samples({name: array[rows] for name, array in arrays.items()}, bits[rows], width, height)


def _arrays(path: Path) -> _Arrays:
    """Return the arrays of a file, checked. Nothing in it is unpickled."""
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(each.file_size for each in archive.infolist()) > _MOST_BYTES:
                raise BadSamples(f"{path}: more than {_MOST_BYTES >> 30} GiB")
            for member in archive.infolist():
                if member.filename.removesuffix(".npy") in _ARRAYS:
                    _, kind, declared = declared_array(archive, member)
                    if declared != member.file_size and not kind.hasobject:
                        raise BadSamples(
                            f"{path}: {member.filename}: expected {declared} bytes, got {member.file_size}"
                        )
        with np.load(path, allow_pickle=False) as file:
            found = {name: file[name] for name in _ARRAYS if name in file}
    except DAMAGED_NPZ as error:
        if isinstance(error, BadSamples | FileNotFoundError | PermissionError | IsADirectoryError):
            raise
        raise BadSamples(f"{path}: damaged or no file of NumPy: {error}") from error
    if missing := _ARRAYS.keys() - found.keys():
        raise BadSamples(f"{path}: no training rows of KataGo: {min(missing)} is missing")
    for name, (dtype, dimensions) in _ARRAYS.items():
        if found[name].dtype != dtype or found[name].ndim != dimensions:
            wanted = f"{np.dtype(dtype)} of {dimensions} dimensions"
            raise BadSamples(f"{path}: {name}: expected {wanted}, got {found[name].dtype} of {found[name].ndim}")
    count, side = len(found["globalInputNC"]), found["valueTargetsNCHW"].shape[-1]
    shapes = {
        "binaryInputNCHWPacked": (count, PLANES, -(-side * side // 8)),
        "globalInputNC": (count, GLOBALS),
        "policyTargetsNCMove": (count, _POLICIES, side * side + 1),
        "globalTargetsNC": (count, None),
        "scoreDistrN": (count, 2 * side * side + 2 * _RADIUS),
        "valueTargetsNCHW": (count, _SPATIAL, side, side),
    }
    for name, expected in shapes.items():
        shape = found[name].shape
        if any(wanted not in (None, length) for wanted, length in zip(expected, shape, strict=True)):
            wanted = "x".join("any" if each is None else str(each) for each in expected)
            raise BadSamples(f"{path}: {name}: expected {wanted}, got {'x'.join(map(str, shape))}")
    if found["globalTargetsNC"].shape[1] < _VERSION + 1:
        raise BadSamples(f"{path}: globalTargetsNC: expected {_VERSION + 1} channels or more")
    return found


def _samples(arrays: _Arrays, bits: NDArray[np.uint8], width: int, height: int) -> Samples:
    count, side = len(bits), bits.shape[-1]
    targets = arrays["globalTargetsNC"].astype(np.float32)
    places = [row * side + column for row in range(height) for column in range(width)] + [side * side]
    policies = arrays["policyTargetsNCMove"][:, :, places].astype(np.float32)
    totals = policies.sum(axis=2, keepdims=True)
    shares = np.divide(policies, totals, out=np.zeros_like(policies), where=totals > 0).astype(np.float16)
    whole = targets[:, _WHOLE]
    weights = np.zeros((count, len(TARGETS)), np.float32)
    known = {
        "policy": targets[:, _POLICY] * (totals[:, 0, 0] > 0),
        "reply": targets[:, _REPLY] * (totals[:, 1, 0] > 0),
        "outcome": 1 - targets[:, _NO_VALUE],
        "score": targets[:, _OWNERSHIP],
        "ownership": targets[:, _OWNERSHIP],
    }
    for name, weight in known.items():
        weights[:, TARGETS.index(name)] = whole * weight
    owners = arrays["valueTargetsNCHW"][:, 0, :height, :width].reshape(count, -1).astype(np.int16)
    later = targets[:, _LATER : _LATER + 4 * HORIZONS].reshape(count, HORIZONS, 4)
    chunks = targets[:, _GAME : _GAME + len(_GAME_BITS)].astype(np.uint64)
    game = chunks[:, 0] | chunks[:, 1] << np.uint64(22) | chunks[:, 2] << np.uint64(44)
    return empty_samples(ENCODER, width, height, count).with_arrays(
        {
            "planes": packed(bits[:, :, :height, :width]),
            "globals": arrays["globalInputNC"],
            "policy": shares[:, 0],
            "reply": shares[:, 1],
            "outcome": targets[:, _OUTCOME : _OUTCOME + 3],
            "score": targets[:, _SCORE],
            "ownership": (owners * OWNERSHIP_SCALE).clip(-OWNERSHIP_SCALE, OWNERSHIP_SCALE).astype(np.int8),
            "weights": weights,
            "later": later * (1 - targets[:, _NO_LATER])[:, None, None],
            "ply": targets[:, _PLY].astype(np.int16),
            "game": game,
        }
    )


def write_npz(path: Path, parts: Sequence[Samples]) -> int:
    """Write samples of any board sizes up to 19x19 as one file that KataGo's training reads; return their number.

    A policy becomes counts that sum to about 10,000, and an ownership -1, 0 or 1. What samples lack has weight 0: the
    lead, seki, later boards and values of moves. Raises BadSamples for another encoder or a larger board.
    """
    for part in parts:
        if part.encoder != ENCODER or max(part.width, part.height) > SIDE:
            raise BadSamples(
                f"KataGo's rows are of encoder {ENCODER} and boards up to {SIDE}x{SIDE}, "
                f"not of {part.encoder} and {part.width}x{part.height}"
            )
    rows = [_rows(part) for part in parts if len(part)]
    together = {name: np.concatenate([each[name] for each in rows]) for name in _ARRAYS}
    with draft_of(path) as draft, draft.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **together)
    return len(together["globalInputNC"])


def _rows(samples: Samples) -> _Arrays:
    count, width, height, area = len(samples), samples.width, samples.height, SIDE * SIDE
    bits = np.unpackbits(samples.planes, axis=2, count=width * height).reshape(count, PLANES, height, width)
    board = np.zeros((count, PLANES, SIDE, SIDE), np.uint8)
    board[:, :, :height, :width] = bits
    places = [row * SIDE + column for row in range(height) for column in range(width)] + [area]
    policies = np.zeros((count, _POLICIES, area + 1), np.int16)
    for index, policy in enumerate((samples.policy, samples.reply)):
        policies[:, index, places] = np.rint(policy.astype(np.float32) * _POLICY_SCALE).astype(np.int16)
    # A target of weight 0 must be a distribution all the same.
    policies[policies.sum(axis=2) == 0, area] = 1
    weights = dict(zip(TARGETS, samples.weights.T, strict=True))
    later = samples.later[..., :3].sum(axis=(1, 2)) > 0
    spatial = np.zeros((count, _SPATIAL, SIDE, SIDE), np.int8)
    owners = np.rint(samples.ownership.astype(np.float32) / OWNERSHIP_SCALE).reshape(count, height, width)
    spatial[:, 0, :height, :width] = np.where(weights["ownership"][:, None, None] > 0, owners, 0)
    targets = np.zeros((count, _TARGET_CHANNELS), np.float32)
    targets[:, _OUTCOME : _OUTCOME + 3] = samples.outcome
    targets[:, _OUTCOME + 3] = targets[:, _SCORE] = np.where(weights["score"] > 0, samples.score, 0)
    targets[:, _LATER : _LATER + 4 * HORIZONS] = samples.later.reshape(count, -1)
    targets[:, _NO_LATER] = ~later
    targets[:, _WHOLE] = 1
    targets[:, _POLICY], targets[:, _REPLY] = weights["policy"], weights["reply"]
    targets[:, _OWNERSHIP] = np.minimum(weights["ownership"], weights["score"])
    targets[:, _NO_VALUE] = 1 - weights["outcome"]
    targets[:, _HISTORY : _HISTORY + 5] = 1
    for place, start in enumerate(np.cumsum([0, *_GAME_BITS[:-1]])):
        chunk = samples.game >> np.uint64(start) & np.uint64((1 << _GAME_BITS[place]) - 1)
        targets[:, _GAME + place] = chunk
    targets[:, _PLY], targets[:, _FINISHED], targets[:, _VERSION] = samples.ply, 1, _FORMAT
    return {
        "binaryInputNCHWPacked": np.packbits(board.reshape(count, PLANES, area), axis=2),
        "globalInputNC": samples.globals,
        "policyTargetsNCMove": policies,
        "globalTargetsNC": targets,
        "scoreDistrN": _score_distribution(targets[:, _SCORE]),
        "valueTargetsNCHW": spatial,
    }


def _score_distribution(scores: NDArray[np.float32]) -> NDArray[np.int8]:
    """Return 100 at the place of each score, divided between two for a whole number: [B, 2 * area + 120]."""
    length, middle = 2 * SIDE * SIDE + 2 * _RADIUS, SIDE * SIDE + _RADIUS
    found = np.zeros((len(scores), length), np.int8)
    # Place p is the score p - middle + 0.5.
    exact = np.clip(scores.astype(np.float64) + middle - 0.5, 0, length - 1)
    lower = np.minimum(np.floor(exact), length - 2).astype(np.intp)
    upper = np.rint((exact - lower) * 100).astype(np.int8)
    rows = np.arange(len(scores))
    found[rows, lower], found[rows, lower + 1] = 100 - upper, upper
    return found
