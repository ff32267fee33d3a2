"""Random games on the board and on its naive twin, compared after every move."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from engine.board.kernels import hash_after, position_hash
from engine.board.layout import (
    CAPTURED_BLACK,
    CAPTURED_WHITE,
    COLOR,
    EMPTIES,
    EMPTY_COUNT,
    HEAD,
    HEADER,
    KO_POINT,
    LIBERTIES,
    SIZE,
)
from engine.color import BLACK, EMPTY, WHITE, opponent
from engine.game import Game
from engine.records.diagram import showboard
from engine.rules import TROMP_TAYLOR, Ko
from engine.vertex import PASS, format_vertex
from tests.oracle.naive_board import NaiveGame

SIZES = [
    *[(5, 5), (7, 7), (9, 9), (3, 3), (5, 6), (2, 2), (4, 4), (13, 13), (9, 5), (6, 6), (1, 7), (8, 7)],
    *[(5, 5), (9, 9), (4, 3), (11, 6), (19, 19), (6, 5), (7, 7), (2, 5), (13, 7), (25, 5), (25, 25), (1, 1)],
]
"""Boards in the order in which they take turns; small ones, where positions repeat, are more frequent."""
RULE_PAIRS = [(ko, suicide) for ko in Ko for suicide in (False, True)]
_PASS_CHANCE = 0.03
_OUT_OF_TURN_CHANCE = 0.01
_MOVES_PER_POINT = 3


@dataclass
class Figures:
    """What a run of random games has met."""

    games: int = 0
    positions: int = 0
    captures: int = 0
    kos: int = 0
    suicides: int = 0
    superko_bans: int = 0
    passes: int = 0
    boards: set[str] = field(default_factory=set)

    def __str__(self) -> str:
        return (
            f"{self.positions} positions of {self.games} games on {len(self.boards)} board sizes: "
            f"{self.captures} captures, {self.suicides} suicides, {self.kos} simple kos, "
            f"{self.superko_bans} superko bans, {self.passes} passes; no difference"
        )


def run(positions: int, seed: int, sizes: list[tuple[int, int]] | None = None) -> Iterator[Figures]:
    """Play and compare games until so many positions are seen; yield the running figures after each."""
    figures = Figures()
    generator = random.Random(seed)
    while figures.positions < positions:
        width, height = (sizes or SIZES)[figures.games % len(sizes or SIZES)]
        # Pairs go around once while the boards go around once: every board meets every pair.
        ko, suicide = RULE_PAIRS[(figures.games + figures.games // len(sizes or SIZES)) % len(RULE_PAIRS)]
        TwinGame(width, height, ko, suicide, generator, figures).play_out()
        yield figures


class TwinGame:
    """One game on both boards."""

    def __init__(
        self, width: int, height: int, ko: Ko, suicide: bool, generator: random.Random, figures: Figures
    ) -> None:
        self._game = Game(width, height, rules=replace(TROMP_TAYLOR, ko=ko, suicide=suicide))
        self._naive = NaiveGame(width, height, ko, suicide)
        self._generator = generator
        self._figures = figures
        self._hashes: dict[bytes, int] = {}

    def play_out(self) -> None:
        """Play random moves, compare after each, and count. Raises AssertionError with the position."""
        game, generator = self._game, self._generator
        self._figures.games += 1
        self._figures.boards.add(f"{game.width}x{game.height}")
        for _ in range(_MOVES_PER_POINT * game.width * game.height + 10):
            legal = self.compare()
            color = game.to_play
            if generator.random() < _OUT_OF_TURN_CHANCE:
                color = opponent(color)
                self._naive.turn_to(color)
                legal = self._naive.legal_points()
                assert legal == set(game.legal_vertices(color)), self._explain("legal points out of turn")
            if not legal or generator.random() < _PASS_CHANCE:
                self._figures.passes += 1
                self._play(color, PASS)
            else:
                self._play(color, generator.choice(sorted(legal)))

    def _play(self, color: int, vertex: int) -> None:
        game, naive, figures = self._game, self._naive, self._figures
        expected_hash = int(hash_after(game.board, vertex, color))
        own_before = naive.captured[color]
        taken = naive.play(color, vertex)
        assert game.play(color, vertex) == taken, self._explain("stones captured by the last move")
        assert int(position_hash(game.board)) == expected_hash, self._explain("hash_after of the last move")
        figures.captures += taken > 0
        figures.suicides += naive.captured[color] > own_before

    def compare(self) -> set[int]:
        """Compare everything that both boards know, and return the legal points."""
        game, naive, board = self._game, self._naive, self._game.board
        figures = self._figures
        figures.positions += 1
        figures.kos += naive.board.ko_point >= 0
        places = naive.board.points
        assert bytes(board[COLOR, places].tolist()) == bytes(naive.board.colors[v] for v in places), "stones"
        assert int(board[HEADER, KO_POINT]) == naive.board.ko_point, self._explain("ko point")
        assert game.to_play == naive.to_play, self._explain("side to move")
        taken = {BLACK: int(board[HEADER, CAPTURED_BLACK]), WHITE: int(board[HEADER, CAPTURED_WHITE])}
        assert taken == naive.captured, self._explain(f"prisoners {taken}, {naive.captured}")
        self._compare_chains()
        key, bits = naive.board.key(), int(position_hash(board))
        assert self._hashes.setdefault(key, bits) == bits, self._explain("one position, two hashes")
        assert len(set(self._hashes.values())) == len(self._hashes), self._explain("two positions, one hash")
        outcomes = naive.board.outcomes(naive.to_play)
        legal = naive.legal_points(outcomes=outcomes)
        found = game.legal_vertices()
        assert found == sorted(legal), self._explain(
            f"legal points {[format_vertex(v, game.width, game.height) for v in legal ^ set(found)]}"
        )
        figures.superko_bans += len(naive.legal_points(Ko.SIMPLE, outcomes=outcomes)) - len(legal)
        return legal

    def _compare_chains(self) -> None:
        board, naive = self._game.board, self._naive.board
        for _, stones, liberties in naive.chains():
            head = int(board[HEAD, min(stones)])
            assert {int(board[HEAD, stone]) for stone in stones} == {head}, self._explain("heads of one chain")
            assert head in stones, self._explain("head outside its chain")
            assert int(board[SIZE, head]) == len(stones), self._explain("size of a chain")
            assert int(board[LIBERTIES, head]) == len(liberties), self._explain("number of liberties")
        empty = {point for point in naive.points if naive.colors[point] == EMPTY}
        listed = board[EMPTIES, : board[HEADER, EMPTY_COUNT]].tolist()
        assert len(listed) == len(empty), self._explain("number of empty points")
        assert set(listed) == empty, self._explain("empty points")

    def _explain(self, what: str) -> str:
        game = self._game
        moves = [(color, format_vertex(vertex, game.width, game.height)) for color, vertex in game.moves]
        return f"{what} differ under {game.rules}\n{showboard(game)}\nmoves: {moves}"
