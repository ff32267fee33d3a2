"""Reads the openings of a match: the first moves of different game records, in a seeded random order.

Only finds and checks records; `game` plays the openings.
"""

import hashlib
import logging
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.board.layout import COLOR
from engine.errors import BadSgf, IllegalMove
from engine.game import Game, Move
from engine.match.errors import MatchError
from engine.records.sgf import Record, load_sgf
from engine.records.sgf_source import iterate_records
from engine.rules import Rules
from engine.symmetry import applicable, map_planes
from engine.vertex import PASS, points

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Opening:
    """The first moves of a game, from an empty board, and the record that they come from."""

    name: str
    moves: tuple[Move, ...]


@dataclass(frozen=True)
class OpeningBook:
    """The openings of a match in playing order.

    moves: number of moves of each, None for whole records. digest: equal for equal records.
    """

    openings: tuple[Opening, ...]
    moves: int | None
    seed: int
    digest: str

    def to_json(self) -> dict[str, object]:
        """Return the values that determine the openings, regardless of their number."""
        return {"moves": self.moves, "seed": self.seed, "digest": self.digest}


class _Unusable(Exception):
    """A record cannot be used as an opening; the message gives the reason."""


def read_openings(
    sources: Iterable[Path], width: int, height: int, rules: Rules, *, moves: int | None, seed: int, count: int
) -> OpeningBook:
    """Return up to `count` openings on a board of this size that differ even under symmetries.

    sources: see `engine.records.sgf_source.iterate_records`.
    moves: number of moves of each; None uses whole records, with at most half as many moves as points. Records are read
    in a random order until there are enough; a larger count appends openings.
    Raises MatchError if a source cannot be read, or no record can be used.
    """
    try:
        # Sorted first: the order of files in a folder differs between systems.
        records = sorted(iterate_records(sources))
    except BadSgf as error:
        raise MatchError(f"openings: {error}") from error
    digest = hashlib.sha256()
    for _, data in records:
        # Over the contents, not the paths: the same records in another folder continue a match.
        digest.update(hashlib.sha256(data).digest())
    # Shuffled before reading, so that a larger count appends openings instead of choosing others.
    random.Random(seed).shuffle(records)
    found: dict[bytes, Opening] = {}
    unusable: Counter[str] = Counter()
    for name, data in records:
        if len(found) == count:
            break
        try:
            opening, position = _opening(load_sgf(data, name=name), width, height, rules, moves)
        except (BadSgf, _Unusable) as error:
            unusable[str(error) if isinstance(error, _Unusable) else "not readable"] += 1
            continue
        # Keyed by the position up to symmetry: a mirrored opening would repeat the same game.
        found.setdefault(position, opening)
    if not found:
        reasons = ", ".join(f"{number} {reason}" for reason, number in unusable.most_common())
        raise MatchError(f"openings: none of {len(records)} records can be used" + (f": {reasons}" if reasons else ""))
    if len(found) < count:
        log.warning("%d different openings for %d pairs of games: they are played again", len(found), count)
    return OpeningBook(tuple(found.values()), moves, seed, digest.hexdigest()[:16])


def _opening(record: Record, width: int, height: int, rules: Rules, count: int | None) -> tuple[Opening, bytes]:
    """Return a record's opening and a key of its last position. Raises _Unusable or BadSgf."""
    if (record.width, record.height) != (width, height):
        raise _Unusable("of another board size")
    if record.setups:
        raise _Unusable("with handicap or setup stones")
    moves = record.moves[:count]
    if len(moves) < (count or 1):
        raise _Unusable("too short")
    if count is None and len(moves) > width * height // 2:
        raise _Unusable("too long to be whole openings")
    game = Game(width, height, rules=rules)
    for color, vertex in moves:
        if color != game.to_play or vertex == PASS:
            raise _Unusable("with a pass or without alternating colors from Black")
        try:
            game.play(color, vertex)
        except IllegalMove:
            raise _Unusable("with a move that the rules forbid") from None
    return Opening(record.name, moves), _position_key(game)


def _position_key(game: Game) -> bytes:
    """Return a key that is equal for positions that a symmetry of the board maps to each other."""
    stones = game.board[COLOR, points(game.width, game.height)].reshape(game.height, game.width)
    seen = (np.ascontiguousarray(map_planes(stones, symmetry)) for symmetry in applicable(game.width, game.height))
    return bytes([game.to_play]) + min(each.tobytes() for each in seen)
