"""The inputs of KataGo's networks, versions 3 to 7, with its numbering of planes and globals.

Networks of model version 3 or 4 use "katago-v3", 5 "katago-v4", 6 "katago-v5", 7 "katago-v6", and 8 to 17 "katago-v7",
or "katago-v7-alive" if pass-alive chains must be computed as if suicide were legal.
"""

import numpy as np
from numpy.typing import NDArray

from engine.board.area import new_scratch
from engine.board.ladders import new_ladder_scratch
from engine.board.layout import new_board
from engine.encoders.base import Encoder, Inputs
from engine.encoders.katago_kernels import (
    TURNS,
    WAYS,
    KatagoScratch,
    Rows,
    RuleNumbers,
    encode_first_rows,
    encode_katago,
)
from engine.evaluation.positions import PositionBatch
from engine.native.closures import Closure
from engine.rules import Ko, Tax

_MEMO_BYTES = 8 << 20
_TAX_NUMBERS = {Tax.NONE: 0, Tax.SEKI: 1, Tax.ALL: 2}

ON_BOARD = "on board"
"""The input plane that is 1 on every point of the board."""
_MOVE_PLANES = tuple(f"move {age} turns ago" for age in range(1, TURNS + 1))
_PASS_GLOBALS = tuple(f"move {age} turns ago was a pass" for age in range(1, TURNS + 1))
_START_PLANES = ("own stones at the second clean-up", "enemy stones at the second clean-up")
_PLANES = (
    *(ON_BOARD, "own stones", "enemy stones", "1 liberty", "2 liberties", "3 liberties"),
    *("repetition", "marked in clean-up", "unused", *_MOVE_PLANES),
    *("in a ladder", "in a ladder 1 turn ago", "in a ladder 2 turns ago", "working ladder"),
    *("own area", "enemy area", *_START_PLANES),
)
_SMALL_PLANES = (
    *(ON_BOARD, "own stones", "enemy stones", "repetition", "marked in clean-up", "unused"),
    *(*_MOVE_PLANES, *_START_PLANES),
)
_PHASES = ("clean-up", "second clean-up")
_KO_GLOBALS = ("superko", "positional or situational", "suicide", "territory")
_OLD_GLOBALS = (*_PASS_GLOBALS, "komi for the side to move / 15", *_KO_GLOBALS, *_PHASES)
_NEW_GLOBALS = (
    *(*_PASS_GLOBALS, "komi for the side to move / 20", *_KO_GLOBALS),
    *("tax in seki", "tax on all groups", *_PHASES, "a pass ends the phase"),
)
RULE_GLOBALS = (*_KO_GLOBALS, "tax in seki", "tax on all groups", *_PHASES, "button")
"""Global inputs that have one value in all games of a rule set with area scoring and without a button."""
_FORMATS = {
    3: (_PLANES, (*_OLD_GLOBALS, "a pass ends the phase", "parity of komi")),
    4: (_PLANES, (*_OLD_GLOBALS, "a pass ends the phase", "parity of komi")),
    5: (_SMALL_PLANES, _OLD_GLOBALS),
    6: (_PLANES, (*_NEW_GLOBALS, "parity of komi")),
    7: (_PLANES, (*_NEW_GLOBALS, "unequal playouts", "own advantage in playouts", "button", "parity of komi")),
}


def new_katago_scratch(width: int, height: int) -> KatagoScratch:
    """Allocate the working memory for boards of one size, up to about 9 MiB."""
    board = new_board(width, height)
    n = board.shape[1]
    # A power of two, so that a mask selects the bucket.
    buckets = 1 << (_MEMO_BYTES // (WAYS * n)).bit_length() - 1
    return KatagoScratch(
        ladders=new_ladder_scratch(board),
        ladder_work=np.empty_like(board),
        old_board=np.empty_like(board),
        memo_keys=np.zeros((buckets, WAYS), dtype=np.uint64),
        memo_oldest=np.zeros(buckets, dtype=np.uint8),
        memo=np.zeros((buckets * WAYS, n), dtype=np.int8),
        laddered=np.zeros(n, dtype=np.int8),
        working=np.zeros(n, dtype=np.int8),
        area=new_scratch(board),
        owner=np.zeros(n, dtype=np.int8),
        base=np.zeros(n, dtype=np.int8),
        groups=np.zeros(3, dtype=np.int64),
    )


def _rows(positions: PositionBatch) -> Rows:
    p = positions
    return Rows(p.boards, p.colors, p.board_hashes, p.moves, p.to_play, p.facts, p.marks, p.second_start, p.white_bonus)


def _numbers(positions: PositionBatch, *, suicide_for_life: bool) -> RuleNumbers:
    rules = positions.rules
    return RuleNumbers(
        has_superko=rules.ko is not Ko.SIMPLE,
        is_positional=rules.ko is Ko.POSITIONAL,
        suicide=rules.suicide,
        suicide_for_life=rules.suicide or suicide_for_life,
        is_area=rules.is_area,
        tax=_TAX_NUMBERS[rules.tax],
        friendly_pass=rules.friendly_pass,
        playout_doubling=float(positions.playout_doubling),
    )


def _encoder(version: int, *, suicide_for_life: bool = False) -> Encoder:
    def write(
        positions: PositionBatch, count: int, planes: Inputs, globals_: Inputs, scratch: KatagoScratch | None
    ) -> None:
        encode_katago(
            version,
            _rows(positions),
            _numbers(positions, suicide_for_life=suicide_for_life),
            count,
            new_katago_scratch(positions.width, positions.height) if scratch is None else scratch,
            planes,
            globals_,
        )

    def closure(
        positions: PositionBatch, planes: Inputs, globals_: Inputs, scratch: KatagoScratch, lock: NDArray[np.int64]
    ) -> Closure:
        numbers = _numbers(positions, suicide_for_life=suicide_for_life)
        return Closure(encode_first_rows, lock, version, _rows(positions), numbers, scratch, planes, globals_)

    planes, globals_ = _FORMATS[version]
    name = f"katago-v{version}{'-alive' if suicide_for_life else ''}"
    return Encoder(name, planes, globals_, write, new_katago_scratch, closure=closure)


ENCODERS = (*(_encoder(version) for version in _FORMATS), _encoder(7, suicide_for_life=True))
