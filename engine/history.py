"""Tracks what a game consists of besides its stones: passes, phases, repetitions, the button, bonuses.

There is one `State` after each move; the functions here compute the next one. Legality in normal play, superko and the
list of moves belong to `engine.game`. In the clean-up phases of territory rules, ko works differently. A stone that has
captured in a ko is marked; the opponent's play at the ko only removes the mark and leaves the board unchanged ("pass
for ko"). And each side may take each ko only once in the same position.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.board.facts import PASS_ENDS_GAME, PASS_ENDS_PHASE, PASS_GOES_ON, PASS_REPEATS
from engine.board.kernels import neighbor_offset, position_hash, zobrist
from engine.board.layout import COLOR, HEAD, HEADER, KO_POINT, LIBERTIES, SIZE, STRIDE, Board
from engine.color import EMPTY, WALL, WHITE, for_color, opponent
from engine.rules import BUTTON_POINTS, Ko, Rules
from engine.vertex import NO_POINT

WHITE_TO_PLAY_KEY = 0x9E3779B97F4A7C15
"""XORed into a position's hash for White to move, where the side to move matters (situational superko)."""
FINAL_PHASE = 2
_OCCURRENCES_FOR_NO_RESULT = 3


@dataclass(frozen=True)
class State:
    """Everything that a move changes, except the lists that only grow.

    passes: situations in which a side has passed in this phase, see `situation`.
    keys_start: index of the first of the game's keys that count for repetition.
    marks, ko_captures: used in clean-up phases only: the marked stones, and (board hash, point, color) of
        each ko capture.
    turns, legal_turns, alternating: as in `engine.board.facts`, but not bounded.
    """

    board: Board
    consecutive_passes: int = 0
    passes: frozenset[int] = frozenset()
    phase: int = 0
    keys_start: int = 0
    move_bonus: int = 0
    button: bool = False
    button_bonus: float = 0.0
    is_over: bool = False
    past_phase_end: bool = False
    no_result: bool = False
    second_encore_start: NDArray[np.int8] | None = None
    marks: frozenset[int] = frozenset()
    ko_captures: frozenset[tuple[int, int, int]] = frozenset()
    turns: int = 0
    legal_turns: int = 0
    alternating: int = 0


def _changed(state: State, **fields: Any) -> State:
    """Return a copy of a state with some fields replaced, faster than `dataclasses.replace`."""
    # `dataclasses.replace` re-runs __init__ with all 17 fields; it took a quarter of the time of a move.
    other = object.__new__(State)
    other.__dict__.update(state.__dict__, **fields)
    return other


def situation(state: State, color: int) -> int:
    """Return a hash of the stones, the marks and the side to move."""
    key = int(position_hash(state.board)) ^ (WHITE_TO_PLAY_KEY if color == WHITE else 0)
    for point in state.marks:
        key ^= int(zobrist(point, EMPTY))
    return key


def position_key(state: State, color: int, rules: Rules) -> int:
    """Return the key by which the ko rule in force recognizes the position with `color` to play."""
    if rules.ko is Ko.POSITIONAL and state.phase == 0:
        return int(position_hash(state.board))
    return situation(state, color)


def restarted(state: State) -> State:
    """Return the state for a side that moves out of turn.

    Two moves of one color in a row break the course of play: earlier passes no longer end anything, and kos are no
    longer banned. Stones, phase, bonuses and the positions that superko forbids stay.
    """
    board = state.board.copy()
    board[HEADER, KO_POINT] = NO_POINT
    start = state.second_encore_start
    return _changed(
        state,
        board=board,
        consecutive_passes=0,
        passes=frozenset(),
        is_over=False,
        past_phase_end=False,
        no_result=False,
        second_encore_start=start if start is None else board[COLOR].astype(np.int8),
        marks=frozenset(),
        ko_captures=frozenset(),
        turns=0,
        legal_turns=0,
        alternating=0,
    )


def one_turn_later(state: State, board: Board, *, legal: bool) -> State:
    """Return the state with the new board and one more turn, nothing else changed.

    legal: whether the rules in force allowed the move.
    """
    return _changed(
        state,
        board=board,
        turns=state.turns + 1,
        legal_turns=state.legal_turns + 1 if legal else 0,
        alternating=state.alternating + 1,
        is_over=False,
        past_phase_end=False,
        no_result=False,
    )


def after_stone(state: State, vertex: int, color: int, rules: Rules, *, hash_before: int) -> State:
    """Return the state after a stone that is already on the board of `state`.

    hash_before: hash of the board before the move. Repetition is checked by `judged`, because only the game knows the
    keys.
    """
    board = state.board
    if not rules.is_area and state.phase < FINAL_PHASE:
        state = _changed(state, move_bonus=state.move_bonus + for_color(1, color))
    if state.phase > 0:
        marks, captures = state.marks, state.ko_captures
        if board[HEADER, KO_POINT] != NO_POINT:
            marks, captures = marks | {vertex}, captures | {(hash_before, vertex, color)}
            board[HEADER, KO_POINT] = NO_POINT
        marks = frozenset(point for point in marks if board[COLOR, point] != EMPTY)
        state = _changed(state, marks=marks, ko_captures=captures)
    return _changed(state, consecutive_passes=0)


def after_pass_for_ko(state: State, stone: int) -> State:
    """Return the state after a play that only removes the mark of a stone."""
    return _changed(state, marks=state.marks - {stone}, consecutive_passes=0)


def judged(state: State, rules: Rules, keys: list[int]) -> State:
    """Return the state after a play; the game is void if the position has occurred three times.

    keys: of all positions of the game, the current one last.
    """
    if rules.ko is not Ko.SIMPLE and state.phase == 0:
        return state
    if keys[state.keys_start :].count(keys[-1]) < _OCCURRENCES_FOR_NO_RESULT:
        return state
    return _ended(_changed(state, is_over=True, no_result=True))


def after_pass(state: State, color: int, rules: Rules, *, index: int, encore: bool) -> State:
    """Return the state after a pass; its turn is already counted.

    index: of the position after the pass among the game's keys. encore: territory rules have clean-up phases.
    """
    if state.button:
        # The first pass takes the button and does not count towards the end.
        bonus = for_color(-BUTTON_POINTS, color)
        return _changed(
            state, button=False, button_bonus=bonus, consecutive_passes=0, passes=frozenset(), keys_start=index
        )
    if _passes_clear_history(state, rules):
        # Simple ko voids a game only for a cycle without passes, so a pass starts the search for repetitions anew.
        state = _changed(state, keys_start=index)
    effect = pass_effect(state, color, rules)
    state = _changed(
        state,
        consecutive_passes=state.consecutive_passes + 1,
        passes=state.passes | {situation(state, color)},
    )
    if effect == PASS_GOES_ON:
        return state
    if effect != PASS_ENDS_PHASE:
        return _ended(_changed(state, is_over=True))
    if not encore:
        return _ended(_changed(state, past_phase_end=True))
    phase = state.phase + 1
    return _changed(
        state,
        consecutive_passes=0,
        passes=frozenset(),
        phase=phase,
        keys_start=index,
        second_encore_start=state.board[COLOR].astype(np.int8) if phase == FINAL_PHASE else None,
        marks=frozenset(),
        ko_captures=frozenset(),
        turns=0,
    )


def _ended(state: State) -> State:
    return _changed(state, turns=min(state.turns, 1), legal_turns=min(state.legal_turns, 1))


def _passes_clear_history(state: State, rules: Rules) -> bool:
    """True if a pass resets the repetition check, and a repeated pass ends the phase."""
    return rules.ko is Ko.SIMPLE or state.phase > 0


def pass_effect(state: State, color: int, rules: Rules) -> int:
    """Return the effect of a pass of this color, played now: one of the constants of `engine.board.facts`."""
    if state.button:
        return PASS_GOES_ON
    repeated = _passes_clear_history(state, rules) and situation(state, color) in state.passes
    if state.consecutive_passes == 0 and not repeated:
        return PASS_GOES_ON
    if not rules.is_area and state.phase < FINAL_PHASE:
        return PASS_ENDS_PHASE
    return PASS_REPEATS if repeated or state.consecutive_passes > 1 else PASS_ENDS_GAME


def lifted_mark(state: State, vertex: int, color: int) -> int:
    """Return the marked stone whose mark a play would remove without changing the board, or NO_POINT.

    It is a single marked enemy stone in atari, and the play is on it or on the point that would capture it.
    """
    if not state.marks:
        return NO_POINT
    board, enemy = state.board, opponent(color)
    if board[COLOR, vertex] != EMPTY:
        head = board[HEAD, vertex]
        single = board[COLOR, vertex] == enemy and board[SIZE, head] == 1 and board[LIBERTIES, head] == 1
        return vertex if single and vertex in state.marks else NO_POINT
    stone = NO_POINT
    for direction in range(4):
        neighbor = vertex + int(neighbor_offset(direction, board[HEADER, STRIDE]))
        neighbor_color = board[COLOR, neighbor]
        if neighbor_color not in (enemy, WALL):
            return NO_POINT
        if neighbor_color == enemy and board[LIBERTIES, board[HEAD, neighbor]] == 1:
            if stone != NO_POINT or board[SIZE, board[HEAD, neighbor]] != 1:
                return NO_POINT
            stone = neighbor
    return stone if stone in state.marks else NO_POINT


def banned_points(state: State, color: int) -> set[int]:
    """Return the points where this side may not take a ko, because it did so before in the same position."""
    present = int(position_hash(state.board))
    return {point for before, point, mover in state.ko_captures if before == present and mover == color}
