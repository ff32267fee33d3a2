"""Decides which games are held out of training; this depends only on a game's moves and never changes.

The move text of a record is its bytes from the first `;B[` or `;W[` to the end, without trailing white space
but with the closing parenthesis. The root properties (names, date, result) therefore do not matter, and equal games
from two collections are treated alike. Of records that write moves otherwise, as `; B[ee]` or `;C[...]B[ee]`, it is
all moves in this form, `;B[ee];W[ef])`. A game is held out if the MD5 of its move text, read as a 128-bit big-endian
number, is divisible by 50: about 2 % of all games. This holds for all positions of a game, because neighboring
positions are nearly the same sample.
"""

import hashlib
import re

HELD_OUT_EVERY = 50
HELD_OUT = "held_out"
"""Key in the provenance of samples of held-out games; training refuses such samples."""
_FIRST_MOVE = re.compile(rb";[BW]\[")
_ANY_MOVE = re.compile(rb"(?<![A-Za-z\\])([BW])\s*\[\s*([A-Za-z]{0,2})\s*\]")
_HASH_MASK = (1 << 64) - 1


def move_text(record: bytes) -> bytes:
    """Return the move text of one SGF record, b"" if it has no moves."""
    start = _FIRST_MOVE.search(record)
    if start is not None:
        return record[start.start() :].rstrip()
    moves = _ANY_MOVE.findall(record)
    return b"".join(b";%b[%b]" % move for move in moves) + b")" if moves else b""


def is_held_out(record: bytes) -> bool:
    """True if an SGF record is held out of training; a record without moves never is."""
    text = move_text(record)
    return bool(text) and _digest(text) % HELD_OUT_EVERY == 0


def game_hash(record: bytes) -> int:
    """Return the 64-bit identifier of a game in its samples; records with equal move text have the same."""
    return _digest(move_text(record)) & _HASH_MASK


def _digest(text: bytes) -> int:
    # MD5 only has to spread games evenly; nothing here depends on security.
    return int.from_bytes(hashlib.md5(text, usedforsecurity=False).digest(), "big")
