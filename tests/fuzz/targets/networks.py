"""Damaged network files of every format that `weights` reads: loaded whole, or refused in one line."""

import gzip
import io
import json
import random
import tempfile
import zipfile
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from engine.apps.net.info import facts
from engine.encoders import ENCODERS
from engine.nets.random import random_spec
from engine.nets.spec import WeightsError, tensors
from engine.support.json_text import json_text
from tests.fuzz.target import Target
from tests.weights.made_files import CHECKPOINT, KatagoFile, LeelaFile
from weights import native
from weights.registry import load

_SIDE = 5
_SHORT_LENGTH = 8
_ODD: tuple[Any, ...] = (None, True, -1, 0, 1, 2, 10**9, 10**30, 1e308, 0.5, "", "x", [], {}, [1, 2], "conv", "relu")


@cache
def seeds() -> tuple[tuple[str, bytes], ...]:
    """Return a small sound file of each kind, with its format."""
    katago = [
        KatagoFile(8, binary=True, kinds=("ordinary", "gpool")),
        KatagoFile(15, binary=False, kinds=("nested",)),
        KatagoFile(17, binary=True, kinds=("learned attention", "ffn"), rms=True),
        KatagoFile(3, binary=False, kinds=("dilated",)),
    ]
    texts = [("katago", each.data) for each in katago]
    texts += [("leela", LeelaFile(version, blocks=1, filters=2, side=4).data) for version in (1, 2)]
    zipped = [(f"{kind} gzip", gzip.compress(data, mtime=0)) for kind, data in texts[::2]]
    spec = random_spec(1, 4, ENCODERS["katago-v7"], 1, head_channels=2)
    ours = ("native", native.to_bytes(spec))
    return (*texts, *zipped, ours, ("keras", keras_file()), ("checkpoint", CHECKPOINT.read_bytes()))


def keras_file() -> bytes:
    """Return a file of Keras's kind: two convolutions and two dense layers."""
    draw, arrays = np.random.default_rng(1), []
    for shape in ((3, 3, 1, 2), (3, 3, 2, 2), (2 * _SIDE * _SIDE, 4), (4, _SIDE * _SIDE)):
        arrays += [draw.normal(0, 0.2, shape).astype(np.float32), draw.normal(0, 0.2, shape[-1]).astype(np.float32)]
    file = io.BytesIO()
    np.savez(file, *arrays)
    return file.getvalue()


def make(generator: random.Random) -> bytes:
    """Return a file with one fault in its structure: lower layers would refuse what mutations of bytes make of it."""
    kind, data = generator.choice(seeds())
    if kind == "native":
        return _native(data, generator)
    if kind == "checkpoint":
        return _checkpoint(data, generator)
    if kind.endswith("gzip"):
        return gzip.compress(_reworded(gzip.decompress(data), generator), mtime=0)
    if kind in ("katago", "leela"):
        return _reworded(data, generator)
    return _keras(generator)


def _reworded(data: bytes, generator: random.Random) -> bytes:
    """Return a text with one word among the first ones of a line replaced by another."""
    words = data.split(b" ")
    place = generator.choice([index for index, word in enumerate(words) if len(word) <= _SHORT_LENGTH] or [0])
    numbers = (b"0", b"-1", b"1", b"3", b"49", b"65000", b"1000000000", b"nan", b"1e39", b"", b"x", b"@BIN@")
    words[place] = generator.choice([*numbers, generator.choice(words)[:100]])
    return b" ".join(words)


def _checkpoint(data: bytes, generator: random.Random) -> bytes:
    """Return a checkpoint with some bytes of its pickle changed, and right checksums."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(file, "w") as target:
        for name in source.namelist():
            content = bytearray(source.read(name))
            for _ in range(generator.randrange(1, 4) if name.endswith("data.pkl") else 0):
                content[generator.randrange(len(content))] = generator.randrange(256)
            target.writestr(name, bytes(content))
    return file.getvalue()


def _native(data: bytes, generator: random.Random) -> bytes:
    """Return a safetensors file with one value of its description or header changed, and a right checksum."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    document = json.loads(header["__metadata__"][native.METADATA_KEY])
    whole: Any = generator.choice([document["net"], document["net"], document, header])
    _disturb(whole, generator)
    if isinstance(document.get("net"), dict):
        document["crc32"] = zlib.crc32(
            data[8 + length :], zlib.crc32(json.dumps(document["net"], sort_keys=True).encode())
        )
    if isinstance(header.get("__metadata__"), dict):
        header["__metadata__"][native.METADATA_KEY] = json.dumps(document, sort_keys=True)
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data[8 + length :]


def _disturb(value: Any, generator: random.Random) -> None:
    """Change one value somewhere within a JSON value."""
    while isinstance(value, dict | list) and value:
        keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = generator.choice(keys)
        if not isinstance(value[key], dict | list) or not value[key] or generator.random() < 0.15:
            if generator.random() < 0.2:
                del value[key]
            else:
                value[key] = generator.choice(_ODD)
            return
        value = value[key]


def _keras(generator: random.Random) -> bytes:
    """Return an npz file with arrays of other shapes, types or names; some are large, and packed small."""
    draw, arrays = np.random.default_rng(generator.randrange(1000)), {}
    shapes = [(3, 3, 1, 2), (2,), (3, 3, 2, 2), (2,), (50, 4), (4,), (4, 25), (25,)]
    for index, shape in enumerate(shapes):
        if generator.random() < 0.15:
            shape = tuple(generator.choice([0, 1, 2, 25, 49, 1000]) for _ in range(generator.randrange(5)))
            if np.prod(shape) > 1 << 18:
                shape = (7,)
        kind = generator.choice(["<f4"] * 8 + ["<f8", "<f2", "<i4", "|b1", "<c8", "<U3"])
        name = f"arr_{index}" if generator.random() < 0.97 else generator.choice(["arr_9", "x", "../x", ""])
        arrays[name] = draw.normal(0, 0.2, shape).astype(kind)
    file = io.BytesIO()
    generator.choice((np.savez, np.savez_compressed))(file, **arrays)  # type: ignore[operator]
    return file.getvalue()


def check(data: bytes) -> int:
    """Load a file: it is a network that can be described and written again, or one line says what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net"
        path.write_bytes(data)
        try:
            spec = load(path)
        except WeightsError as error:
            text = str(error)
            assert text.startswith(f"{path}: ") and "\n" not in text and len(text) < 1000, text[:2000]
            return 1
        assert all(np.isfinite(array).all() for _, array in tensors(spec))
        assert json_text(facts(spec, path))
        if spec.name.isprintable():
            native.write(spec, path)
            load(path)
    return 1


_WORDS = (b"@BIN@", b"nan", b"1e39", b"-1", b"PK\x03\x04", b"\x1f\x8b")
TARGET = Target(make, check, "networks", words=_WORDS, binary=True)
