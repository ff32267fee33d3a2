"""Identifies positions up to symmetry, so that a book has one entry for a position and its images.

What a position is: the stones, the point that a simple ko forbids, the side to move, passes that count towards the end,
the button, and the points that White gets beside komi (handicap; prisoners under territory rules). What lies further
back is left out: a superko rule may forbid a book's move in the game at hand, which its user checks.
"""

import hashlib
from typing import NamedTuple

import numpy as np

from engine.board.layout import HEADER, KO_POINT
from engine.color import BLACK
from engine.game import Game
from engine.rules import Rules
from engine.symmetry import FLIP_COLUMNS, FLIP_ROWS, TRANSPOSE, applicable, compose, map_planes, map_vertex
from engine.vertex import NO_POINT, points, policy_index, row_column

_KEY_BYTES = 8
_KO = 3
"""The value of the ko point among the colors."""


class Place(NamedTuple):
    """Where a position stands in a book.

    key: 64 bits, equal for all images of a position. symmetry: maps the game's points to the book's. stabilizer: the
    symmetries that map the position, as the book has it, to itself; IDENTITY is always one of them.
    """

    key: int
    symmetry: int
    stabilizer: tuple[int, ...]

    def on_book(self, vertex: int, size: tuple[int, int]) -> int:
        """Return the least policy index of the images of a move of the game on the book's board."""
        turns = [compose(self.symmetry, each) for each in self.stabilizer]
        return min(policy_index(map_vertex(vertex, turn, *size), *size) for turn in turns)


def place_of(game: Game, forbidden: int | None = None) -> Place | None:
    """Return the place of the current position, None where a book has none: after the end and in clean-up phases.

    forbidden: the point of a simple ko or NO_POINT, instead of the game's own.
    """
    if game.is_over or game.phase > 0:
        return None
    width, height = game.width, game.height
    plane = np.array([game.color_at(each) for each in points(width, height)], dtype=np.int8).reshape(height, width)
    ko = int(game.board[HEADER, KO_POINT]) if forbidden is None else forbidden
    if ko != NO_POINT:
        plane[row_column(ko, width)] = _KO
    images = [map_planes(plane, each).tobytes() for each in applicable(width, height)]
    least = min(images)
    onto = [each for each, image in enumerate(images) if image == least]
    rest = (width, height, game.to_play == BLACK, game.consecutive_passes, game.has_button)
    bonus = game.white_bonus - game.komi
    digest = hashlib.blake2b(least + repr((*map(int, rest), float(bonus))).encode(), digest_size=_KEY_BYTES)
    book_plane = map_planes(plane, onto[0])
    fixed = [each for each in applicable(width, height) if map_planes(book_plane, each).tobytes() == least]
    return Place(int.from_bytes(digest.digest(), "little"), onto[0], tuple(fixed))


def inverse(symmetry: int) -> int:
    """Return the symmetry that undoes another."""
    if symmetry & TRANSPOSE:
        # Flips come before the transposition; undone after it, they are flips of the other direction.
        return TRANSPOSE | (symmetry & FLIP_ROWS) << 1 | (symmetry & FLIP_COLUMNS) >> 1
    return symmetry


def same_values(mine: Rules, other: Rules) -> bool:
    """Return whether a position has the same value under both rules.

    They may differ in how a game ends by agreement and in the bonus for handicap stones, which belongs to the position.
    """
    return mine.with_field("friendlyPassOk", False).with_field("whiteHandicapBonus", "0") == other.with_field(
        "friendlyPassOk", False
    ).with_field("whiteHandicapBonus", "0")
