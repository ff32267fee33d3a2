"""KataGo's inputs, version 7, from the naive history: the yardstick for `engine.encoders.katago`."""

import copy
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from engine.color import EMPTY, WHITE, opponent
from engine.rules import Ko, Tax
from engine.vertex import NO_POINT, PASS, row_column
from tests.oracle.naive_area import area_map, independent_life
from tests.oracle.naive_board import NaiveBoard
from tests.oracle.naive_history import NaiveHistory
from tests.oracle.naive_ladders import NaiveLadders

PLANES, GLOBALS = 22, 19


class NaiveInputs:
    """The inputs of one position. ladders: read them, which is slow and may raise GaveUp."""

    def __init__(self, history: NaiveHistory, color: int, *, alive: bool = False, ladders: bool = True) -> None:
        self.history = copy.deepcopy(history)
        self.history.turn_to(color)
        self.own, self.enemy = color, opponent(color)
        self.alive, self.ladders = alive, ladders
        self.planes: NDArray[np.float32] = np.zeros((PLANES, history.height, history.width), np.float32)
        self.globals: NDArray[np.float32] = np.zeros(GLOBALS, np.float32)
        self._stones()
        self._history()
        self._area()
        self._globals()

    def _put(self, plane: int, points: Iterable[int]) -> None:
        for point in points:
            self.planes[(plane, *row_column(point, self.history.width))] = 1.0

    def _stones(self) -> None:
        game, board = self.history, self.history.board
        self._put(0, board.points)
        for color, stones, liberties in board.chains():
            self._put(1 if color == self.own else 2, stones)
            if len(liberties) <= 3:
                self._put(2 + len(liberties), stones)
        self._put(6, game.banned() | ({board.ko_point} - {NO_POINT}))
        self._put(7, game.marks)
        if game.second_start is not None:
            self._put(20, [point for point in board.points if game.second_start[point] == self.own])
            self._put(21, [point for point in board.points if game.second_start[point] == self.enemy])

    def _hides_pass(self) -> bool:
        game = self.history
        friendly = game.rules.friendly_pass and game.rules.is_area
        return friendly and not game.button and game.passes == 1 and not game.pass_repeats()

    def _history(self) -> None:
        game = self.history
        shown = 0 if self._hides_pass() else min(game.turns, 1 if game.over else 5)
        for age in range(shown):
            _, vertex = game.moves[-1 - age]
            if vertex == PASS:
                self.globals[age] = 1.0
            else:
                self._put(9 + age, [vertex])
        if not self.ladders:
            return
        for plane, age in ((14, 0), (15, min(shown, 1)), (16, min(shown, 2))):
            laddered, working = self._find_ladders(game.boards[-1 - age])
            self._put(plane, laddered)
            if plane == 14:
                self._put(17, working[self.enemy])

    def _find_ladders(self, board: NaiveBoard) -> tuple[set[int], dict[int, set[int]]]:
        return NaiveLadders(copy.deepcopy(board)).find()

    def _area(self) -> None:
        game, board = self.history, self.history.board
        rules, suicide = game.rules, game.rules.suicide or self.alive
        if not rules.is_area and game.phase < 2:
            return
        base = area_map(board, suicide, unsafe_big=True, stones_alive=True)
        owner = base
        if not (rules.is_area and rules.tax is Tax.NONE):
            owner, _ = independent_life(board, base)
            for point in board.points:
                stone = board.colors[point]
                if owner[point] != EMPTY:
                    continue
                if rules.is_area:
                    owner[point] = base[point] if stone == base[point] else EMPTY
                elif rules.tax is Tax.NONE and base[point] not in (EMPTY, stone):
                    owner[point] = base[point]
                elif game.second_start is not None and stone == game.second_start[point]:
                    owner[point] = stone
        self._put(18, [point for point in board.points if owner[point] == self.own])
        self._put(19, [point for point in board.points if owner[point] == self.enemy])

    def _globals(self) -> None:
        game, rules = self.history, self.history.rules
        white_komi = game.komi + game.bonus
        komi = white_komi if self.own == WHITE else -white_komi
        self.globals[5] = komi / 20
        self.globals[6] = rules.ko is not Ko.SIMPLE
        self.globals[7] = {Ko.SIMPLE: 0.0, Ko.POSITIONAL: 0.5, Ko.SITUATIONAL: -0.5}[rules.ko]
        self.globals[8] = rules.suicide
        self.globals[9] = not rules.is_area
        self.globals[10] = rules.tax is not Tax.NONE
        self.globals[11] = rules.tax is Tax.ALL
        self.globals[12], self.globals[13] = game.phase >= 1, game.phase >= 2
        self.globals[14] = game.pass_ends_phase() and not self._hides_pass()
        self.globals[17] = game.button
        if rules.is_area or game.phase == 2:
            parity = game.width * game.height % 2
            over = (komi - parity) % 2
            self.globals[18] = over if over < 0.5 else 1 - over if over < 1.5 else over - 2
