"""The file of a book: a magic line, a header in JSON, and arrays that zlib has packed.

    keima-book 1\\n
    length of the header (4 bytes, little-endian), the header, the packed arrays

The header says what the book is for and how it was made, how many positions and moves it has, and the CRC-32 of the
unpacked arrays. Everything that a file declares is checked against its length before memory is allocated for it. A
file is read whole: one of 3 MB takes less than 0.1 s.
"""

import json
import os
import zlib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.book.finding import FIRST_LINE, BookError, require_first_line
from engine.errors import GoError
from engine.rules import Rules, is_komi, parse_rules
from engine.support.files import write_atomically
from engine.support.json_text import json_text
from engine.vertex import MAX_SIZE

_LENGTH_BYTES = 4
_MAX_HEADER = 1 << 16
_MAX_FILE = 1 << 30
_MAX_RATIO = 1040
"""How many bytes zlib can unpack one into, at most; a larger size is a lie."""
VALUE_SCALE = 32767.0


class Entries(NamedTuple):
    """The arrays of a book: N positions in ascending order of (key, ply), and their M moves.

    key: see `engine.book.positions`. ply: moves played before the position; 0 in a book of exact values. value: Black's
    wins minus losses in [-1, 1], times VALUE_SCALE. lead: Black's points. visits: of the searches of this position and
    of those after it; 0 where the value is exact. first: [N + 1] index of a position's first move; its moves are
    ordered, best first. move: policy index on the book's board; only exact books have passes. child: index of the
    position after it, one ply later.
    """

    key: NDArray[np.uint64]
    ply: NDArray[np.uint16]
    value: NDArray[np.int16]
    lead: NDArray[np.float32]
    visits: NDArray[np.uint32]
    first: NDArray[np.uint32]
    move: NDArray[np.uint16]
    child: NDArray[np.int32]


_DTYPES = ("<u8", "<u2", "<i2", "<f4", "<u4", "<u4", "<u2", "<i4")


@dataclass(frozen=True)
class About:
    """What a book is for and how it was made.

    visits: of each search; 0 in a book of exact values, whose leads are without komi, so that it is for every komi.
    """

    width: int
    height: int
    rules: Rules
    komi: float
    visits: int
    network: str = ""
    made: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a JSON object, rules as `kata-get-rules` writes them."""
        return asdict(self) | {"rules": json.loads(self.rules.to_json())}


def write(path: Path, about: About, entries: Entries) -> None:
    """Write a book atomically; equal books give equal files. Raises OSError."""
    columns = [np.ascontiguousarray(array, dtype) for array, dtype in zip(entries, _DTYPES, strict=True)]
    data = b"".join(column.tobytes() for column in columns)
    counts = {"positions": len(entries.key), "moves": len(entries.move), "crc32": zlib.crc32(data)}
    header = json_text(about.to_json() | counts).encode()
    packed = zlib.compress(data, 9)
    write_atomically(path, FIRST_LINE + len(header).to_bytes(_LENGTH_BYTES, "little") + header + packed)


def read(path: str | os.PathLike[str]) -> tuple[About, Entries]:
    """Read and check a book. Raises BookError for anything that is no whole book, OSError."""
    name, file = os.fspath(path), Path(path)
    size = file.stat().st_size
    if size > _MAX_FILE:
        raise _wrong(name, f"at most {_MAX_FILE} bytes", f"{size}")
    content = file.read_bytes()
    header, start = _read_header(name, content)
    about = _about(name, header)
    positions, moves, checksum = (_count(name, header, key) for key in ("positions", "moves", "crc32"))
    data = _unpacked(name, content[start:], _bytes(positions, moves))
    if zlib.crc32(data) != checksum:
        raise _wrong(name, f"arrays with CRC-32 {checksum}", f"{zlib.crc32(data)}")
    entries = _split(data, positions, moves)
    _check(name, about, entries)
    return about, entries


def read_about(path: str | os.PathLike[str]) -> About:
    """Read what a book is for, without its arrays. Raises BookError for a file without a book's header, OSError."""
    name = os.fspath(path)
    with Path(path).open("rb") as file:
        content = file.read(len(FIRST_LINE) + _LENGTH_BYTES + _MAX_HEADER)
    return _about(name, _read_header(name, content)[0])


def _read_header(name: str, content: bytes) -> tuple[dict[str, Any], int]:
    """Return the header, and where the arrays begin."""
    require_first_line(name, content)
    start = len(FIRST_LINE) + _LENGTH_BYTES
    length = int.from_bytes(content[len(FIRST_LINE) : start], "little")
    if not 0 < length <= min(_MAX_HEADER, len(content) - start):
        raise _wrong(name, f"a header of 1 to {min(_MAX_HEADER, max(0, len(content) - start))} bytes", f"{length}")
    return _header(name, content[start : start + length]), start + length


def _wrong(name: str, expected: str, got: str) -> BookError:
    return BookError(f"{name}: expected {expected}, got {got}")


def _header(name: str, text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _wrong(name, "a header in JSON", f"{type(error).__name__}") from None
    if not isinstance(header, dict):
        raise _wrong(name, "a JSON object as header", f"{type(header).__name__}")
    return header


def _count(name: str, header: dict[str, Any], key: str) -> int:
    value = header.get(key)
    if type(value) is not int or not 0 <= value < 1 << 32:
        raise _wrong(name, f"{key} from 0 to 4294967295", repr(value)[:40])
    return value


def _about(name: str, header: dict[str, Any]) -> About:
    width, height, visits = (_count(name, header, key) for key in ("width", "height", "visits"))
    if not (1 <= width <= MAX_SIZE and 1 <= height <= MAX_SIZE):
        raise _wrong(name, f"a board of 1x1 to {MAX_SIZE}x{MAX_SIZE}", f"{width}x{height}")
    komi, network, made = header.get("komi"), header.get("network"), header.get("made")
    if type(komi) not in (int, float) or not is_komi(float(komi)):  # type: ignore[arg-type]
        raise _wrong(name, "a komi", repr(komi)[:40])
    if not isinstance(network, str) or not isinstance(made, dict) or not isinstance(header.get("rules"), dict):
        raise _wrong(name, "rules, network and made in the header", ", ".join(map(ascii, sorted(header)))[:200])
    try:
        rules = parse_rules(json_text(header["rules"]))
    except GoError as error:
        raise _wrong(name, "rules", str(error)[:200]) from None
    return About(width, height, rules, float(komi), visits, network, made)  # type: ignore[arg-type]


def _bytes(positions: int, moves: int) -> int:
    """Return the length of the unpacked arrays."""
    return sum(
        count * np.dtype(dtype).itemsize for count, dtype in zip(_counts(positions, moves), _DTYPES, strict=True)
    )


def _counts(positions: int, moves: int) -> tuple[int, ...]:
    return (*(positions,) * 5, positions + 1, moves, moves)


def _unpacked(name: str, packed: bytes, length: int) -> bytes:
    if length > len(packed) * _MAX_RATIO:
        raise _wrong(name, f"at most {len(packed) * _MAX_RATIO} bytes in {len(packed)} packed ones", f"{length}")
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(packed, length)
    except zlib.error as error:
        raise _wrong(name, f"{length} packed bytes", str(error)) from None
    is_whole = len(data) == length and not unpacker.unconsumed_tail and not unpacker.unused_data
    # The end of the stream may need one more call, which must bring nothing.
    if not is_whole or unpacker.decompress(b"", 1) or not unpacker.eof:
        raise _wrong(name, f"{length} bytes of arrays", f"{len(data)} and {'no ' if unpacker.eof else ''}more")
    return data


def _split(data: bytes, positions: int, moves: int) -> Entries:
    arrays, offset = [], 0
    for count, dtype in zip(_counts(positions, moves), _DTYPES, strict=True):
        arrays.append(np.frombuffer(data, dtype, count, offset))
        offset += arrays[-1].nbytes
    return Entries(*arrays)


def _check(name: str, about: About, entries: Entries) -> None:
    """Raise BookError unless every index leads somewhere, one ply later, and every number is in its range."""
    key, ply, first, child = entries.key, entries.ply.astype(np.int64), entries.first, entries.child
    count, moves = len(key), len(entries.move)
    if count == 0 or int(first[0]) != 0 or int(first[-1]) != moves or np.any(first[1:] < first[:-1]):
        raise _wrong(name, f"{moves} moves in the order of {count} positions", "others")
    ascending = (key[1:] > key[:-1]) | ((key[1:] == key[:-1]) & (ply[1:] > ply[:-1]))
    if not ascending.all():
        raise _wrong(name, "positions in ascending order", f"position {int(np.argmin(ascending)) + 1}")
    if moves and int(entries.move.max()) > about.width * about.height:
        raise _wrong(name, f"moves on {about.width}x{about.height}", f"move {int(entries.move.max())}")
    if np.any((child < 0) | (child >= count)):
        raise _wrong(name, f"positions below {count} after moves", f"{int(child.min())} to {int(child.max())}")
    # Values of searches are passed on from later positions to earlier ones; exact ones may be those of a cycle.
    if about.visits and np.any(ply[child] != np.repeat(ply, first[1:] - first[:-1]) + 1):
        raise _wrong(name, "positions one ply after each move", "others")
    if not np.isfinite(entries.lead).all() or np.any(np.abs(entries.lead) > 2 * MAX_SIZE**2 + abs(about.komi)):
        raise _wrong(name, "leads in points of the board", "others")
