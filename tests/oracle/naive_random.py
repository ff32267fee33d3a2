"""Random numbers and hashes in Python's own integers: the oracle for kernels that compute in 64 bits."""

from collections.abc import Iterable

_WORD = 2**64
_MIX = 0x9E3779B97F4A7C15


def seed_generator(seed: int) -> int:
    """Return the state that splitmix64 makes of a seed, made odd (Steele et al., 2014)."""
    z = (seed + 0x9E3779B97F4A7C15) % _WORD
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % _WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB % _WORD
    return (z ^ z >> 31) | 1


class Generator:
    """The xorshift64* generator (Vigna 2016)."""

    def __init__(self, state: int) -> None:
        self.state = state

    def random_bits(self) -> int:
        """Return the highest 31 bits of the next number."""
        self.state ^= self.state >> 12
        self.state = (self.state ^ self.state << 25) % _WORD
        self.state ^= self.state >> 27
        return (self.state * 0x2545F4914F6CDD1D % _WORD) >> 33

    def random_below(self, bound: int) -> int:
        """Return the same share of the bound that the next bits are of 2**31, rounded down."""
        return self.random_bits() * bound // 2**31


def random_unit(state: int) -> tuple[int, float]:
    """Return the next state of a generator, and the number from 0 to 1 that its highest 53 bits are."""
    generator = Generator(state)
    generator.random_bits()
    return generator.state, (generator.state * 0x2545F4914F6CDD1D % _WORD >> 11) / 2**53


def multiplied_in(key: int, parts: Iterable[int]) -> int:
    """Return a hash with parts in it: after each exclusive or comes a multiplication."""
    for part in parts:
        key = (key ^ part) * _MIX % _WORD
    return key


def mixed(key: int, part: int) -> int:
    """Return a hash with one more part in it."""
    key = multiplied_in(key, [part])
    return key ^ key >> 31


def row_hash(
    boards: list[int],
    moves: list[int],
    legal: list[bool],
    facts: list[int],
    marks: list[int],
    second_start: list[int],
    to_play: int,
    in_second_phase: bool,
) -> int:
    """Return the hash of a row of a `PositionBatch`: boards and moves, facts, legal moves, marks, earlier colors."""
    key = to_play
    for board, move in zip(boards, moves, strict=True):
        key = multiplied_in(key, [board, move + 2])
        key ^= key >> 29
    key = multiplied_in(key, (fact + 2 for fact in facts))
    key ^= key >> 29
    key = multiplied_in(key, (index for index, is_legal in enumerate(legal) if is_legal))
    key = multiplied_in(key, (4 * point + mark for point, mark in enumerate(marks) if mark))
    if in_second_phase:
        key = multiplied_in(key, (color + 1 for color in second_start))
    return (key ^ key >> 32) * _MIX % _WORD
