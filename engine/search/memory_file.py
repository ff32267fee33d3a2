"""Keeps what searches remember in a file, from which a later session goes on.

A file has a header, the table's entries that are in use, and their moves, all little-endian. Keys are hashes of the
network's digest, the rules and whatever else values depend on (`engine.search.memory`), so one file serves them all. It
is never larger than a full table.
"""

import hashlib
import logging
import threading
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.errors import GoError
from engine.search.memory import ENTRIES, Memory
from engine.search.memory_header import HEADER, MAGIC, VERSION, damaged, read_header
from engine.search.params import SearchParams
from engine.search.tree import MEMORY, MEMORY_MOVES, REMEMBERED_MOVE, Tree
from engine.support.files import digest_of, require_writable, write_atomically

_LOG = logging.getLogger(__name__)
_CHECKSUM_BYTES = 32
_MOVES = np.dtype((REMEMBERED_MOVE.newbyteorder("<"), (MEMORY_MOVES,)))
_ENTRY = np.dtype([("entry", MEMORY.newbyteorder("<")), ("moves", _MOVES)])
LARGEST = HEADER.size + ENTRIES * _ENTRY.itemsize
"""Bytes of the file of a full table: 2.6 MB."""
_VALUES = {"weight", "value", "no_result", "score", "lead"}
_LARGEST = 1e12
"""Of all values: more than any search's."""

Entries = NDArray[np.void]


def write_entries(path: Path, entries: Entries, moves: Entries) -> None:
    """Write the used entries of a table, atomically. entries: [n] MEMORY. moves: [n, MEMORY_MOVES]. Raises OSError."""
    used = entries["key"] != 0
    records = np.zeros(int(np.count_nonzero(used)), dtype=_ENTRY)
    records["entry"], records["moves"] = entries[used], moves[used]
    content = records.tobytes()
    header = HEADER.pack(MAGIC, VERSION, len(records), _checksum(content))
    write_atomically(path, header + content)


def read_entries(path: Path) -> tuple[Entries, Entries]:
    """Return the entries of a file and their moves. Raises GoError for a damaged file, OSError if it cannot be read."""
    size = path.stat().st_size
    if size > LARGEST:
        raise damaged(path, f"at most {LARGEST:,} bytes", f"{size:,}")
    data = path.read_bytes()
    count, checksum = read_header(path, data)
    expected = HEADER.size + count * _ENTRY.itemsize
    if len(data) != expected:
        raise damaged(path, f"{expected:,} bytes for {count:,} positions", f"{len(data):,}")
    content = data[HEADER.size :]
    if checksum != _checksum(content):
        raise damaged(path, f"checksum {checksum.hex()[:16]}", _checksum(content).hex()[:16])
    records = np.frombuffer(content, dtype=_ENTRY)
    entries, moves = records["entry"].astype(MEMORY), records["moves"].astype(REMEMBERED_MOVE)
    _check(path, entries, moves)
    return entries, moves


def _check(path: Path, entries: Entries, moves: Entries) -> None:
    """Refuse what no search writes: kernels trust it."""
    if not np.all(entries["key"] & np.uint64(1)):
        raise damaged(path, "odd keys", str(int(entries["key"][entries["key"] & np.uint64(1) == 0][0])))
    counts = entries["moves"]
    if len(entries) and not 0 <= counts.min() <= counts.max() <= MEMORY_MOVES:
        raise damaged(path, f"0 to {MEMORY_MOVES} moves of a position", f"{counts.min()} to {counts.max()}")
    for table in (entries, moves):
        for name in sorted(_VALUES.intersection(table.dtype.names or ())):
            values = table[name]
            low = 0.0 if name == "weight" else -_LARGEST
            wrong = values[~((values >= low) & (values <= _LARGEST))]  # a NaN, too
            if wrong.size:
                raise damaged(path, f"a {name} from {low:g} to {_LARGEST:g}", f"{wrong[0]:g}")


def _checksum(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_CHECKSUM_BYTES).digest()


def open_memory(path: Path | None, network: str | None) -> Memory:
    """Return what searches remember: with the contents of a file, or a new table if `path` is None.

    network: the file of the network, None for playouts. Raises GoError for a damaged file, or OSError.
    """
    if path is None:
        return Memory()
    return StoredMemory(path, "playouts" if network is None else digest_of(Path(network)))


class StoredMemory(Memory):
    """A table that begins with what a file has, and is written to it once a minute and at the end.

    Several sessions may use a file: each adds what it has found to what the file then has.
    save_seconds: time between two writes. Programs that start an engine often kill it, so the end alone is too late.
    Raises GoError for a damaged file, which stays as it is, OSError for one that cannot be read or written.
    """

    def __init__(self, path: Path, network: str, save_seconds: float = 60.0) -> None:
        super().__init__(network)
        self._save_seconds = save_seconds
        self._path, self._saving = path, threading.Lock()
        self._saved, self._is_changed = time.monotonic(), False
        require_writable(path)
        if path.exists():
            self.add(*read_entries(path))

    def take(self, tree: Tree, params: SearchParams, *, keeps_root: bool) -> None:
        """Remember what a search has found, and write the file in the background if that is due."""
        super().take(tree, params, keeps_root=keeps_root)
        self._is_changed |= params.remembers
        if self._is_changed and time.monotonic() - self._saved > self._save_seconds:
            self._saved = time.monotonic()
            threading.Thread(target=self._try_to_save, name="evaluations file", daemon=True).start()

    def save(self) -> None:
        """Write what the table and the file have. Raises GoError if the file was damaged meanwhile, or OSError."""
        with self._saving:
            self._is_changed = False
            merged = Memory()
            with self.lock:
                merged.add(self.entries, self.moves)
            if self._path.exists():
                merged.add(*read_entries(self._path))
            write_entries(self._path, merged.entries, merged.moves)

    def close(self) -> None:
        """Write the file if a search has found something since it was written."""
        if self._is_changed:
            self._try_to_save()

    def _try_to_save(self) -> None:
        try:
            self.save()
        except (GoError, OSError) as error:
            _LOG.error("remembered positions are not saved: %s", error)
