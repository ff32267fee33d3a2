"""What a fuzzing target is, and how a case follows from its seed and number.

A case is a whole input, checked from a fresh start: it needs no other case to be repeated. Half of the cases come from
the target's grammar as they are, the others are mutated ones, or mutated files of the corpus.
"""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from itertools import count, islice
from pathlib import Path

CORPUS = Path(__file__).with_name("corpus")
"""A folder for each target. Files are written by hand, or by `save`: those are named `found-*` and only replayed."""
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_NUMBERS = (
    *(b"0", b"-1", b"1", b"2", b"19", b"25", b"26", b"52", b"127", b"128", b"255", b"256", b"65535", b"65536"),
    *(b"2147483647", b"2147483648", b"4294967296", b"9223372036854775807", b"18446744073709551616", b"-0"),
    *(b"1e308", b"-1e308", b"1e309", b"1e-320", b"nan", b"inf", b"-inf", b"0.5", b"7.25", b"1e2", b"9" * 400),
)
_BYTES = (b"\0", b"\xff", b"\n", b"\r\n", b" ", b"\t", b"\\", b"\x1b[0m", b"\xed\xa0\x80", b"\xf0\x9f\x80\x84", b"\x80")


@dataclass(frozen=True)
class Target:
    """Something that takes bytes from outside.

    make: a case by the grammar. check: gives a case to the program, returns how many units it contained, and raises
    where the program errs. unit: what is counted. words: inserted by mutations. binary: bits of a case may flip.
    memory: MiB that a case may add to the process's largest resident memory. seconds: that a case may take.
    """

    make: Callable[[random.Random], bytes]
    check: Callable[[bytes], int]
    unit: str
    words: Sequence[bytes] = field(default=())
    binary: bool = False
    memory: float = 256.0
    seconds: float = 2.0


@cache
def load_target(name: str) -> Target:
    """Return the target of a module in `tests.fuzz.targets`, or of any other that is named with its package."""
    module = import_module(name if "." in name else f"tests.fuzz.targets.{name}")
    target = module.TARGET
    assert isinstance(target, Target)
    return target


def names() -> list[str]:
    """Return the names of all targets."""
    folder = Path(__file__).with_name("targets")
    return sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")


@cache
def corpus(name: str) -> dict[str, bytes]:
    """Return the corpus of a target by file name, sorted."""
    folder = CORPUS / name
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*"))} if folder.is_dir() else {}


def case(name: str, seed: int, number: int) -> bytes:
    """Return a case, always the same one for the same target, seed, number and hand-written corpus."""
    target, generator = load_target(name), random.Random(f"{name} {seed} {number}")
    data = target.make(generator)
    if generator.random() < 0.5:
        return data
    kept = [text for file, text in corpus(name).items() if not file.startswith("found-")]
    if kept and generator.random() < 0.5:
        data = generator.choice(kept)
    return mutated(data, generator, target)


def mutated(data: bytes, generator: random.Random, target: Target) -> bytes:
    """Return bytes with a few places changed, removed, doubled, moved or replaced by words and remarkable numbers."""
    for _ in range(generator.choice((1, 1, 1, 2, 3, 8))):
        data = generator.choice(_BINARY_MUTATIONS if target.binary else _TEXT_MUTATIONS)(data, generator, target)
    return data


def _place(data: bytes, generator: random.Random) -> tuple[int, int]:
    """Return the ends of a stretch, mostly a short one."""
    begin = generator.randrange(len(data) + 1)
    length = generator.choice((1, 1, 2, 4, 8, 64, 1 + len(data) // 2))
    return begin, min(len(data), begin + length)


def _change(data: bytes, generator: random.Random, target: Target) -> bytes:
    begin, end = _place(data, generator)
    return data[:begin] + generator.randbytes(min(8, end - begin)) + data[end:]


def _flip(data: bytes, generator: random.Random, target: Target) -> bytes:
    if not data:
        return data
    place = generator.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << generator.randrange(8)]) + data[place + 1 :]


def _remove(data: bytes, generator: random.Random, target: Target) -> bytes:
    begin, end = _place(data, generator)
    return data[:begin] + data[end:]


def _truncate(data: bytes, generator: random.Random, target: Target) -> bytes:
    return data[: generator.randrange(len(data) + 1)]


def _double(data: bytes, generator: random.Random, target: Target) -> bytes:
    begin, end = _place(data, generator)
    return data[:end] + data[begin:end] * generator.choice((1, 1, 2, 50)) + data[end:]


def _move(data: bytes, generator: random.Random, target: Target) -> bytes:
    begin, end = _place(data, generator)
    rest, stretch = data[:begin] + data[end:], data[begin:end]
    place = generator.randrange(len(rest) + 1)
    return rest[:place] + stretch + rest[place:]


def _insert(data: bytes, generator: random.Random, target: Target) -> bytes:
    place = generator.randrange(len(data) + 1)
    return data[:place] + generator.choice([*target.words, *_BYTES]) + data[place:]


def _renumber(data: bytes, generator: random.Random, target: Target) -> bytes:
    found = list(_NUMBER.finditer(data[: 1 << 16]))
    if not found:
        return _insert(data, generator, target)
    match = generator.choice(found)
    return data[: match.start()] + generator.choice(_NUMBERS) + data[match.end() :]


_TEXT_MUTATIONS = (_change, _remove, _truncate, _double, _move, _insert, _insert, _renumber, _renumber)
_BINARY_MUTATIONS = (_change, _flip, _flip, _flip, _remove, _truncate, _double, _move, _insert, _renumber)


def all_cases(name: str, seed: int, replayed: int, first: int) -> Iterator[tuple[str, bytes]]:
    """Yield the corpus by file name, less the cases already replayed, then cases by number, without end."""
    yield from islice(corpus(name).items(), replayed, None)
    for number in count(first):
        yield str(number), case(name, seed, number)
