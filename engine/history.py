"""What a game is in besides its stones: passes, phases, repeated situations, the button, bonuses.

One `State` stands after each move; the functions here say which one follows. Legality, superko and
the list of moves are `engine.game`'s.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import position_hash
from engine.board.layout import COLOR, Board
from engine.color import BLACK, WHITE, opponent
from engine.rules import Ko, Rules

WHITE_TO_PLAY_KEY = 0x9E3779B97F4A7C15
"""Mixed into a position's hash where the side to move matters (situational superko)."""
FINAL_PHASE = 2
_OCCURRENCES_FOR_NO_RESULT = 3


@dataclass(frozen=True)
class State:
    """Everything that a move changes, except the lists that only grow.

    keys_start: index of the first of the game's keys that a repetition is looked for among.
    """

    board: Board
    consecutive_passes: int = 0
    passes: frozenset[tuple[int, int]] = frozenset()
    phase: int = 0
    keys_start: int = 0
    move_bonus: int = 0
    button: bool = False
    button_bonus: float = 0.0
    is_over: bool = False
    past_phase_end: bool = False
    no_result: bool = False
    second_encore_start: NDArray[np.int8] | None = None


def position_key(board: Board, next_player: int, rules: Rules) -> int:
    """Return the key under which the ko rule in force remembers a position."""
    key = int(position_hash(board))
    if rules.ko is not Ko.POSITIONAL and next_player == WHITE:
        key ^= WHITE_TO_PLAY_KEY
    return key


def after_stone(state: State, board: Board, color: int, rules: Rules, keys: list[int]) -> State:
    """Return the state after a stone. keys: of all positions of the game, that of `board` last."""
    bonus = state.move_bonus
    if not rules.is_area and state.phase < FINAL_PHASE:
        bonus += 1 if color == BLACK else -1
    repeated = rules.ko is Ko.SIMPLE and keys[state.keys_start :].count(keys[-1]) >= _OCCURRENCES_FOR_NO_RESULT
    return replace(
        state,
        board=board,
        consecutive_passes=0,
        move_bonus=bonus,
        is_over=repeated,
        past_phase_end=False,
        no_result=repeated,
    )


def after_pass(state: State, board: Board, color: int, rules: Rules, keys: list[int], *, encore: bool) -> State:
    """Return the state after a pass. keys: as in `after_stone`. encore: territory rules have clean-up phases."""
    if state.button:
        bonus = 0.5 if color == WHITE else -0.5
        return replace(state, board=board, button=False, button_bonus=bonus, keys_start=len(keys) - 1)
    if rules.ko is Ko.SIMPLE or state.phase > 0:
        # A cycle with a pass in it is no long cycle: it never makes the game void.
        state = replace(state, keys_start=len(keys) - 1)
    passes = state.consecutive_passes + 1
    if not pass_ends_phase(state, color, rules):
        remembered = state.passes | {(keys[-1], color)}
        return replace(state, board=board, consecutive_passes=passes, passes=remembered)
    if rules.is_area or state.phase == FINAL_PHASE:
        return replace(state, board=board, consecutive_passes=passes, is_over=True)
    if not encore:
        return replace(state, board=board, consecutive_passes=passes, past_phase_end=True)
    phase = state.phase + 1
    return replace(
        state,
        board=board,
        consecutive_passes=0,
        passes=frozenset(),
        phase=phase,
        keys_start=len(keys) - 1,
        second_encore_start=board[COLOR].astype(np.int8) if phase == FINAL_PHASE else None,
    )


def pass_ends_phase(state: State, color: int, rules: Rules) -> bool:
    """Return whether a pass of this color, now, would end the game or the phase."""
    if state.button:
        return False
    if state.consecutive_passes >= 1:
        return True
    if rules.ko is not Ko.SIMPLE and state.phase == 0:
        return False
    return (position_key(state.board, opponent(color), rules), color) in state.passes
