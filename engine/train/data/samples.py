"""Training samples: encoded positions with their targets.

Owns the schema that self-play, game records and teachers write and that training reads, its file format
("keima-samples" 1), and the symmetries of inputs and targets. Writers set the weights of targets;
`engine.train.learning.loss` defines the loss. Everything in a sample is from the point of view of the side to move.
"""

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

from engine.encoders import ENCODERS, Encoder
from engine.encoders.game_positions import write_position
from engine.errors import GoError
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.support.files import write_atomically
from engine.support.json_text import json_text
from engine.symmetry import IDENTITY, applicable, map_planes, map_policy
from engine.train.data.players import NUMBERS
from engine.train.data.targets import checked_target

FORMAT = "keima-samples"
VERSION = 1
SUFFIX = ".safetensors"
TARGETS = ("policy", "reply", "outcome", "score", "ownership")
"""Columns of `Samples.weights`.

Fixed: files store a column for each. A newer target is an array in `OPTIONAL`, masked by its zeros.
"""
OPTIONAL = {"later", "players"}
"""Arrays that a file lacks if they are all zeros."""
HORIZONS = 3
"""Horizons of `later`, see `engine.train.games.later_targets`."""
MAX_HEADER = 1 << 20

_LENGTH_BYTES = 8
_ENCODED_AT_A_TIME = 64
_STORED_TYPES = {"U8": "<u1", "I8": "|i1", "I16": "<i2", "F16": "<f2", "F32": "<f4", "U64": "<u8"}

AnyArray: TypeAlias = NDArray[Any]


class BadSamples(GoError):
    """Raised for a samples file that cannot be used; the text has the file, the field, expected and actual values."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Positions of one board size and encoder with their targets; the first axis is B.

    encoder: its name in `engine.encoders.ENCODERS`.
    planes: [B, P, ceil(area / 8)] uint8, np.packbits of the 0/1 planes, points row by row from the top. A signed
        encoder has 2 P planes: first where the input is 1, then where it is -1.
    globals: [B, G] float32.
    policy: [B, area + 1] float16, sums to 1, pass last. reply: the same for the opponent's next move; zeros if
        unknown.
    outcome: [B, 3] float32, P(win), P(loss), P(no result); a draw is 0.5, 0.5, 0.
    score: [B] float32, the final margin in points, komi included.
    ownership: [B, area] int8, -127..127, positive where the side to move owns the point at the end.
    weights: [B, 5] float32, the weight of each of TARGETS; 0 masks a target out.
    later: [B, HORIZONS, 4] float32, P(win), P(loss), P(no result) and score of the near future; zeros if unknown.
    ply: [B] int16, moves played before the position. game: [B] uint64, a hash, equal for all samples of a game.
    players: [B, NUMBERS] int16, see `engine.train.data.players`; zeros if unknown.
    """

    width: int
    height: int
    encoder: str
    planes: NDArray[np.uint8]
    globals: NDArray[np.float32]
    policy: NDArray[np.float16]
    reply: NDArray[np.float16]
    outcome: NDArray[np.float32]
    score: NDArray[np.float32]
    ownership: NDArray[np.int8]
    weights: NDArray[np.float32]
    later: NDArray[np.float32]
    ply: NDArray[np.int16]
    game: NDArray[np.uint64]
    players: NDArray[np.int16]

    def __post_init__(self) -> None:
        """Raise BadSamples unless every array has the shape and dtype of the schema."""
        for name, (dtype, shape) in schema(self.encoder, self.width, self.height, len(self.planes)).items():
            array = getattr(self, name)
            if array.shape != shape or array.dtype != dtype:
                raise BadSamples(f"{name}: expected {dtype} {list(shape)}, got {array.dtype} {list(array.shape)}")

    def __len__(self) -> int:
        return len(self.planes)

    def __getitem__(self, index: slice | AnyArray) -> "Samples":
        """Return the samples selected by a slice, an array of indices or a mask."""
        return self.with_arrays({name: array[index] for name, array in arrays_of(self).items()})

    def with_arrays(self, arrays: Mapping[str, AnyArray]) -> "Samples":
        """Return a copy with the named arrays replaced."""
        return Samples(self.width, self.height, self.encoder, **{**arrays_of(self), **arrays})

    @property
    def area(self) -> int:
        """The number of points of the board."""
        return self.width * self.height


_ARRAYS = tuple(field.name for field in fields(Samples) if field.name not in ("width", "height", "encoder"))


def arrays_of(samples: Samples) -> dict[str, AnyArray]:
    """Return the arrays by name, in schema order."""
    return {name: getattr(samples, name) for name in _ARRAYS}


def schema(encoder: str, width: int, height: int, count: int) -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
    """Return the dtype and shape of every array of `count` samples. Raises BadSamples on an unknown encoder."""
    if encoder not in ENCODERS:
        raise BadSamples(f"unknown encoder {encoder!r}, expected one of {' '.join(ENCODERS)}")
    format_, area = ENCODERS[encoder], width * height
    return {
        "planes": (np.dtype(np.uint8), (count, format_.planes * (1 + format_.signed), math.ceil(area / 8))),
        "globals": (np.dtype(np.float32), (count, format_.globals)),
        "policy": (np.dtype(np.float16), (count, area + 1)),
        "reply": (np.dtype(np.float16), (count, area + 1)),
        "outcome": (np.dtype(np.float32), (count, 3)),
        "score": (np.dtype(np.float32), (count,)),
        "ownership": (np.dtype(np.int8), (count, area)),
        "weights": (np.dtype(np.float32), (count, len(TARGETS))),
        "later": (np.dtype(np.float32), (count, HORIZONS, 4)),
        "ply": (np.dtype(np.int16), (count,)),
        "game": (np.dtype(np.uint64), (count,)),
        "players": (np.dtype(np.int16), (count, NUMBERS)),
    }


def empty_samples(encoder: str, width: int, height: int, count: int = 0) -> Samples:
    """Return `count` samples with all arrays zero."""
    arrays = {name: np.zeros(shape, dtype) for name, (dtype, shape) in schema(encoder, width, height, count).items()}
    return Samples(width, height, encoder, **arrays)


def concatenate(parts: Sequence[Samples]) -> Samples:
    """Concatenate samples of one board size and encoder. Raises BadSamples if those differ."""
    kinds = {(part.width, part.height, part.encoder) for part in parts}
    if len(kinds) != 1:
        raise BadSamples(f"expected samples of one board size and encoder, got {sorted(kinds)}")
    return parts[0].with_arrays({name: np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS})


def packed(planes: AnyArray) -> NDArray[np.uint8]:
    """Pack planes [B, P, H, W] of zeros and ones into bits [B, P, ceil(area / 8)]."""
    batch, count, height, width = planes.shape
    return np.packbits(planes.reshape(batch, count, height * width), axis=-1)


def packed_inputs(encoder: Encoder, planes: AnyArray) -> NDArray[np.uint8]:
    """Pack the planes [B, P, H, W] of an encoder into the schema's bits.

    Raises ValueError on values other than 0 and 1, or -1 with a signed encoder.
    """
    parts = [planes == 1, planes == -1] if encoder.signed else [planes == 1]
    if sum(map(np.count_nonzero, parts)) != np.count_nonzero(planes):
        raise ValueError(f"encoder {encoder.name} wrote other values than {'-1, ' * encoder.signed}0 and 1")
    return packed(np.concatenate(parts, axis=1))


def _bits(samples: Samples) -> NDArray[np.uint8]:
    bits = np.unpackbits(samples.planes, axis=-1, count=samples.area)
    return bits.reshape(len(samples), -1, samples.height, samples.width)


def unpacked(samples: Samples) -> NDArray[np.float32]:
    """Unpack the network's input planes: [B, P, H, W] float32, C-contiguous."""
    planes = _bits(samples).astype(np.float32)
    if not ENCODERS[samples.encoder].signed:
        return planes
    count = planes.shape[1] // 2
    return planes[:, :count] - planes[:, count:]


def apply_symmetries(samples: Samples, symmetry: NDArray[np.integer[Any]]) -> Samples:
    """Apply a symmetry to each sample: to planes, policy, reply and ownership.

    symmetry: [B], numbered as in `engine.symmetry`. Raises ValueError on one that does not map the board to itself.
    """
    width, height = samples.width, samples.height
    arrays = {name: getattr(samples, name).copy() for name in ("planes", "policy", "reply", "ownership")}
    # One pass for each symmetry, at most 8, instead of one for each sample.
    for each in np.unique(symmetry).tolist():
        if each == IDENTITY:
            continue
        rows = np.flatnonzero(symmetry == each)
        part = samples[rows]
        arrays["planes"][rows] = packed(map_planes(_bits(part), each))
        for name in ("policy", "reply"):
            arrays[name][rows] = map_policy(getattr(part, name), each, width, height)
        board = map_planes(part.ownership.reshape(-1, height, width), each)
        arrays["ownership"][rows] = board.reshape(len(rows), -1)
    return samples.with_arrays(arrays)


def random_symmetries(samples: Samples, generator: np.random.Generator) -> NDArray[np.int8]:
    """Return a random symmetry of the board for each sample: [B] int8."""
    return generator.integers(len(applicable(samples.width, samples.height)), size=len(samples), dtype=np.int8)


class SampleWriter:
    """Collects samples of one board size, encoding their positions many at a time.

    Games of any rules may be mixed, and interleaved. doubling: as `PositionBatch.playout_doubling`. Not thread-safe.
    """

    def __init__(self, encoder: str, width: int, height: int, doubling: float = 0.0) -> None:
        self._empty = empty_samples(encoder, width, height)  # refuses an unknown encoder
        self._format = ENCODERS[encoder]
        self._scratch = self._format.new_scratch(width, height)
        self._positions = PositionBatch(_ENCODED_AT_A_TIME, width, height)
        self._positions.playout_doubling = doubling
        self._planes = np.zeros((_ENCODED_AT_A_TIME, self._format.planes, height, width), dtype=np.float32)
        self._globals = np.zeros((_ENCODED_AT_A_TIME, self._format.globals), dtype=np.float32)
        self._pending = 0
        self._encoded: list[tuple[NDArray[np.uint8], NDArray[np.float32]]] = []
        self._targets: list[dict[str, Any]] = []

    def __len__(self) -> int:
        return len(self._targets)

    # One keyword for each target of the schema: writers name only those that they know.
    def add(
        self,
        game: Game,
        color: int,
        policy: AnyArray | None,
        *,
        game_hash: int,
        reply: AnyArray | None = None,
        outcome: Sequence[float] | None = None,
        score: float | None = None,
        ownership: AnyArray | None = None,
        weights: Mapping[str, float] | None = None,
        later: AnyArray | None = None,
        ply: int | None = None,
        players: Sequence[int] | None = None,
    ) -> None:
        """Add the current position of a game with `color` to play. The game may be changed afterwards.

        policy, reply: [area + 1], normalized here. outcome: P(win), P(loss), P(no result). ownership: [area] in -1..1.
        later: [HORIZONS, 4]. All are from the point of view of `color`. None means unknown and gets weight 0; other
        targets get weight 1, unless `weights` has another one under their name in TARGETS. ply: by default the game's.
        players: [NUMBERS].
        Raises ValueError on values outside these ranges, or a game of another board size.
        """
        width, height = self._empty.width, self._empty.height
        if (game.width, game.height) != (width, height):
            raise ValueError(f"expected a {width}x{height} game, got {game.width}x{game.height}")
        given = {"policy": policy, "reply": reply, "outcome": outcome, "score": score, "ownership": ownership}
        if unknown := set(weights or ()) - set(TARGETS):
            raise ValueError(f"unknown target {min(unknown)!r}, expected one of {' '.join(TARGETS)}")
        row = {name: checked_target(name, value) for name, value in given.items() if value is not None}
        row["weights"] = [(weights or {}).get(name, 1.0) if name in row else 0.0 for name in TARGETS]
        row |= {name: each for name, each in (("later", later), ("players", players)) if each is not None}
        row["ply"] = game.move_number if ply is None else ply
        row["game"] = game_hash
        # Encoded in batches, because a call of the encoder costs more than a position; a batch has one rule set.
        if self._pending == _ENCODED_AT_A_TIME or (self._pending and self._positions.rules != game.rules):
            self._encode()
        write_position(game, color, self._positions, self._pending)
        self._pending += 1
        self._targets.append(row)

    def _encode(self) -> None:
        count = self._pending
        if count == 0:
            return
        planes, globals_ = self._planes[:count], self._globals[:count]
        self._format.encode(self._positions, count, planes, globals_, self._scratch)
        self._encoded.append((packed_inputs(self._format, planes), globals_.copy()))
        self._pending = 0

    def take(self) -> Samples:
        """Return the samples added since the last call, in their order, and clear the writer."""
        self._encode()
        targets, encoded = self._targets, self._encoded
        self._targets, self._encoded = [], []
        if not targets:
            return self._empty
        samples = empty_samples(self._format.name, self._empty.width, self._empty.height, len(targets))
        samples.planes[:] = np.concatenate([bits for bits, _ in encoded])
        samples.globals[:] = np.concatenate([globals_ for _, globals_ in encoded])
        for index, row in enumerate(targets):
            for name, value in row.items():
                getattr(samples, name)[index] = value
        return samples


@dataclass(frozen=True)
class ShardInfo:
    """The contents of a samples file's header."""

    path: Path
    width: int
    height: int
    encoder: str
    count: int
    provenance: Mapping[str, str]


def write_shard(path: Path | str, samples: Samples, provenance: Mapping[str, str]) -> None:
    """Write samples to a file atomically. Raises OSError.

    provenance: where the samples come from, under any keys.
    """
    header = {
        "version": VERSION,
        "width": samples.width,
        "height": samples.height,
        "encoder": samples.encoder,
        "count": len(samples),
        "provenance": dict(provenance),
    }
    # Without targets that no sample has: files of samples without them remain what they were.
    kept = [each for each in arrays_of(samples).items() if each[0] not in OPTIONAL or each[1].any()]
    arrays = {name: np.ascontiguousarray(array) for name, array in kept}
    data = safetensors.numpy.save(arrays, {FORMAT: json_text(header, sort_keys=True)})
    write_atomically(Path(path), data)


def shard_info(path: Path | str) -> ShardInfo:
    """Read the header of a samples file. Raises BadSamples with file and field."""
    return _read_header(Path(path))[0]


@dataclass(frozen=True)
class ShardLayout:
    """Offset, dtype and shape of each array in a samples file, checked; maps the file without reading its header."""

    path: Path
    info: ShardInfo
    places: Mapping[str, tuple[int, "np.dtype[Any]", tuple[int, ...]]]

    def map(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by field, as read-only memory maps of the file. Raises OSError."""
        # One map for all arrays, because each needs its own file descriptor.
        handle = os.open(self.path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            content = np.frombuffer(mmap(handle, 0, access=ACCESS_READ), np.uint8)
        finally:
            os.close(handle)
        found = {
            name: content[start : start + dtype.itemsize * math.prod(shape)].view(dtype).reshape(shape)
            for name, (start, dtype, shape) in self.places.items()
        }
        for name in OPTIONAL - found.keys():
            dtype, shape = schema(self.info.encoder, self.info.width, self.info.height, self.info.count)[name]
            found[name] = np.broadcast_to(np.zeros((), dtype), shape)
        return found


def read_shard(path: Path | str) -> Samples:
    """Return the samples of a file; their arrays are read-only memory maps of it.

    Raises BadSamples with file and field.
    """
    layout = shard_layout(path)
    return Samples(layout.info.width, layout.info.height, layout.info.encoder, **layout.map())


def shard_layout(path: Path | str) -> ShardLayout:
    """Read the header of a samples file and check its arrays. Raises BadSamples with file and field."""
    path = Path(path)
    info, places = _read_header(path)
    size, checked = path.stat().st_size, {}
    for name, (dtype, shape) in schema(info.encoder, info.width, info.height, info.count).items():
        stored = places.pop(name, None)
        if stored is None:
            if name in OPTIONAL:
                continue
            raise BadSamples(f"{path}: {name}: missing")
        start, stored_dtype, stored_shape = stored
        if (stored_dtype, stored_shape) != (dtype, shape):
            raise BadSamples(f"{path}: {name}: expected {dtype} {list(shape)}, got {stored_dtype} {list(stored_shape)}")
        if start + dtype.itemsize * math.prod(shape) > size:
            raise BadSamples(f"{path}: {name}: truncated: the file ends at {size}")
        checked[name] = stored
    if places:
        raise BadSamples(f"{path}: {min(places)}: unknown field")
    return ShardLayout(path, info, checked)


_Places: TypeAlias = dict[str, tuple[int, "np.dtype[Any]", tuple[int, ...]]]


def _read_header(path: Path) -> tuple[ShardInfo, _Places]:
    """Return a file's header, and the offset, dtype and shape of each array in it. Raises BadSamples."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            # Checked before reading: a damaged length must not allocate gigabytes.
            length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
            if not 2 <= length <= min(MAX_HEADER, size - _LENGTH_BYTES):
                raise BadSamples(f"{path}: no safetensors file: header of {length} bytes in a file of {size}")
            header = json.loads(file.read(length))
    except OSError as error:
        raise BadSamples(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, BadSamples):
            raise
        raise BadSamples(f"{path}: no safetensors file: {error}") from None
    try:
        info = _info(path, json.loads(header.pop("__metadata__")[FORMAT]))
        places = {name: _place(entry, _LENGTH_BYTES + length) for name, entry in header.items()}
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        if isinstance(error, BadSamples):
            raise
        raise BadSamples(f"{path}: no file of samples: expected a header {FORMAT!r}, got {error!r}") from None
    return info, places


def _info(path: Path, header: Mapping[str, Any]) -> ShardInfo:
    if header["version"] != VERSION:
        raise BadSamples(f"{path}: version: expected {VERSION}, got {header['version']}")
    width, height, count = (int(header[name]) for name in ("width", "height", "count"))
    if header["encoder"] not in ENCODERS:
        raise BadSamples(f"{path}: encoder: expected one of {' '.join(ENCODERS)}, got {header['encoder']!r}")
    if not (1 <= width <= 25 and 1 <= height <= 25 and count >= 0):
        raise BadSamples(f"{path}: expected samples of boards up to 25x25, got {count} of {width}x{height}")
    return ShardInfo(path, width, height, header["encoder"], count, dict(header["provenance"]))


def _place(entry: Mapping[str, Any], start: int) -> tuple[int, "np.dtype[Any]", tuple[int, ...]]:
    dtype = np.dtype(_STORED_TYPES[entry["dtype"]])
    return start + int(entry["data_offsets"][0]), dtype, tuple(int(side) for side in entry["shape"])
