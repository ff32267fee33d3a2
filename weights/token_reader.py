"""Reads words and numbers from a network file, optionally gzipped, in bounded memory and time.

Does not know any grammar. Offsets count bytes of the unpacked file. Declared sizes cost nothing: an array takes no more
memory than the file can hold, which is a fixed multiple of its length. Every fault raises `WeightsError` with the layer
that was being read.
"""

import gzip
import math
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

from engine.nets.spec import Array, WeightsError

GZIP_MAGIC = b"\x1f\x8b"
# Allowed expansion of a gzipped file: random weights expand threefold as text and not at all as binary.
MAX_RATIO = 16
# Size that any gzipped file may expand to: tiny networks are mostly zeros and words, which compress better.
FREE_SIZE = 1 << 24
MAX_WORD = 1024
_CHUNK = 1 << 16
MARK = b"@BIN@"
# Characters allowed between a layer's last word and the mark of its binary numbers.
_SKIPPED = 100
_WORD = re.compile(rb"\S+")
_SPACE = re.compile(rb"\s*")
_SPACES = (b" ", b"\n", b"\t", b"\r", b"\v", b"\f")
_INTEGER = re.compile(rb"[+-]?[0-9]{1,18}")
_LARGEST = float(np.finfo(np.float32).max)


class TokenReader:
    """Yields the words, numbers and arrays of one file, in order.

    layer: mentioned in errors; set by the caller. word_offset: offset of the last word. binary: whether arrays are
    binary; None before the first array, whose first character decides for all.
    """

    def __init__(self, stream: BinaryIO, limit: int) -> None:
        """stream: the unpacked file. limit: number of bytes that may be read."""
        self._stream, self._limit = stream, limit
        self._buffer, self._position = b"", 0
        self._start = 0
        self._cut = self._is_read = False
        self.layer = "header"
        self.word_offset = 0
        self.binary: bool | None = None

    @property
    def offset(self) -> int:
        """Offset in the unpacked file of what is read next."""
        return self._start + self._position

    def error(
        self, message: str, expected: object, got: object, offset: int | None = None, *, damaged: bool = False
    ) -> WeightsError:
        """Return an error with the current layer and the given offset, by default the current one.

        damaged: see `WeightsError`. An error in the last word counts as one: the word may be cut off.
        """
        place = self.offset if offset is None else offset
        damaged = damaged or (self._is_read and self._position >= len(self._buffer))
        return WeightsError(message, layer=shown(self.layer), offset=place, expected=expected, got=got, damaged=damaged)

    def word(self, what: str) -> str:
        """Return the next word; `what` describes it in the error if there is none."""
        return self._word(what).decode("ascii", "backslashreplace")

    def integer(self, what: str, low: int, high: int) -> int:
        """Return the next word as an integer from `low` to `high`."""
        word = self._word(what)
        value = int(word) if _INTEGER.fullmatch(word) else None
        if value is None or not low <= value <= high:
            wanted = str(low) if low == high else f"{low} to {high}"
            raise self.error(f"bad {what}", wanted, shown(word), self.word_offset)
        return value

    def number(self, what: str) -> float:
        """Return the next word as a finite number in the range of float32."""
        word = self._word(what)
        value = _float(word)
        if not abs(value) <= _LARGEST:
            raise self.error(f"bad {what}", "a finite number", shown(word), self.word_offset)
        return value

    def array(self, what: str, *shape: int) -> Array:
        """Return the next numbers in the given shape, in C order; all are finite."""
        count = math.prod(shape)
        self._skip_space()
        if self.binary is None:
            self.binary = self._peek(1) == b"@"
        values = self._binary_array(what, count) if self.binary else self._text_array(what, count)
        return values.reshape(shape)

    def line(self, what: str, most: int) -> Array:
        """Return the numbers up to the end of the line, 1 to `most` of them, as a vector."""
        start = self.offset
        values = self._text(what, most + 1, by_line=True)
        if not 1 <= len(values) <= most:
            got = len(values) if len(values) <= most else f"more than {most}"
            raise self.error(f"wrong number of {what}", f"1 to {most}", got, start)
        self._position = min(self._position + 1, len(self._buffer))
        return values

    def at_end(self) -> bool:
        """True if only white space is left; the file is then complete."""
        self._skip_space()
        if self._peek(1):
            return False
        if self._cut:
            raise self.error("truncated", "the end of the gzip data", "the end of the file", damaged=True)
        return True

    def _word(self, what: str) -> bytes:
        self._skip_space()
        while True:
            match = _WORD.match(self._buffer, self._position)
            end = match.end() if match else self._position
            if end - self._position > MAX_WORD:
                raise self.error(f"bad {what}", f"at most {MAX_WORD} characters", "more")
            # A word that reaches the end of the buffer may go on in the next chunk.
            if end < len(self._buffer) or not self._fill():
                break
        if match is None:
            raise self.error("truncated", what, "the end of the file", damaged=True)
        self.word_offset, self._position = self.offset, match.end()
        return match[0]

    def _skip_space(self) -> None:
        while True:
            match = _SPACE.match(self._buffer, self._position)
            self._position = match.end() if match else self._position
            if self._position < len(self._buffer) or not self._fill():
                return

    def _peek(self, count: int) -> bytes:
        """Return the next bytes without consuming them, fewer at the end of the file."""
        while len(self._buffer) - self._position < count and self._fill():
            pass
        return self._buffer[self._position : self._position + count]

    def _fill(self) -> bool:
        """Drop consumed bytes and append a chunk to the buffer; return False at the end."""
        self._start, self._buffer, self._position = self.offset, self._buffer[self._position :], 0
        chunk = self._read(_CHUNK)
        self._buffer += chunk
        self._is_read = not chunk
        return bool(chunk)

    def _read(self, size: int) -> bytes:
        """Return the next bytes of the stream, b"" at its end or where it breaks off."""
        used = self._start + len(self._buffer)
        try:
            chunk = self._stream.read(size)
        except EOFError:
            self._cut = True
            return b""
        except (gzip.BadGzipFile, zlib.error) as error:
            raise self.error("damaged", "valid gzip data", error, used, damaged=True) from None
        # A gzip bomb stops here.
        if used + len(chunk) > self._limit:
            raise self.error("too long when unpacked", f"at most {self._limit} bytes", "more", used)
        return chunk

    def _check_room(self, what: str, count: int, room: int) -> None:
        """Raise WeightsError unless `count` numbers fit into `room`, the most that the rest of the file can hold."""
        if count > room:
            message, most = f"more {what} than the file can hold", f"at most {max(0, room)} numbers"
            raise self.error(message, most, count, damaged=True)

    def _binary_array(self, what: str, count: int) -> Array:
        ahead = self._peek(_SKIPPED + len(MARK))
        place = ahead.find(MARK[:1])
        if not 0 <= place <= _SKIPPED or not ahead.startswith(MARK, place):
            got = shown(ahead[: 2 * len(MARK)])
            raise self.error(f"no binary {what}", MARK.decode(), got, damaged=len(ahead) < len(MARK))
        self._position += place + len(MARK)
        start = self.offset
        # Before allocating: a declared size costs nothing until the file is long enough for it.
        self._check_room(what, count, (self._limit - start) // 4)
        values = np.empty(count, "<f4")
        target = values.view(np.uint8)
        have = min(len(target), len(self._buffer) - self._position)
        target[:have] = np.frombuffer(self._buffer, np.uint8, have, self._position)
        self._position += have
        # Reads straight into the array: a large block is never held twice.
        while have < len(target):
            self._start, self._buffer, self._position = self.offset, b"", 0
            self._buffer = self._read(min(_CHUNK, len(target) - have))
            if not self._buffer:
                raise self.error("truncated", f"{count} numbers of {what}", have // 4, damaged=True)
            target[have : have + len(self._buffer)] = np.frombuffer(self._buffer, np.uint8)
            self._position = len(self._buffer)
            have += len(self._buffer)
        if not np.isfinite(values).all():
            index = int(np.flatnonzero(~np.isfinite(values))[0])
            raise self.error(f"bad {what}", "finite numbers", values[index], start + 4 * index)
        return values.astype(np.float32, copy=False)

    def _text_array(self, what: str, count: int) -> Array:
        self._check_room(what, count, (self._limit - self.offset + 1) // 2)
        values = self._text(what, count, by_line=False)
        if len(values) < count:
            raise self.error("truncated", f"{count} numbers of {what}", len(values), damaged=True)
        return values

    def _text(self, what: str, most: int, by_line: bool) -> Array:
        """Return at most `most` numbers, up to the end of the line or of the file."""
        pieces: list[Array] = [np.empty(0, np.float32)]
        left, done = most, False
        while left > 0 and not done:
            end = self._buffer.find(b"\n", self._position) if by_line else -1
            done = end >= 0
            if not done:
                end = max(self._buffer.rfind(space, self._position) for space in _SPACES)
            if end <= self._position and not done:
                if len(self._buffer) - self._position > MAX_WORD:
                    raise self.error(f"bad {what}", "a number", shown(self._peek(MAX_WORD)))
                if self._fill():
                    continue
                end, done = len(self._buffer), True
            pieces.append(self._text_piece(what, end, left))
            left -= len(pieces[-1])
        return np.concatenate(pieces)

    def _text_piece(self, what: str, end: int, most: int) -> Array:
        """Return at most `most` of the numbers that lie completely in the buffer before `end`."""
        words = self._buffer[self._position : end].split(None, most)
        rest = words.pop() if len(words) > most else b""
        values = _floats(words)
        if not np.isfinite(values).all():
            index = int(np.flatnonzero(~np.isfinite(values))[0])
            places = [match.start() for match in _WORD.finditer(self._buffer, self._position, end)]
            last = self._is_read and end == len(self._buffer) and index == len(words) - 1 and not rest
            got, place = shown(words[index]), self._start + places[index]
            raise self.error(f"bad {what}", "a finite number", got, place, damaged=last)
        self._position = end - len(rest)
        return values


def _float(word: bytes) -> float:
    """Convert a word to a number, NaN if it is not one."""
    try:
        return float(word) if b"_" not in word else math.nan
    except ValueError:
        return math.nan


def _floats(words: list[bytes]) -> Array:
    """Convert words to numbers: NaN for other words, infinity beyond the range of float32."""
    with np.errstate(over="ignore"):
        try:
            # The common case without a Python-level branch for each number; the exact path runs only after a failure.
            values = np.fromiter(map(float, words), np.float32, len(words))
        except ValueError:
            return np.fromiter(map(_float, words), np.float32, len(words))
    # Only Python accepts 1_000 as a number.
    if b"_" in b"".join(words):
        return np.fromiter(map(_float, words), np.float32, len(words))
    return values


def shown(value: str | bytes) -> str:
    """Format a word of a file for an error message: printable, and at most 60 characters."""
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    text = "".join(each if " " <= each <= "~" else f"\\x{ord(each):02x}" for each in text[:64])
    return text if len(text) <= 60 else text[:57] + "..."


@contextmanager
def tokens_of(path: str | os.PathLike[str]) -> Iterator[TokenReader]:
    """Open a file, gzipped or not, and yield its tokens. Raises WeightsError with the name of the file."""
    try:
        with Path(path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            zipped = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
            file.seek(0)
            if zipped:
                with gzip.GzipFile(fileobj=file) as stream:
                    yield TokenReader(stream, max(FREE_SIZE, MAX_RATIO * size))  # type: ignore[arg-type]
            else:
                yield TokenReader(file, size)
    except WeightsError as error:
        raise error.in_file(os.fspath(path)) from None
    except OSError as error:
        raise WeightsError(f"cannot be read: {error.strerror or error}", file=os.fspath(path)) from None


def is_cut(start: bytes) -> bool:
    """Return whether `start`, a whole file that is at least the first 3 bytes of gzip's, ends before its data does."""
    if len(start) <= len(GZIP_MAGIC):
        return False
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacker.decompress(start)
    except zlib.error:
        return False
    return not unpacker.eof


def unpacked_start(start: bytes) -> bytes:
    """Return the unpacked beginning of a gzipped file, as far as possible; other data unchanged."""
    if not start.startswith(GZIP_MAGIC):
        return start
    try:
        return zlib.decompressobj(wbits=31).decompress(start, _CHUNK)
    except zlib.error:
        return b""
