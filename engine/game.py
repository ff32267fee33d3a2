"""Plays one game of Go: rules in force, moves, superko, passes, phases, handicap and undo.

Owns the list of moves and their legality. Stones are handled by `engine.board.kernels`, counting by `engine.scoring`.
The semantics are those of KataGo's history object, so that the inputs of its networks and its scores can be reproduced.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.board.facts import (
    ALTERNATING,
    BANNED,
    BUTTON,
    FACTS,
    IS_OVER,
    KO_BEFORE,
    KO_EARLIER,
    KO_NOW,
    LEGAL_TURNS,
    MARKED,
    MOST_TURNS,
    PASS_EFFECT,
    PASS_GOES_ON,
    PHASE,
    PHASE_TURNS,
)
from engine.board.kernels import add_stone, hash_after, is_legal, is_suicide, place, play, position_hash
from engine.board.layout import (
    CAPTURED_BLACK,
    CAPTURED_WHITE,
    COLOR,
    HEAD,
    HEADER,
    KO_POINT,
    LIBERTIES,
    TO_PLAY,
    Board,
    new_board,
)
from engine.board.legality import stones_allow
from engine.color import BLACK, EMPTY, WALL, WHITE, opponent
from engine.errors import IllegalMove
from engine.history import (
    WHITE_TO_PLAY_KEY,
    State,
    after_pass,
    after_pass_for_ko,
    after_stone,
    banned_points,
    judged,
    lifted_mark,
    one_turn_later,
    pass_effect,
    position_key,
    restarted,
)
from engine.rules import TROMP_TAYLOR, Ko, Rules
from engine.vertex import NO_POINT, PASS, format_vertex, from_policy_index, points

DEFAULT_KOMI = 7.5
HANDICAP_KOMI = 0.5


class Move(NamedTuple):
    """One move: a color and a vertex, PASS included."""

    color: int
    vertex: int


class Game:
    """A game in progress on one board; any size from 1x1 to 25x25.

    encore: play territory rules to the end with KataGo's two clean-up phases (six passes) instead
        of ending the game at the first two passes, as controllers expect.
    """

    def __init__(
        self,
        width: int = 19,
        height: int | None = None,
        *,
        rules: Rules = TROMP_TAYLOR,
        komi: float = DEFAULT_KOMI,
        encore: bool = False,
    ) -> None:
        self.width = width
        self.height = width if height is None else height
        self.rules = rules
        self.komi = komi
        self.encore = encore
        self.moves: list[Move] = []
        self.setup_black: list[int] = []
        self.setup_white: list[int] = []
        self._start(new_board(self.width, self.height))

    def _start(self, board: Board) -> None:
        prisoners = int(board[HEADER, CAPTURED_BLACK]) - int(board[HEADER, CAPTURED_WHITE])
        bonus = 0 if self.rules.is_area else len(self.setup_black) - len(self.setup_white) + prisoners
        self._states = [State(board, button=self.rules.button, move_bonus=bonus)]
        self._keys = [position_key(self._states[0], int(board[HEADER, TO_PLAY]), self.rules)]
        # One mask for each state, as for boards and keys, so that `undo` takes the same time in a long game.
        self._occupied: list[NDArray[np.bool_]] = [np.not_equal(board[COLOR], EMPTY)]

    @property
    def board(self) -> Board:
        """The current board; read-only."""
        return self._states[-1].board

    @property
    def to_play(self) -> int:
        """The side to move: the opponent of the last mover."""
        return int(self.board[HEADER, TO_PLAY])

    @property
    def move_number(self) -> int:
        """Number of moves played, with passes, without setup stones."""
        return len(self.moves)

    @property
    def consecutive_passes(self) -> int:
        """Passes at the end of the move list that count towards the end of the phase."""
        return self._states[-1].consecutive_passes

    @property
    def is_over(self) -> bool:
        """True after the passes that end the game, or when it has become void."""
        state = self._states[-1]
        return state.is_over or state.past_phase_end

    @property
    def no_result(self) -> bool:
        """True when a position has occurred three times under simple ko."""
        return self._states[-1].no_result

    @property
    def has_button(self) -> bool:
        """True while the next pass would take the button."""
        return self._states[-1].button

    @property
    def phase(self) -> int:
        """0 in normal play, 1 and 2 in the clean-up phases of territory rules."""
        return self._states[-1].phase

    @property
    def second_encore_start(self) -> NDArray[np.int8] | None:
        """Colors [n] at the start of the second clean-up phase, or None before it."""
        return self._states[-1].second_encore_start

    @property
    def handicap(self) -> int:
        """Black's handicap: setup stones plus the initial run of black moves, or 0 if fewer than 2.

        White passes within the run are skipped. A white stone at the start means that there is no handicap; where two
        white moves in a row end the run, a position was sent by moves, and only setup stones count, as in KataGo.
        """
        if self.setup_white:
            return 0
        stones = len(self.setup_black)
        for number, (color, vertex) in enumerate(self.moves):
            if color == BLACK:
                stones += vertex != PASS
            elif number + 1 < len(self.moves) and self.moves[number + 1].color == WHITE:
                stones = len(self.setup_black)
                break
            elif vertex != PASS:
                break
        return stones if stones >= 2 else 0

    @property
    def fixed_bonus(self) -> float:
        """Points that White receives regardless of play: komi, handicap bonus, button."""
        return self.komi + self.rules.handicap_bonus.points(self.handicap) + self._states[-1].button_bonus

    @property
    def white_bonus(self) -> float:
        """Points that an area count must give White: `fixed_bonus`, and under territory rules one
        point for each black move minus one for each white move.
        """
        return self.fixed_bonus + self._states[-1].move_bonus

    def captured(self, color: int) -> int:
        """Return the number of stones of this color that were captured."""
        return int(self.board[HEADER, CAPTURED_BLACK + color - 1])

    def color_at(self, vertex: int) -> int:
        """Return the color of a point."""
        return int(self.board[COLOR, vertex])

    def recent_boards(self, count: int) -> list[Board]:
        """Return up to `count` boards, newest first."""
        return [state.board for state in self._states[: -count - 1 : -1]]

    @property
    def ever_occupied(self) -> NDArray[np.bool_]:
        """[n] bool: points where a stone has ever stood; only a move there can repeat a position."""
        return self._occupied[-1]

    def superko_keys(self) -> NDArray[np.uint64]:
        """Return the keys of all positions that the superko rule in force forbids to repeat."""
        if self.rules.ko is Ko.SIMPLE or self.phase > 0:
            return np.zeros(0, dtype=np.uint64)
        return self._present_keys()

    def keys_since_pass(self) -> NDArray[np.uint64]:
        """Return the keys of all positions whose third occurrence voids the game under simple ko."""
        return self._present_keys() if self.rules.ko is Ko.SIMPLE else np.zeros(0, dtype=np.uint64)

    def _present_keys(self) -> NDArray[np.uint64]:
        return np.array(self._keys[self._states[-1].keys_start :], dtype=np.uint64)

    def remembered_passes(self, color: int) -> NDArray[np.uint64]:
        """Return the situations, with `color` to play, in which a second pass of the same side ends the phase.

        Each is the hash of the stones, with WHITE_TO_PLAY_KEY mixed in for White and the marks of a clean-up phase.
        """
        clears = self.rules.ko is Ko.SIMPLE or self.phase > 0
        return np.array(sorted(self._state_for(color).passes) if clears else [], dtype=np.uint64)

    def _state_for(self, color: int) -> State:
        """Return the current state for a mover who need not be the side to move."""
        return self._states[-1] if color == self.to_play else restarted(self._states[-1])

    def facts(self, color: int) -> NDArray[np.int16]:
        """Return the row [FACTS] of the current position with `color` to play; see `engine.board.facts`."""
        state = self._state_for(color)
        row = np.zeros(FACTS, dtype=np.int16)
        row[[KO_NOW, KO_BEFORE, KO_EARLIER]] = NO_POINT
        movers = [color, *(move.color for move in reversed(self.moves[-2:]))]
        for age, (board, mover) in enumerate(zip(self.recent_boards(3), movers, strict=False)):
            if board[HEADER, TO_PLAY] == mover:
                row[KO_NOW + age] = board[HEADER, KO_POINT]
        row[PASS_EFFECT] = pass_effect(state, color, self.rules)
        row[IS_OVER] = state.is_over or state.past_phase_end
        row[ALTERNATING] = min(state.alternating, MOST_TURNS)
        row[PHASE_TURNS] = min(state.turns, MOST_TURNS)
        row[LEGAL_TURNS] = min(state.legal_turns, MOST_TURNS)
        row[BUTTON], row[PHASE] = state.button, state.phase
        return row

    def clean_up(self, color: int) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """Return (marks, colors at the start of the second clean-up phase), each [n] int8 by vertex.

        Marks are the bits MARKED and BANNED, all 0 in normal play; the colors are EMPTY before that phase.
        """
        state = self._state_for(color)
        marks = np.zeros(self.board.shape[1], dtype=np.int8)
        marks[list(state.marks)] |= MARKED
        marks[list(banned_points(state, color))] |= BANNED
        start = state.second_encore_start
        return marks, np.zeros_like(marks) if start is None else np.where(start == WALL, EMPTY, start).astype(np.int8)

    def legality(self, color: int, vertex: int) -> str | None:
        """Return None if the rules in force allow the move, else "occupied", "ko", "suicide" or "superko"."""
        if vertex == PASS:
            return None
        if self.phase > 0:
            return self._clean_up_legality(color, vertex)
        board, suicide = self.board, self.rules.suicide
        if board[COLOR, vertex] != EMPTY:
            return "occupied"
        # The ko point binds only the side to move: a controller may play two moves of one color in a row.
        if vertex == board[HEADER, KO_POINT] and color == self.to_play:
            return "ko"
        if not self._stones_allow(color, vertex, suicide):
            return "suicide"
        return "superko" if self._repeats(color, vertex) else None

    def _clean_up_legality(self, color: int, vertex: int) -> str | None:
        state = self._state_for(color)
        if lifted_mark(state, vertex, color) != NO_POINT:
            return None
        if self.board[COLOR, vertex] != EMPTY:
            return "occupied"
        if not is_legal(self.board, vertex, color, self.rules.suicide):
            return "suicide"
        return "superko" if vertex in banned_points(state, color) else None

    def _stones_allow(self, color: int, vertex: int, suicide: bool) -> bool:
        if vertex == self.board[HEADER, KO_POINT]:
            return not is_suicide(self.board, vertex, color)
        return bool(is_legal(self.board, vertex, color, suicide))

    def _repeats(self, color: int, vertex: int) -> bool:
        """True if the superko rule forbids a move that is otherwise legal."""
        if self.rules.ko is Ko.SIMPLE:
            return False
        # A stone on a point that was never occupied makes a new position, so most moves need no hash.
        if not self.ever_occupied[vertex] and not is_suicide(self.board, vertex, color):
            return False
        key = int(hash_after(self.board, vertex, color))
        if self.rules.ko is Ko.SITUATIONAL and color == BLACK:
            # After Black's move it is White's turn: situational keys include the side to move.
            key ^= WHITE_TO_PLAY_KEY
        return key in self._keys[self._states[-1].keys_start :]

    def is_legal(self, color: int, vertex: int) -> bool:
        """True if the rules in force allow the move."""
        return self.legality(color, vertex) is None

    def legal_vertices(self, color: int | None = None) -> list[int]:
        """Return the points where a color may play, in policy order. A pass is always legal and not listed.

        In a clean-up phase they include marked stones; see `engine.history`.
        """
        mover = self.to_play if color is None else color
        return [vertex for vertex in points(self.width, self.height) if self.legality(mover, vertex) is None]

    def legal_arrays(self, color: int) -> tuple[NDArray[np.bool_], NDArray[np.int8], NDArray[np.int8]]:
        """Return (legal, marks, second_start) of the current position with `color` to play.

        legal: [area + 1] bool in policy order, pass last and always True. The other two are those of `clean_up`, with
        BANNED also set where only superko forbids a move.
        """
        legal = np.ones(self.width * self.height + 1, dtype=np.bool_)
        marks, second_start = self.clean_up(color)
        # Points where the stones alone do not decide: only there the slower `legality` runs.
        doubtful = np.ones_like(legal)
        if self.phase == 0:
            stones_allow(self.board, color, self.rules.suicide, self.ever_occupied, legal, doubtful)
            doubtful &= self.rules.ko is not Ko.SIMPLE
        for index in np.flatnonzero(doubtful[:-1]).tolist():
            vertex = from_policy_index(index, self.width, self.height)
            reason = self.legality(color, vertex)
            legal[index] = reason is None
            if reason == "superko":
                marks[vertex] |= BANNED
        return legal, marks, second_start

    def play(self, color: int, vertex: int, *, lenient: bool = False) -> int:
        """Play a move and return the number of captured stones.

        lenient: accept moves that only superko or the ban on multi-stone suicide forbids, as controllers expect of
        `play`. Turns are never checked: either color may move.
        Raises IllegalMove with the reason.
        """
        reason = self.legality(color, vertex)
        if reason and not (lenient and self._tolerable(color, vertex, reason)):
            raise IllegalMove(f"{format_vertex(vertex, self.width, self.height)}: {reason}")
        before = self._state_for(color)
        stone = NO_POINT if vertex == PASS else lifted_mark(before, vertex, color)
        board = before.board.copy()
        if vertex == PASS or stone != NO_POINT:
            captured = int(play(board, PASS, color, True))
        else:
            captured = int(place(board, vertex, color))
        state, occupied = one_turn_later(before, board, legal=reason is None), self.ever_occupied
        if vertex == PASS:
            state = after_pass(state, color, self.rules, index=len(self._keys), encore=self.encore)
        elif stone != NO_POINT:
            state = after_pass_for_ko(state, stone)
        else:
            state = after_stone(state, vertex, color, self.rules, hash_before=int(position_hash(before.board)))
            occupied = occupied | (board[COLOR] != EMPTY)
            occupied[vertex] = True  # a suicide's stone has gone already
        self._keys.append(position_key(state, opponent(color), self.rules))
        self._occupied.append(occupied)
        self._states.append(state if vertex == PASS else judged(state, self.rules, self._keys))
        self.moves.append(Move(color, vertex))
        return captured

    def _tolerable(self, color: int, vertex: int, reason: str) -> bool:
        return reason == "superko" or (reason == "suicide" and bool(is_legal(self.board, vertex, color, True)))

    def pass_ends_phase(self, color: int) -> bool:
        """True if a pass of this color, played now, would end the game or the phase."""
        return pass_effect(self._state_for(color), color, self.rules) != PASS_GOES_ON

    def undo(self) -> Move:
        """Take back the last move and return it. Raises IllegalMove at the start; setup stones stay."""
        if not self.moves:
            raise IllegalMove("cannot undo")
        self._states.pop()
        self._keys.pop()
        self._occupied.pop()
        return self.moves.pop()

    def setup(
        self,
        black: Iterable[int],
        white: Iterable[int] = (),
        to_play: int | None = None,
        captured: tuple[int, int] = (0, 0),
    ) -> None:
        """Add setup stones before the first move. They do not count as moves and cannot be undone.

        captured: black and white stones that had been captured before.
        Raises IllegalMove, without changing anything, after the first move, on an occupied point, or when a chain would
        have no liberty.
        """
        if self.moves:
            raise IllegalMove("stones are set up before the first move")
        board = self.board.copy()
        added = {BLACK: list(black), WHITE: list(white)}
        for color, vertices in added.items():
            for vertex in vertices:
                if board[COLOR, vertex] != EMPTY:
                    raise IllegalMove(f"{format_vertex(vertex, self.width, self.height)}: occupied")
                add_stone(board, vertex, color)
        for vertex in points(self.width, self.height):
            # Checked after all stones are placed: stones set up later may fill the last liberty of earlier ones.
            if board[COLOR, vertex] != EMPTY and board[LIBERTIES, board[HEAD, vertex]] == 0:
                raise IllegalMove(f"{format_vertex(vertex, self.width, self.height)}: chain without liberties")
        board[HEADER, KO_POINT] = NO_POINT
        board[HEADER, TO_PLAY] = self.to_play if to_play is None else to_play
        board[HEADER, CAPTURED_BLACK] += captured[0]
        board[HEADER, CAPTURED_WHITE] += captured[1]
        self.setup_black += added[BLACK]
        self.setup_white += added[WHITE]
        self._start(board)

    def place_handicap(self, vertices: Iterable[int]) -> None:
        """Set up handicap stones, White to move."""
        self.setup(vertices, to_play=WHITE)

    def set_komi(self, komi: float) -> None:
        """Change the komi; the moves stay."""
        self.komi = komi

    def set_rules(self, rules: Rules) -> None:
        """Change the rules and judge all moves again under them."""
        self.rules = rules
        self._replay(self.moves)

    def _replay(self, moves: list[Move]) -> None:
        self.moves = []
        self._start(self._states[0].board)
        for color, vertex in moves:
            self.play(color, vertex, lenient=True)

    def copy(self) -> "Game":
        """Return an independent game in the same position."""
        # Skips __init__, which would allocate a board and its keys; states are immutable and can be shared.
        other = object.__new__(Game)
        other.__dict__.update(self.__dict__)
        for name in ("moves", "setup_black", "setup_white", "_states", "_keys", "_occupied"):
            setattr(other, name, list(getattr(self, name)))
        return other
