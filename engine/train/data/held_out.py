"""Which games are never trained on: a fact of a game's moves alone, the same for everybody and for ever.

The move text of a record is its bytes from the first `;B[` or `;W[` to its end, white space at the end left
off; the closing parenthesis belongs to it. So the properties of the root (names, date, result) have no say, and
equal games from two collections fall on the same side. A game is held out if the MD5 of its move text, a number
of 128 bits written big-endian, is divisible by 50: about 2 % of all games. All positions of a game share its fate.
"""

import hashlib
import re

HELD_OUT_EVERY = 50
HELD_OUT = "held_out"
"""Key in the provenance of samples of held-out games, which training refuses."""
_FIRST_MOVE = re.compile(rb";[BW]\[")
_HASH_MASK = (1 << 64) - 1


def move_text(record: bytes) -> bytes:
    """Return the move text of one SGF record, b"" where it has no move."""
    start = _FIRST_MOVE.search(record)
    return record[start.start() :].rstrip() if start else b""


def is_held_out(record: bytes) -> bool:
    """True for the bytes of an SGF record that belongs to the held-out games; one without moves never does."""
    text = move_text(record)
    return bool(text) and _digest(text) % HELD_OUT_EVERY == 0


def game_hash(record: bytes) -> int:
    """Return what samples of a game call it: 64 bits, equal for records with equal move text."""
    return _digest(move_text(record)) & _HASH_MASK


def _digest(text: bytes) -> int:
    # The split has nothing to do with security.
    return int.from_bytes(hashlib.md5(text, usedforsecurity=False).digest(), "big")
